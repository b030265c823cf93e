# SPDX-License-Identifier: Apache-2.0
"""sallyport-maps(7): every command of the page works as written, and what it shows agrees with the audit."""
import json
import os
import re
import shlex
import socket
import subprocess

import pytest

import client
import documents
import maps
from origin import zone
from sandbox import Sandbox
from stack import ROOT
from topology import EDGE4, EDGE6
from waiting import until

PAGE = os.path.join(ROOT, "userspace", "man", "sallyport-maps.7")

with open(PAGE, encoding="utf-8") as page:
    TEXT = page.read()
EXPLAINED = set(re.findall(r"\w+", " ".join(re.findall(r"Va ([\w ,]+)", TEXT))))
COMMANDS = list(dict.fromkeys(re.findall(r"^\.Dl (.*)$", TEXT, re.M)))


@pytest.fixture(scope="module")
def busy(stack, world):
    """A sandbox in which a bit of everything has happened."""
    box = Sandbox(stack, documents.POLICY, prefix="swap")
    box.attach()
    box.python("result = 0")
    token = box.placeholder("API_TOKEN")
    for _ in range(4):
        with client.https(box) as connection:
            assert connection.get(extra=f"Authorization: Bearer {token}\r\n").status == 200
    box.python("""
import socket
for address, port in [("10.0.0.1", 80)] * 3 + [("169.254.169.254", 80), ("203.0.113.10", 853)]:
    s = socket.socket()
    try: s.connect((address, port))
    except OSError: pass
    s.close()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: s.sendto(b"x", ("203.0.113.10", 443))
except OSError: pass
for kind in ((socket.AF_INET, socket.SOCK_DGRAM, 136), (socket.AF_INET, socket.SOCK_STREAM, 262)):
    try: socket.socket(*kind)
    except OSError: pass
""")
    box.open = [client.plain(box), client.plain(box, address="203.0.113.40")]
    for connection in box.open:
        assert connection.get().status in (200, 403)
    try:
        yield box
    finally:
        for connection in box.open:
            connection.close()
        box.close()


# bpftool 7.1 has no name for the hooks of unix sockets
HOOKS = ("policy_connect4", "policy_connect6", "policy_sendmsg4", "policy_sendmsg6", "create_socket", "flows_sockops",
         "egress_packet")


def run(command, stack, box, cgroup=None):
    words = {"STATE": stack.state, "ID": box.id.replace(".", ":"), "CGROUP": cgroup or box.cgroup}
    line = re.sub(r"\b(STATE|ID|CGROUP)\b", lambda word: words[word.group()], command)
    return subprocess.run(shlex.split(line), capture_output=True, text=True, check=False)


def dump(name, stack, box):
    """The page's command for that map, asked for JSON."""
    (command,) = {c for c in COMMANDS if c.endswith(f"/bpf/{name}")}
    done = run(command.replace("bpftool", "bpftool -j", 1), stack, box)
    assert done.returncode == 0, done.stderr
    return [entry["formatted"] for entry in json.loads(done.stdout)]


def test_the_page_has_commands():
    assert len(COMMANDS) >= 14


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_as_it_is_written(command, stack, busy):
    done = run(command, stack, busy)
    assert done.returncode == 0 and done.stdout.strip(), f"{command}: {done.stderr}"


def test_every_pin_for_people_has_a_command(stack, busy):
    """But for the pins of the kernel's own and the links, which the page names by an example."""
    names = {"STATE": stack.state, "ID": busy.id}
    named = {re.sub(r"\b(STATE|ID)\b", lambda word: names[word.group()], c.split()[-1]) for c in COMMANDS}
    pins = {os.path.join(stack.state, pin) for pin in stack.pins()}
    left = {pin for pin in pins - named if not re.search(r"\.debug$|/links/|/flows/", pin)}
    assert not left


def test_every_counter_is_explained(stack, busy):
    counters = maps.verdicts(stack, busy)
    assert not set(counters) - EXPLAINED


def test_every_reason_of_a_refusal_is_in_the_manual():
    with open(os.path.join(ROOT, "userspace", "proxy", "refusal.c"), encoding="utf-8") as source:
        words = re.findall(r'\[CAPTURE_\w+\] = \{CATEGORY_\w+, "([^"]+)"\}', source.read())
    with open(os.path.join(ROOT, "userspace", "man", "sallyportd.8"), encoding="utf-8") as page_:
        quoted = re.findall(r"Ql ([^,\n]*[^,\n ])", page_.read())
    assert len(words) >= 19 and not set(words) - set(quoted)


def test_fields_of_the_values_are_explained(stack, busy):
    (sandbox,) = [e["value"] for e in dump("sandboxes", stack, busy) if maps.text(e["value"]["id"]) == busy.id]
    assert not {"id", "policy", "mode", "active", "own4", "own6", "locals"} - set(sandbox)
    refusal = dump("refusals", stack, busy)[0]
    seen = set(refusal["key"]) | set(refusal["value"]) | set(dump("flows/ID", stack, busy)[0]["key"])
    seen |= set(dump("uses", stack, busy)[0]["key"]) | set(dump("executables", stack, busy)[0]["key"])
    assert not seen - EXPLAINED - {"pad", "prefixlen"}


def test_sandboxes_agree_with_the_control_socket(stack, busy):
    (entry,) = [e for e in dump("sandboxes", stack, busy) if maps.text(e["value"]["id"]) == busy.id]
    assert maps.text(entry["value"]["policy"]) == stack.get(f"/v1/sandboxes/{busy.id}")["digest"]
    assert (entry["value"]["mode"], entry["value"]["active"]) == (0, 1)
    (about,) = dump("about", stack, busy)
    assert about["value"]["abi"] == int(re.search(r"version of all that follows: (\d+)", TEXT)[1])


def test_counters_agree_with_the_audit(stack, busy):
    counters = maps.verdicts(stack, busy)
    lines = until(lambda: len(e := stack.audit(kind="refusal", sandbox=busy.id)) + untold(stack, busy)
                  == maps.refused(counters) and e, "every refusal to be told")
    by_reason = {}
    for line in lines:
        by_reason[line["reason"]] = by_reason.get(line["reason"], 0) + line["count"]
    words = {"private range": "private", "cloud metadata": "metadata", "UDP other than DNS": "udp",
             "DNS over TLS": "dns_over_tls", "socket type or protocol": "protocol"}
    for reason, counter in words.items():
        assert by_reason[reason] == counters[counter] > 0, (reason, by_reason, counters)
    for connection in busy.open:
        connection.close()
    closed = until(lambda: len(e := stack.audit(kind="connection", sandbox=busy.id)) == counters["passed"] and e,
                   "a line for each connection that passed")
    assert len(closed) == 6


def untold(stack, box):
    lines = stack.audit(kind="losses", sandbox=box.id)
    return lines[-1]["suppressed"] + lines[-1]["lost"] if lines else 0


def test_refusals_agree_with_the_audit(stack, busy):
    cookie = maps.cookie(stack, busy)
    entries = [e for e in dump("refusals", stack, busy) if e["key"]["netns"] == cookie]
    (entry,) = [e for e in entries if e["key"]["dport"] == 80 and maps.address(e["key"]["dst"])[12:] == bytes([10, 0, 0, 1])]
    lines = stack.wait_audit(kind="refusal", sandbox=busy.id, asked="10.0.0.1:80")
    assert entry["value"]["count"] == len(lines) == 3
    asked, value = lines[-1]["client"], entry["value"]["client"]
    assert (value["tgid"], value["pid"], value["start_ns"], value["uid"], value["cgroup"], value["exe_ino"]) == (
        asked["pid"], asked["tid"], asked["start_ns"], asked["uid"], asked["cgroup"], asked["exe"]["ino"])
    names = list(maps.verdicts(stack, busy))
    assert names[entry["value"]["reason"]] == "private"


def test_flows_are_the_open_connections(stack, busy):
    busy.open = [client.plain(busy), client.plain(busy, address="203.0.113.40")]
    for connection in busy.open:
        connection.get()
    entries = dump("flows/ID", stack, busy)
    found = {(maps.address(e["key"]["dst"])[12:], e["key"]["dport"], e["value"]["tgid"]) for e in entries}
    assert found == {(socket.inet_aton(address), 80, busy.agent_pid) for address in ("203.0.113.10", "203.0.113.40")}


def test_uses_agree_with_the_audit(stack, busy):
    cookie = maps.cookie(stack, busy)
    found = {(maps.text(e["key"]["credential"]), maps.text(e["key"]["host"])): e["value"]["count"]
             for e in dump("uses", stack, busy) if e["key"]["netns"] == cookie}
    told = {}
    for event in stack.audit(kind="request", sandbox=busy.id):
        for use in event["uses"]:
            key = use["credential"], event["host"]
            told[key] = told.get(key, 0) + use["count"]
    assert found == told == {("API_TOKEN", "api.test"): 4}


def test_paths_agree_with_the_audit(stack, busy):
    line = stack.wait_audit(kind="refusal", sandbox=busy.id, asked="10.0.0.1:80")[0]
    files = {e["key"]["ino"]: maps.text(e["value"]["text"]) for e in dump("executables", stack, busy)}
    assert files[line["client"]["exe"]["ino"]] == line["client"]["exe"]["path"]
    cgroups = {e["key"]: maps.text(e["value"]["text"]) for e in dump("cgroups", stack, busy)}
    assert cgroups[line["client"]["cgroup"]] == line["client"]["cgroup_path"]


def test_programs_are_on_the_cgroup_that_the_entry_says(stack, busy):
    (entry,) = [e["value"] for e in dump("sandboxes", stack, busy) if maps.text(e["value"]["id"]) == busy.id]
    assert entry["cgroup"] == os.stat(busy.cgroup).st_ino
    shown = run("bpftool cgroup show CGROUP", stack, busy).stdout
    for hook in HOOKS:
        assert hook in shown
    steer = run("bpftool link show pinned STATE/bpf/links/ID", stack, busy).stdout
    assert f"netns_ino {os.stat(busy.netns.path).st_ino} " in steer
    dialler = run("bpftool link show pinned STATE/bpf/links/_dialler/dialler_connect4", stack, busy).stdout
    assert f"cgroup_id {os.stat(stack.cgroups['daemon']).st_ino} " in dialler


def test_the_daemons_exceptions_are_its_resolvers(stack, busy):
    found = {(maps.address(e["key"]["ip"])[12:], e["key"]["port"]) for e in dump("dial_exceptions", stack, busy)}
    assert (socket.inet_aton(zone.NAMESERVER4), 53) in found


def test_hosts_are_the_edges_addresses(stack, busy):
    found = {maps.address(e["key"]["ip"]) for e in dump("hosts", stack, busy)}
    assert {bytes(10) + b"\xff\xff" + socket.inet_aton(EDGE4), socket.inet_pton(socket.AF_INET6, EDGE6)} <= found
