# SPDX-License-Identifier: Apache-2.0
"""topology.py - the world around one run: edge, internet, and the servers in it.

     edge                                    internet
    +--------------------------+            +------------------------------------------------+
    | helper, daemon           |   veth     | every address of the world is local here:      |
    | uplink 198.51.100.1/30   +------------+ wire 198.51.100.2/30, 2001:db8:ffff::2          |
    |        2001:db8:ffff::1  |            | origins 203.0.113.0/24, 2001:db8::/64          |
    | default route to the     |            | name server 203.0.113.53, 2001:db8::53         |
    | internet, no forwarding  |            | canaries: all the rest, 169.254.169.254 too    |
    +--------------------------+            +------------------------------------------------+

The internet has no way out: its default route ends at itself. So whatever leaves the edge arrives there and
is seen by the sniffer on the wire. Addresses are the documentation ranges; the sandboxes' own are
192.0.2.1 and 2001:db8:53::1, hence not used here. Sandboxes are made by sandbox.py or by the launcher.

Everything hangs on descriptors and on a folder RUN of this process; close() removes the folder, and
sweep() those of processes that were killed.
"""
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time

from origin.nameserver import Nameserver
from origin.netns import Netns
from origin.pki import Pki
from origin.server import Origin
from origin.sniffer import Sniffer, TCP
from origin import zone

EDGE4, WIRE4 = "198.51.100.1", "198.51.100.2"
EDGE6, WIRE6 = "2001:db8:ffff::1", "2001:db8:ffff::2"
EDGE_MAC, WIRE_MAC = "02:00:5e:00:53:01", "02:00:5e:00:53:02"
PARENT = "/tmp"  # programs in a sandbox see it: there are their homes
PREFIX = "sallyport-test-"  # of folders and cgroups; the process id follows
OVERLAY = os.path.join(os.path.dirname(os.path.realpath(__file__)), "overlay.py")


def overlaid(resolv_conf, argv):
    """The command with that file in /etc/resolv.conf's place."""
    if not os.path.exists("/etc/resolv.conf"):
        open("/etc/resolv.conf", "a", encoding="ascii").close()  # something to mount on
    return ["/usr/bin/python3", "-I", "-S", OVERLAY, resolv_conf, "/etc/resolv.conf", *argv]


def cgroup_mount():
    """Where cgroup v2 is mounted: /sys/fs/cgroup, or .../unified on a hybrid system."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            fields = line.split(" ")
            if fields[2] == "cgroup2":
                return fields[1]
    raise RuntimeError("no cgroup2 mount in /proc/mounts")


def hierarchies():
    """Where cgroups of any version are mounted: container runtimes use the old ones too."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        return [line.split(" ")[1] for line in mounts if line.split(" ")[2] in ("cgroup", "cgroup2")]


def _claim():
    """A folder of our own and the lock that says that we live; the lock is there before the name is."""
    made = tempfile.mkdtemp(prefix="sallyport-making-", dir=PARENT)
    os.chmod(made, 0o755)
    lock = os.open(os.path.join(made, "lock"), os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    run = os.path.join(PARENT, f"{PREFIX}{os.getpid()}-{os.path.basename(made).rsplit('-', 1)[1]}")
    os.rename(made, run)
    return lock, run


class Topology:
    def __init__(self):
        self._lock, self.run = _claim()
        self.cgroup = os.path.join(cgroup_mount(), os.path.basename(self.run))
        os.mkdir(self.cgroup)
        self.edge, self.internet = Netns("edge"), Netns("internet")
        self._wire()
        self.pki = Pki(os.path.join(self.run, "pki"))
        self.sniffer = Sniffer(self.internet, "wire", self.edge)
        self.nameserver = Nameserver(self.internet)
        self.origin = Origin(self.internet, self.pki)
        self.resolv_conf = self.write("resolv.conf", f"nameserver {zone.NAMESERVER4}\n")

    def _wire(self):
        self.edge.ip(
            [
                "link set lo up",
                f"link add uplink address {EDGE_MAC} type veth peer name wire address {WIRE_MAC} "
                f"netns {self.internet.path}",
            ]
        )
        self.internet.ip(
            [
                "link set lo up",
                "link set wire up",
                f"addr add {WIRE4}/30 dev wire",
                f"addr add {WIRE6}/64 dev wire nodad",
                f"neigh replace {EDGE4} lladdr {EDGE_MAC} dev wire nud permanent",
                f"neigh replace {EDGE6} lladdr {EDGE_MAC} dev wire nud permanent",
                # all the world is here, but for the way back to the edge
                f"route add unicast {EDGE4} dev wire table local",
                f"route add unicast {EDGE6} dev wire table local",
                "route add local default dev lo table local",
                "route add local ::/0 dev lo table local",
            ]
        )
        for path in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            self.edge.sysctl(path, 0)
        self.edge.ip(
            [
                "link set uplink up",
                f"addr add {EDGE4}/30 dev uplink",
                f"addr add {EDGE6}/64 dev uplink nodad",
                f"neigh replace {WIRE4} lladdr {WIRE_MAC} dev uplink nud permanent",
                f"neigh replace {WIRE6} lladdr {WIRE_MAC} dev uplink nud permanent",
                f"route add default via {WIRE4}",
                f"route add ::/0 via {WIRE6}",
            ]
        )

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.run, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def edge_command(self, argv):
        """A command in the edge, with the internet's name server in its /etc/resolv.conf."""
        return self.edge.command(overlaid(self.resolv_conf, argv))

    def watch(self):
        return Watch(self)

    def close(self):
        self.origin.close()
        self.nameserver.close()
        self.sniffer.close()
        self.edge.close()
        self.internet.close()
        remove(self.run, self.cgroup)
        os.close(self._lock)


class Watch:
    """From here on: what arrived on the wire, at the origin, at the name server?"""

    def __init__(self, world):
        self._world = world
        self._packets = world.sniffer.settle()
        self._origin = world.origin.mark()
        self._questions = len(world.nameserver.questions)

    def connections(self):
        """First packets of TCP connections that left the edge, questions to the name server left out."""
        self._world.sniffer.settle()
        packets = self._world.sniffer.since(self._packets, protocol=TCP, syn=True)
        return [p for p in packets if p.port != 53]

    def packets_to(self, *addresses):
        self._world.sniffer.settle()
        return [p for p in self._world.sniffer.since(self._packets) if p.target in addresses]

    def packets(self):
        self._world.sniffer.settle()
        return self._world.sniffer.since(self._packets)

    def questions(self):
        self._world.sniffer.settle()
        return self._world.nameserver.questions[self._questions :]

    def fired(self):
        return bool(self.connections()) or self._world.origin.mark() != self._origin

    def nothing(self, what=""):
        """No connection was opened, and no byte arrived on one that was open."""
        opened = [str(p) for p in self.connections()]
        assert not opened, f"{what}: left the edge: {opened}"
        before, now = self._origin, self._world.origin.mark()
        assert now == before, f"{what}: the origin got {now[1] - before[1]} bytes"


# ---- what must not stay behind -----------------------------------------------------------------------


def _processes(cgroup):
    try:
        with open(os.path.join(cgroup, "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]
    except OSError:
        return []


def _kill_cgroup(cgroup):
    for folder, _, _ in os.walk(cgroup, topdown=False):
        deadline = time.monotonic() + 10
        while _processes(folder) and time.monotonic() < deadline:
            for pid in _processes(folder):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)  # the kernel reaps; nothing to wait on
        try:
            os.rmdir(folder)
        except OSError:
            pass


def _mounts_under(folder):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        found = [line.split(" ")[1] for line in mounts]
    return [point for point in found if point == folder or point.startswith(folder + "/")]


def remove(run, cgroup):
    """Kills what lives in the cgroup, then the mounts, then the folder."""
    for mount in hierarchies():
        _kill_cgroup(os.path.join(mount, os.path.basename(cgroup)))
    for point in reversed(_mounts_under(run)):
        subprocess.run(["umount", "-l", point], check=False, capture_output=True)
    shutil.rmtree(run, ignore_errors=True)


def abandoned(run):
    """Nobody holds its lock. (A process id would say nothing across pid namespaces and chroots.)"""
    try:
        lock = os.open(os.path.join(run, "lock"), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(lock)


def sweep():
    """Removes what runs of ours left whose process was killed before it could."""
    for name in os.listdir(PARENT):
        run = os.path.join(PARENT, name)
        if name.startswith(PREFIX) and abandoned(run):
            remove(run, os.path.join(cgroup_mount(), name))


def leftovers(run, cgroup):
    """What of this run is still there, one line each."""
    found = [f"mount {point}" for point in _mounts_under(run)]
    groups = [os.path.join(mount, os.path.basename(cgroup)) for mount in hierarchies()]
    found += [path for path in (run, *groups) if os.path.exists(path)]
    found += [f"process {pid}" for pid in _processes(cgroup)]
    return found
