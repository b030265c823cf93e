# SPDX-License-Identifier: Apache-2.0
"""link.sock: what a daemon may say of taking over, and when. Hand-overs of real daemons are in test_hand_over.py."""
import os
import signal
import struct
import subprocess
import sys
import time

import pytest

import helper_rig
from helper_rig import until


def test_nobody_takes_over_from_itself(rig):
    """What a daemon that was taken over by somebody could try: the first goes on, and is not told to drain."""
    first = rig.daemon()
    rig.attach("a")
    for _ in range(2):
        with pytest.raises((AssertionError, OSError)):
            helper_rig.Daemon(rig.state, take_over=True).sock.send(helper_rig.dialler(take_over=1))
    assert not first.words and not first.ended
    assert rig.ctl("list", "--daemon").returncode == 0
    assert "was not accepted" in rig.logged()


SUCCESSOR = "import sys, helper_rig; d = helper_rig.Daemon(sys.argv[1], take_over=True); sys.stdin.read()"


def test_who_has_handed_over_is_not_let_in_again(rig):
    first = rig.daemon()
    rig.attach("a")
    second = subprocess.Popen([sys.executable, "-c", SUCCESSOR, rig.state], stdin=subprocess.PIPE,
                              cwd=os.path.dirname(helper_rig.__file__))
    try:
        until("to drain", lambda: first.words == [helper_rig.DRAIN])
        until("service", lambda: "has taken over" in rig.logged())
        first.close()
        for taking in (True, False):
            with pytest.raises((AssertionError, OSError)):
                helper_rig.Daemon(rig.state, take_over=taking).sock.send(helper_rig.dialler(take_over=int(taking)))
        assert "was not accepted" in rig.logged()
        assert rig.ctl("list", "--daemon").returncode == 0 and second.poll() is None
    finally:
        second.stdin.close()
        second.wait(10)


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_of_a_take_over_that_fails_only_its_own_socket_goes(rig, whose):
    """A third daemon may have put its own in the place of a dead one's."""
    rig.daemon()
    rig.attach("a")
    path = os.path.join(rig.state, "control.sock.next")
    open(path, "w", encoding="ascii").close()
    taker = subprocess.Popen([sys.executable, "-c", SUCCESSOR.replace("take_over", "answer=lambda offer: None, take_over"),
                              rig.state], stdin=subprocess.PIPE, cwd=os.path.dirname(helper_rig.__file__))
    until("the connection", lambda: f"the daemon is connected, pid {taker.pid}" in rig.logged())
    time.sleep(0.3)  # what it says first has been heard
    if whose == "another's":
        open(path + "2", "w", encoding="ascii").close()
        os.rename(path + "2", path)
    taker.stdin.close()
    taker.wait(10)
    until("its end", lambda: "the take-over failed" in rig.logged())
    assert os.path.exists(path) == (whose == "another's")
    if os.path.exists(path):
        os.unlink(path)


DRAINER = """
import sys, time, helper_rig
d = helper_rig.Daemon(sys.argv[1])
d.drain = 0
print("here", flush=True)
helper_rig.until("to drain", lambda: d.words == [helper_rig.DRAIN], 60)
if sys.argv[2] == "hangs up":
    d.close()
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["stays", "hangs up"])
def test_who_drains_for_longer_than_it_said_is_killed(rig, how):
    """It would keep the second place for ever: nobody could take over again."""
    first = subprocess.Popen([sys.executable, "-c", DRAINER, rig.state, how], stdout=subprocess.PIPE,
                             cwd=os.path.dirname(helper_rig.__file__))
    try:
        assert first.stdout.readline() == b"here\n"
        rig.attach("a")
        second = rig.daemon(take_over=True)
        until("service", lambda: second.words == [helper_rig.SERVE])
        assert first.wait(30) == -signal.SIGKILL
        assert f"the daemon of pid {first.pid}, which handed over, does not end: it is killed" in rig.logged()
        assert rig.ctl("list", "--daemon").returncode == 0 and not second.ended
    finally:
        first.kill()
        first.wait()


def test_a_drain_has_a_limit(rig):
    first = rig.daemon()
    first.drain = 86401
    rig.attach("a")
    second = subprocess.Popen([sys.executable, "-c", SUCCESSOR, rig.state], stdin=subprocess.PIPE,
                              cwd=os.path.dirname(helper_rig.__file__))
    try:
        until("hung up", lambda: first.ended)
        assert "was not acceptable" in rig.logged()
        until("service all the same", lambda: "has taken over" in rig.logged())
    finally:
        second.stdin.close()
        second.wait(10)


def test_taking_over_from_nobody(rig):
    """It is told to serve when it has taken what there is, and not before."""
    first = rig.daemon()
    rig.attach("a")
    first.close()
    until("the end", lambda: rig.ctl("list", "--daemon").returncode == 1)
    held = []
    second = rig.daemon(answer=lambda offer: held.append(offer.id), take_over=True)
    until("the offer", lambda: held == ["a"])
    assert rig.ctl("list", "--daemon").returncode == 1 and not second.words
    second.sock.send(helper_rig.active("a"))
    until("to serve", lambda: second.words == [helper_rig.SERVE])
    assert rig.ctl("list", "--daemon").returncode == 0


def test_one_that_refuses_a_sandbox_does_not_take_over(rig):
    first = rig.daemon()
    rig.attach("a")
    first.close()
    until("the end", lambda: rig.ctl("list", "--daemon").returncode == 1)
    second = rig.daemon(answer=lambda offer: helper_rig.active(offer.id, error=-22, text="no"), take_over=True)
    until("hung up", lambda: second.ended)
    assert not second.words and "does not take over" in rig.logged()
    third = rig.daemon()
    until("the offer", lambda: "a" in third.offers)
    until("service", lambda: rig.ctl("list", "--daemon").returncode == 0)


DIALLER_LATE = helper_rig.dialler(take_over=1)
SHORT = struct.pack("I", helper_rig.DRAINING)


@pytest.mark.parametrize("message", [helper_rig.word(helper_rig.DRAINING), helper_rig.word(helper_rig.SERVE), DIALLER_LATE,
                                     helper_rig.draining(1),
                                     helper_rig.dialler(take_over=2), SHORT])
def test_words_out_of_turn_end_the_connection(rig, message):
    daemon = rig.daemon()
    daemon.sock.send(message)
    until("hung up", lambda: daemon.ended)
    assert "was not acceptable" in rig.logged()
