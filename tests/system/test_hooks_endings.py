# SPDX-License-Identifier: Apache-2.0
"""However a container, its runtime or the hook ends: nothing stays attached, and nothing is left."""
import os
import signal
import subprocess
import threading

import pytest

import installed
from containers import Runc, gone, kill
from waiting import PATIENCE, until


@pytest.fixture(autouse=True)
def runc():
    installed.need("runc")


@pytest.fixture
def started(yard):
    """started(): a container that runs and is attached, and the runtime's process."""
    made = []

    def start(**options):
        box = Runc(yard, ["sleep", "300"], prepare=False, **options)
        process = box.start()
        made.append((box, process))
        until(lambda: box.sandbox in yard.attached() and " active " in yard.attached()[box.sandbox], "the container's attach", 20)
        until(box.pid, "the container's process")
        return box, process

    yield start
    for box, process in made:
        kill(box.pid())
        process.poll() is None and process.kill()
        process.wait(20)
        box.delete()
        gone(yard, box.sandbox)


def _links(yard):
    """What the helper has pinned, and both have open: to be as before."""
    return sorted(yard.stack.pins()), len(os.listdir(f"/proc/{yard.stack.helper.pid}/fd")), yard.stack.descriptors()


def _records(yard):
    """What the state directory has of sandboxes; the file of all keys stays, and is empty when there are none."""
    found = [os.path.join(yard.stack.state, folder, name) for folder in ("sandboxes", "handout")
             for name in os.listdir(os.path.join(yard.stack.state, folder))]
    return [path for path in found if os.path.basename(path) != "keys" or os.path.getsize(path)]


def test_the_containers_process_is_killed(yard, started):
    box, process = started()
    kill(box.pid())
    process.wait(20)
    gone(yard, box.sandbox)
    assert not _records(yard)


def test_the_runtime_is_killed_and_later_the_container(yard, started):
    """Nobody calls poststop then: the helper sees that the cgroup is empty."""
    box, process = started()
    process.kill()
    process.wait(20)
    assert box.sandbox in yard.attached(), "the container runs on, and so does its sandbox"
    kill(box.pid())
    gone(yard, box.sandbox)
    assert not _records(yard)
    assert box.delete().returncode == 0, "poststop finds nothing to do"


def test_the_hook_is_killed_while_it_waits(yard):
    """The daemon is stopped meanwhile, so that the attach is under way."""
    box = Runc(yard, yard.canary("killed-hook"), prepare=False)
    os.kill(yard.stack.daemon.pid, signal.SIGSTOP)
    try:
        process = box.start(stderr=subprocess.PIPE, text=True)
        until(lambda: box.sandbox in yard.attached(), "the offer")
        hooks = until(lambda: _hooks(yard), "the hook's process")
        for pid in hooks:
            kill(pid)
    finally:
        os.kill(yard.stack.daemon.pid, signal.SIGCONT)
    _, errors = process.communicate(timeout=30 * PATIENCE)
    assert process.returncode != 0 and "signal: killed" in errors
    assert not yard.seen("killed-hook")
    gone(yard, box.sandbox)


def test_podman_and_its_monitor_are_killed(yard, podman):
    done = podman.run("sleep", "300", options=["--detach", "--name=doomed"])
    assert done.returncode == 0, done.stderr
    (sandbox,) = yard.attached()
    pids = podman.call("inspect", "--format", "{{.State.ConmonPid}} {{.State.Pid}}", "doomed").stdout.split()
    for pid in map(int, pids):
        kill(pid)
    gone(yard, sandbox)
    assert not _records(yard)
    podman.call("rm", "--force", "--time=0", "doomed")
    for path in yard.cgroups():  # what its monitor would have had removed
        if "libpod-" in path:
            os.rmdir(path)


def _hooks(yard):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == b"sallyport-hook" and yard.conf.encode() in words and b"createRuntime" in words:
            found.append(int(name))
    return found


def test_the_helper_is_killed_and_the_next_finds_nothing_attached(yard, started, world):
    """Its container has no network then: both it and its end are nobody's any more."""
    box, _ = started()
    yard.stack.helper.kill()
    yard.stack.helper.wait()
    yard.stack.start_helper()
    until(yard.stack.connected, "the daemon to connect")
    assert not yard.attached()
    watch = world.watch()
    done = box.exec("curl", "-sS", "-m", "5", "-k", "https://203.0.113.10/")
    assert done.returncode != 0
    watch.nothing("a container without a helper")
    kill(box.pid())
    until(lambda: not _records(yard), "the daemon to forget it")


def test_twenty_start_and_stop_at_once(yard):
    Runc(yard, ["true"], prepare=False).run()  # what is loaded once is loaded
    before = _links(yard)
    boxes = [Runc(yard, ["curl", "-sS", "https://api.test/"], prepare=i % 2 == 0) for i in range(20)]
    done = [None] * len(boxes)

    def run(i):
        done[i] = boxes[i].run(timeout=120)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(boxes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [d.stderr for d in done if d.returncode != 0 or "hello from" not in d.stdout]
    _nothing_left(yard, before)


def test_one_after_the_other_under_load(yard):
    """50; 200 under make soak."""
    Runc(yard, ["true"], prepare=False).run()
    before = _links(yard)
    box = Runc(yard, ["true"], prepare=False)
    for _ in range(200 if os.environ.get("SALLYPORT_SOAK") else 50):
        done = box.run()
        assert done.returncode == 0, done.stderr
    _nothing_left(yard, before)


def _nothing_left(yard, before):
    assert not yard.attached()
    until(lambda: not _records(yard), "the records to be removed")
    until(lambda: _links(yard) == before, f"pins and descriptors as before: {before}")
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        assert not [line for line in mounts if line.startswith("sallyport ") and yard.root in line]
    assert not yard.cgroups()
