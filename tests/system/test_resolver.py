# SPDX-License-Identifier: Apache-2.0
"""A container runtime's own resolver at 127.0.0.11, as Docker makes it: overridden, and not reachable past us.

The imitation is the real thing's shape: a process outside holds a UDP and a TCP socket in the container's
namespace at 127.0.0.11 and ports that are made up, and nat rules lead port 53 to them and back.
"""
import errno
import socket
import struct
import threading

import dns.flags
import dns.message
import dns.rrset
import pytest

from asking import told
from documents import POLICY
from sandbox import Refused, Sandbox

RESOLVER = "127.0.0.11"
CANARY = "203.0.113.99"

NAT = """
table ip nat {{
  chain OUTPUT {{
    type nat hook output priority -100; policy accept;
    ip daddr 127.0.0.11 counter jump DOCKER_OUTPUT
  }}
  chain POSTROUTING {{
    type nat hook postrouting priority 100; policy accept;
    ip daddr 127.0.0.11 counter jump DOCKER_POSTROUTING
  }}
  chain DOCKER_OUTPUT {{
    ip daddr 127.0.0.11 tcp dport 53 counter dnat to 127.0.0.11:{tcp}
    ip daddr 127.0.0.11 udp dport 53 counter dnat to 127.0.0.11:{udp}
  }}
  chain DOCKER_POSTROUTING {{
    ip saddr 127.0.0.11 tcp sport {tcp} counter snat to :53
    ip saddr 127.0.0.11 udp sport {udp} counter snat to :53
  }}
}}
"""


class Fake:
    """Answers every question with the canary's address, and counts what came."""

    def __init__(self, netns):
        self.came = 0
        self.udp = netns.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.tcp = netns.socket(socket.AF_INET, socket.SOCK_STREAM)
        for sock in (self.udp, self.tcp):
            sock.bind((RESOLVER, 0))
        self.tcp.listen()
        self.ports = {"udp": self.udp.getsockname()[1], "tcp": self.tcp.getsockname()[1]}
        netns.run("nft", "-f", "-", input=NAT.format(**self.ports))
        self.threads = [threading.Thread(target=serve, daemon=True) for serve in (self.serve_udp, self.serve_tcp)]
        for thread in self.threads:
            thread.start()

    def answer(self, wire):
        query = dns.message.from_wire(wire)
        answer = dns.message.make_response(query)
        answer.answer = [dns.rrset.from_text(query.question[0].name, 60, "IN", "A", CANARY)]
        return answer.to_wire()

    def serve_udp(self):
        while True:
            try:
                wire, peer = self.udp.recvfrom(4096)
            except OSError:
                return
            self.came += 1
            if not wire:
                return
            self.udp.sendto(self.answer(wire), peer)

    def serve_tcp(self):
        while True:
            try:
                peer, _ = self.tcp.accept()
            except OSError:
                return
            self.came += 1
            with peer:
                stream = peer.makefile("rb")
                wire = self.answer(stream.read(struct.unpack("!H", stream.read(2))[0]))
                peer.sendall(struct.pack("!H", len(wire)) + wire)

    def close(self):
        for sock in (self.udp, self.tcp):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # a UDP socket has nobody, and is woken all the same
        for thread in self.threads:
            thread.join(10)
        self.udp.close()
        self.tcp.close()


class Outside:
    """told() asks by a sandbox's sockets; these are of no cgroup of ours."""

    def __init__(self, netns):
        self.netns = netns

    def connect(self, address, port, kind="SOCK_STREAM"):
        sock = self.netns.socket(socket.AF_INET, getattr(socket, kind))
        sock.settimeout(8)
        sock.connect((address, port))
        return sock


@pytest.fixture
def fake(stack, lane):
    """(a sandbox that is not attached yet, the fake resolver in its namespace)"""
    box = Sandbox(stack, POLICY, lane=lane)
    box.netns.ip(["link set lo up"])
    made = Fake(box.netns)
    yield box, made
    made.close()
    box.close()


def test_the_runtimes_resolver_is_overridden_and_its_ports_are_refused(fake):
    box, fake = fake
    for over in ("udp", "tcp"):
        assert told(Outside(box.netns), "api.test", server=RESOLVER, over=over) == ("NOERROR", [CANARY]), "the control"
    assert fake.came == 2

    box.attach()
    for asker in (box, Outside(box.netns)):
        for over in ("udp", "tcp"):
            assert told(asker, "api.test", server=RESOLVER, over=over) == ("NOERROR", ["203.0.113.10"])
    with pytest.raises(Refused) as refused:
        box.connect(RESOLVER, fake.ports["tcp"])
    assert refused.value.errno == box.errno(errno.EACCES)
    with pytest.raises(ConnectionRefusedError):
        Outside(box.netns).connect(RESOLVER, fake.ports["tcp"])
    for asker in (box, Outside(box.netns)):
        with pytest.raises(OSError) as refused, asker.connect(RESOLVER, fake.ports["udp"], kind="SOCK_DGRAM") as sock:
            sock.send(b"question")
            sock.recv(100)
        assert refused.value.errno == errno.ECONNREFUSED
    assert box.python(f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
try:
    s.sendto(b"question", ("{RESOLVER}", {fake.ports["udp"]}))
    s.recv(100)
    result = "answered"
except OSError as error:
    result = type(error).__name__
""") in ("ConnectionRefusedError", "TimeoutError")
    assert fake.came == 2, "nothing has come since"

    assert box.detach().returncode == 0
    assert told(Outside(box.netns), "api.test", server=RESOLVER) == ("NOERROR", [CANARY]), "and is itself again"


def test_what_is_asked_at_127_0_0_11_is_not_tracked(fake):
    """So that no other nat rule of that table can see it either."""
    box, _ = fake
    box.attach()
    told(box, "api.test", server=RESOLVER)
    listed = box.netns.run("nft", "list", "table", "ip", "nat").stdout
    assert "udp dport 53 counter packets 0 bytes 0" in listed
    assert "udp 17" not in box.netns.call(lambda: open("/proc/thread-self/net/nf_conntrack").read())


@pytest.mark.parametrize("more", ["chain ip nat extra", "table ip filter"])
def test_another_chain_or_table_beside_it_is_refused(fake, more):
    box, _ = fake
    box.netns.run("nft", "add", *more.split())
    done = box.try_attach()
    assert done.returncode == 1 and "of somebody else: nft delete table ip " in done.stderr


def test_other_sockets_of_the_same_process_are_refused(fake):
    box, _ = fake
    sock = box.netns.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    done = box.try_attach()
    sock.close()
    assert done.returncode == 1 and "has a UDP socket in it, at 127.0.0.1:" in done.stderr
