# SPDX-License-Identifier: Apache-2.0
"""Every socket of the sandbox ends at the daemon, and notices nothing."""
import errno
import json
import socket

import pytest

import client
from sandbox import Refused
from waiting import until

WAYS = {
    "v4": ("203.0.113.10", "AF_INET"),
    "v6": ("2001:db8::10", "AF_INET6"),
    "v4-mapped": ("::ffff:203.0.113.10", "AF_INET6"),
}


@pytest.mark.parametrize("way", WAYS)
def test_CAP_01_each_family_is_captured_alike(sandbox, stack, origin, way):
    address, family = WAYS[way]
    mark = stack.audit_mark()
    with client.https(sandbox, address=address, family=family) as connection:
        reply = connection.get("/echo")
    assert reply.status == 200
    assert json.loads(reply.body)["sni"] == "api.test"
    assert origin.last("/echo").connection.peer[0] in ("198.51.100.1", "2001:db8:ffff::1")
    events = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id)
    assert len(events) == 1, "one connection is logged once"
    asked = str(events[0]["asked"])
    assert "ffff:" not in asked, "a mapped address is logged as the IPv4 address that it is"
    assert address.removeprefix("::ffff:") in asked


def test_CAP_01_a_refused_address_is_refused_in_mapped_form_too(sandbox, world, watch):
    for address in ("::ffff:169.254.169.254", "::ffff:10.0.0.1"):
        with pytest.raises(Refused) as plain:
            sandbox.connect(address.removeprefix("::ffff:"), 80)
        with pytest.raises(Refused) as mapped:
            sandbox.connect(address, 80)
        assert mapped.value.errno == plain.value.errno
    watch.nothing()


def test_CAP_04_loopback_inside_is_left_alone(sandbox, stack):
    sandbox.python(
        """
import http.server, os, socket, threading
class Hello(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"inside")
    def log_message(self, *_): pass
class Server6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
for server in (http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Hello), Server6(("::1", 3000), Hello)):
    threading.Thread(target=server.serve_forever, daemon=True).start()
"""
    )
    mark = stack.audit_mark()
    for name in ("127.0.0.1", "[::1]", "localhost"):
        done = sandbox.curl(f"http://{name}:3000/")
        assert (done.returncode, done.stdout) == (0, "inside"), f"{name}: {done.stderr}"
    unix = sandbox.python(
        """
import socket
server = socket.socket(socket.AF_UNIX); server.bind("\\0inside"); server.listen()
one = socket.socket(socket.AF_UNIX); one.connect("\\0inside"); other, _ = server.accept()
one.send(b"by unix socket"); result = other.recv(100).decode()
"""
    )
    assert unix == "by unix socket"
    assert not stack.audit(mark, sandbox=sandbox.id), "loopback is nobody's business"


def test_CAP_04_loopback_outside_is_not_reachable(sandbox, world):
    with world.edge.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 3001))
        listener.listen()
        listener.settimeout(0.5)

        def from_the_edge():
            return socket.create_connection(("127.0.0.1", 3001), 5)

        world.edge.call(from_the_edge).close()
        listener.accept()[0].close()  # the control: it can be reached from where it is
        with pytest.raises(Refused) as refused:
            sandbox.connect("127.0.0.1", 3001)
        assert refused.value.errno == errno.ECONNREFUSED
        with pytest.raises(socket.timeout):
            listener.accept()


def _listeners(sandbox):
    """(family, address, port) of what listens in the sandbox's namespace and is not the sandbox's."""
    text = sandbox.python(
        "result = open('/proc/self/net/tcp').read() + open('/proc/self/net/tcp6').read()"
    )
    found = set()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == "0A":
            raw, port = fields[1].split(":")
            packed = b"".join(
                bytes.fromhex(raw[at : at + 8])[::-1] for at in range(0, len(raw), 8)
            )
            family = "AF_INET" if len(packed) == 4 else "AF_INET6"
            address = socket.inet_ntop(getattr(socket, family), packed)
            if int(port, 16) not in (3000, 3001):
                found.add((family, address, int(port, 16)))
    return found


def test_CAP_10_connecting_to_the_listener_itself_ends_at_once(sandbox, stack, watch):
    found = _listeners(sandbox)
    assert found, "the daemon's listeners live in the sandbox's namespace"

    def try_all(times):
        for _ in range(times):
            for family, address, port in sorted(found):
                try:
                    sock = sandbox.connect(address, port, family=family, timeout=2)
                except Refused:
                    continue  # not reachable at all: better still
                with client.Client(sock) as connection:
                    try:
                        connection.send("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
                    except OSError:
                        continue
                    assert connection.ended(2), f"{address}:{port} was served"

    try_all(2)
    before = stack.descriptors()
    try_all(1000 // len(found))
    until(lambda: stack.descriptors() <= before + 2, "the daemon's descriptors to come back")
    watch.nothing()
    with client.https(sandbox) as connection:  # and everybody else is still served
        assert connection.get().status == 200


@pytest.mark.parametrize("way", WAYS)
def test_CAP_15_the_peer_is_who_was_asked_for(sandbox, way):
    address, family = WAYS[way]
    with sandbox.connect(address, 443, family=family) as sock:
        assert sock.getpeername()[:2] == (address, 443)


@pytest.mark.parametrize("server", ["203.0.113.99", "2001:db8::99"])
def test_CAP_15_a_dns_reply_comes_from_the_server_that_was_asked(sandbox, server):
    source = sandbox.python(
        f"""
import socket
question = bytes.fromhex("1234 0100 0001 0000 0000 0000 03617069 0474657374 00 0001 0001".replace(" ", ""))
s = socket.socket(socket.AF_INET6 if ":" in "{server}" else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(question, ("{server}", 53))
data, peer = s.recvfrom(2000)
result = [peer[0], peer[1], data[:2].hex()]
"""
    )
    assert source == [server, 53, "1234"]


def test_sockets_outside_the_cgroup_are_captured_and_refused_too(sandbox, world, stack):
    """A socket that the cgroup's programs never see: made in the namespace by a process of elsewhere."""
    with client.Client(sandbox.netns.socket(socket.AF_INET, socket.SOCK_STREAM)) as connection:
        connection.sock.settimeout(10)
        sandbox.netns.call(connection.sock.connect, ("203.0.113.10", 80))
        assert connection.get("/echo").status == 200
    watch = world.watch()
    for family, address in ((socket.AF_INET, "169.254.169.254"), (socket.AF_INET, "10.0.0.1"),
                            (socket.AF_INET6, "fd00:ec2::254")):
        with sandbox.netns.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(3)
            with pytest.raises(ConnectionRefusedError):
                sandbox.netns.call(sock.connect, (address, 80))
    watch.nothing()


def test_one_connection_in_two_workers_sandboxes_and_families_at_once(sandbox, attach):
    other = attach()
    connections = [
        client.https(box, address=address, family=family)
        for box in (sandbox, other)
        for address, family in WAYS.values()
        for _ in range(4)
    ]
    for connection in connections:
        assert connection.get().status == 200
    for connection in connections:
        connection.close()
