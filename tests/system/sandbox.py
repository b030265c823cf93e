# SPDX-License-Identifier: Apache-2.0
"""sandbox.py - a namespace with only lo and a cgroup, attached to a stack, and programs in it.

run() enters by `sallyport-netns enter` as an unprivileged user, with the trust bundle that a launcher would
have made; joined() is a program of a runtime's own making: in cgroup and namespace, and nothing taken away.
"""
import contextlib
import errno
import itertools
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading

import topology
from origin.netns import Netns
from waiting import PATIENCE, until

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
PYTHON = "/usr/bin/python3"
IGNORE_UNEXPECTED_EOF = 1 << 7  # which python sets: with it an end without a close_notify looks like one in order
_numbers = itertools.count(1)

USER = "nobody"

# $1 cgroup, the rest a command
JOINING = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'


def default_lane():
    return os.environ.get("SALLYPORT_LANE", "auto")


class Refused(OSError):
    """connect() failed inside the sandbox."""

    def __init__(self, number, text, milliseconds):
        super().__init__(number, text)
        self.ms = milliseconds


class Sandbox:
    def __init__(self, stack, policy, prefix="plain", search=(), cgroup=None, lane=None, options=(), id=None):
        self.stack = stack
        self.id = id or f"{prefix}-{os.getpid()}-{next(_numbers)}"
        self.netns = Netns(self.id)
        self.cgroup = cgroup or os.path.join(stack.world.cgroup, self.id)
        os.mkdir(self.cgroup)
        self.policy = stack.world.write(f"{self.id}.policy.yaml", policy)
        self.home = os.path.join(stack.world.run, f"{self.id}.home")
        os.mkdir(self.home)
        shutil.chown(self.home, USER)
        self.trust = os.path.join(stack.world.run, f"{self.id}.trust")
        self.search = search
        self.lane = lane or default_lane()
        self.options = options  # further words of `attach`
        self.attached = False
        self._agent = self._link = None
        self._lock = threading.Lock()

    # ---- attach and detach ---------------------------------------------------------------------------

    def try_attach(self):
        searches = [part for name in self.search for part in ("--search", name)]
        done = self.stack.netns(
            "attach", "--id", self.id, "--netns", self.netns.path, "--cgroup", self.cgroup,
            "--policy", self.policy, "--lane", self.lane, *searches, *self.options,
        )
        self.attached = done.returncode == 0
        return done

    def attach(self):
        done = self.try_attach()
        assert self.attached, f"attach: {done.stderr}{done.stdout}\n{self.stack.log('daemon')[-2000:]}"
        until(lambda: os.path.exists(self.ca), "the sandbox's CA certificate")
        self.write_trust(BUNDLE, self.ca)
        return self

    def write_trust(self, *parts):
        """The folder that `enter` puts in place: the CA alone, and the bundle of all the parts."""
        os.makedirs(self.trust, exist_ok=True)
        shutil.copy(self.ca, os.path.join(self.trust, "ca.pem"))
        with open(os.path.join(self.trust, "bundle.pem"), "w", encoding="utf-8") as out:
            for path in parts:
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        shutil.copyfileobj(file, out)

    def detach(self):
        done = self.stack.netns("detach", "--id", self.id)
        self.attached = False
        return done

    def close(self):
        if self._agent:
            self._link.close()
            self._agent.wait(10 * PATIENCE)
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        until(lambda: not self.processes(), "the sandbox's processes to end")
        if self.attached and self.stack.helper.poll() is None:
            done = self.detach()
            assert done.returncode == 0, f"detach: {done.stderr}"
        self.netns.close()
        os.rmdir(self.cgroup)

    def processes(self):
        with open(os.path.join(self.cgroup, "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]

    def errno(self, number):
        """What a refused connect() of TCP ends with; a packet filter knows resets only."""
        return errno.ECONNREFUSED if self.lane == "nft" else number

    # ---- what the daemon handed out ------------------------------------------------------------------

    @property
    def handout(self):
        return os.path.join(self.stack.state, "handout", self.id)

    @property
    def ca(self):
        return os.path.join(self.handout, "ca.pem")

    def handed(self):
        """The variables of the handout: placeholders by name. Without any there is no file."""
        if not os.path.exists(os.path.join(self.handout, "environment")):
            return {}
        with open(os.path.join(self.handout, "environment"), encoding="ascii") as file:
            return dict(line.rstrip("\n").partition("=")[::2] for line in file)

    def placeholder(self, name):
        return self.handed()[name]

    # ---- programs in it ------------------------------------------------------------------------------

    @property
    def trusted(self):
        """The CA certificate's path as programs inside see it."""
        return os.path.join(self.stack.state, "trust", "ca.pem")

    def command(self, argv, env=None, user=USER):
        variables = {
            "HOME": self.home, "LANG": "C.UTF-8", "NODE_EXTRA_CA_CERTS": self.trusted, **(env or {})
        }
        return [
            self.stack.tool("sallyport-netns"), "--state", self.stack.state, "enter", "--id", self.id,
            "--trust", self.trust, "--user", user, "--share", self.stack.world.run,
            *(f"--env={name}={value}" for name, value in variables.items()), "--", *argv,
        ]

    def run(self, argv, env=None, timeout=40, check=False, user=USER, **options):
        return self._finished(self.command(argv, env, user), timeout, check, **options)

    def joined(self, argv, resolv_conf=None, check=False, **options):
        inside = topology.overlaid(resolv_conf or self.stack.world.resolv_conf, self.netns.command(argv))
        command = ["sh", "-c", JOINING, "sh", self.cgroup, *inside]
        return self._finished(command, 40, check, **options)

    @staticmethod
    def _finished(command, timeout, check, **options):
        done = subprocess.run(command, capture_output=True, timeout=timeout * PATIENCE, cwd="/", **options)
        done.stdout, done.stderr = (
            part.decode("utf-8", "replace") if isinstance(part, bytes) else part
            for part in (done.stdout, done.stderr)
        )
        assert not check or done.returncode == 0, (
            f"{command[-8:]} ended with {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        )
        return done

    def popen(self, argv, env=None, **options):
        return subprocess.Popen(self.command(argv, env), cwd="/", **options)

    def curl(self, *arguments, **options):
        return self.run(["curl", "-sS", "--max-time", f"{20 * PATIENCE:g}", *arguments], **options)

    # ---- sockets in it -------------------------------------------------------------------------------

    def _ask(self, request, seconds=60):
        with self._lock:
            if self._agent is None:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                script = shutil.copy(
                    os.path.join(os.path.dirname(__file__), "agent.py"), self.stack.world.run
                )  # readable whoever the program in the sandbox is
                self._agent = self.popen(
                    [PYTHON, "-E", "-S", script], stdin=theirs, stdout=sys.stderr
                )
                theirs.close()
                self._link = ours
            self._link.settimeout(seconds * PATIENCE)
            self._link.send(json.dumps(request).encode())
            data, descriptors, _, _ = socket.recv_fds(self._link, 1 << 20, 1)
        assert data, f"the agent in {self.id} ended with {self._agent.wait()}"
        answer = json.loads(data)
        assert "failure" not in answer, f"in the sandbox: {answer['failure']}"
        return answer, descriptors

    def python(self, code):
        """Runs code in the sandbox's agent; the value that it leaves in `result`."""
        return self._ask({"op": "python", "code": code})[0]["result"]

    @property
    def agent_pid(self):
        """As the machine numbers it; inside it has a number of its own."""
        inside = self.python("import os; result = os.getpid()")
        for pid in self.processes():
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            if status["Name"].startswith("python") and status["NSpid"].split()[-1] == str(inside):
                return pid
        raise AssertionError("the agent is not in its cgroup")

    def connect(self, address, port, family=None, kind="SOCK_STREAM", bind=None, timeout=20):
        """A connected socket that a process in the sandbox made; Refused with its errno otherwise."""
        family = family or ("AF_INET6" if ":" in address else "AF_INET")
        answer, descriptors = self._ask(
            {"op": "connect", "family": family, "kind": kind, "address": address, "port": port,
             "bind": bind, "timeout": timeout}
        )
        if answer["error"]:
            raise Refused(answer["error"], answer.get("text", "timed out"), answer["ms"])
        sock = socket.socket(fileno=descriptors[0])
        sock.settimeout(20)
        return sock

    def tls(self, address="203.0.113.10", port=443, name="api.test", alpn=("http/1.1",), verify=True,
            family=None, version=None):
        context = ssl.create_default_context(cafile=self.ca)
        context.options &= ~IGNORE_UNEXPECTED_EOF
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if version:
            context.minimum_version = context.maximum_version = version
        sock = self.connect(address, port, family=family)
        try:
            return context.wrap_socket(sock, server_hostname=name)
        except BaseException:
            sock.close()
            raise


@contextlib.contextmanager
def attached(stack, policy, **options):
    """A sandbox, from its attach to its end."""
    made = Sandbox(stack, policy, **options)
    try:
        yield made.attach()
    finally:
        made.close()


def leftovers(world):
    return topology.leftovers(world.run, world.cgroup)
