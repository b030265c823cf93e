# SPDX-License-Identifier: Apache-2.0
"""The escape battery over five combinations and the baseline; `make battery` runs all of them."""
import pytest

import run
import verdicts

COMBINATIONS = ["sealed/bpf/none", "sealed/bpf/default", "uplink/bpf/noraw", "sealed/nft/none", run.HOOKLESS]


def test_without_protection_the_attempts_get_out(baseline):
    battery, problems = baseline
    assert not problems, "\n".join(problems)
    out = [v for v in battery.results[run.BASELINE].values() if v.outcome in verdicts.OUT]
    assert len(out) >= 120, f"only {len(out)} attempts reach the canary at all"


def test_exceptions_name_attempts_that_there_are(battery):
    assert not battery.exceptions.unknown(row["name"] for row in battery.rows)


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_nothing_gets_out_but_what_is_written(baseline, combination):
    battery, _ = baseline
    problems = battery.run(combination)
    assert combination not in battery.refused, battery.refused.get(combination)
    assert not problems, "\n".join(problems)
