# SPDX-License-Identifier: Apache-2.0
"""A helper of its own for each test, and a daemon that does only what link.sock asks for.

    rig = Rig()              serve in a state directory of its own
    rig.daemon()             a Daemon on its link.sock, answering offers with ACTIVE unless told otherwise
    rig.ctl("attach", …)     the command line
    rig.ask()                a raw connection to helper.sock
Everything is named after the rig and removed by rig.close(), which also checks that nothing is left.
"""
import array
import mmap
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(os.environ.get("SALLYPORT_BUILD", os.path.join(TOP, "build")))
NETNS = os.path.join(BIN, "sallyport-netns")

VERSION = 3
ATTACH, DETACH, LIST, ENTER, RELEASE, DEGRADED = range(1, 7)
HELLO, OFFER, WITHDRAW, ACTIVE, GONE, NOTE, DIALLER, SERVE, DRAIN, DRAINING = range(16, 26)
LANE_BPF, LANE_NFT = 1, 2
REPLY = struct.Struct("IIiI512s")
DIGEST = bytes(range(32))


def until(what, condition, seconds=10.0):
    """Waits for a condition; its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def cgroup_tree():
    for line in open("/proc/self/mountinfo"):
        left, right = line.split(" - ")
        if right.split()[0] == "cgroup2" and left.split()[3] == "/":
            return left.split()[4]
    raise RuntimeError("no cgroup v2 tree is mounted")


def name(id_, op):
    return struct.pack("II64s", op, VERSION, id_.encode())


def attach(id_, mode=1, strict=0, hold=0, own_cgroup=0, search=(), lane=0, bounding=None, unix_paths=(), owner=0):
    domains = b"".join(d.encode().ljust(254, b"\0") for d in search).ljust(8 * 254, b"\0")
    paths = b"".join(p.encode().ljust(109, b"\0") for p in unix_paths).ljust(16 * 109, b"\0")
    return struct.pack("=II64sBBBBBB2xQQ", ATTACH, VERSION, id_.encode(), mode, strict, hold, own_cgroup, lane,
                       bounding is not None, bounding or 0, owner) + domains + paths


def active(id_, error=0, text="", openings=()):
    body = b"".join(openings).ljust(64 * 22, b"\0")
    return struct.pack("II64siI", ACTIVE, VERSION, id_.encode(), error, len(openings)) + DIGEST + \
        text.encode().ljust(512, b"\0") + body


def opening(address, prefix, lo, hi, metadata=0):
    ip = socket.inet_pton(socket.AF_INET6, address)
    return ip + struct.pack("BBHH", prefix, metadata, lo, hi)


def receive(sock):
    """One message and its descriptors; b"" at the end."""
    message, ancillary, _, _ = sock.recvmsg(8192, socket.CMSG_SPACE(64 * 4))
    fds = array.array("i")
    for _, _, data in ancillary:
        fds.frombytes(data[: len(data) - len(data) % 4])
    return message, list(fds)


def send(sock, message, fds=()):
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([message], control)


def word(op):
    return struct.pack("II", op, VERSION)


def draining(seconds):
    return struct.pack("IIII", DRAINING, VERSION, seconds, 0)


def dialler(*resolvers, take_over=0):
    """What a daemon says first: (address in IPv6 form, port) of each resolver."""
    body = b"".join(socket.inet_pton(socket.AF_INET6, ip) + struct.pack("H6x", port) for ip, port in resolvers)
    return struct.pack("IIII", DIALLER, VERSION, len(resolvers), take_over) + body.ljust(16 * 24, b"\0")


class Offer:
    def __init__(self, message, fds):
        self.id = message[8:72].rstrip(b"\0").decode()
        self.netns, self.cgroup, self.nslots, self.has_v6 = struct.unpack_from("QQIB", message, 72)
        self.fds = fds
        self.lane = message[114]
        rest = list(fds)
        self.policy = rest.pop(0)
        self.flows = rest.pop(0) if self.lane == LANE_BPF else -1
        apart = self.has_v6 and self.lane != LANE_BPF  # else one series serves both families
        self.udp4 = rest.pop(0)
        self.udp6 = rest.pop(0) if apart else self.udp4
        self.tcp4 = rest[: self.nslots]
        self.tcp6 = rest[self.nslots:] if apart else self.tcp4
        assert len(rest) == (2 if apart else 1) * self.nslots


class Daemon:
    """Answers in a thread. `answer(offer)` gives the message for an offer, or None for silence. `beats` is whether it
    gives signs of life, and may be changed; a take-over is told when it has been told to serve."""

    def __init__(self, state, answer=None, beats=True, take_over=False):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.connect(os.path.join(state, "link.sock"))
        self.answer = answer or (lambda offer: active(offer.id))
        self.hello = None
        self.beats = beats
        self.take_over = take_over
        self.words = []  # SERVE and DRAIN, as they came
        self.drains = True  # answers DRAIN
        self.drain = None  # with so many seconds; None: with the bare word
        self.offers = {}
        self.notes = {}  # (id or "", feature) → (reason, remedy), of what is degraded
        self.heard = []  # every NOTE: (id, feature, reason, remedy)
        self.ended = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        until("hello", lambda: self.hello or self.ended)

    def run(self):
        while True:
            try:
                message, fds = receive(self.sock)
            except OSError:
                message = b""
            if not message:
                break
            op = struct.unpack_from("I", message)[0]
            if op == HELLO:
                self.abi, self.bpf, self.slot, self.waits, self.occupied = struct.unpack_from("IIIII", message, 8)
                self.memory = mmap.mmap(fds[0], 16)
                threading.Thread(target=self.beat, daemon=True).start()
                self.sock.send(dialler(take_over=int(self.take_over)))
                self.hello = fds
            elif op in (SERVE, DRAIN):
                self.words.append(op)
                if op == DRAIN and self.drains:
                    self.sock.send(word(DRAINING) if self.drain is None else draining(self.drain))
            elif op == OFFER:
                offer = Offer(message, fds)
                self.offers[offer.id] = offer
                answer = self.answer(offer)
                if answer:
                    self.sock.send(answer)
            elif op == NOTE:
                self.note(*(text.rstrip(b"\0").decode() for text in struct.unpack("8x64s64s512s512s", message)))
            elif op == WITHDRAW:
                id_ = message[8:72].rstrip(b"\0").decode()
                self.drop(id_)
                self.sock.send(name(id_, GONE))
        self.ended = True

    def beat(self):
        while not self.ended:
            if self.beats:
                struct.pack_into("Q", self.memory, 8 * self.slot, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
            time.sleep(0.1)

    def note(self, id_, feature, reason, remedy):
        assert not id_ or id_ in self.offers, "a note about a sandbox comes behind its offer"
        self.heard.append((id_, feature, reason, remedy))
        if reason:
            self.notes[id_, feature] = reason, remedy
        else:
            del self.notes[id_, feature]

    def drop(self, id_):
        for fd in self.offers.pop(id_).fds:
            os.close(fd)

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.sock.close()
        for id_ in list(self.offers):
            self.drop(id_)
        for fd in self.hello or []:
            os.close(fd)


class Rig:
    count = 0

    def __init__(self, *options, parent="/run"):
        Rig.count += 1
        self.tree = cgroup_tree()
        self.cgroups = []
        self.daemons = []
        self.parent = tempfile.mkdtemp(prefix=f"sptest{os.getpid()}-{Rig.count}-", dir=parent)
        self.name = os.path.basename(self.parent)
        os.chmod(self.parent, 0o755)
        self.state = os.path.join(self.parent, "state")
        self.options = options
        self.log = os.path.join(self.parent, "log")
        self.serve()

    def serve(self):
        self.helper = subprocess.Popen([NETNS, "--state", self.state, "serve", *self.options],
            stdin=subprocess.DEVNULL, stderr=open(self.log, "a"))
        until("helper.sock", lambda: self.helper.poll() is not None or self.answers())
        assert self.helper.poll() is None, self.logged()

    def answers(self):
        try:
            self.ask().close()
            return True
        except OSError:
            return False

    def logged(self):
        return open(self.log).read()

    def ask(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.settimeout(20)
        sock.connect(os.path.join(self.state, "helper.sock"))
        return sock

    def ctl(self, *words, **more):
        return subprocess.run([NETNS, "--state", self.state, *words], text=True, capture_output=True, timeout=60, **more)

    def daemon(self, answer=None, **more):
        self.daemons.append(Daemon(self.state, answer, **more))
        return self.daemons[-1]

    def cgroup(self):
        path = os.path.join(self.tree, f"{self.name}.{len(self.cgroups)}")
        os.mkdir(path)
        self.cgroups.append(path)
        return path

    def attach(self, id_="a", *options):
        done = self.ctl("attach", "--id", id_, "--netns", "new", "--cgroup", self.cgroup(), *options)
        assert done.returncode == 0, done.stderr
        return done

    def helper_fds(self):
        return len(os.listdir(f"/proc/{self.helper.pid}/fd"))

    def close(self):
        for daemon in self.daemons:
            if not daemon.ended:
                daemon.close()
        if self.helper.poll() is None:
            self.helper.terminate()
        status = self.helper.wait(15)
        for path in self.cgroups:
            if os.path.isdir(path):
                open(os.path.join(path, "cgroup.kill"), "w").write("1")
                until("empty cgroup", lambda p=path: "populated 0" in open(os.path.join(p, "cgroup.events")).read())
                os.rmdir(path)
        left = os.path.exists(self.state)
        mounts = [line for line in open("/proc/self/mounts") if self.parent in line]
        for line in mounts:
            subprocess.run(["umount", line.split()[1]], check=False)
        subprocess.run(["rm", "-rf", self.parent], check=True)
        assert not mounts
        return status, left


def kill(process, number=signal.SIGKILL):
    process.send_signal(number)
    return process.wait(15)
