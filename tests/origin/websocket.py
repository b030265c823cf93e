# SPDX-License-Identifier: Apache-2.0
"""websocket.py - frames of RFC 6455, permessage-deflate of RFC 7692, and the origin's behaviours that speak them.

A Socket is one end; the tests' client has the other. It tells protocol errors (Broken, with the close code that they
deserve) and sends whatever it is told to, lawful or not.
"""
import base64
import hashlib
import os
import struct
import zlib

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN, RSV1, RSV2, RSV3 = 128, 64, 32, 16
DEFLATE = "permessage-deflate"
TAIL = b"\x00\x00\xff\xff"


class Broken(ValueError):
    def __init__(self, code, what):
        super().__init__(what)
        self.code = code


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


def frame(opcode, payload=b"", flags=FIN, mask=None):
    """mask: 4 bytes, as a client must; None: not masked, as a server must."""
    bit = 128 if mask is not None else 0
    if len(payload) < 126:
        head = struct.pack("!BB", flags | opcode, bit | len(payload))
    elif len(payload) < 65536:
        head = struct.pack("!BBH", flags | opcode, bit | 126, len(payload))
    else:
        head = struct.pack("!BBQ", flags | opcode, bit | 127, len(payload))
    return head + (mask + masked(payload, mask) if mask is not None else payload)


def masked(payload, mask):
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


class Socket:
    """One end. deflate: messages are compressed where `compress` says so; its contexts live as long as it does."""

    def __init__(self, write, exactly, client, deflate=False):
        """write(bytes), exactly(size) -> bytes"""
        self._write, self._exactly, self._client = write, exactly, client
        self.deflate = self.compress = deflate
        self._out = zlib.compressobj(wbits=-15)
        self._in = zlib.decompressobj(wbits=-15)
        self.frames = []  # (flags, opcode, payload) as they came
        self.closed = None  # (code, reason) of the other end

    def send_frame(self, opcode, payload=b"", flags=FIN):
        self._write(frame(opcode, payload, flags, os.urandom(4) if self._client else None))

    def send(self, message, pieces=1):
        """Text or binary, in so many frames."""
        opcode, data = (TEXT, message.encode()) if isinstance(message, str) else (BINARY, message)
        flags = 0
        if self.compress:
            data = (self._out.compress(data) + self._out.flush(zlib.Z_SYNC_FLUSH))[: -len(TAIL)]
            flags = RSV1
        size = max(1, -(-len(data) // pieces))
        parts = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
        for number, part in enumerate(parts):
            last = FIN if number == len(parts) - 1 else 0
            self.send_frame(CONTINUED if number else opcode, part, last | (0 if number else flags))

    def close(self, code=1000, reason=""):
        self.send_frame(CLOSE, struct.pack("!H", code) + reason.encode())

    def receive_frame(self):
        first, second = self._exactly(2)
        size = second & 127
        if size > 125:
            size = int.from_bytes(self._exactly(2 if size == 126 else 8), "big")
        mask = self._exactly(4) if second & 128 else None
        payload = self._exactly(size)
        if bool(mask) == self._client:
            raise Broken(1002, "a frame that is not masked" if mask is None else "a server's frame that is masked")
        flags, opcode, payload = first & 0xF0, first & 15, masked(payload, mask) if mask else payload
        self.frames.append((flags, opcode, payload))
        if flags & (RSV2 | RSV3) or flags & RSV1 and not (self.deflate and opcode in (TEXT, BINARY)):
            raise Broken(1002, "a reserved bit")
        if opcode >= CLOSE and (size > 125 or not flags & FIN):
            raise Broken(1002, "a control frame that is long, or in pieces")
        return flags, opcode, payload

    def receive(self):
        """The next message, str or bytes; None when the other end has closed. Pings are answered."""
        opcode, data, deflated = None, b"", False
        while True:
            flags, kind, payload = self.receive_frame()
            if kind == PING:
                self.send_frame(PONG, payload)
            elif kind == CLOSE:
                code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                self.closed = (code, payload[2:].decode())
                return None
            elif kind in (TEXT, BINARY, CONTINUED):
                if (kind == CONTINUED) != (opcode is not None):
                    raise Broken(1002, "a message inside a message, or a piece of none")
                if kind != CONTINUED:
                    opcode, deflated = kind, bool(flags & RSV1)
                data += payload
                if flags & FIN:
                    return self._whole(opcode, data, deflated)
            elif kind != PONG:
                raise Broken(1002, f"opcode {kind}")

    def _whole(self, opcode, data, deflated):
        try:
            if deflated:
                data = self._in.decompress(data + TAIL)
            return data.decode() if opcode == TEXT else data
        except (zlib.error, UnicodeDecodeError) as error:
            raise Broken(1007, str(error)) from error


# ---- the origin's end --------------------------------------------------------------------------------------


def offered(exchange):
    return any(part.split(";")[0].strip() == DEFLATE
               for value in exchange.request.values("sec-websocket-extensions") for part in value.split(","))


def upgraded(exchange, fields=(), extension=None, first=b""):
    """Answers 101, with `first` in the same segment; the Socket, or None where no WebSocket was asked for."""
    request = exchange.request
    key = request.value("sec-websocket-key")
    tokens = [token.strip().lower() for value in request.values("connection") for token in value.split(",")]
    if key is None or "upgrade" not in tokens or (request.value("upgrade") or "").lower() != "websocket":
        exchange.reply(426, b"this is a WebSocket\n", [("Upgrade", "websocket")], "Upgrade Required")
        return None
    fields = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept_of(key)), *fields]
    if extension:
        fields.append(("Sec-WebSocket-Extensions", extension))
    exchange.close = True
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    exchange.send(f"HTTP/1.1 101 Switching Protocols\r\n{head}\r\n".encode("latin-1") + first)
    request.websocket = Socket(exchange.send, exchange.reader.exactly, client=False, deflate=extension == DEFLATE)
    return request.websocket


def echo_on(ws):
    try:
        while (message := ws.receive()) is not None:
            ws.send(message)
        ws.close(ws.closed[0] if ws.closed[0] != 1005 else 1000, ws.closed[1])
    except Broken as error:
        ws.close(error.code, str(error))


def echo(exchange):
    """/ws/echo: compressed where the client offers it."""
    if ws := upgraded(exchange, extension=DEFLATE if offered(exchange) else None):
        echo_on(ws)


def push(exchange):
    """/ws/push: a message comes together with the 101."""
    if ws := upgraded(exchange, first=frame(TEXT, b"pushed")):
        echo_on(ws)


def plain(exchange):
    """/ws/uncompressed: agrees to compression, and never compresses."""
    if ws := upgraded(exchange, extension=DEFLATE if offered(exchange) else None):
        ws.compress = False
        echo_on(ws)


def selects(exchange):
    """/ws/selects: an extension that nobody may have offered."""
    if ws := upgraded(exchange, extension=DEFLATE):
        echo_on(ws)


def protocol(exchange):
    """/ws/protocol: the last of the subprotocols that were offered."""
    names = [name.strip() for value in exchange.request.values("sec-websocket-protocol") for name in value.split(",")]
    if ws := upgraded(exchange, fields=[("Sec-WebSocket-Protocol", names[-1])] if names else ()):
        echo_on(ws)


def close(exchange):
    """/ws/close/CODE: after the first message."""
    if ws := upgraded(exchange):
        ws.receive()
        ws.close(exchange.argument(2, 1001), "as the path says")
        ws.receive()


def ping(exchange):
    """/ws/ping: pings before it answers, and says what came back."""
    if ws := upgraded(exchange):
        message = ws.receive()
        ws.send_frame(PING, b"are you there")
        _, opcode, payload = ws.receive_frame()
        ws.send(f"{message} {opcode} {payload.decode()}")
        echo_on(ws)


def vanishes(exchange):
    """/ws/vanishes: ends the connection after the first message, without a close."""
    if ws := upgraded(exchange):
        ws.receive()


def refuses(exchange):
    exchange.reply(403, b"no WebSocket for you\n", reason="Forbidden")


def other(exchange):
    """/upgrade: 101 for whatever protocol was asked for; then its bytes come back as they are."""
    exchange.close = True
    name = exchange.request.value("upgrade")
    exchange.send(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: {name}\r\nConnection: Upgrade\r\n\r\n".encode())
    while data := exchange.reader.some():
        exchange.send(data)


BEHAVIOURS = {
    "/ws/echo": echo,
    "/ws/push": push,
    "/ws/uncompressed": plain,
    "/ws/selects": selects,
    "/ws/protocol": protocol,
    "/ws/close": close,
    "/ws/ping": ping,
    "/ws/vanishes": vanishes,
    "/ws/refuses": refuses,
    "/upgrade": other,
}
