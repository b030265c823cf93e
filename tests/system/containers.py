# SPDX-License-Identifier: Apache-2.0
"""containers.py - runc and Podman with the hooks of scripts/hooks, on a Debian root made of the machine's own files.

The root is an overlay over / with its upper side in a tmpfs, both under the run's folder; folders that are the
machine's own business are empty tmpfs in each container. Nothing is pulled: Podman gets the root by --rootfs, and
has storage, state, locks and hooks in the run's folder. Cgroups lie below the run's: what the runtimes make of
it in the v1 hierarchies of a hybrid machine is removed at the end.
"""
import itertools
import json
import os
import signal
import subprocess

import documents
import topology
from origin.netns import Netns
from stack import ROOT, build_folder
from waiting import PATIENCE, until

HOOKS = os.path.join(ROOT, "scripts", "hooks")
REAPER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "reaper.py")
MASKED = ["/tmp", "/run", "/var/tmp", "/root", "/home", "/work", "/srv", "/mnt", "/media", "/opt", "/boot"]
CAPABILITIES = [
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETFCAP",
    "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
]
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_numbers = itertools.count(1)

ANNOTATIONS = ["policy", "mode", "search", "strict", "credentials"]  # all; the default is strict alone

POLICIES = {
    "default": documents.POLICY,
    "open": documents.POLICY.replace("default: deny", "private:\n  - {cidr: 169.254.169.254/32, ports: [80], metadata: true}\ndefault: deny").replace(
        "hosts: [203.0.113.40,", "hosts: [169.254.169.254, 203.0.113.40,"),
    "broken": "version: 1\nname: broken\ndefualt: deny\n",
}


def _mount(*arguments):
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


class Yard:
    """What all containers of a run share: the root, the hook's configuration and policies."""

    def __init__(self, stack, policies, **more):
        self.stack, self.world = stack, stack.world
        self.folder = os.path.join(self.world.run, "yard")
        self.group = "/" + os.path.basename(self.world.cgroup) + "/yard"
        os.makedirs(self.folder)
        _mount("-t", "tmpfs", "-o", "mode=0755", "yard", self.folder)
        for name in ("upper", "work", "root", "policies", "bundles", "hooks.d"):
            os.mkdir(os.path.join(self.folder, name))
        self.root = os.path.join(self.folder, "root")
        _mount("-t", "overlay", "-o", f"lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work", "yard", self.root)
        self.inside = os.path.join(self.root, "yard")  # /yard in each container
        os.mkdir(self.inside)
        for name in ("policies", "bundles", "hooks.d"):
            os.chmod(os.path.join(self.folder, name), 0o755)
        for name, text in policies.items():
            self.write(f"policies/{name}.yaml", text)
        self.options = {"state": stack.state, "policies": f"{self.folder}/policies", "annotations": ANNOTATIONS, **more}
        self.conf = self.write_conf()
        for name in ("precreate", "attach", "detach"):
            with open(f"{HOOKS}/sallyport-{name}.json", encoding="ascii") as file:
                hook = json.load(file)
            hook["hook"]["path"] = self.hook
            hook["hook"]["args"][1:1] = ["--config", self.conf]
            self.write(f"hooks.d/{name}.json", json.dumps(hook))

    @property
    def hook(self):
        return os.path.join(build_folder(), "sallyport-hook")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def write_conf(self, name="hooks.json", **changes):
        return self.write(name, json.dumps({**self.options, **changes}))

    def attached(self):
        done = self.stack.netns("list")
        assert done.returncode == 0, done.stderr
        return {line.split(" ")[0]: line for line in done.stdout.splitlines()}

    def seen(self, name):
        """Whether a container has run that left a canary of that name."""
        return os.path.exists(os.path.join(self.inside, name))

    def inside_file(self, name, data):
        """/yard/NAME in each container."""
        with open(os.path.join(self.inside, name), "wb") as file:
            file.write(data)

    def canary(self, name):
        """The command that leaves it."""
        return ["touch", f"/yard/{name}"]

    def cgroups(self):
        """Those of containers that are still there, of any hierarchy; Podman keeps one for its monitors."""
        groups = [mount + self.group for mount in topology.hierarchies()]
        return [entry.path for group in groups if os.path.isdir(group) for entry in os.scandir(group)
                if entry.is_dir() and entry.name != "conmon"]

    def close(self):
        left = self.cgroups()
        subprocess.run(["umount", "-l", self.root], check=True)
        subprocess.run(["umount", "-l", self.folder], check=True)
        os.rmdir(self.folder)
        assert not left, left


class Runc:
    """A container by runc alone: a bundle, prepared or with hooks only."""

    name = "runc"

    def __init__(self, yard, argv, annotations=None, prepare=True, id=None, program="runc", **changes):
        self.yard, self.id = yard, id or f"c{os.getpid()}-{next(_numbers)}"
        self.program = program
        self.bundle = os.path.join(yard.folder, "bundles", self.id)
        self.state = os.path.join(yard.folder, program)
        os.makedirs(self.bundle, exist_ok=True)
        self.config = self._config(argv, annotations or {})
        self.config.update(changes)
        if not prepare:
            self.config["hooks"] = {
                stage: [{"path": yard.hook, "args": ["sallyport-hook", "--config", yard.conf, stage]}]
                for stage in ("createRuntime", "poststop")
            }
        self.write()
        self.prepared = self.prepare() if prepare else None

    def _config(self, argv, annotations):
        tmpfs = [{"destination": d, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]}
                 for d in MASKED if os.path.isdir(d)]
        return {
            "ociVersion": "1.0.2",
            "process": {
                "terminal": False, "user": {"uid": 0, "gid": 0}, "args": argv, "env": [PATH, "LANG=C.UTF-8"],
                "cwd": "/", "noNewPrivileges": True,
                "capabilities": {kind: CAPABILITIES for kind in ("bounding", "effective", "permitted")},
            },
            "root": {"path": self.yard.root},
            "hostname": "box",
            "annotations": annotations,
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "ro"]},
                *tmpfs,
            ],
            "linux": {
                "cgroupsPath": f"{self.yard.group}/{self.id}",
                "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
                "maskedPaths": ["/proc/kcore"],
            },
        }

    @property
    def sandbox(self):
        return f"{self.config['annotations'].get('sallyport.credentials', 'container')}.{self.id}"

    def write(self):
        with open(f"{self.bundle}/config.json", "w", encoding="utf-8") as file:
            json.dump(self.config, file)

    def read(self):
        with open(f"{self.bundle}/config.json", encoding="utf-8") as file:
            return json.load(file)

    def prepare(self):
        return call([self.yard.hook, "--config", self.yard.conf, "prepare", "--id", self.id, "--bundle", self.bundle])

    def command(self, *arguments):
        return [self.program, "--root", self.state, *arguments]

    def run(self, **options):
        return call(self.command("run", "--bundle", self.bundle, self.id), **options)

    def start(self, **options):
        return subprocess.Popen(
            self.command("run", "--bundle", self.bundle, self.id), stdin=subprocess.DEVNULL, start_new_session=True, **options)

    def exec(self, *argv):
        return call(self.command("exec", self.id, *argv))

    def pid(self):
        done = call(self.command("state", self.id))
        return json.loads(done.stdout)["pid"] if done.returncode == 0 else 0

    def delete(self):
        return call(self.command("delete", "--force", self.id))


# $@: a command that sees neither the machine's named namespaces nor its CNI's records
_ALONE = """
mkdir -p /run/netns /var/lib/cni && mount -t tmpfs yard /run/netns && mount -t tmpfs yard /var/lib/cni && exec "$@"
"""


class Podman:
    """Podman over runc, in a network namespace of the test's. Without CAP_SYS_RESOURCE it must not raise limits, hence
    --ulimit."""

    name = "podman"

    def __init__(self, yard, program="runc"):
        self.yard, self.program = yard, program
        self.netns = Netns("machine")
        self.netns.ip(["link set lo up"])
        self.folder = os.path.join(yard.folder, f"podman{next(_numbers)}")
        os.mkdir(self.folder)
        self.containers = self._write("containers.conf", f"""
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{self.folder}/tmp"
static_dir = "{self.folder}/libpod"
volume_path = "{self.folder}/volumes"
num_locks = 256
[network]
network_backend = "cni"
network_config_dir = "{self.folder}/networks"
""")
        self.storage = self._write("storage.conf", f"""
[storage]
driver = "vfs"
graphroot = "{self.folder}/graph"
runroot = "{self.folder}/run"
""")

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def command(self, *arguments):
        alone = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ALONE, "sh"]
        return self.netns.command(
            [*alone, "/usr/bin/python3", REAPER, "podman", "--runtime", f"/usr/sbin/{self.program}", "--hooks-dir", f"{self.yard.folder}/hooks.d", *arguments])

    @property
    def environment(self):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.folder, "CONTAINERS_CONF": self.containers,
                "CONTAINERS_STORAGE_CONF": self.storage}

    def call(self, *arguments, **options):
        return call(self.command(*arguments), env=self.environment, **options)

    def words(self, *argv, network="none", options=(), annotations=None, drop=("NET_RAW",)):
        """The words behind `run`."""
        masks = [f"--mount=type=tmpfs,destination={d},tmpfs-mode=1777,notmpcopyup" for d in MASKED if os.path.isdir(d)]
        notes = [f"--annotation={name}={value}" for name, value in (annotations or {}).items()]
        return [
            "--rm", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", f"--network={network}",
            f"--cgroup-parent={self.yard.group}", *(f"--cap-drop={name}" for name in drop), "--env=LANG=C.UTF-8", *masks, *notes, *options,
            "--rootfs", self.yard.root, *argv,
        ]

    def run(self, *argv, timeout=60, **options):
        return self.call("run", *self.words(*argv, **options), timeout=timeout)

    def close(self):
        self.call("rm", "--all", "--force", "--time=0")
        self.netns.close()


def call(argv, timeout=60, **options):
    done = subprocess.run(
        argv, capture_output=True, timeout=timeout * PATIENCE, stdin=subprocess.DEVNULL, check=False, cwd="/", **options)
    done.stdout, done.stderr = (part.decode("utf-8", "replace") for part in (done.stdout, done.stderr))
    return done


def kill(pid):
    """0 is nobody, and not our own group as kill(2) has it."""
    try:
        if pid > 0:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def gone(yard, sandbox):
    until(lambda: sandbox not in yard.attached(), f"{sandbox} to be detached")
