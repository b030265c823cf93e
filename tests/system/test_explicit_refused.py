# SPDX-License-Identifier: Apache-2.0
"""What clients of a proxy may not ask for: targets, spellings, a CONNECT in the wrong place (POL-12, POL-13)."""
import pytest

import client
from origin import raw
from proxied import BANNER, ECHO, LIFTED, connected, head, of_connection, proxy, refusal_of, through
from proxied import arrived, box, no_packet_to_the_proxy, opened, servers  # noqa: F401 - the fixtures
from test_tunnel import ended, read_exactly

# ---- refused -----------------------------------------------------------------------------------------

DENIED = {
    "denied.test:443": "host-denied",
    "unheard-of.test:443": "host-denied",
    "api.test:22": "host-denied",
    f"api.test:{ECHO}": "host-denied",
    "203.0.113.10:443": "host-denied",  # the rule has the name
    "10.0.0.1:443": "private-address",
    "[::ffff:10.0.0.1]:443": "private-address",
    f"10.0.0.1:{ECHO}": "private-address",
    "127.0.0.1:80": "private-address",
    "[::1]:80": "private-address",
    "[fd00::1]:443": "private-address",
    "198.18.77.77:443": "private-address",
    "169.254.169.254:80": "metadata-address",
    "[::ffff:a9fe:a9fe]:80": "metadata-address",
    "[fd00:ec2::254]:80": "metadata-address",
    "203.0.113.60:53": "protocol-denied",
    "203.0.113.60:853": "protocol-denied",
}


@pytest.mark.parametrize("target", DENIED)
def test_a_target_that_may_not_be_is_refused_at_once(box, stack, world, target):
    watch, mark = world.watch(), stack.audit_mark()
    assert refusal_of(box, head(target)) == (403, DENIED[target])
    (event,) = stack.wait_audit(mark, kind="request", sandbox=box.id)
    assert (event["method"], event["path"], event["category"], event["decision"]) == (
        "CONNECT", target, DENIED[target], "deny")
    assert of_connection(stack, mark, sandbox=box.id)["category"] == DENIED[target]
    if not target.endswith(("22", ":53", ":853")):
        assert refusal_of(box, head(f"http://{target}/", target, method="GET"))[1] == DENIED[target]
    watch.nothing(target)
    assert not watch.packets_to("10.0.0.1", "169.254.169.254", "fd00::1", "fd00:ec2::254")


NAMES = {"private.test": "private-address", "mixed.test": "private-address", "metadata.test": "metadata-address",
         "loopback.test": "private-address"}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leads_to_a_refused_address_is_refused_at_the_dial(box, stack, world, name):
    watch, mark = world.watch(), stack.audit_mark()
    with through(box, f"{name}:443") as session:
        reply = session.get("/", host=name)
        assert (reply.status, reply.refusal) == (403, NAMES[name])
    with client.Client(connected(box, f"{name}:80")) as session:
        assert session.get("/", host=name).refusal == NAMES[name]
    assert refusal_of(box, head(f"http://{name}/", name, method="GET")) == (403, NAMES[name])
    with connected(box, f"{name}:{BANNER}") as sock:
        assert ended(sock) == "reset"
    event = of_connection(stack, mark, sandbox=box.id, target=f"{name}:{BANNER}")
    assert (event["category"], event["decision"]) == (NAMES[name], "deny")
    watch.nothing(name)
    assert not watch.packets_to("10.0.0.1", "169.254.169.254", "127.0.0.1")


def test_the_canary_is_reached_where_an_entry_opens_it(attach, servers, watch):
    """The control of the refusals above."""
    box = attach(LIFTED, prefix="swap")
    for target in ("private.test", "10.0.0.1"):
        with connected(box, f"{target}:{BANNER}") as sock:
            assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
        with proxy(box) as connection:
            assert connection.exchange(head(f"http://{target}/", target, method="GET")).status == 200
    assert watch.packets_to("10.0.0.1")
    assert refusal_of(box, head("10.0.0.2:443")) == (403, "private-address")
    assert refusal_of(box, head("10.0.0.1:8443")) == (403, "private-address")


BAD = {
    "NUL": b"ok.test\0.evil.test",
    "escaped NUL": b"ok.test%00.evil.test",
    "tab": b"ok.test\t.evil.test",
    "space": b"ok.test .evil.test",
    "DEL": b"ok.test\x7f.evil.test",
    "0xff": b"ok.test\xff.evil.test",
    "UTF-8": "b\u00fccher.test".encode(),
    "user information": b"ok.test@evil.test",
    "user and password": b"ok.test:443@evil.test",
    "backslash": b"ok.test\\evil.test",
    "slash": b"ok.test/evil.test",
    "bare CR": b"ok.test\revil.test",
    "bare LF": b"ok.test\nevil.test",
    "fragment": b"ok.test#evil.test",
    "two dots": b"ok..test",
    "wildcard": b"*.test",
    "octal": b"0177.0.0.1",
    "hexadecimal": b"0x7f.1",
    "one number": b"2130706433",
    "two parts": b"127.1",
    "zero": b"0",
    "zone": b"[fe80::1%25eth0]",
    "name in brackets": b"[ok.test]",
    "IPv4 in brackets": b"[203.0.113.10]",
    "IPv6 without brackets": b"2001:db8::10",
    "nothing": b"",
}


@pytest.mark.parametrize("what", BAD)
def test_POL_13_a_name_that_two_could_read_differently_is_refused(opened, world, what):
    """Under a policy that opens everything, in both forms, with and without the same in Host."""
    watch = world.watch()
    forms = (b"CONNECT %s:443", b"GET http://%s/", b"GET http://%s:80/")
    for target in forms[: 1 if what == "slash" else None]:  # behind it is a path
        for host in (b"ok.test", BAD[what]):
            assert refusal_of(opened, target % BAD[what] + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n") == (
                400, "bad-request"), (target, host)
    watch.nothing(what)


@pytest.mark.parametrize("port", ["", ":", ":0", ":00443", ":65536", ":99999", ":443x", ":-1", ":+443", ":0x1bb", ":443:443"])
def test_POL_12_a_port_that_is_none_is_refused(opened, watch, port):
    assert refusal_of(opened, f"CONNECT ok.test{port} HTTP/1.1\r\nHost: ok.test\r\n\r\n") == (400, "bad-request")
    watch.nothing(port)


def test_POL_13_the_control_the_name_itself_passes(opened, arrived):
    with connected(opened, f"ok.test:{ECHO}", behind=b"\x00ok") as sock:
        assert read_exactly(sock, 3) == b"\x00ok"
    with proxy(opened) as connection:
        assert connection.exchange(head("http://ok.test/hello", "ok.test", method="GET")).status == 200
    assert arrived() == [("203.0.113.32", 80)]


SAID = {
    "Content-Length": ("api.test:443", "Content-Length: 5\r\n", b"hello", "bad-request", "no body"),
    "Content-Length: 0": ("api.test:443", "Content-Length: 0\r\n", b"", "bad-request", "no body"),
    "chunks": ("api.test:443", "Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", "bad-request", "no body"),
    "another Host": ("api.test:443", "other.test:443", b"", "host-mismatch", "Host is not the host"),
    "another port in Host": ("api.test:443", "api.test:80", b"", "host-mismatch", "Host is not the host"),
    "an absolute target": ("http://api.test:443/", "api.test:443", b"", "bad-request", "malformed"),
    "a path": ("/", "api.test", b"", "bad-request", "malformed"),
}


@pytest.mark.parametrize("what", SAID)
def test_a_CONNECT_that_is_none_is_refused(box, watch, what):
    target, more, behind, category, sentence = SAID[what]
    extra, host = (more, None) if more.endswith("\n") else ("", more)
    with proxy(box) as connection:
        connection.send(head(target, host, extra).encode() + behind)
        reply = connection.reply()
        assert reply.refusal == category and sentence in reply.error["message"], reply
        assert connection.ended()
    watch.nothing(what)


def test_a_CONNECT_is_the_first_request_or_none(box, stack, watch, origin):
    """Not within a CONNECT, nor within TLS, nor behind another request."""
    inner = head("other.test:443")
    with client.Client(connected(box, "api.test:80")) as session:
        reply = session.exchange(inner)
        assert (reply.status, reply.refusal) == (400, "bad-request") and "within a CONNECT" in reply.error["message"]
    with client.Client(connected(box, "api.test:80", behind=inner.encode())) as session:
        assert session.reply().refusal == "bad-request"
    with through(box, "api.test:443") as session:
        assert "within TLS" in session.exchange(inner).error["message"]
    with client.https(box) as session:
        assert "within TLS" in session.exchange(inner).error["message"]
    watch.nothing()
    for first in (head("http://api.test/1", "api.test", method="GET"), head("/1", "api.test", method="GET")):
        with client.plain(box) as connection:
            assert connection.exchange(first).status == 200
            assert "first request" in connection.exchange(inner).error["message"]
    assert not origin.requests(host="other.test:443")


def test_silence_within_a_CONNECT_is_no_way_around(box, stack, watch):
    """The same ten seconds, and the same words, as for who connects itself."""
    mark = stack.audit_mark()
    with connected(box, "api.test:443") as sock:
        sock.settimeout(20)
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    event = of_connection(stack, mark, sandbox=box.id)
    assert (event["category"], event["reason"], event["target"]) == ("protocol-denied", "silence", "api.test:443")
    watch.nothing()
