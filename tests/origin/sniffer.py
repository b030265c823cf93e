# SPDX-License-Identifier: Apache-2.0
"""sniffer.py - every packet that comes out of the edge, as a packet socket on the wire sees it.

This is the proof behind each refusal: not that a client got an error, but that nothing was on the wire.
settle() makes "nothing" mean something: it sends a marker over the same wire from every processor (each
has its own queue) and returns when all of them have been seen.
"""
import ctypes
import ipaddress
import itertools
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
TCP, UDP = 6, 17
MARKER = "203.0.113.254"

# In the kernel, so that no flood of data makes the sniffer miss what matters: drops what goes towards the
# edge, and what follows the first packet of a TCP connection to an origin (203.0.113.0/24, 2001:db8::/32).
SO_ATTACH_FILTER = 26
_FILTER = (
    (0x30, 0, 0, 0xFFFFF004),  # the packet's type, as SKF_AD_PKTTYPE
    (0x15, 18, 0, PACKET_OUTGOING),  # -> drop
    (0x28, 0, 0, 12),  # the protocol of the frame
    (0x15, 0, 8, 0x0800),  # IPv4, else ->
    (0x30, 0, 0, 23),
    (0x15, 0, 13, TCP),  # another protocol -> keep
    (0xB1, 0, 0, 14),  # the length of the header
    (0x50, 0, 0, 27),  # the flags behind it
    (0x45, 10, 0, 2),  # SYN -> keep
    (0x20, 0, 0, 30),
    (0x54, 0, 0, 0xFFFFFF00),
    (0x15, 8, 7, 0xCB007100),  # to an origin -> drop, else -> keep
    (0x15, 0, 6, 0x86DD),  # IPv6, else -> keep
    (0x30, 0, 0, 20),
    (0x15, 0, 4, TCP),
    (0x30, 0, 0, 67),
    (0x45, 2, 0, 2),
    (0x20, 0, 0, 38),
    (0x15, 1, 0, 0x20010DB8),
    (0x06, 0, 0, 256),  # keep
    (0x06, 0, 0, 0),  # drop
)


def _attach_filter(sock):
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in _FILTER))
    program = struct.pack("HL", len(_FILTER), ctypes.addressof(code))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


@dataclass(frozen=True)
class Packet:
    protocol: int  # 6, 17, or another IP protocol number
    source: str
    target: str
    port: int  # of the target; 0 where the protocol has none
    syn: bool  # the first packet of a TCP connection

    def __str__(self):
        kind = {TCP: "tcp", UDP: "udp"}.get(self.protocol, str(self.protocol))
        return f"{kind}{' SYN' if self.syn else ''} {self.source} -> {self.target} port {self.port}"


def _parse(frame):
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == 0x0800:
        at = 14 + (frame[14] & 15) * 4
        protocol = frame[23]
        source, target = frame[26:30], frame[30:34]
    elif kind == 0x86DD:
        at = 54
        protocol = frame[20]
        source, target = frame[22:38], frame[38:54]
    else:
        return None  # ARP and the like: no way to carry a payload to an address
    port = struct.unpack_from("!H", frame, at + 2)[0] if protocol in (TCP, UDP) else 0
    syn = protocol == TCP and frame[at + 13] & 0x12 == 0x02
    return Packet(
        protocol,
        str(ipaddress.ip_address(source)),
        str(ipaddress.ip_address(target)),
        port,
        syn,
    )


def _is_chatter(packet):
    """Multicast that a kernel sends for itself: neighbour and group discovery."""
    return packet.protocol == 58 and ipaddress.ip_address(packet.target).is_multicast


class Frames:
    """A packet socket in a namespace, read by a thread: each frame goes to _take() under the lock."""

    def __init__(self, netns, room, prepare=lambda sock: None):
        """room: bytes of the socket's buffer; prepare(sock): before the first frame."""
        self._sock = netns.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, room)
        prepare(self._sock)
        self._sock.settimeout(0.2)
        self._open = True
        self._seen = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while self._open:
            try:
                frame, (port, _, kind, _, _) = self._sock.recvfrom(256)
            except socket.timeout:
                continue
            except OSError:
                return
            with self._seen:
                self._take(frame, port, kind)
                self._seen.notify_all()

    def drops(self):
        return struct.unpack("II", self._sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]

    def close(self):
        self._open = False
        self._thread.join()
        self._sock.close()


class Sniffer(Frames):
    def __init__(self, netns, interface, edge):
        self.packets = []
        self._edge = edge
        self._numbers = itertools.count(20000)

        def prepare(sock):
            _attach_filter(sock)
            sock.bind((interface, ETH_P_ALL))

        super().__init__(netns, 16 << 20, prepare)

    def _take(self, frame, port, kind):
        try:
            packet = _parse(frame)
        except (IndexError, struct.error):
            return
        if packet and not _is_chatter(packet):
            self.packets.append(packet)

    def _mark_wire(self, port):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for processor in os.sched_getaffinity(0):
                os.sched_setaffinity(0, {processor})
                sock.sendto(b"marker", (MARKER, port))

    def settle(self):
        """Returns when everything sent before this call has been seen; the place in the record."""
        if self.drops():
            raise AssertionError("the sniffer lost packets: its silence proves nothing")
        port = next(self._numbers)
        processors = len(os.sched_getaffinity(0))
        start = len(self.packets)
        self._edge.call(self._mark_wire, port)
        deadline = time.monotonic() + 10
        with self._seen:
            while True:
                markers = [p for p in self.packets[start:] if p.target == MARKER and p.port == port]
                if len(markers) >= processors:
                    return len(self.packets)
                if not self._seen.wait(deadline - time.monotonic()):
                    raise AssertionError("the sniffer does not see its own marker")

    def since(self, place, **wanted):
        """Packets after a place, markers left out, that have every wanted attribute."""
        return [
            p
            for p in self.packets[place:]
            if p.target != MARKER and all(getattr(p, k) == v for k, v in wanted.items())
        ]
