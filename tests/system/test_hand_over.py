# SPDX-License-Identifier: Apache-2.0
"""A daemon takes over from one that serves: nothing is refused, nothing lost, and who hands over goes."""
import json
import os
import signal
import time

import pytest

import client
import documents
from documents import API_SECRET
from load import Load, judge
from waiting import PATIENCE, until

SOAK = float(os.environ.get("SALLYPORT_SOAK", "0"))


@pytest.fixture
def relay(another_stack, world):
    return another_stack("relay", credentials=[("swap-*", documents.write_credentials(world, "relay-credentials"))])


def ended(process, seconds=20):
    assert process.wait(seconds * PATIENCE) == 0, "who hands over ends well"


def test_under_load_a_hand_over_costs_nothing(relay, attach, world):
    """Nothing that the kernel refuses gets out meanwhile, either."""
    count = int(SOAK // 5) if SOAK else 5
    box = attach(on=relay, prefix="swap")
    before = box.handed(), open(box.ca, "rb").read()
    watch = world.watch()
    load, at = Load(box), []
    for _ in range(count):
        time.sleep(5 if SOAK else 0.5)
        ended(relay.take_over())
        at.append(time.monotonic())
    time.sleep(1)
    results = load.results()
    bad = judge(results)
    assert not bad, f"{len(bad)} of {len(results)}: {bad[:5]}, hand-overs until {at}"
    for moment in at:
        assert [r for r in results if r[1] > moment and r[3] == "ok"], "it goes on behind each"
    assert (box.handed(), open(box.ca, "rb").read()) == before
    assert watch.fired() and not watch.packets_to("169.254.169.254", "10.0.0.1")


def test_ten_hand_overs_in_a_row(relay, attach):
    """One behind the other, and no descriptor, pin or cgroup more."""
    box = attach(on=relay)
    relay.take_over()
    ended(relay.former[-1])
    helper = len(os.listdir(f"/proc/{relay.helper.pid}/fd"))
    daemon, pins = relay.descriptors(), len(relay.pins())
    load = Load(box)
    for _ in range(10):
        ended(relay.take_over())
    assert not judge(load.results())
    ended(relay.take_over())  # one without what the load has left in its pool
    until(lambda: relay.descriptors() <= daemon, "no descriptor more")
    assert len(os.listdir(f"/proc/{relay.helper.pid}/fd")) <= helper
    assert len(relay.pins()) == pins


def test_who_takes_over_serves_and_the_other_ends_what_it_began(relay, attach, origin):
    box = attach(on=relay, prefix="swap")
    token = box.placeholder("API_TOKEN")
    kept, fresh = client.plain(box), client.https(box)
    slow = client.https(box)
    assert kept.get().status == fresh.get().status == 200
    slow.send("GET /delay/3000 HTTP/1.1\r\nHost: api.test\r\n\r\n")
    until(lambda: origin.requests("/delay/3000"), "the slow request at the origin")
    mark = relay.audit_mark()
    old = relay.take_over()
    reply = kept.get("/goodbye")
    assert reply.status == 200 and reply.fields["connection"] == "close", "told politely"
    assert kept.ended()
    assert old.poll() is None, "it has a request under way"
    with client.https(box) as connection:  # with the old CA
        assert connection.get("/taken", extra=f"Authorization: Bearer {token}\r\n").status == 200
    assert origin.last("/taken").value("authorization") == f"Bearer {API_SECRET}"
    assert fresh.ended(), "an idle connection is closed soon"
    assert slow.reply().status == 200, "the slow one has its answer"
    slow.close()
    fresh.close()
    kept.close()
    ended(old)
    for path in ("/goodbye", "/taken", "/delay/3000"):
        assert len(relay.wait_audit(mark, kind="request", path=path)) == 1, "each request is on record, once"
    assert relay.get("/v1/status")["pid"] == relay.daemon.pid
    for line in open(relay.audit_file, encoding="utf-8"):
        json.loads(line)


def test_the_time_to_drain_is_bounded(another_stack, attach):
    stack = another_stack("brisk", extra="drain: 1")
    box = attach(on=stack)
    slow = client.plain(box)
    slow.send("GET /delay/20000 HTTP/1.1\r\nHost: api.test\r\n\r\n")
    time.sleep(0.3)
    old = stack.take_over()
    begin = time.monotonic()
    ended(old, 6)
    assert time.monotonic() - begin < 5 * PATIENCE
    assert slow.ended(), "broken off, and not taken for an answer"
    slow.close()


def test_one_that_drains_and_never_goes_is_killed(another_stack, attach):
    """The new one is not hindered, and a third takes over from it."""
    stack = another_stack("stuck", extra="drain: 1")
    box = attach(on=stack)
    with client.plain(box) as slow:
        slow.send("GET /delay/60000 HTTP/1.1\r\nHost: api.test\r\n\r\n")
        time.sleep(0.3)
        old = stack.take_over()
        old.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        with client.plain(attach(on=stack)) as connection:
            assert connection.get().status == 200
        with client.plain(box) as connection:
            assert connection.get().status == 200
        assert time.monotonic() - begin < 10 and old.poll() is None, "while it is stopped"
        assert old.wait(40 * PATIENCE) == -signal.SIGKILL
    assert f"the daemon of pid {old.pid}, which handed over, does not end: it is killed" in stack.log("helper")
    ended(stack.take_over())
    with client.plain(box) as connection:
        assert connection.get().status == 200


def test_names_go_on(relay, attach):
    """Questions by datagram, one behind the other, through three hand-overs: each is answered at the first try."""
    box = attach(on=relay)
    box.python("""
import socket, threading, time
lost, asked, going = [], [0], [True]
def ask():
    number = 0
    while going[0]:
        number += 1
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(4)
        s.connect(("192.0.2.1", 53))
        try:
            s.send(number.to_bytes(2, "big") + b"\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3api\\4test\\0\\0\\1\\0\\1")
            answer = s.recv(600)
            if answer[:2] != number.to_bytes(2, "big"): lost.append("wrong")
        except OSError as error: lost.append(str(error))
        s.close(); asked[0] += 1; time.sleep(0.005)
thread = threading.Thread(target=ask); thread.start()
""")
    for _ in range(3):
        ended(relay.take_over())
    lost, asked = box.python("going[0] = False; thread.join(); result = [lost, asked[0]]")
    assert asked > 50 and not lost, (asked, lost[:5])


@pytest.mark.bpf
def test_refusals_of_the_kernel_are_told_once(relay, attach):
    box = attach(on=relay)
    mark = relay.audit_mark()

    def refused(count):
        for _ in range(count):
            with pytest.raises(OSError):
                box.connect("10.0.0.1", 80)

    refused(3)
    relay.take_over()
    refused(4)
    until(lambda: len(relay.audit(mark, kind="refusal", sandbox=box.id)) >= 7, "the refusals in the audit")
    time.sleep(1.6)  # as long as the reader goes on looking
    assert len(relay.audit(mark, kind="refusal", sandbox=box.id)) == 7


def test_attach_and_detach_while_the_other_drains(relay, attach):
    first, second = attach(on=relay), attach(on=relay)
    slow = [client.plain(box) for box in (first, second)]
    for connection in slow:
        connection.send("GET /delay/5000 HTTP/1.1\r\nHost: api.test\r\n\r\n")
    time.sleep(0.3)
    old = relay.take_over()
    third = attach(on=relay)
    with client.plain(third) as connection:
        assert connection.get().status == 200
    assert first.detach().returncode == 0, "both let go of it"
    assert slow[0].ended(2)
    assert slow[1].reply().status == 200, "the other's goes on"
    for connection in slow:
        connection.close()
    ended(old)
    assert not os.path.exists(first.handout) and os.path.exists(second.handout)


def test_a_second_daemon_without_the_flag_is_told_of_it(relay, attach):
    box = attach(on=relay)
    second = relay._start("daemon", [relay.tool("sallyportd"), "--config", relay.config], "helper")
    assert second.wait(10) == 1
    assert "--take-over" in relay.log("daemon").splitlines()[-1]
    with client.plain(box) as connection:
        assert connection.get().status == 200


@pytest.mark.parametrize("what", ["policy", "record"])
def test_a_take_over_that_fails_changes_nothing(relay, attach, world, what):
    box = attach(on=relay, prefix="swap")
    record = os.path.join(relay.state, "sandboxes", f"{box.id}.json")
    good = open(record, "rb").read()
    config = open(relay.config, encoding="utf-8").read()
    if what == "policy":  # a credential for a host that the policy does not open
        document = world.write("relay-bad", "credentials:\n  - name: NEW\n    source: {value: \"0123456789abcdef-bad\"}\n    env: NEW\n"
                               "    swap:\n      - {hosts: [closed-to-all.test], in: [bearer]}\n", 0o600)
        documents.readable_by_daemon(document)
        config += f"  - {{sandboxes: ['swap-*'], file: {document}}}\n"
    else:
        with open(record, "wb") as file:
            file.write(b"[")
    taker = relay.start_taker(world.write("relay-bad.yaml", config))
    assert taker.wait(20) == 1
    assert "cannot take over: a sandbox is refused; the daemon that serves goes on" in relay.log("daemon")
    assert f"sandbox {box.id} is refused: " in relay.log("daemon")
    until(lambda: "the take-over failed" in relay.log("helper"), "a word in the helper's log")
    assert relay.get("/v1/status")["pid"] == relay.daemon.pid
    assert not os.path.exists(os.path.join(relay.state, "control.sock.next"))
    if what == "policy":
        assert open(record, "rb").read() == good, "nothing was written"
    else:
        with open(record, "wb") as file:
            file.write(good)
    with client.https(box) as connection:
        assert connection.get("/same", extra=f"Authorization: Bearer {box.placeholder('API_TOKEN')}\r\n").status == 200
    ended(relay.take_over())
    with client.https(box) as connection:
        assert connection.get().status == 200


def test_new_credentials_come_with_it(relay, attach, world, origin):
    """What an upgrade is for: another configuration, and the old placeholders hold."""
    box = attach(on=relay, prefix="swap")
    before = box.handed()
    config = open(relay.config, encoding="utf-8").read()
    document = documents.readable_by_daemon(world.write(
        "relay-more", "credentials:\n  - name: MORE\n    source: {value: \"real-more-0123456789abcdef\"}\n    env: MORE\n"
        "    swap:\n      - {hosts: [api.test], in: [bearer]}\n", 0o600))
    ended(relay.take_over(world.write("relay-more.yaml", config + f"  - {{sandboxes: ['swap-*'], file: {document}}}\n")))
    after = box.handed()
    assert before.items() <= after.items() and "MORE" in after
    with client.https(box) as connection:
        assert connection.get("/more", extra=f"Authorization: Bearer {after['MORE']}\r\n").status == 200
    assert origin.last("/more").value("authorization") == "Bearer real-more-0123456789abcdef"


def test_a_daemon_that_hangs_is_replaced(relay, attach):
    box = attach(on=relay)
    relay.daemon.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    old = relay.take_over()
    assert time.monotonic() - begin < 15 * PATIENCE
    assert old.wait(5) == -signal.SIGKILL
    with client.plain(box) as connection:
        assert connection.get().status == 200


def test_taking_over_from_nobody_is_a_start(relay, attach):
    box = attach(on=relay)
    relay.kill_daemon()
    relay.take_over()
    with client.plain(box) as connection:
        assert connection.get().status == 200
    assert relay.get("/v1/status")["sandboxes"] == 1


def test_who_takes_over_may_die_before_it_has(relay, attach):
    """Killed at any moment: connections go on with one of the two."""
    box = attach(on=relay)
    for milliseconds in (5, 30, 60, 90, 120, 200):
        taker = relay.start_taker()
        time.sleep(milliseconds / 1000)
        taker.kill()
        taker.wait()

        def served():
            try:
                with client.plain(box) as connection:
                    return connection.get().status == 200
            except OSError:
                return False

        def handed():
            """The one that was there has heard that it goes, which may come a moment behind the other's end."""
            return relay.daemon.poll() is not None or "takes over" in relay.log("daemon").rpartition("is attached")[2]

        until(lambda: handed() or served(), "service by the one that was there", 5)
        if relay.daemon.poll() is not None or not served():
            relay.daemon.wait(20)
            relay.start_daemon()
        until(served, "service", 5)


def test_in_the_dead_helpers_absence(relay, world):
    """No helper, no take-over: it says so in the end, and whom to ask."""
    relay.helper.kill()
    relay.helper.wait()
    taker = relay.start_taker()
    time.sleep(0.5)
    assert taker.poll() is None, "it waits for a helper"
    taker.terminate()
    assert taker.wait(10) in (0, 1)
    relay.start_helper()
    until(relay.connected, "the daemon that was there all the time")
