# SPDX-License-Identifier: Apache-2.0
"""Trailers of chunked bodies through the daemon: what passes, what is left out, what is refused."""
import pytest

import client
from origin.behaviours import pattern

WAYS = {"https": client.https, "plain": client.plain}


@pytest.fixture(params=WAYS)
def connection(request, sandbox):
    with WAYS[request.param](sandbox) as connection:
        yield connection


def replies(origin, path, fields, trailers, body=b"5\r\nhello\r\n", end=b"\r\n"):
    """The origin answers there with such a chunked body."""

    def behaviour(exchange):
        exchange.accept_body()
        head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{fields}\r\n".encode()
        exchange.send(head + body + b"0\r\n" + trailers + end)

    origin.on(path, behaviour)


def raw_reply(connection):
    """(head, everything behind it through the end of the trailer section) of a chunked reply."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = connection.line()
        assert line, head
        head += line
    body = b""
    while True:
        size = connection.line()
        assert size.strip(), (head, body)
        if int(size, 16) == 0:
            break
        body += connection._stream.read(int(size, 16) + 2)[:-2]
    trailers = []
    while (line := connection.line()) != b"\r\n":
        assert line, trailers
        trailers.append(line.decode("latin-1").rstrip("\r\n"))
    return head.decode("latin-1"), body, trailers


def asked(connection, path, extra="", version="1.1"):
    connection.send(f"GET {path} HTTP/{version}\r\nHost: api.test\r\n{extra}\r\n")


def pushed(connection, path, trailers, extra=""):
    connection.send(client.head_end(f"Transfer-Encoding: chunked\r\n{extra}", target=path) + "\r\n5\r\nhello\r\n0\r\n")
    connection.send(trailers + "\r\n")


def test_a_replys_trailers_reach_the_client(connection, origin):
    replies(origin, "/trailed", "Trailer: X-Sum, grpc-status\r\n", b"X-Sum: a  b\r\ngrpc-status:0\r\nX-Empty:\r\n")
    for _ in range(2):  # and the connection lives on
        asked(connection, "/trailed", "TE: trailers\r\nConnection: te\r\n")
        head, body, trailers = raw_reply(connection)
        assert (body, trailers) == (b"hello", ["X-Sum: a  b", "grpc-status: 0", "X-Empty: "])
        assert "\r\nTrailer: X-Sum, grpc-status\r\n" in head
    assert origin.last("/trailed").value("te") == "trailers"
    assert origin.last("/trailed").value("connection") == "te"


def test_who_did_not_say_TE_is_not_said_to_have(connection, origin):
    replies(origin, "/untold", "", b"X-Sum: 1\r\n")
    asked(connection, "/untold", "TE: deflate;q=0.5\r\nConnection: te\r\n")
    assert raw_reply(connection)[2] == ["X-Sum: 1"]
    assert not origin.last("/untold").values("te") and not origin.last("/untold").values("connection")


def test_a_requests_trailers_reach_the_origin(connection, origin):
    pushed(connection, "/pushed", "X-Sum: 1\r\nx-sum:\t2 \r\n", "Trailer: X-Sum\r\n")
    assert connection.reply("POST").status == 200
    pushed(connection, "/pushed-2", "")
    assert connection.reply("POST").status == 200
    first, second = origin.last("/pushed"), origin.last("/pushed-2")
    assert (first.body, first.trailers) == (b"hello", [("X-Sum", "1"), ("x-sum", "2")])
    assert first.value("trailer") == "X-Sum"
    assert (second.body, second.trailers) == (b"hello", [])


FORBIDDEN = ["Transfer-Encoding: chunked", "Content-Length: 500", "Host: other.test", "Authorization: Basic eDp5",
             "Cookie: a=b", "Set-Cookie: a=b", "Connection: close", "Content-Type: text/html", "Trailer: X",
             "Upgrade: h2c", "Expect: 100-continue", "X-HTTP-Method-Override: DELETE", "Location: /"]


def test_what_may_not_stand_there_is_left_out(connection, origin):
    section = "".join(f"{line}\r\nX-Kept: {number}\r\n" for number, line in enumerate(FORBIDDEN))
    kept = [("X-Kept", str(number)) for number in range(len(FORBIDDEN))]
    pushed(connection, "/sorted", section)
    assert connection.reply("POST").status == 200
    assert origin.last("/sorted").trailers == kept
    replies(origin, "/sorted-back", "", section.encode())
    for _ in range(2):
        asked(connection, "/sorted-back")
        assert raw_reply(connection)[1:] == (b"hello", [f"{name}: {value}" for name, value in kept])


def test_a_connection_option_takes_the_trailers_with_it(connection, origin):
    """RFC 9110 section 7.6.1: what it names ends at us, in a trailer section as well."""
    pushed(connection, "/named", "X-Mine: 1\r\n", "Connection: x-mine\r\n")
    assert connection.reply("POST").status == 200
    assert origin.last("/named").trailers == []
    replies(origin, "/named-back", "Connection: x-yours\r\n", b"X-Yours: 1\r\n")
    asked(connection, "/named-back")
    assert raw_reply(connection)[1:] == (b"hello", [])


def test_HTTP_1_0_gets_the_body_alone(connection, origin):
    replies(origin, "/old", "Trailer: X-Sum\r\n", b"X-Sum: 1\r\n")
    asked(connection, "/old", "TE: trailers\r\n", version="1.0")
    reply = connection.reply()
    assert reply.body == b"hello" and "trailer" not in reply.fields
    assert connection.ended()
    assert not origin.last("/old").values("te")


def test_trailers_behind_a_long_body_arrive_whole(connection, origin):
    body, long = pattern(3_000_000), "X-Long: " + "y" * 8000
    chunks = b"%x\r\n%s\r\n" % (len(body), body)
    replies(origin, "/long", "", long.encode() + b"\r\n", chunks)
    asked(connection, "/long")
    assert raw_reply(connection)[1:] == (body, [long])


BAD = {
    "bare LF": "X: 1\n\r\n",
    "bare CR": "X: 1\rY: 2\r\n\r\n",
    "NUL": "X: \0\r\n\r\n",
    "no colon": "X\r\n\r\n",
    "a request": "GET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "space before the colon": "X : 1\r\n\r\n",
    "folded": "X: 1\r\n 2\r\n\r\n",
    "first line folded": " X: 1\r\n\r\n",
    "empty name": ": 1\r\n\r\n",
    "too long": "X: " + "y" * 8190 + "\r\n\r\n",
    "too many": "X: 1\r\n" * 129 + "\r\n",
    "LF at the end": "X: 1\r\n\n",
}


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_section_of_a_request_is_refused(connection, origin, what):
    path = f"/bad/{what.replace(' ', '-')}"
    connection.send(client.head_end("Transfer-Encoding: chunked\r\n", target=path) + "\r\n5\r\nhello\r\n0\r\n")
    connection.send(BAD[what] + "GET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n")
    reply = connection.reply("POST")
    assert (reply.status, reply.refusal) == (400, "bad-request"), reply
    assert connection.ended()
    assert not [r for r in origin.requests(path) if r.complete]
    assert not origin.requests("/smuggled")


def assert_broken_off(connection):
    """Nothing, or a part of the reply that nobody takes for a whole one."""
    connection.sock.settimeout(5)
    received = b""
    try:
        while data := connection.sock.recv(65536):
            received += data
    except TimeoutError:
        raise AssertionError("not broken off") from None
    except OSError:
        pass
    assert not received or received.startswith(b"HTTP/1.1 200 ")
    assert b"\r\n0\r\n" not in received and b"X" not in received, received


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_section_of_a_reply_is_not_an_end(connection, origin, what):
    replies(origin, "/bad-back", "", BAD[what].encode(), end=b"")
    asked(connection, "/bad-back")
    assert_broken_off(connection)


@pytest.mark.parametrize("cut", [b"", b"X-Sum", b"X-Sum: 1\r\n", b"X-Sum: 1\r\n\r"])
def test_a_section_that_is_cut_is_not_an_end(connection, origin, cut):
    def behaviour(exchange):
        exchange.close = True
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n" + cut)

    origin.on("/cut", behaviour)
    asked(connection, "/cut")
    assert_broken_off(connection)
