# SPDX-License-Identifier: Apache-2.0
"""asking.py - questions to a sandbox's name server: one, many at once, and what came back in words."""
import struct
import time

import dns.message
import dns.rcode
import dns.reversename

SHARED = "198.19.255.254"
SERVER = "203.0.113.53"
EDNS = 1232


def ask(sandbox, name, kind="A", server=SERVER, over="udp", edns=None):
    """edns: the size that the client takes, None: no EDNS."""
    query = dns.message.make_query(name, kind, use_edns=edns is not None, payload=edns or 0)
    if over == "udp":
        with sandbox.connect(server, 53, kind="SOCK_DGRAM") as sock:
            sock.settimeout(8)
            sock.send(query.to_wire())
            packet = sock.recv(65535)
            assert len(packet) <= (edns or 512), f"{len(packet)} bytes for a client that takes {edns or 512}"
    else:
        with sandbox.connect(server, 53) as sock:
            wire = query.to_wire()
            sock.sendall(struct.pack("!H", len(wire)) + wire)
            stream = sock.makefile("rb")
            packet = stream.read(struct.unpack("!H", stream.read(2))[0])
    answer = dns.message.from_wire(packet)
    assert query.is_response(answer)
    return answer


def words(answer):
    """(rcode as text, the answers as text)"""
    values = [str(item) for rrset in answer.answer for item in rrset]
    return dns.rcode.to_text(answer.rcode()), sorted(values)


def told(sandbox, name, kind="A", **options):
    return words(ask(sandbox, name, kind, **options))


def pointer(sandbox, address):
    return told(sandbox, dns.reversename.from_address(address).to_text(), "PTR")


def wire_of(number, name, kind=1):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", number, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def addresses(packet):
    """(number, rcode, the last address or None) of an answer to wire_of()"""
    number, flags, _, count, _, _ = struct.unpack("!HHHHHH", packet[:12])
    return number, flags & 15, ".".join(str(byte) for byte in packet[-4:]) if count else None


def ask_many(sandbox, names, server=SERVER, window=100, patience=30):
    """{name: (rcode, address)}: all by one UDP socket, up to `window` unanswered at once, lost ones again."""
    found, waiting, left = {}, {}, list(names)
    with sandbox.connect(server, 53, kind="SOCK_DGRAM") as sock:
        sock.settimeout(2)
        end = time.monotonic() + patience
        number = 0
        while left or waiting:
            assert time.monotonic() < end, f"{len(left) + len(waiting)} of {len(names)} names without an answer"
            while left and len(waiting) < window:
                number = (number + 1) & 0xFFFF
                waiting[number] = left.pop(0)
                sock.send(wire_of(number, waiting[number]))
            try:
                came, rcode, address = addresses(sock.recv(4096))
            except TimeoutError:
                left = list(waiting.values()) + left
                waiting.clear()
                continue
            if came in waiting:
                found[waiting.pop(came)] = (rcode, address)
    return found


def ask_many_tcp(sandbox, names, server=SERVER):
    """The same by one TCP connection, all questions sent before the first answer is read."""
    with sandbox.connect(server, 53) as sock:
        sent = b""
        for number, name in enumerate(names):
            wire = wire_of(number, name)
            sent += struct.pack("!H", len(wire)) + wire
        sock.sendall(sent)
        stream = sock.makefile("rb")
        found = {}
        for _ in names:
            number, rcode, address = addresses(stream.read(struct.unpack("!H", stream.read(2))[0]))
            found[names[number]] = (rcode, address)
    return found
