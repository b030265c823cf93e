# SPDX-License-Identifier: Apache-2.0
"""How a WebSocket ends: what was said arrives, what was cut does not look whole, and nothing is left or used again."""
import socket
import ssl
import struct
import threading

import pytest

import client
import wsclient
from origin.behaviours import pattern
from test_websocket import RAW, WAYS, switched, upgrade, ways
from waiting import until

RST = struct.pack("ii", 1, 0)


def half_close(sock):
    """No more will be said, and the other side may go on: FIN, in TLS behind a close_notify."""
    if isinstance(sock, ssl.SSLSocket):
        timeout = sock.gettimeout()
        sock.settimeout(0)
        with pytest.raises(ssl.SSLWantReadError):
            sock.unwrap()
        sock.settimeout(timeout)
    else:
        sock.shutdown(socket.SHUT_WR)


def vanish(peer):
    """By a reset. peer: client.Client or an exchange of the origin's."""
    peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
    (peer if isinstance(peer, client.Client) else peer.sock).close()


def strict(sock):
    """An end without a close_notify is an error."""
    if isinstance(sock, ssl.SSLSocket):
        sock.suppress_ragged_eofs = False


def rest(connection):
    """All that comes, and by what it ended: None is an end in order."""
    data = bytearray()
    strict(connection.sock)
    try:
        while piece := connection.sock.recv(65536):
            data += piece
    except ssl.SSLZeroReturnError:
        pass
    except (ConnectionError, ssl.SSLError) as error:
        return bytes(data), error
    return bytes(data), None


@ways
def test_a_client_that_has_said_all_gets_the_rest(sandbox, origin, way):
    """CAP-06 behind a 101."""
    path, said = f"/half/client-{way}", []

    def until_end(exchange):
        switched(exchange)
        while data := exchange.reader.some():
            said.append(data)
        threading.Event().wait(0.3)
        exchange.send(pattern(1 << 20))

    origin.on(path, until_end)
    with RAW[way](sandbox) as connection:
        assert upgrade(connection, path, "raw/1", first=b"ear").status == 101
        connection.send(b"ly")
        half_close(connection.sock)
        data, error = rest(connection)
    assert (len(data), data == pattern(1 << 20), error) == (1 << 20, True, None)
    assert b"".join(said) == b"early"


@ways
def test_a_server_that_has_said_all_hears_the_rest(sandbox, origin, way):
    path, said = f"/half/server-{way}", []

    def goes_on_reading(exchange):
        switched(exchange, first=b"all of it")
        half_close(exchange.sock)
        while data := exchange.reader.some():
            said.append(data)

    origin.on(path, goes_on_reading)
    with RAW[way](sandbox) as connection:
        assert upgrade(connection, path, "raw/1").status == 101
        assert connection.exactly(9) == b"all of it" and connection.ended(), "its end arrives while ours is open"
        connection.sock.settimeout(20)
        for _ in range(16):
            connection.send(pattern(1 << 16))
        assert not origin.last(path).complete and origin.last(path).connection.open
        if way == "ws":
            connection.sock.shutdown(socket.SHUT_WR)
        else:
            connection.sock.unwrap()
        until(lambda: not origin.last(path).connection.open, "the client's end")
    assert (len(b"".join(said)), b"".join(said)) == (16 << 16, pattern(1 << 16) * 16)


@ways
def test_a_client_that_resets_takes_the_upstream_along(sandbox, origin, way):
    path, ends = f"/reset/client-{way}", []

    def reads(exchange):
        strict(exchange.sock)
        switched(exchange)
        try:
            while data := exchange.reader.some():
                exchange.send(data)
        except OSError as error:
            ends.append(error)
            raise
        ends.append(None)

    origin.on(path, reads)
    connection = RAW[way](sandbox)
    assert upgrade(connection, path, "raw/1", first=b"before").status == 101
    assert connection.exactly(6) == b"before"
    assert origin.last(path).connection.open and not ends
    vanish(connection)
    until(lambda: ends, "the upstream's end", 5)
    assert ends[0] is not None, "an end in order would make what was cut look whole"


@ways
def test_a_server_that_resets_takes_the_client_along(sandbox, origin, way):
    path = f"/reset/server-{way}"

    def resets(exchange):
        switched(exchange)
        exchange.reader.exactly(1)
        vanish(exchange)

    origin.on(path, resets)
    with RAW[way](sandbox) as connection:
        assert upgrade(connection, path, "raw/1").status == 101
        connection.send(b"x")
        data, error = rest(connection)
    assert data == b"" and error is not None, "no end in order"


def test_what_came_before_an_end_without_a_goodbye_arrives_and_does_not_look_whole(sandbox, origin):
    """Many WebSockets end so: a close frame, then FIN, and no close_notify."""

    def cut(exchange):
        switched(exchange)
        exchange.reader.exactly(1)
        exchange.send(pattern(200_000))
        exchange.sock.shutdown(socket.SHUT_RDWR)

    origin.on("/cut/server", cut)
    for _ in range(5):
        with client.https(sandbox) as connection:
            assert upgrade(connection, "/cut/server", "raw/1").status == 101
            connection.send(b"x")
            data, error = rest(connection)
        assert (len(data), data == pattern(200_000)) == (200_000, True) and error is not None


def test_what_a_client_said_before_an_end_without_a_goodbye_arrives(sandbox, origin):
    said, ends = [], []

    def reads(exchange):
        strict(exchange.sock)
        switched(exchange)
        try:
            while data := exchange.reader.some():
                said.append(data)
        except ssl.SSLError as error:
            ends.append(error)

    origin.on("/cut/client", reads)
    for turn in range(5):
        with client.https(sandbox) as connection:
            assert upgrade(connection, "/cut/client", "raw/1").status == 101
            connection.send(pattern(200_000))
            connection.sock.shutdown(socket.SHUT_RDWR)
        until(lambda: len(ends) > turn, "the upstream's end, without a goodbye")
        assert (len(b"".join(said)), b"".join(said) == pattern(200_000)) == (200_000, True)
        said.clear()


def test_however_they_end_nothing_is_left(sandbox, stack, origin):
    """Both orders of every two ends, with bytes on their way that nobody reads."""
    go = {}

    def ends(exchange):
        kind, name = exchange.request.path.split("/")[2:]
        switched(exchange, first=pattern(100_000))
        go[name].wait(10)
        if kind == "reset":
            vanish(exchange)
        elif kind == "cut":
            exchange.sock.shutdown(socket.SHUT_RDWR)

    def left():
        return stack.get(f"/v1/sandboxes/{sandbox.id}")["counters"]["open"]

    origin.on("/ends/", ends)
    until(lambda: not left(), "those of other tests to be gone", 20)
    before, number = stack.descriptors(), 0
    for way in WAYS:
        for ours in ("reset", "cut", "close"):
            for theirs in ("reset", "cut", "close"):
                for first in ("client", "server"):
                    number += 1
                    name = str(number)
                    go[name] = threading.Event()
                    connection = RAW[way](sandbox)
                    assert upgrade(connection, f"/ends/{theirs}/{name}", "raw/1").status == 101
                    connection.send(pattern(30_000))
                    if first == "server":
                        go[name].set()
                    if ours == "reset":
                        vanish(connection)
                    elif ours == "cut":
                        connection.sock.shutdown(socket.SHUT_RDWR)
                    connection.close()
                    go[name].set()
    until(lambda: not left(), "all of them to end", 20)
    origin.drop_connections()
    until(lambda: stack.descriptors() <= before, "their descriptors to be closed")


@ways
def test_nothing_behind_a_101_is_pooled(sandbox, origin, way):
    path = f"/ws/echo/pool-{way}"
    with RAW[way](sandbox) as connection:
        connection.get("/echo/before-" + way)  # leaves a connection in the pool, which the upgrade may take
        with wsclient.Client(connection, path) as ws:
            there = origin.last(path).connection
            with RAW[way](sandbox) as other:
                assert other.get("/echo/while-" + way).status == 200
            ws.send("x")
            assert ws.receive() == "x"
            ws.close()
            assert ws.receive() is None and ws.connection.ended()
    until(lambda: not there.open, "the upstream connection's end")
    with RAW[way](sandbox) as other:
        assert other.get("/echo/after-" + way).status == 200
    assert [request.path for request in there.requests][-1] == path, "its last request"
    for name in ("while", "after"):
        assert origin.last(f"/echo/{name}-{way}").connection is not there
