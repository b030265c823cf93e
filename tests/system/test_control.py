# SPDX-License-Identifier: Apache-2.0
"""The control socket, the command line over it, and who may speak to the helper."""
import json
import os
import re
import shutil
import socket
import stat
import struct
import subprocess

import pytest

import client
import documents

from documents import POLICY
from sandbox import PYTHON, Sandbox
from stack import ROOT, daemon_group
from waiting import until


def test_status(stack):
    status = stack.get("/v1/status")
    assert status["version"] and status["workers"] == 2
    assert status["sandboxes"] >= 0
    assert isinstance(status["degraded"], list)


def test_sandboxes_show_policy_and_credentials_without_values(sandbox, stack):
    listed = stack.get("/v1/sandboxes")
    ids = [s["id"] for s in (listed["sandboxes"] if isinstance(listed, dict) else listed)]
    assert sandbox.id in ids
    one = json.dumps(stack.get(f"/v1/sandboxes/{sandbox.id}"))
    assert "API_TOKEN" in one and "tests" in one
    assert sandbox.placeholder("API_TOKEN") not in one


@pytest.mark.parametrize(
    "method,path,status",
    [("GET", "/v1/sandboxes/nobody", 404), ("GET", "/v1/nothing", 404), ("POST", "/v1/status", 405),
     ("DELETE", "/v1/sandboxes", 405), ("GET", "/v1/sandboxes/../status", 404)],
)
def test_what_is_not_there_is_said_to_be_so(stack, method, path, status):
    assert stack.request(method, path)[0] == status


@pytest.mark.parametrize(
    "data", [b"nonsense\r\n\r\n", b"GET /v1/status HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n", b"\0" * 100 + b"\r\n\r\n",
             b"GET /v1/status HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ids=["nonsense", "oversized", "NULs", "both lengths"],
)
def test_a_bad_request_to_the_control_socket_harms_nobody(stack, data):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(os.path.join(stack.state, "control.sock"))
        try:
            sock.sendall(data)
            answer = sock.recv(4096)
        except ConnectionError:
            answer = b""
    assert answer == b"" or answer.split()[1].startswith(b"4")
    assert stack.get("/v1/status")


def test_modes_of_the_sockets_and_folders(stack):
    def mode(name):
        return stat.S_IMODE(os.stat(os.path.join(stack.state, name)).st_mode)

    assert mode("") & 0o007 == 0
    assert mode("control.sock") == 0o660
    assert mode("helper.sock") & 0o077 == 0
    assert mode("sandboxes") == 0o700


def test_curl_works_on_the_control_socket(stack):
    path = os.path.join(stack.state, "control.sock")
    done = subprocess.run(
        ["curl", "-sS", "--unix-socket", path, "http://localhost/v1/status"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["version"]


def test_sallyportctl_without_a_daemon(stack):
    gone = subprocess.run(
        [stack.tool("sallyportctl"), "--state", "/nonexistent", "status"], capture_output=True, text=True, check=False
    )
    assert gone.returncode == 1 and "/nonexistent" in gone.stderr and "sallyport up" in gone.stderr


def test_ctl_status_is_for_a_person(stack):
    done = stack.ctl("status")
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line[0] != " " and " " in line)
    assert lines["workers"] == "2"
    assert re.fullmatch(r"(\d+ (d|h|min|s) ?){1,2}", lines["uptime"]), lines["uptime"]
    starts = {re.match(r"\S+ +", line).end() for line in done.stdout.splitlines() if re.match(r"\S+ +\S", line)}
    assert len(starts) == 1, "the values stand below each other"
    assert not set('{}[]"') & set(done.stdout)
    assert json.loads(stack.ctl("--json", "status").stdout)["workers"] == 2


def test_ctl_sandboxes_are_a_table(sandbox, attach, stack):
    other = attach(prefix="other")
    done = stack.ctl("sandboxes")
    head, *rows = done.stdout.splitlines()
    assert done.returncode == 0 and head.split()[0] == "id" and not set('{}[]"') & set(done.stdout), done.stdout
    rows = {row.split()[0]: row for row in rows}
    assert "API_TOKEN (available)" in rows[sandbox.id]
    assert rows[other.id].endswith("none")
    for column in ("policy", "digest", "open", "denied", "credentials"):
        place = head.index(column)
        assert all(row[place - 1] == " " and row[place] != " " for row in rows.values()), done.stdout


def test_ctl_one_sandbox(sandbox, stack):
    done = stack.ctl("sandboxes", sandbox.id)
    assert done.returncode == 0 and sandbox.id in done.stdout and "API_TOKEN (available)" in done.stdout
    assert sandbox.placeholder("API_TOKEN") not in done.stdout and not set('{}[]"') & set(done.stdout)


def test_ctl_says_why_a_credential_is_unavailable(world, another_stack, attach):
    source = documents.write_secret(world, "fleeting.secret", "real-fleeting-0123456789")
    document = documents.readable_by_daemon(world.write("fleeting.credentials.yaml", CREDENTIALS.format(source), 0o600))
    stack = another_stack("fleeting", credentials=[("*", document)])
    box = attach(on=stack)
    os.unlink(source)
    until(lambda: "T (unavailable: the source file does not exist)" in stack.ctl("sandboxes", box.id).stdout, "the cause")


def test_ctl_unknown_sandbox(stack):
    done = stack.ctl("sandboxes", "nobox")
    assert done.returncode == 1 and "there is no sandbox nobox" in done.stderr


@pytest.mark.parametrize(
    "words,said",
    [(["statsu"], "`statsu`; did you mean `status`?"), (["nonsense"], "unknown command `nonsense`"),
     (["policy", "chek", "x"], "`chek`; did you mean `check`?"), (["credentials", "list"], "unknown credentials command `list`"),
     (["--jsno", "status"], "`--jsno`; did you mean `--json`?"), (["credential", "list"], "`credential` is not available")],
)
def test_ctl_unknown_words(stack, words, said):
    done = stack.ctl(*words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


@pytest.mark.parametrize(
    "text,arguments,status,said",
    [(POLICY, [], 0, ""), (POLICY, ["--host", "denied.test"], 3, ""), ("version: 2\n", [], 1, "`version` must be 1"),
     (None, [], 1, "No such file"), (POLICY, ["--host", "a b"], 2, "not a host"),
     ("version: 1\nrules:\n- {name: a, hosts: [10.0.0.5], action: allow}\n", [], 0, ":3:21: rule `a` allows 10.0.0.5 in vain"),
     ("credentials: []\n", [], 1, "sallyportctl credentials check")],
    ids=["good", "denied", "bad", "absent", "no host", "in vain", "credentials"],
)
def test_ctl_policy_check(world, stack, request, text, arguments, status, said):
    path = os.path.join(world.run, f"check-{request.node.callspec.id.replace(' ', '-')}.yaml")
    if text is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    done = stack.ctl("policy", "check", path, *arguments)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    if status == 0:
        assert done.stdout == f"{path} is good\n"


CREDENTIALS = """\
credentials:
  - name: T
    source: {{file: {}}}
    env: T
    swap: [{{hosts: [api.test], in: [bearer]}}]
"""


def test_ctl_credentials_check(world, stack):
    secret = "real-checked-0123456789"
    source = documents.write_secret(world, "checked.secret", secret)
    document = documents.readable_by_daemon(world.write("checked.credentials.yaml", CREDENTIALS.format(source), 0o600))
    policy = world.write("checked.policy.yaml", POLICY)
    narrow = world.write("narrow.policy.yaml", "version: 1\nname: narrow\n")

    def check(*more):
        done = stack.ctl("credentials", "check", document, *more)
        assert secret not in done.stdout + done.stderr
        return done

    for more in ([], ["--policy", policy]):
        good = check(*more)
        assert (good.returncode, good.stdout, good.stderr) == (0, f"{document} is good\n", "")
    shut = check("--policy", narrow)
    assert shut.returncode == 1 and f"{document}:5:12: credential `T` is bound to api.test" in shut.stderr and not shut.stdout

    os.chown(source, 1, 1)
    theirs = check()
    assert theirs.returncode == 1 and f"chown root:sallyport {source}" in theirs.stderr and "daemon:daemon" in theirs.stderr
    os.unlink(source)
    assert check().returncode == 1
    wrong = stack.ctl("credentials", "check", policy)
    assert wrong.returncode == 1 and "sallyportctl policy check" in wrong.stderr

    plain = CREDENTIALS.format(documents.write_secret(world, "checked.secret", secret)) + "    plain_http: true\n"
    documents.readable_by_daemon(world.write("checked.credentials.yaml", plain, 0o600))
    warned = check()
    assert warned.returncode == 0 and "warning: " in warned.stderr and "without TLS" in warned.stderr

    program = shutil.copy(stack.tool("sallyportctl"), world.run)  # where nobody may go, wherever the build is
    anybody = subprocess.run([program, "credentials", "check", document], user=65534, group=65534, extra_groups=[],
                             capture_output=True, text=True, check=False, cwd="/")
    assert anybody.returncode == 1 and "sudo" in anybody.stderr


def test_the_example_configuration_works_as_it_is(stack):
    config = os.path.join(ROOT, "scripts", "examples", "daemon.yaml")
    done = subprocess.run([stack.tool("sallyportd"), "--check-config", config], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "the configuration is good\nstate /run/sallyport\ndrain 30\n"), done.stderr


def test_the_example_configuration_is_accepted_with_its_credentials(world, stack):
    """With its files where the test can put them."""
    examples = os.path.join(ROOT, "scripts", "examples")
    texts = {}
    for name in ("daemon.yaml", "credentials.yaml"):
        with open(os.path.join(examples, name), encoding="utf-8") as file:
            texts[name] = file.read().replace("/etc/sallyport/secrets/", f"{world.run}/example-")
    for name in ("api-token", "git-token"):
        documents.write_secret(world, f"example-{name}", "an-example-of-a-value")
    document = documents.readable_by_daemon(world.write("example-credentials.yaml", texts["credentials.yaml"], 0o600))
    config = world.write(
        "example-daemon.yaml", texts["daemon.yaml"].replace("/etc/sallyport/credentials.yaml", document)
        .replace("#credentials:", "credentials:").replace("#  - {sandboxes", "  - {sandboxes"))
    with open(config, encoding="utf-8") as file:
        assert f"\n  - {{sandboxes: [\"agent-*\"], file: {document}}}" in file.read()
    done = subprocess.run([stack.tool("sallyportd"), "--check-config", config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    agent = stack.ctl("credentials", "check", document, "--policy", os.path.join(examples, "agent.yaml"))
    assert (agent.returncode, agent.stderr) == (0, "")


PEER = """
import socket, sys
s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[1])); s.settimeout(5)
try:
    s.connect(sys.argv[2]); s.send(b"GET /v1/status HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"); print(s.recv(1000))
except OSError as error:
    print("refused", error.errno)
"""


def test_a_process_of_the_sandbox_is_refused_before_a_byte_is_read(sandbox, stack):
    """Root in the sandbox's cgroup, by a path that a careless mount would give it."""
    for name, kind in (("control.sock", "SOCK_STREAM"), ("helper.sock", "SOCK_SEQPACKET")):
        path = os.path.join(stack.state, name)
        said = sandbox.joined([PYTHON, "-c", PEER, kind, path], check=True).stdout
        assert "version" not in said and "200" not in said, said
    outside = subprocess.run([PYTHON, "-c", PEER, "SOCK_STREAM", os.path.join(stack.state, "control.sock")], capture_output=True, text=True, check=True)
    assert "200" in outside.stdout, "the control"


@pytest.mark.parametrize("size", [0, 1, 7, 8, 71, 72, 73, 500, 2108, 2200, 60000])
def test_a_request_of_wrong_size_is_logged_and_dropped(stack, size):
    before = len(stack.log("helper"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(5)
        sock.connect(os.path.join(stack.state, "helper.sock"))
        try:
            sock.send(struct.pack("II", 999, 1).ljust(size, b"\0")[:size])
            answer = sock.recv(4096)
        except ConnectionError:
            answer = b""
    assert answer == b"" or struct.unpack_from("i", answer, 8)[0] < 0
    assert stack.netns("list").returncode == 0, "and the helper lives"
    if size:
        assert len(stack.log("helper")) > before


def test_list_and_enter(sandbox, stack):
    assert sandbox.id in stack.netns("list").stdout
    assert sandbox.run(["sh", "-c", "exit 7"]).returncode == 7
    inside = sandbox.run(["sh", "-c", "cat /proc/self/cgroup; ip -o link; ip -o addr"], check=True).stdout
    assert os.path.basename(sandbox.cgroup) in inside
    assert "192.0.2.1" in inside and "uplink" not in inside
    nobody = stack.netns("enter", "--id", "nobody", "--", "true")
    assert nobody.returncode != 0 and "--id nobody: no such sandbox is attached: see sallyport-netns list" in nobody.stderr


def test_what_enter_takes_away(sandbox):
    script = """
import ctypes, errno, json, socket
found = {}
for name, family, kind in (("vsock", 40, 1), ("packet", 17, 3), ("netlink audit", 16, 3), ("alg", 38, 5), ("xdp", 44, 3),
                           ("raw", 2, 3), ("inet", 2, 1), ("inet6", 10, 1), ("unix", 1, 1)):
    try:
        socket.socket(family, kind, 9 if name == "netlink audit" else 0).close(); found[name] = 0
    except OSError as error:
        found[name] = error.errno
libc = ctypes.CDLL(None, use_errno=True)
found["bpf"] = 0 if libc.syscall(321, 0, 0, 0) >= 0 else ctypes.get_errno()
found["pidfd_getfd"] = 0 if libc.syscall(438, -1, 0, 0) >= 0 else ctypes.get_errno()
for line in open("/proc/self/status"):
    if line.startswith(("CapEff", "CapBnd", "NoNewPrivs", "Seccomp:")):
        key, value = line.split(); found[key.rstrip(":")] = value
print(json.dumps(found))
"""
    found = json.loads(sandbox.run([PYTHON, "-c", script], user="root", check=True).stdout)
    assert [found[name] for name in ("inet", "inet6", "unix")] == [0, 0, 0]
    for name in ("vsock", "packet", "netlink audit", "alg", "xdp", "raw", "bpf"):
        assert found[name], f"{name} is open: {found}"
    assert found["pidfd_getfd"] in (1, 38, 13), found
    assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2"
    assert not int(found["CapBnd"], 16) & (1 << 12 | 1 << 13 | 1 << 21), "no NET_ADMIN, NET_RAW, SYS_ADMIN"


@pytest.mark.parametrize("what", ["own netns", "attached twice", "root cgroup", "not a netns", "a link besides lo", "bad id"])
def test_attach_refuses_what_is_not_a_sandbox(sandbox, stack, world, what):
    box = Sandbox(stack, POLICY)
    arguments = {"--id": box.id, "--netns": box.netns.path, "--cgroup": box.cgroup, "--policy": box.policy}
    if what == "own netns":
        arguments["--netns"] = f"/proc/{stack.helper.pid}/ns/net"
    elif what == "attached twice":
        arguments["--netns"] = sandbox.netns.path
    elif what == "root cgroup":
        arguments["--cgroup"] = os.path.dirname(world.cgroup)
    elif what == "not a netns":
        arguments["--netns"] = "/proc/self/ns/mnt"
    elif what == "a link besides lo":
        box.netns.ip(["link add extra type veth peer name extra2"])
    elif what == "bad id":
        arguments["--id"] = "../etc"
    try:
        done = stack.netns("attach", *(part for pair in arguments.items() for part in pair))
        assert done.returncode != 0 and done.stderr.strip(), done.stdout
        assert len(done.stderr.strip().splitlines()) <= 2, "what is wrong in one line"
        assert sandbox.curl("https://api.test/", check=True).returncode == 0
    finally:
        box.close()


def test_the_audit_is_rotated_where_the_daemon_may(another_stack, attach, world):
    """With the filters of the threads in force, and without losing a line."""
    folder = os.path.join(world.run, "rotating-audit")
    os.mkdir(folder)
    shutil.chown(folder, "sallyport", "sallyport")
    path = os.path.join(folder, "a.jsonl")
    stack = another_stack("rotating", extra=f"audit: {{file: {path}, size: 65536}}")
    box = attach(on=stack)
    with client.plain(box) as connection:
        for number in range(400):
            assert connection.get(f"/{number}").status == 200

    def lines():
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found += [json.loads(line) for line in file]
        return {e["path"] for e in found if e["kind"] == "request"}

    until(lambda: lines() >= {f"/{n}" for n in range(400)}, "400 requests on record")
    assert os.path.exists(path + ".1")
    assert stack.get("/v1/status")["audit"]["lost"] == 0


def test_a_sandbox_is_prepared_and_keeps_its_placeholders_when_it_is_attached(stack, attach):
    made = f"swap-prepared-{os.getpid()}"
    assert stack.request("PUT", f"/v1/prepared/{made}")[0] == 200
    with open(os.path.join(stack.state, "handout", made, "environment"), encoding="ascii") as file:
        prepared = file.read()
    assert "API_TOKEN=spx_" in prepared
    assert made not in [one["id"] for one in stack.get("/v1/sandboxes")["sandboxes"]]
    sandbox = attach(id=made)
    with open(os.path.join(sandbox.handout, "environment"), encoding="ascii") as file:
        assert file.read() == prepared
    assert stack.request("PUT", f"/v1/prepared/{made}")[0] == 409
    for odd in ("A", ".a", "a%2f", "a" * 64):
        assert stack.request("PUT", f"/v1/prepared/{odd}")[0] == 404


ASK_AS_GROUP = """
import http.client, json, socket, sys
def ask(method, path):
    c = http.client.HTTPConnection("localhost")
    c.sock = socket.socket(socket.AF_UNIX)
    c.sock.connect(sys.argv[1])
    c.request(method, path)
    reply = c.getresponse()
    return reply.status, reply.read().decode()
print(json.dumps([ask("GET", "/v1/status")[0], [ask("PUT", f"/v1/prepared/group-{i}") for i in range(300)]]))
"""


def test_only_root_prepares_a_sandbox(stack):
    """Who is of the socket's group may ask what there is. The table has 256 places, and is not for them to fill."""
    done = subprocess.run(
        ["setpriv", "--reuid=nobody", f"--regid={daemon_group()}", "--clear-groups", PYTHON, "-c", ASK_AS_GROUP,
         os.path.join(stack.state, "control.sock")], capture_output=True, text=True, check=True)
    status, answers = json.loads(done.stdout)
    assert status == 200, "the control: it may connect"
    assert {tuple(answer) for answer in answers} == {(403, '{"error":"only root may do this"}')}
    assert not [name for name in os.listdir(os.path.join(stack.state, "handout")) if name.startswith("group-")]
    assert stack.request("PUT", f"/v1/prepared/root-{os.getpid()}")[0] == 200, "the control: root may, and there is room"
