# SPDX-License-Identifier: Apache-2.0
"""behaviours.py - what the origin does for which path: one table, longest prefix first.

A behaviour gets an Exchange and says everything on the wire itself. A test adds its own by
origin.on("/path", function) for what only it needs.
"""
import base64
import json
import time


class Exchange:
    """One request and whatever is answered to it."""

    def __init__(self, sock, reader, request):
        self._sock = sock
        self._reader = reader
        self.request = request
        self.close = False  # after this exchange

    def send(self, data):
        self._sock.sendall(data)

    def body(self):
        return self._reader.body(self.request)

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
    "/chunked/": chunked,
    "/close/": until_close,
    "/head/": head_size,
    "/delay/": delay,
    "/reset": reset,
    "/r.git/info/refs": git_refs,
    "/r.git/HEAD": git_head,
    "/": hello,
}


def find(path, extra):
    for table in (extra, BEHAVIOURS):
        for prefix in sorted(table, key=len, reverse=True):
            if path.startswith(prefix):
                return table[prefix]
    return hello
