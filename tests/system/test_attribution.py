# SPDX-License-Identifier: Apache-2.0
"""Who connected: right also for threads, forks, io_uring, passed sockets, used-again ports, and who is gone at once.

The programs give themselves a name each (comm), by which the record is told from that of anybody else.
"""
import os
import re
import signal
import subprocess
import textwrap

import pytest

from sandbox import PYTHON
from waiting import PATIENCE, until

ORIGIN = "203.0.113.10"

PRELUDE = """
import ctypes, os, socket, struct, sys, threading
def called(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
def get(s, path):
    s.sendall(f"GET {path} HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n".encode())
    while s.recv(65536): pass
def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
def child(work, *words):
    if pid := os.fork():
        return pid
    work(*words)
    os._exit(0)
def wait(pid):
    assert os.waitpid(pid, 0)[1] == 0
"""


def run(box, code):
    done = box.run([PYTHON, "-E", "-S", "-c", PRELUDE + textwrap.dedent(code)])
    assert done.returncode == 0, done.stderr
    return done.stdout


def connections(stack, box, mark, count):
    def found():
        events = stack.audit(mark, kind="connection", sandbox=box.id)
        return events if len(events) >= count else None

    events = until(found, f"{count} connections")
    assert len(events) == count
    return events


def comms(events):
    return sorted(e["client"] if isinstance(e["client"], str) else e["client"]["comm"] for e in events)


@pytest.fixture
def box(attach):
    return attach()


# What a client does that does not wait for us: the daemon looks when it is gone.
HASTY = {
    "closes": "s.close()",
    "is reset": "reset(s)",
    "half closes": "s.shutdown(socket.SHUT_WR)",
    "sends nothing": "s.close()",
}


@pytest.mark.parametrize("end", HASTY)
def test_who_is_gone_before_we_look_is_known_all_the_same(box, stack, end):
    mark = stack.audit_mark()
    send = "" if end == "sends nothing" else 's.sendall(b"GET /hasty HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")'
    code = PRELUDE + textwrap.dedent(f"""
        print("ready", flush=True); sys.stdin.readline()
        def hasty(n, family, address):
            called(f"hasty-{{n}}")
            s = socket.socket(family); s.connect((address, 80))
            {send}
            {HASTY[end]}
        for n in range(4):
            wait(child(hasty, n, *((socket.AF_INET, "{ORIGIN}") if n % 2 else (socket.AF_INET6, "2001:db8::10"))))
    """)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with box.popen([PYTHON, "-E", "-S", "-c", code], text=True, **pipes) as program:
        assert program.stdout.readline() == "ready\n"
        stack.pause_daemon()  # not while the program starts: who hangs as long as that may take is given up
        try:
            _, errors = program.communicate("go\n", timeout=30 * PATIENCE)
        finally:
            os.kill(stack.daemon.pid, signal.SIGCONT)
    assert program.returncode == 0, errors
    events = connections(stack, box, mark, 4)
    assert comms(events) == [f"hasty-{n}" for n in range(4)], events
    assert {e["asked"] for e in events} == {f"{ORIGIN}:80", "[2001:db8::10]:80"}
    assert stack.maps(f"flows/{box.id}") == [], "nobody is left among the live ones"


def test_a_port_that_is_used_again_at_once_is_another_process_s(box, stack):
    """The same four numbers each time, closed by a reset so that they are free at once."""
    mark = stack.audit_mark()
    run(box, f"""
        def once(n):
            called(f"again-{{n}}")
            s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("192.0.2.1", 34567)); s.connect(("{ORIGIN}", 80))
            if n % 3:
                get(s, f"/{{n}}")
            reset(s)
        for n in range(30):
            wait(child(once, n))
    """)
    events = connections(stack, box, mark, 30)
    assert comms(events) == sorted(f"again-{n}" for n in range(30))
    requests = stack.audit(mark, kind="request", sandbox=box.id)
    assert len(requests) == 20
    for event in requests:
        assert event["client"]["comm"] == "again-" + event["path"][1:]


def test_a_thread_has_its_number_and_its_process_s(box, stack):
    mark = stack.audit_mark()
    run(box, f"""
        def work():
            called("the-thread")
            s = socket.create_connection(("{ORIGIN}", 80)); get(s, "/thread"); s.close()
        t = threading.Thread(target=work); t.start(); t.join()
    """)
    (event,) = connections(stack, box, mark, 1)
    assert event["client"]["comm"] == "the-thread"
    assert event["client"]["tid"] != event["client"]["pid"]


def test_after_a_fork_it_is_still_who_connected(box, stack):
    mark = stack.audit_mark()
    run(box, f"""
        called("the-parent")
        s = socket.create_connection(("{ORIGIN}", 80))
        def work():
            called("the-child"); get(s, "/forked")
        wait(child(work))
        s.close()
        def other():
            called("the-child")
            own = socket.create_connection(("{ORIGIN}", 80)); get(own, "/own"); own.close()
        wait(child(other))
    """)
    requests = until(lambda: len(e := stack.audit(mark, kind="request", sandbox=box.id)) == 2 and e, "two requests")
    assert {(e["path"], e["client"]["comm"]) for e in requests} == {("/forked", "the-parent"), ("/own", "the-child")}


def test_a_passed_socket_is_who_connected_it(box, stack):
    mark = stack.audit_mark()
    run(box, f"""
        here, there = socket.socketpair()
        def receiver():
            called("receiver")
            for path in ("/passed-connected", "/passed-fresh"):
                s = socket.socket(fileno=socket.recv_fds(there, 16, 1)[1][0])
                if path == "/passed-fresh":
                    s.connect(("{ORIGIN}", 80))
                get(s, path); s.close()
        pid = child(receiver)
        called("giver")
        s = socket.create_connection(("{ORIGIN}", 80)); socket.send_fds(here, [b"x"], [s.fileno()]); s.close()
        s = socket.socket(); socket.send_fds(here, [b"y"], [s.fileno()]); s.close()
        wait(pid)
    """)
    requests = until(lambda: len(e := stack.audit(mark, kind="request", sandbox=box.id)) == 2 and e, "two requests")
    assert {(e["path"], e["client"]["comm"]) for e in requests} == {
        ("/passed-connected", "giver"), ("/passed-fresh", "receiver")}


URING = """
#include <arpa/inet.h>
#include <liburing.h>
#include <string.h>
#include <unistd.h>

static int submit(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int r;

	if (io_uring_submit(ring) != 1 || io_uring_wait_cqe(ring, &cqe) < 0)
		return -1;
	r = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return r;
}

int main(int argc, char **argv)
{
	static const char request[] = "GET /uring HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n";
	unsigned flags = argc > 1 && !strcmp(argv[1], "async") ? IOSQE_ASYNC : 0;
	unsigned setup = argc > 1 && !strcmp(argv[1], "poller") ? IORING_SETUP_SQPOLL : 0;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	char answer[4096];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "203.0.113.10", &to.sin_addr);
	if (io_uring_queue_init(4, &ring, setup) < 0)
		return 2;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_connect(sqe, fd, (struct sockaddr *)&to, sizeof(to));
	sqe->flags |= flags;
	if (submit(&ring) < 0)
		return 3;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_send(sqe, fd, request, sizeof(request) - 1, 0);
	sqe->flags |= flags;
	if (submit(&ring) < 0)
		return 4;
	while (read(fd, answer, sizeof(answer)) > 0)
		;
	return 0;
}
"""


@pytest.fixture(scope="module")
def uring(world):
    source = world.write("uring-client.c", URING)
    program = os.path.join(world.run, "uring-client")
    subprocess.run(["gcc", "-O1", "-o", program, source, "-luring"], check=True)
    return program


@pytest.mark.parametrize("way", ["inline", "async", "poller"])
def test_io_uring_is_its_process(box, stack, uring, way):
    """async: by a worker thread of the ring; poller: by the kernel's polling thread."""
    mark = stack.audit_mark()
    done = box.joined([uring, way])
    assert done.returncode == 0, done.stderr
    (event,) = connections(stack, box, mark, 1)
    assert event["client"]["comm"] == "uring-client"
    assert event["client"]["exe"]["ino"] == os.stat(uring).st_ino
    assert event["client"]["exe"]["path"] == uring


def test_paths_of_the_executable_and_of_the_cgroup(box, stack):
    mark = stack.audit_mark()
    run(box, f"s = socket.create_connection(('{ORIGIN}', 80)); get(s, '/'); s.close()")
    run(box, "s = socket.socket()\ntry: s.connect(('10.0.0.1', 80))\nexcept PermissionError: pass\nelse: sys.exit(1)")
    (refused,) = until(lambda: stack.audit(mark, kind="refusal", sandbox=box.id, reason="private range"), "the refusal")
    (connection,) = connections(stack, box, mark, 1)
    (request,) = stack.audit(mark, kind="request", sandbox=box.id)
    for event in (refused, connection, request):
        assert re.fullmatch(r"/usr/bin/python3[.0-9]*", event["client"]["exe"]["path"]), event
        assert event["client"]["cgroup_path"] == "/" + os.path.relpath(box.cgroup, os.path.dirname(stack.world.cgroup))
