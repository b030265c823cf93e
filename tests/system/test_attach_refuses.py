# SPDX-License-Identifier: Apache-2.0
"""What attach verifies: each mistake is one line that names the thing and the remedy, and nothing is half attached."""
import errno
import os
import subprocess

from helper_rig import REPLY, attach, receive, send
from test_helper import netns  # noqa: F401 - the fixture


def test_attach_refuses(rig, netns):
    """In one line that names the thing and the remedy, and nothing is half attached."""
    rig.daemon()
    cgroup = rig.cgroup()
    own = next(line[3:].strip() for line in open("/proc/self/cgroup") if line.startswith("0::"))
    cases = [
        ("--netns: not a network namespace: give /run/netns/NAME", ["--netns", "/proc/self/ns/mnt"]),
        ("--netns: not a network namespace: give /run/netns/NAME", ["--netns", "/dev/null"]),
        ("--netns: not a network namespace: give /run/netns/NAME", ["--netns", "/tmp"]),
        ("/run/netns/nobody: No such file or directory: ip netns add NAME makes one", ["--netns", "/run/netns/nobody"]),
        ("own network namespace, in which the host is: make another", ["--netns", "/proc/self/ns/net"]),
        (f"--cgroup: is the root of the cgroup v2 tree, in which everybody is: mkdir one below {rig.tree}",
            ["--cgroup", rig.tree]),
        (f"--cgroup: not a directory of the cgroup v2 tree: mkdir one below {rig.tree}", ["--cgroup", "/tmp"]),
        (f"{rig.tree}/nobody: No such file or directory: mkdir it", ["--cgroup", f"{rig.tree}/nobody"]),
        ("cgroup.procs: Not a directory", ["--cgroup", os.path.join(cgroup, "cgroup.procs")]),
        ("--id: wants [a-z0-9]", ["--id", "Upper"]),
        ("--id: wants [a-z0-9]", ["--id", ".dot"]),
        ("--id: is longer", ["--id", "x" * 64]),
        ("--mode bridged: there is no such value: sealed, uplink", ["--mode", "bridged"]),
        ("--mode uplink: no process is in the cgroup yet", ["--mode", "uplink"]),
        ("--lane tproxy: there is no such value: auto, bpf, nft", ["--lane", "tproxy"]),
        ("--lane fast: there is no such value: auto, bpf, nft", ["--lane", "fast"]),
    ]
    if own != "/":
        cases.append(("helper itself is inside: take one", ["--cgroup", rig.tree + own]))
    for text, words in cases:
        options = {"--id": "a", "--netns": netns, "--cgroup": cgroup}
        options[words[0]] = words[1]
        done = rig.ctl("attach", *[w for pair in options.items() for w in pair])
        assert text in done.stderr and len(done.stderr.splitlines()) == 1, (words, done.stderr)
        assert done.returncode in (1, 64)
    nothing_attached(rig, netns)


def nothing_attached(rig, netns):
    assert rig.ctl("list").stdout == ""
    assert os.listdir(os.path.join(rig.state, "bpf", "links")) == os.listdir(os.path.join(rig.state, "bpf", "flows")) == []
    inside_it = subprocess.run(["nsenter", f"--net={netns}", "sh", "-c", "ip addr; ip route show table all; nft list tables"],
        text=True, capture_output=True, check=True).stdout
    assert "192.0.2.1" not in inside_it and "2001:db8:53::1" not in inside_it and "sallyport" not in inside_it


def test_a_cgroup_that_is_gone_is_refused(rig, netns):
    """It was removed between its opening and the request."""
    rig.daemon()
    path = rig.cgroup()
    fds = [os.open(netns, os.O_RDONLY), os.open(path, os.O_RDONLY), os.memfd_create("policy")]
    os.rmdir(path)
    ask = rig.ask()
    send(ask, attach("a"), fds)
    _, _, error, _, text = REPLY.unpack(receive(ask)[0])
    assert error == -errno.ENOENT and b"--cgroup: was removed meanwhile: make it again" in text
    os.mkdir(path)  # another one by that name is not the same
    send_again = rig.ask()
    send(send_again, attach("a"), fds)
    assert REPLY.unpack(receive(send_again)[0])[2] == -errno.ENOENT
    for fd in fds:
        os.close(fd)
    nothing_attached(rig, netns)


def test_namespace_with_another_link_is_refused(rig, netns):
    rig.daemon()
    subprocess.run(["nsenter", f"--net={netns}", "ip", "link", "add", "up0", "type", "veth", "peer", "up1"], check=True)
    done = rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", rig.cgroup())
    assert done.returncode == 1
    assert "has the link up" in done.stderr and "--network none" in done.stderr
    subprocess.run(["nsenter", f"--net={netns}", "ip", "link", "del", "up0"], check=True)
    assert rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", rig.cgroups[0]).returncode == 0


def test_twice_is_refused(rig, netns):
    rig.daemon()
    first = rig.cgroup()
    second = rig.cgroup()
    below = os.path.join(first, "below")
    os.mkdir(below)
    assert rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", first).returncode == 0
    for words, text in ((["a", "new", second], "--id: a is attached already: detach it"), (["b", netns, second], "--netns: is attached already, as a: detach"),
        (["b", "new", first], "--cgroup: overlaps with that of a: take"), (["b", "new", below], "--cgroup: overlaps")):
        done = rig.ctl("attach", "--id", words[0], "--netns", words[1], "--cgroup", words[2])
        assert done.returncode == 1 and text in done.stderr, done.stderr
    assert rig.ctl("detach", "--id", "a").returncode == 0
    os.rmdir(below)
