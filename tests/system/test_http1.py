# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 through the daemon, byte for byte: what passes, and what is refused rather than understood twice."""
import http.client
import threading
import time

import pytest

import client
from origin.behaviours import pattern


def _bearer(sandbox):
    return f"Authorization: Bearer {sandbox.placeholder('API_TOKEN')}\r\n"


# ---- what passes -------------------------------------------------------------------------------------


def test_many_requests_on_one_connection_use_one_upstream_connection(sandbox, origin):
    with client.https(sandbox) as connection:
        for number in range(50):
            reply = connection.get(f"/bytes/{number}?one-connection")
            assert (reply.status, reply.body) == (200, pattern(number))
    used = {id(r.connection) for r in origin.requests() if r.target.endswith("?one-connection")}
    assert len(used) <= 2


@pytest.mark.parametrize("size", [0, 1, 4095, 65536, 3_000_000])
def test_bodies_of_every_size_pass_both_ways(sandbox, origin, size):
    body = pattern(size)
    with client.https(sandbox) as connection:
        head = f"POST /upload HTTP/1.1\r\nHost: api.test\r\nContent-Length: {size}\r\n\r\n"
        connection.send(head.encode() + body)
        assert connection.reply("POST").status == 200
        assert origin.last("/upload").body == body
        assert connection.get(f"/bytes/{size}").body == body


def test_chunked_passes_both_ways(sandbox, origin):
    with client.https(sandbox) as connection:
        assert connection.get("/chunked/100/999").body == pattern(99900)
        body = pattern(50_000)
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (body[:7], body[7:20_000], body[20_000:]))
        connection.send("POST /chunks HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send(chunks + b"0\r\n\r\n")
        assert connection.reply("POST").status == 200
        assert origin.last("/chunks").body == body
        assert connection.get().status == 200


@pytest.mark.parametrize("option", ["content-length", "Content-Length", "close, content-length", "x,content-length,"])
def test_a_connection_option_does_not_take_the_length_away(sandbox, origin, option):
    """Or the body would be the upstream's next request: judged by nobody."""
    body = b"DELETE /smuggled HTTP/1.1\r\nHost: denied.test\r\n\r\n"
    with client.https(sandbox) as connection:
        head = f"POST /named HTTP/1.1\r\nHost: api.test\r\nConnection: {option}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.send(head.encode() + body)
        assert connection.reply("POST").status == 200
    assert origin.last("/named").body == body
    assert not origin.requests("/smuggled")


def test_an_upstream_cannot_take_the_length_away_either(sandbox, origin):
    origin.on("/named", lambda exchange: exchange.reply(body=b"whole", fields=[("Connection", "content-length")]))
    with client.https(sandbox) as connection:
        for _ in range(2):
            reply = connection.get("/named")
            assert (reply.fields["content-length"], reply.body) == ("5", b"whole")


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_ends_at_its_head(sandbox, status):
    with client.https(sandbox) as connection:
        start = time.monotonic()
        reply = connection.get(f"/status/{status}")
        assert (reply.status, reply.body) == (status, b"")
        assert connection.get("/bytes/10").body == pattern(10)
        assert time.monotonic() - start < 2


def test_a_reply_that_ends_with_its_connection_arrives_whole(sandbox):
    with client.https(sandbox) as connection:
        assert connection.get("/close/100000").body == pattern(100_000)


def test_a_reply_that_is_cut_short_does_not_look_whole(sandbox, origin):
    def cut(exchange):
        exchange.close = True
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + bytes(500))

    def cut_chunks(exchange):
        exchange.close = True
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + bytes(500))

    origin.on("/cut-length", cut)
    origin.on("/cut-chunks", cut_chunks)
    for path in ("/cut-length", "/cut-chunks"):
        with client.https(sandbox) as connection, pytest.raises((http.client.IncompleteRead, OSError)):
            connection.get(path)


def test_pipelined_requests_are_answered_in_order(sandbox):
    with client.https(sandbox) as connection:
        connection.send("".join(f"GET /bytes/{n} HTTP/1.1\r\nHost: api.test\r\n\r\n" for n in (300, 20, 1)))
        assert [len(connection.reply().body) for _ in range(3)] == [300, 20, 1]


def test_http_1_0_gets_its_reply_and_an_end(sandbox):
    with client.https(sandbox) as connection:
        reply = connection.exchange("GET /chunked/3/10 HTTP/1.0\r\nHost: api.test\r\n\r\n")
        assert reply.body == pattern(30) and reply.fields.get("transfer-encoding") is None
        assert connection.ended()


def test_a_head_that_arrives_byte_by_byte_is_a_head(sandbox):
    with client.https(sandbox) as connection:
        for byte in b"GET /bytes/5 HTTP/1.1\r\nHost: api.test\r\n\r\n":
            connection.send(bytes([byte]))
        assert connection.reply().body == pattern(5)


def test_hop_by_hop_fields_stay_on_their_hop(sandbox, origin):
    with client.https(sandbox) as connection:
        reply = connection.get(
            "/hops",
            extra="Connection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\n"
            "Proxy-Authorization: Basic eDp5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n"
            "Upgrade: h2c\r\nX-Public: 2\r\n",
        )
        assert reply.status == 200
    names = {name.lower() for name, _ in origin.last("/hops").fields}
    assert "x-public" in names
    assert not names & {"x-private", "keep-alive", "proxy-authorization", "proxy-connection", "upgrade"}


def test_fields_keep_their_order_and_case(sandbox, origin):
    fields = [("X-B", "1"), ("x-a", "two words"), ("X-B", "3"), ("Accept", "*/*"), ("X-Empty", "")]
    with client.https(sandbox) as connection:
        connection.get("/order", extra="".join(f"{k}: {v}\r\n" for k, v in fields))
    assert [f for f in origin.last("/order").fields if f[0] in dict(fields)] == fields


def test_an_event_stream_is_not_held_back(sandbox, origin):
    go = threading.Event()

    def stream(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        exchange.send(b"c\r\ndata: one\n\n!\r\n")
        go.wait(10)
        exchange.send(b"0\r\n\r\n")

    origin.on("/events", stream)
    with client.https(sandbox) as connection:
        connection.send("GET /events HTTP/1.1\r\nHost: api.test\r\n\r\n")
        received = b""
        while b"data: one" not in received:
            received += connection.sock.recv(65536)
        go.set()


# ---- the cases ---------------------------------------------------------------------------------------


def _expect(connection, value="100-continue", version="1.1", size=5):
    connection.send(
        f"PUT /expect HTTP/{version}\r\nHost: api.test\r\nContent-Length: {size}\r\nExpect: {value}\r\n\r\n"
    )


@pytest.mark.parametrize("value", ["100-continue", "100-Continue"])
def test_H1_04a_the_upstreams_100_is_passed_on_once_and_when_it_comes(sandbox, origin, value):
    def late(exchange):
        time.sleep(0.2)
        exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        exchange.reply(body=exchange.body())

    origin.on("/expect", late)
    with client.https(sandbox) as connection:
        start = time.monotonic()
        _expect(connection, value)
        assert connection.line().startswith(b"HTTP/1.1 100")
        assert 0.15 < time.monotonic() - start < 1, "not answered by us, and not delayed"
        assert connection.line() == b"\r\n"
        connection.send(b"hello")
        assert connection.line().startswith(b"HTTP/1.1 200"), "one 100 only"
    assert origin.last("/expect").value("expect").lower() == "100-continue", "the upstream is asked"


def test_H1_04a_curl_uploads_two_megabytes(sandbox, origin, world):
    size = 2 << 20
    with open(f"{sandbox.home}/2MB.bin", "wb") as file:
        file.write(pattern(size))
    done = sandbox.curl(
        "-H", "Expect: 100-continue", "-T", f"{sandbox.home}/2MB.bin", "-w", "%{time_total}",
        "https://api.test/upload-2MB", check=True,
    )
    assert origin.last("/upload-2MB").body == pattern(size)
    assert float(done.stdout.split()[-1]) < 5
    assert origin.last("/upload-2MB").value("expect") == "100-continue"


def test_H1_04b_a_final_reply_at_once_needs_no_body(sandbox, origin):
    def no(exchange):
        exchange.close = True
        exchange.reply(417, b"no\n", [("Connection", "close")], "Expectation Failed")

    origin.on("/expect", no)
    with client.https(sandbox) as connection:
        start = time.monotonic()
        _expect(connection, size=1_000_000)
        reply = connection.reply("PUT")
        assert (reply.status, reply.body) == (417, b"no\n")
        assert time.monotonic() - start < 1
        assert origin.last("/expect").value("expect") == "100-continue"
        connection.sock.settimeout(5)
        try:  # closed, or drained: the next request is not read as that body
            connection.send(bytes(1_000_000) + b"GET /bytes/3 HTTP/1.1\r\nHost: api.test\r\n\r\n")
            assert connection.reply().body == pattern(3)
        except (OSError, http.client.HTTPException):
            pass


def test_H1_04c_a_client_that_does_not_wait_for_ever_is_served(sandbox, origin):
    def never(exchange):
        exchange.reply(body=exchange.body())

    origin.on("/expect", never)
    with client.https(sandbox) as connection:
        _expect(connection)
        connection.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.sock.recv(1)
        connection.sock.settimeout(10)
        connection.send(b"hello")
        data = b""
        while not data.endswith(b"hello"):
            data += connection.sock.recv(4096)
        assert data.startswith(b"HTTP/1.1 200")
    done = sandbox.curl("-H", "Expect: 100-continue", "-d", "hello", "-w", " %{time_total}",
                        "https://api.test/expect", check=True)
    body, took = done.stdout.split()
    assert body == "hello" and 0.9 < float(took) < 3, "curl's own second"


def test_H1_04_an_expectation_of_HTTP_1_0_means_nothing(sandbox, origin):
    origin.on("/expect", lambda exchange: exchange.reply(body=exchange.accept_body()))
    with client.https(sandbox) as connection:
        _expect(connection, version="1.0")
        connection.send(b"hello")
        line = connection.line()
        assert line.split()[1] == b"200", line
    assert not origin.last("/expect").values("expect")


def test_H1_04b_curl_shows_a_refusal_of_the_upload(sandbox, origin):
    def no(exchange):
        exchange.close = True
        exchange.reply(401, b"who are you\n", [("Connection", "close")], "Unauthorized")

    origin.on("/unwelcome", no)
    with open(f"{sandbox.home}/unwelcome.bin", "wb") as file:
        file.write(pattern(2 << 20))
    done = sandbox.curl("--http1.1", "-H", "Expect: 100-continue", "-T", f"{sandbox.home}/unwelcome.bin", "-w", "%{http_code} %{size_upload}",
                        "https://api.test/unwelcome", check=True)
    assert done.stdout == "who are you\n401 0", "not a byte of the body was asked for"


def test_H1_13_a_reply_to_HEAD_keeps_its_length(sandbox):
    with client.https(sandbox, "file.test") as connection:
        start = time.monotonic()
        reply = connection.exchange("HEAD /head/1488324 HTTP/1.1\r\nHost: file.test\r\n\r\n", "HEAD")
        assert reply.fields["content-length"] == "1488324" and reply.body == b""
        assert time.monotonic() - start < 2
        assert connection.get("/bytes/4", host="file.test").body == pattern(4)
    assert "Content-Length: 1488324" in sandbox.curl("--http1.1", "-I", "https://file.test/head/1488324", check=True).stdout


REFUSED_BODIES = {
    # H1-15
    "CL and chunked": "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
    "CL and chunked,": "Content-Length: 6\r\nTransfer-Encoding: chunked,\r\n",
    "CL and chunked tab": "Content-Length: 6\r\nTransfer-Encoding: chunked\t\r\n",
    "CL and chunked, gzip": "Content-Length: 6\r\nTransfer-Encoding: chunked, gzip\r\n",
    "CL and gzip, chunked": "Content-Length: 6\r\nTransfer-Encoding: gzip, chunked\r\n",
    "CL and xchunked": "Content-Length: 6\r\nTransfer-Encoding: xchunked\r\n",
    "CL and chunked, identity": "Content-Length: 6\r\nTransfer-Encoding: chunked, identity\r\n",
    "CL and two TE": "Content-Length: 6\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    **{f"TE {te}": f"Transfer-Encoding: {te}\r\n" for te in (
        "chunked,", "chunked, gzip", "gzip, chunked", "xchunked", "chunked, identity", "chunked, chunked", "chunked;q=1",
        '"chunked"', ",chunked", "")},
    "CL 0 and chunked": "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    "chunked before CL": "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
    "two TE": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "TE identity": "Transfer-Encoding: identity\r\n",
    "TE vertical tab": "Transfer-Encoding: \x0bchunked\r\n",
    "TE space before colon": "Transfer-Encoding : chunked\r\n",
    # H1-16
    "CL 5 and 6": "Content-Length: 5\r\nContent-Length: 6\r\n",
    "CL 5, 6": "Content-Length: 5, 6\r\n",
    "CL +5": "Content-Length: +5\r\n",
    "CL -1": "Content-Length: -1\r\n",
    "CL 0x5": "Content-Length: 0x5\r\n",
    "CL of 20 digits": "Content-Length: 18446744073709551621\r\n",
    "CL empty": "Content-Length: \r\n",
    "CL 5 5": "Content-Length: 5 5\r\n",
    # other smuggling forms of the issue
    "obs-fold": "X-Folded: one\r\n two\r\nContent-Length: 5\r\n",
    "NUL in a value": "X-Nul: a\0b\r\nContent-Length: 5\r\n",
    "control byte": "X-Bell: a\x07b\r\nContent-Length: 5\r\n",
    "space before colon": "X-Space : a\r\nContent-Length: 5\r\n",
    "no colon": "NoColon\r\nContent-Length: 5\r\n",
    "empty name": ": value\r\nContent-Length: 5\r\n",
    "bare LF": "X-One: 1\nX-Two: 2\r\nContent-Length: 5\r\n",
    "bare CR": "X-One: 1\rX-Two: 2\r\nContent-Length: 5\r\n",
    "two Hosts": "Host: other.test\r\nContent-Length: 5\r\n",
}


@pytest.mark.parametrize("what", REFUSED_BODIES)
def test_H1_15_H1_16_what_could_be_read_twice_is_refused(sandbox, world, origin, what):
    smuggled = f"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: api.test\r\n{_bearer(sandbox)}\r\n"
    with client.https(sandbox) as control:
        watch = world.watch()
        assert control.get().status == 200
        assert watch.fired()
    watch = world.watch()
    with client.https(sandbox) as connection:
        connection.send(client.head_end(REFUSED_BODIES[what] + "\r\n" + smuggled))
        reply = connection.reply("POST")
        assert (reply.status, reply.refusal) == (400, "bad-request"), reply
        assert connection.ended(), "closed"
    watch.nothing(what)
    assert not origin.requests("/smuggled")


HEADS = {
    "two spaces": "GET  / HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "no version": "GET /\r\nHost: api.test\r\n\r\n",
    "version 9": "GET / HTTP/9.1\r\nHost: api.test\r\n\r\n",
    "version 1.2": "GET / HTTP/1.2\r\nHost: api.test\r\n\r\n",
    "lower case http": "GET / http/1.1\r\nHost: api.test\r\n\r\n",
    "control byte in the target": "GET /\x01 HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "space in the method": "GE T / HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "no Host": "GET / HTTP/1.1\r\n\r\n",
    "empty Host": "GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "LF only": "GET / HTTP/1.1\nHost: api.test\n\n",
    "oversized head": "GET / HTTP/1.1\r\nHost: api.test\r\nX-Big: " + "a" * 70_000 + "\r\n\r\n",
    "too many fields": "GET / HTTP/1.1\r\nHost: api.test\r\n" + "X-N: 1\r\n" * 2000 + "\r\n",
    "absolute form for another host": "GET https://other.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "absolute form with another Host": "GET https://api.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n",
    "authority form": "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n",
    "TRACE": "TRACE / HTTP/1.1\r\nHost: api.test\r\n\r\n",
}


@pytest.mark.parametrize("what", HEADS)
def test_a_malformed_or_forbidden_head_is_refused(sandbox, world, what):
    watch = world.watch()
    with client.https(sandbox) as connection:
        try:
            connection.send(HEADS[what])
        except OSError:
            pass  # refused before all of it was read
        reply = connection.reply()
        assert 400 <= reply.status < 500 and reply.refusal, reply
        assert connection.ended()
    watch.nothing(what)


@pytest.mark.parametrize("lengths", ["Content-Length: 5, 5\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n"])
def test_H1_16_the_same_length_twice_is_one_length(sandbox, origin, lengths):
    with client.https(sandbox) as connection:
        assert connection.exchange(client.head_end(lengths, target="/twice") + "\r\nhello", "POST").status == 200
    assert origin.last("/twice").value("content-length") == "5"
    assert origin.last("/twice").body == b"hello"


def test_H1_16_a_GET_with_a_body_is_forwarded_exactly(sandbox, origin):
    with client.https(sandbox) as connection:
        reply = connection.exchange(
            client.head_end("Content-Length: 5\r\n", target="/get-body", method="GET") + "\r\nhello"
        )
        assert reply.status == 200
    assert origin.last("/get-body").body_raw == b"hello"


def test_H1_18_a_chunked_request_and_the_next_one_in_one_segment(sandbox, origin):
    with client.https(sandbox) as connection:
        connection.send(
            client.head_end("Transfer-Encoding: chunked\r\n", target="/first")
            + '\r\n5;ext="a"\r\nhello\r\n0\r\n\r\nGET /bytes/2 HTTP/1.1\r\nHost: api.test\r\n\r\n'
        )
        assert connection.reply("POST").status == 200
        assert connection.reply().body == pattern(2)
    assert origin.last("/first").body == b"hello"
    assert b"ext" not in origin.last("/first").body_raw


CHUNKS = {
    "beyond 64 bits": "10000000000000000\r\nhello\r\n0\r\n\r\n",
    "beyond 64 bits, 5 when it wraps": "10000000000000005\r\nhello\r\n0\r\n\r\n",
    "beyond 64 bits, an end when it wraps": "10000000000000000\r\n\r\n",
    "as many digits as nobody needs": "0" * 40 + "5\r\nhello\r\n0\r\n\r\n",
    "0x5": "0x5\r\nhello\r\n0\r\n\r\n",
    "space before": " 5\r\nhello\r\n0\r\n\r\n",
    "no CRLF after the data": "5\r\nhello0\r\n\r\n",
    "negative": "-5\r\nhello\r\n0\r\n\r\n",
    "empty size": "\r\nhello\r\n0\r\n\r\n",
    "LF only": "5\nhello\n0\n\n",
}


@pytest.mark.parametrize("what", CHUNKS)
def test_H1_18_a_bad_chunk_is_refused(sandbox, origin, what):
    with client.https(sandbox) as connection:
        connection.send(client.head_end("Transfer-Encoding: chunked\r\n", target="/bad-chunk") + "\r\n")
        connection.send(CHUNKS[what] + "GET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n")
        reply = connection.reply("POST")
        assert (reply.status, reply.refusal) == (400, "bad-request"), reply
        assert connection.ended()
    with client.https(sandbox) as connection:
        assert connection.get().status == 200
    assert not origin.requests("/smuggled")
    assert not [r for r in origin.requests("/bad-chunk") if r.complete]


def test_deadlines_close_what_says_nothing(sandbox):
    """Silence before the first byte, and half a head: each has ten seconds, all wait at once."""
    silent = client.Client(sandbox.connect("203.0.113.10", 443))
    half = client.plain(sandbox)
    half.send("GET / HTTP/1.1\r\nHost: api")
    drip = client.https(sandbox)
    drip.send("GET / HTT")
    start = time.monotonic()
    assert silent.ended(20)
    for connection in (half, drip):
        connection.sock.settimeout(20)
        assert connection.line().startswith(b"HTTP/1.1 4") or connection.ended(20)
    assert 5 < time.monotonic() - start < 20
    for connection in (silent, half, drip):
        connection.close()


@pytest.mark.parametrize("option", ["content-length", "Content-Length, close", "transfer-encoding", "host"])
def test_a_connection_option_cannot_take_the_framing_away(sandbox, origin, option):
    """Were Content-Length dropped because Connection names it, the body would be the origin's next request."""
    before = len(origin.requests())
    smuggled = "GET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n"
    with client.https(sandbox) as connection:
        reply = connection.exchange(
            f"POST /framed HTTP/1.1\r\nHost: api.test\r\nConnection: {option}\r\n"
            f"Content-Length: {len(smuggled)}\r\n\r\n{smuggled}"
        )
    assert reply.status in (200, 400)
    arrived = origin.requests()[before:]
    assert [r.path for r in arrived] == (["/framed"] if reply.status == 200 else [])
    assert all(r.body == smuggled.encode() for r in arrived)


@pytest.mark.parametrize("size", [40_000, 60_000, 100_000, 200_000])
@pytest.mark.parametrize("way", ["https", "plain"])
def test_a_long_head_passes_or_is_refused_at_once(sandbox, origin, way, size):
    origin.on("/long", lambda exchange: exchange.reply(body=b"x", fields=[("X-Long", "y" * size)]))
    with getattr(client, way)(sandbox) as connection:
        start = time.monotonic()
        connection.send("GET /long HTTP/1.1\r\nHost: api.test\r\n\r\n")
        line = connection.line()
        assert line.split()[1] == (b"200" if size < 65_000 else b"502"), line
        assert time.monotonic() - start < 3
    with getattr(client, way)(sandbox) as connection:
        start = time.monotonic()
        connection.send(f"GET /bytes/3 HTTP/1.1\r\nHost: api.test\r\nX-Long: {'y' * size}\r\n\r\n")
        line = connection.line()
        assert line.split()[1] == (b"200" if size < 65_000 else b"400"), line
        assert time.monotonic() - start < 3
