# SPDX-License-Identifier: Apache-2.0
"""Where the daemon's own sockets may go: held by the kernel, whatever the daemon believes.

The attacker is a program that runs in the daemon's cgroup and as its user, as if it had taken the daemon over. The
judges are canaries: the internet of the tests answers on every address, and the edge has servers of its own.
"""
import errno
import json
import os
import socket
import subprocess
import threading

import pytest

import client
import helper_rig
import maps
from origin import zone
from origin.nameserver import Nameserver
from sandbox import PYTHON
from stack import USER
from topology import EDGE4, EDGE6
from waiting import until

# connects, or sends one datagram, to each place; the errno of each, 0 where it went through
ATTEMPTS = """
import json, socket, sys
found = []
for kind, address, port in json.loads(sys.argv[1]):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET,
                      socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    s.settimeout(5)
    try:
        if kind == "sendto":
            s.sendto(b"canary", (address, port))
        else:
            s.connect((address, port))
            if kind == "udp":
                s.send(b"canary")
        found.append(0)
    except TimeoutError:
        found.append(110)
    except OSError as error:
        found.append(error.errno)
    s.close()
print(json.dumps(found))
"""
JOINING = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'


def attempt(world, cgroup, places):
    """What became of each (kind, address, port), tried in the edge by the daemon's user in that cgroup."""
    command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", PYTHON, "-E", "-S", "-c", ATTEMPTS,
               json.dumps(places)]
    done = subprocess.run(["sh", "-c", JOINING, "sh", cgroup, *world.edge.command(command)], capture_output=True,
                          text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def attached(cgroup):
    done = subprocess.run(["bpftool", "-j", "cgroup", "show", cgroup], capture_output=True, text=True, check=True)
    return sorted(program["name"] for program in json.loads(done.stdout.strip() or "[]"))


HOOKS = ["dialler_connect4", "dialler_connect6", "dialler_sendmsg4", "dialler_sendmsg6"]


@pytest.fixture(scope="module")
def elsewhere(world):
    """A cgroup that is nobody's: the control."""
    path = os.path.join(world.cgroup, "elsewhere")
    os.mkdir(path)
    yield path
    os.rmdir(path)


class EdgeServer:
    """A canary in the edge itself: on its own addresses and on its loopback."""

    def __init__(self, world):
        self.heard = []
        self.sockets = []
        for address, port in ((EDGE4, 8642), (EDGE6, 8642), ("127.0.0.1", 8642), ("::1", 8642), (EDGE4, 80)):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                sock = world.edge.socket(family, kind)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((address, port))
                if kind == socket.SOCK_STREAM:
                    sock.listen()
                self.sockets.append(sock)
                threading.Thread(target=self.serve, args=(sock, kind), daemon=True).start()

    def serve(self, sock, kind):
        while True:
            try:
                where = sock.getsockname()[:2]
                sock.accept()[0].close() if kind == socket.SOCK_STREAM else sock.recv(100)
            except OSError:
                return
            self.heard.append((kind, *where))

    def close(self):
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


@pytest.fixture(scope="module")
def edge(world):
    server = EdgeServer(world)
    yield server
    server.close()


FAR = [  # routed to the internet of the tests, where a canary answers
    ("tcp", "10.0.0.1", 80), ("tcp", "172.16.5.5", 443), ("tcp", "192.168.1.1", 22), ("tcp", "100.64.0.1", 80),
    ("tcp", "169.254.169.254", 80), ("tcp", "169.254.170.2", 80), ("tcp", "100.100.100.200", 80),
    ("tcp", "198.18.0.5", 80), ("tcp", "fd00:ec2::254", 80), ("tcp", "fd00::1", 80), ("tcp", "::ffff:10.0.0.1", 80),
    ("tcp", "::ffff:169.254.169.254", 80), ("tcp", "64:ff9b::a9fe:a9fe", 80), ("tcp", "2002:a00:1::1", 80),
]
FAR_UDP = [
    ("udp", "203.0.113.10", 443), ("sendto", "203.0.113.10", 443), ("sendto", "10.0.0.1", 53), ("udp", "10.0.0.1", 53),
    ("sendto", "203.0.113.53", 54), ("sendto", "203.0.113.54", 53), ("sendto", "2001:db8::10", 443),
    ("sendto", "169.254.169.254", 53),
]
NEAR = [
    ("tcp", EDGE4, 8642), ("tcp", EDGE6, 8642), ("tcp", "127.0.0.1", 8642), ("tcp", "::1", 8642),
    ("tcp", f"::ffff:{EDGE4}", 8642), ("tcp", "::ffff:127.0.0.1", 8642), ("tcp", "0.0.0.0", 8642),
    ("sendto", EDGE4, 8642), ("udp", "127.0.0.1", 8642), ("sendto", "127.0.0.1", 8642),
]


def test_the_programs_are_on_the_daemons_cgroup_and_status_has_no_complaint(stack):
    assert attached(stack.cgroups["daemon"]) == HOOKS
    assert attached(stack.cgroups["helper"]) == []
    assert "dialler" not in [d["feature"] for d in stack.get("/v1/status")["degraded"]]


def test_what_the_daemon_may_reach_it_reaches(stack, world):
    places = [("tcp", "203.0.113.10", 80), ("tcp", "2001:db8::10", 443), ("tcp", "203.0.113.53", 53),
              ("udp", "203.0.113.53", 53), ("sendto", "203.0.113.53", 53), ("tcp", "8.8.8.8", 8443)]
    assert attempt(world, stack.cgroups["daemon"], places) == [0] * len(places)


def test_what_it_may_not_reach_it_does_not(stack, world, elsewhere):
    watch = world.watch()
    found = attempt(world, stack.cgroups["daemon"], FAR)
    assert found == [errno.EACCES] * len(FAR), list(zip(FAR, found))
    found = attempt(world, stack.cgroups["daemon"], FAR_UDP)
    assert found == [errno.ECONNREFUSED] * len(FAR_UDP), list(zip(FAR_UDP, found))
    watch.nothing()
    assert not watch.packets_to(*(address for _, address, _ in FAR + FAR_UDP)), "not a datagram either"
    # the control: from another cgroup all of it leaves the edge, where it can be routed
    routed = [place for place in FAR if not place[1].startswith(("64:ff9b", "2002:"))]
    found = attempt(world, elsewhere, routed + FAR_UDP)
    assert found == [0] * len(found), list(zip(routed + FAR_UDP, found))
    assert watch.packets_to("10.0.0.1") and watch.packets_to("169.254.169.254") and watch.packets_to("203.0.113.54")


def test_nor_the_machine_itself(stack, world, edge, elsewhere):
    found = attempt(world, stack.cgroups["daemon"], NEAR)
    expected = [errno.EACCES if kind == "tcp" else errno.ECONNREFUSED for kind, _, _ in NEAR]
    assert found == expected, list(zip(NEAR, found))
    assert edge.heard == []
    assert attempt(world, elsewhere, NEAR) == [0] * len(NEAR)
    until(lambda: len(edge.heard) == len(NEAR), "the control: every one of them is heard")
    edge.heard.clear()


def test_a_name_that_leads_to_the_machine_itself_is_refused_before_a_packet(stack, world, edge, attach):
    """The address is public by its class: only that it is the host's own refuses it."""
    zone.ZONE["edge.test"] = {zone.A: [EDGE4]}
    box = attach("version: 1\nname: any\ndefault: deny\nrules: [{name: edge, hosts: [edge.test], action: allow}]\n")
    mark = stack.audit_mark()
    with client.plain(box) as connection:
        reply = connection.get(host="edge.test")
    assert (reply.status, reply.refusal) == (403, "private-address"), reply
    assert edge.heard == []
    (event,) = stack.wait_audit(mark, rule="dialler")
    assert (event["asked"], event["reason"], event["error"]) == (f"{EDGE4}:80", "address of the host", "EACCES")


def test_a_refused_dial_is_counted_and_in_the_audit(stack, world):
    mark = stack.audit_mark()
    before = maps.account(stack, maps.DIALLER)
    attempt(world, stack.cgroups["daemon"], [("tcp", "10.7.7.7", 4711), ("sendto", "10.7.7.8", 4712)])
    events = until(lambda: len(e := stack.audit(mark, rule="dialler")) == 2 and e, "two events")
    assert [(e["asked"], e["protocols"], e["reason"], e["error"]) for e in events] == [
        ("10.7.7.7:4711", ["tcp"], "private range", "EACCES"), ("10.7.7.8:4712", ["udp"], "private range", "ECONNREFUSED")]
    for event in events:
        assert event["kind"] == "refusal" and event["decision"] == "deny" and "sandbox" not in event
        assert "python" in event["client"]["comm"] and event["client"]["cgroup_path"].endswith("stack-main.daemon")
    assert maps.account(stack, maps.DIALLER)["private"] == before["private"] + 2
    seen = [e for e in maps.entries(stack, "refusals") if e["key"]["netns"] == maps.DIALLER and e["key"]["dport"] == 4711]
    assert len(seen) == 1 and seen[0]["value"]["client"]["uid"] != 0


def test_what_a_policy_opens_is_open_as_long_as_its_sandbox(stack, world, attach):
    opened = """\
version: 1
name: opened
default: deny
private:
  - {cidr: 10.20.0.0/16, ports: [80, 8080]}
  - {cidr: 169.254.169.254/32, ports: [80], metadata: true}
rules:
  - {name: opened, hosts: [10.20.0.1, 169.254.169.254], action: allow}
"""
    places = [("tcp", "10.20.0.1", 80), ("tcp", "10.20.255.1", 8080), ("tcp", "169.254.169.254", 80)]
    others = [("tcp", "10.20.0.1", 81), ("tcp", "10.21.0.1", 80), ("tcp", "169.254.169.254", 81),
              ("tcp", "169.254.170.2", 80), ("sendto", "10.20.0.1", 80)]
    daemon = stack.cgroups["daemon"]
    assert attempt(world, daemon, places) == [errno.EACCES] * 3
    first, second = attach(opened), attach(opened)
    assert first.curl("http://10.20.0.1/").returncode == 0
    assert attempt(world, daemon, places) == [0] * 3
    assert all(attempt(world, daemon, others))
    # a range with metadata inside does not open that
    wide = attach(opened.replace("169.254.169.254/32, ports: [80], metadata: true", "169.254.0.0/16, ports: [8443]"))
    assert attempt(world, daemon, [("tcp", "169.254.1.1", 8443), ("tcp", "169.254.169.254", 8443)]) == [0, errno.EACCES]
    assert first.detach().returncode == 0
    assert attempt(world, daemon, places) == [0] * 3, "the other sandbox still has it"
    assert second.detach().returncode == 0 and wide.detach().returncode == 0
    assert attempt(world, daemon, places) == [errno.EACCES] * 3


def test_a_resolver_on_the_loopback_is_one_address_and_port(world, another_stack, attach):
    server = Nameserver(world.edge, ("127.0.0.5",))
    sock = world.edge.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.bind(("127.0.0.5", 54))
        sock.listen()
        stack = another_stack("loopback", resolvers="[127.0.0.5]")
        box = attach(on=stack)
        with client.https(box) as connection:
            assert connection.get().status == 200
        assert server.asked("api.test")
        places = [("tcp", "127.0.0.5", 53), ("sendto", "127.0.0.5", 53), ("tcp", "127.0.0.5", 54),
                  ("tcp", "127.0.0.6", 53), ("sendto", "127.0.0.5", 54), ("tcp", "127.0.0.1", 53)]
        assert attempt(world, stack.cgroups["daemon"], places) == [
            0, 0, errno.EACCES, errno.EACCES, errno.ECONNREFUSED, errno.EACCES]
    finally:
        sock.close()
        server.close()


def test_the_programs_go_with_the_daemon_and_come_with_the_next(another_stack):
    stack = another_stack("successor")
    cgroup = stack.cgroups["daemon"]
    assert attached(cgroup) == HOOKS
    stack.kill_daemon()
    until(lambda: attached(cgroup) == [], "the programs' end")
    assert not [pin for pin in stack.pins() if "_dialler" in pin]
    stack.start_daemon()
    assert attached(cgroup) == HOOKS


def test_a_daemon_that_shares_its_cgroup_is_not_guarded_and_status_says_so(another_stack):
    stack = another_stack("shared", start=False)
    stack.start_helper()
    other = subprocess.Popen(["sh", "-c", JOINING, "sh", stack.cgroups["daemon"], "sleep", "300"])
    try:
        until(lambda: open(f"{stack.cgroups['daemon']}/cgroup.procs", encoding="ascii").read(), "it to be there")
        stack.start_daemon()
        assert attached(stack.cgroups["daemon"]) == []
        (note,) = until(
            lambda: [d for d in stack.get("/v1/status")["degraded"] if d["feature"] == "dialler"], "the note")
        assert "share its cgroup" in note["reason"] and "scripts/sallyport" in note["remedy"]
    finally:
        other.kill()
        other.wait()
    stack.kill_daemon()
    stack.start_daemon()  # alone now
    until(lambda: attached(stack.cgroups["daemon"]) == HOOKS, "the programs")
    until(lambda: "dialler" not in [d["feature"] for d in stack.get("/v1/status")["degraded"]], "the end of the note")


# Plays a daemon that was taken over: says hello, and then what it is told on its standard input, a word a line.
TAKEN = """
import json, socket, struct, sys
sys.path.insert(0, sys.argv[2])
import helper_rig
link = None
for line in sys.stdin:
    word, argument = json.loads(line)
    answer = None
    if word == "link":
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.connect(sys.argv[1])
        link.settimeout(10)
        answer = bool(helper_rig.receive(link)[0])
    elif word == "say":
        link.send(helper_rig.dialler(*argument))
    elif word == "hang up":
        link.close()
    elif word == "ended":
        while message := helper_rig.receive(link)[0]:
            pass
        answer = True
    elif word == "tcp":
        s = socket.socket()
        s.settimeout(5)
        answer = s.connect_ex(tuple(argument))
        s.close()
    print(json.dumps(answer), flush=True)
"""


class Taken:
    def __init__(self, stack):
        state, here = os.path.join(stack.state, "link.sock"), os.path.dirname(os.path.abspath(__file__))
        command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", PYTHON, "-E", "-S", "-c", TAKEN,
                   state, here]
        self.process = subprocess.Popen(
            ["sh", "-c", JOINING, "sh", stack.cgroups["daemon"], *stack.world.edge.command(command)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, word, argument=None):
        self.process.stdin.write(json.dumps([word, argument]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        return self.process.wait(10)


def test_who_has_taken_the_daemon_over_cannot_talk_its_way_out(another_stack, elsewhere):
    stack = another_stack("taken", start=False)
    stack.start_helper()
    taken = Taken(stack)

    def passes(address):  # nothing listens at port 53 over there: then it is the far side that refuses
        return taken("tcp", address) in (0, errno.ECONNREFUSED)

    try:
        inner, far = ("10.0.0.1", 80), ("203.0.113.10", 80)
        assert taken("tcp", inner) == 0, "the control: before it has said hello it is anybody"
        assert taken("link")
        taken("say", [["::ffff:10.0.0.9", 5432]])
        assert taken("tcp", far) == 0 and taken("tcp", inner) == errno.EACCES
        until(lambda: taken("tcp", ("10.0.0.9", 5432)) == 0, "its own resolver")
        taken("hang up")
        assert taken("tcp", inner) == errno.EACCES, "hanging up changes nothing"
        for said in ([["::ffff:10.0.0.1", 80]], [["::ffff:10.0.0.9", 5432], ["::ffff:10.0.0.1", 80]], []):
            assert taken("link")
            taken("say", said)
            assert taken("ended"), "only entries of port 53 may change"
        assert taken("tcp", inner) == errno.EACCES
        assert taken("link")
        taken("say", [["::ffff:10.0.0.9", 5432], ["::ffff:10.0.0.8", 53]])
        until(lambda: passes(("10.0.0.8", 53)), "another resolver at port 53")
        taken("say", [["::ffff:10.0.0.9", 5432], ["::ffff:10.0.0.7", 53]])
        until(lambda: taken("tcp", ("10.0.0.8", 53)) == errno.EACCES, "no longer that one")
        assert passes(("10.0.0.7", 53))
        taken("say", [["::ffff:10.0.0.9", 5432], ["::ffff:169.254.169.254", 53]])
        until(lambda: passes(("169.254.169.254", 53)), "a metadata address at port 53")
        assert taken("tcp", ("169.254.169.254", 80)) == errno.EACCES
        taken("hang up")
        # while it lives nobody else is the daemon
        other = Taken(stack)
        try:
            assert other("link") is False
        finally:
            other.close()
    finally:
        taken.close()
    fresh = Taken(stack)  # its user may say again what its resolvers are; but never metadata at another port
    try:
        until(lambda: fresh("link"), "the end of the first")
        fresh("say", [["::ffff:169.254.169.254", 80]])
        assert fresh("ended")
    finally:
        fresh.close()
    until(lambda: attached(stack.cgroups["daemon"]) == [], "the programs' end")
    stack.start_daemon()


def test_a_daemon_of_root_is_not_guarded_but_served(another_stack):
    stack = another_stack("roots", start=False)
    stack.start_helper()
    daemon = helper_rig.Daemon(stack.state)
    try:
        until(lambda: daemon.notes.get(("", "dialler")), "the note")
        assert "root" in daemon.notes["", "dialler"][0]
    finally:
        daemon.close()
