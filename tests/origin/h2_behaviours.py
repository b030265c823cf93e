# SPDX-License-Identifier: Apache-2.0
"""h2_behaviours.py - what the origin does over HTTP/2 alone: resets, GOAWAY, windows, gRPC's shapes, unlawful frames.

What is of both versions is in behaviours.py. CODE is a number (h2_frames.py). What happens `once` happens to the first
request for that path ever, so a test takes a path of its own by adding a word: /refused/once/mine.
"""
import time

from . import behaviours, h2_frames

GRPC = [("content-type", "application/grpc")]


def message(data):
    """As gRPC frames it, not compressed."""
    return b"\0" + len(data).to_bytes(4, "big") + data


# ---- gRPC's shapes, by hand -----------------------------------------------------------------------------


def grpc(stream):
    """/grpc/COUNT: so many messages, then the status."""
    stream.accept_body()
    stream.begin(fields=GRPC)
    for number in range(stream.argument(1, 1)):
        stream.piece(message(b"message %d" % number))
    stream.finish([("grpc-status", "0"), ("grpc-message", ""), ("x-raw-bin", "AP8")])


def trailers_only(stream):
    """/trailers-only/STATUS: one block of fields is the whole answer."""
    stream.accept_body()
    status = str(stream.argument(1, 5))
    stream.begin(fields=[*GRPC, ("grpc-status", status), ("grpc-message", "not here")], end=True)


def no_data(stream):
    """/no-data/STATUS: a head and trailers, nothing between them."""
    stream.accept_body()
    stream.begin(fields=GRPC)
    stream.finish([("grpc-status", str(stream.argument(1, 5))), ("grpc-message", "not here")])


# ---- ends ------------------------------------------------------------------------------------------------


def reset(stream):
    """/reset/CODE: instead of an answer."""
    stream.accept_body()
    stream.reset(stream.argument(1, h2_frames.CANCEL))


def half(stream):
    """/half/SIZE/CODE: so much of the answer, then a reset."""
    stream.accept_body()
    stream.begin(fields=[("x-half", "yes")])
    stream.piece(behaviours.pattern(stream.argument(1, 1000)))
    stream.reset(stream.argument(2, h2_frames.INTERNAL_ERROR))


def early(stream):
    """/early/SIZE/CODE: a whole answer before the request's body is read, then the reset that says: no more of it."""
    stream.reply(body=behaviours.pattern(stream.argument(1, 100)))
    if not stream.request.complete:
        stream.reset(stream.argument(2, h2_frames.NO_ERROR))


def refused(stream):
    """/refused, and /refused/once"""
    if stream.request.turn > 1 and "/once" in stream.request.path:
        behaviours.hello(stream)
    else:
        stream.reset(h2_frames.REFUSED_STREAM)


def goaway(stream):
    """/goaway/CODE and /goaway/CODE/once: this stream and what is above it was not looked at; then the end."""
    if stream.request.turn > 1 and "/once" in stream.request.path:
        behaviours.hello(stream)
        return
    stream.goaway(stream.id - 2 if stream.id > 2 else 0, stream.argument(1))
    stream.session.end()


def last_one(stream):
    """/last: the stream is answered, and no other will be."""
    stream.accept_body()
    stream.goaway(stream.id)
    behaviours.hello(stream)


def cut(stream):
    """/cut: the connection ends, and nothing is said."""
    stream.accept_body()
    stream.session.end()


# ---- windows ---------------------------------------------------------------------------------------------


def stalled(stream):
    """/stalled: takes what its window holds and no more, until the client gives up."""
    stream.wait_reset()


def slow(stream):
    """/slow/MILLISECONDS/SIZE: reads so much at a time, with a rest between; then says what came."""
    while stream.read(stream.argument(2, 16384)):
        time.sleep(stream.argument(1, 10) / 1000)  # what the case is about
    behaviours.digest(stream)


def crumbs(stream):
    """/crumbs/COUNT: frames of one byte."""
    stream.accept_body()
    stream.begin()
    for byte in behaviours.pattern(stream.argument(1, 100)):
        stream.piece(bytes([byte]))
    stream.finish()


# ---- what no server may send -----------------------------------------------------------------------------

UNLAWFUL = {
    "upper-case": [("X-Upper".encode(), "yes")],
    "connection": [("connection", "keep-alive")],
    "transfer-encoding": [("transfer-encoding", "chunked")],
    "line-break": [("x-split", "a\r\nx-smuggled: yes")],
    "nul": [("x-nul", "a\0b")],
    "space-in-name": [("x name", "yes")],
    "colon-in-name": [("x:name", "yes")],
    "empty-name": [("", "yes")],
    "late-pseudo": [(":status", "200")],
    "unknown-pseudo": [(":path", "/")],
    "two-lengths": [("content-length", "2"), ("content-length", "3")],
    "wrong-length": [("content-length", "3")],
}


def unlawful(stream):
    """/unlawful/KIND: an answer of which one field is not allowed; its body is two bytes."""
    stream.accept_body()
    extra = UNLAWFUL[stream.request.path.split("/")[2]]
    payload = h2_frames.block([(":status", "200"), *extra])
    stream.raw(h2_frames.frame(h2_frames.HEADERS, h2_frames.END_HEADERS, stream.id, payload))
    stream.raw(h2_frames.frame(h2_frames.DATA, h2_frames.END_STREAM, stream.id, b"ok"))


def no_status(stream):
    stream.accept_body()
    payload = h2_frames.block([("x-status", "200")])
    stream.raw(h2_frames.frame(h2_frames.HEADERS, h2_frames.END_HEADERS | h2_frames.END_STREAM, stream.id, payload))


def endless_head(stream):
    """/endless-head/FRAMES/SIZE: a block of fields that goes on in CONTINUATION, and never ends."""
    stream.accept_body()
    part = h2_frames.literal(b"x-more", b"m" * stream.argument(2, 8000))
    status = h2_frames.literal(b":status", b"200")
    stream.raw(h2_frames.frame(h2_frames.HEADERS, 0, stream.id, status))
    for _ in range(stream.argument(1, 100)):
        stream.raw(h2_frames.frame(h2_frames.CONTINUATION, 0, stream.id, part))
    stream.wait_reset()


def over_the_window(stream):
    """/over-the-window/SIZE: more than the client allows."""
    stream.accept_body()
    stream.begin()
    size = stream.argument(1, 1 << 20)
    while size > 0:
        stream.raw(h2_frames.frame(h2_frames.DATA, 0, stream.id, bytes(min(size, 16384))))
        size -= 16384
    stream.wait_reset()


BEHAVIOURS = {
    "/grpc/": grpc,
    "/trailers-only": trailers_only,
    "/no-data": no_data,
    "/reset": reset,
    "/half/": half,
    "/early": early,
    "/refused": refused,
    "/goaway": goaway,
    "/last": last_one,
    "/cut": cut,
    "/stalled": stalled,
    "/slow": slow,
    "/crumbs": crumbs,
    "/unlawful/": unlawful,
    "/no-status": no_status,
    "/endless-head": endless_head,
    "/over-the-window": over_the_window,
    "/chunked/": behaviours.trailers,
    "/close/": behaviours.no_length,
    "/head/": behaviours.sized,
}
