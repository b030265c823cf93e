# SPDX-License-Identifier: Apache-2.0
"""The host's own addresses: each is refused, public ones too, from the moment at which the host has it.

The host is the edge: an address is given to it while a sandbox runs, and a canary listens there.
"""
import errno
import socket
import threading
import time

import pytest

import maps
from sandbox import Refused
from waiting import until

PORT = 8077
ADDRESSES = {"v4": ("203.0.113.77", 32), "v6": ("2001:db8::77", 128)}

# nothing is dialled for who says nothing: a knock before the host had the address must not arrive after it
OPEN = "version: 1\nname: open\ndefault: allow\ndefault_tls: terminate\n"
LIFTED = OPEN + """\
private:
  - {cidr: 203.0.113.77/32, ports: [8077]}
  - {cidr: "2001:db8::77/128", ports: [8077]}
"""


class Canary:
    """Listens at an address of the edge; counts who came."""

    def __init__(self, edge, address):
        self.came = 0
        self.sock = edge.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((address, PORT))
        self.sock.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.sock.accept()
            except OSError:
                return
            self.came += 1
            peer.settimeout(5)
            try:
                peer.recv(4096)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ncanary")
            except OSError:
                pass
            peer.close()

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.sock.close()


def url(address):
    return f"http://[{address}]:{PORT}/" if ":" in address else f"http://{address}:{PORT}/"


def outside_error(sandbox, address):
    """What a socket of the namespace that is in no cgroup of ours gets; 0 = connected."""
    sock = sandbox.netns.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    sock.settimeout(5)
    with sock:
        return sock.connect_ex((address, PORT))


def inside_error(sandbox, address):
    try:
        sandbox.connect(address, PORT).close()
        return 0
    except Refused as refused:
        return refused.errno


@pytest.fixture(params=ADDRESSES)
def address(request, world):
    """One that the edge does not have yet; `give` and `take` are done by world.edge.ip()."""
    address, prefix = ADDRESSES[request.param]
    words = f"{address}/{prefix} dev uplink"
    yield address, (f"addr add {words} nodad" if ":" in address else f"addr add {words}"), f"addr del {words}"
    world.edge.run("sh", "-c", f"ip addr del {words} 2>/dev/null || true")


def test_an_address_of_the_host_is_refused_as_soon_as_it_has_it(attach, world, address):
    address, give, take = address
    box, lifted = attach(OPEN), attach(LIFTED)
    assert inside_error(box, address) == 0 and outside_error(box, address) == 0, "nobody's address so far"

    world.edge.ip([give])
    canary = Canary(world.edge, address)
    try:
        begun = time.monotonic()
        until(lambda: outside_error(box, address) == errno.ECONNREFUSED, "refused by the packet")
        until(lambda: inside_error(box, address) == box.errno(errno.EACCES), "refused by the program")
        assert time.monotonic() - begun < 1
        assert box.curl("-m", "5", url(address)).returncode != 0
        assert canary.came == 0

        done = lifted.curl(url(address))
        assert done.stdout == "canary" and canary.came == 1, f"the canary fires where a policy lifts it: {done}"
        assert outside_error(lifted, address) == 0
    finally:
        canary.close()
    world.edge.ip([take])
    until(lambda: outside_error(box, address) == 0 and inside_error(box, address) == 0, "let through again")


def test_an_address_that_the_host_has_already_is_refused_from_the_beginning(attach, world):
    box = attach(OPEN)
    for address in ("198.51.100.1", "2001:db8:ffff::1"):
        assert outside_error(box, address) == errno.ECONNREFUSED
        assert inside_error(box, address) == box.errno(errno.EACCES)
    assert inside_error(box, "127.0.0.1") == errno.ECONNREFUSED, "loopback is the sandbox's own: nobody listens"


def test_the_set_is_filled_and_emptied_with_the_hosts_addresses(attach, world, lane):
    """Many at once: a burst is one reading, and none is lost. In the BPF lane it is the map of all sandboxes."""
    box = attach(OPEN)
    given = [f"203.0.113.{n}/32" for n in range(100, 180)]

    def listed():
        if lane == "bpf":
            found = {socket.inet_ntop(socket.AF_INET6, maps.address(e["key"]["ip"])).replace("::ffff:", "")
                     for e in maps.entries(box.stack, "hosts")}
        else:
            found = box.netns.run("nft", "list", "set", "inet", "sallyport", "host4").stdout.replace(",", " ").split()
        return [a for a in given if a.partition("/")[0] in found]

    world.edge.ip([f"addr add {a} dev lo" for a in given])
    try:
        until(lambda: listed() == given, "all of them")
    finally:
        world.edge.ip([f"addr del {a} dev lo" for a in given])
    until(lambda: not listed(), "none of them")
    assert not outside_error(box, "203.0.113.120")
