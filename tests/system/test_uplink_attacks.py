# SPDX-License-Identifier: Apache-2.0
"""Ways of sending past a sandbox in uplink mode. What the far side captured is the judge; forging.py has the ways.

What needs no capability is tried by a program in the sandbox, and by root in the namespace outside every cgroup of
it, whose sockets no hook sees: the table and the routing order alone must hold. What needs NET_RAW or NET_ADMIN is
tried by root as well, since an attach refuses a sandbox that may come by them; what they can send all the same is
written down at the end, and in sallyport-netns(8).
"""
import os
import shutil
import socket
import struct
import subprocess

import pytest

import documents
import forging
from farside import BRIDGE4, BRIDGE6, UplinkSandbox
from sandbox import JOINING, PYTHON
from waiting import until


@pytest.fixture(scope="module")
def script(world):
    return shutil.copy(forging.__file__, world.run)


def opened(stack, far, attach=True):
    sandbox = UplinkSandbox(stack, documents.POLICY, far, prefix="swap")
    if attach:
        sandbox.attach()
    return sandbox


@pytest.fixture(scope="module")
def sandbox(stack, far):
    """Attached, with a server of its own."""
    made = opened(stack, far)
    server = serve(made)
    yield made
    server.kill()
    server.wait()
    server.stdout.close()
    made.close()


@pytest.fixture
def spoiled(stack, far):
    """Attached, for one test alone."""
    made = opened(stack, far)
    yield made
    made.close()


@pytest.fixture
def bare(stack, far):
    """Wired and not attached: the control."""
    made = opened(stack, far, attach=False)
    yield made
    made.close()


def serve(sandbox):
    path = shutil.copy(os.path.join(os.path.dirname(__file__), "served.py"), sandbox.stack.world.run)
    server = sandbox.popen([PYTHON, "-E", "-S", path, sandbox.id, str(forging.PORT)], stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"listening\n"
    return server


def words(script, sandbox, way, far):
    link_local = far.netns.run("ip", "-6", "-o", "addr", "show", "dev", "bridge", "scope", "link").stdout.split()[3]
    return [PYTHON, "-E", script, way, sandbox.ip4, sandbox.ip6, link_local.partition("/")[0]]


def by_root(sandbox, argv):
    """In the namespace and in no cgroup of a sandbox."""
    return subprocess.run(sandbox.netns.command(argv), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("way", [f.__name__ for f in forging.OPEN])
def test_what_wants_no_capability_sends_nothing(sandbox, far, script, way):
    place, heard = far.capture.settle(sandbox), len(far.heard)
    argv = words(script, sandbox, way, far)
    for done in (sandbox.run(argv), by_root(sandbox, argv)):
        assert done.returncode in (0, 3), done.stderr
    assert not sandbox.unasked(place)
    assert len(far.heard) == heard


@pytest.mark.parametrize("way", [f.__name__ for f in (*forging.FORGED, *forging.ROUTED)])
def test_what_wants_a_capability_is_forbidden_inside_and_sends_nothing_for_root(spoiled, far, script, way):
    server = serve(spoiled)
    try:
        place, heard = far.capture.settle(spoiled), len(far.heard)
        argv = words(script, spoiled, way, far)
        inside, outside = spoiled.run(argv), by_root(spoiled, argv)
        assert inside.returncode == 3 or "could not:" in inside.stdout, "a sandbox has none of the capabilities"
        assert outside.returncode == 0, outside.stdout + outside.stderr
        assert "could not:" not in outside.stdout or way == "without_rules", outside.stdout
        assert not spoiled.unasked(place)
        assert len(far.heard) == heard
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


# what the control does not send in a namespace that is not attached either, and why it is tried all the same
SILENT = {
    "ping_sockets": "ping_group_range is empty in a new namespace",
    "forged_inbound": "its answers stay on lo where the routes are the kernel's own",
    "without_routes": "without the local table nothing works",
}


@pytest.mark.parametrize("way", [f.__name__ for f in (*forging.OPEN, *forging.FORGED, *forging.ROUTED)
                                 if f.__name__ not in SILENT])
def test_the_control_without_an_attach_it_is_seen(bare, far, script, way):
    done = by_root(bare, words(script, bare, way, far))
    assert done.returncode in (0, 3), done.stderr
    if done.returncode == 3:
        pytest.skip(done.stdout.strip())
    assert bare.unasked(), f"{way} sends nothing here even without a sandbox around it"


# ---- on the back of what came in ---------------------------------------------------------------------


def reverse(far, sandbox, v6):
    """An inbound connection: (the far side's socket, the sandbox's, which this process holds)."""
    address, peer = (sandbox.ip6, BRIDGE6) if v6 else (sandbox.ip4, BRIDGE4)
    family = socket.AF_INET6 if v6 else socket.AF_INET
    listener = sandbox.netns.socket(family, socket.SOCK_STREAM)
    with listener:
        listener.bind((address, 0))
        listener.listen()
        listener.settimeout(5)
        outer = far.netns.socket(family, socket.SOCK_STREAM)
        outer.settimeout(5)
        far.netns.call(outer.bind, (peer, 0))
        far.netns.call(outer.connect, (address, listener.getsockname()[1]))
        inner, _ = listener.accept()
    inner.settimeout(5)
    return outer, inner


@pytest.mark.parametrize("v6,route", [(False, forging.lsrr), (True, forging.srh)])
def test_a_reply_cannot_name_another_way(sandbox, far, v6, route):
    """Options that lead a reply on from its first hop, which is the peer, to somewhere else."""
    outer, inner = reverse(far, sandbox, v6)
    with outer, inner:
        inner.sendall(b"as it is")
        assert outer.recv(100) == b"as it is", "the control"
        place = far.capture.settle(sandbox)
        route(inner)
        inner.sendall(forging.MSG)
        far.capture.settle(sandbox)
        assert not [f for port, outgoing, f in far.capture.frames[place:]
                    if port == sandbox.port and not outgoing and forging.MSG in f]
        assert not sandbox.unasked(place)


def spoofed(far, sandbox, source, sport, dport, flags, seq=1, ack=0):
    """A TCP segment to the sandbox from whatever address."""
    packet = forging.ipv4(source, sandbox.ip4, 6, forging.segment(source, sandbox.ip4, sport, dport, flags, seq, ack))
    with far.netns.socket(socket.AF_INET, socket.SOCK_RAW, 255) as sock:
        sock.sendto(packet, (sandbox.ip4, 0))


def test_a_connection_outwards_is_no_reply(sandbox, far, stack, origin):
    """Somebody on the segment forges a SYN from where the sandbox wants to go: its own SYN is still captured."""
    with sandbox.netns.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((sandbox.ip4, 5000))
        listener.listen()
        place = far.capture.settle(sandbox)
        spoofed(far, sandbox, "203.0.113.80", 443, 5000, 0x02)
        until(lambda: [f for port, outgoing, f in far.capture.frames[place:] if port == sandbox.port and not outgoing
                       and f[12:14] == b"\x08\0" and f[23] == 6 and f[47] == 0x12], "its SYN-ACK: the flow is known")
    place = far.capture.settle(sandbox)
    for bound in (b"", b"eth0"):
        with sandbox.netns.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.settimeout(0.5)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if bound:
                sock.setsockopt(socket.SOL_SOCKET, forging.SO_BINDTODEVICE, bound)
            sock.bind((sandbox.ip4, 5000))
            try:
                sandbox.netns.call(sock.connect, ("203.0.113.80", 443))
            except OSError:
                pass
    far.capture.settle(sandbox)
    assert not [f for port, outgoing, f in far.capture.frames[place:] if port == sandbox.port and not outgoing
                and f[12:14] == b"\x08\0" and f[23] == 6 and f[47] & 0x12 == 0x02], "a SYN left"


BEFORE = """
import socket, sys
made = [socket.create_connection((a, int(p))) for a, p in zip(sys.argv[1::2], sys.argv[2::2])]
for one in made:
    one.settimeout(0.3)
    one.sendall(b"before")
print("connected", flush=True)
sys.stdin.readline()
for one in made:
    try:
        one.sendall(b"after")
        one.recv(100)
    except OSError:
        pass
print("done", flush=True)
"""


def test_what_was_open_before_the_attach_is_cut(bare, far):
    """Either side may speak first: a segment out of the middle is no inbound connection."""
    listeners = []
    for address, family in ((BRIDGE4, socket.AF_INET), (BRIDGE6, socket.AF_INET6)):
        listeners.append(far.netns.socket(family, socket.SOCK_STREAM))
        listeners[-1].bind((address, 0))
        listeners[-1].listen()
    targets = [str(part) for l in listeners for part in l.getsockname()[:2]]
    process = subprocess.Popen(
        ["sh", "-c", JOINING, "sh", bare.cgroup, *bare.netns.command([PYTHON, "-c", BEFORE, *targets])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "connected\n"
    outer = []
    for listener in listeners:
        outer.append(listener.accept()[0])
        outer[-1].settimeout(0.3)
        assert outer[-1].recv(100) == b"before", "the control"
        listener.close()
    bare.attach()
    place = far.capture.settle(bare)
    for sock in outer:
        sock.sendall(b"from outside")
    process.stdin.write("go on\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    for sock in outer:
        with sock, pytest.raises(OSError):
            sock.recv(100)
    far.capture.settle(bare)
    assert not [f for port, outgoing, f in far.capture.frames[place:]
                if port == bare.port and not outgoing and (f[12:14], f[23]) == (b"\x08\0", 6)
                or (f[12:14], f[20]) == (b"\x86\xdd", 6) and port == bare.port and not outgoing]
    process.communicate(timeout=10)


@pytest.mark.parametrize("source", ["own", "uplink"])
def test_a_neighbour_cannot_speak_as_the_sandbox_itself(sandbox, far, source):
    """accept_local=1 would let a frame in that names an address of the sandbox's own as its source."""
    with sandbox.netns.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
            far.netns.socket(socket.AF_INET, socket.SOCK_RAW, 255) as sender:
        receiver.bind((sandbox.ip4, 0))
        receiver.settimeout(5)
        port = receiver.getsockname()[1]

        def send(address, data):
            datagram = struct.pack("!HHHH", 7, port, 8 + len(data), 0) + data
            sender.sendto(forging.ipv4(address, sandbox.ip4, 17, datagram), (sandbox.ip4, 0))

        send("192.0.2.1" if source == "own" else sandbox.ip4, b"I am you")
        send("203.0.113.9", b"I am another")
        assert receiver.recvfrom(100) == (b"I am another", ("203.0.113.9", 7)), "the first was dropped"


# ---- what is written down ----------------------------------------------------------------------------


@pytest.mark.parametrize("way,seen", [("packet_socket", 5353), ("false_discovery", None), ("without_table", 443)])
def test_what_the_capabilities_that_an_attach_refuses_could_send(spoiled, far, script, way, seen):
    """sallyport-netns(8), UPLINK: each of the three is why one of them is refused. In the sandbox they are not there."""
    place = far.capture.settle(spoiled)
    argv = words(script, spoiled, way, far)
    inside = spoiled.run(argv)
    assert inside.returncode == 3 or "could not:" in inside.stdout
    assert not spoiled.unasked(place)
    done = by_root(spoiled, argv)
    assert done.returncode == 0, done.stderr
    far.capture.settle(spoiled)
    frames = [f for port, outgoing, f in far.capture.frames[place:] if port == spoiled.port and not outgoing]
    wanted = struct.pack("!H", seen) if seen else forging.MSG
    assert [f for f in frames if wanted in f], "no longer so: say it in the manual"
