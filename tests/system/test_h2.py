# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 on both sides: each negotiates for itself, and the four bridges carry the same messages.

Origins: h2.test speaks HTTP/2 alone, api.test HTTP/1.1 alone. What was on the origin's side is read from its record.
"""
import hashlib
import json
import time

import pytest

import client
import documents
import h2client
from origin import h2_frames
from origin.behaviours import pattern
from waiting import PATIENCE, until

H2, H1 = ("h2.test", "203.0.113.70"), ("api.test", "203.0.113.10")
BRIDGES = [(front, back) for front in ("h1", "h2") for back in ("h1", "h2")]
VERSIONS = {"h1": "HTTP/1.1", "h2": "HTTP/2"}
bridges = pytest.mark.parametrize("front,back", BRIDGES, ids=[f"{front} to {back}" for front, back in BRIDGES])

SECRET = "real-h2-5d20f7c19ae84b63-value"
CREDENTIALS = f"""\
credentials:
  - name: H2_TOKEN
    source: {{value: "{SECRET}"}}
    env: H2_TOKEN
    swap:
      - {{hosts: [h2.test, api.test], in: [bearer]}}
"""


class Front:
    """One interface to both clients, for what is the same over every bridge."""

    def __init__(self, sandbox, front, back):
        self.host, address = {"h2": H2, "h1": H1}[back]
        self.version = front
        self.connection = (client.h2 if front == "h2" else client.https)(sandbox, self.host, address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def get(self, path, fields=(), method="GET"):
        if self.version == "h2":
            return self.connection.request(method, path, fields).reply()
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        return self.connection.exchange(f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\n{lines}\r\n", method)

    def post(self, path, body, fields=()):
        if self.version == "h2":
            return self.connection.post(path, body, [("content-length", str(len(body))), *fields])
        lines = "".join(f"{name}: {value}\r\n" for name, value in [("Content-Length", len(body)), *fields])
        self.connection.send(f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\n{lines}\r\n")
        return self.connection.exchange(body)


def reset_of(connection, path, **options):
    """The code of the reset that the request for a path ends with."""
    with pytest.raises(h2client.Reset) as told:
        connection.request(path=path, **options).reply()
    return told.value.code


def quiet(origin, path):
    """No request for that path has arrived."""
    return not origin.requests(path)


# ---- negotiation and bridges -----------------------------------------------------------------------------


@pytest.mark.parametrize("offered,chosen", [(("h2", "http/1.1"), "h2"), (("h2",), "h2"), (("http/1.1",), "http/1.1"), ((), None)],
                         ids=["both", "h2 alone", "h1 alone", "none"])
@pytest.mark.parametrize("host", [H2, H1], ids=["h2 upstream", "h1 upstream"])
def test_a_client_is_served_what_it_offers_whatever_the_upstream_speaks(sandbox, host, offered, chosen):
    sock = sandbox.tls(host[1], name=host[0], alpn=offered)
    assert sock.selected_alpn_protocol() == chosen
    if chosen == "h2":
        with h2client.Client(sock, host[0]) as connection:
            assert connection.get("/").body.startswith(b"hello from ")
    else:
        with client.Client(sock) as connection:
            assert connection.get("/", host=host[0]).body.startswith(b"hello from ")


@bridges
def test_heads_and_bodies_over_every_bridge(sandbox, origin, front, back):
    with Front(sandbox, front, back) as peer:
        path = f"/echo/{front}{back}"
        said = json.loads(peer.get(path, [("x-two", "1"), ("x-two", "2")]).body)
        assert said["version"] == VERSIONS[back] and said["sni"] == peer.host
        seen = origin.last(path)
        assert seen.values("x-two") == ["1", "2"] and seen.value("host") == peer.host
        for size in (0, 1, 65536, 2 << 20):
            reply = peer.get(f"/bytes/{size}")
            assert reply.body == pattern(size) and reply.fields.get("content-length") == str(size)
            said = json.loads(peer.post("/digest", pattern(size)).body)
            assert (said["size"], said["sha256"]) == (size, hashlib.sha256(pattern(size)).hexdigest())
        assert peer.get("/nolength/70000").body == pattern(70000)
        assert peer.get("/bytes/9", method="HEAD").body == b""
        assert peer.get("/status/204").status == 204
        assert peer.get("/status/404").status == 404


@pytest.mark.parametrize("back", ["h1", "h2"])
def test_H1_13_an_event_stream_is_not_held_up(sandbox, back):
    with Front(sandbox, "h2", back) as peer:
        stream = peer.connection.request(path="/events/3/400")
        at = []
        for number in range(3):
            assert stream.read(9) == b"data: %d\n\n" % number
            at.append(time.monotonic())
        assert at[1] - at[0] > 0.2 and at[2] - at[1] > 0.2, "each came when it was sent"


@pytest.mark.parametrize("back", ["h1", "h2"])
def test_interim_heads_reach_an_h2_client(sandbox, back):
    with Front(sandbox, "h2", back) as peer:
        reply = peer.get("/hints/2")
        assert [status for status, _ in reply.interim] == [103, 103] and reply.status == 200
        reply = peer.connection.post("/digest", b"asked first", [("expect", "100-continue")])
        assert reply.status == 200 and all(status == 100 for status, _ in reply.interim)


@pytest.mark.parametrize("back", ["h1", "h2"])
def test_many_streams_of_one_connection_do_not_mix(sandbox, back):
    with Front(sandbox, "h2", back) as peer:
        streams = [peer.connection.request(path=f"/bytes/{number * 1700}") for number in range(90)]
        for number, stream in enumerate(streams):
            assert stream.reply().body == pattern(number * 1700)


def test_more_requests_than_one_upstream_takes_wait_for_it(sandbox):
    """Of several connections, at once, while there is none to the upstream."""
    connections = [client.h2(sandbox, *H2) for _ in range(6)]
    try:
        streams = [connection.request(path="/echo/many-wait") for _ in range(60) for connection in connections]
        assert [stream.reply().status for stream in streams] == [200] * 360
    finally:
        for connection in connections:
            connection.close()


def test_a_slow_reader_of_one_stream_does_not_stall_the_others(sandbox):
    with client.h2(sandbox, *H2) as connection:
        slow = connection.request(path="/bytes/5000000")
        slow.head()
        for _ in range(5):
            assert connection.get("/bytes/100000").body == pattern(100000)
        assert slow.unread <= 65535
        assert slow.reply().body == pattern(5000000)


# ---- policy and credentials ------------------------------------------------------------------------------


def test_a_refusal_is_an_answer_on_its_stream_and_the_others_go_on(sandbox, origin):
    with client.h2(sandbox, "readonly.test", "203.0.113.17") as connection:
        reply = connection.post("/refused-h2", b"body")
        assert (reply.status, reply.refusal) == (403, "method-denied")
        assert reply.error["host"] == "readonly.test"
        assert quiet(origin, "/refused-h2")
        assert connection.get("/").status == 200


def test_another_authority_than_the_name_is_421(sandbox, origin):
    with client.h2(sandbox, *H2) as connection:
        reply = connection.get("/elsewhere", authority="api.test")
        assert (reply.status, reply.refusal) == (421, "host-mismatch")
        assert quiet(origin, "/elsewhere")
        assert connection.get("/").status == 200


@pytest.mark.parametrize("back", ["h1", "h2"])
def test_CRD_04_a_credential_is_swapped_on_h2_and_no_table_keeps_it(attach, another_stack, world, origin, back):
    document = documents.readable_by_daemon(world.write("h2.credentials.yaml", CREDENTIALS, 0o600))
    box = attach(on=another_stack(f"h2-{back}", credentials=[("h2-*", document)]), prefix="h2")
    fields = [("authorization", f"Bearer {box.placeholder('H2_TOKEN')}")]
    with Front(box, "h2", back) as peer:
        for method in ("GET", "HEAD", "DELETE", "PATCH"):
            path = f"/echo/swap-{back}-{method}"
            assert peer.get(path, fields, method).status == 200
            assert origin.last(path).value("authorization") == f"Bearer {SECRET}"
        assert peer.post(path := f"/echo/swap-{back}", b"body", fields).status == 200
    seen = origin.last(path)
    assert seen.value("authorization") == f"Bearer {SECRET}" and seen.body == b"body"
    assert back == "h1" or "authorization" in seen.never_indexed


# ---- H2: trailers, and gRPC's shapes (calls: test_grpc.py) ------------------------------------------------


@pytest.mark.parametrize("back", ["h1", "h2"])
def test_H2_01_trailers_arrive_both_ways(sandbox, origin, back):
    with Front(sandbox, "h2", back) as peer:
        reply = peer.get("/trailers/100000", [("te", "trailers")])
        assert reply.body == pattern(100000)
        assert reply.trailers == [("x-sum", "end"), ("x-raw-bin", "AP8")]
        path = f"/digest/trailers-{back}"
        stream = peer.connection.request("POST", path, end=False).send(b"abc").end([("x-checksum", "9")])
        assert stream.reply().status == 200
        assert [(n.lower(), v) for n, v in origin.last(path).trailers] == [("x-checksum", "9")]


def test_H2_03_an_answer_of_trailers_alone_or_without_data(sandbox):
    with client.h2(sandbox, *H2) as connection:
        reply = connection.get("/trailers-only/5")
        assert reply.status == 200 and reply.fields.get("grpc-status") == "5" and not reply.body and reply.trailers is None
        reply = connection.get("/no-data/5")
        assert reply.status == 200 and reply.trailers.get("grpc-status") == "5" and not reply.body
        assert connection.get("/").status == 200


# ---- H2: fields, ends, resets ----------------------------------------------------------------------------


@pytest.mark.parametrize("back", ["h1", "h2"])
def test_H2_04_crumbs_of_a_cookie_are_one_line_for_http_1(sandbox, origin, back):
    with Front(sandbox, "h2", back) as peer:
        path = f"/echo/cookies-{back}"
        peer.get(path, [("cookie", "a=1"), ("x-many", "1"), ("cookie", "b=2"), ("cookie", "c=3"), ("x-many", "2")])
    seen = origin.last(path)
    assert "; ".join(seen.values("cookie")) == "a=1; b=2; c=3" and (back == "h2" or len(seen.values("cookie")) == 1)
    assert seen.values("x-many") == ["1", "2"]


def test_H2_06_an_answer_before_the_body_and_no_error_is_a_success(sandbox):
    with client.h2(sandbox, *H2) as connection:
        stream = connection.request("POST", "/early/1000", end=False)
        try:
            stream.send(pattern(1 << 20), end=True)
        except h2client.Reset as stopped:
            assert stopped.code == h2_frames.NO_ERROR
        reply = stream.reply()
        assert reply.status == 200 and reply.body == pattern(1000)
        assert connection.get("/").status == 200


def test_H2_07_a_preface_in_pieces_without_tls_is_HTTP_2(sandbox):
    sock = sandbox.connect(H2[1], 80)
    with h2client.RawClient(sock, "h2.test", scheme="http", begin=False) as raw:
        raw.send(h2_frames.PREFACE[:3])
        time.sleep(0.1)  # the rest is another segment
        raw.send(h2_frames.PREFACE[3:] + h2_frames.settings())
        raw.headers(1, raw.head(path="/echo"))
        assert raw.verdict(1) == ("answer", 200)


@pytest.mark.parametrize("code", [h2_frames.CANCEL, h2_frames.INTERNAL_ERROR, h2_frames.ENHANCE_YOUR_CALM])
def test_H2_10_the_code_of_a_reset_is_passed_on(sandbox, code):
    with client.h2(sandbox, *H2) as connection:
        assert reset_of(connection, f"/reset/{code}") == code
        assert reset_of(connection, f"/half/3000/{code}") == code
        assert connection.get("/").status == 200


@pytest.mark.parametrize("path", ["/refused/once/h2", "/goaway/0/once/h2"])
def test_H2_10_what_was_not_processed_is_asked_again_once_or_told(sandbox, origin, path):
    with client.h2(sandbox, *H2) as connection:
        try:
            assert connection.get(path).status == 200
        except h2client.Reset as told:
            assert told.code == h2_frames.REFUSED_STREAM
            assert connection.get(path).status == 200
    assert len(origin.requests(path)) == 2


def test_H2_10_a_client_that_cancels_is_told_upstream(sandbox, origin):
    with client.h2(sandbox, *H2) as connection:
        stream = connection.request("POST", "/stalled/cancel-h2", end=False)
        stream.send(b"x" * 100)
        until(lambda: origin.requests("/stalled/cancel-h2"), "the request upstream")
        stream.reset(h2_frames.CANCEL)
        begun = time.monotonic()
        until(lambda: origin.last("/stalled/cancel-h2").reset == h2_frames.CANCEL, "the cancellation upstream")
        assert time.monotonic() - begun < 0.5 * PATIENCE
        assert connection.get("/").status == 200


# ---- H2: what is not lawful ------------------------------------------------------------------------------

UNLAWFUL = {
    "tab behind a name": lambda head: [*head, ("cookie\t", "a=1")],
    "upper case": lambda head: [*head, ("Host", "h2.test")],
    "space in the path": lambda head: [*head[:3], (":path", "/unlawful h2")],
    "line break in the path": lambda head: [*head[:3], (":path", "/unlawful\r\nx: y")],
    "line break in a value": lambda head: [*head, ("x-a", "b\r\nx-smuggled: yes")],
    "nul in a value": lambda head: [*head, ("x-a", "b\0c")],
    "two authorities": lambda head: [*head, (":authority", "bank.test")],
    "another host": lambda head: [*head, ("host", "bank.test")],
    "pseudo after regular": lambda head: [*head[:3], ("x-a", "b"), head[3]],
    "unknown pseudo": lambda head: [*head, (":status", "200")],
    "no path": lambda head: head[:3],
    "connection": lambda head: [*head, ("connection", "keep-alive")],
    "transfer-encoding": lambda head: [*head, ("transfer-encoding", "chunked")],
    "te": lambda head: [*head, ("te", "gzip")],
    "empty name": lambda head: [*head, ("", "x")],
    "colon in a name": lambda head: [*head, ("x:a", "b")],
    "two lengths": lambda head: [*head, ("content-length", "1"), ("content-length", "2")],
}


@pytest.mark.parametrize("kind", sorted(UNLAWFUL))
@pytest.mark.parametrize("host", [H2, H1], ids=["h2 upstream", "h1 upstream"])
def test_H2_13_an_unlawful_field_ends_its_stream_and_reaches_nobody(sandbox, origin, host, kind):
    path = f"/unlawful-h2/{host[0]}/{kind.replace(' ', '-')}"
    with client.h2_raw(sandbox, *host) as raw:
        raw.headers(1, UNLAWFUL[kind](raw.head(path=path)))
        assert raw.verdict(1) in (("reset", h2_frames.PROTOCOL_ERROR), ("answer", 400), ("answer", 421))
        raw.headers(3, raw.head(path="/echo"))
        assert raw.verdict(3) == ("answer", 200), "the connection goes on"
    assert quiet(origin, path) and b"/unlawful " not in origin.received() and b"smuggled" not in origin.received()


@pytest.mark.parametrize("kind", ["upper-case", "connection", "transfer-encoding", "line-break", "late-pseudo", "two-lengths"])
@pytest.mark.parametrize("front", ["h1", "h2"])
def test_H2_13_an_unlawful_answer_is_a_502(sandbox, front, kind):
    with Front(sandbox, front, "h2") as peer:
        assert peer.get(f"/unlawful/{kind}").status == 502
        if front == "h2":
            assert peer.get("/").status == 200, "the other streams go on"


def test_H2_12_a_head_without_end_closes_its_connection(sandbox, stack):
    before = stack.resident()
    with client.h2_raw(sandbox, *H2) as raw:
        raw.frame(h2_frames.HEADERS, 0, 1, h2_frames.block(raw.head(path="/endless-h2")))
        part = h2_frames.literal(b"x-more", b"m" * 8000)
        for _ in range(1000):
            if not raw.frame(h2_frames.CONTINUATION, 0, 1, part):
                break
        kind, code = raw.verdict(1)
        assert kind in ("end", "reset", "goaway") and code in (
            None, h2_frames.ENHANCE_YOUR_CALM, h2_frames.COMPRESSION_ERROR, h2_frames.PROTOCOL_ERROR)
    assert stack.sanitized() or stack.resident() - before < 4 << 20
    with client.h2(sandbox, *H2) as connection:
        assert connection.get("/").status == 200


def test_H2_12_a_bomb_of_a_table_is_not_unpacked(sandbox, stack):
    before = stack.resident()
    with client.h2_raw(sandbox, *H2) as raw:
        entry = b"\x40" + h2_frames.literal(b"x-bomb", b"b" * 3900)[1:]  # into the table, and from there
        raw.frame(h2_frames.HEADERS, 5, 1, h2_frames.block(raw.head()) + entry + b"\xbe" * 10000)
        assert raw.verdict(1)[0] in ("end", "reset", "goaway")
    assert stack.sanitized() or stack.resident() - before < 4 << 20


@pytest.mark.parametrize("path", ["/endless-head/500/8000", "/over-the-window/3000000", "/no-status"])
def test_H2_12_a_hostile_origin_costs_its_own_requests_only(sandbox, path):
    with client.h2(sandbox, *H2) as connection:
        try:
            assert connection.get(path).status == 502
        except h2client.Reset:
            pass
        assert connection.get("/").status == 200


def test_H2_09_crumbs_of_data_and_windows_of_nothing(sandbox, stack):
    before = stack.resident()
    with client.h2_raw(sandbox, *H2) as raw:
        raw.send(h2_frames.settings({h2_frames.INITIAL_WINDOW_SIZE: 0}))
        for number in range(1000):
            if not raw.headers(2 * number + 1, raw.head(path="/bytes/1000000")):
                break
        with client.h2(sandbox, *H2) as other:
            assert other.get("/bytes/100000").body == pattern(100000)
            stream = other.request("POST", "/digest/crumbs-h2", end=False)
            for _ in range(3000):
                other.call("send_data", stream.id, b"c")
            stream.end()
            assert json.loads(stream.reply().body)["size"] == 3000
    assert stack.sanitized() or stack.resident() - before < 48 << 20


def test_H2_09_a_name_of_a_megabyte_is_refused(sandbox, origin):
    with client.h2_raw(sandbox, *H2) as raw:
        head = h2_frames.block([*raw.head(path="/long-h2"), ("n" * (1 << 20), "v")])
        parts = [head[at : at + 16384] for at in range(0, len(head), 16384)]
        raw.frame(h2_frames.HEADERS, 1, 1, parts[0])
        for number, part in enumerate(parts[1:], 2):
            if not raw.frame(h2_frames.CONTINUATION, 4 if number == len(parts) else 0, 1, part):
                break
        kind, code = raw.verdict(1)
        assert kind in ("end", "reset", "goaway") or (kind, code) == ("answer", 431)
    assert quiet(origin, "/long-h2")
