# SPDX-License-Identifier: Apache-2.0
"""WebSocket and other upgrades (their ends: test_websocket_ends.py): what is asked for is judged as a request; from the 101 on both directions are bytes.

What the origin's WebSocket got is its frames as they came (origin/websocket.py); the clients' side is wsclient.py. WS-09
is about a proxy that looks into messages, which this one does not: what is broken reaches the end that can tell.
"""
import os
import socket
import threading
import time

import pytest

import client
import documents
import wsclient
from origin import websocket
from origin.behaviours import pattern
from origin.websocket import BINARY, PING, PONG, TEXT
from waiting import until

WAYS = {"wss": client.wss, "ws": client.ws}
RAW = {"wss": client.https, "ws": client.plain}
ways = pytest.mark.parametrize("way", WAYS)
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
ASKS = f"Connection: Upgrade\r\nUpgrade: websocket\r\n{KEY}"
BOTH = ("both.test", "203.0.113.71")


def text(payload, **options):
    return websocket.frame(TEXT, payload, mask=b"abcd", **options)


def upgrade(connection, path, protocol, extra="", first=b"", host="api.test"):
    """Asks for any protocol; the answer."""
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n{extra}\r\n"
    connection.send(head.encode() + first)
    return connection.reply()


def switched(exchange, protocol="raw/1", first=b""):
    exchange.close = True
    exchange.send(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: {protocol}\r\nConnection: Upgrade\r\n\r\n".encode() + first)


# ---- WS-01: frames flow ----------------------------------------------------------------------------------


@ways
def test_WS_01_messages_flow_and_what_comes_with_the_heads_is_the_protocols(sandbox, origin, way):
    path = f"/ws/push/WS-01-{way}"
    with WAYS[way](sandbox, path, first=text(b"with the request")) as ws:
        assert ws.receive() == "pushed", "it came in the segment of the 101"
        assert ws.receive() == "with the request"
        for size in (0, 1, 125, 126, 65535, 65536, 300000):
            ws.send(pattern(size), pieces=3)
            assert ws.receive() == pattern(size)
        ws.send("hello, wörld")
        assert ws.receive() == "hello, wörld"
        ws.send_frame(PING, b"still there")
        assert ws.receive_frame() == (websocket.FIN, PONG, b"still there")
    there = origin.last(path)
    assert there.websocket.frames[0] == (websocket.FIN, TEXT, b"with the request")
    assert (there.value("upgrade"), there.value("sec-websocket-version")) == ("websocket", "13")
    assert there.value("connection").lower() == "upgrade"


@ways
def test_WS_01_a_ping_of_the_server_reaches_the_client(sandbox, way):
    with WAYS[way](sandbox, "/ws/ping") as ws:
        ws.send("message")
        assert ws.receive() == f"message {PONG} are you there"


@ways
@pytest.mark.parametrize("code", [1000, 1001, 1011, 3000, 4999])
def test_WS_01_close_codes_are_kept_either_way(sandbox, origin, way, code):
    with WAYS[way](sandbox, f"/ws/close/{code}") as ws:
        ws.send("close, please")
        assert ws.receive() is None and ws.closed == (code, "as the path says")
        ws.close(code)
        assert ws.connection.ended(), "and the connection ends behind it"
    path = f"/ws/echo/{way}-{code}"
    with WAYS[way](sandbox, path) as ws:
        ws.close(code, "the client's")
        assert ws.receive() is None and ws.closed == (code, "the client's")
    assert origin.last(path).websocket.closed == (code, "the client's")


def test_WS_01_frames_before_the_101_are_not_taken_for_requests(sandbox, origin):
    """Bytes behind the head wait for the answer: a slow 101 makes them no HTTP."""
    gate = threading.Event()

    def slow(exchange):
        assert gate.wait(10)
        websocket.push(exchange)

    origin.on("/ws/slow", slow)
    connection = client.https(sandbox)
    first = text(b"GET /ws/none HTTP/1.1\r\nHost: denied.test\r\n\r\n")
    threading.Timer(0.3, gate.set).start()
    with wsclient.Client(connection, "/ws/slow", first=first) as ws:
        assert ws.receive() == "pushed" and ws.receive().startswith("GET /ws/none")


def test_WS_01_many_at_once_do_not_mix(sandbox):
    sockets = [WAYS["wss" if number % 2 else "ws"](sandbox) for number in range(24)]
    for turn in range(3):
        for number, ws in enumerate(sockets):
            ws.send(f"{turn} of {number} " + "x" * 3000)
    for number, ws in enumerate(sockets):
        with ws:
            assert [ws.receive().split(" x")[0] for _ in range(3)] == [f"{turn} of {number}" for turn in range(3)]


MUCH = 64  # MiB: more than the kernel takes on the way, of which a receive buffer may be 32


def test_WS_01_a_slow_reader_holds_the_server_up_and_loses_nothing(sandbox, origin, stack):
    sent = []

    def much(exchange):
        switched(exchange)
        block = pattern(1 << 20)
        for _ in range(MUCH):
            exchange.send(block)
            sent.append(len(block))

    origin.on("/much", much)
    before = stack.resident()
    with client.plain(sandbox) as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        assert upgrade(connection, "/much", "raw/1").status == 101
        until(lambda: len(sent) >= 1, "the first of it")
        threading.Event().wait(0.5)  # time for all of it, had nobody stopped it
        assert len(sent) < MUCH, "the back-pressure reaches the origin"
        assert stack.sanitized() or stack.resident() - before < 4 << 20
        assert connection.exactly(MUCH << 20) == pattern(1 << 20) * MUCH
        assert connection.ended()


IDLE = 130 if os.environ.get("SALLYPORT_SOAK") else 1  # seconds; over every deadline that a request or a connection has


def test_WS_01_idle_and_then_as_before(sandbox, origin):
    """Longer than the time that a response, a request body or a kept connection has, without a byte either way."""

    def patient(exchange):
        exchange.sock.settimeout(None)
        websocket.echo(exchange)

    origin.on("/ws/patient", patient)
    with client.wss(sandbox, "/ws/patient") as talks, client.ws(sandbox, "/ws/patient") as quiet:
        talks.send("begun")
        assert talks.receive() == "begun"
        time.sleep(IDLE)  # what the case is about
        for ws in (talks, quiet):
            ws.send("after a long while")
            assert ws.receive() == "after a long while"
            ws.close(4000)
            assert ws.receive() is None and ws.closed[0] == 4000


# ---- WS-03 -----------------------------------------------------------------------------------------------


def test_WS_03_an_upgrades_upstream_connection_offers_http_1_1_only(sandbox, origin):
    """That origin prefers h2, and has WebSocket on HTTP/1.1 only."""
    with client.https(sandbox, *BOTH) as connection:
        assert connection.get("/echo/WS-03", host=BOTH[0]).status == 200
        assert origin.last("/echo/WS-03").version == "HTTP/2", "the control: without an Upgrade h2 is chosen"
        with wsclient.Client(connection, "/ws/echo/WS-03", BOTH[0]) as ws:  # on the same client connection
            ws.send("over")
            assert ws.receive() == "over"
    there = origin.last("/ws/echo/WS-03")
    assert there.version == "HTTP/1.1" and there.connection.alpn == "http/1.1" and there.connection.sni == BOTH[0]


def test_WS_03_an_origin_of_h2_alone_is_told_as_such(sandbox):
    with pytest.raises(wsclient.Refused) as told:
        client.wss(sandbox, host="h2.test", address="203.0.113.70")
    assert told.value.reply.status == 502 and told.value.reply.refusal.startswith("upstream-")


# ---- WS-04: other protocols ------------------------------------------------------------------------------

VERSIONS = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"]
LINES = "".join(f"X-Stream-Protocol-Version: {version}\r\n" for version in VERSIONS)


@ways
def test_WS_04_SPDY_is_relayed_raw_and_repeated_fields_keep_their_order(sandbox, origin, way):
    path = f"/upgrade/spdy-{way}"

    def api_server(exchange):
        exchange.close = True
        chosen = exchange.request.values("x-stream-protocol-version")[0]
        exchange.send(f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
                      f"X-Stream-Protocol-Version: {chosen}\r\n\r\n".encode() + b"\x80\x03first")
        while data := exchange.reader.some():
            exchange.send(data)

    origin.on(path, api_server)
    with RAW[way](sandbox) as connection:
        reply = upgrade(connection, path, "SPDY/3.1", LINES, first=b"\x80\x03\0\x01early")
        assert reply.status == 101 and reply.fields["upgrade"] == "SPDY/3.1"
        assert reply.fields["x-stream-protocol-version"] == VERSIONS[0]
        assert connection.exactly(7) == b"\x80\x03first"
        assert connection.exactly(9) == b"\x80\x03\0\x01early"
        every = bytes(range(256)) * 4000 + b"GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n"
        for at in range(0, len(every), 1 << 16):  # a TLS socket of python's bears one thread
            connection.send(every[at : at + (1 << 16)])
            assert connection.exactly(len(every[at : at + (1 << 16)])) == every[at : at + (1 << 16)]
    seen = origin.last(path)
    assert seen.values("x-stream-protocol-version") == VERSIONS and seen.value("upgrade") == "SPDY/3.1"


def bearer(sandbox):
    return f"Authorization: Bearer {sandbox.placeholder('API_TOKEN')}\r\n"


def test_WS_04_SPDY_may_not_carry_a_credential(sandbox, origin, stack):
    since = stack.audit_mark()
    with client.https(sandbox) as connection:
        reply = upgrade(connection, "/upgrade/spdy-secret", "SPDY/3.1", bearer(sandbox) + LINES)
        assert (reply.status, reply.refusal) == (403, "protocol-denied")
        assert reply.error["credential"] == "API_TOKEN" and reply.error["host"] == "api.test"
        assert "may not carry a credential" in reply.error["message"] and "upgrades" in reply.error["message"]
    assert not origin.requests("/upgrade/spdy-secret")
    assert documents.API_SECRET not in str(stack.wait_audit(since, kind="request", category="protocol-denied"))
    for protocols in ("websocket, SPDY/3.1", "SPDY/3.1, websocket"):
        with client.https(sandbox) as connection:
            assert upgrade(connection, "/upgrade/spdy-secret", protocols, bearer(sandbox)).refusal == "protocol-denied"
    assert not origin.requests("/upgrade/spdy-secret")
    with client.https(sandbox) as connection:  # the control: a value that is no placeholder is nothing of ours
        assert upgrade(connection, "/upgrade/spdy-token", "SPDY/3.1", "Authorization: Bearer other\r\n").status == 101


# ---- WS-06: the forms of Connection ----------------------------------------------------------------------

FORMS = {
    "a list": ["Connection: keep-alive, Upgrade", "Upgrade: websocket"],
    "lower case": ["connection: upgrade", "upgrade: websocket"],
    "upper case": ["CONNECTION: UPGRADE", "UPGRADE: WEBSOCKET"],
    "two lines": ["Connection: keep-alive", "Upgrade: websocket", "Connection: Upgrade"],
    "empty members": ["Connection: , upgrade ,,", "Upgrade: websocket"],
    "one of several": ["Connection: Upgrade", "Upgrade: h2c, websocket"],
    "several lines": ["Upgrade: TLS/1.0", "Connection: upgrade", "Upgrade: websocket"],
    "names others": ["Connection: X-Hop, Upgrade, X-Two", "Upgrade: websocket", "X-Hop: secret", "x-two: secret"],
    "close too": ["Connection: close, upgrade", "Upgrade: websocket"],
}


@ways
@pytest.mark.parametrize("form", FORMS)
def test_WS_06_the_upgrade_is_recognised_in_every_form(sandbox, origin, way, form):
    path = f"/ws/echo/form-{way}-{form.replace(' ', '-')}"
    fields = [("Keep-Alive", "timeout=5"), ("Proxy-Connection", "keep-alive"), ("X-End", "to end"), ("X-End", "twice")]
    with WAYS[way](sandbox, path, upgrade=FORMS[form], fields=fields) as ws:
        ws.send(form)
        assert ws.receive() == form
        assert ws.fields.get("upgrade").lower() == "websocket" and "upgrade" in ws.fields.get("connection").lower()
    seen = origin.last(path)
    names = [name.lower() for name, _ in seen.fields]
    assert not {"x-hop", "x-two", "keep-alive", "proxy-connection"} & set(names), names
    assert seen.values("x-end") == ["to end", "twice"]
    assert [value.lower() for value in seen.values("upgrade")] == ["websocket"]
    assert seen.value("connection").lower() == "upgrade", "nothing that the client named for its own hop"


NOT_ASKED = {
    "no Connection": ["Upgrade: websocket"],
    "Connection of others": ["Connection: keep-alive, upgraded", "Upgrade: websocket"],
    "no Upgrade": ["Connection: Upgrade"],
    "no token": ["Connection: Upgrade", "Upgrade: web socket"],
    "quoted": ["Connection: Upgrade", 'Upgrade: "websocket"'],
    "h2c": ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"],
    "H2C": ["Connection: Upgrade", "Upgrade: H2C"],
    "TLS": ["Connection: Upgrade", "Upgrade: TLS/1.0"],
    "tls": ["Connection: Upgrade", "Upgrade: h2c, tls/1.3"],
}


@ways
@pytest.mark.parametrize("form", NOT_ASKED)
def test_WS_06_what_asks_for_nothing_that_may_pass_is_a_request_like_any_other(sandbox, origin, way, form):
    path = f"/ws/echo/not-{way}-{form.replace(' ', '-')}"
    with RAW[way](sandbox) as connection:
        lines = "".join(f"{line}\r\n" for line in NOT_ASKED[form])
        reply = connection.get(path, extra=lines + KEY)
        assert reply.status == 426 and not reply.refusal, "the origin's own answer"
        assert connection.get().status == 200, "the connection goes on"
    seen = origin.last(path)
    assert not {"upgrade", "http2-settings"} & {name.lower() for name, _ in seen.fields}
    assert "upgrade" not in (seen.value("connection") or "").lower()


@ways
@pytest.mark.parametrize("version,method,extra,body", [
    ("1.1", "POST", "Content-Length: 5\r\n", b"hello"),
    ("1.1", "POST", "Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    ("1.1", "GET", "Content-Length: 5\r\n", b"hello"),
    ("1.0", "GET", "", b""),
], ids=["POST with a length", "POST in chunks", "GET with a body", "HTTP/1.0"])
def test_an_upgrade_with_a_body_or_of_HTTP_1_0_is_not_one(sandbox, origin, way, version, method, extra, body):
    path = f"/echo/body-{way}-{version}-{method}-{len(extra)}"
    with RAW[way](sandbox) as connection:
        connection.send(f"{method} {path} HTTP/{version}\r\nHost: api.test\r\n{ASKS}{extra}\r\n".encode() + body)
        assert connection.reply(method).status == 200
    seen = origin.last(path)
    assert not seen.values("upgrade") and "upgrade" not in (seen.value("connection") or "").lower()
    assert seen.body == (b"hello" if body else b"") and seen.version == "HTTP/1.1"


# ---- WS-07, WS-09, WS-10: what passes unread -------------------------------------------------------------


@ways
@pytest.mark.parametrize("path,back", [("/ws/echo", True), ("/ws/uncompressed", False)], ids=["both", "the client alone"])
def test_WS_07_compressed_messages_are_as_they_were_sent(sandbox, origin, way, path, back):
    path = f"{path}/WS-07-{way}"
    with WAYS[way](sandbox, path, deflate=True) as ws:
        assert ws.deflate and ws.fields.get("sec-websocket-extensions") == websocket.DEFLATE
        messages = [f"message {number} " * (1 + number * 37 % 900) for number in range(50)]
        for message in messages[:25]:  # one by one, then all at once: contexts live through both
            ws.send(message)
            assert ws.receive() == message
        for message in messages[25:]:
            ws.send(message, pieces=2)
        assert [ws.receive() for _ in messages[25:]] == messages[25:]
        assert [bool(flags & websocket.RSV1) for flags, _, _ in ws.frames] == [back] * 50
    there = origin.last(path)
    assert there.value("sec-websocket-extensions") == wsclient.OFFER, "nothing was added or taken"
    heads = [frame for frame in there.websocket.frames if frame[1] in (TEXT, BINARY)]
    assert len(heads) == 50 and all(flags & websocket.RSV1 for flags, _, _ in heads)
    assert len(there.websocket.frames) == 75, "in as many frames as were sent"


@pytest.mark.parametrize("kind,code", [("unmasked", 1002), ("rsv2", 1002), ("long ping", 1002), ("corrupt", 1007)])
def test_WS_09_what_is_broken_reaches_the_end_that_says_so(sandbox, kind, code):
    with client.wss(sandbox, deflate=True) as ws:
        ws.compress = False
        ws.send("not compressed")
        ws.compress = True
        ws.send("compressed")
        assert (ws.receive(), ws.receive()) == ("not compressed", "compressed")
        ws.frame(*{
            "unmasked": (TEXT, b"x", websocket.FIN, None),
            "rsv2": (TEXT, b"x", websocket.FIN | websocket.RSV2),
            "long ping": (PING, b"p" * 126),
            "corrupt": (TEXT, b"\x04", websocket.FIN | websocket.RSV1),
        }[kind])
        assert ws.receive() is None and ws.closed[0] == code


@ways
def test_WS_10_an_extension_that_nobody_offered_is_passed_on(sandbox, origin, way):
    with WAYS[way](sandbox, "/ws/selects") as ws:
        assert ws.fields.get("sec-websocket-extensions") == websocket.DEFLATE
    assert not origin.last("/ws/selects").values("sec-websocket-extensions"), "nothing was offered for the client"
    with WAYS[way](sandbox, "/ws/protocol", fields=[("Sec-WebSocket-Protocol", "a, b"), ("Sec-WebSocket-Protocol", "c")]) as ws:
        assert ws.fields.get("sec-websocket-protocol") == "c"
    assert origin.last("/ws/protocol").values("sec-websocket-protocol") == ["a, b", "c"]


# ---- refusals --------------------------------------------------------------------------------------------


@ways
@pytest.mark.parametrize("status", [200, 401, 404, 503])
def test_an_upgrade_that_the_upstream_refuses_is_a_response_and_the_connection_goes_on(sandbox, origin, way, status):
    path = f"/status/{status}/ws-{way}"
    with RAW[way](sandbox) as connection:
        reply = connection.get(path, extra=ASKS)
        assert (reply.status, reply.body, reply.refusal) == (status, f"status {status}\n".encode(), None)
        assert connection.get("/bytes/100").body == pattern(100)
        with wsclient.Client(connection, "/ws/echo") as ws:  # and may still become a WebSocket
            ws.send("now")
            assert ws.receive() == "now"
    assert origin.last(path).value("upgrade") == "websocket"


def test_bytes_behind_a_refused_upgrade_are_judged_as_requests(sandbox, origin):
    """The client took the 101 for granted; what it sent must not pass unseen."""
    with client.https(sandbox) as connection:
        smuggled = b"GET /behind-the-upgrade HTTP/1.1\r\nHost: bank.test\r\n\r\n"
        connection.send(f"GET /status/401 HTTP/1.1\r\nHost: api.test\r\n{ASKS}\r\n".encode() + smuggled)
        assert connection.reply().status == 401
        assert connection.reply().refusal == "host-mismatch"
    with client.https(sandbox) as connection:
        connection.send(f"GET /status/401 HTTP/1.1\r\nHost: api.test\r\n{ASKS}\r\n".encode() + text(b"frame"))
        assert connection.reply().status == 401
        assert connection.reply().refusal == "bad-request"
    assert not origin.requests("/behind-the-upgrade")


WRONG = {
    "not asked": ("", "raw/1"),
    "h2c": (ASKS, "h2c"),
    "another": (ASKS, "raw/1"),
    "a part of the name": (ASKS, "web"),
    "one and another": (ASKS, "websocket, raw/1"),
    "two of those offered": (ASKS.replace("websocket", "websocket, raw/1"), "websocket, raw/1"),
    "none": (ASKS, None),
    "nothing": (ASKS, ""),
    "h2c that was asked for": (ASKS.replace("websocket", "h2c"), "h2c"),
}


@ways
@pytest.mark.parametrize("kind", WRONG)
def test_a_101_that_was_not_asked_for_is_a_502(sandbox, origin, way, kind):
    asks, protocol = WRONG[kind]

    def takes(exchange):
        exchange.close = True
        line = "" if protocol is None else f"Upgrade: {protocol}\r\n"
        exchange.send(f"HTTP/1.1 101 Switching Protocols\r\n{line}Connection: Upgrade\r\n\r\n".encode()
                      + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")

    path = f"/wrong/{way}-{kind.replace(' ', '-')}"
    origin.on(path, takes)
    with RAW[way](sandbox) as connection:
        reply = connection.get(path, extra=asks)
        assert (reply.status, reply.refusal) == (502, "upstream-connect")
        assert "switched" in reply.error["message"]
    with RAW[way](sandbox) as connection:
        assert b"poison" not in connection.get("/bytes/10").body


def test_a_101_to_a_client_of_HTTP_2_is_a_502(sandbox, origin):
    origin.on("/wrong/h2", lambda exchange: switched(exchange, first=b"poison"))
    with client.h2(sandbox) as connection:
        assert connection.get("/wrong/h2").status == 502
        assert connection.get("/").status == 200, "the other streams go on"


def test_a_101_that_names_what_was_offered_in_other_letters_is_taken(sandbox, origin):
    origin.on("/ws/letters", lambda exchange: switched(exchange, "WebSocket", b"raw"))
    with client.https(sandbox) as connection:
        reply = upgrade(connection, "/ws/letters", "websocket")
        assert reply.status == 101 and connection.exactly(3) == b"raw"


@ways
def test_a_WebSocket_to_a_denied_host_is_refused_in_words(sandbox, origin, watch, way):
    with pytest.raises(wsclient.Refused) as told:
        WAYS[way](sandbox, host="denied.test", address="203.0.113.30")
    reply = told.value.reply
    assert (reply.status, reply.refusal) == (403, "host-denied")
    assert (reply.error["host"], reply.error["rule"]) == ("denied.test", "never")
    watch.nothing("a WebSocket to a denied host")


def test_a_WebSocket_is_a_GET_for_the_rules(attach, origin):
    box = attach("version: 1\nname: posts\ndefault: deny\nrules:\n"
                 "  - {name: sockets, hosts: [api.test], methods: [GET], paths: [/ws/echo], action: allow}\n"
                 "  - {name: posts, hosts: [other.test], methods: [POST], action: allow}\n")
    with client.wss(box) as ws:
        ws.send("allowed")
        assert ws.receive() == "allowed"
    with pytest.raises(wsclient.Refused) as told:
        client.wss(box, "/ws/push/denied-path")
    assert told.value.reply.status == 403 and not origin.requests("/ws/push/denied-path")
    with pytest.raises(wsclient.Refused) as told:
        client.wss(box, "/ws/denied-method", "other.test", "203.0.113.14")
    assert told.value.reply.refusal == "method-denied" and not origin.requests("/ws/denied-method")


# ---- credentials and the record --------------------------------------------------------------------------


def test_CRD_a_WebSocket_with_a_credential_shows_the_real_value(sandbox, origin, stack):
    since = stack.audit_mark()
    path = "/ws/echo/bearer"
    placeholder = sandbox.placeholder("API_TOKEN")
    with client.wss(sandbox, path, fields=[("Authorization", f"Bearer {placeholder}"), ("X-Copy", placeholder)]) as ws:
        ws.send(f"a message is content: {placeholder}")
        assert ws.receive() == f"a message is content: {placeholder}"
        ws.close()
        assert ws.receive() is None
    seen = origin.last(path)
    assert seen.value("authorization") == f"Bearer {documents.API_SECRET}"
    assert seen.value("x-copy") == placeholder, "the control: another place is left alone"
    assert seen.websocket.frames[0][2] == f"a message is content: {placeholder}".encode()
    (event,) = stack.wait_audit(since, kind="request", sandbox=sandbox.id, path=path)
    assert event["status"] == 101 and "API_TOKEN" in str(event) and documents.API_SECRET not in str(event)


def test_a_credential_goes_out_over_TLS_only_for_WebSockets_too(sandbox, origin):
    placeholder = sandbox.placeholder("API_TOKEN")
    with client.ws(sandbox, "/ws/echo/plain-bearer", fields=[("Authorization", f"Bearer {placeholder}")]) as ws:
        ws.send("x")
        assert ws.receive() == "x"
    assert origin.last("/ws/echo/plain-bearer").value("authorization") == f"Bearer {placeholder}"


@ways
def test_the_record_of_a_WebSocket_counts_what_went_through(sandbox, stack, way):
    since, path = stack.audit_mark(), f"/ws/echo/record-{way}"
    with WAYS[way](sandbox, path) as ws:
        ws.send(pattern(100_000))
        assert ws.receive() == pattern(100_000)
        ws.close(1000)
        assert ws.receive() is None
    (event,) = stack.wait_audit(since, kind="request", sandbox=sandbox.id, path=path)
    assert (event["method"], event["status"], event["host"]) == ("GET", 101, "api.test")
    assert event["bytes_up"] > 100_000 and event["bytes_down"] > 100_000, event
