# SPDX-License-Identifier: Apache-2.0
"""The nft lane: no BPF is touched, a sandbox of it is captured and refused alike; and a helper where BPF is refused.

The main job's tests run over both lanes (BOTH_LANES in conftest.py). Here is what is this lane's own.
"""
import collections
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

import client
import helper_rig
from asking import told
from documents import POLICY
from sandbox import PYTHON, Refused, Sandbox
from waiting import until

HERE = os.path.dirname(os.path.abspath(__file__))
WITHOUT_BPF = ["/usr/bin/python3", os.path.join(HERE, "without_bpf.py")]
IP_TRANSPARENT, IPV6_TRANSPARENT, IPV6_FREEBIND = 19, 75, 78


@pytest.fixture(scope="module")
def lane():
    return "nft"


def table(box):
    """What `nft` prints of the table, as JSON's list of objects."""
    return json.loads(box.netns.run("nft", "-j", "list", "table", "inet", "sallyport").stdout)["nftables"]


def slots(box, family=4):
    """The map of the listeners: masked source port -> port."""
    (found,) = (o["map"] for o in table(box) if o.get("map", {}).get("name") == f"slots{family}")
    return {int(key): int(port) for key, port in found["elem"]}


# ---- which lane ---------------------------------------------------------------------------------------------------

def links_of(box):
    """Programs that are attached to the sandbox's cgroup or namespace."""
    cgroup = subprocess.run(["bpftool", "-j", "cgroup", "show", box.cgroup], capture_output=True, text=True, check=True)
    lines = subprocess.run(["bpftool", "-j", "link"], capture_output=True, text=True, check=True)
    inode = os.fstat(box.netns.fd).st_ino
    return json.loads(cgroup.stdout.strip() or "[]") + [
        one for one in json.loads(lines.stdout.strip() or "[]") if one.get("netns_ino") == inode
    ]


def test_no_program_is_attached_and_nothing_is_pinned(attach, stack):
    box = attach()
    assert f" lane=nft " in stack.netns("list").stdout
    assert not links_of(box)
    assert not [pin for pin in stack.pins() if box.id in pin]
    assert not any(box.id in json.dumps(entry) for entry in stack.maps("sandboxes"))
    control = attach(lane="bpf")
    assert links_of(control) and [pin for pin in stack.pins() if control.id in pin], "the control"
    shown = {one["id"]: one for one in stack.get("/v1/sandboxes")["sandboxes"]}
    assert (shown[box.id]["lane"], shown[box.id]["network"]) == ("nft", "sealed")
    assert shown[control.id]["lane"] == "bpf"
    assert re.search(rf"{box.id} .*\bnft\b", stack.ctl("sandboxes").stdout)


@pytest.fixture
def bpfless(another_stack):
    return another_stack("bpfless", wrapper=WITHOUT_BPF)


def test_where_bpf_is_refused_the_nft_lane_is_taken_and_told(bpfless, attach, world):
    assert "BPF is degraded: " in bpfless.log("helper") and "Operation not permitted" in bpfless.log("helper")
    assert bpfless.log("helper").count("BPF is degraded") == 1, "once"
    assert "dialler" in [d["feature"] for d in bpfless.get("/v1/status")["degraded"]], "nor is the daemon guarded"
    (degraded,) = [d for d in bpfless.get("/v1/status")["degraded"] if d["feature"] == "BPF"]
    assert "Operation not permitted" in degraded["reason"] and "CAP_BPF" in degraded["remedy"]
    assert "BPF" in bpfless.ctl("status").stdout
    box = attach(on=bpfless, lane="auto")
    assert " lane=nft " in bpfless.netns("list").stdout
    watch = world.watch()
    assert box.curl("https://api.test/", check=True).returncode == 0
    assert watch.fired(), "the control"
    watch = world.watch()
    for address in ("169.254.169.254", "10.0.0.1", "fd00:ec2::254"):
        with pytest.raises(Refused) as refused:
            box.connect(address, 80)
        assert refused.value.ms < 100
    watch.nothing()


@pytest.mark.parametrize("option", [["--lane", "bpf"], ["--strict"]], ids=["bpf", "strict"])
def test_where_bpf_is_refused_whoever_wants_it_is_told_why(bpfless, option):
    box = Sandbox(bpfless, POLICY)
    try:
        arguments = ["attach", "--id", box.id, "--netns", box.netns.path, "--cgroup", box.cgroup, *option]
        done = bpfless.netns(*arguments)
        assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert option[0] in done.stderr and "Operation not permitted" in done.stderr and "--lane nft" in done.stderr
        assert not bpfless.netns("list").stdout
        assert "192.0.2.1" not in box.netns.run("ip", "addr").stdout, "half attached"
        assert not box.netns.run("nft", "list", "ruleset").stdout.strip()
        # who has said nft has nothing degraded
        assert bpfless.netns(*arguments[:7], "--lane", "nft", "--strict").returncode == 0
        assert bpfless.netns("detach", "--id", box.id).returncode == 0
    finally:
        box.close()


def test_the_daemon_comes_back_to_a_helper_without_bpf(bpfless, attach):
    box = attach(on=bpfless, lane="auto")
    bpfless.kill_daemon()
    bpfless.start_daemon()
    with client.plain(box) as connection:
        assert connection.get().status == 200
    assert [d for d in bpfless.get("/v1/status")["degraded"] if d["feature"] == "BPF"]


REWRITE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>
/* As on a kernel without it: the expression is of a name that no module has. */
ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to, socklen_t size)
{
	ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
	char *at = (char *)bytes;
	while ((at = memmem(at, n - (size_t)(at - (char *)bytes), "tproxy", 7)))
		at[0] = 'n';
	return real(fd, bytes, n, flags, to, size);
}
"""


def test_a_kernel_without_tproxy_is_told_by_the_options_name(another_stack, world, tmp_path):
    source = world.write("rewrite.c", REWRITE)
    shim = os.path.join(world.run, "rewrite.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    stack = another_stack("untproxied", wrapper=[
        "env", f"LD_PRELOAD={shim}", "ASAN_OPTIONS=verify_asan_link_order=0"])
    box = Sandbox(stack, POLICY, lane="nft")
    try:
        done = box.try_attach()
        assert done.returncode == 1 and "CONFIG_NFT_TPROXY" in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert not stack.netns("list").stdout
        assert not box.netns.run("nft", "list", "ruleset").stdout.strip()
        assert "192.0.2.1" not in box.netns.run("ip", "addr").stdout
        box.lane = "bpf"
        box.attach()
    finally:
        box.close()


# ---- before it is active, and after ------------------------------------------------------------------------------

def test_until_the_daemon_says_active_nothing_is_taken(rig, netns_path):
    offered = []
    daemon = rig.daemon(answer=lambda offer: offered.append(offer))  # silent
    asking = subprocess.Popen([helper_rig.NETNS, "--state", rig.state, "attach", "--id", "a", "--netns", netns_path,
        "--cgroup", rig.cgroup(), "--lane", "nft"], stderr=subprocess.DEVNULL)
    try:
        until(lambda: offered, "the offer")
        assert (offered[0].lane, offered[0].flows) == (helper_rig.LANE_NFT, -1)
        assert try_inside(netns_path, "203.0.113.10", 443) == "refused"
        assert try_inside(netns_path, "2001:db8::10", 443) == "refused"
        assert try_inside(netns_path, "203.0.113.53", 53, "udp") == "refused"
        assert try_inside(netns_path, "127.0.0.53", 53, "udp") == "refused"
        assert try_inside(netns_path, "127.0.64.53", 53, "udp") == "refused", "where the DNS socket is bound"
        daemon.sock.send(helper_rig.active("a"))
        assert asking.wait(20) == 0
        assert try_inside(netns_path, "203.0.113.10", 443) == "connected", "the control"
        assert try_inside(netns_path, "2001:db8::10", 443) == "connected"
        assert try_inside(netns_path, "127.0.0.53", 53, "udp") == "silence", "the daemon of this test does not answer"
    finally:
        asking.kill()
        asking.wait()


def test_while_it_is_being_detached_nothing_is_taken(rig, netns_path):
    """The daemon still has its copies of the listeners."""
    daemon = rig.daemon()
    done = rig.ctl("attach", "--id", "a", "--netns", netns_path, "--cgroup", rig.cgroup(), "--lane", "nft")
    assert done.returncode == 0, done.stderr
    assert try_inside(netns_path, "203.0.113.10", 443) == "connected", "the control"
    may_go, drop = threading.Event(), daemon.drop
    daemon.drop = lambda id_: may_go.wait(20) and drop(id_)
    leaving = subprocess.Popen([helper_rig.NETNS, "--state", rig.state, "detach", "--id", "a"])
    try:
        until(lambda: "a leaving" in rig.ctl("list").stdout, "the withdrawal")
        assert try_inside(netns_path, "203.0.113.10", 443) == "refused"
        assert try_inside(netns_path, "127.0.0.53", 53, "udp") == "refused"
    finally:
        may_go.set()
        assert leaving.wait(20) == 0


ATTEMPT = """
import socket, sys
address, port, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET,
    socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
s.settimeout(1)
try:
    s.connect((address, port))
    if kind == "udp":
        s.send(b"question"); s.recv(100)
    print("connected")
except ConnectionRefusedError:
    print("refused")
except socket.timeout:
    print("silence")
"""


def try_inside(netns, address, port, kind="tcp"):
    return subprocess.run(["nsenter", f"--net={netns}", PYTHON, "-c", ATTEMPT, address, str(port), kind],
        capture_output=True, text=True, check=True, timeout=20).stdout.strip()


@pytest.fixture
def netns_path():
    from origin.netns import Netns

    made = Netns("lane")
    yield made.path
    made.close()


def test_when_helper_and_daemon_are_killed_connections_are_refused(another_stack, attach, world):
    """And a server of the sandbox on every address gets none of them."""
    stack = another_stack("doomed")
    box = attach(on=stack)
    with client.plain(box) as connection:
        assert connection.get().status == 200
    thief = Thief(box, [("AF_INET", "0.0.0.0", 8443)])
    watch = world.watch()
    try:
        for process in (stack.daemon, stack.helper):
            process.send_signal(signal.SIGKILL)
            process.wait(20)
        for address in ("203.0.113.10", "2001:db8::10", "10.0.0.1"):
            with pytest.raises(Refused) as refused:
                box.connect(address, 8443)
            assert refused.value.errno == 111 and refused.value.ms < 100
        assert thief.got() == 0
        box.connect("127.0.0.1", 8443).close()
        assert thief.got() == 1, "the control"
        watch.nothing()
    finally:
        thief.close()
        subprocess.run(["umount", "-l", os.path.join(stack.state, "bpf")], check=True)


# ---- capture -----------------------------------------------------------------------------------------------------

def test_every_listener_has_its_share_of_source_ports(attach):
    box = attach()
    for family in (4, 6):
        of = slots(box, family)
        counts = collections.Counter(of.values())
        assert sorted(of) == list(range(0, 128, 2))
        assert len(counts) == min(os.cpu_count(), 16) and max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("family,address", [("AF_INET", "203.0.113.10"), ("AF_INET6", "2001:db8::10")])
@pytest.mark.parametrize("ports", ["the kernel's", "even", "odd"])
def test_connections_spread_over_the_listeners(rig, netns_path, family, address, ports):
    """Whichever ports clients have. Nobody accepts: they wait where they are."""
    daemon = rig.daemon()
    done = rig.ctl("attach", "--id", "a", "--netns", netns_path, "--cgroup", rig.cgroup(), "--lane", "nft")
    assert done.returncode == 0, done.stderr
    offer = daemon.offers["a"]
    code = f"""
import socket, sys
kept = []
for n in range(200):
    s = socket.socket(socket.{family})
    if {ports!r} != "the kernel's":
        s.bind(("", 20000 + 2 * n + ({ports!r} == "odd")))
    s.connect(({address!r}, 1000 + n % 7))
    kept.append(s)
print(len(kept), flush=True)
sys.stdin.read()
"""
    clients = subprocess.Popen(["nsenter", f"--net={netns_path}", PYTHON, "-c", code], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)
    try:
        assert clients.stdout.readline() == "200\n"
        shares = []
        for fd in offer.tcp6 if family == "AF_INET6" else offer.tcp4:
            listener = socket.socket(fileno=os.dup(fd))
            listener.setblocking(False)
            n = 0
            while select.select([listener], [], [], 0)[0]:
                accepted, peer = listener.accept()
                assert accepted.getsockname()[0].removeprefix("::ffff:") == address and 1000 <= accepted.getsockname()[1] < 1007
                accepted.close()
                n += 1
            shares.append(n)
            listener.close()
        assert sum(shares) == 200
        expected = 200 / len(shares)
        assert all(0.6 * expected <= n <= 1.4 * expected for n in shares), shares
    finally:
        clients.communicate()


class Thief:
    """A root of the namespace with every capability that listens where it can; counts what it gets."""

    CODE = """
import json, select, socket, sys
wanted = json.loads(sys.argv[1])
kept, errors = [], []
for family, address, port, kind, options in wanted:
    s = socket.socket(getattr(socket, family), getattr(socket, kind))
    try:
        for level, option in options:
            s.setsockopt(level, option, 1)
        s.bind((address, port))
        if kind == "SOCK_STREAM":
            s.listen(10)
        s.setblocking(False)
        kept.append(s)
        errors.append(0)
    except OSError as error:
        errors.append(error.errno)
print(json.dumps(errors), flush=True)
got = 0
for line in sys.stdin:
    while ready := select.select(kept, [], [], 0)[0]:
        for s in ready:
            if s.type == socket.SOCK_STREAM:
                s.accept()[0].close()
            else:
                s.recv(1000)
            got += 1
    print(got, flush=True)
"""

    def __init__(self, box, wanted):
        """wanted: (family, address, port[, kind[, options]])"""
        whole = [(*one, *("SOCK_STREAM", [])[len(one) - 3 :]) for one in wanted]
        self.process = subprocess.Popen(
            ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', box.cgroup,
             *box.netns.command([PYTHON, "-c", self.CODE, json.dumps(whole)])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.errors = json.loads(self.process.stdout.readline())

    def got(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.communicate()


REUSE = [(socket.SOL_SOCKET, socket.SO_REUSEADDR), (socket.SOL_SOCKET, socket.SO_REUSEPORT)]
TRANSPARENT = [*REUSE, (socket.SOL_IP, IP_TRANSPARENT)]
TRANSPARENT6 = [*REUSE, (socket.IPPROTO_IPV6, IPV6_TRANSPARENT)]


def test_nobody_in_the_sandbox_takes_over_what_is_captured(attach, origin):
    """By a server on every address, on the very one, or one that says it is transparent."""
    box = attach()
    thief = Thief(box, [
        ("AF_INET", "0.0.0.0", 443, "SOCK_STREAM", TRANSPARENT),
        ("AF_INET", "203.0.113.10", 443, "SOCK_STREAM", TRANSPARENT),
        ("AF_INET6", "::", 80, "SOCK_STREAM", REUSE),
        ("AF_INET6", "2001:db8::10", 443, "SOCK_STREAM", TRANSPARENT6),
        ("AF_INET", "203.0.113.53", 53, "SOCK_DGRAM", TRANSPARENT),
        ("AF_INET", "127.0.0.53", 53, "SOCK_DGRAM", TRANSPARENT),
        ("AF_INET", "127.0.0.53", 53, "SOCK_STREAM", TRANSPARENT),
        ("AF_INET6", "2001:db8::53", 53, "SOCK_DGRAM", TRANSPARENT6),
    ])
    try:
        assert thief.errors == [0] * 8
        for family, address in (("AF_INET", "203.0.113.10"), ("AF_INET6", "2001:db8::10")):
            with client.https(box, address=address, family=family) as connection:
                assert connection.get("/not-stolen").status == 200
            with client.plain(box, address) as connection:
                assert connection.get("/not-stolen").status == 200
        assert origin.last("/not-stolen")
        for server in ("203.0.113.53", "127.0.0.53", "2001:db8::53"):
            for over in ("udp", "tcp"):
                assert told(box, "v4only.test", server=server, over=over) == ("NOERROR", ["203.0.113.11"])
        assert thief.got() == 0
        box.connect("127.0.0.1", 443).close()
        box.connect("192.0.2.1", 80).close()
        assert thief.got() == 2, "the control: what is the sandbox's own it gets"
    finally:
        thief.close()


def test_nobody_joins_our_listeners(attach):
    """Their addresses and ports are taken for everybody, whatever is set before bind(2)."""
    box = attach()
    wanted = []
    for family, own, every, port in (
        ("AF_INET", "127.0.64.1", "0.0.0.0", next(iter(slots(box).values()))),
        ("AF_INET6", "::1", "::", next(iter(slots(box, 6).values()))),
    ):
        wanted += [(family, address, port, "SOCK_STREAM", REUSE) for address in (own, every)]
    wanted += [("AF_INET", address, 53, "SOCK_DGRAM", TRANSPARENT) for address in ("127.0.64.53", "0.0.0.0")]
    wanted += [("AF_INET6", address, 53, "SOCK_DGRAM", REUSE) for address in ("::1", "::")]
    wanted += [("AF_INET", "127.0.64.2", wanted[0][2], "SOCK_STREAM", REUSE)]
    thief = Thief(box, wanted)
    thief.close()
    assert thief.errors == [98] * 8 + [0], "EADDRINUSE; the last is the control"


@pytest.mark.parametrize("source", ["203.0.113.99", "2001:db8::99", "127.0.0.9"])
def test_a_client_bound_to_an_odd_address_is_served_too(attach, source):
    box = attach()
    address = "2001:db8::10" if ":" in source else "203.0.113.10"
    assert box.python(f"""
import socket
s = socket.socket(socket.AF_INET6 if ":" in {source!r} else socket.AF_INET)
if s.family == socket.AF_INET6:
    s.setsockopt(socket.IPPROTO_IPV6, {IPV6_FREEBIND}, 1)
s.settimeout(10)
s.bind(({source!r}, 0))
s.connect(({address!r}, 80))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
result = s.recv(1000).decode().split("\\r\\n")[0], s.getpeername()[0], s.getsockname()[0]
""") == ["HTTP/1.1 200 OK", address, source]


# ---- refusals ----------------------------------------------------------------------------------------------------

ERRORS = """
import socket, time, select
s = socket.socket({family}, socket.SOCK_DGRAM)
if {told}:
    s.setsockopt(*((socket.SOL_IP, 11) if s.family == socket.AF_INET else (socket.IPPROTO_IPV6, 25)), 1)
sent = []
start = time.monotonic()
for n in range(2):
    try:
        sent.append(s.sendto(b"quic", ({address!r}, 443)))
    except OSError as error:
        sent.append(-error.errno)
readable = select.select([s], [], [], 0.3)[0]
pending = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
result = sent, bool(readable), pending, (time.monotonic() - start) * 1000
"""


@pytest.mark.parametrize("address", ["203.0.113.10", "10.0.0.1", "2001:db8::10"])
def test_unconnected_udp_is_refused_but_without_an_errno(attach, world, address):
    """The kernel tells a port unreachable to a socket that is connected, or that asked for it (IP_RECVERR)."""
    box = attach()
    family = "socket.AF_INET6" if ":" in address else "socket.AF_INET"
    watch = world.watch()
    sent, readable, pending, _ = box.python(ERRORS.format(family=family, told=False, address=address))
    assert (sent, readable, pending) == ([4, 4], False, 0), "sallyport-netns(8) says so: has it become better?"
    sent, readable, pending, milliseconds = box.python(ERRORS.format(family=family, told=True, address=address))
    assert readable and milliseconds < 100 and (pending == 111 or -111 in sent)
    assert not watch.packets_to(address)


@pytest.mark.parametrize("address", ["203.0.113.10", "2001:db8::10"])
def test_port_853_and_what_is_neither_tcp_nor_udp_are_refused(attach, world, address):
    box = attach()
    watch = world.watch()
    with pytest.raises(Refused) as refused:
        box.connect(address, 853)
    assert refused.value.errno == 111 and refused.value.ms < 100
    datagram = box.connect(address, 853, kind="SOCK_DGRAM")
    datagram.send(b"question")
    with pytest.raises(ConnectionRefusedError):
        datagram.recv(100)
    datagram.close()
    code = f"""
import socket, struct
v6 = ":" in {address!r}
s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_RAW, 58 if v6 else 1)
s.sendto(struct.pack("!BBHHH", 128 if v6 else 8, 0, 0xf7ff if not v6 else 0, 0, 0), ({address!r}, 0))
"""
    box.joined([PYTHON, "-c", code], check=True)
    assert not watch.packets_to(address)
    watch.nothing()


def test_what_is_older_than_the_attach_is_captured_and_refused(stack, world):
    """Sockets, processes of another cgroup: there is nothing about this lane that a cgroup decides."""
    box = Sandbox(stack, POLICY, lane="nft")
    old = [box.netns.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(2)]
    try:
        box.attach()
        watch = world.watch()
        with pytest.raises(ConnectionRefusedError):
            old[0].connect(("169.254.169.254", 80))
        watch.nothing()
        old[1].settimeout(10)
        old[1].connect(("203.0.113.10", 80))
        with client.Client(old[1]) as connection:
            assert connection.get("/older").status == 200
        assert watch.fired(), "the control"
    finally:
        for sock in old:
            sock.close()
        box.close()


def test_at_the_end_open_connections_are_broken_off(attach):
    """By resets that the closed table lets through to the sandbox."""
    box = attach()
    connection = client.plain(box)
    assert connection.get().status == 200
    start = time.monotonic()
    assert box.detach().returncode == 0
    assert connection.ended(5) and time.monotonic() - start < 5
    connection.close()
    assert not box.netns.run("nft", "list", "ruleset").stdout.strip()
