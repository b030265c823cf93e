# SPDX-License-Identifier: Apache-2.0
"""link.sock: what a daemon may say of taking over, and when. Hand-overs of real daemons are in test_hand_over.py."""
import os
import struct
import subprocess
import sys

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
                                     helper_rig.dialler(take_over=2), SHORT])
def test_words_out_of_turn_end_the_connection(rig, message):
    daemon = rig.daemon()
    daemon.sock.send(message)
    until("hung up", lambda: daemon.ended)
    assert "was not acceptable" in rig.logged()
