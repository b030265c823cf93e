# SPDX-License-Identifier: Apache-2.0
"""load.py - short requests from within a sandbox (loadgen.py) while something happens to the daemon, and what may fail then."""
import json
import os
import shutil
import subprocess

from sandbox import PYTHON

REFUSED_MS = 100  # a connect() in an outage
HERE = os.path.dirname(__file__)


class Load:
    """Runs from here until results()."""

    def __init__(self, box):
        self.end = os.path.join(box.home, "end")
        script = shutil.copy(os.path.join(HERE, "loadgen.py"), box.stack.world.run)
        self.process = box.popen([PYTHON, "-E", "-S", script, self.end], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "loading\n"

    def results(self):
        with open(self.end, "w", encoding="ascii"):
            pass
        results = json.loads(self.process.communicate(timeout=60)[0])
        assert self.process.returncode == 0
        return results


def judge(results, windows=()):
    """What may not be. windows: the times at which the daemon was killed, and at which it was back. Every failure overlaps a kill (it
    was in flight), or began in an outage and was refused as soon as promised."""
    bad = []
    for kind, begin, end, outcome in results:
        if outcome == "ok" or (kind == "forbidden" and outcome == "refused"):
            continue
        # a daemon that is killed takes up to a moment to be gone
        in_flight = any(begin <= killed + 0.1 and end >= killed for killed, _ in windows)
        outage = any(killed <= begin <= back for killed, back in windows)
        if in_flight or (outage and outcome == "refused" and end - begin < REFUSED_MS / 1000):
            continue
        if outage and kind == "kept" and not outcome.startswith("connect"):
            continue  # its connection had gone with the daemon
        bad.append((kind, begin, end, outcome))
    return bad
