# SPDX-License-Identifier: Apache-2.0
"""Cases of HTTP/1 byte for byte (H1-*): flushing, framing, interim replies, memory. H1-04, -13, -15, -16 and -18 are in
test_http1.py, -15, -16 and -18 in test_h1_malformed.py as well; real programs in test_h1_clients.py."""
import hashlib
import http.client
import itertools
import threading
import time

import pytest

import client
from origin.behaviours import pattern
from waiting import PATIENCE, until

WAYS = {"https": client.https, "plain": client.plain}
EVENTS, EVERY = 20, 0.05
BLOCK = pattern(1 << 20)


@pytest.fixture(params=WAYS)
def connection(request, sandbox):
    with WAYS[request.param](sandbox) as connection:
        yield connection


def ask(connection, path, extra="", version="1.1", method="GET"):
    connection.send(f"{method} {path} HTTP/{version}\r\nHost: api.test\r\n{extra}\r\n")


# ---- H1-01 -------------------------------------------------------------------------------------------


def _events(framed):
    """40 bytes each, with the time they are sent at; in chunks or until the end."""

    def behaviour(exchange):
        exchange.close = not framed
        coding = "Transfer-Encoding: chunked\r\n" if framed else ""
        exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{coding}\r\n".encode())
        for _ in range(EVENTS):
            event = f"data: {time.monotonic():.6f}".ljust(38).encode() + b"\n\n"
            exchange.send(b"%x\r\n%s\r\n" % (len(event), event) if framed else event)
            time.sleep(EVERY)
        if framed:
            exchange.send(b"0\r\n\r\n")

    return behaviour


@pytest.mark.parametrize("framed", [True, False], ids=["chunks", "until the end"])
def test_H1_01_each_event_arrives_when_it_is_sent(connection, origin, framed):
    origin.on("/events", _events(framed))
    ask(connection, "/events", "Accept: text/event-stream\r\n")
    late = []
    while len(late) < EVENTS:
        line = connection.line()
        assert line, "ended early"
        if line.startswith(b"data: "):
            late.append(time.monotonic() - float(line[6:]))
    late.sort()
    assert late[-2] < 0.05 * PATIENCE, late  # one may meet a busy machine
    assert late[-1] < EVENTS * EVERY / 4, "none waits for those behind it"


def test_H1_01_curl_shows_them_as_they_come(sandbox, origin):
    origin.on("/events", _events(True))
    done = sandbox.popen(["curl", "-sSN", "https://api.test/events"], stdout=-1)
    seen = []
    for line in done.stdout:
        if line.startswith(b"data: "):
            seen.append(time.monotonic() - float(line[6:]))
    assert done.wait(10) == 0 and len(seen) == EVENTS
    assert sorted(seen)[-2] < 0.05 * PATIENCE, seen


# ---- H1-03, H1-12 ------------------------------------------------------------------------------------


def test_H1_03_a_reply_without_a_length_ends_and_the_connection_lives_on(connection, origin):
    def nolen(exchange):
        exchange.close = True
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + pattern(10_000))

    origin.on("/nolen", nolen)
    for _ in range(3):
        reply = connection.get("/nolen")
        assert (reply.body, reply.fields["transfer-encoding"]) == (pattern(10_000), "chunked")
        assert "content-length" not in reply.fields
    assert not origin.last("/nolen").values("accept-encoding"), "none of our own"


def test_H1_12_a_length_and_chunks_are_chunks(connection, origin):
    def both(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
                      b"6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n")

    origin.on("/both", both)
    used = []
    for _ in range(3):
        reply = connection.get("/both")
        assert (reply.body, reply.fields["transfer-encoding"]) == (b"hello world", "chunked")
        assert "content-length" not in reply.fields
        used.append(id(origin.last("/both").connection))
    assert len(set(used)) == 3, "a connection that spoke like that is not used again"


# ---- H1-04 -------------------------------------------------------------------------------------------


def test_H1_04_an_early_refusal_of_chunks_reaches_who_is_still_sending(connection, origin):
    def no(exchange):
        exchange.close = True
        exchange.reply(413, b"too much\n", [("Connection", "close")], "Content Too Large")

    origin.on("/too-much", no)
    connection.send(client.head_end("Transfer-Encoding: chunked\r\n", target="/too-much") + "\r\n")
    try:
        for _ in range(800):
            connection.send(b"10000\r\n" + bytes(0x10000) + b"\r\n")
    except OSError:
        pass  # told by a reset that nobody reads any more: the reply is there before it
    reply = connection.reply("POST")
    assert (reply.status, reply.body) == (413, b"too much\n")
    assert connection.ended()


def test_H1_06_a_chunked_push_is_not_asked_for_a_length(connection, origin):
    """No 411, and the chunks arrive as chunks: of other sizes, with the same bytes in them."""
    body = pattern(5_000_000)
    connection.send(client.head_end("Transfer-Encoding: chunked\r\n", target="/push") + "\r\n")
    sizes = itertools.cycle([1, 15, 16, 4095, 4096, 65_535, 65_536, 1_000_000])
    at = 0
    while at < len(body):
        piece = body[at:at + next(sizes)]
        connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        at += len(piece)
    connection.send("0\r\n\r\n")
    assert connection.reply("POST").status == 200
    assert origin.last("/push").body == body and not origin.last("/push").values("content-length")


# ---- H1-07 -------------------------------------------------------------------------------------------


def _allowance(stack):
    return (256 if stack.sanitized() else 16) << 20


class _Resident:
    """The most that the daemon held while something went on, more than before."""

    def __init__(self, stack):
        self._stack, self.before, self.most, self._over = stack, stack.resident(), 0, threading.Event()

    def _look(self):
        while not self._over.wait(0.02):
            self.most = max(self.most, self._stack.resident() - self.before)

    def __enter__(self):
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize("framed", [True, False], ids=["chunks", "length"])
def test_H1_07_a_large_reply_is_not_held(sandbox, stack, origin, framed):
    blocks = 128

    def large(exchange):
        coding = "Transfer-Encoding: chunked" if framed else f"Content-Length: {blocks * len(BLOCK)}"
        exchange.send(f"HTTP/1.1 200 OK\r\n{coding}\r\n\r\n".encode())
        for _ in range(blocks):
            exchange.send(b"%x\r\n%s\r\n" % (len(BLOCK), BLOCK) if framed else BLOCK)
        exchange.send(b"0\r\n\r\n" if framed else b"")

    origin.on("/large", large)
    with _Resident(stack) as resident:
        done = sandbox.run(["sh", "-c", "curl -sS https://api.test/large | sha256sum"], check=True)
    digest = hashlib.sha256()
    for _ in range(blocks):
        digest.update(BLOCK)
    assert done.stdout.split()[0] == digest.hexdigest()
    assert resident.most < _allowance(stack), f"{resident.most} bytes for {blocks} MiB"


def test_H1_07_a_large_upload_is_not_held(sandbox, stack, origin):
    seen = {}

    def take(exchange):
        digest, left = hashlib.sha256(), int(exchange.request.value("content-length"))
        exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        while left:
            piece = exchange.reader.exactly(min(left, 1 << 16))
            exchange.request.connection.received.clear()  # the record is not what is measured
            digest.update(piece)
            left -= len(piece)
        exchange.request.complete = True
        seen["digest"] = digest.hexdigest()
        exchange.reply(body=b"taken\n")

    origin.on("/upload-not-held", take)
    with open(f"{sandbox.home}/large", "wb") as file:
        for _ in range(64):
            file.write(BLOCK)
    with _Resident(stack) as resident:
        sandbox.curl("-T", f"{sandbox.home}/large", "https://api.test/upload-not-held", check=True)
    with open(f"{sandbox.home}/large", "rb") as file:
        assert seen["digest"] == hashlib.file_digest(file, "sha256").hexdigest()
    assert resident.most < _allowance(stack)


def test_H1_07_a_reader_that_does_not_read_stops_the_origin(connection, origin):
    """Back-pressure: what the origin got rid of is what fits sockets and two buffers, and grows no more."""
    sent = {"bytes": 0}

    def endless(exchange):
        exchange.close = True
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while sent["bytes"] < 1_000_000_000:
            exchange.send(BLOCK[:65536])
            sent["bytes"] += 65536

    origin.on("/endless", endless)
    ask(connection, "/endless")
    assert connection.line().startswith(b"HTTP/1.1 200 ")

    def stands():
        before = sent["bytes"]
        time.sleep(0.3)  # how long it has to stand to be taken for standing
        return before and sent["bytes"] == before

    until(stands, "the origin to be stopped")
    assert sent["bytes"] < 40 << 20


# ---- H1-09 -------------------------------------------------------------------------------------------

JDK = ("Connection: Upgrade, HTTP2-Settings\r\nContent-Length: 3\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
       "Upgrade: h2c\r\nUser-Agent: Java-http-client/17.0.15\r\nContent-Type: application/x-www-form-urlencoded\r\n")


def would_upgrade(exchange):
    """A server that speaks h2c to whoever asks."""
    body = exchange.body()
    if exchange.request.values("upgrade"):
        exchange.close = True
        exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n\0\0\0\4\0\0\0\0\0")
        return
    exchange.reply(body=body)


def test_H1_09_an_upgrade_to_h2c_is_not_passed_on(connection, origin):
    origin.on("/h2c", would_upgrade)
    for _ in range(2):
        connection.send(client.head_end(JDK, target="/h2c") + "\r\nx=1")
        reply = connection.reply("POST")
        assert (reply.status, reply.body) == (200, b"x=1")
    names = {name.lower() for name, _ in origin.last("/h2c").fields}
    assert not names & {"upgrade", "http2-settings", "connection"}
    assert {"user-agent", "content-type", "content-length"} <= names


# ---- H1-13 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["Content-Length: 1488324", "Transfer-Encoding: chunked", "X: 1"])
def test_H1_13_a_HEAD_has_no_body_whatever_its_reply_says(connection, origin, head):
    def blob(exchange):
        exchange.send(f"HTTP/1.1 200 OK\r\nDocker-Content-Digest: sha256:0\r\n{head}\r\n\r\n".encode())

    origin.on("/v2/blob", blob)
    start = time.monotonic()
    for _ in range(2):
        ask(connection, "/v2/blob", method="HEAD")
        reply = connection.reply("HEAD")
        assert (reply.status, reply.body) == (200, b"")
        assert reply.fields.get("content-length") == ("1488324" if "1488324" in head else None)
    assert connection.get("/bytes/3").body == pattern(3)
    assert time.monotonic() - start < 2


# ---- H1-19 -------------------------------------------------------------------------------------------


@pytest.fixture
def hints(origin):
    def hints(exchange):
        for link in ("</a.css>; rel=preload", "</b.css>; rel=preload"):
            exchange.send(f"HTTP/1.1 103 Early Hints\r\nLink: {link}\r\nX-Early: 1\r\n\r\n".encode())
        time.sleep(0.3)  # the hints are early: they must not wait for what follows
        exchange.reply(body=pattern(16), fields=[("X-Final", "1")])

    origin.on("/hints", hints)


def test_H1_19_hints_come_early_and_stay_what_they_are(connection, hints):
    for _ in range(2):
        start = time.monotonic()
        ask(connection, "/hints")
        links = []
        while len(links) < 2:
            assert connection.line().startswith(b"HTTP/1.1 103 ")
            while (line := connection.line()) != b"\r\n":
                name, _, value = line.decode().strip().partition(": ")
                links += [value] if name == "Link" else []
        assert links == ["</a.css>; rel=preload", "</b.css>; rel=preload"]
        assert time.monotonic() - start < 0.25 * PATIENCE, "held back until the final one"
        assert connection.line().startswith(b"HTTP/1.1 200 ")
        fields = http.client.parse_headers(connection._stream)
        assert fields["x-final"] == "1" and "link" not in fields and "x-early" not in fields
        assert connection._stream.read(16) == pattern(16)


def test_H1_19_HTTP_1_0_gets_the_final_reply_alone(connection, hints):
    ask(connection, "/hints", version="1.0")
    assert connection.line().startswith(b"HTTP/1.1 200 ")
    fields = http.client.parse_headers(connection._stream)
    assert "link" not in fields and connection._stream.read(16) == pattern(16)
    assert connection.ended()


def test_H1_19_curl_shows_both(sandbox, hints):
    done = sandbox.curl("--http1.1", "-v", "https://api.test/hints", check=True)
    assert done.stdout.encode() == pattern(16)
    assert done.stderr.count("103 Early Hints") == 2 and done.stderr.count("< HTTP/1.1 200") == 1
