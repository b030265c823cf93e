# SPDX-License-Identifier: Apache-2.0
"""Namespaces in which somebody has prepared a way out before the attach, when he still had the capabilities.

What is left when they are gone: sockets, links, filters, entries of conntrack, threads. An uplink is refused, or the way
leads nowhere; each is seen to lead out without an attach. And what a program without any capability makes the kernel
send by itself: reports of multicast groups.
"""
import os
import socket
import subprocess

import pytest

import maps
from sandbox import JOINING, PYTHON
from waiting import until

MARK = b"prepared"


def left(far, sandbox, place, what=MARK):
    """Frames with the mark that left the sandbox."""
    far.capture.settle(sandbox)
    return [f for port, outgoing, f in far.capture.frames[place:]
            if port == sandbox.port and not outgoing and what in f]


def program(sandbox, code, *words):
    """A program in the cgroup and namespace, with what capabilities we have; it has said that it is ready."""
    made = subprocess.Popen(
        ["sh", "-c", JOINING, "sh", sandbox.cgroup, *sandbox.netns.command([PYTHON, "-c", code, *words])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert made.stdout.readline() == "ready\n"
    return made


def go(process):
    assert process.communicate("go\n", timeout=20)[0] == "sent\n"
    assert process.returncode == 0


# ---- who is asked for capabilities -------------------------------------------------------------------

THREAD = r"""
import ctypes, socket, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
dropped = threading.Event()

def holder():
    dropped.wait()
    print("ready", flush=True)
    sys.stdin.readline()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.bind(("eth0", 0))
        sock.send(b"\xff" * 6 + b"\x02" * 6 + b"\x08\x00" + b"prepared".ljust(60, b"\0"))
    print("sent", flush=True)

other = threading.Thread(target=holder)
other.start()
for capability in range(64):
    libc.prctl(24, capability, 0, 0, 0)
assert libc.syscall(126, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()) == 0
dropped.set()
other.join()
"""


def test_a_thread_that_kept_what_the_first_one_dropped(wired, far):
    """Capabilities, the bounding set too, are a thread's own."""
    sandbox = wired()
    process = program(sandbox, THREAD)
    done = sandbox.try_attach()
    assert done.returncode == 1 and f"process {process.pid} " in done.stderr and "NET_RAW" in done.stderr
    place = far.capture.settle(sandbox)
    go(process)
    assert left(far, sandbox, place), "the control: it could send"


# ---- sockets -----------------------------------------------------------------------------------------

OLD = r"""
import os, socket, sys
sock = MADE
os.set_inheritable(sock.fileno(), True)
os.execvp("setpriv", ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=65534", "--regid=65534",
    "--clear-groups", "/usr/bin/python3", "-c", '''
import socket, sys
sock = socket.socket(fileno=int(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
SEND
print("sent", flush=True)
''', str(sock.fileno())])
"""
OLDS = {
    "packet": ("socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)",
               r"sock.bind(('eth0', 0)); sock.send(b'\\xff' * 6 + b'\\2' * 6 + b'\\x08\\0' + b'prepared'.ljust(60))"),
    # in the dress of a neighbour advertisement, which the table lets out
    "raw": ("socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)",
            r"sock.setsockopt(socket.SOL_SOCKET, 25, b'eth0'); "
            r"sock.sendto(b'\\x88' + b'\\0' * 7 + b'prepared' * 4, ('fd77::1', 0))"),
}


@pytest.mark.parametrize("kind", OLDS)
def test_a_socket_below_the_table_that_was_opened_before(wired, far, kind):
    """Whoever has it open has no capability any more, and would need none."""
    sandbox = wired()
    made, send = OLDS[kind]
    process = program(sandbox, OLD.replace("MADE", made).replace("SEND", send))
    done = sandbox.try_attach()
    assert done.returncode == 1 and f"has a {kind} socket in it" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1
    place = far.capture.settle(sandbox)
    go(process)
    assert left(far, sandbox, place), "the control: it could send"


# ---- links and filters -------------------------------------------------------------------------------


@pytest.mark.parametrize("what,command", [
    ("the link tun0 of kind tun", ["ip", "tuntap", "add", "mode", "tun", "name", "tun0", "user", "nobody"]),
    ("the link tap0 of kind tun", ["ip", "tuntap", "add", "mode", "tap", "name", "tap0", "user", "nobody"]),
    ("the link over of kind ipip", ["ip", "link", "add", "over", "type", "ipip", "local", "10.77.0.9", "remote", "10.77.0.1"]),
    ("the qdisc clsact on lo", ["tc", "qdisc", "add", "dev", "lo", "clsact"]),
    ("the qdisc prio on lo", ["tc", "qdisc", "add", "dev", "lo", "root", "prio"]),
    ("the qdisc ingress on eth0", ["tc", "qdisc", "add", "dev", "eth0", "ingress"]),
])
def test_a_link_or_a_filter_that_is_no_wire(wired, what, command):
    sandbox = wired("--bounding", "none")
    try:
        sandbox.netns.run(*command)
    except RuntimeError as error:
        pytest.skip(f"the kernel has none: {error}")
    done = sandbox.try_attach()
    assert done.returncode == 1 and f"has {what}" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    if command[0] == "tc":
        sandbox.netns.run("tc", "qdisc", "del", *command[3:])
    else:
        sandbox.netns.run("ip", "link", "del", what.split()[2])
    assert sandbox.try_attach().returncode == 0, "and taken when it is gone"


TCX_INGRESS, TCX_EGRESS, NETKIT_PRIMARY = 46, 47, 54


@pytest.mark.parametrize("device, kind, what", [
    ("lo", TCX_INGRESS, "tcx/ingress of lo"),
    ("lo", TCX_EGRESS, "tcx/egress of lo"),
    ("eth0", TCX_INGRESS, "tcx/ingress of eth0"),
    ("kit0", NETKIT_PRIMARY, "netkit/primary of kit0"),
])
def test_a_program_that_no_qdisc_shows(wired, device, kind, what):
    sandbox = wired("--bounding", "none")
    try:
        if device == "kit0":
            sandbox.netns.run("ip", "link", "add", "kit0", "type", "netkit")
        link = sandbox.netns.call(lambda: maps.link_program(socket.if_nametoindex(device), kind))
    except (RuntimeError, OSError) as error:
        pytest.skip(f"the kernel or ip(8) has none: {error}")
    try:
        done = sandbox.try_attach()
        assert done.returncode == 1 and f"has a BPF program at {what}" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    finally:
        os.close(link)
    assert sandbox.try_attach().returncode == 0, "and taken when it is gone"


@pytest.mark.parametrize("kind", ["dummy", "macvlan", "vlan"])
def test_other_links_are_taken(wired, kind):
    sandbox = wired("--bounding", "none")
    words = {"dummy": ["type", "dummy"], "macvlan": ["link", "eth0", "type", "macvlan"],
             "vlan": ["link", "eth0", "type", "vlan", "id", "7"]}[kind]
    try:
        sandbox.netns.run("ip", "link", "add", "more0", *words)
    except RuntimeError as error:
        pytest.skip(f"the kernel has none: {error}")
    assert sandbox.try_attach().returncode == 0


# ---- conntrack ---------------------------------------------------------------------------------------

ENTRY = r"""
import socket, struct, sys

def attribute(kind, data):
    return struct.pack("HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)

def nest(kind, *parts):
    return attribute(kind | 0x8000, b"".join(parts))

def ends(kind, source, target, sport, dport):
    return nest(kind, nest(1, attribute(1, socket.inet_aton(source)), attribute(2, socket.inet_aton(target))),
                nest(2, attribute(1, bytes([17])), attribute(2, struct.pack("!H", sport)),
                     attribute(3, struct.pack("!H", dport))))

own, far, mark = sys.argv[1], "203.0.113.80", int(sys.argv[2])
body = struct.pack("BBH", 2, 0, 0) + ends(1, far, own, 443, 4000) + ends(2, own, far, 4000, 443)
body += attribute(3, struct.pack("!I", 0x4e | 8)) + attribute(7, struct.pack("!I", 100000))
body += attribute(8, struct.pack("!I", mark))
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as sock:
    sock.bind((0, 0))
    sock.send(struct.pack("IHHII", 16 + len(body), 0x100, 1 | 4 | 0x400 | 0x200, 1, 0) + body)
    print(struct.unpack_from("i", sock.recv(4096), 16)[0])
"""
REPLY = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 4000))
sock.sendto(b"prepared", ("203.0.113.80", 443))
"""


def marks(sandbox):
    """What the table marks connections with that came in."""
    text = sandbox.netns.run("nft", "list", "chain", "inet", "sallyport", "begin").stdout
    return {int(line.split("ct mark set ")[1].split()[0], 0) for line in text.splitlines() if "ct mark set" in line}


def test_an_inbound_connection_that_was_entered_by_hand_before_the_attach(wired, far):
    """Its other side would be a reply. The mark by which the table knows them cannot be known before."""
    sandbox, other = wired("--bounding", "none"), wired("--bounding", "none")
    assert other.attach() and len(marks(other)) == 1 and 0 not in marks(other)
    made = sandbox.netns.run(PYTHON, "-c", ENTRY, sandbox.ip4, str(*marks(other)))
    if made.stdout.strip() != "0":
        pytest.skip(f"the kernel takes no entry: {made.stdout}")
    sandbox.attach()
    assert marks(sandbox) != marks(other)
    place = far.capture.settle(sandbox)
    assert sandbox.run([PYTHON, "-c", REPLY, sandbox.ip4]).returncode == 0
    assert not left(far, sandbox, place)
    # the control: with the mark it is a reply
    assert sandbox.netns.run(PYTHON, "-c", ENTRY.replace("443", "8080"), sandbox.ip4,
                                      str(*marks(sandbox))).stdout.strip() == "0"
    assert sandbox.run([PYTHON, "-c", REPLY.replace("443", "8080"), sandbox.ip4]).returncode == 0
    assert left(far, sandbox, place)


# ---- groups ------------------------------------------------------------------------------------------

JOIN = """
import socket, struct, sys, time
sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
index = struct.pack("@I", socket.if_nametoindex("eth0"))
for scope in (0x0e, 0x02):
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, bytes([0xff, scope]) + b"prepared".ljust(14, b".") + index)
print("ready", flush=True)
sys.stdin.readline()
"""


def reports(far, sandbox, group, since):
    """Reports of membership with that group."""
    far.capture.settle(sandbox)
    return [f for port, outgoing, f in far.capture.frames[since:] if port == sandbox.port and not outgoing
            and f[12:14] == b"\x86\xdd" and socket.inet_pton(socket.AF_INET6, group) in f[54:]]


@pytest.mark.parametrize("attached", [True, False])
def test_a_group_that_a_program_joins_is_not_told_and_those_of_addresses_are(wired, far, attached):
    sandbox = wired("--bounding", "none")
    if attached:
        sandbox.attach()
    place = far.capture.settle(sandbox)
    command = sandbox.command([PYTHON, "-c", JOIN]) if attached else sandbox.netns.command([PYTHON, "-c", JOIN])
    with subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        sandbox.netns.ip(["addr add fd77::ab:cdef/64 dev eth0 nodad"])
        until(lambda: reports(far, sandbox, "ff02::1:ffab:cdef", place), "the report of a new address's group")
        told = until(lambda: attached or left(far, sandbox, place), "the control: the other group's")
        process.stdin.close()
        process.wait(10)
    assert told and (not attached or not left(far, sandbox, place))
