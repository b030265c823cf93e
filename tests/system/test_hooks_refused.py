# SPDX-License-Identifier: Apache-2.0
"""What cannot be attached does not start: the runtime shows one line with the remedy, and the container's process
never ran. That is seen by a canary file that it would leave, which the control leaves."""
import json
import os
import re
import shutil
import subprocess

import pytest

import containers
import installed
import topology
from containers import Runc

LINE = re.compile(r"sallyport-hook: [^\n]*")


@pytest.fixture(autouse=True)
def runc():
    installed.need("runc")


class Attempt:
    """A container that leaves a canary if it runs."""

    number = 0

    def __init__(self, yard, **options):
        Attempt.number += 1
        self.yard, self.canary = yard, f"canary-{Attempt.number}"
        self.box = Runc(yard, yard.canary(self.canary), **options)

    def ran(self):
        return self.yard.seen(self.canary)

    def refused(self, *words):
        """The line of a start that did not come to be."""
        done = self.box.run()
        assert done.returncode != 0 and not self.ran(), done.stderr
        return self.judge(done.stderr, *words)

    def judge(self, text, *words):
        lines = LINE.findall(text)
        assert len(lines) == 1, text
        for word in words:
            assert word in lines[0], lines[0]
        assert self.box.sandbox not in self.yard.attached()
        return lines[0]


def test_the_control_runs(yard):
    attempt = Attempt(yard)
    done = attempt.box.run()
    assert done.returncode == 0 and attempt.ran(), done.stderr
    assert not yard.attached()


REFUSED = {
    "no policy of that name": ({"sallyport.policy": "nobody"}, ["there is no policy nobody", "policies/nobody.yaml"]),
    "a path for a policy": ({"sallyport.policy": "../../../etc/passwd"}, ["wants the name of a policy"]),
    "a policy that does not load": ({"sallyport.policy": "broken"}, ["policies/broken.yaml:3:1", "defualt"]),
    "another mode": ({"sallyport.mode": "open"}, ["wants sealed or uplink"]),
    "credentials that are not listed": ({"sallyport.credentials": "admin"}, ["wants one of the words under credentials"]),
    "an annotation that there is not": ({"sallyport.polcy": "default"}, ["there is none of that name"]),
    "strict is not taken back": ({"sallyport.strict": "false"}, ["wants true"]),
    "search domains that are none": ({"sallyport.search": "a/b"}, ["domain names"]),
    "strict without a seccomp filter": ({"sallyport.strict": "true"}, ["strict: seccomp", "seccomp.json"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_annotations(yard, case):
    annotations, words = REFUSED[case]
    Attempt(yard, annotations=annotations, prepare=False).refused(*words)


def test_a_policy_that_is_not_roots_alone(yard):
    path = yard.write("policies/loose.yaml", containers.POLICIES["default"])
    os.chmod(path, 0o666)
    Attempt(yard, annotations={"sallyport.policy": "loose"}, prepare=False).refused("only root may write", "chmod go-w")
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    Attempt(yard, annotations={"sallyport.policy": "loose"}, prepare=False).refused("policies/loose.yaml")


def test_the_configuration(yard):
    for name, change, words in (
        ("loose.json", {}, ["only root may write"]),
        ("odd.json", {"polices": "/x"}, ["there is no key polices"]),
        ("wrong.json", {"mode": "both"}, ["mode has no such value"]),
        ("gone.json", {"policies": "/nowhere"}, ["/nowhere", "make it"]),
    ):
        attempt = Attempt(yard, prepare=False)
        conf = yard.write_conf(name, **change)
        if name == "loose.json":
            os.chmod(conf, 0o646)
        for hooks in attempt.box.config["hooks"].values():
            hooks[0]["args"][2] = conf
        attempt.box.write()
        attempt.refused(*words)


@pytest.mark.parametrize("note", ["policy=default", "mode=sealed", "credentials=container", "search=x.test"])
def test_an_image_chooses_nothing_by_its_annotations(yard, note):
    """Podman adds an image's annotations to the container's. The control is test_annotations: there they are heeded."""
    name, value = note.split("=")
    attempt = Attempt(yard, annotations={f"sallyport.{name}": value}, prepare=False)
    with open(yard.conf, encoding="utf-8") as file:
        options = {key: value for key, value in json.load(file).items() if key != "annotations"}
    conf = yard.write("default.json", json.dumps(options))
    for hooks in attempt.box.config["hooks"].values():
        hooks[0]["args"][2] = conf
    attempt.box.write()
    attempt.refused("containers and images may not choose that", f"list {name} under annotations in hooks.json")


def test_no_helper(yard):
    """Nor a daemon: the same for those who prepare."""
    attempt = Attempt(yard, prepare=False)
    conf = yard.write_conf("nowhere.json", state=f"{yard.folder}/nowhere")
    for hooks in attempt.box.config["hooks"].values():
        hooks[0]["args"][2] = conf
    attempt.box.write()
    attempt.refused("no helper serves in", "sallyport up")
    done = containers.call([yard.hook, "--config", conf, "prepare", "--id", "x", "--bundle", attempt.box.bundle])
    assert done.returncode == 1 and "sallyportd does not answer" in done.stderr
    assert "No such file" not in done.stderr, "Podman takes that for a command of the container's"


def test_an_id_in_use_and_its_poststop(yard):
    """Another runtime's container of that id; the end of the one that did not start takes nothing of it."""
    first = Runc(yard, ["sleep", "60"], prepare=False)
    process = first.start()
    try:
        containers.until(lambda: first.sandbox in yard.attached(), "the first to be attached")
        second = Attempt(yard, prepare=False)
        second.box.id = first.id  # of another bundle, at another --root
        second.box.config["linux"]["cgroupsPath"] += "-second"
        second.box.state += "-second"
        second.box.write()
        done = second.box.run()
        assert done.returncode != 0 and not second.ran()
        assert "is attached already" in LINE.findall(done.stderr)[0]
        assert first.sandbox in yard.attached(), "the poststop hook of the second has detached the first"
        done = containers.call([yard.hook, "--config", yard.conf, "prepare", "--id", first.id, "--bundle", second.box.bundle])
        assert done.returncode == 1 and "is attached already" in done.stderr
    finally:
        containers.kill(first.pid())
        process.wait(20)
        first.delete()
    containers.gone(yard, first.sandbox)


def _before(attempt, script):
    """A hook before ours, with $pid and the v2 tree in $tree."""
    path = attempt.yard.write(f"{attempt.canary}.sh", f"""#!/bin/sh
pid=$(sed -n 's/.*"pid": *\\([0-9]*\\).*/\\1/p')
tree={topology.cgroup_mount()}
{script}
""")
    os.chmod(path, 0o755)
    attempt.box.config["hooks"]["createRuntime"].insert(0, {"path": path})
    attempt.box.write()


def test_a_pid_that_is_gone(yard):
    attempt = Attempt(yard, prepare=False)
    _before(attempt, "kill -9 $pid; until grep -q '^State:.*[ZX]' /proc/$pid/status 2>/dev/null || [ ! -d /proc/$pid ]; do sleep 0.01; done")
    attempt.refused("is gone")


def test_a_cgroup_that_is_the_root(yard):
    attempt = Attempt(yard, prepare=False)
    _before(attempt, "echo $pid >$tree/cgroup.procs")
    attempt.refused("cgroup is /", "linux.cgroupsPath")


def test_a_cgroup_with_somebody_else_in_it(yard):
    attempt = Attempt(yard, prepare=False)
    guest = subprocess.Popen(["sleep", "60"])
    try:
        _before(attempt, f"echo {guest.pid} >$tree{attempt.box.config['linux']['cgroupsPath']}/cgroup.procs")
        attempt.refused("holds more than the container")
    finally:
        guest.kill()
        guest.wait()
    os.rmdir(topology.cgroup_mount() + attempt.box.config["linux"]["cgroupsPath"])  # which the runtime could not


def test_the_machines_network(yard):
    attempt = Attempt(yard, prepare=False)
    attempt.box.config["linux"]["namespaces"] = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]
    attempt.box.write()
    attempt.refused("has no network namespace", "--network none")
    attempt.box.config["linux"]["namespaces"].append({"type": "network", "path": f"/proc/{os.getpid()}/ns/net"})
    attempt.box.write()
    attempt.refused("never attached")


@pytest.mark.parametrize("stage", ["createRuntime", "poststop", "precreate"])
@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": "a"}', '{"id": "a", "id": "b", "bundle": "/", "pid": 1}', "x" * 100,
                                  '{"id": 5, "bundle": "/", "pid": 1}', '{"id": "a", "bundle": "b", "pid": 1}'])
def test_what_is_no_state(yard, stage, text):
    done = subprocess.run([yard.hook, "--config", yard.conf, stage], input=text, capture_output=True, text=True, check=False)
    if stage == "precreate" and done.returncode == 0:
        assert "sallyport.refused" in json.loads(done.stdout)["annotations"]
    else:
        assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("sallyport-hook: ")


def test_poststop_of_nobody_and_twice(yard):
    box = Runc(yard, ["true"], prepare=False)
    assert box.run().returncode == 0
    state = json.dumps({"ociVersion": "1.0.2", "id": box.id, "status": "stopped", "bundle": box.bundle})
    for _ in range(2):
        done = subprocess.run([yard.hook, "--config", yard.conf, "poststop"], input=state, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_rootless(yard):
    state = json.dumps({"ociVersion": "1.0.2", "id": "a", "pid": 1, "bundle": "/"})
    for user in (["setpriv", "--reuid=65534", "--clear-groups"], ["unshare", "--user", "--map-root-user"]):
        copy = shutil.copy(yard.hook, f"{yard.folder}/copy")
        os.chmod(copy, 0o755)
        done = subprocess.run([*user, copy, "createRuntime"], input=state, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 1 and "rootless" in done.stderr


# ---- what a hostile root file system cannot do


def _mounts(yard):
    """The machine's, but for what other runs of the tests have."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return [line for line in mounts if not re.search("/(sallyport|sptest)", line) or yard.world.run in line]


def _hostile(yard, name, bundle, *argv):
    """A container whose root is not the machine's, with a link for its bundle."""
    root = os.path.join(yard.folder, name)
    for folder in ("bin", "etc/ssl/certs", "proc", "dev", "sys", "elsewhere"):
        os.makedirs(os.path.join(root, folder))
    os.symlink(bundle, f"{root}/etc/ssl/certs/ca-certificates.crt")
    box = Runc(yard, ["/bin/busybox", *argv], prepare=False)
    shutil.copy("/bin/busybox", f"{root}/bin/busybox")
    for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", "/bin/busybox"], capture_output=True, text=True, check=False).stdout):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, root + library)
    box.config["root"] = {"path": root}
    box.config["mounts"] = [m for m in box.config["mounts"] if m["type"] != "tmpfs" or m["destination"] == "/dev"]
    box.write()
    return root, box


def test_links_of_the_root_lead_to_nothing_of_the_machine(yard):
    """Its bundle, resolv.conf and /run lead, by their text, to files of the machine's; in the container to its own."""
    victim = yard.write("victim", "not a certificate\n")
    root, box = _hostile(yard, "hostile", victim, "cat", "/run/sallyport/bundle.pem")
    os.symlink("../../../../../../.." + victim, f"{root}/etc/resolv.conf")
    os.symlink("/elsewhere", f"{root}/run")
    before = _mounts(yard)
    done = box.run()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("\n-----BEGIN CERTIFICATE-----"), "its own bundle is a link to nothing, and is nothing"
    with open(victim, encoding="ascii") as file:
        assert file.read() == "not a certificate\n"
    assert _mounts(yard) == before
    assert os.path.isdir(f"{root}/elsewhere/sallyport")


@pytest.mark.parametrize("number, file", enumerate(("/proc/kallsyms", "/proc/kmsg", "/proc/1/environ", "/sys/kernel/notes")))
def test_the_bundle_is_no_file_of_the_kernels(yard, number, file):
    """We read with root's capabilities, and before the runtime has masked anything: what the kernel would tell us is
    not for the container. /proc/kmsg would not even end."""
    _, box = _hostile(yard, f"kernels{number}", file, "cat", "/run/sallyport/bundle.pem")
    done = subprocess.run(box.command("run", "--bundle", box.bundle, box.id), stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"\n-----BEGIN CERTIFICATE-----"), (len(done.stdout), done.stdout[:80])


@pytest.mark.parametrize("mode, handed", [(0o600, False), (0o644, True)])
def test_the_bundle_is_no_file_that_only_root_may_read(yard, mode, handed):
    """The container's user may be another, and the bundle is for everybody in it."""
    root, box = _hostile(yard, f"roots{mode}", "/elsewhere/private", "cat", "/run/sallyport/bundle.pem")
    with open(f"{root}/elsewhere/private", "w", encoding="ascii") as file:
        file.write("private words\n")
    os.chmod(f"{root}/elsewhere/private", mode)
    done = box.run()
    assert done.returncode == 0, done.stderr
    assert ("private words" in done.stdout) == handed


# ---- Podman shows the line as well


def test_podman_shows_the_line(yard, podman):
    canary = "podman-canary"
    for options, words in (
        ({"annotations": {"sallyport.credentials": "admin"}}, ["wants one of the words"]),
        ({"annotations": {"sallyport.policy": "broken"}}, ["policies/broken.yaml:3:1"]),
    ):
        done = podman.run(*yard.canary(canary), **options)
        assert done.returncode != 0 and not yard.seen(canary), done.stderr
        lines = [line for line in LINE.findall(done.stderr) if all(word in line for word in words)]
        assert lines, done.stderr
    assert not yard.attached()


def test_podman_with_our_profile_is_strict_and_without_it_degraded(yard, podman):
    strict = {"sallyport.strict": "true", "sallyport.credentials": "web"}
    profile = f"--security-opt=seccomp={containers.HOOKS}/seccomp.json"
    done = podman.run("sh", "-c", "touch /yard/strict && /usr/bin/python3 -c 'import socket; socket.socket(40, 1)'", options=[profile], annotations=strict)
    assert yard.seen("strict") and "Address family not supported" in done.stderr, done.stderr
    done = podman.run(*yard.canary("unstrict"), annotations=strict)
    assert done.returncode != 0 and not yard.seen("unstrict")
    assert "strict: seccomp: lets through socket(AF_VSOCK)" in done.stderr
