# SPDX-License-Identifier: Apache-2.0
"""The tests' own clients and servers of HTTP/2, gRPC and WebSocket, without the product: edge to internet, directly.

Each of ours is also tried against one that nobody here has written: curl, nghttp and h2load, nghttpd, grpcio, websockets.
"""
import hashlib
import json
import os
import socket
import ssl
import subprocess
import time

import h2.exceptions
import pytest

import client
import h2client
import wsclient
from origin import h2_behaviours, h2_frames, websocket
from origin.behaviours import pattern
from origin.daemons import Grpc, Nghttpd
from sandbox import PYTHON, Sandbox
from waiting import PATIENCE, until

H2, BOTH, FIRST1, NO_ALPN, GRPC = (f"203.0.113.{number}" for number in (70, 71, 72, 73, 74))
HERE = os.path.dirname(os.path.realpath(__file__))
WEBSOCKETS = """
import asyncio, sys, websockets
async def main():
    async with websockets.connect(sys.argv[1], compression=sys.argv[2] if sys.argv[2] != "none" else None) as ws:
        for number in range(50):
            message = ("text %d " % number) * number if number % 2 else bytes([number]) * number * 3000
            await ws.send([message[:10], message[10:]] if number % 5 == 0 else message)
            assert await ws.recv() == message, number
        print([e.name for e in ws.extensions])
asyncio.run(main())
"""


class Direct:
    """The edge in a sandbox's place: what client.py wants, and nothing in between."""

    def __init__(self, world):
        self.world, self.ca = world, world.pki.ca

    def connect(self, address, port, family=None):
        sock = self.world.edge.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        sock.settimeout(20)
        sock.connect((address, port))
        return sock

    tls = Sandbox.tls

    def run(self, argv, **options):
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "SSL_CERT_FILE": self.ca,
               "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": self.ca}
        done = subprocess.run(self.world.edge_command(argv), capture_output=True, text=True, env=env, cwd="/",
                              timeout=60 * PATIENCE, **options)
        assert done.returncode == 0, f"{argv}: {done.returncode} {done.stdout[-2000:]} {done.stderr[-2000:]}"
        return done


@pytest.fixture(scope="module")
def direct(world):
    return Direct(world)


@pytest.fixture(scope="module")
def grpc(world):
    made = Grpc(world)
    yield made
    made.close()


def opened(direct, **options):
    return client.h2(direct, "h2.test", H2, **options)


def calls(direct, target, asked, *options):
    done = direct.run([PYTHON, "-I", os.path.join(HERE, "grpc_calls.py"), target, *options], input=json.dumps(asked))
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- who speaks what -------------------------------------------------------------------------------------


@pytest.mark.parametrize("address,offered,chosen", [
    (H2, ("h2",), "h2"), (H2, ("http/1.1", "h2"), "h2"), (BOTH, ("h2", "http/1.1"), "h2"), (BOTH, ("http/1.1",), "http/1.1"),
    (FIRST1, ("h2", "http/1.1"), "http/1.1"), (FIRST1, ("h2",), "h2"), (NO_ALPN, ("h2", "http/1.1"), None),
    ("203.0.113.10", ("h2", "http/1.1"), "http/1.1"),
])
def test_the_address_says_which_protocols_there_are(direct, world, address, offered, chosen):
    sock = direct.tls(address, name="h2.test", alpn=offered)
    assert sock.selected_alpn_protocol() == chosen
    path = f"/echo?{address}-{'-'.join(offered)}"
    if chosen == "h2":
        with h2client.Client(sock, "h2.test") as connection:
            reply = connection.get(path)
    else:
        with client.Client(sock) as connection:
            reply = connection.get(path, host="h2.test")
    said = json.loads(reply.body)
    assert (said["alpn"], said["version"]) == (chosen, "HTTP/2" if chosen == "h2" else "HTTP/1.1")
    assert world.origin.last("/echo").target == path


def test_h2_alone_is_not_spoken_to_who_does_not_offer_it(direct, world):
    with client.Client(direct.tls(H2, name="h2.test", alpn=("http/1.1",))) as connection:
        connection.send("GET / HTTP/1.1\r\nHost: h2.test\r\n\r\n")
        assert connection.ended()
    assert not world.origin.connections[-1].received


# ---- HTTP/2: ours with ours -------------------------------------------------------------------------------


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "prior knowledge"])
def test_bodies_of_every_size_both_ways(direct, tls):
    with opened(direct) if tls else client.h2c(direct, "h2.test", H2) as connection:
        for size in (0, 1, 65535, 65536, 3 << 20):
            reply = connection.get(f"/bytes/{size}")
            assert reply.status == 200 and reply.body == pattern(size)
            assert reply.fields.get("content-length") == str(size)
            said = json.loads(connection.post("/digest", pattern(size)).body)
            assert (said["size"], said["sha256"]) == (size, hashlib.sha256(pattern(size)).hexdigest())


def test_many_streams_at_once_each_gets_its_own(direct):
    with opened(direct) as connection:
        streams = [connection.request(path=f"/bytes/{number * 700}") for number in range(100)]
        for number, stream in enumerate(streams):
            assert stream.reply().body == pattern(number * 700)


def test_what_arrived_is_recorded_fields_and_trailers_too(direct, world):
    with opened(direct) as connection:
        stream = connection.request("POST", "/digest/rec", [("x-mark", "a-value-to-find"), ("cookie", "a=1"), ("cookie", "b=2")],
                                    end=False)
        stream.send(b"body-to-find").end([("x-last", "trailer-to-find")])
        assert json.loads(stream.reply().body)["trailers"] == [["x-last", "trailer-to-find"]]
    request = world.origin.last("/digest/rec")
    assert request.values("cookie") == ["a=1", "b=2"] and request.authority == "h2.test"
    assert request.trailers == [("x-last", "trailer-to-find")] and request.body == b"body-to-find"
    for word in (b"a-value-to-find", b"trailer-to-find", b"body-to-find"):
        assert word in world.origin.received()
    assert b"never-sent" not in world.origin.received()


def test_every_shape_of_answer(direct):
    with opened(direct) as connection:
        reply = connection.get("/trailers/100000")
        assert reply.body == pattern(100000) and reply.trailers == [("x-sum", "end"), ("x-raw-bin", "AP8")]
        assert connection.get("/nolength/70000").body == pattern(70000)
        reply = connection.get("/hints/2")
        assert [status for status, _ in reply.interim] == [103, 103] and reply.body == b"after the hints\n"
        assert connection.request("HEAD", "/bytes/77").reply().body == b""
        assert connection.get("/status/204").status == 204
        reply = connection.get("/grpc/2")
        assert reply.trailers.get("grpc-status") == "0" and reply.body.count(b"message ") == 2
        reply = connection.get("/trailers-only/5")
        assert reply.fields.get("grpc-status") == "5" and reply.trailers is None
        reply = connection.get("/no-data/5")
        assert reply.trailers.get("grpc-status") == "5" and not reply.body
        assert connection.get("/crumbs/300").body == pattern(300)
        reply = connection.post("/digest", b"asked first", [("expect", "100-continue")])
        assert [status for status, _ in reply.interim] == [100] and reply.status == 200


def test_an_event_stream_comes_as_it_is_sent(direct):
    with opened(direct) as connection:
        stream = connection.request(path="/events/4/150")
        at = []
        for number in range(4):
            assert stream.read(9) == b"data: %d\n\n" % number
            at.append(time.monotonic())
        assert at[3] - at[0] > 0.4
        assert stream.reply().status == 200


def test_resets_of_every_kind(direct, world):
    with opened(direct) as connection:
        for code in (2, 7, 8, 11):
            with pytest.raises(h2client.Reset) as told:
                connection.get(f"/reset/{code}")
            assert told.value.code == code
        with pytest.raises(h2client.Reset):
            connection.get("/refused/once/peers")
        assert connection.get("/refused/once/peers").status == 200
        stream = connection.request(path="/half/500/2")
        assert stream.head() == 200 and stream.read(500) == pattern(500) and stream.wait_reset() == 2
        stream = connection.request("POST", "/early/9", end=False)
        assert stream.reply().body == pattern(9) and stream.wait_reset() == 0
        stream = connection.request("POST", "/stalled/peers", end=False)
        stream.send(b"x" * 1000)
        stream.reset(8)
        until(lambda: [r.reset for r in world.origin.requests("/stalled/peers")] == [8], "the client's reset")
        assert connection.get("/").status == 200


def test_goaway_and_ends(direct):
    with opened(direct) as connection:
        with pytest.raises(h2client.Reset):
            connection.get("/goaway/0/once/peers")
        assert connection.goaway == (0, 0) and connection.ended()
    with opened(direct) as connection:
        assert connection.get("/goaway/0/once/peers").status == 200
        before = connection.request(path="/delay/300")
        assert connection.get("/last").status == 200 and connection.goaway == (5, 0)
        assert before.reply().body == b"late\n", "what was there goes on"
    with opened(direct) as connection:
        with pytest.raises(h2client.Reset) as told:
            connection.get("/cut")
        assert told.value.code is None


def test_a_window_that_stalls_and_a_slow_reader(direct):
    with opened(direct) as connection:
        stream = connection.request("POST", "/stalled", end=False)
        stream.send(b"x" * 65535)
        assert stream._room() == 0, "as much as its window holds"
        with pytest.raises(AssertionError, match="not within"):
            connection.until(lambda: stream._room() > 0, "more", 0.3)
        stream.reset()
        for _ in range(20):
            connection.request("POST", "/stalled", end=False).send(b"x" * 65535).reset()
        said = json.loads(connection.post("/digest", pattern(200000)).body)
        assert said["size"] == 200000, "what was given up holds up nobody"
    with opened(direct, window=1000) as connection:
        stream = connection.request(path="/bytes/100000")
        connection.until(lambda: stream.unread >= 1000, "a full window")
        connection.ping()
        assert stream.unread == 1000, "what was not read holds back what follows"
        assert stream.reply().body == pattern(100000)
        said = json.loads(connection.post("/slow/1/20000", pattern(200000)).body)
        assert said["size"] == 200000


def test_settings_of_the_origin_are_what_a_test_says(direct, world):
    world.origin.h2_settings = {h2_frames.MAX_CONCURRENT_STREAMS: 3, h2_frames.INITIAL_WINDOW_SIZE: 100}
    try:
        with opened(direct) as connection:
            connection.ping()
            assert connection.settings[h2_frames.MAX_CONCURRENT_STREAMS] == 3
            stream = connection.request("POST", "/stalled", end=False)
            assert stream._room() == 100
    finally:
        world.origin.h2_settings = {}


# ---- unlawful, both ways ---------------------------------------------------------------------------------


def test_the_raw_client_sends_anything_and_the_origin_has_it_on_record(direct, world):
    with client.h2_raw(direct, "h2.test", H2) as raw:
        raw.headers(1, [*raw.head(path="/echo/raw"), ("X-Upper", "a\r\nb"), ("connection", "x")])
        assert raw.verdict(1) == ("answer", 200)
        raw.frame(h2_frames.DATA, 0, 1, b"closed")
        raw.frame(h2_frames.WINDOW_UPDATE, 0, 0, bytes(4))
        assert raw.verdict(3)[0] == "goaway"
    request = world.origin.last("/echo/raw")
    assert ("X-Upper", "a\r\nb") in request.fields
    until(lambda: request.connection.failure, "the library's word")
    with client.h2_raw(direct, "h2.test", H2, begin=False) as raw:
        raw.send(b"GET / HTTP/1.1\r\n\r\n")
        assert raw.wait(h2_frames.HEADERS) is None


def test_fields_that_may_not_be_indexed_are_told_apart(direct, world):
    with client.h2_raw(direct, "h2.test", H2) as raw:
        never = b"\x10" + h2_frames.literal(b"x-secret", b"v")[1:]
        raw.frame(h2_frames.HEADERS, 5, 1, h2_frames.block(raw.head(path="/echo/never")) + never)
        assert raw.verdict(1) == ("answer", 200)
    assert world.origin.last("/echo/never").never_indexed == {"x-secret"}


@pytest.mark.parametrize("path", sorted(h2_behaviours.UNLAWFUL))
def test_the_strict_client_refuses_what_no_server_may_send(direct, path):
    with opened(direct) as connection, pytest.raises(h2.exceptions.ProtocolError):
        connection.get(f"/unlawful/{path}")


def test_an_endless_head_and_an_overrun_window_are_sent(direct):
    for path in ("/endless-head/100/8000", "/over-the-window/2000"):
        with opened(direct, window=1000) as connection, pytest.raises(h2.exceptions.ProtocolError):
            connection.get(path)


# ---- HTTP/2: ours with others' ----------------------------------------------------------------------------


def test_curl_and_nghttp_and_h2load_on_our_origin(direct, world):
    done = direct.run(["curl", "-sS", "--http2", "-w", "%{http_version}", "--data-binary", "@-", "https://h2.test/digest"],
                      input="b" * 200000)
    assert json.loads(done.stdout[:-1])["size"] == 200000 and done.stdout[-1] == "2"
    done = direct.run(["curl", "-sS", "--http2-prior-knowledge", "-w", "%{http_version}", "http://h2.test/bytes/10"])
    assert done.stdout == pattern(10).decode() + "2"
    done = direct.run(["nghttp", "-v", "https://h2.test/trailers/10"])
    assert "x-sum: end" in done.stdout
    done = direct.run(["h2load", "-n", "200", "-c", "2", "-m", "20", "https://h2.test/bytes/1000"])
    assert "200 succeeded, 0 failed" in done.stdout, done.stdout


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "prior knowledge"])
def test_our_client_on_nghttpd(direct, world, tls):
    port = 8450 + tls
    server = Nghttpd(world, port, tls)
    try:
        with open(os.path.join(server.documents, "file"), "wb") as file:
            file.write(pattern(500000))
        sock = direct.tls(H2, port, "h2.test", ("h2",)) if tls else direct.connect(H2, port)
        with h2client.Client(sock, "h2.test", scheme="https" if tls else "http") as connection:
            streams = [connection.request(path="/file") for _ in range(5)]
            assert all(stream.reply().body == pattern(500000) for stream in streams)
            assert connection.get("/none").status == 404
    finally:
        server.close()


# ---- gRPC ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "plain"])
def test_every_kind_of_call(direct, grpc, tls):
    target, options = ("grpc.test:50052", ()) if tls else ("grpc.test:50051", ("--plain",))
    asked = [
        {"method": "Unary", "messages": [{"size": 100}], "metadata": [["authorization", "Bearer token-of-this-call"]]},
        {"method": "ServerStream", "messages": [{"count": 3, "ms": 200}]},
        {"method": "ClientStream", "messages": [{"bytes": 50000}] * 20},
        {"method": "Bidi", "messages": [{"n": 1}, {"n": 2}]},
        {"method": "Fail", "messages": [{"code": 5, "details": "naïve"}]},
        {"method": "FailAfter", "messages": [{"count": 2, "code": 13}]},
        {"method": "Flaky", "messages": [{"key": f"peers-{tls}"}]},
        {"method": "Flaky", "messages": [{"key": f"peers-{tls}"}]},
        {"method": "Unary", "repeat": 20},
        {"method": "Hang", "messages": [{"who": f"peers-{tls}"}], "cancel_after": 0.3},
        {"method": "Hang", "timeout": 0.3},
    ]
    told = calls(direct, target, asked, *options)
    unary, stream, client_stream, both, failed, after, flaky, again = told[:8]
    assert unary["code"] == 0 and len(unary["messages"][0]["pad"]) == 100
    assert ["authorization", "Bearer token-of-this-call"] in unary["messages"][0]["metadata"]
    assert ["x-initial", "begin"] in unary["initial"] and ["x-raw-bin", "00ff"] in unary["trailing"]
    assert stream["messages"] == [{"number": n} for n in range(3)] and stream["at"][2] - stream["at"][0] > 0.3
    assert client_stream["messages"][0]["sha256"] == hashlib.sha256(b"m" * 1000000).hexdigest()
    assert both["messages"] == [{"n": 1}, {"n": 2}]
    assert (failed["code"], failed["details"]) == (5, "naïve") and ["x-trailing", "end"] in failed["trailing"]
    assert (after["code"], len(after["messages"])) == (13, 2)
    assert (flaky["code"], again["code"]) == (14, 0)
    assert [one["code"] for one in told[8:28]] == [0] * 20
    assert [one["code"] for one in told[28:]] == [1, 4]
    until(lambda: f'gone {{"who": "peers-{tls}"}}' in grpc.log(), "the cancellation to arrive")
    assert ["authorization", "Bearer token-of-this-call"] in grpc.calls("Unary")[0]["metadata"]
    assert "never-sent" not in grpc.log()


def test_our_client_on_the_grpc_server(direct, grpc):
    with h2client.Client(direct.tls(GRPC, 50052, "grpc.test", ("h2",)), "grpc.test") as connection:
        fields = [("content-type", "application/grpc"), ("te", "trailers")]
        reply = connection.post("/test.Peer/Unary", b"\0\0\0\0\x02{}", fields)
        assert reply.status == 200 and reply.trailers.get("grpc-status") == "0"
        reply = connection.post("/test.Peer/None", b"\0\0\0\0\x02{}", fields)
        assert reply.fields.get("grpc-status") == "12" and reply.trailers is None, "trailers only"


# ---- WebSocket -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secure", [client.wss, client.ws], ids=["wss", "ws"])
@pytest.mark.parametrize("path,deflate,back", [("/ws/echo", True, True), ("/ws/echo", False, False), ("/ws/uncompressed", True, False)],
                         ids=["deflate", "no deflate", "one way"])
def test_messages_of_every_size_come_back(direct, world, secure, path, deflate, back):
    with secure(direct, path, deflate=deflate) as ws:
        for size in (0, 1, 125, 126, 65535, 65536, 300000):
            ws.send(pattern(size), pieces=3)
            assert ws.receive() == pattern(size)
            ws.send("ü" * size)
            assert ws.receive() == "ü" * size
        assert all(bool(flags & websocket.RSV1) == back for flags, _, _ in ws.frames)
        ws.close(4321, "why")
        assert ws.receive() is None and ws.closed == (4321, "why")
    there = world.origin.last(path).websocket
    assert all(bool(flags & websocket.RSV1) == deflate for flags, opcode, _ in there.frames if opcode in (1, 2))


def test_the_other_behaviours_of_the_websocket_origin(direct, world):
    with client.wss(direct, "/ws/push", first=websocket.frame(websocket.TEXT, b"early", mask=b"abcd")) as ws:
        assert (ws.receive(), ws.receive()) == ("pushed", "early")
    with client.wss(direct, "/ws/close/4000") as ws:
        ws.send("x")
        assert ws.receive() is None and ws.closed == (4000, "as the path says")
    with client.wss(direct, "/ws/ping") as ws:
        ws.send("m")
        assert ws.receive() == "m 10 are you there"
    with client.wss(direct, "/ws/selects") as ws:
        assert ws.fields["sec-websocket-extensions"] == websocket.DEFLATE
    with client.wss(direct, "/ws/protocol", fields=[("Sec-WebSocket-Protocol", "a, b")]) as ws:
        assert ws.fields["sec-websocket-protocol"] == "b"
    with pytest.raises(wsclient.Refused) as told:
        client.wss(direct, "/ws/refuses")
    assert told.value.reply.status == 403
    with client.wss(direct, "/ws/vanishes") as ws, pytest.raises((ConnectionError, ssl.SSLError)):
        ws.send("x")
        ws.receive()


@pytest.mark.parametrize("kind,code", [("unmasked", 1002), ("rsv2", 1002), ("long ping", 1002), ("corrupt", 1007), ("not utf-8", 1007)])
def test_the_websocket_origin_tells_what_is_broken(direct, kind, code):
    with client.wss(direct, deflate=True) as ws:
        ws.compress = False
        ws.send("not compressed")
        assert ws.receive() == "not compressed"
        if kind == "unmasked":
            ws.frame(websocket.TEXT, b"x", mask=None)
        elif kind == "rsv2":
            ws.frame(websocket.TEXT, b"x", websocket.FIN | websocket.RSV2)
        elif kind == "long ping":
            ws.frame(websocket.PING, b"p" * 126)
        elif kind == "corrupt":
            ws.frame(websocket.TEXT, b"\x04", websocket.FIN | websocket.RSV1)
        else:
            ws.frame(websocket.TEXT, b"\xff")
        assert ws.receive() is None and ws.closed[0] == code


def test_another_upgrade_is_raw_afterwards(direct):
    with client.https(direct) as connection:
        connection.send("GET /upgrade HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n\0raw")
        reply = connection.reply()
        assert reply.status == 101 and reply.fields["upgrade"] == "SPDY/3.1"
        assert connection.exactly(4) == b"\0raw"


@pytest.mark.parametrize("compression", ["deflate", "none"])
def test_the_websockets_library_on_our_origin(direct, compression):
    done = direct.run([PYTHON, "-I", "-c", WEBSOCKETS, "wss://api.test/ws/echo", compression])
    assert done.stdout.strip() == ("['permessage-deflate']" if compression == "deflate" else "[]")
