# SPDX-License-Identifier: Apache-2.0
"""Tunnels with real programs at both ends: git over ssh, psql, redis-cli; by name over IPv4 and IPv6, and by address."""
import hashlib
import os
import shutil

import pytest

from origin.daemons import Postgres, Redis, Sshd
from sandbox import USER, attached

SSH, POSTGRES, REDIS = 2200, 5433, 6379

POLICY = f"""\
version: 1
name: servers
default: deny
rules:
  - name: servers
    hosts: [tunnel.test, tunnel6.test, "2001:db8::60"]
    ports: [{SSH}, {POSTGRES}, {REDIS}]
    action: tunnel
"""
HOSTS = ["tunnel.test", "tunnel6.test", "2001:db8::60"]


@pytest.fixture(scope="module")
def box(stack, lane):
    with attached(stack, POLICY, prefix="servers", lane=lane) as made:
        yield made


@pytest.fixture(scope="module")
def sshd(world):
    yield from _served(Sshd, world, SSH)


@pytest.fixture(scope="module")
def postgres(world):
    yield from _served(Postgres, world, POSTGRES)


@pytest.fixture(scope="module")
def redis(world):
    yield from _served(Redis, world, REDIS)


def _served(kind, world, port):
    made = kind(world, port)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(made.folder)


def in_home(box, path, mode=0o600):
    """A copy that programs in the sandbox may read."""
    copy = shutil.copy(path, box.home)
    shutil.chown(copy, USER)
    os.chmod(copy, mode)
    return copy


def tunnelled(stack, mark, host, port):
    event = stack.wait_audit(mark, kind="connection", host=host)[0]
    assert (event["decision"], event["rule"], event["protocols"]) == ("tunnel", "servers", ["tcp"])
    assert event["asked"].endswith(f":{port}")
    return event


@pytest.mark.parametrize("host", HOSTS)
def test_CAP_03_git_over_ssh(box, stack, sshd, host):
    mark = stack.audit_mark()
    key = in_home(box, sshd.key)
    known = os.path.join(box.home, "known_hosts")
    with open(known, "w", encoding="ascii") as file:
        file.write(f"[{host}]:{SSH} {' '.join(sshd.host_key)}\n")
    ssh = f"ssh -F none -i {key} -o IdentitiesOnly=yes -o UserKnownHostsFile={known} -o StrictHostKeyChecking=yes"
    env = {"GIT_SSH_COMMAND": ssh, "GIT_CONFIG_GLOBAL": "/dev/null"}
    clone = os.path.join(box.home, f"clone-{HOSTS.index(host)}")
    url = f"ssh://root@{f'[{host}]' if ':' in host else host}:{SSH}{sshd.repository}"

    box.run(["git", "clone", "-q", url, clone], env=env, check=True)
    assert box.run(["git", "-C", clone, "rev-parse", "HEAD"], check=True).stdout.strip() == sshd.commit
    with open(os.path.join(clone, "data"), "rb") as got, open(sshd.path("work/data"), "rb") as sent:
        assert hashlib.sha256(got.read()).digest() == hashlib.sha256(sent.read()).digest()
    assert tunnelled(stack, mark, host, SSH)["bytes_down"] > 5 << 20

    branch = f"from-{HOSTS.index(host)}"
    box.run(["git", "-C", clone, "push", "-q", "origin", f"HEAD:refs/heads/{branch}"], env=env, check=True)
    with open(os.path.join(sshd.repository, "refs/heads", branch), encoding="ascii") as file:
        assert file.read().strip() == sshd.commit


@pytest.mark.parametrize("host", HOSTS)
def test_psql(box, stack, world, postgres, host):
    """By name with TLS that psql verifies against the server's own certificate: nobody sits in between."""
    mark = stack.audit_mark()
    ca = in_home(box, world.pki.ca, 0o644)
    tls = "require" if ":" in host else "verify-full"
    url = f"host={host} port={POSTGRES} user=tester dbname=postgres sslmode={tls}"
    if ":" not in host:
        url += f" sslrootcert={ca}"
    words = (
        "select count(*), sum(i) from generate_series(1, 100000) i; select repeat('x', 1000000); "
        "select ssl from pg_stat_ssl where pid = pg_backend_pid()"
    )
    done = box.run(["psql", "-XAtq", "-c", words, url], env={"PGPASSWORD": postgres.PASSWORD}, check=True)
    lines = done.stdout.split("\n")
    assert lines[0] == "100000|5000050000" and lines[1] == "x" * 1000000 and lines[2] == "t"
    tunnelled(stack, mark, host, POSTGRES)


@pytest.mark.parametrize("host", HOSTS)
def test_redis(box, stack, redis, host):
    mark = stack.audit_mark()
    cli = ["redis-cli", "-h", host, "-p", str(REDIS)]
    assert box.run([*cli, "ping"], check=True).stdout == "PONG\n"
    value = "v" * (1 << 20)
    assert box.run([*cli, "-x", "set", "key"], input=value.encode(), check=True).stdout == "OK\n"
    assert box.run([*cli, "get", "key"], check=True).stdout == value + "\n"
    tunnelled(stack, mark, host, REDIS)
