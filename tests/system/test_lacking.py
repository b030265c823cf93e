# SPDX-License-Identifier: Apache-2.0
"""A kernel without a hook: unix sockets, before Linux 6.7. Sandboxes are attached all the same, and who asks is told.

Once on this kernel as it is, and once under a helper for which it has no such hooks (without_hook.py); on 6.1
(make vm, step `lacking`) the two are alike.
"""
import ctypes
import errno
import json
import os
import struct
import subprocess

import pytest

from documents import POLICY
from sandbox import Refused, Sandbox
from stack import build_folder

HERE = os.path.dirname(os.path.abspath(__file__))
WITHOUT_HOOK = ["/usr/bin/python3", os.path.join(HERE, "without_hook.py")]
PROBE = os.path.join(build_folder(), "probes", "connect_unix")
SYS_BPF, BPF_PROG_QUERY = 321, 16  # x86-64
BPF_CGROUP_UNIX = (49, 50)  # connect, sendmsg
SKIPPED = 77  # how a probe ends where the kernel has not got it
FEATURE = "unix-paths"
NOWHERE = "/run/sallyport-nobody-listens"  # under no prefix that is allowed by default
CONNECT = """
import socket
with socket.socket(socket.AF_UNIX, socket.{kind}) as s:
    result = s.connect_ex({address!r})
"""

pytestmark = pytest.mark.bpf


@pytest.fixture(scope="module")
def hooks():
    """Whether this kernel has them."""
    status = subprocess.run([PROBE], stdout=subprocess.DEVNULL, check=False).returncode
    assert status in (0, SKIPPED)
    return status == 0


@pytest.fixture(params=["here", "without"])
def told(request, stack, another_stack, hooks):
    """(a stack, whether its helper lacks the hooks)"""
    if request.param == "here":
        return stack, not hooks
    return another_stack("hookless", wrapper=WITHOUT_HOOK), True


def features(one):
    return {line["feature"]: line for line in one.get("/v1/status")["degraded"]}


def programs_on(cgroup):
    said = subprocess.run(["bpftool", "-j", "cgroup", "show", cgroup], check=True, capture_output=True, text=True)
    return {program["name"] for program in json.loads(said.stdout.strip() or "[]")}


def unix_programs_on(cgroup):
    """How many there are: bpftool of older releases leaves these out. bpf(2): BPF_PROG_QUERY, 32 of struct bpf_attr."""
    count, fd = 0, os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for kind in BPF_CGROUP_UNIX:
            ids = (ctypes.c_uint32 * 64)()
            query = ctypes.create_string_buffer(struct.pack("IIIIQI4x", fd, kind, 0, 0, ctypes.addressof(ids), 64), 64)
            if ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, BPF_PROG_QUERY, query, 64) == 0:
                count += struct.unpack_from("I", query, 24)[0]
    finally:
        os.close(fd)
    return count


def test_the_status_names_what_is_lacking_and_what_mends_it(told):
    stack, lacking = told
    found = features(stack)
    assert (FEATURE in found) == lacking, found
    assert "BPF" not in found, "a hook that is lacking costs itself, not the lane"
    text = stack.ctl("status").stdout
    assert (FEATURE in text) == lacking, text
    assert stack.log("helper").count(f"{FEATURE} is degraded: ") == lacking, "told once, at the start"
    if lacking:
        assert "unix sockets: Invalid argument" in found[FEATURE]["reason"]
        assert "6.7" in found[FEATURE]["remedy"] and "mount namespace" in found[FEATURE]["remedy"]


def test_doctor_and_status_agree(stack, hooks):
    said = subprocess.run([stack.tool("sallyportctl"), "--json", "doctor"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout
    (row,) = (one for one in json.loads(said.stdout)["findings"] if one["name"] == "connect_unix")
    assert row["state"] == ("ok" if hooks else "without")
    assert (FEATURE in features(stack)) == (not hooks)


def test_a_sandbox_is_attached_and_the_rest_holds(told, attach, world, origin):
    stack, lacking = told
    box = attach(on=stack, lane="auto")
    assert " lane=bpf " in stack.netns("list").stdout
    there = programs_on(box.cgroup)
    assert {"policy_connect4", "policy_connect6", "policy_sendmsg4", "policy_sendmsg6", "create_socket",
            "flows_sockops", "egress_packet"} <= there
    on_unix = unix_programs_on(box.cgroup)
    assert on_unix == (0 if lacking else 2)
    shown = stack.get(f"/v1/sandboxes/{box.id}")
    assert shown["state"] == "active" and shown["degraded"] == [], "it is the machine that is degraded"
    assert box.curl("https://api.test/lacking", check=True).returncode == 0
    assert origin.last("/lacking")
    watch = world.watch()
    for address, error in (("169.254.169.254", errno.ECONNREFUSED), ("10.0.0.1", errno.EACCES)):
        with pytest.raises(Refused) as refused:
            box.connect(address, 80)
        assert refused.value.errno == error
    watch.nothing()


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_paths_of_the_host_are_refused_by_the_hook_alone(told, attach, kind):
    stack, lacking = told
    box = attach(on=stack, lane="bpf")
    said = box.python(CONNECT.format(kind=kind, address=NOWHERE))
    assert said == (errno.ENOENT if lacking else errno.EACCES)


def test_strict_does_not_take_less(told):
    stack, lacking = told
    box = Sandbox(stack, POLICY, lane="auto", options=["--strict"])
    try:
        done = box.try_attach()
        assert done.returncode == lacking, done.stderr
        if lacking:
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert f"--strict: {FEATURE}: " in done.stderr and "6.7" in done.stderr
            assert not programs_on(box.cgroup) and box.id not in stack.netns("list").stdout
            box.lane = "nft"  # who has said nft has nothing degraded
            assert box.try_attach().returncode == 0
    finally:
        box.close()
