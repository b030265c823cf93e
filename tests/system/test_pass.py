# SPDX-License-Identifier: Apache-2.0
"""default: allow with default_tls: pass: what nothing names passes as it is; what a rule or a binding names does not."""
import socket
import time

import pytest

import asking
import client
import documents
from origin import raw
from sandbox import Sandbox
from test_tunnel import WARNING, counters, ended, hello_of, read_all, read_exactly, shake, turned_away
from waiting import PATIENCE

BANNER, ECHO, AFTER_EOF, NOBODY = range(7100, 7104)

POLICY = """\
version: 1
name: pass
default: allow
rules:
  - {name: never, hosts: [denied.test, evil.test, 203.0.113.66], ports: ["1-65535"], action: deny}
  - {name: reads, hosts: [readonly.test], methods: [DELETE], action: deny}
  - {name: raw, hosts: [tunnel.test], ports: [7100], action: tunnel}
"""
PASSED = "203.0.113.32"  # ok.test, which nothing names


@pytest.fixture(scope="module")
def servers(world):
    behaviours = {BANNER: raw.banner, ECHO: raw.echo, AFTER_EOF: raw.after_eof}
    made = {port: raw.Raw(world.internet, port, behaviour) for port, behaviour in behaviours.items()}
    try:
        yield made
    finally:
        for server in made.values():
            server.close()


@pytest.fixture(scope="module")
def box(stack, lane, servers):
    """With the shared credentials: api.test, v6only.test, git.test and bank.test are bound."""
    made = Sandbox(stack, POLICY, prefix="swap-pass", lane=lane)
    try:
        yield made.attach()
    finally:
        made.close()


def hello(tls, host="ok.test", path="/hello"):
    tls.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    return read_all(tls)



def test_tls_to_an_unnamed_host_is_with_the_server_itself(box, world, stack, origin):
    mark, before = stack.audit_mark(), counters(box)
    with shake(box.connect(PASSED, 443), world, "ok.test") as tls:
        assert hello(tls).startswith(b"HTTP/1.1 200")
    event = stack.wait_audit(mark, kind="connection", sandbox=box.id, decision="pass")[0]
    assert (event["rule"], event["host"]) == ("default", "ok.test")
    assert event["protocols"] == ["tcp", "tls"]
    assert not stack.audit(mark, kind="request", sandbox=box.id)
    assert counters(box)["tunnels"] == before["tunnels"] + 1


def test_it_is_dialled_by_its_name(box, world, origin):
    """Whatever the address was: the name is what was judged."""
    before = len(origin.connections)
    with shake(box.connect("203.0.113.31", 443), world, "ok.test") as tls:
        hello(tls)
    assert [c.local[0] for c in origin.connections[before:]] == [PASSED]


def test_without_a_name_it_is_dialled_by_its_address(box, world, origin):
    before = len(origin.connections)
    with shake(box.connect("203.0.113.40", 443), world, None) as tls:
        hello(tls, host="203.0.113.40")
    assert [c.local[0] for c in origin.connections[before:]] == ["203.0.113.40"]


@pytest.mark.parametrize("host,address", [("api.test", "203.0.113.10"), ("readonly.test", "203.0.113.17")])
def test_what_a_binding_or_a_rule_names_is_terminated(box, host, address):
    with box.tls(address, name=host) as tls:  # trusts nothing but the sandbox's CA
        assert client.Client(tls).get("/hello", host=host).status == 200


def test_a_bound_credential_is_swapped(box, origin):
    with box.tls("203.0.113.10", name="api.test") as tls:
        token = box.placeholder("API_TOKEN")
        client.Client(tls).get("/swapped", extra=f"Authorization: Bearer {token}\r\n")
    assert documents.API_SECRET.encode() in origin.received()


def test_a_denied_host_is_terminated_and_told(box, watch):
    with box.tls("203.0.113.30", name="denied.test") as tls:
        assert client.Client(tls).get("/", host="denied.test").refusal == "host-denied"
    watch.nothing("denied.test")


def test_a_method_that_is_denied_stays_denied(box):
    with box.tls("203.0.113.17", name="readonly.test") as tls:
        reply = client.Client(tls).exchange(client.head_end("\r\n", "readonly.test", "/", "DELETE"), "DELETE")
        assert reply.refusal == "method-denied"


def test_plain_http_is_handled_as_ever(box, stack, origin):
    mark = stack.audit_mark()
    with client.plain(box, PASSED, 8080) as http:
        assert http.get("/hello", host="ok.test:8080").status == 200
        assert http.get("/", host="denied.test:8080").refusal == "host-denied"
    assert stack.wait_audit(mark, kind="request", sandbox=box.id, host="ok.test")


@pytest.mark.parametrize("address", [PASSED, "2001:db8::70"])
def test_CAP_03_a_banner_arrives_while_the_client_is_silent(box, servers, stack, address):
    server = servers[BANNER]
    mark, seen = stack.audit_mark(), len(server.accepted)
    with box.connect(address, BANNER) as sock:
        assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
        assert time.monotonic() - server.accepted[seen].spoke < 0.1 * PATIENCE
        sock.sendall(b"EHLO\r\n")
        assert read_exactly(sock, 6) == b"EHLO\r\n"
    event = stack.wait_audit(mark, kind="connection", sandbox=box.id, decision="pass")[0]
    assert event["host"] == address


def test_a_banner_reaches_a_client_that_has_ended_already(box, servers):
    with box.connect(PASSED, BANNER) as sock:
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == raw.BANNER


def test_CAP_06_raw_bytes_pass_and_the_answer_comes_whole(box, servers):
    with box.connect(PASSED, AFTER_EOF) as sock:
        sock.sendall(b"\x00\x01REQ\n")
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b"r" * 1048576
    assert servers[AFTER_EOF].accepted[-1].first == b"\x00\x01REQ\n"


@pytest.mark.parametrize("first,category", [
    (b"GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n", "protocol-denied"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "protocol-denied"),
    ("api.test", "host-mismatch"),
    ("denied.test", "host-mismatch"),
])
def test_a_greeting_opens_no_way_around_a_rule(box, servers, stack, first, category):
    """What would have been terminated, or is HTTP, does not go up behind a server's greeting."""
    server = servers[BANNER]
    mark = stack.audit_mark()
    with box.connect(PASSED, BANNER) as sock:
        read_exactly(sock, len(raw.BANNER))
        sock.sendall(hello_of(first) if isinstance(first, str) else first)
        assert ended(sock) == "reset"
    event = stack.wait_audit(mark, kind="connection", sandbox=box.id, decision="deny")[0]
    assert event["category"] == category
    server.wait(lambda: server.accepted[-1].done)
    assert server.accepted[-1].got == 0


@pytest.mark.parametrize("host", ["api.test", "denied.test"])
def test_a_hello_behind_a_warning_is_no_raw_bytes(box, servers, stack, host):
    """Some servers drop the warning: the host would be reached without being terminated. On a machine that is busy the
    client is so late that the server was asked to speak first: it gets nothing then."""
    mark, before = stack.audit_mark(), len(servers[ECHO].accepted)
    with box.connect("203.0.113.10", ECHO) as sock:
        sock.sendall(WARNING + hello_of(host))
        assert read_all(sock)[:1] == b"\x15"  # an alert, not the echo
    assert stack.wait_audit(mark, kind="connection", sandbox=box.id, decision="deny", category="bad-request")
    reached = servers[ECHO].accepted[before:]
    servers[ECHO].wait(lambda: all(one.done for one in reached))
    assert sum(one.got for one in reached) == 0


def test_an_upstream_that_refuses_is_a_reset(box, stack):
    mark = stack.audit_mark()
    assert turned_away(box, PASSED, NOBODY) < 200 * PATIENCE  # 50 ms of it are the client's, to say what it is
    event = stack.wait_audit(mark, kind="connection", sandbox=box.id, decision="deny")[0]
    assert (event["category"], event["rule"]) == ("upstream-connect", "default")


def test_an_address_of_the_pool_without_a_name_is_refused(box, stack, watch):
    mark = stack.audit_mark()
    turned_away(box, "198.18.77.77", BANNER)
    event = stack.wait_audit(mark, kind="connection", sandbox=box.id, decision="deny")[0]
    assert event["category"] == "host-denied"
    turned_away(box, asking.SHARED, BANNER)
    watch.nothing()


def test_terminate_is_what_it_was(attach, stack, servers, watch):
    box = attach(POLICY.replace("default: allow", "default: allow\ndefault_tls: terminate", 1))
    with box.tls(PASSED, name="ok.test") as tls:
        assert client.Client(tls).get("/hello", host="ok.test").status == 200
    mark, before = stack.audit_mark(), len(servers[ECHO].accepted)
    with box.connect(PASSED, ECHO) as sock:
        sock.sendall(b"\x00raw\n")
        assert ended(sock) == "reset"
    event = stack.wait_audit(mark, kind="connection", sandbox=box.id, decision="deny")[0]
    assert event["category"] == "protocol-denied"
    assert len(servers[ECHO].accepted) == before
