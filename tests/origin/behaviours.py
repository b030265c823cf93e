# SPDX-License-Identifier: Apache-2.0
"""behaviours.py - what the origin does for which path: one table, longest prefix first.

A behaviour gets an Exchange and answers by it. One that says everything on the wire itself, by send(), is of HTTP/1.1
only; the others serve HTTP/2 as well (h2_session.Stream offers the same), which has more of its own in h2_behaviours.py. A test
adds its own by origin.on("/path", function) for what only it needs.
"""
import base64
import hashlib
import json
import time

from . import websocket


class Exchange:
    """One request and whatever is answered to it."""

    def __init__(self, origin, sock, reader, request):
        self.origin = origin
        self.sock = sock
        self.reader = reader
        self.request = request
        self.close = False  # after this exchange

    def send(self, data):
        self.sock.sendall(data)

    def read(self, most=1 << 30):
        """The next bytes of the body; b"" at its end."""
        return self.reader.piece(self.request, most)

    def pieces(self):
        """A body of a length or in chunks as it comes, and nothing keeps it."""
        self.reader.recording = False
        chunked = "chunked" in (self.request.value("transfer-encoding") or "")
        left = 0 if chunked else int(self.request.value("content-length") or 0)
        while True:
            if chunked and not left:
                left = int(self.reader.until(b"\r\n").split(b";")[0], 16)
            if not left:
                break
            data = self.reader.exactly(min(left, self.reader.waiting() or 1))
            left -= len(data)
            yield data
            if chunked and not left:
                self.reader.exactly(2)
        if chunked:
            self.reader.until(b"\r\n")
        self.request.complete = True

    def body(self):
        return self.reader.body(self.request)

    def accept_body(self):
        """Says 100 where it is expected, and reads."""
        if self.request.values("expect"):
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self.body()

    def reply(self, status=200, body=b"", fields=(), reason="OK"):
        head = [f"HTTP/1.1 {status} {reason}"]
        head += [f"{name}: {value}" for name, value in fields]
        if status != 204 and status != 304:
            head.append(f"Content-Length: {len(body)}")
        sent = b"" if self.request.method == "HEAD" or status in (204, 304) else body
        self.send(("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + sent)

    def interim(self, status, fields=()):
        self.begin(status, fields, "Interim", end=True)

    def begin(self, status=200, fields=(), reason="OK", end=False):
        """The head of an answer whose length is not said; end: nothing follows."""
        fields = [*fields, *([] if end else [("Transfer-Encoding", "chunked")])]
        head = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in fields)]
        self.send(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))

    def piece(self, data, end=False):
        self.send(b"%x\r\n%s\r\n" % (len(data), data) if data else b"")
        if end:
            self.finish()

    def finish(self, trailers=()):
        lines = "".join(f"{name}: {value}\r\n" for name, value in trailers)
        self.send(f"0\r\n{lines}\r\n".encode("latin-1"))

    def argument(self, number, otherwise=0):
        parts = self.request.path.strip("/").split("/")
        return int(parts[number]) if len(parts) > number else otherwise


def pattern(size):
    """Bytes that tell their own place, so that a lost or doubled one shows."""
    unit = b"0123456789abcdefghijklmnopqrstuvwxyz\n"
    return (unit * (size // len(unit) + 1))[:size]


def hello(exchange):
    exchange.accept_body()
    local = exchange.request.connection.local[0]
    exchange.reply(body=f"hello from {exchange.request.value('host')} at {local}\n".encode())


def echo(exchange):
    body = exchange.accept_body()
    request = exchange.request
    document = {
        "method": request.method,
        "target": request.target,
        "version": request.version,
        "fields": request.fields,
        "body": base64.b64encode(body).decode(),
        "sni": request.connection.sni,
        "alpn": request.connection.alpn,
    }
    exchange.reply(body=json.dumps(document).encode(), fields=[("Content-Type", "application/json")])


def digest(exchange):
    """What came, too large to be repeated."""
    body = exchange.accept_body()
    document = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest(), "trailers": exchange.request.trailers or None}
    exchange.reply(body=json.dumps(document).encode(), fields=[("Content-Type", "application/json")])


def status(exchange):
    exchange.accept_body()
    code = exchange.argument(1, 200)
    exchange.reply(code, b"" if code in (204, 304) else f"status {code}\n".encode(), reason="Scripted")


def sized(exchange):
    exchange.accept_body()
    exchange.reply(body=pattern(exchange.argument(1)))


def chunked(exchange):
    """/chunked/COUNT/SIZE"""
    exchange.accept_body()
    count, size = exchange.argument(1, 3), exchange.argument(2, 10)
    exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    data = pattern(count * size)
    for number in range(count):
        piece = data[number * size : (number + 1) * size]
        exchange.send(b"%x;n=%d\r\n%s\r\n" % (len(piece), number, piece))
    exchange.send(b"0\r\nX-Trailer: end\r\n\r\n")


def no_length(exchange):
    """/nolength/SIZE: the body's end says how long it was."""
    exchange.accept_body()
    exchange.begin()
    exchange.piece(pattern(exchange.argument(1)), end=True)


def trailers(exchange):
    """/trailers/SIZE: two fields behind the body."""
    exchange.accept_body()
    exchange.begin(fields=[("Trailer", "x-sum, x-raw-bin")])
    exchange.piece(pattern(exchange.argument(1, 10)))
    exchange.finish([("x-sum", "end"), ("x-raw-bin", "AP8")])


def hints(exchange):
    """/hints/COUNT: so many 103 before the answer."""
    exchange.accept_body()
    for number in range(exchange.argument(1, 1)):
        exchange.interim(103, [("Link", f"</{number}.css>; rel=preload")])
    exchange.reply(body=b"after the hints\n")


def events(exchange):
    """/events/COUNT/MILLISECONDS: an event stream, each event on its own."""
    exchange.accept_body()
    exchange.begin(fields=[("Content-Type", "text/event-stream")])
    for number in range(exchange.argument(1, 3)):
        if number:
            time.sleep(exchange.argument(2, 100) / 1000)  # what the stream is about
        exchange.piece(b"data: %d\n\n" % number)
    exchange.finish()


def until_close(exchange):
    exchange.accept_body()
    exchange.close = True
    exchange.send(b"HTTP/1.1 200 OK\r\n\r\n" + pattern(exchange.argument(1, 100)))


def head_size(exchange):
    """/head/SIZE: what a HEAD gets is the length that a GET would have had."""
    exchange.accept_body()
    size = exchange.argument(1)
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
    if exchange.request.method != "HEAD":
        exchange.send(pattern(size))


def delay(exchange):
    """/delay/MILLISECONDS"""
    exchange.accept_body()
    time.sleep(exchange.argument(1) / 1000)
    exchange.reply(body=b"late\n")


def reset(exchange):
    """Goes away without a word."""
    exchange.accept_body()
    exchange.close = True


def git_refs(exchange):
    """A repository by the dumb protocol, for who shows credentials at all."""
    exchange.accept_body()
    if not exchange.request.values("authorization"):
        exchange.reply(401, b"who are you\n", [("WWW-Authenticate", 'Basic realm="git"')], "Unauthorized")
        return
    refs = b"0123456789012345678901234567890123456789\trefs/heads/main\n"
    exchange.reply(body=refs, fields=[("Content-Type", "text/plain")])


def git_head(exchange):
    exchange.accept_body()
    exchange.reply(body=b"ref: refs/heads/main\n", fields=[("Content-Type", "text/plain")])


BEHAVIOURS = {
    "/echo": echo,
    "/status/": status,
    "/bytes/": sized,
    "/digest": digest,
    "/chunked/": chunked,
    "/nolength/": no_length,
    "/trailers": trailers,
    "/hints": hints,
    "/events": events,
    "/close/": until_close,
    "/head/": head_size,
    "/delay/": delay,
    "/reset": reset,
    "/r.git/info/refs": git_refs,
    "/r.git/HEAD": git_head,
    "/": hello,
    **websocket.BEHAVIOURS,
}


def find(path, *tables):
    """The first table that knows a prefix of the path."""
    for table in (*tables, BEHAVIOURS):
        for prefix in sorted(table, key=len, reverse=True):
            if path.startswith(prefix):
                return table[prefix]
    return hello
