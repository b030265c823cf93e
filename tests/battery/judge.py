# SPDX-License-Identifier: Apache-2.0
"""judge.py - the canary: what of which attempt arrived on the far side.

It listens at every attempt's port on every address of the internet, TCP and UDP, and reads every packet that
comes in by any link there. An attempt is known by its token (in any payload of any protocol, wrapped in
whatever), by its own addresses, or by its port. What the client saw has no say.

    token, accept   REACHED: payload arrived, or a connection was accepted
    packet          LEAKED: something of it was on the wire

The judge also calls: the attempts of `called` kind get a connection or datagrams from it, from the attempt's
port to the attempt's port.
"""
import ipaddress
import os
import re
import selectors
import socket
import struct
import threading
import time

from waiting import PATIENCE

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
TCP, UDP, DCCP, SCTP, UDPLITE = 6, 17, 33, 132, 136
EXTENSIONS = (0, 43, 60)  # hop-by-hop, routing, destination options
MARKER, MARKER_PORT = "203.0.113.254", 19999

CALLED = {16: (socket.AF_INET, socket.SOCK_STREAM), 32: (socket.AF_INET, socket.SOCK_DGRAM),
          64: (socket.AF_INET6, socket.SOCK_STREAM)}


def parse(frame, kind):
    """(protocol, target, port, syn) of an IP packet behind an Ethernet header, or None."""
    if kind == 0x0800:
        at, protocol, target = 14 + (frame[14] & 15) * 4, frame[23], frame[30:34]
    elif kind == 0x86DD:
        at, protocol, target = 54, frame[20], frame[38:54]
        while protocol in EXTENSIONS:
            protocol, at = frame[at], at + 8 + frame[at + 1] * 8
    else:
        return None
    port = 0
    if protocol in (TCP, UDP, DCCP, SCTP, UDPLITE):
        port = struct.unpack_from("!H", frame, at + 2)[0]
    syn = protocol == TCP and frame[at + 13] & 0x12 == 0x02
    return protocol, str(ipaddress.ip_address(target)), port, syn


class Judge:
    def __init__(self, world, nonce):
        self._world = world
        self._token = re.compile(rb"SPBATTERY-%s-(\d+)[.\x04]" % nonce.encode())
        self._sniffer = world.internet.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._sniffer.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._sniffer, selectors.EVENT_READ, self._packet)
        self._wake, self._waker = socket.socketpair()
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._listeners = []
        self._rows, self._base, self._addresses = [], 0, {}
        self._evidence = {}
        self._markers = threading.Semaphore(0)
        self._calls, self._silent = [], threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # ---- a session of attempts -----------------------------------------------------------------------

    def begin(self, base, rows):
        """From here on, evidence counts for these attempts."""
        self.settle()
        self._evidence = {}
        self._addresses = {row["address"]: row["index"] for row in rows}
        self._addresses.update({f"2001:db8::bb:{row['index']:x}": row["index"] for row in rows})
        self._rows, self._base = rows, base
        self._listeners = self._world.internet.call(self._listen)

    def forget(self):
        """What has arrived up to here was allowed: it is older than the attach."""
        self.settle()
        self._evidence = {}

    def end(self):
        """{index: {"token via eth0", ...}}: all that arrived of attempts that have ended before this call."""
        self.settle()
        evidence, self._evidence = self._evidence, {}
        self._rows = []
        for sock in self._listeners:
            self._selector.unregister(sock)
            sock.close()
        self._listeners = []
        return evidence

    def _listen(self):
        made = []
        for row in self._rows:
            port, host = (row["port"], row["address"]) if row["port"] else (self._base + row["index"], "::")
            family = socket.AF_INET6 if host == "::" else socket.AF_INET
            for kind, handler in ((socket.SOCK_STREAM, self._accept), (socket.SOCK_DGRAM, self._data)):
                sock = socket.socket(family, kind)
                sock.setblocking(False)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # the judge calls from there
                if family == socket.AF_INET6:
                    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                try:
                    sock.bind((host, port))
                except OSError:  # 443 is an origin's: the sniffer has to do
                    sock.close()
                    continue
                if kind == socket.SOCK_STREAM:
                    sock.listen(16)
                self._selector.register(sock, selectors.EVENT_READ, handler)
                made.append(sock)
        return made

    # ---- evidence ------------------------------------------------------------------------------------

    def _note(self, index, what, via):
        self._evidence.setdefault(index, set()).add((what, via))

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                try:
                    key.data(key.fileobj)
                except OSError:
                    pass  # closed meanwhile, or reset

    def _accept(self, listener):
        sock, _ = listener.accept()
        sock.setblocking(False)
        index = listener.getsockname()[1] - self._base
        if 0 <= index < len(self._rows):
            self._note(index, "accept", "tcp")
        self._selector.register(sock, selectors.EVENT_READ, self._stream)

    def _stream(self, sock):
        try:
            if sock.recv(4096):
                return
        except OSError:
            pass
        self._selector.unregister(sock)
        sock.close()

    def _data(self, sock):
        sock.recv(4096)  # the sniffer has read it already

    def _packet(self, sniffer):
        frame, (interface, kind, direction, *_) = sniffer.recvfrom(2048)
        if direction == PACKET_OUTGOING or interface == "lo" or len(frame) < 14:
            return
        for index in self._token.findall(frame):
            self._note(int(index), "token", interface)
        try:
            packet = parse(frame, kind)
        except (IndexError, struct.error):
            return
        if not packet:
            return
        protocol, target, port, syn = packet
        if target == MARKER and port == MARKER_PORT:
            self._markers.release()
        elif target in self._addresses:
            self._note(self._addresses[target], "packet", interface)
        elif 0 <= port - self._base < len(self._rows):
            row = self._rows[port - self._base]
            if syn or not row["flags"] & sum(CALLED):  # answers to the judge's own calls are no leak
                self._note(row["index"], "packet", interface)

    # ---- calls ---------------------------------------------------------------------------------------

    def call(self, own4, own6, peer4, peer6):
        """Calls every attempt that wants it, until hush()."""
        self._silent.clear()
        for row in self._rows:
            for flag, (family, kind) in CALLED.items():
                if row["flags"] & flag:
                    ends = (peer4, own4) if family == socket.AF_INET else (peer6, own6)
                    caller = self._call_tcp if kind == socket.SOCK_STREAM else self._call_udp
                    thread = threading.Thread(
                        target=caller, args=(family, *ends, self._base + row["index"]), daemon=True
                    )
                    thread.start()
                    self._calls.append(thread)

    def hush(self):
        self._silent.set()
        for thread in self._calls:
            thread.join()
        self._calls = []

    def _caller(self, family, kind, here, there, port):
        sock = self._world.internet.socket(family, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.settimeout(0.2 * PATIENCE)
        try:
            sock.bind((here, port))
            sock.connect((there, port))
        except OSError:
            sock.close()
            return None
        return sock

    def _call_tcp(self, family, here, there, port):
        """Until one call is taken; it is ended by the other side."""
        while not self._silent.wait(0.05):
            sock = self._caller(family, socket.SOCK_STREAM, here, there, port)
            if sock is None:
                continue
            with sock:
                try:
                    sock.send(b"call")
                    if sock.recv(100) == b"answer":
                        sock.send(b"confirmed")
                    self._silent.wait(2 * PATIENCE)
                except OSError:
                    pass
            return

    def _call_udp(self, family, here, there, port):
        sock = self._caller(family, socket.SOCK_DGRAM, here, there, port)
        if sock is None:
            return
        with sock:
            while not self._silent.wait(0.05):
                try:
                    sock.send(b"call")
                    if sock.recv(100) == b"answer":
                        sock.send(b"confirmed")
                except OSError:
                    pass

    # ---- silence that means something ----------------------------------------------------------------

    def _mark(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for processor in os.sched_getaffinity(0):
                os.sched_setaffinity(0, {processor})
                sock.sendto(b"marker", (MARKER, MARKER_PORT))

    def settle(self):
        """Returns when everything that was sent before has been read: each processor has its own queue."""
        self._world.edge.call(self._mark)
        deadline = time.monotonic() + 10 * PATIENCE
        for _ in os.sched_getaffinity(0):
            if not self._markers.acquire(timeout=max(0, deadline - time.monotonic())):
                raise AssertionError("the judge does not see its own marker: its silence proves nothing")
        lost = struct.unpack("II", self._sniffer.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
        assert not lost, "the judge lost packets: its silence proves nothing"

    def close(self):
        self._waker.send(b"x")
        self._thread.join()
        for sock in (*self._listeners, self._sniffer, self._wake, self._waker):
            sock.close()
