# SPDX-License-Identifier: Apache-2.0
"""h2client.py - HTTP/2 over a socket of the sandbox, from the client's side.

Client is lawful and strict: python3-h2 judges every frame, window and length that comes, it and lawful() every field, and
what they find raises.
It has no thread: whoever waits for one stream reads for all of them, and nothing is read while nobody waits, so
that a test which wants a slow reader just does not ask. RawClient knows frames only, sends any bytes, and shows what
came back as it came; h2_frames.py has what to build them of.
"""
import re
import socket
import ssl
import time

import h2.config
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import hpack

from origin import h2_frames
from origin.h2_session import Draining
from reply import Reply
from waiting import PATIENCE


class Fields(list):
    """(name, value) in order; get() as the other client's fields have it."""

    def get(self, name, otherwise=None):
        return next((value for key, value in self if key == name), otherwise)

    def all(self, name):
        return [value for key, value in self if key == name]


def text(fields):
    return Fields((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)


_NAME = re.compile(r":?[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(r"(?![ \t])[^\0\r\n]*(?<![ \t])")


def lawful(fields):
    """The fields of an answer, by RFC 9113 section 8.2.1: python3-h2 lets some of these pass."""
    found = text(fields)
    for name, value in found:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise h2.exceptions.ProtocolError(f"field {name!r}: {value!r}")
    if len(found.all("content-length")) > 1:
        raise h2.exceptions.ProtocolError(f"several lengths: {found}")
    return found


class Reset(ConnectionError):
    """The stream was reset, or its connection ended: `code`, None where it ended without a word."""

    def __init__(self, stream, code, why):
        super().__init__(f"stream {stream}: {why}")
        self.code = code


class Stream:
    def __init__(self, client, number):
        self.client, self.id = client, number
        self.interim = []  # (status, fields) of 1xx
        self.status = self.fields = self.trailers = None
        self.body = bytearray()
        self.ended = False
        self.code = None  # of the other side's RST_STREAM
        self.unread = 0  # bytes for which the window was not opened again

    # ---- the request ---------------------------------------------------------------------------------

    def send(self, data, end=False):
        """As the server's windows allow, and reads meanwhile."""
        view = memoryview(data)
        while True:
            if view:
                self.client.until(lambda: self._room() > 0 or self.over, "the server's window")
                self.check()
            part, view = view[: self._room()], view[self._room() :]
            self.client.call("send_data", self.id, bytes(part), end_stream=end and not view)
            if not view:
                return self

    def _room(self):
        state = self.client.h2
        return min(state.local_flow_control_window(self.id), state.max_outbound_frame_size)

    def end(self, trailers=()):
        if trailers:
            self.client.call("send_headers", self.id, list(trailers), end_stream=True)
        else:
            self.client.call("end_stream", self.id)
        return self

    def reset(self, code=h2_frames.CANCEL):
        self.client.call("reset_stream", self.id, code)

    # ---- the answer ----------------------------------------------------------------------------------

    @property
    def over(self):
        return self.code is not None or self.client.over

    def check(self):
        if self.code is not None:
            raise Reset(self.id, self.code, f"reset with {self.code}")
        if self.client.over and not self.ended:
            raise Reset(self.id, None, f"the connection ended, GOAWAY {self.client.goaway}")

    def head(self, seconds=20):
        """Waits for the answer's head; its status."""
        self.client.until(lambda: self.status is not None or self.over, "an answer's head", seconds)
        if self.status is None:
            self.check()
        return self.status

    def read(self, size, seconds=20):
        """So many bytes more of the body (fewer at its end), and the window opens by them."""
        before = len(self.body) - self.unread
        self.client.until(lambda: self.unread >= size or self.ended or self.over, f"{size} bytes", seconds)
        if self.unread < size and not self.ended:
            self.check()
        taken = min(size, self.unread)
        self.consume(taken)
        return bytes(self.body[before : before + taken])

    def consume(self, size):
        self.unread -= size
        self.client.call("acknowledge_received_data", size, self.id)

    def reply(self, seconds=20):
        """The whole answer. A reset after its end changes nothing."""

        def done():
            if self.unread:
                self.consume(self.unread)
            return self.ended or self.over

        self.client.until(done, "the end of an answer", seconds)
        if not self.ended:
            self.check()
        return Reply(self.status, self.fields, bytes(self.body), self.trailers, self.interim)

    def wait_reset(self, seconds=20):
        """The code of the reset that must come."""
        self.client.until(lambda: self.over, "a reset", seconds)
        assert self.code is not None, f"the connection ended, and the stream was not reset: GOAWAY {self.client.goaway}"
        return self.code


class Client:
    """window: of each stream at first; what is read opens it again. The connection's own holds a stream up only where
    a test says less."""

    def __init__(self, sock, host, window=65535, settings=None, scheme="https", connection_window=1 << 24):
        self.sock, self.host, self.scheme = sock, host, scheme
        self.streams = {}
        self.goaway = None  # (last stream, code)
        self.over = False  # the other side's end was read
        self.settings = {}  # the server's
        self.settings_acknowledged = False
        self.pongs = 0
        config = h2.config.H2Configuration(client_side=True, header_encoding=None, validate_outbound_headers=False,
                                           normalize_outbound_headers=False)
        self.h2 = Draining(config)
        values = {h2_frames.ENABLE_PUSH: 0, h2_frames.INITIAL_WINDOW_SIZE: window, **(settings or {})}
        self.h2.local_settings = h2.settings.Settings(client=True, initial_values={**self.h2.local_settings, **values})
        self.call("initiate_connection")
        if connection_window > 65535:
            self.call("increment_flow_control_window", connection_window - 65535)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    # ---- requests ------------------------------------------------------------------------------------

    def request(self, method="GET", path="/", fields=(), body=None, end=True, authority=None, pseudo=None):
        """Begins a stream. end=False: (more) body will follow; pseudo: instead of the usual four."""
        number = self.h2.get_next_available_stream_id()
        stream = self.streams[number] = Stream(self, number)
        head = pseudo or [(":method", method), (":scheme", self.scheme), (":authority", authority or self.host), (":path", path)]
        self.call("send_headers", number, [*head, *fields], end_stream=end and not body)
        if body:
            stream.send(body, end)
        return stream

    def get(self, path="/", fields=(), **options):
        return self.request("GET", path, fields, **options).reply()

    def post(self, path, body, fields=(), **options):
        return self.request("POST", path, fields, body=body, **options).reply()

    def ping(self, seconds=10):
        """Everything that was sent before has been taken in when this returns."""
        want = self.pongs + 1
        self.call("ping", b"whatever")
        self.until(lambda: self.pongs >= want or self.over, "the answer to a ping", seconds)
        assert not self.over, f"the connection ended, GOAWAY {self.goaway}"

    def call(self, name, *arguments, **options):
        """A method of the library's; what it has to send is sent."""
        getattr(self.h2, name)(*arguments, **options)
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            try:
                self.sock.sendall(data)
            except (ConnectionError, ssl.SSLError):
                self._receive()  # what it said before it went

    # ---- what comes ----------------------------------------------------------------------------------

    def until(self, condition, what, seconds=20):
        """Reads and takes in until the condition holds."""
        deadline = time.monotonic() + seconds * PATIENCE
        while not condition():
            left = deadline - time.monotonic()
            assert left > 0, f"not within {seconds} s: {what}"
            assert not self.over, f"the connection ended, GOAWAY {self.goaway}, without {what}"
            self.sock.settimeout(left)
            self._receive()
        self.sock.settimeout(20 * PATIENCE)

    def ended(self, seconds=5):
        """The other side closed; whatever came before is taken in."""
        try:
            self.until(lambda: self.over, "the end", seconds)
        except AssertionError:
            return False
        return True

    def _receive(self):
        try:
            data = self.sock.recv(65536)
        except socket.timeout:
            return
        except (ConnectionError, ssl.SSLError):
            data = b""
        if not data:
            self.over = True
            return
        for event in self.h2.receive_data(data):
            self._take(event)
        self.flush()

    def _take(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        kind = type(event)
        if kind is h2.events.InformationalResponseReceived:
            fields = lawful(event.headers)
            stream.interim.append((int(fields.get(":status")), fields))
        elif kind is h2.events.ResponseReceived:
            stream.fields = lawful(event.headers)
            stream.status = int(stream.fields.get(":status"))
        elif kind is h2.events.DataReceived:
            stream.body += event.data
            stream.unread += len(event.data)
            padding = event.flow_controlled_length - len(event.data)
            self.h2.acknowledge_received_data(padding, event.stream_id)
        elif kind is h2.events.TrailersReceived:
            stream.trailers = lawful(event.headers)
        elif kind is h2.events.StreamEnded:
            stream.ended = True
        elif kind is h2.events.StreamReset and event.remote_reset:
            stream.code = int(event.error_code)
        elif kind is h2.events.ConnectionTerminated:
            self.goaway = (event.last_stream_id, int(event.error_code))
        elif kind is h2.events.RemoteSettingsChanged:
            self.settings.update({int(key): change.new_value for key, change in event.changed_settings.items()})
        elif kind is h2.events.SettingsAcknowledged:
            self.settings_acknowledged = True
        elif kind is h2.events.PingAckReceived:
            self.pongs += 1


class RawClient:
    """Frames as they are. begin: says preface and SETTINGS, as every test but those of the preface wants."""

    def __init__(self, sock, host="api.test", scheme="https", begin=True):
        self.sock, self.host, self.scheme = sock, host, scheme
        self.frames = []  # that came
        self._pending = bytearray()
        self._decoder = hpack.Decoder()
        self._decoder.max_header_list_size = 1 << 24
        if begin:
            self.send(h2_frames.PREFACE + h2_frames.settings({h2_frames.ENABLE_PUSH: 0}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        """True where all of it could be sent."""
        try:
            self.sock.sendall(data)
            return True
        except (ConnectionError, ssl.SSLError):
            return False

    def frame(self, kind, flags=0, stream=0, payload=b""):
        return self.send(h2_frames.frame(kind, flags, stream, payload))

    def head(self, method="GET", path="/"):
        return [(":method", method), (":scheme", self.scheme), (":authority", self.host), (":path", path)]

    def headers(self, stream, fields, end=True, flags=h2_frames.END_HEADERS):
        """Any fields, in any order, none of them indexed or compressed."""
        return self.frame(h2_frames.HEADERS, flags | (h2_frames.END_STREAM if end else 0), stream, h2_frames.block(fields))

    def next(self, seconds=10):
        """The next frame, SETTINGS and PING of the other side answered; None at the end of the connection."""
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            found = h2_frames.cut(self._pending)
            if found:
                self._pending[:0] = b"".join(h2_frames.frame(f.kind, f.flags, f.stream, f.payload) for f in found[1:])
                return self._took(found[0])
            self.sock.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.sock.recv(65536)
            except socket.timeout:
                raise AssertionError(f"no frame within {seconds} s") from None
            except (ConnectionError, ssl.SSLError):
                data = b""
            if not data:
                return None
            self._pending += data

    def _took(self, frame):
        self.frames.append(frame)
        if frame.kind == h2_frames.SETTINGS and not frame.flags & h2_frames.ACK:
            self.send(h2_frames.settings(ack=True))
        elif frame.kind == h2_frames.PING and not frame.flags & h2_frames.ACK:
            self.frame(h2_frames.PING, h2_frames.ACK, 0, frame.payload)
        return frame

    def wait(self, kind, stream=None, seconds=10):
        """The next frame of that kind (and stream); None where the connection ends before."""
        while frame := self.next(seconds):
            if frame.kind == kind and stream in (None, frame.stream):
                return frame
        return None

    def verdict(self, stream, seconds=10):
        """What became of a stream: ("reset", code), ("goaway", code), ("answer", status) or ("end", None)."""
        while frame := self.next(seconds):
            if frame.kind == h2_frames.RST_STREAM and frame.stream == stream:
                return "reset", frame.code
            if frame.kind == h2_frames.GOAWAY:
                return "goaway", frame.code
            if frame.kind == h2_frames.HEADERS and frame.stream == stream:
                return "answer", int(self.decode(frame).get(":status"))
        return "end", None

    def decode(self, frame):
        """The fields of a HEADERS frame that is whole: each must be decoded, in order, or the tables part."""
        assert frame.flags & h2_frames.END_HEADERS and not frame.flags & (h2_frames.PADDED | h2_frames.HAS_PRIORITY)
        return text(self._decoder.decode(frame.payload, raw=True))
