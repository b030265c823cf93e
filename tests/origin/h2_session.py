# SPDX-License-Identifier: Apache-2.0
"""h2_session.py - the origin's side of a connection that speaks HTTP/2, by python3-h2.

One thread reads and writes (a TLS socket bears no more), one more for each stream runs its behaviour, which blocks
as one of HTTP/1.1 does. Between them the library's state, under one lock. Fields that no request may have are taken
as they come and recorded, since what arrived is what tests are about; of frames, windows and lengths the library is
the judge, and what it says is the connection's `failure`.

A window opens only as a behaviour reads: one that does not read stalls its client.
"""
import select
import socket
import ssl
import threading
from dataclasses import dataclass, field

import hpack
import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from . import behaviours, h2_frames, message

IDLE = 60
WINDOW = 1 << 20  # of a connection: a stream that is not read holds up itself only
LINGER = 2  # seconds that a connection which is over waits for the other side's end


class Draining(h2.connection.H2Connection):
    """The library takes a GOAWAY for the end of everything; by RFC 9113 section 6.8 the streams that are there go on."""

    def _receive_goaway_frame(self, frame):
        state = self.state_machine.state
        waiting = self.data_to_send()
        events = super()._receive_goaway_frame(frame)
        self.state_machine.state = state
        self._data_to_send += waiting
        return events


class Gone(ConnectionError):
    """The stream was reset or its connection is over: its behaviour ends."""


@dataclass
class H2Request(message.Request):
    stream: int = 0
    pseudo: dict = field(default_factory=dict)
    never_indexed: set = field(default_factory=set)  # names of fields that no table may hold
    trailers: list = None
    reset: int = None  # the code of the client's RST_STREAM

    def values(self, name):
        found = super().values(name)
        authority = self.pseudo.get(":authority")
        return [authority] if name.lower() == "host" and not found and authority is not None else found

    @property
    def authority(self):
        return self.pseudo.get(":authority")


def text(fields):
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]


class Session:
    def __init__(self, origin, connection, sock, reader):
        self.origin, self.connection = origin, connection
        self.goaway = None  # (last stream, code) of the client's
        self.peer_settings = {}
        self.changed = threading.Condition()
        self.over = False
        self._sock, self._reader = sock, reader
        self._streams = {}
        self._out = bytearray()
        self._ending = False
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        config = h2.config.H2Configuration(
            client_side=False, header_encoding=None, validate_inbound_headers=False, normalize_inbound_headers=False,
            validate_outbound_headers=False, normalize_outbound_headers=False,
        )
        self.h2 = Draining(config)
        values = {**self.h2.local_settings, **origin.h2_settings}
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=values)

    # ---- for behaviours and tests --------------------------------------------------------------------

    def call(self, function, *arguments, **options):
        """function(...) of the library's, under the lock; what it has to send is sent."""
        with self.changed:
            if self.over:
                raise Gone("the connection is over")
            try:
                result = function(*arguments, **options)
            except h2.exceptions.ProtocolError as error:
                raise Gone(str(error)) from error
            self._out += self.h2.data_to_send()
        self._wake()
        return result

    def raw(self, data):
        """Bytes as they are, past the library."""
        with self.changed:
            self._out += data
        self._wake()

    def keep_no_record(self):
        self._reader.recording = False

    def end(self):
        """Ends the connection when what is waiting has been sent."""
        self._ending = True
        self._wake()

    def _wake(self):
        try:
            self._near.send(b"w")
        except OSError:
            pass  # the loop has ended

    # ---- the loop ------------------------------------------------------------------------------------

    def run(self, first):
        try:
            self.call(self.h2.initiate_connection)
            self.call(self.h2.increment_flow_control_window, WINDOW - 65535)
            self._feed(first)
            self._sock.setblocking(False)
            while self._turn():
                pass
        except h2.exceptions.ProtocolError as error:
            self.connection.failure = f"{type(error).__name__}: {error}"
            self._sock.settimeout(LINGER)
            with self.changed:
                self._sock.sendall(self._out + self.h2.data_to_send())
        finally:
            self._sock.settimeout(LINGER)
            with self.changed:
                self.over = True
                self.changed.notify_all()
            self._near.close()
            self._far.close()

    def _turn(self):
        self._write()
        if self._ending and not self._out:
            return False
        poll = select.poll()  # select() knows no descriptor above 1023, and one process runs many tests
        poll.register(self._sock, select.POLLIN | (select.POLLOUT if self._out else 0))
        poll.register(self._far, select.POLLIN)
        ready = dict(poll.poll(IDLE * 1000))
        if not ready and not self._out:
            raise TimeoutError("nothing came")
        if self._far.fileno() in ready:
            self._far.recv(4096)
        while True:
            try:
                data = self._reader.some()
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return True
            if not data:
                return False  # the client's end
            self._feed(data)
            self._write()

    def _write(self):
        while self._out:
            try:
                with self.changed:
                    sent = self._sock.send(self._out[:65536])
                    del self._out[:sent]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return

    def _feed(self, data):
        with self.changed:
            try:
                for event in self.h2.receive_data(data):
                    handler = self.HANDLERS.get(type(event))
                    if handler:
                        handler(self, event)
            finally:
                self._out += self.h2.data_to_send()
                self.changed.notify_all()
        self.origin.note()

    # ---- what came -----------------------------------------------------------------------------------

    def _on_request(self, event):
        fields = text(event.headers)
        request = H2Request(
            self.connection, "".join(f"{name}: {value}\n" for name, value in fields).encode("latin-1"),
            version="HTTP/2", stream=event.stream_id,
            pseudo={name: value for name, value in fields if name.startswith(":")},
            fields=[(name, value) for name, value in fields if not name.startswith(":")],
            never_indexed={f[0].decode("latin-1") for f in event.headers if isinstance(f, hpack.NeverIndexedHeaderTuple)},
        )
        request.method, request.target = request.pseudo.get(":method", ""), request.pseudo.get(":path", "")
        request.body = request.body_raw = bytearray()
        self.connection.decoded += request.head
        stream = self._streams[event.stream_id] = Stream(self, request)
        self.origin.arrived(request)
        threading.Thread(target=stream.run, daemon=True).start()

    def _on_data(self, event):
        stream = self._streams[event.stream_id]
        stream.request.body += event.data
        stream.unread += len(event.data)
        unwanted = event.flow_controlled_length - len(event.data)  # padding
        if stream.left:
            unwanted, stream.unread = unwanted + stream.unread, 0
        self.h2.acknowledge_received_data(unwanted, event.stream_id)

    def _on_trailers(self, event):
        request = self._streams[event.stream_id].request
        request.trailers = text(event.headers)
        self.connection.decoded += "".join(f"{name}: {value}\n" for name, value in request.trailers).encode("latin-1")

    def _on_end(self, event):
        self._streams[event.stream_id].request.complete = True

    def _on_reset(self, event):
        if event.stream_id in self._streams and event.remote_reset:
            self._streams[event.stream_id].request.reset = int(event.error_code)

    def _on_goaway(self, event):
        self.goaway = (event.last_stream_id, int(event.error_code))

    def _on_settings(self, event):
        self.peer_settings.update({int(key): change.new_value for key, change in event.changed_settings.items()})

    HANDLERS = {
        h2.events.RequestReceived: _on_request,
        h2.events.DataReceived: _on_data,
        h2.events.TrailersReceived: _on_trailers,
        h2.events.StreamEnded: _on_end,
        h2.events.StreamReset: _on_reset,
        h2.events.ConnectionTerminated: _on_goaway,
        h2.events.RemoteSettingsChanged: _on_settings,
    }


class Stream(behaviours.Exchange):
    """One request and what is answered to it, with what an exchange of HTTP/1.1 offers to a behaviour."""

    def __init__(self, session, request):
        super().__init__(session.origin, None, None, request)
        self.session = session
        self.id = request.stream
        self.unread = 0
        self.left = False  # the behaviour is done with it

    def run(self):
        try:
            self.origin.behaviour(self.request)(self)
        except Gone:
            pass
        except (OSError, ValueError, IndexError) as error:
            self.request.connection.failure = f"{self.request.target}: {error}"
            self.session.end()
        finally:
            self._leave()
            self.origin.note()

    def _leave(self):
        """What was not read, and what may still come, holds up nobody."""
        with self.session.changed:
            self.left = True
            size, self.unread = self.unread, 0
            try:
                self.session.call(self.session.h2.acknowledge_received_data, size, self.id)
            except Gone:
                pass

    def _wait(self, condition):
        """Under the lock."""
        done = lambda: self.request.reset is not None or self.session.over or condition()
        if not self.session.changed.wait_for(done, IDLE):
            raise TimeoutError("nothing came on the stream")
        if self.request.reset is not None or self.session.over:
            raise Gone(f"stream {self.id}")

    # ---- the request ---------------------------------------------------------------------------------

    def read(self, most=1 << 30):
        """The next bytes of the body, and the window opens by them; b"" at its end."""
        with self.session.changed:
            self._wait(lambda: self.unread or self.request.complete)
            size = min(most, self.unread)
            at = len(self.request.body) - self.unread
            self.unread -= size
            data = bytes(self.request.body[at : at + size])
            if size:
                self.session.call(self.session.h2.acknowledge_received_data, size, self.id)
        return data

    def pieces(self):
        """The body as it comes, and nothing keeps it."""
        self.session.keep_no_record()
        while data := self.read():
            with self.session.changed:
                del self.request.body[: len(self.request.body) - self.unread]
            yield data

    def body(self):
        while self.read():
            pass
        return bytes(self.request.body)

    def accept_body(self):
        if self.request.values("expect"):
            self.interim(100)
        return self.body()

    def wait_reset(self):
        """Neither reads nor answers until the client gives up."""
        with self.session.changed:
            self._wait(lambda: False)

    # ---- the answer ----------------------------------------------------------------------------------

    def send(self, data):
        raise Gone("these bytes are of HTTP/1.1: the behaviour has no form for HTTP/2")

    def headers(self, fields, end=False):
        """Any field block."""
        fields = [(name.lower() if isinstance(name, str) else name, value) for name, value in fields]
        self.session.call(self.session.h2.send_headers, self.id, fields, end_stream=end)

    def interim(self, status, fields=()):
        self.headers([(":status", str(status)), *fields])

    def begin(self, status=200, fields=(), reason=None, end=False):
        self.headers([(":status", str(status)), *fields], end)

    def piece(self, data, end=False):
        """Goes out as the client's windows allow."""
        view = memoryview(data)
        while True:
            with self.session.changed:
                if view:
                    self._wait(lambda: self.session.h2.local_flow_control_window(self.id) > 0)
                h2_ = self.session.h2
                room = min(h2_.local_flow_control_window(self.id), h2_.max_outbound_frame_size) if view else 0
                part, view = view[:room], view[room:]
                self.session.call(h2_.send_data, self.id, bytes(part), end_stream=end and not view)
            if not view:
                return

    def finish(self, trailers=()):
        if trailers:
            self.headers(trailers, end=True)
        else:
            self.session.call(self.session.h2.end_stream, self.id)

    def reply(self, status=200, body=b"", fields=(), reason=None):
        bare = status in (204, 304)
        length = [] if bare else [("content-length", str(len(body)))]
        silent = bare or self.request.method == "HEAD" or not body
        self.begin(status, [*fields, *length], end=silent)
        if not silent:
            self.piece(body, end=True)

    def reset(self, code):
        self.session.call(self.session.h2.reset_stream, self.id, code)

    def raw(self, data):
        self.session.raw(data)

    def goaway(self, last, code=h2_frames.NO_ERROR):
        """The streams that are there go on."""
        self.session.raw(h2_frames.goaway(last, code))
