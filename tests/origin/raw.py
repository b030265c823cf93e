# SPDX-License-Identifier: Apache-2.0
"""raw.py - servers of the tests' internet that speak no HTTP: one a port, a thread a connection.

A behaviour is a function of a socket; what it raises ends the connection. Raw remembers every connection that it
accepted (where to, when, what came), so that it is a canary as well, and what is still open.
"""
import contextlib
import hashlib
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

IDLE = 60
BANNER = b"220 banner of a server that speaks first\r\n"


@dataclass
class Accepted:
    local: tuple
    sock: socket.socket
    first: bytes = b""  # what came first
    spoke: float = 0  # when the server said its banner
    ended: str = ""  # "fin", "reset": what the other side's end was
    got: int = 0
    digest: object = field(default_factory=hashlib.sha256)
    done: bool = False


class Raw:
    def __init__(self, netns, port, behaviour, backlog=1024):
        self.port = port
        self.accepted = []
        self.behaviour = behaviour
        self._changed = threading.Condition()
        self._listener = netns.socket(socket.AF_INET6, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self._listener.bind(("::", port))
        self._listener.listen(backlog)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self.accepted:
            one.sock.close()

    def wait(self, condition, seconds=10):
        with self._changed:
            assert self._changed.wait_for(condition, seconds), "the raw server did not see it in time"

    def open(self):
        return sum(not one.done for one in list(self.accepted))

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            address = sock.getsockname()[0]
            local = address[7:] if address.startswith("::ffff:") else address
            one = Accepted((local, self.port), sock)
            self.accepted.append(one)
            self._note()
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _note(self):
        with self._changed:
            self._changed.notify_all()

    def _serve(self, one):
        one.sock.settimeout(IDLE)
        one.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.behaviour(one)
        except ConnectionResetError:
            one.ended = "reset"
        except OSError as error:
            one.ended = one.ended or str(error)
        finally:
            one.done = True
            one.sock.close()
            self._note()


@contextlib.contextmanager
def serving(netns, behaviours):
    """A server for each port, from its start to its end: port -> server."""
    with contextlib.ExitStack() as made:
        yield {port: made.enter_context(contextlib.closing(Raw(netns, port, one))) for port, one in behaviours.items()}


def receive(one, most=65536):
    data = one.sock.recv(most)
    if not data:
        one.ended = "fin"
    one.first = one.first or data
    one.got += len(data)
    one.digest.update(data)
    return data


def echo(one):
    while data := receive(one):
        one.sock.sendall(data)


def banner(one):
    """Speaks first, then echoes."""
    one.spoke = time.monotonic()
    one.sock.sendall(BANNER)
    echo(one)


def after_eof(one):
    """CAP-06: reads until the end, waits, answers with 1 MiB and closes."""
    while receive(one):
        pass
    time.sleep(0.5)  # what the case is about: the client's end lies back when the answer begins
    one.sock.sendall(b"r" * (1 << 20))


def half_first(one):
    """Says its piece and its end at once, and listens on."""
    one.sock.sendall(BANNER)
    one.sock.shutdown(socket.SHUT_WR)
    while receive(one):
        pass


def both(size):
    """Sends so many bytes while it reads to the end; then its own end."""

    def behaviour(one):
        def send():
            block = bytes(range(256)) * 256
            for at in range(0, size, len(block)):
                one.sock.sendall(block[: size - at])

        sender = threading.Thread(target=send)
        sender.start()
        while receive(one, 1 << 18):
            pass
        sender.join()
        one.sock.shutdown(socket.SHUT_WR)

    return behaviour


def mute(one):
    """Neither reads nor writes, until somebody closes it."""
    one.sock.settimeout(None)
    while one.sock.fileno() >= 0 and not one.done:
        time.sleep(0.05)


def resets(one):
    """Waits for a byte, and resets."""
    receive(one)
    reset(one.sock)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
