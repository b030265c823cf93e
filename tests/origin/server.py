# SPDX-License-Identifier: Apache-2.0
"""server.py - the origin: every address of the internet namespace, TLS on 443 and 8443, plain elsewhere.

Life of a connection: accept, (handshake,) then request after request until a side closes. Everything that
arrives is recorded byte for byte before it is understood, so a test can say "nothing of this came"; of HTTP/2, whose
fields are compressed, the fields as well.
Certificate and protocols follow the address that was dialled (zone.CERTIFICATES, zone.PROTOCOLS). HTTP/2 is spoken
where it was chosen, and without TLS to who begins with its preface.
"""
import socket
import ssl
import threading
from dataclasses import dataclass, field

from . import behaviours, h2_behaviours, h2_frames, h2_session, message, zone

PORTS = {443: True, 8443: True, 80: False, 8080: False, 5432: False, 22: False}  # port: TLS
HEAD_END = b"\r\n\r\n"
H2_HEAD = h2_frames.PREFACE[: h2_frames.PREFACE.index(HEAD_END) + 4]
IDLE = 60
CLOSING = 0.5  # seconds for the other side's goodbye


def plain_address(address):
    text = address[0]
    return (text[7:] if text.startswith("::ffff:") else text, address[1])


@dataclass
class Connection:
    local: tuple
    peer: tuple
    tls: bool
    sni: str = None
    alpn: str = None
    failure: str = None  # of the handshake
    received: bytearray = field(default_factory=bytearray)  # in the clear
    decoded: bytearray = field(default_factory=bytearray)  # the fields of HTTP/2, a line each
    requests: list = field(default_factory=list)
    open: bool = True
    h2: object = None  # its h2_session.Session

    def __str__(self):
        return f"{self.peer[0]} -> {self.local[0]}:{self.local[1]} {bytes(self.received[:200])!r}"


class Origin:
    def __init__(self, netns, pki, ports=None):
        self.connections = []
        self._arrived = []  # every request, in the order of arrival
        self._pki = pki
        self._extra = {}
        self.h2_settings = {}  # of connections from now on, where they are not the library's
        self._changed = threading.Condition()
        self._sockets = set()
        self._listeners = []
        for port, tls in (ports or PORTS).items():
            listener = netns.socket(socket.AF_INET6, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listener.bind(("::", port))
            listener.listen(256)
            self._listeners.append(listener)
            threading.Thread(target=self._accept, args=(listener, tls), daemon=True).start()

    # ---- what tests use ------------------------------------------------------------------------------

    def on(self, path, behaviour):
        self._extra[path] = behaviour

    def forget(self):
        """What tests have added."""
        self._extra.clear()

    def mark(self):
        return len(self.connections), sum(len(c.received) for c in self.connections)

    def requests(self, path=None, host=None):
        return [
            request
            for request in list(self._arrived)
            if (path is None or request.path == path)
            and (host is None or host in request.values("host"))
        ]

    def last(self, path):
        found = self.requests(path)
        assert found, f"no request for {path} reached the origin"
        return found[-1]

    def received(self):
        """Everything in the clear, ever."""
        return b"\0".join(bytes(c.received + c.decoded) for c in list(self.connections) if c.received)

    def wait(self, condition, seconds=10):
        with self._changed:
            assert self._changed.wait_for(condition, seconds), "the origin did not see it in time"

    def drop_connections(self):
        """Resets what is open, as a server that restarts does."""
        for sock in list(self._sockets):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        for listener in self._listeners:
            try:
                listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            listener.close()
        self.drop_connections()

    # ---- one connection ------------------------------------------------------------------------------

    def note(self):
        with self._changed:
            self._changed.notify_all()

    def arrived(self, request):
        with self._changed:
            request.turn = 1 + sum(other.path == request.path for other in self._arrived)
            request.connection.requests.append(request)
            self._arrived.append(request)
            self._changed.notify_all()

    def behaviour(self, request):
        if request.connection.h2:
            return behaviours.find(request.path, self._extra, h2_behaviours.BEHAVIOURS)
        return behaviours.find(request.path, self._extra)

    @staticmethod
    def _named(sock, name, context):
        sock.named = name

    def _accept(self, listener, tls):
        while True:
            try:
                sock, peer = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock, peer, tls), daemon=True).start()

    def _serve(self, sock, peer, tls):
        local = plain_address(sock.getsockname())
        connection = Connection(local, plain_address(peer), tls)
        self.connections.append(connection)
        self.note()
        sock.settimeout(IDLE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if tls:
                protocols = zone.PROTOCOLS.get(local[0], ("http/1.1",))
                context = self._pki.context(zone.CERTIFICATES.get(local[0], "good"), protocols)
                context.sni_callback = self._named
                sock = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
                sock.named = None
                try:
                    sock.do_handshake()
                finally:
                    connection.sni = sock.named
                connection.alpn = sock.selected_alpn_protocol()
                if protocols == ("h2",) and connection.alpn != "h2":
                    raise ConnectionError("the client does not offer h2, and nothing else is spoken here")
            elif sock.recv(1, socket.MSG_PEEK) == b"\x16":  # TLS to a port that has none
                sock.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                return
            self._sockets.add(sock)
            self._speak(connection, sock)
            if tls:
                sock.settimeout(CLOSING)
                sock.unwrap()  # an end in order: without it what ends with the connection looks cut off
        except ssl.SSLError as error:
            connection.failure = error.reason or str(error)
        except (OSError, ConnectionError, ValueError, IndexError) as error:
            connection.failure = str(error)
        finally:
            connection.open = False
            self._sockets.discard(sock)
            sock.close()
            self.note()

    def _speak(self, connection, sock):
        reader = message.Reader(sock, connection.received)
        first = b""
        while connection.alpn != "h2":
            head = reader.until(HEAD_END)
            if head is None:
                return
            if head == H2_HEAD and not connection.tls:
                first = head
                break
            request = message.parse_head(connection, head)
            self.arrived(request)
            exchange = behaviours.Exchange(self, sock, reader, request)
            self.behaviour(request)(exchange)
            self.note()
            if exchange.close or not request.keep_alive:
                return
        connection.h2 = h2_session.Session(self, connection, sock, reader)
        connection.h2.run(first)
