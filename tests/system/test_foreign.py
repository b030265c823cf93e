# SPDX-License-Identifier: Apache-2.0
"""What somebody else has in a namespace that is to be attached: refused and named, or let be where it is harmless."""
import os
import socket
import subprocess

import pytest

from helper_rig import until
from origin.netns import Netns

STREAM, DGRAM, RAW = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW
UDPLITE = 136


@pytest.fixture
def space():
    made = Netns("foreign")
    made.ip(["link set lo up"])
    yield made
    made.close()


def attach(rig, space, id_="a", cgroup=None):
    return rig.ctl("attach", "--id", id_, "--netns", space.path, "--cgroup", cgroup or rig.cgroup())


def listening(space, family, address):
    sock = space.socket(family, STREAM)
    sock.bind((address, 4000))
    sock.listen()
    return [sock]


def connected(space):
    """Both ends; the listener is gone."""
    server = listening(space, socket.AF_INET, "127.0.0.1")[0]
    client = space.socket(socket.AF_INET, STREAM)
    client.connect(("127.0.0.1", 4000))
    peer, _ = server.accept()
    server.close()
    return [client, peer]


def bound(space, family, kind, protocol, address):
    sock = space.socket(family, kind, protocol)
    sock.bind(address)
    return [sock]


def made(space, family, kind, protocol):
    return [space.socket(family, kind, protocol)]


FOREIGN = {
    "tcp": (lambda s: listening(s, socket.AF_INET, "127.0.0.1"), "a TCP socket in it, at 127.0.0.1:4000"),
    "tcp6": (lambda s: listening(s, socket.AF_INET6, "::1"), "a TCP socket in it, at [::1]:4000"),
    "tcp any": (lambda s: listening(s, socket.AF_INET, "0.0.0.0"), "a TCP socket in it, at 0.0.0.0:4000"),
    "connection": (connected, "a TCP socket in it, at 127.0.0.1:"),
    "udp": (lambda s: bound(s, socket.AF_INET, DGRAM, 0, ("127.0.0.1", 4000)), "a UDP socket in it, at 127.0.0.1:4000"),
    "udp6": (lambda s: bound(s, socket.AF_INET6, DGRAM, 0, ("::1", 4000)), "a UDP socket in it, at [::1]:4000"),
    "udplite": (lambda s: bound(s, socket.AF_INET, DGRAM, UDPLITE, ("127.0.0.1", 4000)), "a UDP-Lite socket in it"),
    "raw": (lambda s: made(s, socket.AF_INET, RAW, socket.IPPROTO_ICMP), "a raw socket in it, at 0.0.0.0:1"),
    "raw6": (lambda s: made(s, socket.AF_INET6, RAW, 58), "a raw socket in it, at [::]:58"),
    "packet": (lambda s: made(s, socket.AF_PACKET, RAW, socket.htons(3)), "a packet socket in it"),
    "abstract": (lambda s: bound(s, socket.AF_UNIX, STREAM, 0, b"\0door\x1b[31m"), "a unix socket in it, at @door?[31m"),
    # Docker's resolver is at this address: nobody else may be at another, or at its IPv6 form
    "not resolver": (lambda s: listening(s, socket.AF_INET, "127.0.0.12"), "at 127.0.0.12:4000"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_socket_of_a_process_outside_is_refused_and_named(rig, space, what):
    daemon = rig.daemon()
    make, text = FOREIGN[what]
    try:
        socks = make(space)
    except OSError as error:
        pytest.skip(f"the kernel has no such socket: {error}")
    done = attach(rig, space)
    assert done.returncode == 1 and text in done.stderr, done.stderr
    assert f"(pid {os.getpid()}), which is outside --cgroup" in done.stderr
    assert "end it first" in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not daemon.offers and rig.ctl("list").stdout == ""
    assert "192.0.2.1" not in space.run("ip", "addr").stdout, "nothing is half attached"
    for sock in socks:
        sock.close()
    assert attach(rig, space, cgroup=rig.cgroups[0]).returncode == 0, "and accepted when it is gone"


def test_what_nobody_can_be_reached_by_is_let_be(rig, space, tmp_path):
    rig.daemon()
    client, peer = connected(space)
    for sock in (client, peer):  # the side that closes first is in TIME_WAIT now, without a process
        sock.close()
    until("TIME_WAIT", lambda: "06 00000000" in space.call(lambda: open("/proc/thread-self/net/tcp").read()))
    held = [space.socket(socket.AF_NETLINK, RAW, 0), space.socket(socket.AF_INET, STREAM),
        space.socket(socket.AF_INET6, DGRAM), *space.call(socket.socketpair)]
    held += bound(space, socket.AF_UNIX, STREAM, 0, str(tmp_path / "by-path"))
    done = attach(rig, space)
    assert done.returncode == 0, done.stderr
    for sock in held:
        sock.close()


HOLDER = """
import socket, sys
v4 = socket.create_server(("127.0.0.1", 4000))
v6 = socket.create_server(("::1", 4000), family=socket.AF_INET6)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 4000))
name = socket.socket(socket.AF_UNIX)
name.bind("\\0own")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("when", ["in it", "below it", "moved in later", "outside"])
def test_the_sandboxs_own_sockets_are_no_hindrance(rig, space, when):
    """Made in the cgroup, in one below, or by a process that came in later; the control stays outside."""
    rig.daemon()
    cgroup = rig.cgroup()
    below = os.path.join(cgroup, "below")
    os.mkdir(below)
    at_first = {"in it": cgroup, "below it": below}.get(when)
    join = f"open({os.path.join(at_first, 'cgroup.procs')!r}, 'w').write('0')\n" if at_first else ""
    holder = subprocess.Popen(space.command(["/usr/bin/python3", "-c", join + HOLDER]), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "ready\n"
        if when == "moved in later":
            with open(os.path.join(cgroup, "cgroup.procs"), "w") as procs:
                procs.write(str(holder.pid))
        done = attach(rig, space, cgroup=cgroup)
        if when == "outside":
            assert done.returncode == 1 and f"(pid {holder.pid})" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
    finally:
        holder.communicate()
    rig.ctl("detach", "--id", "a")
    os.rmdir(below)


@pytest.mark.parametrize("table", ["ip filter", "inet firewall", "ip6 nat", "ip nat", "netdev edge", "arp a"])
def test_a_table_of_somebody_else_is_refused_and_named(rig, space, table):
    rig.daemon()
    space.run("nft", "add", "table", *table.split())
    done = attach(rig, space)
    assert done.returncode == 1
    assert f"has the nft table `{table}` of somebody else: nft delete table {table}" in done.stderr
    space.run("nft", *done.stderr.strip().rpartition(": nft ")[2].split())
    assert attach(rig, space, cgroup=rig.cgroups[0]).returncode == 0


@pytest.mark.parametrize("rule", ["from 192.0.2.7 lookup main pref 100", "fwmark 1 lookup 7 pref 0",
    "iif lo blackhole pref 40000", "lookup 7 pref 32766", "-6 to 2001:db8::/32 lookup main pref 5",
    "ipproto tcp lookup main pref 9"])
def test_a_routing_rule_of_somebody_else_is_refused_and_named(rig, space, rule):
    rig.daemon()
    family = ["-6"] if rule.startswith("-6") else []
    words = rule.removeprefix("-6 ").split()
    preference = words[words.index("pref") + 1]
    space.run("ip", *family, "rule", "add", *words)
    done = attach(rig, space)
    assert done.returncode == 1 and f"a routing rule of its own, at preference {preference}: ip " in done.stderr
    space.run("ip", *family, "rule", "del", *words)
    done = attach(rig, space, cgroup=rig.cgroups[0])
    assert done.returncode == 0, done.stderr


def test_the_table_of_a_helper_that_died_is_no_hindrance(rig, space):
    daemon = rig.daemon()
    cgroup = rig.cgroup()
    assert attach(rig, space, cgroup=cgroup).returncode == 0
    rig.helper.kill()
    rig.helper.wait()
    daemon.close()
    assert "table inet sallyport" in space.run("nft", "list", "tables").stdout
    rig.serve()
    rig.daemon()
    done = attach(rig, space, cgroup=cgroup)
    assert done.returncode == 0, done.stderr
    assert rig.ctl("detach", "--id", "a").returncode == 0
    rig.helper.terminate()
    assert rig.helper.wait(10) == 0
    os.rmdir(rig.state)  # which was there when the second helper came
