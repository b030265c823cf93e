# SPDX-License-Identifier: Apache-2.0
"""launcher.py - scripts/sallyport as a person starts it, in the edge, and what it leaves on the machine."""
import os
import signal
import subprocess

import topology
from stack import ROOT, build_folder
from waiting import PATIENCE

LAUNCHER = os.path.join(ROOT, "scripts", "sallyport")


def traces():
    """State directories, mounts and cgroups of `run`, whoever started it: those of another go soon, too."""
    found = {f"/run/{name}" for name in os.listdir("/run") if name.startswith("sallyport.")}
    mount = topology.cgroup_mount()
    found |= {os.path.join(mount, name) for name in os.listdir(mount) if name.startswith("sallyport.")}
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        points = [line.split(" ")[1] for line in mounts]
    return found | {f"mount {point}" for point in points if point.startswith("/run/sallyport.")}


def environment():
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SALLYPORT_BIN": build_folder(), "LANG": "C.UTF-8"}


def command(world, *arguments):
    return world.edge_command([LAUNCHER, *arguments])


def run(world, *arguments, timeout=60, **options):
    return subprocess.run(
        command(world, *arguments), capture_output=True, text=True, timeout=timeout * PATIENCE, env=environment(),
        stdin=subprocess.DEVNULL, check=False, **options,
    )


def start(world, *arguments, **options):
    """In a session of its own, as a terminal gives it: signals can go to the whole group, and none is ignored (nohup
    would have a shell that cannot trap SIGHUP)."""
    return subprocess.Popen(
        command(world, *arguments), env=environment(), start_new_session=True, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )


def interrupt_group(process, number=signal.SIGINT):
    os.killpg(process.pid, number)
