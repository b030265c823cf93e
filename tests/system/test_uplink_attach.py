# SPDX-License-Identifier: Apache-2.0
"""Who may have an uplink, what an attach changes in the namespace, and that a detach undoes it."""
import os
import signal
import socket
import subprocess

import pytest

import documents
import launcher
from farside import UplinkSandbox
from origin.netns import Netns
from sandbox import JOINING
from waiting import until

RULES = ("-4", "-6")
SYSCTLS = [f"ipv4/conf/{name}/{key}" for name in ("all", "default", "eth0")
           for key in ("accept_local", "rp_filter", "arp_ignore")]


def sysctls(netns):
    def read():
        found = {}
        for path in SYSCTLS:
            with open(f"/proc/sys/net/{path}", encoding="ascii") as file:
                found[path] = int(file.read())
        return found

    return netns.call(read)


def state(netns):
    """What an attach changes: rules, routes, addresses of lo, settings, tables."""
    text = [netns.run("ip", family, *words).stdout for family in RULES
            for words in (["rule"], ["route", "show", "table", "local"], ["addr", "show", "dev", "lo"])]
    return text, sysctls(netns), netns.run("nft", "list", "ruleset").stdout


def process(sandbox, *words):
    """A process in the sandbox's cgroup; the words come before the command that waits."""
    made = subprocess.Popen(
        ["sh", "-c", JOINING, "sh", sandbox.cgroup, *words, "sh", "-c", "echo ready; exec sleep 1000"],
        stdout=subprocess.PIPE)
    assert made.stdout.readline() == b"ready\n"
    made.stdout.close()
    return made


NONE = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=65534", "--regid=65534", "--clear-groups")


@pytest.mark.parametrize("name", ["net_raw", "net_admin", "sys_admin"])
def test_a_process_that_may_come_by_a_capability_is_named(wired, name):
    sandbox = wired()
    before = state(sandbox.netns)
    one = process(sandbox, "setpriv", f"--bounding-set=-all,+{name}", "--inh-caps=-all", "--reuid=65534",
                  "--regid=65534", "--clear-groups")
    done = sandbox.try_attach()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"process {one.pid} (sleep) may come by {name.upper()}" in done.stderr
    assert f"--cap-drop={name.upper()}" in done.stderr
    assert state(sandbox.netns) == before, "nothing is half-attached"
    one.kill()
    one.wait()


def test_a_process_below_counts_too(wired):
    sandbox = wired()
    below = os.path.join(sandbox.cgroup, "below")
    os.mkdir(below)
    try:
        harmless = process(sandbox, *NONE)
        other = subprocess.Popen(["sh", "-c", JOINING, "sh", below, "sleep", "1000"])
        until(lambda: open(os.path.join(below, "cgroup.procs"), encoding="ascii").read(), "the process below")
        done = sandbox.try_attach()
        assert done.returncode == 1 and f"process {other.pid}" in done.stderr and "NET_RAW" in done.stderr
    finally:
        for one in (harmless, other):
            one.kill()
            one.wait()
        until(lambda: not open(os.path.join(below, "cgroup.procs"), encoding="ascii").read(), "its end")
        os.rmdir(below)


def test_processes_without_them_may_have_an_uplink(wired):
    sandbox = wired()
    one = process(sandbox, *NONE)
    sandbox.attach()
    (line,) = [l for l in sandbox.stack.netns("list").stdout.splitlines() if l.startswith(sandbox.id + " ")]
    assert " mode=uplink " in line
    assert sandbox.stack.get(f"/v1/sandboxes/{sandbox.id}")["network"] == "uplink"
    maps = sandbox.stack.maps("sandboxes") if " lane=bpf " in line else []
    modes = [e["formatted"]["value"]["mode"] for e in maps if e["formatted"]["value"]["id"] == sandbox.id]
    assert modes in ([1], []), "as CAPTURE_UPLINK says"
    one.kill()
    one.wait()


def test_an_empty_cgroup_wants_a_declaration(wired):
    sandbox = wired()
    before = state(sandbox.netns)
    done = sandbox.try_attach()
    assert done.returncode == 1 and "--bounding" in done.stderr
    assert state(sandbox.netns) == before


@pytest.mark.parametrize("said,refused", [
    ("none", None), ("CAP_CHOWN,net_bind_service", None), ("00000000a80405fb", None),
    ("a80425fb", "NET_RAW"), ("CHOWN,NET_ADMIN", "NET_ADMIN"), ("0x200000", "SYS_ADMIN"),
])
def test_what_is_declared_wins(wired, said, refused):
    """At createRuntime the runtime's own process holds everything, and the bundle says what will be left."""
    sandbox = wired("--bounding", said)
    one = process(sandbox)
    done = sandbox.try_attach()
    assert done.returncode == (1 if refused else 0), done.stderr
    assert not refused or f"may come by {refused}" in done.stderr
    one.kill()
    one.wait()


@pytest.mark.parametrize("said", ["", "NET_RAV", "none,CHOWN", "g0", "CHOWN,,KILL"])
def test_a_declaration_that_says_nothing(wired, said):
    done = wired("--bounding", said).try_attach()
    assert done.returncode != 0 and "--bounding" in done.stderr


def test_a_namespace_of_another_user_namespace(stack, wired):
    sandbox = wired("--bounding", "none")
    holder = subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", "echo ready; exec sleep 1000"],
                              stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"ready\n"
    try:
        done = stack.netns("attach", "--id", sandbox.id, "--netns", f"/proc/{holder.pid}/ns/net", "--cgroup",
                           sandbox.cgroup, "--mode", "uplink", "--bounding", "none")
        assert done.returncode == 1 and "another user namespace" in done.stderr
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_sealed_mode_still_takes_no_interface(wired):
    sandbox = wired()
    sandbox.options = ()
    done = sandbox.try_attach()
    assert done.returncode == 1 and "eth0" in done.stderr and "sealed" in done.stderr


def test_what_an_attach_changes_and_a_detach_restores(wired):
    sandbox = wired("--bounding", "none")
    sandbox.netns.sysctl("ipv4/conf/eth0/rp_filter", 2)
    sandbox.netns.sysctl("ipv4/conf/all/rp_filter", 1)
    before = state(sandbox.netns)
    sandbox.attach()
    for family in RULES:
        order = [line.split(":\t") for line in sandbox.netns.run("ip", family, "rule").stdout.splitlines()]
        assert order[0] == ["0", "from all fwmark 0x5a117001 lookup main"]
        assert order[1][0] == "1" and "lookup local" in order[1][1]
        assert [number for number, _ in order].count("0") == 1
    for path, value in sysctls(sandbox.netns).items():
        assert value == (0 if path.endswith("rp_filter") else 1), path
    assert sandbox.detach().returncode == 0
    assert state(sandbox.netns) == before


def test_an_attach_that_the_daemon_refuses_leaves_nothing(wired):
    sandbox = wired("--bounding", "none")
    before = state(sandbox.netns)
    with open(sandbox.policy, "w", encoding="utf-8") as file:
        file.write("version: 1\nname: wrong\ndefault: perhaps\n")
    assert sandbox.try_attach().returncode == 1
    assert state(sandbox.netns) == before


def test_a_detach_under_a_living_process_leaves_it_without_a_network(wired, far):
    """Its interface is still there: what stays is a table that lets nothing out."""
    sandbox = wired("--bounding", "none")
    sandbox.attach()
    one = process(sandbox, *NONE)
    assert sandbox.detach().returncode == 0
    place = far.capture.settle(sandbox)
    before = len(far.heard)
    for address in ("203.0.113.10", "169.254.169.254", "2001:db8::10"):
        with sandbox.netns.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.settimeout(0.3)
            with pytest.raises(OSError):
                sandbox.netns.call(sock.connect, (address, 80))
    assert not sandbox.unasked(place) and len(far.heard) == before
    assert "fwmark" not in sandbox.netns.run("ip", "rule").stdout
    one.kill()
    one.wait()
    until(lambda: not sandbox.processes(), "its end")
    sandbox.attach()  # and it can be attached anew
    assert sandbox.detach().returncode == 0
    assert "sallyport" not in sandbox.netns.run("nft", "list", "ruleset").stdout


def test_run_with_an_uplink(world, far):
    """The command's own server is reached by an interface that somebody has wired; the namespace is left as it was."""
    netns = Netns("wired")
    port, ip4, ip6 = far.wire(netns)
    before = state(netns)
    policy = world.write("uplink.policy.yaml", f"""\
version: 1
name: run
default: deny
upstream:
  - {{hosts: ["*"], ca: {world.pki.ca}}}
rules:
  - {{name: a, hosts: [api.test], action: allow}}
""")
    script = os.path.join(os.path.dirname(__file__), "served.py")
    command = f"curl -sS https://api.test/launched && exec /usr/bin/python3 -E -S {script} word 8080"
    process = launcher.start(world, "run", "--uplink", "--netns", netns.path, "--policy", policy, "--", "sh", "-c", command)
    try:
        assert "hello from api.test" in process.stdout.readline()
        assert process.stdout.readline() == "listening\n"
        for address in (ip4, ip6):
            assert far.ask(address, 8080).startswith(b"word ")
    finally:
        launcher.interrupt_group(process, signal.SIGTERM)
        process.communicate(timeout=30)
    assert state(netns) == before
    netns.close()


def test_run_says_what_an_uplink_wants(world):
    for words, text in ((["--uplink"], "--netns PATH"), (["--netns", "/run/netns/none"], "--uplink")):
        done = launcher.run(world, "run", *words, "--", "true")
        assert done.returncode == 64 and text in done.stderr


def test_when_the_helper_is_killed_nothing_leaves_and_a_new_one_takes_it(world, far, another_stack):
    stack = another_stack("uplink-killed")
    sandbox = UplinkSandbox(stack, documents.POLICY, far)
    try:
        sandbox.attach()
        stack.helper.send_signal(signal.SIGKILL)
        stack.helper.wait()
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            for address in ("203.0.113.10", "10.0.0.1", "2001:db8::10"):
                with sandbox.netns.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind) as sock:
                    sock.settimeout(0.3)
                    try:
                        sandbox.netns.call(sock.connect, (address, 80))
                        sock.send(b"out")
                    except OSError:
                        pass
        assert not sandbox.unasked()
        stack.kill_daemon()
        stack.start()
        sandbox.attach()
        assert not sandbox.unasked()
    finally:
        sandbox.close()
