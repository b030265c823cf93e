# SPDX-License-Identifier: Apache-2.0
"""One sandbox takes all that it can get: the others are served, and stay on record."""
import subprocess

import pytest

from sandbox import PYTHON
from waiting import until

SLOW = """
import socket, ssl, sys, time
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
held = []
for _ in range(700):
    s = context.wrap_socket(socket.create_connection(("203.0.113.10", 443)), server_hostname="api.test")
    s.sendall(b"GET /delay/15000 HTTP/1.1\\r\\nHost: api.test\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n" % sys.argv[1].encode())
    held.append(s)
print("held", flush=True)
time.sleep(60)
"""

QUESTIONS = """
import random, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(60):
        head = struct.pack(">HHHHHH", random.randrange(65536), 0x100, 1, 0, 0, 0)
        s.sendto(head + b"\\x06silent\\x04test\\x00" + struct.pack(">HH", 1, 1), ("192.0.2.1", 53))
    time.sleep(0.05)
"""


@pytest.fixture
def greedy(attach):
    """greedy(program, *arguments): runs it in sandboxes of its own, one for each worker."""
    started = []

    def run(program, credential=None):
        for _ in range(2):
            box = attach(prefix="swap")
            arguments = [box.placeholder(credential)] if credential else []
            started.append(box.popen([PYTHON, "-c", program, *arguments], stdout=subprocess.PIPE))
            if credential:
                assert started[-1].stdout.readline() == b"held\n"
                break

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_slow_requests_with_credentials_do_not_use_up_the_journal(sandbox, stack, greedy):
    greedy(SLOW, credential="API_TOKEN")
    mark = stack.audit_mark()
    token = sandbox.placeholder("API_TOKEN")
    for number in range(8):
        done = sandbox.curl("-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {token}",
                            f"https://api.test/fair/{number}")
        assert done.stdout == "200"
        sandbox.curl("-o", "/dev/null", f"https://api.test/fair/plain{number}", check=True)
    until(lambda: sum(e.get("path", "").startswith("/fair/") for e in stack.audit(mark)) == 16, "all to be on record")


def test_questions_without_end_leave_room_for_others(sandbox, greedy):
    greedy(QUESTIONS)
    until(lambda: sandbox.curl("--max-time", "8", "http://bank.test/").returncode == 0, "a first answer")
    for _ in range(8):
        done = sandbox.curl("--max-time", "8", "-o", "/dev/null", "-w", "%{http_code}", "http://bank.test/")
        assert done.stdout == "200", done.stderr
