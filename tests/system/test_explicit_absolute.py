# SPDX-License-Identifier: Apache-2.0
"""Targets in absolute-form, and many clients of a proxy at once."""
import re
import subprocess

import pytest

import client
from origin import raw
from proxied import BANNER, ECHO, PROXY, PROXY_PORT, URL, absolute, head, of_connection, proxy, refusal_of
from proxied import arrived, box, no_packet_to_the_proxy, opened, servers  # noqa: F401 - the fixtures
from test_tunnel import counters
from waiting import PATIENCE, until

# ---- absolute-form -----------------------------------------------------------------------------------


def test_every_request_may_be_for_another_host(box, stack, origin, arrived):
    mark = stack.audit_mark()
    with proxy(box) as connection:
        for url, sent in (("http://api.test/a?x=1", "api.test"), ("http://other.test:8080/b", "other.test:8080"),
                          ("http://api.test/c", "api.test"), ("HTTP://OK.test./d", "ok.test"),
                          ("http://203.0.113.40/e", "203.0.113.40"), ("http://[2001:db8::40]/f", "[2001:db8::40]")):
            assert connection.exchange(absolute(url)).status == 200, url
            path = url.split("/", 3)[3]
            assert origin.last(f"/{path.split('?')[0]}").value("host") == sent
            assert origin.last(f"/{path.split('?')[0]}").target == f"/{path}"
        reply = connection.exchange(absolute("http://denied.test/g"))
        assert (reply.status, reply.refusal, reply.error["host"]) == (403, "host-denied", "denied.test")
        assert connection.ended()
    assert set(arrived()) == {("203.0.113.10", 80), ("203.0.113.14", 8080), ("203.0.113.32", 80), ("203.0.113.40", 80),
                              ("2001:db8::40", 80)}
    requests = until(lambda: (found := stack.audit(mark, kind="request", sandbox=box.id))[6:] and found, "seven records")
    assert [(r["target"], r["path"], r.get("status")) for r in requests] == [
        ("api.test:80", "/a?x=***", 200), ("other.test:8080", "/b", 200), ("api.test:80", "/c", 200),
        ("ok.test:80", "/d", 200), ("203.0.113.40:80", "/e", 200), ("[2001:db8::40]:80", "/f", 200),
        ("denied.test:80", "/g", 403)]
    event = of_connection(stack, mark, sandbox=box.id)
    assert event["asked"] == f"{PROXY}:{PROXY_PORT}" and "target" not in event


def test_bodies_pass_as_ever_and_so_does_a_pipeline(box, origin):
    with proxy(box) as connection:
        connection.send(absolute("http://api.test/one", extra="Content-Length: 5\r\n", method="POST") + "first"
                        + absolute("http://other.test/two", extra="Transfer-Encoding: chunked\r\n", method="PUT")
                        + "6\r\nsecond\r\n0\r\n\r\n" + absolute("http://ok.test?three", "ok.test"))
        assert [connection.reply(m).status for m in ("POST", "PUT", "GET")] == [200, 200, 200]
    assert (origin.last("/one").body, origin.last("/two").body) == (b"first", b"second")
    assert origin.requests(host="ok.test")[-1].target == "/?three"


def test_curl_keeps_one_connection_for_several_hosts(box, stack, arrived):
    mark = stack.audit_mark()
    done = box.run(["curl", "-sS", "-x", URL, "http://api.test/k", "http://other.test/k", "http://api.test/k"], check=True)
    assert re.findall(r"hello from (\S+)", done.stdout) == ["api.test", "other.test", "api.test"]
    until(lambda: stack.audit(mark, kind="connection", sandbox=box.id), "the connection's record")
    assert len(stack.audit(mark, kind="connection", sandbox=box.id)) == 1


def test_a_method_is_judged_at_the_target(attach, watch):
    box = attach("version: 1\nname: m\ndefault: deny\nrules: [{name: r, hosts: [ok.test], methods: [GET], action: allow}]\n")
    assert refusal_of(box, absolute("http://ok.test/", method="DELETE")) == (403, "method-denied")
    assert refusal_of(box, absolute("http://ok.test/", method="TRACE")) == (403, "method-denied")
    watch.nothing()
    with proxy(box) as connection:
        assert connection.exchange(absolute("http://ok.test/hello")).status == 200


MISTAKEN = {
    "another Host": (absolute("http://api.test/", "other.test"), "host-mismatch", "host and port of the target"),
    "another port in Host": (absolute("http://api.test/", "api.test:8080"), "host-mismatch", "host and port of the target"),
    "https": (absolute("https://api.test/"), "bad-request", "use CONNECT"),
    "https at port 80": (absolute("https://api.test:80/"), "bad-request", "use CONNECT"),
    "another scheme": (absolute("ftp://api.test/"), "bad-request", "malformed"),
    "a port that no rule opens": (absolute("http://api.test:8081/"), "host-denied", "not allowed"),
    "the proxy's port is not the target's": (absolute("http://api.test:3128/"), "host-denied", "not allowed"),
    "a tunnel": (absolute(f"http://tunnel.test:{ECHO}/"), "protocol-denied", "tunnelled"),
}


@pytest.mark.parametrize("what", MISTAKEN)
def test_an_absolute_target_that_may_not_be_is_refused(box, watch, what):
    data, category, sentence = MISTAKEN[what]
    with proxy(box) as connection:
        reply = connection.exchange(data)
        assert reply.refusal == category and sentence in reply.error["message"], reply
        assert connection.ended()
    watch.nothing(what)


@pytest.mark.parametrize("second", [head("/x", "api.test", method="GET"), head("*", "api.test", method="OPTIONS")])
def test_behind_an_absolute_form_every_request_names_its_host(box, second):
    with proxy(box) as connection:
        assert connection.exchange(absolute("http://api.test/hello")).status == 200
        reply = connection.exchange(second)
        assert reply.refusal == "bad-request" and "names no host" in reply.error["message"]


def test_behind_an_origin_form_an_absolute_one_repeats_the_host(box, origin, arrived):
    with client.plain(box) as connection:
        assert connection.get("/first").status == 200
        assert connection.exchange(absolute("http://api.test/second")).status == 200
        assert connection.exchange(absolute("http://api.test:80/third")).status == 200
        reply = connection.exchange(absolute("http://other.test/fourth"))
        assert (reply.status, reply.refusal) == (403, "host-mismatch")
    with client.plain(box) as connection:
        assert connection.get("/first").status == 200
        assert connection.exchange(absolute("http://api.test:8080/fifth")).refusal == "host-mismatch"
    assert origin.last("/second").target == "/second"
    assert set(arrived()) == {("203.0.113.10", 80)}


def test_within_TLS_an_absolute_form_names_the_session(box, origin, watch):
    with client.https(box) as session:
        assert session.exchange(absolute("https://api.test/within")).status == 200
        assert session.exchange(absolute("https://api.test:443/within", "api.test")).status == 200
        assert session.exchange(absolute("https://other.test/", "other.test")).refusal == "host-mismatch"
    assert origin.last("/within").target == "/within"
    for url in ("https://api.test:8443/", "http://api.test/", "http://api.test:443/"):
        with client.https(box) as session:
            assert session.exchange(absolute(url)).refusal in ("host-mismatch", "bad-request"), url


# ---- many --------------------------------------------------------------------------------------------


def test_three_hundred_at_once_leave_nothing(box, servers):
    until(lambda: counters(box)["open"] == 0, "earlier connections to end")
    held = box.stack.descriptors()
    code = (
        "import socket\n"
        f"HEAD = b'CONNECT tunnel.test:{BANNER} HTTP/1.1\\r\\nHost: tunnel.test\\r\\n\\r\\n'\n"
        "socks = [socket.socket() for _ in range(300)]\n"
        f"for s in socks: s.settimeout({30 * PATIENCE}); s.connect(({PROXY!r}, {PROXY_PORT})); s.sendall(HEAD)\n"
        "result = 0\n"
        "for s in socks:\n"
        "    data = b''\n"
        "    while b'220' not in data:\n"
        "        got = s.recv(1000)\n"
        "        if not got: break\n"
        "        data += got\n"
        "    result += data.startswith(b'HTTP/1.1 200') and b'220' in data\n"
    )
    assert box.python(code) == 300
    box.python("for s in socks: s.close()\nresult = None")
    until(lambda: counters(box)["open"] == 0, "the connections to end")
    until(lambda: box.stack.descriptors() <= held, "the descriptors to be given back")


def test_a_client_that_goes_in_the_middle_leaves_nothing(box):
    until(lambda: counters(box)["open"] == 0, "earlier connections to end")
    held = box.stack.descriptors()
    for sent in (b"CONNECT api.test:443 HT", head("api.test:443").encode(), head("api.test:443").encode() + b"\x16\x03\x01",
                 head(f"tunnel.test:{BANNER}").encode(), absolute("http://api.test/x").encode()):
        sock = box.connect(PROXY, PROXY_PORT)
        sock.sendall(sent)
        raw.reset(sock)
    until(lambda: counters(box)["open"] == 0, "the connections to end")
    until(lambda: box.stack.descriptors() <= held, "the descriptors to be given back")


def test_a_refused_upload_is_told(box, watch):
    """What comes behind a refused head does not destroy the answer."""
    with proxy(box) as connection:
        connection.send(head("denied.test:443").encode() + b"z" * 200_000)
        assert connection.reply().refusal == "host-denied"
    watch.nothing()


def test_busybox_nc_speaks_to_a_server_through_it(box):
    nc = box.popen(["busybox", "nc", PROXY, str(PROXY_PORT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        nc.stdin.write(head(f"tunnel.test:{BANNER}").encode())
        nc.stdin.flush()
        said = b""
        while raw.BANNER not in said:
            got = nc.stdout.read1(1000)
            assert got, said
            said += got
        assert said.startswith(b"HTTP/1.1 200")
    finally:
        nc.kill()
        nc.communicate()
