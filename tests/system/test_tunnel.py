# SPDX-License-Identifier: Apache-2.0
"""Tunnels: raw bytes to hosts that a rule names, both ways, and what becomes of both ends (CAP-03, CAP-06).

     sandbox ── 198.18.x.y, which stands for the name ──▶ daemon ── the name's checked address ──▶ raw.py
"""
import errno
import hashlib
import os
import socket
import ssl
import subprocess
import threading
import time

import pytest

import asking
from origin import raw
from sandbox import Refused, attached
from waiting import PATIENCE, until

ECHO, BANNER, AFTER_EOF, HALF_FIRST, BOTH, MUTE, RESETS, NOBODY = range(7000, 7008)
SIZE = 100 << 20

POLICY = """\
version: 1
name: tunnels
default: deny
rules:
  - {name: not-this, hosts: [tunnel4.test], ports: [7001], action: deny}
  - name: raw
    hosts: [tunnel.test, tunnel4.test, tunnel6.test, two.test, rebind.test, nx.test, private.test, mixed.test,
      metadata.test, loopback.test, silent.test]
    ports: ["7000-7099"]
    action: tunnel
  - {name: by-address, hosts: [203.0.113.60, "2001:db8::60"], ports: ["7000-7099"], action: tunnel}
  - {name: tls, hosts: [api.test], ports: [443, 8443], action: tunnel}
  - {name: web, hosts: [other.test], action: allow}
"""


@pytest.fixture(scope="module")
def servers(world):
    """port: server, on every address of the internet."""
    behaviours = {
        ECHO: raw.echo, BANNER: raw.banner, AFTER_EOF: raw.after_eof, HALF_FIRST: raw.half_first,
        BOTH: raw.both(SIZE), MUTE: raw.mute, RESETS: raw.resets,
    }
    with raw.serving(world.internet, behaviours) as made:
        yield made


@pytest.fixture(scope="module")
def box(stack, lane, servers):
    with attached(stack, POLICY, prefix="tunnel", lane=lane) as made:
        yield made


def address_of(box, name):
    """The address that stands for it in this sandbox."""
    rcode, values = asking.told(box, name)
    assert rcode == "NOERROR" and values[0].startswith("198.1"), (name, rcode, values)
    assert values[0] != asking.SHARED, f"{name} is not tunnelled"
    return values[0]


def tunnel(box, to, port, **options):
    address = to if to[0].isdigit() else address_of(box, to)
    return box.connect(address, port, **options)


def read_all(sock, seconds=30):
    sock.settimeout(seconds * PATIENCE)
    parts = []
    while data := sock.recv(1 << 18):
        parts.append(data)
    return b"".join(parts)


def read_exactly(sock, size):
    data = b""
    while len(data) < size:
        got = sock.recv(size - len(data))
        assert got, f"the end after {data!r}"
        data += got
    return data


def ended(sock):
    """How the other side ended: "reset" or "fin"."""
    sock.settimeout(10 * PATIENCE)
    try:
        assert sock.recv(1) == b""
        return "fin"
    except ConnectionResetError:
        return "reset"


def turned_away(box, address, port):
    """Milliseconds until the reset; it may come so soon that connect() ends with it."""
    start = time.monotonic()
    try:
        with box.connect(address, port) as sock:
            assert ended(sock) == "reset"
    except Refused as refused:
        assert refused.errno == errno.ECONNRESET
    return (time.monotonic() - start) * 1000


def at_rest(box):
    """Descriptors of the daemon and counters of the sandbox, once what earlier tests opened is closed."""

    def same():
        held = box.stack.descriptors()
        time.sleep(0.1)  # a descriptor is closed by the ring, behind what the counters say
        return held if counters(box)["open"] == 0 and box.stack.descriptors() == held else None

    return until(same, "the daemon to be at rest"), counters(box)


def counters(box):
    return box.stack.get(f"/v1/sandboxes/{box.id}")["counters"]


HOSTS = ["tunnel.test", "tunnel6.test", "203.0.113.60", "2001:db8::60"]
ARRIVES = {"tunnel.test": "203.0.113.60", "tunnel6.test": "2001:db8::62"}


# ---- what passes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_CAP_03_a_banner_arrives_while_the_client_is_silent(box, servers, host):
    server = servers[BANNER]
    seen = len(server.accepted)
    with tunnel(box, host, BANNER) as sock:
        assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
        arrived = time.monotonic()
        one = server.accepted[seen]
        assert one.got == 0 and one.local[0] == ARRIVES.get(host, host)
        assert arrived - one.spoke < 0.1 * PATIENCE
        sock.sendall(b"EHLO\r\n")
        assert read_exactly(sock, 6) == b"EHLO\r\n"


@pytest.mark.parametrize("host", HOSTS)
def test_CAP_06_the_answer_comes_whole_after_the_clients_end(box, servers, host):
    server = servers[AFTER_EOF]
    seen = len(server.accepted)
    with tunnel(box, host, AFTER_EOF) as sock:
        sock.sendall(b"REQ\n")
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b"r" * 1048576
    one = server.accepted[seen]
    assert (one.first, one.ended) == (b"REQ\n", "fin")


def test_CAP_06_bytes_go_up_after_the_servers_end(box, servers):
    server = servers[HALF_FIRST]
    seen = len(server.accepted)
    with tunnel(box, "tunnel.test", HALF_FIRST) as sock:
        assert read_all(sock) == raw.BANNER
        for _ in range(16):
            sock.sendall(b"u" * 65536)
    server.wait(lambda: server.accepted[seen].done)
    one = server.accepted[seen]
    assert (one.got, one.ended) == (1048576, "fin")


@pytest.mark.parametrize("host", ["tunnel.test", "2001:db8::60"])
def test_a_hundred_mebibytes_each_way_with_a_half_close(box, servers, host):
    server = servers[BOTH]
    seen = len(server.accepted)
    up = hashlib.sha256()
    block = os.urandom(1 << 20)
    with tunnel(box, host, BOTH) as sock:
        sock.settimeout(60 * PATIENCE)

        def send():
            for _ in range(SIZE >> 20):
                sock.sendall(block)
                up.update(block)
            sock.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        down, got = hashlib.sha256(), 0
        while data := sock.recv(1 << 18):
            down.update(data)
            got += len(data)
        sender.join()
    server.wait(lambda: server.accepted[seen].done)
    one = server.accepted[seen]
    assert (got, one.got, one.ended) == (SIZE, SIZE, "fin")
    assert one.digest.hexdigest() == up.hexdigest()
    assert down.hexdigest() == hashlib.sha256(bytes(range(256)) * 256 * (SIZE >> 16)).hexdigest()


def test_five_hundred_at_once(box, servers):
    server = servers[BANNER]
    address = address_of(box, "tunnel.test")
    held, before = at_rest(box)
    code = (
        "import socket\n"
        f"ADDRESS = ({address!r}, {BANNER})\n"
        "socks = []\n"
        "for i in range(500):\n"
        "    s = socket.socket(); s.setblocking(False)\n"
        "    s.connect_ex(ADDRESS); socks.append(s)\n"
        "answers = []\n"
        "for i, s in enumerate(socks):\n"
        f"    s.settimeout({30 * PATIENCE}); banner = s.recv(100)\n"
        "    word = b'number %d' % i; s.sendall(word); answers.append((banner, s.recv(100) == word))\n"
        "result = [sum(b[:3] == b'220' for b, _ in answers), sum(good for _, good in answers)]\n"
    )
    assert box.python(code) == [500, 500]
    assert counters(box)["tunnels_open"] == before["tunnels_open"] + 500
    assert box.stack.descriptors() >= held + 1000
    assert server.open() >= 500
    box.python("for s in socks: s.close()\nresult = None")
    until(lambda: counters(box)["open"] == before["open"], "the tunnels to end")
    until(lambda: box.stack.descriptors() <= held, "the descriptors to be given back")
    until(lambda: server.open() == 0, "the server's connections to end")


# ---- ends ----------------------------------------------------------------------------------------------


def test_a_killed_end_leaves_nothing(box, servers, world):
    """Both ends are programs that get SIGKILL; in between all is counted (control)."""
    server = servers[BANNER]
    address = address_of(box, "tunnel.test")
    held, before = at_rest(box)

    program = f"import socket,time; s=socket.create_connection(({address!r},{BANNER})); s.recv(99); print(1,flush=True); time.sleep(99)"
    child = box.popen(["/usr/bin/python3", "-c", program], stdout=subprocess.PIPE)
    assert child.stdout.read(1) == b"1"
    assert counters(box)["tunnels_open"] == before["tunnels_open"] + 1
    until(lambda: box.stack.descriptors() == held + 2, "two descriptors")
    assert server.open() == 1
    child.kill()
    child.wait()
    child.stdout.close()
    until(lambda: server.open() == 0, "the server to hear of it")
    until(lambda: box.stack.descriptors() == held, "the descriptors to be given back")

    program = (
        f"import socket,time; l=socket.create_server(('',{NOBODY})); print(1,flush=True); s,_=l.accept(); "
        "s.sendall(b'hello'); time.sleep(99)"
    )
    child = subprocess.Popen(
        world.internet.command(["/usr/bin/python3", "-c", program]), stdout=subprocess.PIPE, cwd="/"
    )
    assert child.stdout.read(1) == b"1"
    with tunnel(box, "tunnel.test", NOBODY) as sock:
        assert read_exactly(sock, 5) == b"hello"
        until(lambda: box.stack.descriptors() == held + 2, "two descriptors")
        child.kill()
        child.wait()
        child.stdout.close()
        assert ended(sock) == "fin"  # what the kernel of a killed program says; whoever goes on is told more
        with pytest.raises(ConnectionError):
            until(lambda: not sock.send(b"is anybody there?"), "a reset")
    until(lambda: box.stack.descriptors() == held, "the descriptors to be given back")
    until(lambda: counters(box)["tunnels_open"] == before["tunnels_open"], "the counters to be even")
    assert counters(box)["open"] == before["open"]


def test_a_silent_upstream_is_asked_whether_it_is_there(box, servers, world):
    """TCP keep-alive is the only limit of an idle tunnel."""
    with tunnel(box, "tunnel.test", BANNER) as sock:
        read_exactly(sock, len(raw.BANNER))
        options = world.edge.run("ss", "-tnoH", "state", "established", f"dport = {BANNER}").stdout
        assert "timer:(keepalive," in options, options


def test_a_reset_is_a_reset_on_the_other_side(box, servers):
    server = servers[RESETS]
    with tunnel(box, "tunnel.test", RESETS) as sock:
        sock.sendall(b"x")
        assert ended(sock) == "reset"
    server = servers[ECHO]
    seen = len(server.accepted)
    sock = tunnel(box, "tunnel.test", ECHO)
    sock.sendall(b"x")
    assert sock.recv(1) == b"x"
    raw.reset(sock)
    server.wait(lambda: server.accepted[seen].done)
    assert server.accepted[seen].ended == "reset"


def test_a_server_that_does_not_read_stops_the_client(box, servers):
    held = box.stack.resident()
    with tunnel(box, "tunnel.test", MUTE) as sock:
        sock.setblocking(False)
        sent, quiet = 0, 0
        while quiet < 20:
            try:
                sent += sock.send(b"z" * 65536)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.05)  # nothing tells that nothing will move: a second without room
        assert 65536 < sent < 64 << 20
        assert box.stack.resident() - held < 4 << 20
    servers[MUTE].accepted[-1].done = True
    until(lambda: counters(box)["tunnels_open"] == 0, "the tunnel to end")


def test_a_tunnel_ends_with_its_sandbox(stack, servers, attach):
    box = attach(POLICY)
    server = servers[BANNER]
    sock = tunnel(box, "tunnel.test", BANNER)
    read_exactly(sock, len(raw.BANNER))
    one = server.accepted[-1]
    mark = stack.audit_mark()
    assert box.detach().returncode == 0
    assert ended(sock) == "reset"
    server.wait(lambda: one.done)
    assert one.ended == "reset"
    assert stack.wait_audit(mark, kind="connection", sandbox=box.id)[0]["decision"] == "tunnel"
    sock.close()


def test_one_line_of_audit_a_tunnel(box, stack, servers):
    before, mark = counters(box), stack.audit_mark()
    with tunnel(box, "tunnel.test", BANNER) as sock:
        read_exactly(sock, len(raw.BANNER))
        sock.sendall(b"12345")
        read_exactly(sock, 5)
        assert not stack.audit(mark, kind="connection", host="tunnel.test")
    event = stack.wait_audit(mark, kind="connection", host="tunnel.test")
    assert len(event) == 1
    event = event[0]
    assert (event["decision"], event["rule"], event["protocols"]) == ("tunnel", "raw", ["tcp"])
    assert (event["bytes_up"], event["bytes_down"]) == (5, 5 + len(raw.BANNER))
    assert "category" not in event and event["duration_ms"] >= 0
    assert event["asked"].startswith("198.1") and event["asked"].endswith(f":{BANNER}")
    if box.lane != "nft":
        assert event["client"]["comm"].startswith("python")
    assert counters(box)["tunnels"] == before["tunnels"] + 1


# ---- what is refused -----------------------------------------------------------------------------------

REFUSED = [
    # host, port, category, what the canary must not see
    ("nx.test", ECHO, "dns-failure"),
    ("private.test", ECHO, "private-address"),
    ("mixed.test", ECHO, "private-address"),
    ("metadata.test", ECHO, "metadata-address"),
    ("loopback.test", ECHO, "private-address"),
    ("tunnel.test", NOBODY, "upstream-connect"),
    ("203.0.113.60", NOBODY, "upstream-connect"),
    ("2001:db8::60", NOBODY, "upstream-connect"),
    ("tunnel4.test", BANNER, "host-denied"),
    ("203.0.113.61", BANNER, "host-denied"),
    ("tunnel.test", 6999, "host-denied"),
]


@pytest.mark.parametrize("host,port,category", REFUSED, ids=[f"{row[0]}-{row[1]}" for row in REFUSED])
def test_a_refused_tunnel_is_reset_at_once(box, stack, servers, watch, host, port, category):
    mark = stack.audit_mark()
    address = host if host[0].isdigit() else address_of(box, host)
    assert min(turned_away(box, address, port) for _ in range(3)) < 100 * PATIENCE
    until(lambda: len(stack.audit(mark, kind="connection", sandbox=box.id, decision="deny")) == 3, "each to be on record")
    assert {e["category"] for e in stack.audit(mark, kind="connection", sandbox=box.id)} == {category}
    if category == "upstream-connect":
        return  # it was allowed to try
    watch.nothing(host)
    assert not watch.packets_to("10.0.0.1", "169.254.169.254", "127.0.0.1")


def test_the_canary_is_reached_where_an_entry_opens_it(attach, servers, watch):
    """The control of the refusals above."""
    box = attach(POLICY + "private: [{cidr: 10.0.0.1, ports: ['7000-7099'], hosts: [private.test]}]\n")
    with tunnel(box, "private.test", BANNER) as sock:
        assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
    assert watch.packets_to("10.0.0.1")


def test_a_name_that_does_not_resolve_in_time(box, stack, servers):
    mark = stack.audit_mark()
    with tunnel(box, "silent.test", ECHO) as sock:
        assert ended(sock) == "reset"
    assert stack.wait_audit(mark, kind="connection", host="silent.test")[0]["category"] == "dns-timeout"


def test_POL_06_a_name_that_is_bound_again_is_judged_at_each_dial(box, stack, servers, world, watch):
    """raw: the first answer is public, the next three are not, the last is again; one resolution a dial."""
    server = servers[BANNER]
    world.nameserver.rewind("rebind.test")
    address = address_of(box, "rebind.test")
    asked = len(world.nameserver.asked("rebind.test"))
    seen = len(server.accepted)
    outcomes = []
    for _ in range(5):
        mark = stack.audit_mark()
        try:
            with box.connect(address, BANNER) as sock:
                outcomes.append(read_exactly(sock, len(raw.BANNER)) == raw.BANNER)
        except (ConnectionResetError, Refused):
            event = stack.wait_audit(mark, kind="connection", host="rebind.test", decision="deny")[0]
            outcomes.append(event["category"])
    assert outcomes == [True, "metadata-address", "private-address", "private-address", True]
    questions = [q for q in world.nameserver.asked("rebind.test")[asked:] if q[1] == 1]
    assert len(questions) == 5
    assert [one.local[0] for one in server.accepted[seen:]] == ["203.0.113.65"] * 2
    assert not watch.packets_to("169.254.169.254", "10.0.0.1")


def test_the_next_address_is_dialled_when_one_refuses(box, servers, world):
    """two.test has two addresses; the first answers with a reset for as long as this test says so."""
    world.internet.run(
        "nft", "add table inet one; add chain inet one in { type filter hook input priority 0; }; "
        f"add rule inet one in ip daddr 203.0.113.63 tcp dport {BANNER} reject with tcp reset"
    )
    try:
        with tunnel(box, "two.test", BANNER) as sock:
            assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
        assert servers[BANNER].accepted[-1].local[0] == "203.0.113.64"
    finally:
        world.internet.run("nft", "delete table inet one")


# ---- TLS in a tunnel -----------------------------------------------------------------------------------


def shake(sock, world, name):
    context = ssl.create_default_context(cafile=world.pki.ca)
    if name is None:
        context.check_hostname = False
    return context.wrap_socket(sock, server_hostname=name)


def hello_of(name):
    """The bytes of a ClientHello."""
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    return out.read()


WARNING = b"\x15\x03\x01\x00\x02\x01\x5a"  # user_canceled: Go's and BoringSSL's servers drop it and read on


@pytest.mark.parametrize("port", [443, 8443])
def test_tls_in_a_tunnel_is_with_the_server_itself(box, world, stack, origin, port):
    mark = stack.audit_mark()
    with shake(tunnel(box, "api.test", port), world, "api.test") as tls:
        tls.sendall(b"GET /hello HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
        assert read_all(tls).startswith(b"HTTP/1.1 200")
    event = stack.wait_audit(mark, kind="connection", host="api.test")[0]
    assert (event["decision"], event["rule"]) == ("tunnel", "tls")
    assert not stack.audit(mark, kind="request")


@pytest.mark.parametrize("name", ["other.test", "evil.test", None])
def test_a_hello_with_another_name_does_not_go_up(box, world, stack, origin, name):
    """At 443, where the tunnel is known by its name; the control is the test above."""
    mark, before = stack.audit_mark(), len(origin.connections)
    sock = tunnel(box, "api.test", 443)
    with pytest.raises((ConnectionResetError, ssl.SSLError, OSError)):
        shake(sock, world, name)
    event = stack.wait_audit(mark, kind="connection", host="api.test")[0]
    assert (event["decision"], event["category"], event["rule"]) == ("deny", "host-mismatch", "tls")
    assert all(not c.received and c.sni is None for c in origin.connections[before:])
    sock.close()


def test_a_hello_behind_a_warning_does_not_go_up(box, stack, origin):
    mark, before = stack.audit_mark(), len(origin.connections)
    with tunnel(box, "api.test", 443) as sock:
        sock.sendall(WARNING + hello_of("evil.test"))
        assert ended(sock) == "reset"
    assert stack.wait_audit(mark, kind="connection", host="api.test", category="bad-request")
    assert all(not c.received and c.sni is None for c in origin.connections[before:])


def test_a_hello_that_names_a_tunnelled_host_at_another_address_is_tunnelled_to_that_host(box, world, origin):
    """Whoever brings an address of his own: nobody terminates what a rule tunnels, and it is dialled by name."""
    before = len(origin.connections)
    with shake(box.connect("203.0.113.14", 443), world, "api.test") as tls:
        tls.sendall(b"GET /hello HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
        assert read_all(tls).startswith(b"HTTP/1.1 200")
    assert [c.local[0] for c in origin.connections[before:]] == ["203.0.113.10"]


def test_a_server_that_speaks_first_is_heard_at_443(box, world, servers):
    """And a client that is not TLS; the rule cannot know what a port is for."""
    world.internet.run(
        "nft", "add table ip nat443; add chain ip nat443 pre { type nat hook prerouting priority -100; }; "
        f"add rule ip nat443 pre ip daddr 203.0.113.10 tcp dport 443 redirect to :{BANNER}"
    )
    try:
        with tunnel(box, "api.test", 443) as sock:
            assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
            sock.sendall(b"EHLO\r\n")
            assert read_exactly(sock, 6) == b"EHLO\r\n"
    finally:
        world.internet.run("nft", "delete table ip nat443")
