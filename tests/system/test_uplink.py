# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that keep their interface for what comes in. The judge is a capture on the far side."""
import os
import shutil
import socket
import subprocess
import threading

import pytest

import client
import documents
from farside import BRIDGE4, BRIDGE6, UplinkSandbox
from sandbox import PYTHON, Refused
from waiting import until

PORT = 8080


def serving(sandbox, port=PORT):
    """A server of the sandbox's own."""
    script = shutil.copy(os.path.join(os.path.dirname(__file__), "served.py"), sandbox.stack.world.run)
    server = sandbox.popen([PYTHON, "-E", "-S", script, sandbox.id, str(port)], stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"listening\n"
    return server


@pytest.fixture(scope="module")
def pair(stack, far):
    """Two of them side by side on one bridge, each with a server at the same port."""
    made, servers = [], []
    try:
        for _ in range(2):
            made.append(UplinkSandbox(stack, documents.POLICY, far, prefix="swap"))
            made[-1].attach()
            servers.append(serving(made[-1]))
        yield made
    finally:
        for server in servers:
            server.kill()
            server.wait()
            server.stdout.close()
        for one in reversed(made):
            one.close()


def ways(sandbox):
    return ((sandbox.ip4, BRIDGE4), (sandbox.ip6, BRIDGE6))


def test_a_published_port_is_served_by_the_sandboxs_own_server(pair, far):
    for sandbox in pair:
        for address, peer in ways(sandbox):
            answer = far.ask(address, PORT).decode()
            assert answer == f"{sandbox.id} {'::ffff:' if '.' in peer else ''}{peer} hello"
        assert not sandbox.unasked()


def test_outbound_is_captured_and_swapped(pair, stack, origin):
    sandbox = pair[0]
    done = sandbox.run(
        ["sh", "-c", 'curl -sS -H "Authorization: Bearer $API_TOKEN" https://api.test/uplink'],
        env={"API_TOKEN": sandbox.placeholder("API_TOKEN")})
    assert done.returncode == 0, done.stderr
    assert origin.last("/uplink").value("authorization") == f"Bearer {documents.API_SECRET}"
    assert not sandbox.unasked()


def test_ten_thousand_come_in_while_outbound_is_captured(pair, far, stack):
    """Four clients over both families, 500 connections each, five requests a connection."""
    sandbox, failures, done = pair[0], [], threading.Event()

    def many(address):
        for number in range(500):
            with socket.create_connection((address, PORT), 10) as sock:
                for request in range(5):
                    sock.sendall(b"%d.%d" % (number, request))
                    answer = sock.recv(200)
                    if not answer.startswith(sandbox.id.encode()) or not answer.endswith(b" %d.%d" % (number, request)):
                        failures.append(answer)
                    answered.append(1)

    def asked(address):
        try:
            far.netns.call(many, address)
        except OSError as error:
            failures.append(error)

    def outbound():
        answered = 0
        while not done.is_set():
            with client.https(sandbox) as connection:
                if connection.get("/echo").status != 200:
                    failures.append("outbound")
                answered += 1
        counts.append(answered)

    counts, answered = [], []
    mark = stack.audit_mark()
    others = threading.Thread(target=outbound)
    clients = [threading.Thread(target=asked, args=(a,)) for a in (sandbox.ip4, sandbox.ip6) for _ in range(2)]
    for thread in (others, *clients):
        thread.start()
    for thread in clients:
        thread.join()
    done.set()
    others.join()
    assert not failures, failures[:5]
    assert len(answered) == 10000
    assert counts[0] > 0
    until(lambda: len(stack.audit(mark, kind="connection", sandbox=sandbox.id)) >= counts[0], "their records")
    events = stack.audit(mark, kind="connection", sandbox=sandbox.id)
    assert {e["asked"] for e in events} == {"203.0.113.10:443"}, "inbound connections are nobody's business"
    assert not sandbox.unasked()


def test_a_port_without_a_server_is_closed(pair, far):
    for address, _ in ways(pair[0]):
        with pytest.raises(ConnectionRefusedError):
            far.ask(address, PORT + 1, timeout=3)
    assert not pair[0].unasked()


def test_port_53_and_853_of_the_sandboxs_own(stack, far, attached):
    """The interface a connection came in by decides, before the ports that are ours from inside."""
    sandbox = attached()
    for port in (53, 853):
        listening = sandbox.netns.socket(socket.AF_INET6, socket.SOCK_STREAM)
        with listening:  # a low port wants a capability: the runtime's process has it before it drops
            listening.bind(("::", port))
            listening.listen()
            listening.settimeout(5)
            for address, _ in ways(sandbox):
                far.netns.call(socket.create_connection, (address, port), 5).close()
                listening.accept()[0].close()


def test_a_datagram_is_answered(pair, far):
    sandbox = pair[0]
    for address, _ in ways(sandbox):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with far.netns.socket(family, socket.SOCK_DGRAM) as sock:
            sock.settimeout(5)
            sock.sendto(b"hello", (address, PORT))
            assert sock.recv(200) == f"{sandbox.id} hello".encode()
            sock.connect((address, PORT + 1))
            sock.send(b"nobody")
            with pytest.raises(ConnectionRefusedError):
                sock.recv(200)
    assert not sandbox.unasked()


def test_a_ping_is_answered(pair, far):
    for address, _ in ways(pair[0]):
        assert far.ping(address)
    assert not pair[0].unasked()


def test_arp_and_discovery_only_for_its_own_addresses(pair, far):
    """Every address is local in there: it must not answer for the whole bridge."""
    for free in ("10.77.0.250", "fd77::250", "203.0.113.10", "169.254.169.254"):
        assert far.neighbour(free) == "FAILED"
    for address, _ in ways(pair[0]):
        assert far.neighbour(address) != "FAILED", "the control"


def test_its_own_addresses_are_local_inside(pair, stack):
    sandbox = pair[0]
    mark = stack.audit_mark()
    for address, _ in ways(sandbox):
        with sandbox.connect(address, PORT) as sock:
            sock.sendall(b"from inside")
            assert sock.recv(200).endswith(b"from inside")
    with client.plain(sandbox) as control:  # its record comes after any that there were
        assert control.get("/after").status == 200
    stack.wait_audit(mark, sandbox=sandbox.id, kind="connection", asked="203.0.113.10:80")
    assert {e["asked"] for e in stack.audit(mark, sandbox=sandbox.id, kind="connection")} == {"203.0.113.10:80"}
    assert not sandbox.unasked()


def test_two_side_by_side_see_only_their_own(pair, far):
    one, other = pair
    for address, _ in ways(other):
        with pytest.raises(Refused):
            one.connect(address, PORT, timeout=3)
    for sandbox in pair:
        for address, _ in ways(sandbox):
            assert far.ask(address, PORT).split()[0] == sandbox.id.encode()
    assert not one.unasked() and not other.unasked()


@pytest.fixture
def attached(stack, far):
    """attached(**options): an UplinkSandbox of this test alone."""
    made = []

    def attached(attach=True, **options):
        sandbox = UplinkSandbox(stack, documents.POLICY, far, prefix="swap", **options)
        made.append(sandbox)
        return sandbox.attach() if attach else sandbox

    yield attached
    for sandbox in reversed(made):
        sandbox.close()


# ---- what is refused ---------------------------------------------------------------------------------

REFUSED = ("169.254.169.254", "10.0.0.1", "10.77.0.1", "fd00:ec2::254", "fd77::1")


def test_refused_ranges_are_refused_and_the_far_side_hears_nothing(pair, far):
    sandbox = pair[0]
    before = len(far.heard)
    for address in REFUSED:
        with pytest.raises(Refused) as refused:
            sandbox.connect(address, 80, timeout=3)
        assert refused.value.ms < 1000
        with sandbox.netns.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.settimeout(3)
            with pytest.raises(ConnectionRefusedError):  # of elsewhere: no hook sees it, the table does
                sandbox.netns.call(sock.connect, (address, 80))
    assert not sandbox.unasked()
    assert len(far.heard) == before


def test_the_control_without_an_attach_the_far_side_hears_it(attached, far):
    sandbox = attached(attach=False)
    for address in REFUSED + ("203.0.113.10", "2001:db8::10"):
        before = len(far.heard)
        with sandbox.netns.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.settimeout(5)
            sandbox.netns.call(sock.connect, (address, 80))
        until(lambda: len(far.heard) > before, "the canary")
    assert len(sandbox.unasked()) >= len(REFUSED)


# ---- addresses are followed --------------------------------------------------------------------------


def test_addresses_that_come_and_go_are_followed(attached, far, stack):
    sandbox = attached()
    server = serving(sandbox)
    try:
        for new in ("10.77.0.201/24", "fd77::201/64"):
            address = new.partition("/")[0]
            far.netns.ip([f"route replace unicast {address} dev bridge table local"])
            nodad = " nodad" if ":" in new else ""
            sandbox.netns.ip([f"addr add {new} dev eth0{nodad}"])

            def served():
                try:
                    return far.ask(address, PORT, timeout=1)
                except OSError:
                    return None

            until(served, f"{address} to be served")

            def inside():
                try:
                    sandbox.connect(address, PORT, timeout=3).close()
                    return True
                except Refused:
                    return False

            until(inside, f"{address} to be local")
            sandbox.netns.ip([f"addr del {new} dev eth0"])
            until(lambda: not inside(), f"{address} to be another's again")
        assert not sandbox.unasked()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def test_an_interface_that_comes_later(stack, far, attached):
    """Runtimes may wire a namespace after their hook has run."""
    sandbox = attached(attach=False)
    sandbox.netns.ip(["link del eth0"])
    sandbox.attach()
    server = serving(sandbox)
    try:
        sandbox.port, sandbox.ip4, sandbox.ip6 = far.wire(sandbox.netns)
        for address, _ in ways(sandbox):
            until(lambda: _answers(far, address), f"{address} to be served")
        assert not sandbox.unasked()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def _answers(far, address):
    try:
        return far.ask(address, PORT, timeout=1)
    except OSError:
        return None


def test_a_smaller_interface_than_the_peers(attached, far):
    """Replies are built for lo and routed anew: what the path takes must still count."""
    sandbox = attached(mtu=1280)
    server = serving(sandbox)
    data = os.urandom(200000)
    try:
        for address, _ in ways(sandbox):

            def exchange():
                with socket.create_connection((address, PORT), 10) as sock:
                    got = b""
                    sender = threading.Thread(target=sock.sendall, args=(data,))
                    sender.start()
                    while len(got) < len(data):
                        part = sock.recv(65536)
                        if not part:
                            break
                        got += part
                    sender.join()
                    return len(got)

            assert far.netns.call(exchange) >= len(data)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


# ---- the settings that keep it apart -----------------------------------------------------------------


def _setting(sandbox, path):
    return sandbox.netns.call(lambda: open(f"/proc/sys/net/{path}", encoding="ascii").read().strip())


def _noted(sandbox):
    notes = sandbox.stack.get(f"/v1/sandboxes/{sandbox.id}")["degraded"]
    return next((n for n in notes if n["feature"] == "self-test"), None)


def test_settings_that_are_changed_are_noticed_refused_and_put_back(attached):
    """uid 0 without a capability owns /proc/sys/net where a runtime leaves it writable."""
    changes = {"ipv4/conf/all/arp_ignore": "0", "ipv4/conf/eth0/rp_filter": "1", "ipv4/conf/eth0/accept_local": "0",
        "ipv6/conf/all/force_mld_version": "0"}
    boxes = {path: attached() for path in changes}
    assert not any(map(_noted, boxes.values()))
    was = {path: _setting(box, path) for path, box in boxes.items()}
    for path, box in boxes.items():
        box.netns.sysctl(path, changes[path])
    for path, box in boxes.items():
        until(lambda p=path, b=box: f"{b.id}: closed" in b.stack.log("helper"), f"{path} to be noticed", 30)
        until(lambda p=path, b=box: _setting(b, p) == was[p], f"{path} to be put back", 30)
        until(lambda b=box: not _noted(b), "the note to go", 30)
        told = next(line for line in box.stack.log("helper").splitlines() if f"{box.id}: self-test is degraded" in line)
        assert "somebody has set" in told and os.path.basename(path) in told
        box.connect("203.0.113.10", 80).close()
