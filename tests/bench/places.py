# SPDX-License-Identifier: Apache-2.0
"""places.py - where the benches' sockets live: network namespaces with lo up, each with a cgroup of its own.

A place is what a runtime hands to us: nothing of ours is in it before attach(). Namespaces hang on descriptors of this
process, cgroups lie below the folder that scripts/bench made and removes.
"""
import fcntl
import os
import socket
import struct

from origin.netns import Netns

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
TREE = os.environ.get("SALLYPORT_BENCH_CGROUP", "")


def raise_lo():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


class Place:
    made = 0

    def __init__(self):
        Place.made += 1
        self.name = f"p{Place.made}"
        self.netns = Netns(self.name)
        self.netns.call(raise_lo)
        self.path = os.path.join(TREE, self.name)
        os.mkdir(self.path)
        self.cgroup = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)

    @property
    def fds(self):
        return self.netns.fd, self.cgroup

    def listener(self, family, address):
        """As listeners.c makes them: an odd loopback address, a port of the kernel's choice, that backlog."""

        def listen():
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.bind((address, 0))
            sock.listen(4096)
            return sock

        return self.netns.call(listen)

    def close(self):
        self.netns.close()
        os.close(self.cgroup)
        os.rmdir(self.path)
