# SPDX-License-Identifier: Apache-2.0
"""h2_frames.py - frames of HTTP/2 as bytes (RFC 9113 section 4.1), lawful or not: nothing is checked here.

What a library would not send is made of these, and what came is cut into these.
"""
import struct
from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION) = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 1, 1, 4, 8, 32
(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR,
 REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY,
 HTTP_1_1_REQUIRED) = range(14)
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def settings(values=None, ack=False):
    payload = b"".join(struct.pack("!HI", key, value) for key, value in (values or {}).items())
    return frame(SETTINGS, ACK if ack else 0, 0, payload)


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack("!I", increment))


def rst_stream(stream, code):
    return frame(RST_STREAM, 0, stream, struct.pack("!I", code))


def goaway(last, code, said=b""):
    return frame(GOAWAY, 0, 0, struct.pack("!II", last, code) + said)


def literal(name, value):
    """A field of HPACK as it is: not indexed, not compressed, whatever the bytes are (RFC 7541 section 6.2.2)."""
    return b"\x00" + _string(name) + _string(value)


def block(fields):
    return b"".join(literal(_bytes(name), _bytes(value)) for name, value in fields)


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _string(data):
    return _integer(len(data), 7) + data


def _integer(value, bits):
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    out, value = [most], value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


@dataclass(frozen=True)
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self):
        """Of a RST_STREAM or a GOAWAY."""
        at = {RST_STREAM: 0, GOAWAY: 4}[self.kind]
        return struct.unpack_from("!I", self.payload, at)[0]

    @property
    def last(self):
        """The last stream that a GOAWAY names."""
        assert self.kind == GOAWAY
        return struct.unpack_from("!I", self.payload)[0] & 0x7FFFFFFF


def cut(data):
    """(the whole frames at the front of a bytearray, which it loses)"""
    found = []
    while len(data) >= 9:
        size = int.from_bytes(data[:3], "big")
        if len(data) < 9 + size:
            break
        kind, flags, stream = struct.unpack_from("!BBI", data, 3)
        found.append(Frame(kind, flags, stream & 0x7FFFFFFF, bytes(data[9 : 9 + size])))
        del data[: 9 + size]
    return found
