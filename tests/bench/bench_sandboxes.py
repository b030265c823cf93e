# SPDX-License-Identifier: Apache-2.0
"""bench_sandboxes.py - a thousand sandboxes at once on one helper and one daemon, both real.

Memory: first as many empty namespaces with lo up and empty cgroups are made (what a runtime has before us: told, not
judged), then those very ones are attached; the difference is ours. Descriptors of the two processes in the same way.
Then traffic in the first, the last and one between, and everything is detached: maps, pins and descriptors must be
back where they were, and the daemon's files gone. Then all of that once more: memory must be where it was after the
first time. (After the first time itself the kernel and the C library keep slabs and heaps half full: told.) Helper and daemon are started with a soft limit of 1,024
descriptors, as a login session has it: they must raise it themselves.
"""
import json
import os
import random
import resource
import socket
import subprocess
import time

import memory
from helper import Helper
from places import Place
from rows import Row

NAME = "sandboxes"
SANDBOXES = int(os.environ.get("BENCH_SANDBOXES", "1000"))
WARM = 8
SOFT = 1024
MEMORY_MOST, HELPER_FDS_MOST, DAEMON_FDS_MOST = 64, 16, 8
LEFT_MOST = 2  # KiB of one sandbox that may look left: what others on the machine do meanwhile
MAPS = ("sandboxes", "verdicts")
REQUEST = b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"


def fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def answer(place):
    """What the sandbox gets for a request: the daemon's refusal, since its policy denies all."""
    with place.netns.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(10)
        sock.connect(("203.0.113.10", 80))
        sock.sendall(REQUEST)
        got = b""
        while b"\r\n" not in got:
            more = sock.recv(4096)
            if not more:
                break
            got += more
        return got.split(b"\r\n")[0]


def traffic(places):
    """How many of them did not answer as they must."""
    chosen = [places[0], places[-1], random.Random(1).choice(places)]
    return sum(not answer(place).startswith(b"HTTP/1.1 403") for place in chosen)


def entries(helper, name):
    out = subprocess.run(
        ["bpftool", "-j", "map", "dump", "pinned", helper.pinned(name)], capture_output=True, check=True
    ).stdout
    return len(json.loads(out))


def kept(helper):
    """Everything by name and number that an attach makes and a detach must take back."""
    found = {f"entries of {name}": entries(helper, name) for name in MAPS}
    for folder, _, files in os.walk(helper.pinned("")):
        found[f"pins in {os.path.relpath(folder, helper.pinned(''))}"] = len(files)
    for name in ("sandboxes", "handout"):
        found[f"files in {name}"] = sum(len(files) for _, _, files in os.walk(os.path.join(helper.rig.state, name)))
    for name, pid in helper.processes():
        found[f"descriptors of the {name}"] = fds(pid)
    return found


def left(before, after):
    return ", ".join(
        f"{after.get(name, 0) - count} {name}" for name, count in before.items() if after.get(name, 0) != count
    )


def parts_note(parts):
    return ", ".join(f"{name} {kib:.1f}" for name, kib in parts.items() if abs(kib) >= 0.05)


def limited_helper():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, hard))
    try:
        return Helper(real=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))


def warm_up(helper):
    """What is made once, at the first sandbox, is not the price of a sandbox."""
    places = [Place() for _ in range(WARM)]
    for place in places:
        helper.attach(place)
    for place in places:
        helper.detach(place)
        place.close()


def all_of(work, places):
    began = time.monotonic()
    for place in places:
        work(place)
    return time.monotonic() - began


def measured(helper, places):
    n = SANDBOXES
    warm_up(helper)
    at_first = memory.settled(helper.processes())
    places += [Place() for _ in range(n)]
    empty = memory.settled(helper.processes())
    before = kept(helper)
    yield Row(NAME, "an empty namespace with lo up, and a cgroup", (empty.total - at_first.total) / n, "KiB",
              note=parts_note(memory.growth(at_first, empty, n)))

    took = all_of(helper.attach, places)
    attached = memory.settled(helper.processes())
    during = kept(helper)
    parts = memory.growth(empty, attached, n)
    yield Row(NAME, "attach all", took, "s", note=f"{1000 * took / n:.1f} ms each, one after the other")
    yield Row(NAME, "memory of one sandbox", sum(parts.values()), "KiB", MEMORY_MOST, note=parts_note(parts))
    if os.environ.get("BENCH_VERBOSE"):
        for size, count, cache in memory.objects(empty, attached, n):
            print(f"      {size:8.0f} bytes  {count:6.2f} objects  {cache}")
    for (name, _), most in zip(helper.processes(), (HELPER_FDS_MOST, DAEMON_FDS_MOST)):
        which = f"descriptors of the {name}"
        yield Row(NAME, which + ", of one sandbox", (during[which] - before[which]) / n, "", most)
    yield Row(NAME, "no answer in the first, the last, a random one", traffic(places), "", 0)

    took = all_of(helper.detach, places)
    yield Row(NAME, "detach all", took, "s", note=f"{1000 * took / n:.1f} ms each, one after the other")
    detached = memory.settled(helper.processes())
    remains = left(before, kept(helper))
    yield Row(NAME, "left behind: entries, pins, files, descriptors", int(bool(remains)), "", 0, note=remains)
    parts = memory.growth(empty, detached, n)
    yield Row(NAME, "kept by caches and heaps", sum(parts.values()), "KiB", note=parts_note(parts))
    all_of(helper.attach, places)
    all_of(helper.detach, places)
    parts = memory.growth(detached, memory.settled(helper.processes()), n)
    yield Row(NAME, "left behind: memory of one sandbox", sum(parts.values()), "KiB", LEFT_MOST, note=parts_note(parts))


def run():
    places = []
    helper = limited_helper()
    try:
        yield from measured(helper, places)
    finally:
        helper.close()
        for place in places:
            place.close()
