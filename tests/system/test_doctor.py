# SPDX-License-Identifier: Apache-2.0
"""`sallyportctl doctor`: what it says of this machine, and of one from which something was taken away."""
import ctypes
import errno
import functools
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

import topology
from stack import ROOT, build_folder
from waiting import until

DOCTOR = [os.path.join(build_folder(), "sallyportctl")]
PROBES = os.path.join(build_folder(), "probes")
# x86-64; a name of a call -> its number
CALLS = {"bpf": 321, "unshare": 272, "io_uring_setup": 425, "seccomp": 317}
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 22, 2, 0x50000, 0x7FFF0000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06


def without_call(name, error):
    """To be called in the child: from now on the call fails with that errno."""
    program = b"".join(
        struct.pack("HBBI", *row)
        for row in (
            (LOAD, 0, 0, 0),  # the number of the call
            (JUMP_EQUAL, 0, 1, CALLS[name]),
            (RETURN, 0, 0, SECCOMP_RET_ERRNO | error),
            (RETURN, 0, 0, SECCOMP_RET_ALLOW),
        )
    )
    code = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def refuse(_kept=code):
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")

    return refuse


class Said:
    """The answer: as JSON, and as text when a test asks for that."""

    def __init__(self, *arguments, **options):
        self._arguments, self._options = arguments, options
        done = self._run("--json")
        self.status, self.errors = done.returncode, done.stderr
        self.data = json.loads(done.stdout) if done.stdout else {"status": self.status}
        self.findings = {f["name"]: f for f in self.data.get("findings", [])}
        assert self.data["status"] == self.status

    def _run(self, *more):
        return subprocess.run(
            [*DOCTOR, *more, "doctor", *self._arguments], capture_output=True, text=True, timeout=120, check=False,
            **self._options,
        )

    @functools.cached_property
    def text(self):
        done = self._run()
        assert done.returncode == self.status, done.stdout
        return done.stdout

    def names(self, state):
        return {f["name"] for f in self.findings.values() if f["state"] == state}

    def line(self, name):
        found = [line for line in self.text.splitlines() if line[9:].startswith(name + ":")]
        assert len(found) == 1, f"{len(found)} lines for {name}:\n{self.text}"
        return found[0]


def scratch():
    return set(glob.glob(os.path.join(topology.cgroup_mount(), "sallyport-probe.*")))


@pytest.fixture
def probes(tmp_path):
    """A directory of probes that all say ok; put(name, status, words) has one of them say something else."""
    tmp_path.chmod(0o755)

    def put(name, status=0, words=""):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{words or f'ok {name}'}'\nexit {status}\n", encoding="ascii")
        path.chmod(0o755)

    for path in glob.glob(os.path.join(PROBES, "*")):
        put(os.path.basename(path))
    put.folder = str(tmp_path)
    return put


def test_what_is_required_works_here(tmp_path):
    before = scratch()
    said = Said("--state", str(tmp_path / "none"))
    assert said.status == 0 and not said.names("missing") and not said.names("untried"), said.text
    assert {"programs", "sk_lookup", "nft_tproxy", "uring_setup", "lane", "cgroup2", "user"} <= said.names("ok")
    assert said.findings["lane"]["symptom"] == "both work; bpf is used"
    assert not scratch() - before


def test_every_probe_has_a_row_and_every_row_a_probe():
    said = Said()
    rows = set(said.findings) - {
        "cgroup2", "user", "source_user", "programs_here", "tools", "trust", "resolver", "descriptors", "memlock",
        "state", "heartbeat", "own_cgroup", "vsock", "unprivileged_bpf", "lane",
    }
    sources = {os.path.basename(p)[:-2] for p in glob.glob(os.path.join(ROOT, "kconfig-notes", "probes", "*.c"))}
    assert rows == sources
    with open(os.path.join(ROOT, "kconfig-notes", "README.md"), encoding="utf-8") as file:
        notes = file.read()
    assert not [name for name in sources if f"`{name}`" not in notes]


def test_without_bpf_the_nft_lane_is_left():
    said = Said(preexec_fn=without_call("bpf", errno.EPERM))
    assert said.status == 0, said.text
    assert {"bpffs", "programs", "set_retval", "sock_create", "sk_lookup"} <= said.names("without")
    assert "Operation not permitted" in said.line("sk_lookup") and "CONFIG_BPF_SYSCALL" in said.line("sk_lookup")
    assert said.line("lane").startswith("ok ") and "nft works" in said.line("lane")


def test_without_bpf_the_bpf_lane_is_missing():
    said = Said("--lane", "bpf", preexec_fn=without_call("bpf", errno.EPERM))
    assert said.status == 1
    line = said.line("programs")
    assert line.startswith("missing ") and "CAP_BPF" in line and "remedy: boot a kernel" in line
    assert "something that is required is missing" in said.text


def test_without_namespaces_nothing_works():
    said = Said(preexec_fn=without_call("unshare", errno.EPERM))
    assert said.status == 1
    assert {"netns_cookie", "nft_refuse", "lane"} <= said.names("missing")
    assert "unshare(CLONE_NEWNET): Operation not permitted" in said.line("nft_refuse")
    assert "neither works" in said.line("lane")
    assert {"seccomp_filter", "uring_setup", "set_retval"} <= said.names("ok")


def test_without_io_uring_the_sysctl_is_named():
    said = Said(preexec_fn=without_call("io_uring_setup", errno.EPERM))
    assert said.status == 1 and said.names("missing") == {
        "uring_setup", "uring_restrictions", "uring_accept_multishot", "uring_recv_multishot", "uring_msg_ring"}
    assert "kernel.io_uring_disabled=0" in said.line("uring_setup")


def test_who_is_not_root_learns_what_was_not_tried():
    said = Said(user=65534, group=65534, extra_groups=[])
    assert said.status == 3 and not said.names("missing"), said.text
    assert {"programs", "nft_refuse", "lane"} <= said.names("untried")
    assert {"uring_setup", "seccomp_filter", "peer_pidfd"} <= said.names("ok")
    assert "only root can try it; remedy: sudo" in said.line("nft_refuse")


def test_a_probe_that_is_not_there(probes):
    os.remove(os.path.join(probes.folder, "nft_refuse"))
    said = Said("--probes", probes.folder)
    assert said.status == 3 and said.names("untried") == {"nft_refuse"}
    assert f"there is no probe {probes.folder}/nft_refuse" in said.line("nft_refuse")


def test_the_control_of_the_fakes(probes):
    said = Said("--probes", probes.folder)
    assert said.status == 0 and not said.names("missing") | said.names("untried") | said.names("without") - {"own_cgroup"}


@pytest.mark.parametrize("mode,state,status", [("sealed", "without", 0), ("uplink", "missing", 1)])
def test_uplink_mode_has_needs_of_its_own(probes, mode, state, status):
    probes("conntrack", 1, "missing conntrack: nobody counts")
    said = Said("--probes", probes.folder, "--mode", mode)
    assert said.status == status and said.findings["conntrack"]["state"] == state
    assert "nobody counts" in said.line("conntrack") and "CONFIG_NF_CONNTRACK" in said.line("conntrack")


def test_what_the_product_does_without(probes):
    probes("connect_unix", 77, "skipped connect_unix: too old")
    said = Said("--probes", probes.folder)
    assert said.status == 0 and said.names("without") == {"connect_unix"}
    assert "too old; it needs Linux 6.7" in said.line("connect_unix")


def test_no_lane(probes):
    probes("sk_lookup", 1, "missing sk_lookup: a")
    probes("nft_tproxy", 1, "missing nft_tproxy: b")
    said = Said("--probes", probes.folder)
    assert said.status == 1 and said.names("missing") == {"lane"}
    assert Said("--probes", probes.folder, "--lane", "nft").names("missing") == {"nft_tproxy"}


def test_a_program_that_cannot_be_run(probes):
    path = os.path.join(probes.folder, "memfd_seal")
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/nonexistent\n")
    said = Said("--probes", probes.folder)
    assert said.status == 3 and "cannot be run" in said.line("memfd_seal")


def test_a_namespace_whose_loopback_is_down_is_not_the_kernels_fault():
    libc = ctypes.CDLL(None)
    clone_newnet = 0x40000000
    said = Said(preexec_fn=lambda: libc.unshare(clone_newnet))
    for name in ("uring_accept_multishot", "sockops_connect"):
        assert said.findings[name]["state"] == "ok", said.line(name)


def test_daemon_and_helper_belong_beside_it(tmp_path):
    alone = shutil.copy(DOCTOR[0], tmp_path / "sallyportctl")
    done = subprocess.run([alone, "doctor"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert f"{tmp_path}/sallyportd: No such file" in done.stdout and "there is no probe" in done.stdout


def test_a_state_directory_for_everybody(tmp_path, probes):
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    said = Said("--state", str(state), "--probes", probes.folder)
    assert said.findings["state"]["state"] == "danger" and "mode 0777" in said.line("state")
    state.chmod(0o750)
    assert Said("--state", str(state), "--probes", probes.folder).findings["state"]["state"] == "ok"


@pytest.mark.parametrize("outage,meanwhile", [("refuse", "are refused"), ("wait", "wait")])
def test_a_daemon_that_hangs_and_one_that_is_gone(another_stack, probes, outage, meanwhile):
    stack = another_stack(f"beat-{outage}", outage=outage)

    def beat():
        said = Said("--state", stack.state, "--probes", probes.folder)
        assert said.status == 0, said.text
        return said.findings["heartbeat"]

    assert beat()["state"] == "ok" and re.fullmatch(r"\d+ ms old", beat()["symptom"])
    stack.daemon.send_signal(signal.SIGSTOP)
    try:
        hangs = until(lambda: beat()["state"] == "without" and beat(), "its silence")
        assert "the daemon gave its last sign of life" in hangs["symptom"] and "upgrade" in hangs["remedy"]
        assert hangs["symptom"].endswith(f"it hangs, and connections of sandboxes {meanwhile}")
    finally:
        stack.daemon.send_signal(signal.SIGCONT)
    until(lambda: beat()["state"] == "ok", "a sign of life")
    stack.kill_daemon()
    gone = until(lambda: beat()["state"] == "without" and beat(), "its end")
    assert gone["symptom"].startswith("no daemon has served for ") and gone["symptom"].endswith(meanwhile)
    assert Said("--state", stack.state + "-none", "--probes", probes.folder).findings["heartbeat"]["state"] == "ok"
    stack.start_daemon()
    until(lambda: beat()["state"] == "ok", "the next one's")


def test_a_daemon_that_shares_its_cgroup(stack, probes):
    own = stack.cgroups["daemon"]
    said = Said("--state", stack.state, "--probes", probes.folder)
    assert said.findings["state"]["state"] == "ok", said.text
    assert said.findings["own_cgroup"]["state"] == "ok", said.text
    guest = subprocess.Popen(["sleep", "60"])
    try:
        with open(os.path.join(own, "cgroup.procs"), "w", encoding="utf-8") as procs:
            procs.write(str(guest.pid))
        said = Said("--state", stack.state, "--probes", probes.folder)
        assert said.findings["own_cgroup"]["state"] == "without"
        assert os.path.basename(own) in said.line("own_cgroup")
    finally:
        guest.kill()
        guest.wait()


@pytest.mark.parametrize("arguments", [["--lane", "ebpf"], ["--mode", "open"], ["now"]])
def test_a_wrong_request(arguments):
    said = Said(*arguments)
    assert said.status == 2 and said.errors


def test_what_doctor_names_is_in_a_fragment_and_in_the_notes():
    fragments = {}
    for path in glob.glob(os.path.join(ROOT, "kconfig-notes", "*.config")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                found = re.fullmatch(r"CONFIG_(\w+)=y\n|# CONFIG_(\w+) is not set\n|#.*\n", line)
                assert found, f"{path}: {line}"
                name = found[1] or found[2]
                if name:
                    fragments[name] = path
    with open(os.path.join(ROOT, "kconfig-notes", "README.md"), encoding="utf-8") as file:
        notes = file.read()
    assert not [name for name in fragments if f"`{name}`" not in notes]
    with open(os.path.join(ROOT, "userspace", "ctl", "need.c"), encoding="utf-8") as file:
        text = re.sub(r'"\s*"', "", file.read())  # as the compiler joins it
    named = set()
    for options in re.findall(r"CONFIG_([^;\"(]*)", text):
        named |= {word.removeprefix("CONFIG_") for word in re.split(r"[,\s]+", options) if word}
    assert len(named) > 15 and not named - set(fragments)
