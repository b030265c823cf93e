# SPDX-License-Identifier: Apache-2.0
"""forging.py NAME [ADDRESS...] - one way of sending past a sandbox by its interface eth0, as a program of its own.

    OPEN      wants no capability
    FORGED    wants CAP_NET_RAW
    ROOT      wants CAP_NET_ADMIN, over what the sandbox hangs on
Each ends with status 0 whatever came of it: the judge is who listens outside. A way that this kernel does not
have, or that the capabilities at hand forbid, says so on standard output and ends with 3.
"""
import errno
import os
import socket
import struct
import subprocess
import sys

PUBLIC4, PUBLIC6, META4 = "203.0.113.80", "2001:db8::80", "169.254.169.254"
BRIDGE4, BRIDGE6 = "10.77.0.1", "fd77::1"
PORT = 8080  # of the sandbox's own server
SHORT = 0.15
SO_BINDTODEVICE, IP_UNICAST_IF, IPV6_UNICAST_IF, IPV6_RTHDR, IP_TRANSPARENT, SO_MARK = 25, 50, 76, 57, 19, 36
MSG = b"past the sandbox"


def sock(family, kind=socket.SOCK_STREAM, protocol=0):
    made = socket.socket(family, kind, protocol)
    made.settimeout(SHORT)
    return made


def of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def index():
    return socket.if_nametoindex("eth0")


def tcp(address, before=lambda s: None, port=443):
    with sock(of(address)) as s:
        before(s)
        try:
            s.connect((address, port))
            s.sendall(MSG)
        except OSError:
            pass


def udp(address, before=lambda s: None, connected=False, port=443, scope=0):
    target = (address, port, 0, scope) if scope else (address, port)
    with sock(of(address), socket.SOCK_DGRAM) as s:
        before(s)
        try:
            if connected:
                s.connect(target)
                s.send(MSG)
            else:
                s.sendto(MSG, target)
        except OSError:
            pass


def all_ways(before4, before6=None, addresses=(PUBLIC4, PUBLIC6, META4, BRIDGE4, BRIDGE6)):
    for address in addresses:
        before = (before6 or before4) if ":" in address else before4
        tcp(address, before)
        udp(address, before)
        udp(address, before, connected=True)


def plain():
    all_ways(lambda s: None)


def bind_to_device():
    all_ways(lambda s: s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0"))


def unicast_if():
    all_ways(lambda s: s.setsockopt(socket.IPPROTO_IP, IP_UNICAST_IF, struct.pack("!I", index())),
             lambda s: s.setsockopt(socket.IPPROTO_IPV6, IPV6_UNICAST_IF, struct.pack("!I", index())))


def dont_route():
    all_ways(lambda s: s.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1))


def own_address():
    """The uplink's address as the source, as a reply has it."""
    own = dict(zip((socket.AF_INET, socket.AF_INET6), sys.argv[2:4]))
    all_ways(lambda s: s.bind((own[socket.AF_INET], 0)), lambda s: s.bind((own[socket.AF_INET6], 0)))


def own_address_and_device():
    own = dict(zip((socket.AF_INET, socket.AF_INET6), sys.argv[2:4]))

    def both(s):
        s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0")
        s.bind((own[s.family], 0))

    all_ways(both)


def pktinfo():
    for address, level, name, data in (
        (PUBLIC4, socket.IPPROTO_IP, 8, struct.pack("I4s4s", index(), b"\0" * 4, b"\0" * 4)),
        (PUBLIC6, socket.IPPROTO_IPV6, 50, struct.pack("16sI", b"\0" * 16, index())),
    ):
        with sock(of(address), socket.SOCK_DGRAM) as s:
            try:
                s.sendmsg([MSG], [(level, name, data)], 0, (address, 443))
            except OSError:
                pass


def lsrr(s):
    route = b"".join(socket.inet_aton(a) for a in (BRIDGE4, PUBLIC4))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\x83" + bytes([3 + len(route), 4]) + route + b"\0")


def srh(s):
    segments = b"".join(socket.inet_pton(socket.AF_INET6, a) for a in (PUBLIC6, BRIDGE6))
    s.setsockopt(socket.IPPROTO_IPV6, IPV6_RTHDR, bytes([0, 4, 4, 1, 1, 0, 0, 0]) + segments)


def source_routes():
    """To a loopback address by way of the outside."""
    for before in (lsrr, lambda s: (s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0"), lsrr(s))):
        for target in ("127.0.0.1", PUBLIC4):
            tcp(target, before)
            udp(target, before)
            udp(target, before, connected=True)
    for before in (srh, lambda s: (s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0"), srh(s))):
        for target in ("::1", PUBLIC6):
            tcp(target, before)
            udp(target, before)
            udp(target, before, connected=True)


def many():
    """Multicast and broadcast, and the neighbours' link-local addresses."""
    with sock(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IP, 32, struct.pack("4s4si", b"\0" * 4, b"\0" * 4, index()))  # IP_MULTICAST_IF
        for address in ("224.0.0.251", "239.1.2.3", "255.255.255.255", "10.77.0.255"):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            try:
                s.sendto(MSG, (address, 5353))
            except OSError:
                pass
    for address in ("ff02::1", "ff02::fb", "fe80::1", sys.argv[4]):
        for connected in (False, True):
            udp(address, connected=connected, scope=index())
        with sock(socket.AF_INET6) as s:
            try:
                s.connect((address, 443, 0, index()))
            except OSError:
                pass


def ping_sockets():
    for family, protocol, kind, address in ((socket.AF_INET, 1, 8, PUBLIC4), (socket.AF_INET6, 58, 128, PUBLIC6)):
        try:
            with sock(family, socket.SOCK_DGRAM, protocol) as s:
                s.sendto(struct.pack("!BBHHH", kind, 0, 0, 1, 1) + MSG, (address, 0))
        except OSError:
            pass


def other_protocols():
    for family, kind, protocol in ((socket.AF_INET, socket.SOCK_SEQPACKET, 132), (socket.AF_INET, socket.SOCK_STREAM, 262),
                                   (socket.AF_INET, socket.SOCK_DGRAM, 136), (socket.AF_INET6, socket.SOCK_DGRAM, 136)):
        try:
            with sock(family, kind, protocol) as s:
                s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0")
                s.connect((PUBLIC6 if family == socket.AF_INET6 else PUBLIC4, 443))
                s.send(MSG)
        except OSError:
            pass


def fast_open():
    for address in (PUBLIC4, PUBLIC6):
        with sock(of(address)) as s:
            s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0")
            try:
                s.sendto(MSG, 0x20000000, (address, 443))  # MSG_FASTOPEN
            except OSError:
                pass


OPEN = (plain, bind_to_device, unicast_if, dont_route, own_address, own_address_and_device, pktinfo, source_routes, many,
        ping_sockets, other_protocols, fast_open)


# ---- CAP_NET_RAW -----------------------------------------------------------------------------------------


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def ipv4(source, target, protocol, payload):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, socket.inet_aton(source),
                       socket.inet_aton(target))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def segment(source, target, sport, dport, flags, seq=1, ack=0, data=b""):
    tcp_ = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, 5 << 4, flags, 65535, 0, 0) + data
    pseudo = socket.inet_aton(source) + socket.inet_aton(target) + struct.pack("!BBH", 0, 6, len(tcp_))
    return tcp_[:16] + struct.pack("!H", checksum(pseudo + tcp_)) + tcp_[18:]


def forged_inbound():
    """A connection that seems to come from outside, so that its "reply" leaves: by a raw socket, and by frames on lo."""
    own4 = sys.argv[2]
    packets = [ipv4(PUBLIC4, own4, 6, segment(PUBLIC4, own4, 443, PORT, 0x02)),
               ipv4(META4, own4, 6, segment(META4, own4, 80, PORT, 0x02)),
               ipv4(PUBLIC4, own4, 17, struct.pack("!HHHH", 443, PORT, 8 + len(MSG), 0) + MSG),
               ipv4(PUBLIC4, own4, 1, struct.pack("!BBHHH", 8, 0, 0xF7FE, 0, 1))]
    for device in (b"", b"lo", b"eth0"):
        with sock(socket.AF_INET, socket.SOCK_RAW, 255) as s:
            if device:
                s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, device)
            for packet in packets:
                try:
                    s.sendto(packet, (own4, 0))
                except OSError:
                    pass
    with sock(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind(("lo", 0x0800))
        for packet in packets:
            s.send(b"\0" * 12 + struct.pack("!H", 0x0800) + packet)


def forged_source():
    """IP_TRANSPARENT: a foreign source, connecting to the own server, which answers to it."""
    for address, own, level, name in ((PUBLIC4, sys.argv[2], socket.IPPROTO_IP, IP_TRANSPARENT),
                                      (PUBLIC6, sys.argv[3], socket.IPPROTO_IPV6, 75)):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with sock(of(address), kind) as s:
                s.setsockopt(level, name, 1)
                s.bind((address, 443))
                try:
                    s.connect((own, PORT))
                    s.send(MSG)
                    s.recv(100)
                except OSError:
                    pass


def marked():
    """The packet mark that replies are routed by."""
    def mark(s):
        s.setsockopt(socket.SOL_SOCKET, SO_MARK, 0x5A117001)
    all_ways(mark)


def marked_and_bound():
    def both(s):
        s.setsockopt(socket.SOL_SOCKET, SO_MARK, 0x5A117001)
        s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0")
    all_ways(both)


def raw_packets():
    """Any protocol and header, routed and bound."""
    own4 = sys.argv[2]
    for device in (b"", b"eth0"):
        for mark in (0, 0x5A117001):
            with sock(socket.AF_INET, socket.SOCK_RAW, 255) as s:
                s.setsockopt(socket.SOL_SOCKET, SO_MARK, mark)
                if device:
                    s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, device)
                for target in (PUBLIC4, META4, BRIDGE4):
                    for packet in (ipv4(own4, target, 6, segment(own4, target, PORT, 443, 0x12)),
                                   ipv4(own4, target, 17, struct.pack("!HHHH", PORT, 443, 8 + len(MSG), 0) + MSG),
                                   ipv4(own4, target, 1, struct.pack("!BBHHH", 0, 0, 0xFFFD, 0, 1)),
                                   ipv4(own4, target, 47, MSG), ipv4(own4, target, 50, MSG)):
                        try:
                            s.sendto(packet, (target, 0))
                        except OSError:
                            pass


FORGED = (forged_inbound, forged_source, marked, marked_and_bound, raw_packets)


def packet_socket():
    """A frame on the interface itself: below the table."""
    with sock(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind(("eth0", 0x0800))
        s.send(b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack("!H", 0x0800) + ipv4(
            sys.argv[2], PUBLIC4, 17, struct.pack("!HHHH", PORT, 5353, 8 + len(MSG), 0) + MSG))


def false_discovery():
    """A raw ICMPv6 socket: the table passes neighbour discovery by its type, whoever made it."""
    with sock(socket.AF_INET6, socket.SOCK_RAW, 58) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"eth0")
        s.setsockopt(socket.IPPROTO_IPV6, 16, 255)  # IPV6_UNICAST_HOPS
        s.sendto(struct.pack("!BBHI", 136, 0, 0, 0) + socket.inet_pton(socket.AF_INET6, sys.argv[3]) + MSG, (PUBLIC6, 0))


# ---- CAP_NET_ADMIN ---------------------------------------------------------------------------------------


def tool(*words):
    if subprocess.run(words, stderr=subprocess.PIPE, check=False).returncode:
        print("could not:", *words)


def without_rules():
    for family in ("-4", "-6"):
        tool("ip", family, "rule", "flush")
        tool("ip", family, "rule", "add", "pref", "0", "lookup", "main")
    all_ways(lambda s: None)
    bind_to_device()


def without_routes():
    for family in ("-4", "-6"):
        tool("ip", family, "route", "flush", "table", "local")
    all_ways(lambda s: None)
    bind_to_device()


def other_device():
    """A link of its own over the interface, and traffic that seems to come in by a tunnel."""
    tool("ip", "link", "add", "link", "eth0", "name", "over", "type", "macvlan", "mode", "bridge")
    tool("ip", "addr", "add", "10.77.0.99/24", "dev", "over")
    tool("ip", "link", "set", "over", "up")
    all_ways(lambda s: s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"over"))


ROUTED = (without_rules, without_routes, other_device)


def without_table():
    tool("nft", "flush", "ruleset")
    bind_to_device()


ALL = {f.__name__: f for f in (*OPEN, *FORGED, *ROUTED, packet_socket, false_discovery, without_table)}


def main():
    try:
        ALL[sys.argv[1]]()
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.EOPNOTSUPP):
            print(f"not here: {error}")
            sys.exit(3)
        raise


if __name__ == "__main__":
    main()
