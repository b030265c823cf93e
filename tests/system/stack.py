# SPDX-License-Identifier: Apache-2.0
"""stack.py - one helper and one daemon in the edge namespace, with a state directory of their own.

Life: start() (helper, then daemon), any number of kill_daemon()/start_daemon() and take_over(), stop(). stop() insists on
clean exits and on logs without a sanitizer's report. Several stacks can run side by side.
"""
import errno
import json
import os
import pwd
import re
import signal
import socket
import subprocess

import http.client

from waiting import PATIENCE, until

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
USER = "sallyport"
FAULTS = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|Assertion .* failed")


def build_folder():
    return os.path.realpath(os.environ.get("SALLYPORT_BUILD", os.path.join(ROOT, "build")))


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10 * PATIENCE)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Stack:
    def __init__(self, world, name, credentials=(), workers=2, extra="", wrapper=(), resolvers="[203.0.113.53]",
                 outage="refuse"):
        """credentials: [(id pattern, document file)]; extra: more lines of the daemon's configuration;
        wrapper: a command that runs the helper; outage: the helper's option."""
        self.world = world
        self.build = build_folder()
        self.state = os.path.join(world.run, name)
        self.cgroups = {part: os.path.join(world.cgroup, f"stack-{name}.{part}") for part in ("helper", "daemon")}
        for cgroup in self.cgroups.values():
            os.mkdir(cgroup)
        self.wrapper = list(wrapper)
        self.helper = self.daemon = None
        self.outage = outage
        self.former = []  # daemons from which another took over
        self._logs = {}
        lines = [
            f"state: {self.state}",
            f"user: {USER}",
            f"workers: {workers}",
            f"resolvers: {resolvers}",
            f"ca: {world.pki.ca}",
        ]
        if credentials:
            lines.append("credentials:")
            for pattern, file in credentials:
                lines.append(f"  - {{sandboxes: ['{pattern}'], file: {file}}}")
        if extra:
            lines.append(extra)
        self.config = world.write(f"{name}.yaml", "\n".join(lines) + "\n")

    # ---- processes -----------------------------------------------------------------------------------

    def tool(self, name):
        return os.path.join(self.build, name)

    def _start(self, name, argv, cgroup=None):
        """In the edge namespace and a cgroup of this run, so that nothing can outlive it."""
        log = os.path.join(self.world.run, f"{os.path.basename(self.state)}.{name}.log")
        self._logs[name] = log
        entering = f"echo $$ > {self.cgroups[cgroup or name]}/cgroup.procs; exec \"$@\""
        with open(log, "ab") as output:
            return subprocess.Popen(
                ["sh", "-c", entering, "sh", *self.world.edge.command(argv)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def start(self):
        self.start_helper()
        self.start_daemon()
        return self

    def start_helper(self):
        self.helper = self._start(
            "helper",
            [*self.wrapper, self.tool("sallyport-netns"), "--state", self.state, "serve", "--daemon-user", USER,
             "--outage", self.outage],
        )
        until(
            lambda: self._alive(self.helper, "helper") and self.netns("list").returncode == 0,
            "the helper's answer",
        )

    def start_daemon_alone(self):
        self.daemon = self._start("daemon", [self.tool("sallyportd"), "--config", self.config])
        until(lambda: self._alive(self.daemon, "daemon") and self._answers(), "the daemon's status")

    def start_daemon(self):
        self.daemon = self._start("daemon", [self.tool("sallyportd"), "--config", self.config])
        until(
            lambda: self._alive(self.daemon, "daemon") and self._answers() and self.connected(),
            "the daemon's status, and its link to the helper",
        )

    def start_taker(self, config=None):
        """A second daemon that is to take over, in a cgroup of its own."""
        cgroup = f"daemon{len(self.cgroups)}"
        self.cgroups[cgroup] = os.path.join(self.world.cgroup, f"stack-{os.path.basename(self.state)}.{cgroup}")
        os.mkdir(self.cgroups[cgroup])
        return self._start(
            "daemon", [self.tool("sallyportd"), "--config", config or self.config, "--take-over"], cgroup
        )

    def take_over(self, config=None):
        """Another daemon serves from here on; the one before, which drains."""
        taker = self.start_taker(config)
        until(lambda: self._alive(taker, "daemon") and (self._answers() or {}).get("pid") == taker.pid,
              "the other daemon to serve", 20)
        before, self.daemon = self.daemon, taker
        self.former.append(before)
        return before

    def _alive(self, process, name):
        assert process.poll() is None, f"{name} ended with {process.returncode}: {self.log(name)}"
        return True

    def _answers(self):
        try:
            return self.get("/v1/status")
        except (OSError, http.client.HTTPException):
            return None

    def connected(self):
        return self.helper.poll() is not None or self.netns("list", "--daemon").returncode == 0

    def pause_daemon(self):
        """Stops it, and returns when each of its threads has: on a machine that is busy one may still accept."""
        self.daemon.send_signal(signal.SIGSTOP)
        tasks = f"/proc/{self.daemon.pid}/task"

        def state(task):
            with open(f"{tasks}/{task}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rpartition(") ")[2][0]

        until(lambda: all(state(task) == "T" for task in os.listdir(tasks)), "the daemon to stop")

    def kill_daemon(self, number=signal.SIGKILL):
        self.daemon.send_signal(number)
        return self.daemon.wait(20 * PATIENCE)

    def stop(self):
        """Daemon and helper go when asked, and leave nothing. A second time does nothing."""
        if not os.path.isdir(self.cgroups["daemon"]):
            return
        problems = []
        daemons = [("daemon", process) for process in [self.daemon, *self.former]]
        for name, process in (*daemons, ("helper", self.helper)):
            if process is None:
                continue
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20 * PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    problems.append(f"{name} did not end on SIGTERM")
            if process.returncode not in (0, -signal.SIGTERM, -signal.SIGKILL):
                problems.append(f"{name} ended with {process.returncode}")
            if FAULTS.search(self.log(name)):
                problems.append(f"{name} reports a fault: {self.log(name)[-3000:]}")
        for cgroup in self.cgroups.values():
            until(lambda: self._removed(cgroup), f"the end of what {cgroup} holds")  # the prober ends behind its helper
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            problems += [f"still mounted: {line}" for line in mounts if self.state in line]
        assert not problems, "; ".join(problems)

    @staticmethod
    def _removed(cgroup):
        """Also what a helper that was killed has left there (footing.c), as a service manager does."""
        try:
            for folder, _, _ in os.walk(cgroup, topdown=False):
                os.rmdir(folder)
            return True
        except OSError as error:
            assert error.errno == errno.EBUSY, error
            return False

    # ---- what they say -------------------------------------------------------------------------------

    def log(self, name):
        with open(self._logs[name], encoding="utf-8", errors="replace") as file:
            return file.read()

    def request(self, method, path):
        connection = _UnixConnection(os.path.join(self.state, "control.sock"))
        try:
            connection.request(method, path)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.request("GET", path)
        assert status == 200, f"GET {path}: {status} {body!r}"
        return json.loads(body)

    def ctl(self, *arguments, **options):
        return subprocess.run(
            [self.tool("sallyportctl"), "--state", self.state, *arguments],
            capture_output=True, text=True, timeout=30 * PATIENCE, **options,
        )

    def netns(self, *arguments, **options):
        return subprocess.run(
            [self.tool("sallyport-netns"), "--state", self.state, *arguments],
            capture_output=True, text=True, timeout=30 * PATIENCE, **options,
        )

    @property
    def audit_file(self):
        return os.path.join(self.state, "audit.jsonl")

    def audit(self, since=0, **wanted):
        """Events after a place in the file (audit_mark) that have every wanted member."""
        with open(self.audit_file, "rb") as file:
            file.seek(since)
            events = [json.loads(line) for line in file if line.endswith(b"\n")]
        return [e for e in events if all(e.get(k) == v for k, v in wanted.items())]

    def audit_mark(self):
        return os.path.getsize(self.audit_file) if os.path.exists(self.audit_file) else 0

    def wait_audit(self, since=0, **wanted):
        return until(lambda: self.audit(since, **wanted), f"an audit event with {wanted}")

    # ---- what they hold ------------------------------------------------------------------------------

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/fd"))

    def resident(self):
        """Bytes."""
        with open(f"/proc/{self.daemon.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def sanitized(self):
        return bool(self.get("/v1/status").get("sanitizer"))

    def maps(self, name):
        """A pinned map as bpftool prints it, a list of entries."""
        out = subprocess.run(
            ["bpftool", "-j", "map", "dump", "pinned", os.path.join(self.state, "bpf", name)],
            check=True, capture_output=True, text=True,
        ).stdout
        return json.loads(out)

    def pins(self):
        found = []
        for folder, _, names in os.walk(os.path.join(self.state, "bpf")):
            found += [os.path.relpath(os.path.join(folder, n), self.state) for n in names]
        return found


def daemon_group():
    return pwd.getpwnam(USER).pw_gid
