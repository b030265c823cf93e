# SPDX-License-Identifier: Apache-2.0
"""No daemon serves: what is for it is refused at once, and goes on when one is back, without a new attach."""
import errno
import os
import shutil
import signal
import subprocess
import time

import pytest

import client
import documents
import maps
from load import REFUSED_MS, Load, judge
from documents import API_SECRET
from sandbox import PYTHON, Refused
from waiting import PATIENCE, until

SOAK = float(os.environ.get("SALLYPORT_SOAK", "0"))  # seconds of load; without it a short one
LATE = 2.0  # CAPTURE_BEAT_LATE_MS
HERE = os.path.dirname(__file__)


@pytest.fixture
def mortal(another_stack, world):
    return another_stack("outage", credentials=[("swap-*", documents.write_credentials(world, "outage-credentials"))])


def wait_outage(stack):
    until(lambda: stack.netns("list", "--daemon").returncode, "the helper to notice")


def attempt(box, address="203.0.113.10", port=80, **options):
    """"connected" or the errno, and the milliseconds."""
    start = time.monotonic()
    try:
        box.connect(address, port, **options).close()
        return "connected", (time.monotonic() - start) * 1000
    except Refused as refused:
        return refused.errno, refused.ms


REFUSALS = """
import errno, socket, time
def one(family, kind, to, connected):
    s = socket.socket(family, kind); s.settimeout(3); begin = time.monotonic()
    try:
        if connected or kind == socket.SOCK_STREAM: s.connect(to)
        if kind == socket.SOCK_DGRAM:
            s.send(b"x" * 40) if connected else s.sendto(b"x" * 40, to)
            s.recv(10)
        return ["passed", 0]
    except OSError as e:
        return [errno.errorcode.get(e.errno, str(e)), (time.monotonic() - begin) * 1000]
    finally:
        s.close()
T, U, I4, I6 = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_INET, socket.AF_INET6
result = {
  "v4": one(I4, T, ("203.0.113.10", 443), 1), "v6": one(I6, T, ("2001:db8::10", 80), 1),
  "dns tcp": one(I4, T, ("192.0.2.1", 53), 1), "dns udp": one(I4, U, ("192.0.2.1", 53), 1),
  "dns udp6": one(I6, U, ("2001:db8:53::1", 53), 1), "foreign dns": one(I4, U, ("8.8.8.8", 53), 1),
}
"""
UNCONNECTED = REFUSALS + """
result = {"dns sendto": one(I4, U, ("192.0.2.1", 53), 0), "dns sendto6": one(I6, U, ("2001:db8:53::1", 53), 0)}
"""


def test_what_is_for_the_daemon_is_refused_at_once(mortal, attach, world):
    box = attach(on=mortal, prefix="swap")
    with client.plain(box) as connection:
        assert connection.get().status == 200, "the control: it passes"
    served = box.popen([PYTHON, "-E", "-S", shutil.copy(os.path.join(HERE, "served.py"), world.run), "mine", "8000"],
                       stdout=subprocess.PIPE)
    assert served.stdout.readline() == b"listening\n"
    mark = mortal.audit_mark()
    mortal.kill_daemon()
    killed = time.monotonic()
    until(lambda: attempt(box)[0] != "connected", "the first refusal")
    assert time.monotonic() - killed < REFUSED_MS / 1000 * PATIENCE
    wait_outage(mortal)
    watch = world.watch()
    found = box.python(REFUSALS)
    if box.lane == "bpf":
        found.update(box.python(UNCONNECTED))
    for what, (error, ms) in found.items():
        assert error == "ECONNREFUSED" and ms < REFUSED_MS, (what, error, ms)
    for address in ("127.0.0.1", "192.0.2.1", "::1"):
        assert attempt(box, address, 8000)[0] == "connected", "its own services are its own"
    assert _outside(box) == "ECONNREFUSED", "and sockets that no cgroup program sees"
    watch.nothing("in the outage")
    assert not watch.questions()
    mortal.start_daemon()
    with client.https(box) as connection:
        assert connection.get("/back", extra=f"Authorization: Bearer {box.placeholder('API_TOKEN')}\r\n").status == 200
    assert world.origin.last("/back").value("authorization") == f"Bearer {API_SECRET}"
    assert watch.fired(), "the canary of this test sees what leaves"
    assert _outside(box) == "connected"
    if box.lane == "bpf":
        told = mortal.wait_audit(mark, reason="no daemon served", sandbox=box.id)
        assert told[0]["decision"] == "deny" and maps.verdicts(mortal, box)["outage"] >= len(found) - 3
    served.kill()
    served.wait()


def _outside(box):
    """A socket of the namespace that is in no cgroup of ours."""
    code = ("import errno, socket\ns = socket.socket(); s.settimeout(3)\n"
            "try:\n    s.connect(('203.0.113.10', 80)); print('connected')\n"
            "except OSError as e:\n    print(errno.errorcode.get(e.errno, e))\n")
    return subprocess.run(box.netns.command([PYTHON, "-c", code]), capture_output=True, text=True, check=True).stdout.strip()


def test_a_daemon_that_hangs_is_noticed_and_comes_back(mortal, attach, world):
    box = attach(on=mortal)
    mortal.daemon.send_signal(signal.SIGSTOP)
    try:
        until(lambda: attempt(box)[0] != "connected", "a refusal", 2 * LATE)
        assert attempt(box)[1] < REFUSED_MS
        until(lambda: "hangs" in mortal.log("helper"), "a word in the log")
        watch = world.watch()
        assert attempt(box, "2001:db8::10", 443)[0] != "connected"
        watch.nothing("while it hangs")
    finally:
        mortal.daemon.send_signal(signal.SIGCONT)
    until(lambda: attempt(box)[0] == "connected", "service again")
    with client.plain(box) as connection:
        assert connection.get().status == 200
    until(lambda: "signs of life again" in mortal.log("helper"), "a word in the log")


@pytest.mark.parametrize("back", [True, False])
def test_what_was_let_in_and_not_accepted(mortal, attach, back):
    """It is served by a daemon that is back soon, and reset when none is: nobody waits for ever."""
    box = attach(on=mortal)
    mortal.pause_daemon()  # it accepts nothing from here on
    waiting = client.plain(box)
    waiting.send("GET /waited HTTP/1.1\r\nHost: api.test\r\n\r\n")
    mortal.kill_daemon()
    killed = time.monotonic()
    if back:
        mortal.start_daemon()
        assert time.monotonic() - killed < 3, "slower than this test can be"
        assert waiting.reply().status == 200
    else:
        assert waiting.ended(8)
        assert 2 < time.monotonic() - killed < 6
        mortal.start_daemon()
    waiting.close()
    with client.plain(box) as connection:
        assert connection.get().status == 200


def test_with_wait_nothing_is_refused(another_stack, attach):
    stack = another_stack("patient", outage="wait")
    box = attach(on=stack)
    assert stack.get("/v1/status")["outage"] == "wait"
    stack.kill_daemon()
    wait_outage(stack)
    waiting = client.plain(box)
    waiting.send("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
    time.sleep(4)  # longer than the patience with which the other kind resets
    stack.start_daemon()
    assert waiting.reply().status == 200
    waiting.close()


def test_an_attach_after_an_outage(mortal, attach):
    first = attach(on=mortal)
    mortal.kill_daemon()
    wait_outage(mortal)
    assert attempt(first)[0] != "connected"
    mortal.start_daemon()
    second = attach(on=mortal)
    for box in (first, second):
        with client.plain(box) as connection:
            assert connection.get().status == 200


BURN = "import os\nfor _ in range(3): os.fork()\nwhile True: pass\n"


def test_a_machine_at_its_limit_is_no_outage(mortal, attach):
    """Eight processes that only compute, on two cores; connections go on and none is refused."""
    box = attach(on=mortal)
    before = mortal.log("helper").count("hangs")
    burning = subprocess.Popen([PYTHON, "-c", BURN], start_new_session=True)
    try:
        oldest, end = 0.0, time.monotonic() + 6
        while time.monotonic() < end:
            assert attempt(box)[0] == "connected", f"the oldest beat was {oldest * 1000:.0f} ms"
            if box.lane == "bpf":
                beats = [entry["value"]["ns"] for entry in maps.entries(mortal, "heartbeat")]
                oldest = max(oldest, time.monotonic() - max(beats) / 1e9)
            time.sleep(0.05)
    finally:
        os.killpg(burning.pid, signal.SIGKILL)
        burning.wait()
    assert oldest < LATE and mortal.log("helper").count("hangs") == before, f"the oldest beat was {oldest * 1000:.0f} ms"


# ---- OPS-04: what a restart finds

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_OPS_04_a_restart_restores_what_the_sandbox_holds(mortal, attach, origin, number):
    box = attach(on=mortal, prefix="swap")
    before = box.handed(), open(box.ca, "rb").read()
    token = box.placeholder("API_TOKEN")
    script = ["-H", f"Authorization: Bearer {token}", "https://api.test/restart"]
    assert box.curl(*script, check=True).stdout
    counters = maps.verdicts(mortal, box) if box.lane == "bpf" else None
    mortal.kill_daemon(number)
    wait_outage(mortal)
    gone = box.curl(*script)
    assert gone.returncode in (6, 7), "refused, with a reason that curl can tell, and not let by"
    mortal.start_daemon()
    assert (box.handed(), open(box.ca, "rb").read()) == before
    assert box.curl(*script, check=True).stdout, "the old CA is trusted still"
    sent = origin.requests("/restart")[-2:]
    assert [r.value("authorization") for r in sent] == [f"Bearer {API_SECRET}"] * 2
    (entry,) = [s for s in mortal.get("/v1/sandboxes")["sandboxes"] if s["id"] == box.id]
    assert {c["state"] for c in entry["credentials"]} == {"available"}
    if counters:
        now = maps.verdicts(mortal, box)
        assert all(now[name] >= counters[name] for name in counters), "the kernel's counters go on"


def test_OPS_04_a_state_that_is_lost_is_refused_and_never_let_by(mortal, attach, world):
    """The placeholders' record is damaged while the daemon is away."""
    box, other = attach(on=mortal, prefix="swap"), attach(on=mortal)
    token = box.placeholder("API_TOKEN")
    record = os.path.join(mortal.state, "sandboxes", f"{box.id}.json")
    good = open(record, "rb").read()
    mortal.kill_daemon()
    with open(record, "wb") as file:
        file.write(b"{")
    mortal.start_daemon()
    until(lambda: "refused-by-daemon" in mortal.netns("list").stdout, "the daemon's refusal")
    watch = world.watch()
    error, ms = attempt(box)
    assert error != "connected" and ms < REFUSED_MS, "refused, not left to wait for nobody"
    watch.nothing("of a sandbox that the daemon refuses")
    assert f"sandbox {box.id} is refused: " in mortal.log("daemon") and record in mortal.log("daemon")
    with client.plain(other) as connection:
        assert connection.get().status == 200, "the others go on"
    mortal.kill_daemon()
    with open(record, "wb") as file:
        file.write(good)
    mortal.start_daemon()
    until(lambda: attempt(box)[0] == "connected", "service again", 20)
    with client.https(box) as connection:
        assert connection.get("/mended", extra=f"Authorization: Bearer {token}\r\n").status == 200
    assert world.origin.last("/mended").value("authorization") == f"Bearer {API_SECRET}"


def test_OPS_09_what_a_sandbox_trusts_is_not_its_own_to_change(mortal, attach):
    """The CA comes as a file: its key is not to be read in the sandbox, the certificate not to be written; and another
    one in its place is noticed by who connects."""
    box = attach(on=mortal, prefix="swap")
    key = os.path.join(mortal.state, "sandboxes", "keys")
    assert os.stat(key).st_mode & 0o777 == 0o600
    tried = box.python(f"""
import os
result = []
for path, how in (({key!r}, "rb"), ({box.ca!r}, "r+b"), ({box.ca!r}, "wb"), ("/etc/ssl/certs/ca-certificates.crt", "r+b")):
    try: open(path, how).close(); result.append(path)
    except OSError: pass
""")
    assert tried == []
    theirs = attach(on=mortal, prefix="swap")
    shutil.copy(theirs.ca, os.path.join(mortal.world.run, "foreign.pem"))
    done = box.curl("--cacert", os.path.join(mortal.world.run, "foreign.pem"), "https://api.test/")
    assert done.returncode == 60, "a mismatch is an error of the handshake"
    assert box.curl("https://api.test/", check=True).stdout, "the control: what it was given"
    mortal.kill_daemon()
    shutil.copy(theirs.ca, box.ca)  # somebody on the host puts another certificate there
    mortal.start_daemon()
    until(lambda: f"{box.id}: its CA cannot be read" in mortal.log("daemon"), "a word in the log")


# ---- load

def test_under_load_a_killed_daemon_costs_what_was_in_flight(mortal, attach, world):
    kills, every = (int(SOAK // 5), 5) if SOAK else (3, 2)
    box = attach(on=mortal, prefix="swap")
    watch = world.watch()
    load, windows = Load(box), []
    for _ in range(kills):
        time.sleep(every)
        killed = time.monotonic()
        mortal.kill_daemon()
        wait_outage(mortal)
        error, ms = attempt(box)
        assert error == errno.ECONNREFUSED and ms < REFUSED_MS, (error, ms)
        mortal.start_daemon()
        until(lambda: attempt(box)[0] == "connected", "service again")
        windows.append((killed, time.monotonic()))
    time.sleep(1)
    results = load.results()
    bad = judge(results, windows)
    assert not bad, f"{len(bad)} of {len(results)}: {bad[:5]}, kills {windows}"
    good = [r for r in results if r[3] == "ok"]
    for _, back in windows:
        assert [r for r in good if r[1] > back], "it goes on behind each"
    assert watch.fired() and not watch.packets_to("169.254.169.254", "10.0.0.1")
