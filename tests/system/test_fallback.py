# SPDX-License-Identifier: Apache-2.0
"""What clients do when the kernel says no: HTTP/3 is on TCP at once, nobody spins, fast open is captured, SDKs give up."""
import errno
import json
import os
import subprocess

import pytest

from sandbox import PYTHON
from test_refusals import OPENED
from topology import EDGE4, EDGE6

ORIGIN = {"v4": "203.0.113.10", "v6": "2001:db8::10"}

# An HTTP/3 client's first flight in each way that clients send it, then HTTPS over TCP as they do when that fails.
RACE = """
import ctypes, errno, json, select, socket, ssl, struct, sys, time
way, address, ca = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
flight = bytes([0xc0]) + b"\\0\\0\\0\\1" + bytes(1195)

def failed(s):
    \"\"\"What the socket says within a second: an errno.\"\"\"
    poller = select.poll()
    poller.register(s, select.POLLIN)
    if not poller.poll(1000):
        return errno.ETIMEDOUT
    try:
        s.recv(2000)
        return 0
    except OSError as error:
        return error.errno

def sendmmsg(s, to):
    class Iovec(ctypes.Structure):
        _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]
    class Header(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("namelen", ctypes.c_uint32), ("iov", ctypes.POINTER(Iovec)),
                    ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
                    ("flags", ctypes.c_int)]
    class Message(ctypes.Structure):
        _fields_ = [("header", Header), ("len", ctypes.c_uint)]
    iov = Iovec(flight, len(flight))
    if family == socket.AF_INET:
        name = struct.pack("=H", family) + struct.pack("!H", to[1]) + socket.inet_pton(family, to[0]) + bytes(8)
    else:
        name = struct.pack("=H", family) + struct.pack("!HI", to[1], 0) + socket.inet_pton(family, to[0]) + bytes(4)
    header = Header(name if way == "sendmmsg" else None, len(name) if way == "sendmmsg" else 0, ctypes.pointer(iov), 1)
    messages = (Message * 4)(*(Message(header) for _ in range(4)))
    libc, left = ctypes.CDLL(None, use_errno=True), 4
    while left:  # after a refusal in the middle it says how many went before, and the rest is tried again
        sent = libc.sendmmsg(s.fileno(), ctypes.byref(messages, (4 - left) * ctypes.sizeof(Message)), left, 0)
        if sent < 0:
            raise OSError(ctypes.get_errno(), "sendmmsg")
        left -= sent

def gso(s, to):
    s.sendmsg([flight * 4], [(17, 103, struct.pack("=H", len(flight)))], 0, to)

began = time.monotonic()
s = socket.socket(family, socket.SOCK_DGRAM)
s.setblocking(False)
to = (address, 443)
try:
    if way.startswith("connected"):
        s.connect(to)
    if way == "connected":
        s.send(flight)
    elif way == "connected sendmmsg":
        sendmmsg(s, to)
    elif way == "connected GSO":
        gso(s, None)
    elif way == "sendto":
        s.sendto(flight, to)
    elif way == "sendmmsg":
        sendmmsg(s, to)
    else:
        gso(s, to)
    said = failed(s)
except OSError as error:
    said = error.errno
refused = time.monotonic() - began
with socket.create_connection((address, 443)) as tcp:
    with ssl.create_default_context(cafile=ca).wrap_socket(tcp, server_hostname="api.test") as tls:
        tls.sendall(b"GET /race HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n")
        status = int(tls.recv(100).split()[1])
print(json.dumps([said, refused * 1000, (time.monotonic() - began) * 1000, status]))
"""
WAYS = ["connected", "sendto", "sendmmsg", "connected sendmmsg", "GSO", "connected GSO"]


@pytest.mark.parametrize("family", ORIGIN)
@pytest.mark.parametrize("way", WAYS)
def test_CAP_12_an_http3_client_is_on_tcp_within_300_ms(sandbox, stack, world, way, family):
    watch = world.watch()
    argv = [PYTHON, "-E", "-S", "-c", RACE, way, ORIGIN[family], sandbox.trusted]
    sandbox.run(argv)  # the daemon's leaf for the host is made once; a client meets it made or not
    done = sandbox.run(argv, check=True)
    said, refused, all_of_it, status = json.loads(done.stdout)
    assert said == errno.ECONNREFUSED, os.strerror(said)
    assert status == 200
    slow = 4 if stack.sanitized() else 1
    assert refused < 50 * slow and all_of_it < 300 * slow, (refused, all_of_it)
    assert not [p for p in watch.packets_to(*ORIGIN.values()) if p.protocol == 17], "no QUIC left"


SPIN = """
import errno, json, select, socket, sys, time
connected, address = sys.argv[1] == "connected", sys.argv[2]
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
s.setblocking(False)
if connected:
    s.connect((address, 443))
poller = select.poll()
poller.register(s, select.POLLIN)
errors, wakes = [], 0
cpu, wall = time.process_time(), time.monotonic()
for _ in range(100):
    try:
        s.sendmsg([b"x" * 1200], [], 0, *([] if connected else [(address, 443)]))
        errors.append(0)
    except OSError as error:
        errors.append(error.errno)
    if connected and errors[-1] == 0 and poller.poll(1000):
        wakes += 1
        try:
            s.recv(1)
        except OSError as error:
            errors.append(error.errno)
sending = time.process_time() - cpu
cpu = time.process_time()
quiet = not poller.poll(500)
print(json.dumps([errors, sending, time.process_time() - cpu, quiet, time.monotonic() - wall]))
"""


@pytest.mark.parametrize("address", ORIGIN.values(), ids=ORIGIN)
@pytest.mark.parametrize("way", ["connected", "unconnected"])
def test_CAP_18_a_hundred_sends_are_refused_and_then_it_is_quiet(sandbox, way, address):
    done = sandbox.run([PYTHON, "-E", "-S", "-c", SPIN, way, address], check=True)
    errors, sending, waiting, quiet, wall = json.loads(done.stdout)
    assert set(errors) <= {0, errno.ECONNREFUSED}, "never EPERM or EACCES, which clients take for a fault of their own"
    assert errors.count(errno.ECONNREFUSED) == 100, "each datagram is refused, and once"
    assert quiet, "nothing wakes who waits: no error that stays"
    assert sending < 1 and waiting < 0.05, (sending, waiting)
    assert wall < 5


FASTOPEN = """
import json, socket, sys
way, address, path = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
request = b"GET " + path.encode() + b" HTTP/1.1\\r\\nHost: " + (b"api.test" if not address.startswith("169") else address.encode()) + b"\\r\\nConnection: close\\r\\n\\r\\n"
s = socket.socket(family)  # blocks: else there would be EINPROGRESS as long as there is no cookie
answer = b""
try:
    if way == "sendto":
        sent = s.sendto(request, socket.MSG_FASTOPEN, (address, 80))
    elif way == "sendmsg":
        sent = s.sendmsg([request], [], socket.MSG_FASTOPEN, (address, 80))
    else:
        s.setsockopt(socket.IPPROTO_TCP, 30, 1)  # TCP_FASTOPEN_CONNECT
        s.connect((address, 80))
        sent = s.send(request)
    while part := s.recv(65536):
        answer += part
    error = 0 if sent == len(request) else -1
except OSError as failure:
    error = failure.errno
print(json.dumps([error, answer.decode("latin-1")]))
"""

URING = """
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* IORING_OP_SENDMSG with MSG_FASTOPEN: a connect that no connect() makes. Prints what became of it, then the answer. */
int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
	char request[256], answer[65536];
	struct iovec iov = {.iov_base = request};
	struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1};
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	ssize_t n;

	if (argc != 4 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 || io_uring_queue_init(4, &ring, 0) < 0)
		return 2;
	iov.iov_len = (size_t)snprintf(request, sizeof(request),
		"GET %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n", argv[3], argv[2]);
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_sendmsg(sqe, fd, &message, MSG_FASTOPEN);
	if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &cqe) < 0)
		return 3;
	/* the ring's sockets never block: without a cookie it is on its way, and the data comes later */
	n = cqe->res;
	if (n == -EINPROGRESS)
		n = poll(&writable, 1, 10000) == 1 ? write(fd, request, iov.iov_len) : -ETIMEDOUT;
	printf("%zd\\n", n == (ssize_t)iov.iov_len ? 0 : -n);
	while (n > 0 && (n = read(fd, answer, sizeof(answer))) > 0)
		(void)fwrite(answer, 1, (size_t)n, stdout);
	return 0;
}
"""


@pytest.fixture(scope="module")
def uring(world):
    source = world.write("uring-fastopen.c", URING)
    program = os.path.join(world.run, "uring-fastopen")
    subprocess.run(["gcc", "-O1", "-o", program, source, "-luring"], check=True)
    return program


def fastopen(box, uring, way, address, path="/fastopen"):
    """(errno, answer)"""
    if way == "io_uring":
        done = box.joined([uring, address, "api.test" if not address.startswith("169") else address, path])
        assert done.returncode == 0, done.stderr
        error, _, answer = done.stdout.partition("\n")
        return int(error), answer
    done = box.run([PYTHON, "-E", "-S", "-c", FASTOPEN, way, address, path], check=True)
    error, answer = json.loads(done.stdout)
    return error, answer


FAST = ["sendto", "sendmsg", "connect", "io_uring"]


@pytest.mark.parametrize("way", FAST)
def test_CAP_13_fast_open_is_captured(sandbox, stack, world, uring, way):
    watch, mark, path = world.watch(), stack.audit_mark(), f"/fastopen-{way}"
    error, answer = fastopen(sandbox, uring, way, "203.0.113.10", path)
    assert error == 0 and answer.startswith("HTTP/1.1 200 "), (error, answer)
    (event,) = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id)
    assert event["asked"] == "203.0.113.10:80" and event["host"] == "api.test" and event["client"] != "unattributed"
    peers = {c.peer[0] for c in world.origin.connections if any(r.path == path for r in c.requests)}
    assert peers and peers <= {EDGE4, EDGE6}, "nobody outside sees the sandbox's address"
    assert {p.source for p in watch.packets()} <= {EDGE4, EDGE6}


@pytest.mark.parametrize("way", FAST)
def test_CAP_13_fast_open_does_not_reach_metadata(sandbox, attach, world, uring, way):
    watch = world.watch()
    error, answer = fastopen(sandbox, uring, way, "169.254.169.254")
    assert (error, answer) == (errno.ECONNREFUSED, "")
    watch.nothing()
    opened = attach(OPENED)
    error, answer = fastopen(opened, uring, way, "169.254.169.254")
    assert error == 0 and "at 169.254.169.254" in answer, "the control: opened, the same way reaches the canary"
    assert watch.packets_to("169.254.169.254")


SPELLINGS = [
    "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "0xa9.0xfe.0xa9.0xfe",
    "169.16689662", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]", "[fd00:ec2::254]", "[fe80::a9fe:a9fe%25lo]", "169.254.170.2", "169.254.170.23", "100.100.100.200",
    "168.63.129.16", "192.0.0.192",
]


@pytest.mark.parametrize("host", SPELLINGS)
def test_POL_10_metadata_is_refused_at_once_by_every_spelling(sandbox, world, host):
    watch = world.watch()
    done = sandbox.run(["curl", "-sS", "-m", "5", "-w", "%{time_total}", f"http://{host}/latest/meta-data/"])
    assert done.returncode == 7, (done.returncode, done.stdout, done.stderr)  # couldn't connect
    assert float(done.stdout) < 2, "at once: curl would wait for 5"
    watch.nothing(host)


@pytest.mark.parametrize("name", ["metadata.test", "metadata.google.internal"])
def test_POL_10_a_name_for_metadata_is_refused_with_the_reason(sandbox, world, name):
    watch = world.watch()
    done = sandbox.run(["curl", "-sS", "-m", "5", "-w", "\n%{time_total}", f"http://{name}/latest/meta-data/"])
    body, _, seconds = done.stdout.rpartition("\n")
    assert done.returncode == 0 and json.loads(body)["error"]["category"] in ("metadata-address", "host-denied"), done
    assert float(seconds) < 2
    watch.nothing(name)


# As an SDK looks for credentials when it has none: a token by PUT, the role by GET, each tried again; then the next place.
SDK = """
import json, time, urllib.error, urllib.request
began, tried, found = time.monotonic(), 0, []
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
places = [
    ("PUT", "http://169.254.169.254/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}),
    ("GET", "http://169.254.169.254/latest/meta-data/iam/security-credentials/", {}),
    ("PUT", "http://[fd00:ec2::254]/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}),
    ("GET", "http://169.254.170.2/v2/credentials/", {}),
    ("GET", "http://169.254.169.254/computeMetadata/v1/", {"Metadata-Flavor": "Google"}),
    ("GET", "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01", {"Metadata": "true"}),
]
for method, url, headers in places:
    for _ in range(3):
        tried += 1
        try:
            with opener.open(urllib.request.Request(url, method=method, headers=headers), timeout=1) as answer:
                found.append(answer.read().decode())
                break
        except urllib.error.HTTPError as error:
            found.append(str(error.code))
            break
        except OSError as error:
            reason = getattr(error, "reason", error)
            if not isinstance(reason, ConnectionRefusedError):
                found.append(repr(reason))
print(json.dumps([time.monotonic() - began, tried, found]))
"""


def test_POL_10_an_sdk_gives_up_within_3_seconds(sandbox, attach, world, stack):
    watch, mark = world.watch(), stack.audit_mark()
    seconds, tried, found = json.loads(sandbox.run([PYTHON, "-E", "-c", SDK], check=True).stdout)
    assert (tried, found) == (18, []), "every one is refused, none is answered"
    assert seconds < 3, seconds
    watch.nothing()
    lines = stack.wait_audit(mark, kind="refusal", sandbox=sandbox.id, category="metadata-address")
    assert lines[0]["error"] == "ECONNREFUSED" and lines[0]["asked"] == "169.254.169.254:80"
    opened = attach(OPENED)
    _, _, found = json.loads(opened.run([PYTHON, "-E", "-c", SDK], check=True).stdout)
    assert any("at 169.254.169.254" in answer for answer in found), "the control: opened, it finds the service"
    assert watch.packets_to("169.254.169.254")
