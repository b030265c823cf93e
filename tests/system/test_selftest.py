# SPDX-License-Identifier: Apache-2.0
"""The helper's self-test: a sandbox whose programs or table are no longer effective is closed, and status says so."""
import json
import os
import socket
import subprocess

import pytest

import maps
from documents import POLICY
from sandbox import Refused, Sandbox
from waiting import until

ORIGIN = "203.0.113.10"
PERIOD = 30  # seconds within which it must have been noticed: every 10, on a machine that is busy


def note(box):
    """The reason why its self-test is degraded, or None."""
    notes = box.stack.get(f"/v1/sandboxes/{box.id}")["degraded"]
    return next((n["reason"] for n in notes if n["feature"] == "self-test"), None)


def line(box):
    listed = box.stack.netns("list").stdout.splitlines()
    return next(text for text in listed if text.startswith(box.id + " "))


def outside_error(box, address=ORIGIN, port=80):
    sock = box.netns.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.settimeout(5)
    with sock:
        return sock.connect_ex((address, port))


def captured(box):
    """A socket of the namespace is answered by us."""
    return outside_error(box) == 0


def pinned(box):
    return os.path.join(box.stack.state, "bpf", "links", box.id)


def take_off(box, name):
    """That program off the sandbox's cgroup, as whoever may do everything can."""
    shown = json.loads(subprocess.run(["bpftool", "-j", "cgroup", "show", box.cgroup], check=True, capture_output=True).stdout)
    (found,) = [program for program in shown if program["name"] == name]
    bpftool("cgroup", "detach", box.cgroup, found["attach_type"], "id", str(found["id"]))


def bpftool(*words):
    subprocess.run(["bpftool", *words], check=True, capture_output=True)


def remove(box):
    os.rmdir(box.cgroup)


def remake(box):
    os.rmdir(box.cgroup)
    os.mkdir(box.cgroup)


def active(box):
    """What sallyport-maps(7) says of it."""
    (found,) = [e["value"]["active"] for e in maps.entries(box.stack, "sandboxes") if maps.text(e["value"]["id"]) == box.id]
    return found


def counters(box):
    cookie = int(next(w for w in line(box).split() if w.startswith("netns=")).partition("=")[2])
    for entry in box.stack.maps("verdicts"):
        if entry.get("formatted", entry)["key"] == cookie:
            return entry.get("formatted", entry)["value"]
    raise AssertionError(f"no counters of netns {cookie}")


# what is done behind our back -> (what the note says, whether it is mended without a new attach)
BREAKS = {
    "cgroup removed": (remove, "was removed", False),
    "cgroup made again": (remake, "another one made in its place", False),
    "connect4 detached": (lambda b: take_off(b, "policy_connect4"), "policy_connect4 is not attached", True),
    "sendmsg6 detached": (lambda b: take_off(b, "policy_sendmsg6"), "policy_sendmsg6 is not attached", True),
    "sk_lookup detached": (lambda b: bpftool("link", "detach", "pinned", pinned(b)),
        "sk_lookup program is not attached", False),
    "table gone": (lambda b: b.netns.run("nft", "delete", "table", "inet", "sallyport"), "nft table is gone", True),
    "rules gone": (lambda b: b.netns.run("nft", "flush", "chain", "inet", "sallyport", "input"), "was not", True),
}
NFT_BREAKS = ("table gone", "rules gone")


def watched(boxes, condition, what):
    """Waits for all of them at once: they break at the same time."""
    for name, box in boxes.items():
        until(lambda b=box, n=name: condition(n, b), f"{name}: {what}", PERIOD)


@pytest.mark.parametrize("lane", ["bpf", "nft"], indirect=True)
def test_CAP_07_what_is_no_longer_effective_is_noticed_refused_and_mended(attach, world, lane):
    breaks = {name: row for name, row in BREAKS.items() if lane == "bpf" or name in NFT_BREAKS}
    boxes = {name: attach(POLICY) for name in breaks}
    sound = attach(POLICY)
    for box in boxes.values():
        assert captured(box) and note(box) is None and line(box).split()[1] == "active"
    for name, box in boxes.items():
        breaks[name][0](box)

    watched(boxes, lambda n, b: note(b) or line(b).split()[1] == "closed" or b.stack.log("helper").count(f"{b.id}: closed"), "a note")
    log = sound.stack.log("helper")
    for name, box in boxes.items():
        assert f"{box.id}: closed: all but loopback is refused" in log
        told = [text for text in log.splitlines() if f"{box.id}: self-test is degraded" in text]
        assert told and breaks[name][1] in told[0], (name, told)
    for name, box in boxes.items():
        if not breaks[name][2]:
            assert box.stack.get(f"/v1/sandboxes/{box.id}")["state"] == "degraded"
            assert line(box).split()[1] == "closed"
            assert lane == "nft" or not active(box), "the programs are told, besides the table"
            watch = world.watch()
            assert outside_error(box) != 0, f"{name}: closed"
            assert outside_error(box, "10.0.0.1") != 0 and outside_error(box, "169.254.169.254") != 0
            watch.nothing(name)
    watched({n: b for n, b in boxes.items() if breaks[n][2]}, lambda n, b: note(b) is None and captured(b), "mended")
    assert all(line(b).split()[1] == "active" for n, b in boxes.items() if breaks[n][2])
    assert captured(sound) and note(sound) is None, "the control"
    for name, box in boxes.items():
        if not os.path.isdir(box.cgroup):
            os.mkdir(box.cgroup)  # which close() takes away


def test_CAP_07_a_process_that_was_moved_to_another_cgroup_stays_captured(attach, world):
    box = attach(POLICY)
    other = box.cgroup + ".other"
    os.mkdir(other)
    join = ["sh", "-c", 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"', "sh", other]
    try:
        watch = world.watch()
        for address in ("169.254.169.254", "10.0.0.1"):
            done = subprocess.run(box.netns.command([*join, "curl", "-sS", "-m", "5", f"http://{address}/"]),
                capture_output=True, text=True, timeout=30)
            assert done.returncode != 0
        done = subprocess.run(box.netns.command([*join, "curl", "-sS", "-m", "5", "-H", "Host: denied.test",
            f"http://{ORIGIN}/"]), capture_output=True, text=True, timeout=30)
        assert json.loads(done.stdout)["error"]["category"] == "host-denied"
        watch.nothing("moved")
    finally:
        os.rmdir(other)


@pytest.mark.bpf
def test_a_frozen_sandbox_is_noted_and_stays_open(attach):
    box = attach(POLICY)
    box.python("result = 1")  # a process to freeze
    freeze = os.path.join(box.cgroup, "cgroup.freeze")
    with open(freeze, "w") as file:
        file.write("1")
    try:
        until(lambda: note(box), "a note", PERIOD)
        assert note(box) == "its cgroup is frozen"
        assert line(box).split()[1] == "active" and captured(box)
    finally:
        with open(freeze, "w") as file:
            file.write("0")
    until(lambda: note(box) is None, "thawed", PERIOD)


@pytest.mark.bpf
def test_an_attach_to_a_cgroup_in_which_no_process_can_be_made(attach, stack, world):
    """By its limit of processes: attached with a note; by its controllers: proven in one below."""
    box = Sandbox(stack, POLICY)
    below = os.path.join(box.cgroup, "below")
    os.mkdir(below)
    controllers = open(os.path.join(box.cgroup, "cgroup.controllers")).read().split()
    try:
        if controllers:
            with open(os.path.join(box.cgroup, "cgroup.subtree_control"), "w") as file:
                file.write(f"+{controllers[0]}")
        box.attach()
        assert note(box) is None and counters(box)["probe"] >= 4
    finally:
        os.rmdir(below)
        box.close()


@pytest.mark.bpf
def test_the_knocks_are_counted_and_are_not_refusals(attach):
    """The figures of the real refusals are what programs did; who knocks there itself is counted too."""
    box = attach(POLICY)
    before = counters(box)
    assert before["probe"] == 4, "connect and sendto, both families"
    assert before["dropped"] == 2, "connect from outside the cgroup, both families"
    assert sum(count for name, count in before.items() if name not in ("probe", "passed", "dropped")) == 0, before
    mark = box.stack.audit_mark()
    with pytest.raises(Refused):
        box.connect("169.254.169.254", 1)
    after = counters(box)
    assert after["probe"] >= 5 and after["metadata"] == 0
    with pytest.raises(Refused):
        box.connect("169.254.169.254", 2)
    (event,) = box.stack.wait_audit(mark, kind="refusal", sandbox=box.id, asked="169.254.169.254:2")
    assert event["category"] == "metadata-address"
    assert not box.stack.audit(mark, kind="refusal", sandbox=box.id, asked="169.254.169.254:1")


@pytest.mark.bpf
def test_an_attach_whose_self_test_fails_fails(stack, world):
    """Something else of ours, made before, swallows what the table must see: nothing is half attached."""
    box = Sandbox(stack, POLICY)
    try:
        box.netns.ip(["link set lo up", "route add blackhole 169.254.169.254 table local"])
        done = box.try_attach()
        assert done.returncode == 1 and "that must be refused was not" in done.stderr, done.stderr
        assert box.id not in stack.netns("list").stdout
        assert "sallyport" not in box.netns.run("nft", "list", "tables").stdout
    finally:
        box.close()
