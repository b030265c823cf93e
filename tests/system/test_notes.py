# SPDX-License-Identifier: Apache-2.0
"""What the helper says is degraded is what status and sandboxes say, and is taken back."""
import itertools

import pytest

import documents
from helper_double import Double
from stack import Stack
from waiting import until


_numbers = itertools.count(1)


@pytest.fixture
def double(world):
    stack = Stack(world, f"double-{next(_numbers)}")
    helper = Double(stack)
    try:
        stack.start_daemon_alone()
        helper.stack = stack
        yield helper.hello()
    finally:
        helper.close()
        stack.stop()


def features(stack):
    return {d["feature"]: d for d in stack.get("/v1/status")["degraded"]}


def test_notes_of_the_machine(double):
    double.note("lane", "the kernel has no BPF", "CONFIG_BPF_SYSCALL=y")
    shown = until(lambda: features(double.stack).get("lane"), "the note")
    assert shown == {"feature": "lane", "reason": "the kernel has no BPF", "remedy": "CONFIG_BPF_SYSCALL=y"}
    done = double.stack.ctl("status")
    line = next(line for line in done.stdout.splitlines() if line.lstrip().startswith("lane"))
    assert "the kernel has no BPF" in line and "CONFIG_BPF_SYSCALL=y" in line
    double.note("lane", "another reason", "do")
    until(lambda: features(double.stack)["lane"]["reason"] == "another reason", "the changed note")
    double.note("lane")
    until(lambda: "lane" not in features(double.stack), "the end of the note")


def test_notes_of_a_sandbox(double):
    stack = double.stack
    assert double.offer("box", documents.POLICY) == 0 and double.offer("other", documents.POLICY) == 0
    assert stack.get("/v1/sandboxes/box")["state"] == "active"
    double.note("self-test", "a refused connect was not counted", "detach and attach it again", id_="box")
    double.note("self-test", "nobody's", "", id_="not-here")
    shown = until(lambda: stack.get("/v1/sandboxes/box")["degraded"], "the note")
    assert shown == [{"feature": "self-test", "reason": "a refused connect was not counted",
                      "remedy": "detach and attach it again"}]
    assert stack.get("/v1/sandboxes/box")["state"] == "degraded"
    other = stack.get("/v1/sandboxes/other")
    assert other["state"] == "active" and other["degraded"] == []
    assert "self-test" not in features(stack), "it is the sandbox's"
    assert features(stack)["sandboxes"]["reason"] == "1 of 2 are degraded, among them box"
    rows = {line.split()[0]: line for line in stack.ctl("sandboxes").stdout.splitlines()}
    assert "self-test (a refused connect was not counted)" in rows["box"] and "self-test" not in rows["other"]
    assert "detach and attach it again" in stack.ctl("sandboxes", "box").stdout
    double.note("self-test", id_="box")
    until(lambda: stack.get("/v1/sandboxes/box")["state"] == "active", "the end of the note")
    assert "sandboxes" not in features(stack)


def test_another_helper_tells_its_own_notes(double):
    double.note("lane", "of the first", "")
    until(lambda: "lane" in features(double.stack), "the note")
    double.hang_up()
    double.hello()
    double.note("uplink", "of the second", "")
    until(lambda: "uplink" in features(double.stack), "the second helper's note")
    assert "lane" not in features(double.stack)


def test_a_note_that_is_not_one_ends_the_connection(double):
    double.note("")
    double.hello()  # it has hung up, and come back
    double.note("lane", "fine", "")
    until(lambda: "lane" in features(double.stack), "the note")
