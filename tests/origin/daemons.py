# SPDX-License-Identifier: Apache-2.0
"""daemons.py - real servers in the tests' internet: OpenSSH, PostgreSQL, Redis, gRPC, nghttpd.

Each has a folder of its own below the run's, keys and data made for the run, and no file elsewhere: what sshd wants in
/run is in a mount namespace of its own. They run in a cgroup of the run's, so that nothing can outlive it.
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import time


def said(*argv, **options):
    done = subprocess.run(argv, capture_output=True, text=True, cwd="/", **options)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


class Daemon:
    def __init__(self, world, name, port):
        self.world, self.port = world, port
        self.folder = os.path.join(world.run, name)
        self.cgroup = os.path.join(world.cgroup, f"server-{name}")
        os.makedirs(self.folder, exist_ok=True)  # a port may be served twice, one after the other
        os.mkdir(self.cgroup)
        os.chmod(self.folder, 0o755)
        self.process = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def run(self, argv):
        entering = f'echo $$ > {self.cgroup}/cgroup.procs; exec "$@"'
        with open(self.path("log"), "wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", entering, "sh", *self.world.internet.command(argv)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
            )
        deadline = time.monotonic() + 30
        while not self._answers():
            assert self.process.poll() is None and time.monotonic() < deadline, self.log()
            time.sleep(0.02)  # it says to nobody that it listens
        return self

    def _answers(self):
        sock = self.world.internet.socket(socket.AF_INET, socket.SOCK_STREAM)
        with sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def close(self):
        if self.process:
            with open(os.path.join(self.cgroup, "cgroup.kill"), "w", encoding="ascii") as file:
                file.write("1")
            self.process.wait(10)
        deadline = time.monotonic() + 10
        while True:
            try:
                os.rmdir(self.cgroup)
                return
            except OSError:
                assert time.monotonic() < deadline, f"{self.cgroup} does not become empty"
                time.sleep(0.01)  # the kernel reaps; nothing to wait on


class Sshd(Daemon):
    """Lets root in with `key`, to a repository at `repository`."""

    def __init__(self, world, port):
        super().__init__(world, "sshd", port)
        for name in ("host", "key"):
            said("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name))
        self.host_key = open(self.path("host.pub"), encoding="ascii").read().split()[:2]
        self.key = self.path("key")
        self.repository = self.path("project.git")
        shutil.copy(self.path("key.pub"), self.path("authorized"))
        config = self.write(
            "config",
            f"Port {port}\nListenAddress 0.0.0.0\nListenAddress ::\nHostKey {self.path('host')}\n"
            f"AuthorizedKeysFile {self.path('authorized')}\nPermitRootLogin prohibit-password\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nUseDNS no\n"
            "PidFile none\nPrintMotd no\nMaxStartups 100\n",
        )
        self._make_repository()
        own_run = "mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f \"$1\""
        self.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", own_run, "sh", config])

    def _make_repository(self):
        work = self.path("work")
        git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-C", work)
        said("git", "init", "-q", "-b", "main", work)
        with open(os.path.join(work, "data"), "wb") as file:
            file.write(os.urandom(5 << 20))
        said(*git, "add", "data")
        said(*git, "commit", "-q", "-m", "data")
        self.commit = said(*git, "rev-parse", "HEAD").strip()
        said("git", "clone", "-q", "--bare", work, self.repository)


class Postgres(Daemon):
    """A cluster with the superuser `tester` and a password, TLS with the origins' certificate."""

    PASSWORD = "a-password-of-the-tests"

    def __init__(self, world, port):
        super().__init__(world, "postgres", port)
        binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        assert binaries, "postgresql is not installed: scripts/setup --tests"
        for source, name in (("good.pem", "server.crt"), ("leaf.key", "server.key")):
            shutil.copy(os.path.join(world.pki.folder, source), self.path(name))
            os.chmod(self.path(name), 0o600)
        self.write("password", self.PASSWORD + "\n", 0o600)
        for root, _, files in os.walk(self.folder):
            for path in (root, *(os.path.join(root, name) for name in files)):
                shutil.chown(path, "postgres", "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
        said(
            *as_user, os.path.join(binaries[-1], "initdb"), "-D", self.path("data"), "-U", "tester", "-N",
            "--no-locale", "-E", "UTF8", "-A", "scram-sha-256", f"--pwfile={self.path('password')}",
        )
        with open(self.path("data/pg_hba.conf"), "a", encoding="ascii") as file:
            file.write("hostssl all all 0.0.0.0/0 scram-sha-256\nhostssl all all ::/0 scram-sha-256\n")
        options = {
            "listen_addresses": "*", "port": port, "unix_socket_directories": self.folder, "fsync": "off",
            "ssl": "on", "ssl_cert_file": self.path("server.crt"), "ssl_key_file": self.path("server.key"),
        }
        words = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self.run([*as_user, os.path.join(binaries[-1], "postgres"), "-D", self.path("data"), *words])


class Redis(Daemon):
    def __init__(self, world, port):
        super().__init__(world, "redis", port)
        shutil.chown(self.folder, "redis")
        self.run([
            "runuser", "-u", "redis", "--", "redis-server", "--port", str(port), "--bind", "*", "-::*", "--save", "",
            "--appendonly", "no", "--protected-mode", "no", "--dir", self.folder,
        ])


class Grpc(Daemon):
    """grpc_service.py, with TLS on one port (the origins' certificate) and without on another."""

    def __init__(self, world, port=50051, tls_port=50052):
        super().__init__(world, f"grpc-{port}", port)
        self.tls_port = tls_port
        service = os.path.join(os.path.dirname(os.path.realpath(__file__)), "grpc_service.py")
        pki = world.pki.folder
        self.run(["/usr/bin/python3", "-I", service, str(port), str(tls_port), f"{pki}/good.pem", f"{pki}/leaf.key"])

    def calls(self, method=None):
        """[{"method", "metadata"}] that arrived, in order."""
        lines = [line[5:] for line in self.log().splitlines(keepends=True) if line.startswith("call ") and line.endswith("\n")]
        return [call for call in map(json.loads, lines) if method is None or call["method"].endswith(f"/{method}")]


class Nghttpd(Daemon):
    """nghttp2's own server, as a peer that nothing here has written: files of `documents` over TLS, or without."""

    def __init__(self, world, port, tls=True, options=()):
        super().__init__(world, f"nghttpd-{port}", port)
        self.documents = self.path("documents")
        os.mkdir(self.documents)
        pki = world.pki.folder
        keys = [f"{pki}/leaf.key", f"{pki}/good.pem"] if tls else []
        self.run(["nghttpd", "--verbose", "-d", self.documents, *options, *([] if tls else ["--no-tls"]), str(port), *keys])
