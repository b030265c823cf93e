# SPDX-License-Identifier: Apache-2.0
"""The end of one sandbox is no other sandbox's trouble: not while a name server is silent, not when a daemon is slow to
let go of it or does not even read."""
import os
import subprocess
import threading
import time

import pytest

from helper_rig import NETNS, active, until
from test_fairness import QUESTIONS
from test_helper import Withholding, netns  # noqa: F401 - a fixture

import documents
from sandbox import PYTHON
from waiting import PATIENCE

MORE_THAN_A_SOCKET_TAKES = 120  # offers of 4 KiB and more, in 208 KiB (net.core.wmem_default)


WAITS = {
    "a request": ["curl", "-s", "-m", "20", "https://silent.test/"],
    "a question": [PYTHON, "-c", "import socket; socket.getaddrinfo('silent.test', 443)"],
    "questions without end": [PYTHON, "-c", QUESTIONS],  # more wait for their turn at the name server than it takes
}


@pytest.mark.parametrize("how", WAITS)
def test_a_silent_name_server_holds_no_detach_up(stack, attach, how):
    stays, goes = attach(prefix="swap"), attach(prefix="swap")
    mark = len(stack.log("daemon"))
    with goes.popen(WAITS[how]) as waits:
        try:
            time.sleep(0.5)  # the lookup is under way, and stays so for TIME_DNS
            assert waits.poll() is None
            began = time.monotonic()
            assert goes.detach().returncode == 0
            took = time.monotonic() - began
        finally:
            waits.kill()
    assert took < PATIENCE, "the name server has two seconds for each, and five at most"
    done = stays.run(["curl", "-sS", "https://api.test/after"])
    assert done.returncode == 0, done.stderr
    assert "the helper is gone" not in stack.log("daemon")[mark:]


def test_what_a_daemon_lets_go_of_late_does_not_end_its_connection(rig, netns):  # noqa: F811
    daemon = rig.daemon()
    daemon.sock = slow = Withholding(daemon.sock)
    words = ["--netns", netns, "--cgroup", rig.cgroup()]
    assert rig.ctl("attach", "--id", "a", *words).returncode == 0
    began = time.monotonic()
    assert rig.ctl("detach", "--id", "a").returncode == 0
    assert time.monotonic() - began > 4, "it is waited for"
    assert "the daemon's copies did not go within 5 seconds" in rig.logged()
    (late,) = slow.kept
    slow.sock.send(late)
    slow.send = slow.sock.send
    assert rig.ctl("attach", "--id", "b", *words).returncode == 0, rig.logged()
    assert rig.ctl("detach", "--id", "b").returncode == 0
    assert not daemon.ended
    slow.sock.send(late)
    until("the control: once is enough", lambda: daemon.ended)
    assert "not acceptable" in rig.logged()


def test_a_daemon_that_does_not_read_is_offered_all_anew(rig):
    """It could not be told that a sandbox ended: what it holds of it would stay."""
    awake = threading.Event()

    def answer(offer):
        if offer.id == "a":
            return active("a")
        awake.wait(60)  # reads nothing meanwhile
        return None

    daemon = rig.daemon(answer)
    words = ["--netns", "new", "--cgroup"]
    assert rig.ctl("attach", "--id", "a", *words, rig.cgroup()).returncode == 0
    asks = [subprocess.Popen([NETNS, "--state", rig.state, "attach", "--id", f"b{i}", *words, rig.cgroup()],
        stderr=subprocess.DEVNULL) for i in range(MORE_THAN_A_SOCKET_TAKES)]
    try:
        until("offered", lambda: rig.logged().count(": offered in the ") == 1 + len(asks), 10 * PATIENCE)
        assert rig.ctl("detach", "--id", "a").returncode == 0
        until("given up", lambda: "has not read for 5 seconds what ended" in rig.logged(), 10 * PATIENCE)
    finally:
        awake.set()
        for ask in asks:
            ask.kill()
            ask.wait()
    until("hung up", lambda: daemon.ended)
    after = rig.daemon()
    assert rig.ctl("attach", "--id", "c", *words, rig.cgroup()).returncode == 0
    assert "a" not in after.offers and "c" in after.offers


def test_what_was_prepared_under_a_daemon_before_is_found_again(another_stack, attach, world):
    """It has its time, and is removed if nobody comes for it: prepared.c's unit test. What is attached is not meant."""
    stack = another_stack("preparing", credentials=[("swap-*", documents.write_credentials(world))])
    box = attach(prefix="swap", on=stack)
    held = box.handed()
    assert stack.request("PUT", "/v1/prepared/swap-late")[0] == 200
    assert "are prepared or were left" not in stack.log("daemon")
    stack.kill_daemon()
    stack.start_daemon()
    until("found", lambda: "1 sandboxes are prepared or were left" in stack.log("daemon"), 10 * PATIENCE)
    assert box.run(["curl", "-sS", "https://api.test/after"]).returncode == 0
    assert box.handed() == held
    with open(os.path.join(stack.state, "handout", "swap-late", "environment"), encoding="ascii") as file:
        before = file.read()
    late = attach(prefix="swap", on=stack, id="swap-late")
    with open(os.path.join(late.handout, "environment"), encoding="ascii") as file:
        assert file.read() == before
