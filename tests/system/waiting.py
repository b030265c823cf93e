# SPDX-License-Identifier: Apache-2.0
"""waiting.py - until a condition holds. The only place where a test's clock ticks.

SALLYPORT_PATIENCE multiplies the time that is waited, for machines that are slow (tests/vm).
"""
import os
import time

PATIENCE = float(os.environ.get("SALLYPORT_PATIENCE", "1"))


def until(condition, what, seconds=10):
    """The first true value of condition(); fails with what after the time."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.01)
