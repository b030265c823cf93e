# SPDX-License-Identifier: Apache-2.0
"""box.py - a sandbox with a wire to the canary, and the crews that try to get out of it.

     box (the sandbox)                    internet                       outer
    +----------------------+  veth  +------------------+  veth  +--------------------------+
    | eth0 198.51.100.6    +--------+ judge            +--------+ eth0 198.51.100.10       |
    | crew, in the cgroup  |  far   | (topology.py)    |  out   | the outsider: descriptors|
    | stranger, outside it |        |                  |        | and relays for who asks  |
    +----------------------+        +------------------+        +--------------------------+

The wire is there before the attach, when the sockets that are to be older than it are made. A sealed sandbox
loses it then, an uplink one and the baseline keep it. What `enter` starts comes after the attach.
"""
import fcntl
import json
import math
import os
import queue
import shutil
import subprocess
import tempfile
import threading

import documents
import topology
from sandbox import JOINING, Sandbox
from stack import build_folder
from waiting import PATIENCE

ATTEMPTS = os.path.join(build_folder(), "tests", "battery", "attempts")
CREW_SECONDS = 120 * PATIENCE
CLOSED = "sallyport-battery-"  # a folder below /run: under no prefix that is allowed by default


def sweep():
    """Removes what batteries left whose process was killed before it could."""
    topology.sweep()
    for name in os.listdir("/run"):
        folder = os.path.join("/run", name)
        if name.startswith(CLOSED) and topology.abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


class Wire:
    """A veth between a namespace and the internet, with addresses and fixed neighbours."""

    def __init__(self, world, netns, number, far):
        self.world, self.netns, self.far = world, netns, far
        self.own4, self.peer4 = f"198.51.100.{4 * number + 2}", f"198.51.100.{4 * number + 1}"
        self.own6, self.peer6 = f"2001:db8:ffff:{number}::2", f"2001:db8:ffff:{number}::1"
        self.mac, self.peer_mac = f"02:00:5e:01:{number:02x}:02", f"02:00:5e:01:{number:02x}:01"
        world.internet.ip(
            [
                f"link add {far} address {self.peer_mac} type veth peer name eth0 address {self.mac} "
                f"netns {netns.path}",
                f"link set {far} up",
                f"addr add {self.peer4}/30 dev {far}",
                f"addr add {self.peer6}/64 dev {far} nodad",
                f"neigh replace {self.own4} lladdr {self.mac} dev {far} nud permanent",
                f"neigh replace {self.own6} lladdr {self.mac} dev {far} nud permanent",
                f"route add unicast {self.own4} dev {far} table local",
                f"route add unicast {self.own6} dev {far} table local",
            ]
        )
        netns.sysctl("ipv4/ping_group_range", "0 2147483647")  # as runtimes do
        netns.sysctl("ipv6/conf/all/accept_dad", 0)
        netns.sysctl("ipv6/conf/eth0/accept_dad", 0)
        netns.ip(
            [
                "link set lo up",
                "link set eth0 up",
                f"addr add {self.own4}/30 dev eth0",
                f"addr add {self.own6}/64 dev eth0 nodad",
                f"neigh replace {self.peer4} lladdr {self.peer_mac} dev eth0 nud permanent",
                f"neigh replace {self.peer6} lladdr {self.peer_mac} dev eth0 nud permanent",
                f"route add default via {self.peer4}",
                f"route add ::/0 via {self.peer6}",
                "route add 224.0.0.0/4 dev eth0",
            ]
        )

    def cut(self):
        self.world.internet.ip([f"link del {self.far}"])


class Outsider:
    """The confederate: another process, another namespace, no sandbox's cgroup."""

    def __init__(self, world, nonce):
        self.netns = topology.Netns("outer")
        self.wire = Wire(world, self.netns, 2, "out")
        self.closed = tempfile.mkdtemp(prefix=CLOSED, dir="/run")
        self._lock = os.open(os.path.join(self.closed, "lock"), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # says that we live
        os.chmod(self.closed, 0o755)
        os.symlink(".", os.path.join(self.closed, "tmp"))
        self.open = os.path.join(world.run, "open")
        os.mkdir(self.open)
        self.cgroup = os.path.join(world.cgroup, "outsider")
        os.mkdir(self.cgroup)
        command = self.netns.command(
            [ATTEMPTS, "outsider", "203.0.113.251", "19998", nonce, self.closed, self.open]
        )
        self.process = subprocess.Popen(
            ["sh", "-c", JOINING, "sh", self.cgroup, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout.readline() == b"ready\n", "the outsider does not start"

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5 * PATIENCE)
        except subprocess.TimeoutExpired:  # somebody stopped it: that is what `ptrace` is for
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.wire.cut()
        self.netns.close()
        os.rmdir(self.cgroup)
        os.close(self._lock)
        shutil.rmtree(self.closed)
        shutil.rmtree(self.open)


class Crew:
    """One process of attempts; its lines by name."""

    def __init__(self, command):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", start_new_session=True
        )
        self._lines = queue.Queue()
        self.said = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._until("ready")

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def _until(self, word):
        while True:
            line = self._lines.get(timeout=CREW_SECONDS)
            assert line is not None, f"a crew ended with {self._process.wait()} before it was {word}"
            if not line["name"]:
                assert line["said"] == word
                return
            self.said[line["name"]] = line

    def run(self, word):
        """`go` or `serial`: returns when all of them have ended."""
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        self._until("done")

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(10 * PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()


class Box(Sandbox):
    """mode: sealed, uplink, or None for no protection at all."""

    def __init__(self, stack, outsider, nonce, base, mode, lane, bounding):
        super().__init__(stack, documents.POLICY, prefix="swap", lane=lane)
        self.mode, self.bounding, self._outsider = mode, bounding, outsider
        self.wire = Wire(stack.world, self.netns, 1, "far")
        self.cut = False
        self.scratch = os.path.join(stack.world.run, f"scratch-{base}")
        os.mkdir(self.scratch)
        os.chmod(self.scratch, 0o1777)
        self._words = [
            "device=eth0", f"own4={self.wire.own4}", f"peer4={self.wire.peer4}", f"own6={self.wire.own6}",
            f"peer6={self.wire.peer6}", f"mac={self.wire.mac}", f"peer-mac={self.wire.peer_mac}",
            f"base={base}", f"patience={math.ceil(PATIENCE)}", f"nonce={nonce}",
            f"closed={outsider.closed}", f"open={outsider.open}",
            f"scratch={self.scratch}", f"outer={outsider.netns.path}", f"outsider={outsider.process.pid}",
            f"cgroups={topology.cgroup_mount()}", f"cgroup={self.cgroup}",
        ]
        if mode:
            self._words += [f"state={stack.state}", f"id={self.id}"]

    def crew(self, capabilities, who="inside"):
        """In the namespace; a stranger is not in the cgroup."""
        cgroup = self.cgroup if who == "inside" else self._outsider.cgroup
        inside = self.netns.command([ATTEMPTS, "crew", capabilities, who, *self._words])
        return Crew(["sh", "-c", JOINING, "sh", cgroup, *inside])

    def entered(self):
        """By `enter`, as the launcher starts programs."""
        copy = shutil.copy(ATTEMPTS, self.home)  # readable whoever the program in the sandbox is
        return Crew(self.command([copy, "crew", "kept", "inside", *self._words]))

    def try_attach(self):
        if self.mode == "sealed":
            self.wire.cut()
            self.cut = True
        words = ["--mode", self.mode] if self.mode != "sealed" else []
        if self.bounding is not None and self.mode == "uplink":
            words += ["--bounding", self.bounding]
        done = self.stack.netns(
            "attach", "--id", self.id, "--netns", self.netns.path, "--cgroup", self.cgroup,
            "--policy", self.policy, "--lane", self.lane, *words,
        )
        self.attached = done.returncode == 0
        return done

    def swap(self):
        """An ordinary HTTPS request of a program inside: is the placeholder swapped on its way?"""
        done = self.curl(
            "--resolve", "api.test:443:203.0.113.10", "-H",
            f"Authorization: Bearer {self.placeholder('API_TOKEN')}", "https://api.test/battery",
        )
        request = self.stack.world.origin.last("/battery") if done.returncode == 0 else None
        return bool(request) and documents.API_SECRET in str(request.fields), done.stderr

    def close(self):
        for folder, names, _ in os.walk(self.cgroup, topdown=False):
            for name in names:  # nested ones that attempts made
                os.rmdir(os.path.join(folder, name))
        if not self.cut:
            self.wire.cut()
        super().close()
        shutil.rmtree(self.scratch, ignore_errors=True)
