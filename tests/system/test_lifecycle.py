# SPDX-License-Identifier: Apache-2.0
"""What lives on when something dies: the daemon, by force and under load; and what is gone at the end."""
import errno
import json
import os
import signal
import subprocess
import threading
import time

import pytest

import client
import documents
from documents import POLICY
from sandbox import PYTHON, Refused, Sandbox
from stack import Stack
from waiting import until


@pytest.fixture
def mortal(another_stack, world):
    """A stack of its own, with credentials, that a test may kill."""
    return another_stack("mortal", outage="wait", credentials=[("swap-*", documents.write_credentials(world, "mortal-credentials"))])


def test_a_killed_daemon_lets_nothing_by_and_its_successor_serves_the_same_sandboxes(mortal, attach, world, origin):
    boxes = [attach(on=mortal, prefix="swap") for _ in range(3)]
    before = [(b.placeholder("API_TOKEN"), open(b.ca, encoding="ascii").read()) for b in boxes]
    stop = threading.Event()
    counts = {"good": 0, "broken": 0}
    earlier = len(origin.connections)

    def load(box):
        while not stop.is_set():
            try:
                with client.plain(box) as connection:
                    for number in range(20):
                        assert connection.get(f"/bytes/{number}").status == 200
                        counts["good"] += 1
            except (OSError, client.http.client.HTTPException):
                counts["broken"] += 1

    threads = [threading.Thread(target=load, args=(box,)) for box in boxes]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            reached = counts["good"] + 50
            until(lambda: counts["good"] > reached, "load", 30)
            mortal.kill_daemon()
            origin.wait(lambda: not any(c.open for c in origin.connections[earlier:]))  # what it had sent has arrived
            watch = world.watch()
            for address, error in (("169.254.169.254", errno.ECONNREFUSED), ("10.0.0.1", errno.EACCES)):
                with pytest.raises(Refused) as refused:
                    boxes[0].connect(address, 80)
                assert refused.value.errno == boxes[0].errno(error), "the kernel's refusals do not need the daemon"
            # nobody answers now: connections wait, and nothing leaves
            waiting = client.plain(boxes[0])
            waiting.send("GET /waited HTTP/1.1\r\nHost: api.test\r\n\r\n")
            watch.nothing("while the daemon is dead")
            assert not watch.questions()
            mortal.start_daemon()
            assert waiting.reply().status == 200, "the backlog is served by the successor"
            waiting.close()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert counts["good"] > 150
    for box, (token, ca) in zip(boxes, before):
        assert (box.placeholder("API_TOKEN"), open(box.ca, encoding="ascii").read()) == (token, ca)
        with client.https(box) as connection:
            connection.get("/after", extra=f"Authorization: Bearer {token}\r\n")
        assert origin.last("/after").value("authorization") == f"Bearer {documents.API_SECRET}"
    assert len(mortal.netns("list").stdout.strip().splitlines()) >= 3


def test_a_daemon_that_ends_in_order_is_succeeded_too(mortal, attach):
    box = attach(on=mortal, prefix="swap")
    assert mortal.kill_daemon(15) in (0, -15)
    mortal.start_daemon()
    with client.https(box) as connection:
        assert connection.get().status == 200


def test_without_a_daemon_attach_fails_at_once_and_names_the_remedy(world):
    stack = Stack(world, "headless")
    box = None
    try:
        stack.start_helper()
        box = Sandbox(stack, POLICY)
        start = time.monotonic()
        done = box.try_attach()
        assert done.returncode != 0
        assert time.monotonic() - start < 5
        assert "sallyportd" in done.stderr, done.stderr
    finally:
        if box:
            box.close()
        stack.stop()


def test_without_a_helper_the_command_names_the_remedy(world, stack):
    nowhere = os.path.join(world.run, "nowhere")
    done = subprocess.run(
        [stack.tool("sallyport-netns"), "--state", nowhere, "list"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and nowhere in done.stderr
    assert "serve" in done.stderr or "sallyport up" in done.stderr, done.stderr


def test_after_the_last_detach_nothing_is_left(another_stack, world, lane):
    stack = another_stack("brief")
    box = Sandbox(stack, POLICY, lane=lane)
    try:
        box.attach()
        assert box.lane == "nft" or any(box.id in pin for pin in stack.pins())
        with client.plain(box) as connection:
            assert connection.get().status == 200
        assert box.detach().returncode == 0
        assert not [pin for pin in stack.pins() if box.id in pin]
        assert box.id not in json.dumps(stack.get("/v1/sandboxes"))
        assert "192.0.2.1" not in box.netns.run("ip", "addr").stdout
        table = box.netns.run("nft", "list", "ruleset").stdout if os.path.exists("/usr/sbin/nft") else ""
        assert not table.strip()
        with pytest.raises((OSError, AssertionError)):
            box.netns.call(client.socket.create_connection, ("203.0.113.10", 80), 1)
    finally:
        box.close()
    stack.stop()  # looks at the mounts itself
    assert not os.path.exists(os.path.join(stack.state, "bpf", "refusals"))


def test_attach_and_detach_many_times_leaks_nothing(stack, attach):
    for _ in range(3):
        attach().detach()
    before = stack.descriptors(), len(os.listdir(f"/proc/{stack.helper.pid}/fd"))
    for _ in range(15):
        box = attach()
        with client.plain(box) as connection:
            assert connection.get().status == 200
        assert box.detach().returncode == 0

    def back():
        now = stack.descriptors(), len(os.listdir(f"/proc/{stack.helper.pid}/fd"))
        return now[0] <= before[0] + 2 and now[1] <= before[1] + 2

    until(back, f"descriptors to come back to {before}")


def test_a_detach_ends_what_is_open(attach):
    box = attach()
    connection = client.plain(box)
    assert connection.get().status == 200
    assert box.detach().returncode == 0
    try:
        connection.send("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
        assert connection.ended()
    except OSError:
        pass
    connection.close()


def test_two_stacks_side_by_side_do_not_mix(stack, another_stack, attach, sandbox, world):
    other = another_stack("beside")
    box = attach(on=other)
    assert box.id not in json.dumps(stack.get("/v1/sandboxes"))
    assert sandbox.id not in json.dumps(other.get("/v1/sandboxes"))
    with client.plain(box) as one, client.plain(sandbox) as two:
        assert one.get().status == two.get().status == 200
    other.kill_daemon()
    with client.plain(sandbox) as two:
        assert two.get().status == 200
    other.start_daemon()


def test_a_sandbox_whose_helper_was_killed_stays_sealed(another_stack, world):
    """And the next helper in the same state directory finds its way, and cleans up."""
    stack = another_stack("orphan")
    box = Sandbox(stack, POLICY)
    try:
        box.attach()
        with client.plain(box) as connection:
            assert connection.get().status == 200
        stack.helper.kill()
        stack.helper.wait()
        watch = world.watch()
        for address in ("169.254.169.254", "10.0.0.1"):
            with pytest.raises(Refused):
                box.connect(address, 80, timeout=3)
        assert not watch.packets_to("169.254.169.254", "10.0.0.1")
        with box.netns.socket(client.socket.AF_INET, client.socket.SOCK_DGRAM) as sock:
            try:  # from outside the cgroup: there is still no interface to leave by
                box.netns.call(sock.sendto, b"out", ("203.0.113.10", 4444))
            except OSError:
                pass
        assert not watch.packets_to("203.0.113.10")
        stack.start_helper()
        until(lambda: "the helper is connected" in stack.log("daemon").rpartition("is gone")[2], "the daemon's link")
        box.attached = False  # the new one does not know it
        until(stack.connected, "the daemon to find the new helper")
        fresh = Sandbox(stack, POLICY)
        try:
            fresh.attach()
            with client.plain(fresh) as connection:
                assert connection.get().status == 200
        finally:
            fresh.close()
    finally:
        box.close()


LOAD = """
import os, socket, sys, time
for _ in range(3):
    os.fork()
end = time.time() + 4
while time.time() < end:
    socks = []
    for _ in range(20):
        try:
            s = socket.create_connection(("203.0.113.10", 80), 3)
            s.sendall(b"GET /bytes/60000 HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % sys.argv[1].encode())
            socks.append(s)
        except OSError:
            pass
    for s in socks:
        s.close()
"""


@pytest.mark.parametrize("host", ["closed.test", "nx.test", "api.test"])
def test_a_detach_in_the_midst_of_failing_upstreams_hurts_nobody(another_stack, attach, host):
    stack = another_stack("torn")
    other = attach(on=stack)
    for number in range(6):
        box = attach(on=stack)
        load = box.popen([PYTHON, "-c", LOAD, host])
        time.sleep(0.7 + 0.05 * number)
        assert box.detach().returncode == 0
        with client.plain(other) as connection:
            assert connection.get().status == 200
        assert stack.daemon.poll() is None
        load.kill()
        load.wait()


def test_a_daemon_that_waits_for_names_ends_when_asked(another_stack, attach):
    stack = another_stack("asked")
    box = attach(on=stack)
    ca = open(box.ca, encoding="ascii").read()
    waiting = [client.plain(box) for _ in range(20)]
    for connection in waiting:
        connection.send("GET / HTTP/1.1\r\nHost: silent.test\r\n\r\n")
    time.sleep(0.3)
    start = time.monotonic()
    stack.kill_daemon(signal.SIGTERM)
    assert time.monotonic() - start < 3
    for connection in waiting:
        connection.close()
    stack.start_daemon()
    with client.plain(box) as connection:
        assert connection.get().status == 200
    assert open(box.ca, encoding="ascii").read() == ca, "nothing of the sandbox was forgotten"
