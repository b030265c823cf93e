# SPDX-License-Identifier: Apache-2.0
"""Runs the BPF battery (battery.c): alone, two at once, and killed half-way. Nothing may stay behind."""
import glob
import os
import signal
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BATTERY = os.path.join(
    os.environ.get("SALLYPORT_BUILD", os.path.join(ROOT, "build")), "tests", "bpf", "battery"
)


def cgroup2():
    """Where cgroup v2 is mounted, also beside v1 (hybrid)."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, where, kind, *_ = line.split()
            if kind == "cgroup2":
                return where
    pytest.skip("no cgroup v2 is mounted")


def start():
    assert os.path.exists(BATTERY), f"{BATTERY} is missing: run make"
    return subprocess.Popen(
        [BATTERY], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def scratch_of(battery):
    return glob.glob(os.path.join(cgroup2(), f"sallyport-bpf.{battery.pid}.*"))


def finish(battery):
    """The complete output; the scratch cgroup must be gone by then."""
    output, _ = battery.communicate(timeout=120)
    assert not scratch_of(battery)
    return output


def check(output, status):
    wrong = [line for line in output.splitlines() if not line.startswith(("ok ", "# "))]
    assert not wrong and status == 0, "\n".join(wrong)
    # a kernel without hooks for unix sockets (before 6.7) has so many fewer, and the battery says so
    assert output.count("\nok ") > (370 if "\nok no unix hooks here" in output else 400), output


def test_every_attempt_meets_what_the_tables_say():
    battery = start()
    check(finish(battery), battery.returncode)


def test_two_at_once_do_not_meet():
    both = [start(), start()]
    outputs = [finish(battery) for battery in both]
    for battery, output in zip(both, outputs):
        check(output, battery.returncode)


def test_a_killed_battery_leaves_nothing():
    battery = start()
    assert battery.stdout.readline().startswith("ok ")
    assert scratch_of(battery)
    with open(f"/proc/{battery.pid}/task/{battery.pid}/children", encoding="ascii") as file:
        children = [int(pid) for pid in file.read().split()]
    assert children
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    finish(battery)
    assert battery.returncode == 1
