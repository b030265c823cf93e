# SPDX-License-Identifier: Apache-2.0
"""sallyport-netns: its requests, one attach from beginning to end, and that nothing is left."""
import errno
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest

import helper_rig
from helper_rig import (DETACH, GONE, LIST, NETNS, REPLY, VERSION, active, attach, name, opening,
    receive, send, until)


def inside(netns, code, cgroup=None):
    """Runs python code in the namespace (a path), in the cgroup or in none of ours; its output."""
    join = f"open({os.path.join(cgroup, 'cgroup.procs')!r}, 'w').write('0')\n" if cgroup else ""
    done = subprocess.run(["nsenter", f"--net={netns}", "/usr/bin/python3", "-c", join + code], text=True,
        capture_output=True, timeout=30, check=True)
    return done.stdout.strip()


CONNECT = """
import errno, socket
def attempt(family, address, port, kind=socket.SOCK_STREAM):
    s = socket.socket(family, kind)
    s.settimeout(3)
    try:
        s.connect((address, port))
        if kind == socket.SOCK_DGRAM:
            s.send(b'x')
            s.send(b'x')
        return 'connected'
    except TimeoutError:
        return 'timeout'
    except OSError as e:
        return errno.errorcode[e.errno]
v4, v6, udp = socket.AF_INET, socket.AF_INET6, socket.SOCK_DGRAM
"""


@pytest.fixture
def netns():
    """A new network namespace, as a path; gone with the process that holds it."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    own = os.readlink("/proc/self/ns/net")
    until("namespace", lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != own)
    yield f"/proc/{holder.pid}/ns/net"
    holder.kill()
    holder.wait()


# ---- the daemon is not there --------------------------------------------------------------------------------------

def test_attach_without_daemon_fails_at_once_and_names_the_remedy(rig):
    begun = time.monotonic()
    done = rig.ctl("attach", "--id", "a", "--netns", "new", "--cgroup", rig.cgroup())
    assert done.returncode == 1
    assert "sallyportd is not running: start it with" in done.stderr
    assert time.monotonic() - begun < 2


def test_no_helper_is_named(tmp_path):
    done = subprocess.run([NETNS, "--state", str(tmp_path), "list"], text=True, capture_output=True)
    assert done.returncode == 2
    assert "start it with `scripts/sallyport up`, or `sallyport-netns serve`" in done.stderr
    assert not done.stderr.startswith("<"), "the priority is for a journal"


def test_a_service_says_its_priority(rig):
    rig.ask().send(b"\0")
    until("a line", rig.logged)
    assert rig.logged().startswith("<")


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"], ["enter", "--help"]])
def test_help(words):
    done = subprocess.run([NETNS, *words], text=True, capture_output=True)
    assert done.returncode == 0 and "--daemon-user" in done.stdout and not done.stderr


def test_a_second_helper_is_refused(rig):
    done = rig.ctl("serve")
    assert done.returncode == 1
    assert "another helper serves" in done.stderr


# ---- messages that are not acceptable -----------------------------------------------------------------------------

BAD = {
    "empty": b"\0",
    "short": name("a", LIST)[:-1],
    "long": name("a", LIST) + b"\0",
    "attach cut": attach("a")[:-1],
    "version": struct.pack("II64s", LIST, VERSION + 1, b""),
    "op 0": name("a", 0),
    "op of the link": name("a", GONE),
    "op large": name("a", 2**32 - 1),
    "attach without descriptors": attach("a"),
    "id without end": struct.pack("II64s", LIST, VERSION, b"x" * 64),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_message_is_logged_and_dropped(rig, what):
    other, bad = rig.ask(), rig.ask()
    send(bad, BAD[what])
    assert receive(bad)[0] == b""
    assert "was not acceptable" in rig.logged()
    send(other, name("", LIST))
    assert len(receive(other)[0]) == REPLY.size


def test_descriptors_that_are_not_expected(rig):
    for count in (1, 4, 60):
        before = rig.helper_fds()
        bad = rig.ask()
        send(bad, name("", LIST), [0] * count)
        assert receive(bad)[0] == b""
        until("descriptors closed", lambda n=before: rig.helper_fds() <= n)
    attached = rig.ask()
    send(attached, attach("a"), [0, 0])
    assert receive(attached)[0] == b""


def test_wrong_phase_and_repeated_attach(rig):
    rig.daemon()
    fds = [os.open("/proc/self/ns/net", os.O_RDONLY), os.open(rig.cgroup(), os.O_RDONLY), os.memfd_create("p")]
    asking = rig.ask()
    send(asking, attach("a"), fds)
    assert REPLY.unpack(receive(asking)[0])[2] == -errno.EINVAL  # our own namespace
    send(asking, attach("a"), fds)
    assert receive(asking)[0] == b"", "attach comes once"
    netns = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    try:
        own = os.readlink("/proc/self/ns/net")
        until("namespace", lambda: os.readlink(f"/proc/{netns.pid}/ns/net") != own)
        fds[0] = os.open(f"/proc/{netns.pid}/ns/net", os.O_RDONLY)
        holder = rig.ask()
        send(holder, attach("h", hold=1), fds)
        assert REPLY.unpack(receive(holder)[0])[2] == 0
        send(holder, name("h", DETACH))
        assert receive(holder)[0] == b"", "a holder may not detach"
        until("gone", lambda: rig.ctl("list").stdout == "")
    finally:
        netns.kill()
        netns.wait()


def test_daemon_that_says_what_was_not_asked_is_dropped(rig):
    for message in (active("nobody"), active("x")[:-1], name("nobody", GONE), name("a", LIST), b"\0"):
        daemon = rig.daemon()
        daemon.sock.send(message)
        until("dropped", lambda d=daemon: d.ended)
    assert rig.ctl("list").returncode == 0


def test_daemon_twice_active(rig):
    daemon = rig.daemon()
    rig.attach("a")
    daemon.sock.send(active("a"))
    until("dropped", lambda: daemon.ended)
    assert "a active" in rig.ctl("list").stdout, "its sandbox stays"


def test_second_daemon_waits_for_the_end_of_the_first(rig):
    first = rig.daemon()
    second = rig.daemon()
    until("refused", lambda: second.ended)
    first.close()
    assert rig.daemon().hello


def test_only_root_outside_every_sandbox_is_heard(rig, netns):
    def as_nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    program = shutil.copy(NETNS, rig.parent)  # where nobody may go, wherever the build is

    def list_as_nobody():
        return subprocess.run([program, "--state", rig.state, "list"], text=True, capture_output=True, timeout=60,
            preexec_fn=as_nobody, cwd="/")

    os.chmod(rig.state, 0o755)
    assert "only root" in list_as_nobody().stderr
    os.chmod(os.path.join(rig.state, "helper.sock"), 0o666)
    assert list_as_nobody().returncode == 2, "the peer's uid decides, not the file's mode"
    rig.daemon()
    cgroup = rig.cgroup()
    assert rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup, "--unix", "/").returncode == 0
    ask = f"import subprocess; print(subprocess.run([{NETNS!r}, '--state', {rig.state!r}, 'list']).returncode)"
    assert inside(netns, ask, cgroup) == "2"
    assert rig.ctl("list").returncode == 0


def test_unix_paths_are_those_that_were_given(rig, netns):
    rig.daemon()
    for odd in ("relative", "/a//b", "/a/./b", "/a/../b", "/" + 108 * "a"):
        done = rig.ctl("attach", "--id", "a", "--netns", "new", "--cgroup", rig.cgroup(), "--unix", odd)
        assert done.returncode == 1 and "--unix" in done.stderr, done
    many = [word for i in range(17) for word in ("--unix", f"/{i}/")]
    assert "there can be 16" in rig.ctl("attach", "--id", "a", "--netns", "new", "--cgroup", rig.cgroup(), *many).stderr
    cgroup = rig.cgroup()
    attached = rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup, "--unix", rig.state + "/",
        "--unix", "/run/one.sock")
    assert attached.returncode == 0, attached.stderr
    tries = f"""
import errno, socket
for path in {[rig.state + "/nobody", "/run/one.sock", "/run/one.socket", "/tmp/nobody"]!r}:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
    said = inside(netns, tries, cgroup).split()
    if "unix-paths" in rig.logged():
        pytest.skip("this kernel has no hook for unix sockets, as the helper says")
    assert said == ["ENOENT", "ENOENT", "EACCES", "EACCES"]


def test_who_cannot_be_judged_any_more_is_not_heard(rig):
    """A root in a sandbox has a child connect that is gone when the helper looks."""
    rig.daemon()
    rig.attach("a")
    path = os.path.join(rig.state, "helper.sock")
    helper = rig.helper.pid
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.kill(helper, signal.SIGSTOP)  # the race, won
    try:
        child = os.fork()
        if child == 0:
            try:
                with open(os.path.join(rig.cgroups[0], "cgroup.procs"), "w") as procs:
                    procs.write("0")
                ours.connect(path)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    finally:
        os.kill(helper, signal.SIGCONT)
    ours.settimeout(5)
    try:
        ours.send(struct.pack("=II64s", LIST, VERSION, b""))
        assert ours.recv(1000) == b"", "it got an answer"
    except OSError:
        pass
    ours.close()


# ---- an attach from beginning to end ------------------------------------------------------------------------------

def test_attach_and_detach_leave_nothing(rig, netns):
    daemon = rig.daemon()
    pins = lambda: sorted(os.listdir(os.path.join(rig.state, "bpf")) +
        os.listdir(os.path.join(rig.state, "bpf", "flows")))
    ruleset = lambda: subprocess.run(["nsenter", f"--net={netns}", "nft", "list", "ruleset"], text=True,
        capture_output=True, check=True).stdout
    routes = lambda: subprocess.run(["nsenter", f"--net={netns}", "sh", "-c",
        "ip addr; ip route show table all; ip -6 route show table all"], text=True, capture_output=True, check=True).stdout
    cgroup = rig.cgroup()
    before = None
    for _ in range(4):
        if before:  # the last client's own socket goes a moment after its answer
            helper_rig.until("the descriptors of before", lambda: rig.helper_fds() == before[0])
        state = rig.helper_fds(), pins(), ruleset(), routes()
        # lo has no 127.0.0.1 before it is brought up for the first time; it keeps it
        assert before is None or before[:3] == state[:3] and (before[3] == state[3] or "127.0.0.1" not in before[3])
        before = state
        done = rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup)
        assert done.stdout == "active " + helper_rig.DIGEST.hex() + "\n"
        assert "a" in pins() and "chain input" in ruleset()
        assert rig.ctl("list").stdout.startswith("a active mode=sealed ")
        assert rig.ctl("detach", "--id", "a").returncode == 0
        assert not daemon.offers
    helper_rig.until("the descriptors of before", lambda: rig.helper_fds() == before[0])
    assert (rig.helper_fds(), pins(), ruleset(), routes()) == before
    assert "inet 192.0.2.1" not in before[3] and "local default" not in before[3]


def test_policy_faults_name_the_file(rig, tmp_path):
    rig.daemon(lambda offer: active(offer.id, error=errno.EINVAL, text="policy:3:1: there is no key"))
    policy = tmp_path / "mine.yaml"
    policy.write_text("version: 1\n")
    done = rig.ctl("attach", "--id", "a", "--netns", "new", "--cgroup", rig.cgroup(), "--policy", str(policy))
    assert done.returncode == 1 and f"{policy}:3:1: there is no key" in done.stderr


def test_policy_arrives_sealed(rig, tmp_path):
    daemon = rig.daemon()
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nname: mine\n")
    rig.attach("a", "--policy", str(policy))
    fd = daemon.offers["a"].policy
    assert os.pread(fd, 100, 0) == b"version: 1\nname: mine\n"
    with pytest.raises(PermissionError):
        os.pwrite(fd, b"x", 0)


def test_capture_refusal_and_openings(rig, netns):
    """Connections from the cgroup and from elsewhere in the namespace; refused ones reach no listener."""
    daemon = rig.daemon(lambda offer: active(offer.id, openings=[
        opening("::ffff:10.1.0.0", 112, 443, 444), opening("fd00:ec2::254", 128, 80, 80, metadata=1)]))
    cgroup = rig.cgroup()
    assert rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup).returncode == 0
    offer = daemon.offers["a"]
    listeners = [socket.socket(fileno=os.dup(fd)) for fd in offer.tcp4]
    assert offer.tcp6 == offer.tcp4  # of both families

    def arrived():
        found = []
        for listener in listeners:
            listener.setblocking(False)
            try:
                while True:
                    client, _ = listener.accept()
                    address, port = client.getsockname()[:2]
                    found.append((address.removeprefix("::ffff:"), port))
                    client.close()
            except BlockingIOError:
                pass
        return sorted(found)

    code = CONNECT + """
print(*[attempt(*a) for a in [(v4, '203.0.113.9', 443), (v6, '2001:db8:9::1', 8443), (v6, '::ffff:203.0.113.9', 80),
    (v4, '10.1.2.3', 443), (v6, 'fd00:ec2::254', 80)]])
print(*[attempt(*a) for a in [(v4, '10.1.2.3', 80), (v4, '10.2.0.1', 443), (v4, '169.254.169.254', 80),
    (v6, 'fd00:ec2::254', 443), (v6, '64:ff9b::10.0.0.1', 443), (v6, '2002:a00:1::1', 443), (v4, '127.0.0.1', 1),
    (v4, '203.0.113.9', 443, udp), (v6, '2001:db8:9::1', 443, udp), (v4, '203.0.113.9', 853)]])
"""
    wanted = sorted([("203.0.113.9", 443), ("2001:db8:9::1", 8443), ("203.0.113.9", 80), ("10.1.2.3", 443),
        ("fd00:ec2::254", 80)])
    for where in (cgroup, None):
        opened, refused = inside(netns, code, where).splitlines()
        assert opened.split() == ["connected"] * 5
        assert "connected" not in refused and "timeout" not in refused, refused
        if where is None:
            assert set(refused.split()) == {"ECONNREFUSED"}
        assert arrived() == wanted
    for listener in listeners:
        listener.close()


def test_dns_answers_come_from_the_asked_address(rig, netns):
    daemon = rig.daemon()
    cgroup = rig.cgroup()
    assert rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup).returncode == 0
    code = """
import socket
for family, address in ((socket.AF_INET, '203.0.113.53'), (socket.AF_INET, '127.0.0.53'), (socket.AF_INET6, '2001:db8::53'),
    (socket.AF_INET6, '::ffff:10.0.0.2'), (socket.AF_INET6, '::1')):
    for connected in (True, False):
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.settimeout(5)
        if connected:
            s.connect((address, 53))
            s.send(b'question')
            print(s.recv(100).decode())
        else:
            s.sendto(b'question', (address, 53))
            answer, source = s.recvfrom(100)
            print(answer.decode() if source[0] == address and source[1] == 53 else source)
"""
    client = subprocess.Popen(["nsenter", f"--net={netns}", "/usr/bin/python3", "-c",
        f"open({cgroup + '/cgroup.procs'!r}, 'w').write('0')\n" + code], text=True, stdout=subprocess.PIPE)
    sock = socket.socket(fileno=os.dup(daemon.offers["a"].udp4))  # of both families
    assert sock.family == socket.AF_INET6
    sock.settimeout(0.05)
    answered = 0
    end = time.monotonic() + 20
    while client.poll() is None and time.monotonic() < end:
        try:
            question, control, _, peer = sock.recvmsg(512, 512)
        except TimeoutError:
            continue
        level, kind = socket.IPPROTO_IPV6, socket.IPV6_PKTINFO
        info = next(data for l, k, data in control if (l, k) == (level, kind))
        sock.sendmsg([b"answer"], [(level, kind, info[:16] + bytes(4))], 0, peer)
        answered += 1
    assert client.stdout.read().split() == ["answer"] * 10
    assert client.wait(5) == 0 and answered == 10
    sock.close()


def test_refused_policy_is_told_and_undone(rig, netns):
    rig.daemon(lambda offer: active(offer.id, error=errno.EINVAL, text="policy:3:1: there is no key \"alow\""))
    fds = rig.helper_fds()
    cgroup = rig.cgroup()
    done = rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup)
    assert done.returncode == 1 and "no key \"alow\"" in done.stderr
    until("gone", lambda: rig.ctl("list").stdout == "" and rig.helper_fds() == fds)
    assert "192.0.2.1" not in subprocess.run(["nsenter", f"--net={netns}", "ip", "addr"], text=True,
        capture_output=True).stdout


def test_silent_daemon_has_ten_seconds(rig):
    daemon = rig.daemon(lambda offer: None)
    begun = time.monotonic()
    done = rig.ctl("attach", "--id", "a", "--netns", "new", "--cgroup", rig.cgroup())
    assert done.returncode == 1 and "within 10 seconds" in done.stderr
    assert 9 < time.monotonic() - begun < 14
    until("withdrawn", lambda: not daemon.offers)


def test_namespace_without_ipv6(rig, netns):
    """Is attached with a note, or refused when that is asked for."""
    daemon = rig.daemon()
    subprocess.run(["nsenter", f"--net={netns}", "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6;"
        "echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6"], check=True)
    options = ["attach", "--id", "a", "--netns", netns, "--cgroup", rig.cgroup()]
    done = rig.ctl(*options, "--strict")
    # where the kernel has no hook for unix sockets that is found first
    assert done.returncode == 1 and ("--strict: the network namespace has no IPv6" in done.stderr
        or "--strict: unix-paths: " in done.stderr and "unix-paths" in rig.logged())
    assert rig.ctl(*options).returncode == 0
    assert "ipv6=no" in rig.ctl("list").stdout and not daemon.offers["a"].has_v6
    attempts = inside(netns, CONNECT + "print(attempt(v4, '203.0.113.9', 443), attempt(v6, '2001:db8::9', 443))")
    assert attempts.split()[0] == "connected" and attempts.split()[1] != "connected"


def test_detach_of_a_held_sandbox_by_another_is_answered(rig):
    rig.daemon()
    holder = hold(rig, rig.cgroup())
    sleeper = subprocess.Popen([NETNS, "--state", rig.state, "enter", "--id", "held", "--", "sleep", "600"])
    until("entered", lambda: len(open(os.path.join(rig.cgroups[0], "cgroup.procs")).read().split()) == 2)
    assert rig.ctl("detach", "--id", "held").returncode == 0
    assert holder.wait(5) == 0 and sleeper.wait(5) == 128 + signal.SIGKILL


def test_client_that_gives_up_ends_its_attach(rig):
    daemon = rig.daemon(lambda offer: None)
    client = subprocess.Popen([NETNS, "--state", rig.state, "attach", "--id", "a", "--netns", "new", "--cgroup",
        rig.cgroup()])
    until("offered", lambda: "a" in daemon.offers)
    helper_rig.kill(client)
    until("gone", lambda: rig.ctl("list").stdout == "")


def test_restarted_daemon_is_offered_every_sandbox_again(rig, netns):
    first = rig.daemon()
    rig.attach("a")
    cgroup = rig.cgroup()
    assert rig.ctl("attach", "--id", "b", "--netns", netns, "--cgroup", cgroup).returncode == 0
    first.close()
    tries = CONNECT + "print(attempt(v4, '203.0.113.9', 443))"
    until("the end", lambda: rig.ctl("list", "--daemon").returncode == 1)
    assert inside(netns, tries, cgroup) == "ECONNREFUSED"
    second = rig.daemon()
    until("offers", lambda: set(second.offers) == {"a", "b"})
    until("the outage's end", lambda: inside(netns, tries, cgroup) == "connected")
    assert rig.ctl("list").stdout.count(" active ") == 2
    assert rig.ctl("detach", "--id", "b").returncode == 0
    assert set(second.offers) == {"a"}


def test_dead_helper_is_fail_closed_and_replaced(rig, netns):
    """Its links are pinned: refusals go on, and so does the daemon, which has the listeners. Without both nobody
    answers."""
    rig.daemon()
    cgroup = rig.cgroup()
    tries = CONNECT + ("print(attempt(v4, '203.0.113.9', 443), attempt(v6, '2001:db8::9', 443),"
        "attempt(v4, '10.0.0.1', 80), attempt(v4, '203.0.113.9', 443, udp))")
    assert rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup).returncode == 0
    helper_rig.kill(rig.helper)
    assert inside(netns, tries, cgroup).split() == ["connected", "connected", "EACCES", "ECONNREFUSED"]
    rig.daemons.pop().close()
    assert inside(netns, tries, cgroup).split() == ["ECONNREFUSED", "ECONNREFUSED", "EACCES", "ECONNREFUSED"]
    rig.serve()
    # what the dead one left does not refuse any more: the namespace has its AnyIP route still, and nobody listens
    assert inside(netns, tries, cgroup).split()[2] == "ECONNREFUSED"
    rig.daemon()
    assert rig.ctl("attach", "--id", "a", "--netns", netns, "--cgroup", cgroup).returncode == 0
    assert rig.ctl("detach", "--id", "a").returncode == 0
    rig.helper.terminate()
    assert rig.helper.wait(10) == 0
    assert not os.path.exists(os.path.join(rig.state, "helper.sock"))
    os.rmdir(rig.state)


# ---- hold ---------------------------------------------------------------------------------------------------------

def hold(rig, cgroup):
    client = subprocess.Popen([NETNS, "--state", rig.state, "attach", "--hold", "--own-cgroup", "--id", "held", "--netns",
        "new", "--cgroup", cgroup], text=True, stdout=subprocess.PIPE)
    assert client.stdout.readline().startswith("active ")
    return client


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_holder_killed_ends_everything(rig, number):
    daemon = rig.daemon()
    fds = rig.helper_fds()
    cgroup = rig.cgroup()
    holder = hold(rig, cgroup)
    sleeper = subprocess.Popen([NETNS, "--state", rig.state, "enter", "--id", "held", "--", "sh", "-c",
        "setsid sleep 600 & sleep 600"])
    until("entered", lambda: len(open(os.path.join(cgroup, "cgroup.procs")).read().split()) == 4)
    helper_rig.kill(holder, number)
    assert sleeper.wait(10) == 128 + signal.SIGKILL
    until("cgroup gone", lambda: not os.path.exists(cgroup))
    until("descriptors closed", lambda: rig.helper_fds() == fds)
    assert rig.ctl("list").stdout == "" and not daemon.offers


def test_private_helper_ends_with_the_hold():
    rig = helper_rig.Rig("--private")
    rig.daemon()
    os.makedirs(os.path.join(rig.state, "sandboxes"))
    os.chown(os.path.join(rig.state, "sandboxes"), 65534, 65534)
    os.chmod(os.path.join(rig.state, "sandboxes"), 0o700)
    # a daemon in this very process must not be ended: it is another's
    rig.daemons.pop().close()
    script = f"""
import sys, time; sys.path.insert(0, {os.path.dirname(__file__)!r})
import helper_rig
helper_rig.Daemon({rig.state!r}); time.sleep(600)
"""
    daemon = subprocess.Popen(["/usr/bin/python3", "-c", script])
    until("connected", lambda: rig.ctl("list", "--daemon").returncode == 0)
    holder = hold(rig, rig.cgroup())
    helper_rig.kill(holder)
    assert rig.helper.wait(10) == 0
    assert daemon.wait(5) == -signal.SIGTERM
    assert rig.close() == (0, False)


def test_stop_takes_held_sandboxes_down(rig):
    rig.daemon()
    cgroup = rig.cgroup()
    holder = hold(rig, cgroup)
    rig.helper.terminate()
    assert rig.helper.wait(10) == 0
    assert holder.wait(5) == 0
    assert not os.path.exists(cgroup)


class Withholding:
    """A daemon's socket whose GONE is said later."""

    def __init__(self, sock):
        self.sock, self.kept = sock, []

    def __getattr__(self, attribute):
        return getattr(self.sock, attribute)

    def send(self, message):
        if struct.unpack_from("I", message)[0] != GONE:
            return self.sock.send(message)
        self.kept.append(message)
        return len(message)


@pytest.mark.parametrize("mode", [(), ("--mode", "uplink", "--bounding", "none")])
def test_a_namespace_that_is_being_left_is_not_attached_anew(rig, netns, mode):
    """What the first takes back at its end, table and rules, would be the second's."""
    daemon = rig.daemon()
    daemon.sock = slow = Withholding(daemon.sock)
    words = ["--netns", netns, "--cgroup", rig.cgroup(), *mode]
    assert rig.ctl("attach", "--id", "a", *words).returncode == 0
    detach = subprocess.Popen([NETNS, "--state", rig.state, "detach", "--id", "a"])
    until("withdrawn", lambda: slow.kept)
    done = rig.ctl("attach", "--id", "b", *words)
    tried = done.returncode
    slow.sock.send(slow.kept.pop())
    assert detach.wait(10) == 0
    table = subprocess.run(["nsenter", f"--net={netns}", "nft", "list", "tables"], text=True, capture_output=True).stdout
    assert tried == 1 or "sallyport" in table, "the second is attached, and has no table"
    assert tried == 1 and "a is being detached from it" in done.stderr, done.stderr
    assert rig.ctl("attach", "--id", "b", *words).returncode == 0, "and then it is"
    slow.kept = []
    slow.send = slow.sock.send
