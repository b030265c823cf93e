# SPDX-License-Identifier: Apache-2.0
"""The hunt: a real value is nowhere that the sandbox, a log or a map shows. Each place has a planted control."""
import base64
import os
import subprocess
import urllib.parse

import pytest

import client
from documents import SECRETS
from sandbox import PYTHON, Refused
from test_demonstrations import MAPPED
from waiting import until

PLANTED = "planted-5b1d0c9e"  # 16 characters; a process name takes 15 of them


def forms(value):
    """A value as it may lie around."""
    raw = value.encode()
    found = {raw, raw.hex().encode(), urllib.parse.quote(value).encode(), value.encode("utf-16-le")}
    found |= {base64.b64encode(b"x" * pad + raw)[4:-4] for pad in range(3)}
    return {form for form in found if len(form) > 8}


def search(data, values):
    return [value for value in values if any(form in data for form in forms(value))]


def files_under(folder):
    for parent, folders, names in os.walk(folder):
        if os.path.basename(parent) == "bpf":
            folders.clear()
            continue  # pins, not files: test_maps reads them
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    yield path, file.read()


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


SHADOW = 1 << 40  # bytes: only a sanitizer's shadow is that large; it holds no data of the program


def memory_of(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        ranges = [line.split()[:2] for line in maps if "[v" not in line]
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for span, rights in ranges:
            start, end = (int(part, 16) for part in span.split("-"))
            if rights.startswith("r") and end - start < SHADOW:
                memory.seek(start)
                try:
                    yield memory.read(end - start)
                except OSError:
                    continue


def map_bytes(stack, name):
    return b"".join(
        bytes(int(byte, 16) for byte in part)
        for entry in stack.maps(name)
        for part in (entry["key"], entry["value"] if "value" in entry else [])
    )


@pytest.fixture(scope="module")
def used(sandbox):
    """The sandbox after it has used every credential, by several clients, with a program still running."""
    for name, host in (("API_TOKEN", "api.test"), ("BANK_TOKEN", "bank.test")):
        token = sandbox.placeholder(name)
        field = f"Authorization: Bearer {token}"
        sandbox.curl("-o", f"{sandbox.home}/reply-{host}", "-D", f"{sandbox.home}/head-{host}", "-H", field,
                     f"https://{host}/hunted", check=True)
        with client.https(sandbox, host) as connection:
            assert connection.get("/hunted", host=host, extra=field + "\r\n").status == 200
    token = sandbox.placeholder("API_TOKEN")
    sandbox.curl("-6", "-H", f"Authorization: Bearer {token}", "https://v6only.test/hunted", check=True)
    sandbox.run([PYTHON, "-c", MAPPED, "api.test", "::ffff:203.0.113.10", token], check=True)
    token = sandbox.placeholder("GIT_TOKEN")
    sandbox.run(["git", "ls-remote", f"https://oauth2:{token}@git.test/r.git"], check=True)
    sandbox.python(
        f"""
import os, ssl, urllib.request
os.environ["HELD"] = {sandbox.handed()["API_TOKEN"]!r}
context = ssl.create_default_context(cafile={sandbox.trusted!r})
request = urllib.request.Request("https://api.test/hunted", headers={{"Authorization": "Bearer " + os.environ["HELD"]}})
kept = urllib.request.urlopen(request, context=context).read()
"""
    )
    return sandbox


def test_the_origin_did_get_them(used, origin):
    """Else there is nothing to hunt for."""
    received = origin.received()
    for value in SECRETS:
        assert search(received, [value]), value


def test_files_that_the_sandbox_can_read(used, stack):
    hits = [(path, search(data, SECRETS)) for path, data in files_under(used.home)]
    hits += [(path, search(data, SECRETS)) for path, data in files_under(used.handout)]
    assert hits and not [hit for hit in hits if hit[1]]
    used.run(["sh", "-c", f"echo {PLANTED} > $HOME/planted"], check=True)
    # and all that a program inside can read where this run keeps its files, with its own eyes
    for values, found in ((SECRETS, False), ([PLANTED], True)):
        patterns = [part for value in values for part in ("-e", value)]
        done = used.run(["grep", "-rlsF", *patterns, used.stack.world.run])
        assert bool(done.stdout) == found, done.stdout


def test_environment_and_memory_of_its_processes(used):
    environment = {"PLANTED": PLANTED}
    sleeper = used.popen(["sleep", "60"], env=environment, stdin=subprocess.DEVNULL)
    try:
        used.python(f"planted = {PLANTED!r} * 3")
        until(lambda: any(comm(pid) == "sleep" for pid in used.processes()), "the sleeper")
        seen = {"environment": [], "memory": []}
        for pid in used.processes():
            with open(f"/proc/{pid}/environ", "rb") as file:
                seen["environment"] += search(file.read(), (*SECRETS, PLANTED))
            for piece in memory_of(pid):
                seen["memory"] += search(piece, (*SECRETS, PLANTED))
        assert set(seen["environment"]) == {PLANTED}, "the control and nothing else"
        assert set(seen["memory"]) == {PLANTED}, "the control and nothing else"
    finally:
        sleeper.kill()
        sleeper.wait()


def test_audit_logs_records_and_status(used, stack):
    stack.wait_audit(0, kind="request", sandbox=used.id)
    for path, data in files_under(stack.state):
        assert not search(data, SECRETS), path
    for name in ("daemon", "helper"):
        assert not search(stack.log(name).encode(), SECRETS), f"log of the {name}"
    for path in ("/v1/status", "/v1/sandboxes", f"/v1/sandboxes/{used.id}"):
        assert not search(stack.request("GET", path)[1], SECRETS), path
    with client.https(used) as connection:
        connection.get(f"/{PLANTED}")
    stack.wait_audit(0, kind="request", path=f"/{PLANTED}")
    with open(stack.audit_file, "rb") as file:
        assert search(file.read(), [PLANTED]), "the control"


@pytest.mark.bpf
def test_maps(used, stack):
    for name in ("refusals", "sandboxes", "verdicts", f"flows/{used.id}"):
        assert not search(map_bytes(stack, name), SECRETS), name
    used.python(f"open('/proc/self/comm', 'w').write({PLANTED!r})")
    with pytest.raises(Refused):
        used.connect("169.254.169.254", 8097)
    assert PLANTED[:15].encode() in map_bytes(stack, "refusals"), "the control"


def test_command_lines_and_environments_of_ours(used, stack):
    for process in (stack.daemon, stack.helper):
        for what in ("cmdline", "environ"):
            with open(f"/proc/{process.pid}/{what}", "rb") as file:
                assert not search(file.read(), SECRETS)


def test_the_daemon_cannot_be_looked_into_by_its_own_uid(stack):
    """Not dumpable, no capability, no way to gain one."""
    with open(f"/proc/{stack.daemon.pid}/status", encoding="ascii") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    assert status["Uid"].split()[0] != "0"
    assert {status[key] for key in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    if stack.sanitized():  # dumpable and without filters, as the status says
        assert any("sanitizer" in d["reason"] for d in stack.get("/v1/status")["degraded"])
        return
    assert status["Seccomp"] == "2"
    assert os.stat(f"/proc/{stack.daemon.pid}/mem").st_uid == 0, "an undumpable process belongs to root"
    for thread in os.listdir(f"/proc/{stack.daemon.pid}/task"):
        with open(f"/proc/{stack.daemon.pid}/task/{thread}/status", encoding="ascii") as file:
            text = file.read()
        assert "Seccomp:\t2" in text, f"thread {thread} has no filter"
