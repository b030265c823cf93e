# SPDX-License-Identifier: Apache-2.0
"""Podman's bridge in a network namespace of the test's: a published port is served, everything else is captured."""
import os
import shutil
import socket

import pytest

from waiting import until

NOTES = {"sallyport.mode": "uplink", "sallyport.credentials": "web"}


@pytest.fixture(autouse=True)
def bridges(podman):
    assert os.path.exists("/usr/lib/cni/portmap"), "not installed: containernetworking-plugins: run scripts/setup --tests"


def _ask(podman):
    """What the published port answers to the machine on which it is published."""

    def ask():
        with socket.create_connection(("10.88.0.1", 8080), 5) as sock:
            sock.settimeout(5)
            sock.sendall(b"ping")
            return sock.recv(100)

    try:
        return podman.netns.call(ask)
    except OSError:
        return b""


def test_a_published_port_is_served_and_what_goes_out_is_captured(yard, podman, world, origin):
    shutil.copy(os.path.join(os.path.dirname(__file__), "served.py"), yard.inside)
    before = yard.attached()
    done = podman.run("/usr/bin/python3", "/yard/served.py", "word", "80", network="podman",
                      options=["--publish=8080:80", "--detach", "--name=server"], annotations=NOTES)
    assert done.returncode == 0, done.stderr
    (attached,) = [line for name, line in yard.attached().items() if name not in before]
    assert "mode=uplink" in attached
    answer = until(lambda: _ask(podman), "the published port to answer")
    assert answer.startswith(b"word ") and answer.endswith(b" ping")
    watch = world.watch()
    done = podman.call("exec", "server", "sh", "-c", "curl -sS https://api.test/uplink; curl -sS -m 5 http://169.254.169.254/")
    assert "hello from api.test" in done.stdout and done.returncode != 0
    assert origin.last("/uplink").connection.peer[0] in ("198.51.100.1", "2001:db8:ffff::1"), "by the daemon, not by the bridge"
    assert not watch.packets_to("169.254.169.254")
    assert podman.call("stop", "--time=0", "server").returncode == 0
    until(lambda: yard.attached() == before, "the container to be detached")


def test_a_bridge_with_net_raw_is_refused(yard, podman):
    done = podman.run(*yard.canary("net-raw"), network="podman", drop=(), annotations=NOTES)
    assert done.returncode != 0 and not yard.seen("net-raw")
    assert "NET_RAW" in done.stderr and done.stderr.count("sallyport-hook: ") == 1, done.stderr


def test_a_bridge_without_the_annotation_is_refused(yard, podman):
    """Sealed is the default, and a sealed sandbox has no interface."""
    done = podman.run(*yard.canary("bridged"), network="podman", annotations={})
    assert done.returncode != 0 and not yard.seen("bridged"), done.stderr
    assert done.stderr.count("sallyport-hook: ") == 1, done.stderr
