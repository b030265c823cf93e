# SPDX-License-Identifier: Apache-2.0
"""waiting.py - until a condition holds. The only place where a test's clock ticks."""
import time


def until(condition, what, seconds=10):
    """The first true value of condition(); fails with what after the time."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)
