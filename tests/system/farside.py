# SPDX-License-Identifier: Apache-2.0
"""farside.py - what lies behind the interface of sandboxes in uplink mode.

      sandbox a                       far side                          sandbox b
     +--------------------+          +---------------------------+     +--------------------+
     | lo, eth0           |   veth   | bridge 10.77.0.1 fd77::1  |     | eth0 10.77.0.3     |
     | 10.77.0.2 fd77::2  +----------+ port    port              +-----+      fd77::3       |
     | default route to   |          | every other address is    |     +--------------------+
     | the far side       |          | local here: canaries on   |
     +--------------------+          | TCP and UDP               |
                                     | packet socket on each port|
                                     +---------------------------+

The far side has no way to anywhere else. Whatever leaves a sandbox by its interface is a frame on its port:
Capture tells which of them are not the answer to something that the far side sent first.
"""
import ipaddress
import itertools
import os
import socket
import struct
import threading
import time

from origin.netns import Netns
from origin.sniffer import Frames
from sandbox import Sandbox
from waiting import until

BRIDGE4, BRIDGE6 = "10.77.0.1", "fd77::1"
MARKER = 0x88B5  # an ethertype for local experiments
PACKET_OUTGOING = 4
DISCOVERY = {131, 132, 133, 134, 135, 136, 143}  # ICMPv6: neighbours, groups
CANARY_PORTS = (22, 53, 80, 443, 8080, 5353)
_numbers = itertools.count(2)


def _quoted(frame, at, protocol):
    """Of an ICMP error: the packet that it is about, as what _parse() says of it."""
    if (protocol, frame[at]) not in ((1, 3), (1, 11), (1, 12), (58, 1), (58, 2), (58, 3), (58, 4)):
        return None
    head = frame[:12] + struct.pack("!H", 0x0800 if protocol == 1 else 0x86DD)
    return _parse(head + frame[at + 8 :])[1]


def _parse(frame):
    """(kind, what, detail) of one frame: what pairs a question with its answer, detail is for people."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == 0x0806:
        return "arp", None, "arp"
    if kind == 0x0800:
        at, protocol = 14 + (frame[14] & 15) * 4, frame[23]
        source, target = frame[26:30], frame[30:34]
    elif kind == 0x86DD:
        at, protocol = 54, frame[20]
        source, target = frame[22:38], frame[38:54]
    else:
        return "other", None, f"ethertype {kind:#06x}"
    ends = (ipaddress.ip_address(source), ipaddress.ip_address(target))
    detail = f"protocol {protocol} {ends[0]} -> {ends[1]}"
    if protocol in (6, 17):
        ports = struct.unpack_from("!HH", frame, at)
        detail += f" ports {ports[0]} -> {ports[1]}"
        if protocol == 6:
            detail += f" flags {frame[at + 13]:#04x}"
        return "ip", (protocol, ends[0], ports[0], ends[1], ports[1]), detail
    if protocol == 58 and frame[at] in DISCOVERY:
        return "discovery", None, detail
    if protocol in (1, 58) and _quoted(frame, at, protocol):
        return "error", _quoted(frame, at, protocol), detail
    if protocol == 0 and frame[at + 8] in DISCOVERY and frame[at] == 58:
        return "discovery", None, detail
    return "ip", (protocol, ends[0], 0, ends[1], 0), detail


class Capture(Frames):
    """Every frame on every port of the far side, in both directions."""

    def __init__(self, netns):
        self.frames = []  # (port, outgoing, frame)
        super().__init__(netns, 64 << 20)

    def _take(self, frame, port, kind):
        self.frames.append((port, kind == PACKET_OUTGOING, frame))

    def settle(self, sandbox):
        """Returns when all that left the sandbox's interface before has been seen; the place in the record."""
        mark = os.urandom(16)

        def send():
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
                sock.bind(("eth0", 0))
                for processor in os.sched_getaffinity(0):
                    os.sched_setaffinity(0, {processor})
                    sock.send(b"\xff" * 6 + b"\x02" * 6 + struct.pack("!H", MARKER) + mark.ljust(46, b"\0"))

        start, processors = len(self.frames), len(os.sched_getaffinity(0))
        sandbox.netns.call(send)
        deadline = time.monotonic() + 10
        with self._seen:
            while sum(port == sandbox.port and mark in frame for port, _, frame in self.frames[start:]) < processors:
                if not self._seen.wait(deadline - time.monotonic()):
                    raise AssertionError("the far side does not see its own marker")
            place = len(self.frames)
        assert not self.drops(), "the capture lost frames: its silence proves nothing"
        return place

    def unasked(self, sandbox, since=0):
        """What left the sandbox and answers nothing that was sent to it; texts. Settles first."""
        end = self.settle(sandbox)
        asked, found = set(), []
        for number, (port, outgoing, frame) in enumerate(self.frames[:end]):
            if port != sandbox.port or frame[12:14] == struct.pack("!H", MARKER):
                continue
            kind, what, detail = _parse(frame)
            if kind in ("arp", "discovery"):
                continue
            if outgoing:
                asked.add(what)
                continue
            opens = kind == "ip" and what[0] == 6 and "flags 0x02" in detail
            answers = what in asked if kind == "error" else kind == "ip" and (what[0], *what[3:], *what[1:3]) in asked
            if number >= since and (opens or not answers):
                found.append(detail)
        return found


class FarSide:
    def __init__(self):
        self.netns = Netns("farside")
        self.netns.ip([
            "link set lo up",
            # an address of its own: the lowest of its ports' would change when a namespace that is gone takes its port along,
            # and every sandbox would speak to the old one until it asks anew, some five seconds later
            "link add bridge address 02:00:00:00:00:01 type bridge mcast_snooping 0 stp_state 0",
            f"addr add {BRIDGE4}/24 dev bridge",
            f"addr add {BRIDGE6}/64 dev bridge nodad",
            "link set bridge up",
            "route add local default dev lo table local",
            "route add local ::/0 dev lo table local",
        ])
        for family in ("ipv4", "ipv6"):
            self.netns.sysctl(f"{family}/neigh/bridge/retrans_time_ms", 50)
        self.wired = set()  # addresses of sandboxes
        self.heard = []  # (protocol, asked address, port, bytes)
        self._sockets = []
        self.capture = Capture(self.netns)
        for port in CANARY_PORTS:
            self._canary(socket.SOCK_STREAM, port)
            self._canary(socket.SOCK_DGRAM, port)

    def wire(self, netns, mtu=1500):
        """An interface eth0 in the namespace, on the bridge; (name of the port, IPv4, IPv6)."""
        number = next(_numbers)
        ip4, ip6, name = f"10.77.0.{number}", f"fd77::{number:x}", f"port{number}"
        netns.sysctl("ipv6/conf/default/accept_dad", 0)  # addresses are usable at once
        self.netns.ip([
            f"link add {name} mtu {mtu} type veth peer name eth0 mtu {mtu} netns {netns.path}",
            f"link set {name} master bridge",
            f"link set {name} up",
            f"route add unicast {ip4} dev bridge table local",
            f"route add unicast {ip6} dev bridge table local",
        ])
        netns.ip([
            "link set lo up",
            "link set eth0 up",
            f"addr add {ip4}/24 dev eth0",
            f"addr add {ip6}/64 dev eth0 nodad",
            f"route add default via {BRIDGE4}",
            f"route add default via {BRIDGE6}",
        ])
        self.wired |= {ip4, ip6}
        return name, ip4, ip6

    # ---- canaries ------------------------------------------------------------------------------------

    def _canary(self, kind, port):
        sock = self.netns.socket(socket.AF_INET6, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", port))
        if kind == socket.SOCK_STREAM:
            sock.listen(64)
        self._sockets.append(sock)
        threading.Thread(target=self._hear, args=(sock, kind, port), daemon=True).start()

    def _hear(self, sock, kind, port):
        while True:
            try:
                if kind == socket.SOCK_STREAM:
                    peer, _ = sock.accept()
                    self.heard.append(("tcp", peer.getsockname()[0], port, b""))
                    peer.close()
                else:
                    data, _ = sock.recvfrom(2048)
                    self.heard.append(("udp", "", port, data))
            except OSError:
                return

    # ---- clients -------------------------------------------------------------------------------------

    def ask(self, address, port, timeout=5, data=b"hello"):
        """What a server in a sandbox answers to one connection."""

        def connect():
            with socket.create_connection((address, port), timeout) as sock:
                sock.sendall(data)
                return sock.recv(4096)

        return self.netns.call(connect)

    def ping(self, address, timeout=5):
        """Whether an echo request is answered."""
        v6 = ":" in address
        kind, answer = (128, 129) if v6 else (8, 0)
        mark = os.urandom(8)
        packet = struct.pack("!BBHHH", kind, 0, 0, 1, 1) + mark
        if not v6:  # the kernel sums for IPv6
            total = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
            total = (total >> 16) + (total & 0xFFFF)
            packet = packet[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + packet[4:]
        family, protocol = (socket.AF_INET6, 58) if v6 else (socket.AF_INET, 1)
        with self.netns.socket(family, socket.SOCK_RAW, protocol) as sock:
            sock.settimeout(timeout)
            sock.sendto(packet, (address, 0))
            while True:
                data = sock.recv(200)
                data = data if v6 else data[20:]
                if data[0] == answer and data.endswith(mark):
                    return True

    def neighbour(self, address):
        """What becomes of the question for an address on the segment: FAILED, or another state."""
        wired = address in self.wired
        if not wired:
            self.netns.ip([f"route add unicast {address} dev bridge table local"])
        with self.netns.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"who is there?", (address, 9))

        def state():
            text = self.netns.run("ip", "neigh", "show", "to", address, "dev", "bridge").stdout.split()
            return text and text[-1] != "INCOMPLETE" and text[-1]

        try:
            return until(state, f"an answer for {address}, or none")
        finally:
            if not wired:
                self.netns.ip([f"route del unicast {address} dev bridge table local"])

    def close(self):
        for sock in self._sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()
        self.capture.close()
        self.netns.close()


class UplinkSandbox(Sandbox):
    """On a far side. Its programs come by `enter`, which leaves them no capability."""

    def __init__(self, stack, policy, far, options=("--bounding", "none"), mtu=1500, **more):
        super().__init__(stack, policy, options=("--mode", "uplink", *options), **more)
        self.far = far
        self.port, self.ip4, self.ip6 = far.wire(self.netns, mtu)

    def unasked(self, since=0):
        return self.far.capture.unasked(self, since)
