# SPDX-License-Identifier: Apache-2.0
"""The audit is whole: what the kernel counted has its lines, or is counted in a line of its own; uses of credentials too."""
import errno
import os
import signal
import subprocess

import client
import documents
import maps
from waiting import until


def refusals(stack, sandbox, mark=0):
    return stack.audit(mark, kind="refusal", sandbox=sandbox.id)


def untold(stack, sandbox):
    """What has no line: suppressed and lost, as the latest line of losses has it."""
    lines = stack.audit(kind="losses", sandbox=sandbox.id)
    return lines[-1]["suppressed"] + lines[-1]["lost"] if lines else 0


def whole(stack, sandbox):
    """Lines and what has none are together what the kernel has refused."""
    return len(refusals(stack, sandbox)) + untold(stack, sandbox) == maps.refused(maps.verdicts(stack, sandbox))


def settled(attach, stack, **options):
    """A sandbox whose agent runs (its start is refused a thing or two, such as nscd), a mark, and its counters."""
    box = attach(on=stack, **options)
    box.python("result = 0")
    until(lambda: whole(stack, box), "the record of its start")
    return box, stack.audit_mark(), maps.verdicts(stack, box)


FLOOD = """
import socket
for number in range({count}):
    s = socket.socket(); s.setblocking(False)
    try: s.connect(("{address}", 1024 + number))
    except OSError: pass
    s.close()
"""


def test_below_the_budget_every_refusal_has_its_line(attach, stack):
    box, mark, before = settled(attach, stack)
    for count, address in ((40, "10.1.0.1"), (1, "169.254.169.254"), (2, "127.0.0.1"), (3, "100.64.0.1")):
        box.python(FLOOD.format(count=count, address=address))
    lines = until(lambda: len(found := refusals(stack, box, mark)) >= 44 and found, "44 lines")
    after = maps.verdicts(stack, box)
    assert (after["private"], after["metadata"], after["cgnat"]) == (40, 1, 3), after
    assert maps.refused(after) - maps.refused(before) == len(lines) == 44
    assert (after["suppressed"], after["lost"]) == (before["suppressed"], before["lost"])
    assert {(e["asked"], e["reason"], e["error"], e["rule"], *e["protocols"]) for e in lines[:40]} == {
        (f"10.1.0.1:{1024 + number}", "private range", "EACCES", "kernel", "tcp") for number in range(40)
    }
    assert (lines[40]["reason"], lines[40]["category"], lines[40]["error"]) == (
        "cloud metadata", "metadata-address", "ECONNREFUSED")
    assert {e["client"]["pid"] for e in lines} == {box.agent_pid}
    assert whole(stack, box)


def test_above_the_budget_lines_and_the_suppressed_are_the_counter(attach, stack):
    box, mark, before = settled(attach, stack)
    box.python(FLOOD.format(count=3000, address="10.1.0.1"))
    box.python(FLOOD.format(count=500, address="10.1.0.2"))
    until(lambda: whole(stack, box), "lines + suppressed + lost == what the counters say")
    after = maps.verdicts(stack, box)
    assert maps.refused(after) - maps.refused(before) == after["private"] == 3500
    assert untold(stack, box) == after["suppressed"] + after["lost"]
    assert after["suppressed"] > 1000, "the control: it was above the budget"
    assert len(stack.audit(mark, kind="losses", sandbox=box.id)) <= 10, "at most one a second"


def test_what_was_suppressed_at_the_last_is_told_at_the_detach(attach, another_stack):
    """The daemon learns of the flood and of the detach together."""
    stack = another_stack("leaves")
    box, mark, before = settled(attach, stack)
    stack.pause_daemon()
    try:
        box.python(FLOOD.format(count=3000, address="10.1.0.1"))
        after = maps.verdicts(stack, box)
        detach = subprocess.Popen(
            [stack.tool("sallyport-netns"), "--state", stack.state, "detach", "--id", box.id], stderr=subprocess.PIPE)
        until(lambda: box.id not in {maps.text(e["value"]["id"]) for e in maps.entries(stack, "sandboxes")}, "its programs to go")
        kept = [e for e in maps.entries(stack, "verdicts")]
    finally:
        os.kill(stack.daemon.pid, signal.SIGCONT)
    assert detach.wait(20) == 0, detach.stderr.read()
    detach.stderr.close()
    box.attached = False
    assert after["suppressed"] - before["suppressed"] > 1000 and after["private"] == 3000
    lines = [e for e in refusals(stack, box, mark) if e["reason"] == "private range"]
    told = until(lambda: stack.audit(mark, kind="losses", sandbox=box.id), "the line of losses")[-1]
    assert len(lines) + told["suppressed"] - before["suppressed"] + told["lost"] - before["lost"] == 3000
    left = len(maps.entries(stack, "verdicts"))
    assert left == len(kept) - 1, "and then the counters go"


def test_what_the_ring_has_no_room_for_is_counted_as_lost(attach, another_stack):
    """The reader stands still; each round is a second's budget."""
    stack = another_stack("full-ring")
    box, mark, before = settled(attach, stack)
    cookie, rounds = maps.cookie(stack, box), 30
    stack.pause_daemon()
    try:
        for _ in range(rounds):
            maps.renew_budget(stack, cookie)
            box.python(FLOOD.format(count=100, address="10.1.0.1"))
        after = maps.verdicts(stack, box)
    finally:
        os.kill(stack.daemon.pid, signal.SIGCONT)
    assert after["private"] - before["private"] == 100 * rounds
    assert 0 < after["lost"] < 100 * rounds and after["suppressed"] - before["suppressed"] < 100, after
    until(lambda: whole(stack, box), "lines + suppressed + lost == what the counters say")
    (told,) = stack.audit(mark, kind="losses", sandbox=box.id)[-1:]
    assert (told["lost"], told["suppressed"]) == (after["lost"], after["suppressed"])


def test_what_nobody_was_there_to_read_is_told_by_the_next_daemon(attach, another_stack):
    stack = another_stack("restarted")
    box, mark, before = settled(attach, stack)
    stack.kill_daemon()
    box.python(FLOOD.format(count=400, address="10.1.0.1"))
    assert refusals(stack, box, mark) == []
    stack.start_daemon()
    until(lambda: whole(stack, box), "all of it, from the ring and from the counters")
    after = maps.verdicts(stack, box)
    assert maps.refused(after) - maps.refused(before) == 400 and after["suppressed"] - before["suppressed"] > 200
    assert 0 < len(refusals(stack, box, mark)) < 200, "what the ring had kept"


def test_every_connection_that_passed_has_its_line(attach, stack):
    box = attach()
    mark = stack.audit_mark()
    for _ in range(20):
        box.connect("203.0.113.10", 80).close()
    for _ in range(5):
        with client.plain(box) as connection:
            assert connection.get().status == 200
    lines = until(
        lambda: len(found := stack.audit(mark, kind="connection", sandbox=box.id)) >= 25 and found, "25 lines")
    assert len(lines) == maps.verdicts(stack, box)["passed"] == 25


def test_uses_of_a_credential_are_counted_for_each_host(attach, stack):
    box = attach(prefix="swap")
    token = box.placeholder("API_TOKEN")
    mark = stack.audit_mark()
    for _ in range(3):
        with client.https(box) as connection:
            assert connection.get(extra=f"Authorization: Bearer {token}\r\n").status == 200
    with client.plain(box) as connection:  # over plain HTTP nothing is put in, and nothing counted
        connection.get(extra=f"Authorization: Bearer {token}\r\n")
    until(lambda: len(stack.audit(mark, kind="request", sandbox=box.id)) == 4, "the lines")
    cookie = maps.cookie(stack, box)
    found = [e for e in maps.entries(stack, "uses") if e["key"]["netns"] == cookie]
    assert [(maps.text(e["key"]["credential"]), maps.text(e["key"]["host"]), e["value"]["count"]) for e in found] == [
        ("API_TOKEN", "api.test", 3)]
    uses = [use for e in stack.audit(mark, kind="request", sandbox=box.id) for use in e["uses"]]
    assert sum(use["count"] for use in uses) == 3
    assert found[0]["value"]["ns"] > 0
    assert box.detach().returncode == 0
    until(lambda: not [e for e in maps.entries(stack, "uses") if e["key"]["netns"] == cookie], "the end of its uses")


def pairs(stack, cookie):
    """{(credential, host): count} of a sandbox, but for those that a test has put in."""
    found = [e for e in maps.entries(stack, "uses") if e["key"]["netns"] == cookie and e["value"]["ns"]]
    return {(maps.text(e["key"]["credential"]), maps.text(e["key"]["host"])): e["value"]["count"] for e in found}


def test_no_sandbox_can_fill_the_map_of_uses(attach, another_stack, world):
    """One that has a third of it may have no more pairs: its uses are counted together, and others have theirs as ever."""
    stack = another_stack("shares", credentials=[("swap-*", documents.write_credentials(world, "share-of-uses"))])
    hog, other, leaver = (attach(prefix="swap", on=stack) for _ in range(3))

    def use(box):
        before = len(stack.audit(kind="request", sandbox=box.id))
        with client.https(box) as connection:
            assert connection.get(extra=f"Authorization: Bearer {box.placeholder('API_TOKEN')}\r\n").status == 200
        until(lambda: len(stack.audit(kind="request", sandbox=box.id)) > before, "the line")

    place = os.path.join(stack.state, "bpf", "uses")
    assert maps.fill(place, 200, 16, cookie=maps.cookie(stack, hog), most=2731) == 2731
    assert leaver.detach().returncode == 0  # upon which they are counted
    until(lambda: leaver.id not in stack.netns("list").stdout, "its end")
    for _ in range(2):
        use(hog)
    use(other)
    assert pairs(stack, maps.cookie(stack, hog)) == {("API_TOKEN", "(others)"): 2}
    assert pairs(stack, maps.cookie(stack, other)) == {("API_TOKEN", "api.test"): 1}
    assert not [d for d in stack.get("/v1/status")["degraded"] if "uses" in d["feature"]]
    # and so for a daemon that finds them there
    stack.kill_daemon()
    stack.start_daemon()
    until(lambda: stack.get("/v1/status"), "its start")
    use(hog)
    assert pairs(stack, maps.cookie(stack, hog)) == {("API_TOKEN", "(others)"): 3}


NESTED = """
import socket
for number in range({count}):
    with socket.socket() as s:
        s.setblocking(False)
        s.connect_ex(("203.0.113.77", {port} + number % {ports}))
"""


def test_a_sandboxs_namespaces_take_nothing_of_anothers_budget(attach, stack):
    """What is tried in namespaces that are not attached is counted together, but has a budget for each sandbox."""
    noisy, quiet = attach(), attach()
    mark = stack.audit_mark()
    nested = ["unshare", "--net", "/usr/bin/python3", "-c"]
    flood = subprocess.Popen(
        ["sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec "$@"', noisy.cgroup, *nested,
         NESTED.format(count=1 << 30, port=2000, ports=50)])

    def refused(*ports):
        lines = stack.audit(mark, kind="refusal")
        return [e for e in lines if e["asked"].startswith("203.0.113.77:") and int(e["asked"].rpartition(":")[2]) in ports]

    try:
        before = maps.account(stack, 0)["suppressed"]
        until(lambda: maps.account(stack, 0)["suppressed"] > before + 1000, "the control: it is over its budget")
        for number in range(3):
            assert quiet.joined([*nested, NESTED.format(count=1, port=3000 + number, ports=1)]).returncode == 0
        lines = until(lambda: len(found := refused(3000, 3001, 3002)) >= 3 and found, "the lines of the other")
    finally:
        flood.kill()
        flood.wait()
    assert {e["client"]["cgroup"] for e in lines} != {None}
    assert all(quiet.id in str(e) or os.path.basename(quiet.cgroup) in str(e) for e in lines), "and it is named by its cgroup"


def test_a_full_map_of_uses_is_told(attach, another_stack, world):
    """Its last places are taken by somebody else here."""
    stack = another_stack("full", credentials=[("swap-*", documents.write_credentials(world, "full-map"))])
    box = attach(prefix="swap", on=stack)
    maps.fill(os.path.join(stack.state, "bpf", "uses"), 200, 16)
    mark = stack.audit_mark()
    with client.https(box) as connection:
        reply = connection.get(extra=f"Authorization: Bearer {box.placeholder('API_TOKEN')}\r\n")
    assert reply.status == 200, "the record is the audit; the map is for people"
    (event,) = until(lambda: stack.audit(mark, kind="request", sandbox=box.id), "its line")
    assert event["uses"][0]["count"] == 1
    until(lambda: [d for d in stack.get("/v1/status")["degraded"] if "uses" in d["feature"]], "the note")


def test_names_of_the_errnos(attach, stack):
    box, mark, _ = settled(attach, stack)
    error = box.python("""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: s.sendto(b"x", ("203.0.113.10", 443)); result = 0
except OSError as e: result = e.errno
""")
    assert error == errno.ECONNREFUSED
    (event,) = until(lambda: refusals(stack, box, mark), "the line")
    assert (event["reason"], event["error"], event["protocols"], event["category"]) == (
        "UDP other than DNS", "ECONNREFUSED", ["udp"], "protocol-denied")
