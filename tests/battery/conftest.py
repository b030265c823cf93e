# SPDX-License-Identifier: Apache-2.0
"""The battery as tests: one world for all of them, the baseline before the rest. See run.py."""
import os
import signal
import sys

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [path for path in (HERE,) if path not in sys.path]

import run  # noqa: E402

TOLD = []  # the battery, for the summary


def pytest_configure(config):
    """A terminated run cleans up like an interrupted one."""

    def interrupt(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def pytest_terminal_summary(terminalreporter):
    for made in TOLD:
        for line in made.told():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def battery():
    assert os.geteuid() == 0, "the battery makes namespaces: run it as root"
    made = run.Battery()
    TOLD.append(made)
    try:
        yield made
        made.write(run.RESULTS)
    finally:
        made.close()


@pytest.fixture(scope="session")
def baseline(battery):
    """(the battery, the problems of the run without protection)."""
    return battery, battery.run(run.BASELINE)
