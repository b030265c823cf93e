# SPDX-License-Identifier: Apache-2.0
"""helper.py - a helper for the benches, asked by raw messages: no command line within what is timed.

    helper = Helper()                 serves, with a daemon that answers every offer at once
    helper = Helper(real=True)        serves, with sallyportd
    helper.attach(place, lane=...)    seconds from the request to the answer
"""
import json
import os
import signal
import subprocess
import time

import helper_rig
from helper_rig import BIN, LIST, REPLY, DETACH, until

POLICY = b"version: 1\nname: bench\ndefault: deny\ndefault_tls: terminate\n"
USER = "sallyport"


class Refused(Exception):
    """The helper said no, or (an empty text) ended the connection."""


class Helper:
    def __init__(self, real=False):
        self.rig = helper_rig.Rig("--outage", "wait")  # signs of life by Python would be what is measured
        self.daemon = self.process = None
        self.policy = os.memfd_create("policy")
        os.write(self.policy, POLICY)
        try:
            if real:
                self._start_daemon()
            else:
                self.daemon = self.rig.daemon()
        except BaseException:
            self.close()
            raise

    def _start_daemon(self):
        config = os.path.join(self.rig.parent, "daemon.yaml")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"state: {self.rig.state}\nuser: {USER}\nresolvers: [192.0.2.253]\n")
        with open(self.rig.log, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(BIN, "sallyportd"), "--config", config], stdin=subprocess.DEVNULL, stderr=log
            )
        until("the daemon's link", lambda: self.process.poll() is not None or self._linked())
        if self.process.poll() is not None:
            raise RuntimeError(f"sallyportd ended: {self.rig.logged()}")

    def _ask(self, message, fds=()):
        with self.rig.ask() as sock:
            helper_rig.send(sock, message, fds)
            answer, _ = helper_rig.receive(sock)
        if not answer:
            raise Refused("")
        _, _, error, pid, text = REPLY.unpack_from(answer)
        text = text.split(b"\0")[0].decode()
        if error:
            raise Refused(text)
        return pid, text

    def _linked(self):
        return self._ask(helper_rig.name("", LIST))[0]

    def attach(self, place, lane=0):
        netns, cgroup = place.fds
        began = time.monotonic()
        self._ask(helper_rig.attach(place.name, lane=lane), (netns, cgroup, self.policy))
        return time.monotonic() - began

    def detach(self, place):
        began = time.monotonic()
        self._ask(helper_rig.name(place.name, DETACH))
        return time.monotonic() - began

    def pinned(self, name):
        return os.path.join(self.rig.state, "bpf", name)

    def processes(self):
        """(name, pid) of what is measured."""
        found = [("helper", self.rig.helper.pid)]
        return found + ([("daemon", self.process.pid)] if self.process else [])

    def close(self):
        os.close(self.policy)
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
        status, _ = self.rig.close()
        if status:
            raise RuntimeError(f"the helper ended with {status}")


def cpu_seconds(pid):
    """Time on a processor, of all threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def verdicts(helper, cookie):
    """The kernel's counters of one namespace, by name."""
    out = subprocess.run(
        ["bpftool", "-j", "map", "dump", "pinned", helper.pinned("verdicts")], capture_output=True, check=True
    ).stdout
    for entry in json.loads(out):
        formatted = entry.get("formatted", entry)
        if formatted["key"] == cookie:
            return formatted["value"]
    raise LookupError(cookie)

