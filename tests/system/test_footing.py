# SPDX-License-Identifier: Apache-2.0
"""The helper's own cgroup, which keeps the kernel's hooks in use (netns-helper/footing.c): there while it lives, not after."""
import contextlib
import glob
import json
import os
import re
import signal
import subprocess

import pytest

import helper_rig

PROGRAMS = {"policy_connect4", "policy_connect6", "policy_sendmsg4", "policy_sendmsg6", "create_socket", "flows_sockops",
            "egress_packet"}


def own_cgroup():
    with open("/proc/self/cgroup", encoding="ascii") as file:
        path = re.search(r"^0::(.*)$", file.read(), re.M)[1]
    return os.path.join(helper_rig.cgroup_tree(), path.lstrip("/"))


def footings(pid):
    return glob.glob(os.path.join(own_cgroup(), f"sallyport-footing-{pid}.*"))


def attached(path):
    out = subprocess.run(["bpftool", "-j", "cgroup", "show", path], capture_output=True, check=True).stdout
    return [program["name"] for program in json.loads(out.strip() or b"[]")]


@pytest.fixture
def rigs():
    with contextlib.ExitStack() as made:  # each is closed, also when another does not close

        def start():
            rig = helper_rig.Rig()
            made.callback(rig.close)
            return rig

        yield start


def test_every_hook_has_a_user_while_the_helper_lives(rigs):
    rig = rigs()
    [path] = footings(rig.helper.pid)
    assert set(attached(path)) >= PROGRAMS
    with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as file:
        assert file.read() == "", "nobody is in it"
    status, left = rig.close()
    assert status == 0 and not left
    assert footings(rig.helper.pid) == []


def test_it_is_no_sandbox(rigs):
    rig = rigs()
    rig.daemon()
    assert rig.ctl("list").stdout.strip() == ""
    dump = subprocess.run(["bpftool", "-j", "map", "dump", "pinned", os.path.join(rig.state, "bpf/sandboxes")],
                          capture_output=True, check=True).stdout
    assert json.loads(dump) == []


def test_a_killed_helpers_is_removed_by_the_next_and_a_living_ones_is_not(rigs):
    killed, living = rigs(), rigs()
    helper_rig.kill(killed.helper)
    [path] = footings(killed.helper.pid)
    helper_rig.until("the links are gone with their process", lambda: attached(path) == [])
    dead = killed.helper.pid
    killed.serve()
    assert footings(dead) == [] and len(footings(killed.helper.pid)) == 1
    assert len(footings(living.helper.pid)) == 1
