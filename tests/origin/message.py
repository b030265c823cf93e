# SPDX-License-Identifier: Apache-2.0
"""message.py - a request as the origin got it: every byte kept, and just enough parsed to answer it."""
from dataclasses import dataclass, field


@dataclass
class Request:
    connection: object
    head: bytes  # up to and with the empty line, exactly as received
    method: str = ""
    target: str = ""
    version: str = ""
    fields: list = field(default_factory=list)  # (name, value) as received
    body: bytes = b""  # decoded
    body_raw: bytes = b""  # as received, chunk framing included
    trailers: list = field(default_factory=list)  # (name, value) as received
    complete: bool = False
    turn: int = 1  # how many came for this path, with this one
    websocket: object = None  # its websocket.Socket, once it was upgraded

    def values(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def value(self, name):
        values = self.values(name)
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None

    @property
    def path(self):
        return self.target.partition("?")[0]

    @property
    def keep_alive(self):
        tokens = ",".join(self.values("connection")).lower()
        return "close" not in tokens and self.version == "HTTP/1.1"


def parse_field(line):
    name, _, value = line.partition(":")
    return name, value.strip(" \t")


def parse_head(connection, head):
    request = Request(connection, bytes(head))
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    request.method, request.target = parts[0], parts[1] if len(parts) > 1 else ""
    request.version = parts[2] if len(parts) > 2 else ""
    for line in lines[1:]:
        if line:
            request.fields.append(parse_field(line))
    return request


class Reader:
    """Bytes of one connection, blocking; `record` gets every byte before anything looks at it."""

    def __init__(self, sock, record):
        self._sock = sock
        self._record = record
        self.recording = True  # a behaviour that takes more than memory holds ends it
        self._pending = bytearray()

    def _more(self):
        data = self._sock.recv(65536)
        if not data:
            return False
        if self.recording:
            self._record.extend(data)
        self._pending += data
        return True

    def some(self):
        """What is there, or the next that comes; b"" at the end of the stream."""
        if self._pending or self._more():
            return self.exactly(len(self._pending))
        return b""

    def waiting(self):
        """How much of what came has not been taken."""
        return len(self._pending)

    def until(self, mark):
        """Through the mark, or None at the end of the stream."""
        while True:
            at = self._pending.find(mark)
            if at >= 0:
                return self.exactly(at + len(mark))
            if not self._more():
                return None

    def exactly(self, size):
        while len(self._pending) < size:
            if not self._more():
                raise ConnectionError("the stream ended inside a message")
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken

    def body(self, request):
        """Reads the body that the head announces."""
        if request.complete:
            return request.body
        if "chunked" in ",".join(request.values("transfer-encoding")).lower():
            self._chunks(request)
        else:
            lengths = request.values("content-length")
            request.body = request.body_raw = self.exactly(int(lengths[0])) if lengths else b""
        request.complete = True
        return request.body

    def piece(self, request, most):
        """The next bytes of a body whose length was said; b"" at its end."""
        left = int((request.values("content-length") or ["0"])[0]) - len(request.body)
        data = b"" if not left else self.exactly(min(left, most, len(self._pending) or 1))
        request.body = request.body_raw = request.body + data
        request.complete = left == len(data)
        return data

    def _chunks(self, request):
        raw, body = bytearray(), bytearray()
        while True:
            line = self.until(b"\r\n")
            if line is None:
                raise ConnectionError("the stream ended inside a chunk")
            raw += line
            size = int(line.split(b";")[0], 16)
            if not size:
                break
            chunk = self.exactly(size + 2)
            raw += chunk
            body += chunk[:-2]
        while True:
            line = self.until(b"\r\n")
            if line is None:
                raise ConnectionError("the stream ended inside the trailer section")
            raw += line
            if line == b"\r\n":
                break
            request.trailers.append(parse_field(line[:-2].decode("latin-1")))
        request.body, request.body_raw = bytes(body), bytes(raw)
