# SPDX-License-Identifier: Apache-2.0
"""verdicts.py by itself: a judge that cannot condemn proves nothing."""
import errno

import pytest

from verdicts import Exceptions, judge

ROW = {"index": 0, "name": "tcp4", "kind": "connect", "flags": 0, "port": 0, "address": "203.0.113.60"}
CONTROL = {**ROW, "flags": 1}


def line(said, number=0, step=""):
    return {"name": "tcp4", "said": said, "errno": number, "step": step}


@pytest.mark.parametrize("said,evidence,asked,expected", [
    (line("sent"), {("token", "far")}, True, "REACHED"),
    (line("refused", errno.EACCES), {("accept", "tcp")}, False, "REACHED"),  # whatever the client says
    (line("refused", errno.EACCES), {("packet", "far")}, False, "LEAKED"),
    (line("sent"), set(), True, "CAPTURED"),
    (line("sent"), set(), False, "CONTAINED"),
    (line("refused", errno.EACCES, "connect"), set(), False, "REFUSED"),
    (line("unsupported", errno.EPERM, "socket"), set(), False, "UNSUPPORTED"),
    (line("unsupported", errno.EPROTONOSUPPORT, "socket"), set(), False, "REFUSED"),  # without protection it had it
    (line("exposed"), set(), False, "EXPOSED"),
    (line("nothing"), set(), False, "TIMEOUT"),
    (None, set(), False, "TIMEOUT"),
])
def test_evidence_goes_before_words(said, evidence, asked, expected):
    assert judge(ROW, said, evidence, asked).outcome == expected


def test_what_the_kernel_lacks_is_told_from_what_is_refused():
    assert judge(ROW, line("unsupported", errno.EPROTONOSUPPORT), set(), False, supported=False).outcome == "UNSUPPORTED"


@pytest.mark.parametrize("said,expected", [("works", "WORKS"), ("broken", "BROKEN"), ("nothing", "BROKEN"), ("refused", "BROKEN")])
def test_a_control_works_or_is_broken(said, expected):
    assert judge(CONTROL, line(said), set(), False).outcome == expected


FILE = """
[baseline]
contained = ["zero"]
[[exception]]
names = ["tcp4"]
combinations = ["sealed/*/full"]
outcome = "LEAKED"
reaches = "a SYN"
closed_by = "capability"
"""


@pytest.fixture
def exceptions(tmp_path):
    path = tmp_path / "exceptions.toml"
    path.write_text(FILE)
    return Exceptions(str(path))


def verdict(evidence=(), said="sent"):
    return {"tcp4": judge(ROW, line(said), set(evidence), False)}


@pytest.mark.parametrize("combination,made,problems", [
    ("sealed/bpf/full", verdict([("packet", "far")]), 0),  # as written
    ("sealed/bpf/full", verdict([("token", "far")]), 1),  # worse than written
    ("sealed/bpf/full", verdict(), 1),  # stale
    ("sealed/bpf/full", verdict(said="unsupported"), 1),  # refused here: stale too
    ("sealed/bpf/none", verdict([("packet", "far")]), 1),  # not written for that combination
    ("sealed/bpf/none", verdict(), 0),
])
def test_worse_and_stale_are_both_errors(exceptions, combination, made, problems):
    assert len(exceptions.problems(combination, made)) == problems


def test_the_baseline_must_get_out(exceptions):
    rows = [ROW, {**ROW, "name": "zero"}]
    inside, out = judge(ROW, line("sent"), set(), False), judge(ROW, line("sent"), {("token", "far")}, False)
    assert not exceptions.baseline_problems(rows, {"tcp4": out, "zero": inside})
    assert len(exceptions.baseline_problems(rows, {"tcp4": inside, "zero": out})) == 2


def test_what_holds_only_where_something_lacks(tmp_path):
    path = tmp_path / "exceptions.toml"
    path.write_text(FILE.replace('closed_by = "capability"', 'closed_by = "capability"\nlacking = "hooks"'))
    leaked = verdict([("packet", "far")])
    assert len(Exceptions(str(path)).problems("sealed/bpf/full", leaked)) == 1
    assert not Exceptions(str(path), lacking=["hooks"]).problems("sealed/bpf/full", leaked)


def test_a_name_that_nobody_has_is_found(exceptions):
    assert exceptions.unknown(["tcp4"]) == ["zero"]
