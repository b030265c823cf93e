# SPDX-License-Identifier: Apache-2.0
"""helper_double.py - what a helper says to a daemon, said by a test: the other end of helper_rig.py's Daemon.

    double = Double(stack)   makes the stack's state directory and its link.sock; then stack.start_daemon_alone()
    double.hello()           accepts the daemon; without maps
    double.offer(id, policy) a sandbox of listeners that nobody connects to; the daemon's answer
    double.note(...)         a feature is degraded
"""
import os
import socket
import struct

import helper_rig
from stack import daemon_group

ABI = 3
OWN4, OWN6 = "192.0.2.1", "2001:db8:53::1"


def note(feature, reason="", remedy="", id_=""):
    return struct.pack("II64s64s512s512s", helper_rig.NOTE, helper_rig.VERSION, id_.encode(), feature.encode(), reason.encode(),
                       remedy.encode())


class Double:
    def __init__(self, stack):
        os.mkdir(stack.state)
        os.chown(stack.state, 0, daemon_group())
        os.chmod(stack.state, 0o750)
        path = os.path.join(stack.state, "link.sock")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.settimeout(20)
        self.listener.bind(path)
        os.chown(path, 0, daemon_group())
        os.chmod(path, 0o660)
        self.listener.listen()
        self.link = None
        self.held = []

    def hello(self):
        self.link, _ = self.listener.accept()
        self.link.settimeout(20)
        beats = os.memfd_create("beats")
        os.ftruncate(beats, 16)
        hello = struct.pack("IIIIIIII", helper_rig.HELLO, helper_rig.VERSION, ABI, 0, 0, 0, 0, 0)
        helper_rig.send(self.link, hello, [beats])
        os.close(beats)
        return self

    def hang_up(self):
        self.link.close()

    def note(self, *words, **more):
        self.link.send(note(*words, **more))

    def offer(self, id_, policy):
        """One IPv4 listener, a flow map that holds nothing. The error of the daemon's answer."""
        document = os.memfd_create("policy")
        os.write(document, policy.encode())
        tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.held += [tcp, udp]
        message = struct.pack("=II64sQQIBB4s16sB5x", helper_rig.OFFER, helper_rig.VERSION, id_.encode(), 1 << 40, 1 << 40, 1,
                              0, 1, socket.inet_aton(OWN4), bytes(16), 1) + bytes(8 * 254)
        empty = os.open("/dev/null", os.O_RDONLY)
        helper_rig.send(self.link, message, [document, empty, udp.fileno(), tcp.fileno()])
        os.close(document)
        os.close(empty)
        while True:
            answer = self.link.recv(8192)
            assert answer, "the daemon has hung up"
            if struct.unpack_from("I", answer)[0] == helper_rig.ACTIVE:
                return struct.unpack_from("i", answer, 72)[0]

    def close(self):
        for sock in [self.listener, self.link, *self.held]:
            if sock:
                sock.close()
