# SPDX-License-Identifier: Apache-2.0
"""nameserver.py - the name server of the tests' internet, UDP and TCP, with a record of every question.

The record is a canary too: a question about a name that no rule opens must not leave.
"""
import ipaddress
import socket
import struct
import threading

from . import zone

IP_FREEBIND = 15
_SOA = b"\x02ns\x00" + b"\x05admin\x00" + struct.pack("!IIIII", 1, 60, 60, 60, 60)


def _name(packet, at):
    labels = []
    while packet[at]:
        length = packet[at]
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    return ".".join(labels), at + 1


def _wire_name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"


def _rdata(kind, value):
    if kind in (zone.A, zone.AAAA):
        return ipaddress.ip_address(value).packed
    if kind == zone.CNAME:
        return _wire_name(value)
    return value


class Nameserver:
    def __init__(self, netns, addresses=(zone.NAMESERVER4, zone.NAMESERVER6)):
        self.questions = []  # (name, type, "udp" or "tcp")
        self._sockets = []
        self._turns = {}  # of zone.CHANGES
        for address in addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            for kind, serve in ((socket.SOCK_DGRAM, self._udp), (socket.SOCK_STREAM, self._tcp)):
                sock = netns.socket(family, kind)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)  # both families read it
                sock.bind((address, 53))
                if kind == socket.SOCK_STREAM:
                    sock.listen(16)
                self._sockets.append(sock)
                threading.Thread(target=serve, args=(sock,), daemon=True).start()

    def asked(self, name, since=0):
        return [q for q in self.questions[since:] if q[0].lower() == name]

    def rewind(self, name):
        self._turns[name] = 0

    def _values(self, name, kind, records):
        if name not in zone.CHANGES or kind != zone.A:
            return records.get(kind, ())
        values, turn = zone.CHANGES[name], self._turns.get(name, 0)
        self._turns[name] = turn + 1
        return values[min(turn, len(values) - 1) :][:1]

    def close(self):
        for sock in self._sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _answer(self, packet, over):
        number, _, _, _, _, _ = struct.unpack("!HHHHHH", packet[:12])
        name, end = _name(packet, 12)
        kind, _ = struct.unpack("!HH", packet[end : end + 4])
        question = packet[12 : end + 4]
        self.questions.append((name, kind, over))
        records = zone.ZONE.get(name.lower())
        if records is zone.SILENT:
            return None
        answers = b""
        ttl = 0 if name.lower() in zone.CHANGES else 60
        count = 0
        truncated = over == "udp" and name.lower() in zone.TRUNCATED
        if records and not truncated:
            for value in self._values(name.lower(), kind, records):
                data = _rdata(kind, value)
                answers += struct.pack("!HHHIH", 0xC00C, kind, 1, ttl, len(data)) + data
                count += 1
        code = zone.FAILS.get((name.lower(), kind), 0 if records is not None else 3)
        authority = b""
        if not count and not truncated:
            authority = b"\x04test\0" + struct.pack("!HHIH", zone.SOA, 1, 60, len(_SOA)) + _SOA
        header = struct.pack(
            "!HHHHHH", number, 0x8180 | (0x0200 if truncated else 0) | code, 1, count, 1 if authority else 0, 0
        )
        return header + question + answers + authority

    def _udp(self, sock):
        while True:
            try:
                packet, peer = sock.recvfrom(4096)
            except OSError:
                return
            try:
                answer = self._answer(packet, "udp")
            except (IndexError, struct.error):
                continue
            if answer:
                try:
                    sock.sendto(answer, peer)
                except OSError:
                    return

    def _tcp(self, sock):
        while True:
            try:
                client, _ = sock.accept()
            except OSError:
                return
            threading.Thread(target=self._conversation, args=(client,), daemon=True).start()

    def _conversation(self, client):
        """Until the client has no more questions (RFC 7766 section 6.2.1)."""
        with client:
            client.settimeout(5)
            stream = client.makefile("rb")
            try:
                while size := stream.read(2):
                    answer = self._answer(stream.read(struct.unpack("!H", size)[0]), "tcp")
                    if answer:
                        client.sendall(struct.pack("!H", len(answer)) + answer)
            except (OSError, IndexError, struct.error):
                return
