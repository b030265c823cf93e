# SPDX-License-Identifier: Apache-2.0
"""Addresses that stand for names: who gets one, that it is kept, that it is nobody else's."""
import fcntl
import ipaddress
import os
import random
import signal
import struct
import subprocess
import threading
import time

import pytest

from asking import SHARED, addresses, ask, ask_many, ask_many_tcp, pointer, told, wire_of
from sandbox import Refused
from waiting import PATIENCE, until

POOL = ipaddress.ip_network("198.18.0.0/15")
NAMES_MAX = 4096
F_OFD_SETLK = 37

TUNNEL = """version: 1
name: names-tunnel
default: deny
rules:
  - {name: ssh, hosts: [git.test, "*.db.test"], ports: [22], action: tunnel}
  - {name: web, hosts: [api.test], action: allow}
"""
SYNTHETIC = """version: 1
name: names-synthetic
default: deny
dns: synthetic
rules:
  - {name: web, hosts: [api.test, site.test, "*.many.test"], action: allow}
"""
OFF = """version: 1
name: names-off
default: deny
dns: "off"
rules:
  - {name: web, hosts: [api.test, 203.0.113.10], action: allow}
"""


def synthetic(box, name, **options):
    """The address that the name got, which must be one of the pool and nothing else."""
    rcode, values = told(box, name, **options)
    assert rcode == "NOERROR" and len(values) == 1, (name, rcode, values)
    address = ipaddress.ip_address(values[0])
    assert address in POOL and values[0] not in (SHARED, str(POOL[0]), str(POOL[-1])), values
    return values[0]


def record(box):
    return os.path.join(box.stack.state, "sandboxes", f"{box.id}.names")


def kept(box):
    with open(record(box), encoding="ascii") as file:
        lines = file.read().splitlines()
    assert lines[0] == "sallyport-names 1"
    return {name: address for address, name in (line.split(" ") for line in lines[1:])}


# ---- who gets one


def test_a_name_under_a_tunnel_gets_an_address_of_its_own_and_no_question_leaves(attach, watch):
    box = attach(TUNNEL)
    first, second = synthetic(box, "git.test"), synthetic(box, "one.db.test")
    assert first != second
    for over in ("udp", "tcp"):
        for server in ("203.0.113.53", "127.0.0.53", "0.0.0.1", "2001:db8::77"):
            assert synthetic(box, "git.test", over=over, server=server) == first
    assert synthetic(box, "GIT.tEst.") == first
    assert told(box, "git.test", "AAAA") == ("NOERROR", [])
    assert told(box, "git.test", "HTTPS") == ("NOERROR", [])
    assert told(box, "git.test", "TXT", )[0] == "NOERROR"
    assert all(rrset.ttl <= 60 for rrset in ask(box, "git.test").answer)
    assert not [q for q in watch.questions() if q[1] in (1, 28)]
    assert told(box, "api.test") == ("NOERROR", ["203.0.113.10"]), "the others have their own"
    assert told(box, "denied.test") == ("NOERROR", [SHARED])
    assert kept(box) == {"git.test": first, "one.db.test": second}


def test_with_synthetic_every_open_name_gets_one_and_denied_names_share(attach, watch):
    box = attach(SYNTHETIC)
    assert len({synthetic(box, name) for name in ("api.test", "site.test", "nx.many.test")}) == 3
    assert told(box, "api.test", "AAAA") == ("NOERROR", [])
    assert told(box, "denied.test") == ("NOERROR", [SHARED])
    assert told(box, "many.test") == ("NOERROR", [SHARED])
    assert not watch.questions()


def test_programs_reach_an_allowed_host_by_its_synthetic_address(attach, world, watch):
    box = attach(SYNTHETIC)
    done = box.curl("-w", "%{remote_ip}", "https://api.test/", check=True)
    assert "hello" in done.stdout
    assert done.stdout.endswith(synthetic(box, "api.test"))
    assert "hello" in box.curl("http://api.test/", check=True).stdout
    done = box.curl("-w", "%{http_code}", "https://denied.test/")
    assert "host-denied" in done.stdout and done.stdout.endswith("403")


def test_TLS_without_SNI_is_judged_and_dialled_by_the_name_of_the_address(attach, origin):
    box = attach(SYNTHETIC)
    address = synthetic(box, "api.test")
    script = f"""
import socket, ssl
context = ssl.create_default_context(cafile={box.trusted!r})
context.check_hostname = False  # of the address: there is no name to say
with context.wrap_socket(socket.create_connection(({address!r}, 443))) as tls:
    names = tls.getpeercert()['subjectAltName']
    tls.sendall(b'GET / HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n')
    print(names, tls.makefile('rb').read())
"""
    done = box.run(["/usr/bin/python3", "-c", script], check=True)
    assert "(('DNS', 'api.test'),)" in done.stdout and "hello" in done.stdout
    since = origin.mark()
    wrong = box.run(["/usr/bin/python3", "-c", script.replace("Host: api.test", f"Host: {address}")], check=True)
    assert "host-mismatch" in wrong.stdout and origin.mark() == since


@pytest.mark.parametrize("default", ["deny", "allow"])
def test_an_address_of_the_pool_without_a_name_is_never_dialled(attach, watch, default):
    box = attach(f"version: 1\nname: pool\ndefault: {default}\nrules: [{{name: a, hosts: [api.test], action: allow}}]\n")
    for port in (80, 443):
        scheme = "http" if port == 80 else "https"
        done = box.curl("-k", "-w", "%{http_code}", f"{scheme}://198.18.7.7/")
        assert not done.stdout.endswith("200"), done.stdout
    watch.nothing()


# ---- pointing back


def test_an_address_points_back_to_its_name_in_its_own_sandbox_alone(attach, watch):
    box, other = attach(TUNNEL), attach(TUNNEL)
    mine, theirs = synthetic(box, "git.test"), synthetic(other, "one.db.test")
    assert pointer(box, mine) == ("NOERROR", ["git.test."])
    assert pointer(other, theirs) == ("NOERROR", ["one.db.test."])
    if mine != theirs:
        assert pointer(other, mine) == ("NOERROR", [])
        assert pointer(box, theirs) == ("NOERROR", [])
    for nobody in (SHARED, "198.18.0.0", "203.0.113.10"):
        assert pointer(box, nobody) == ("NOERROR", [])
    assert mine in box.joined(["getent", "ahosts", "git.test"], check=True).stdout
    assert "git.test" in box.joined(["getent", "hosts", mine], check=True).stdout
    assert not watch.questions()


def test_two_sandboxes_do_not_share_addresses(attach):
    boxes = [attach(SYNTHETIC) for _ in range(2)]
    names = [f"n{i}.many.test" for i in range(40)]
    found = [{name: address for name, (_, address) in ask_many(box, names).items()} for box in boxes]
    assert all(len(set(one.values())) == 40 for one in found)
    same = [name for name in names if found[0][name] == found[1][name]]
    assert len(same) <= 2, f"given by chance, {len(same)} of 40 would not be the same: {same}"
    for box, one in zip(boxes, found):
        assert kept(box) == one


# ---- kept


def test_a_name_keeps_its_address_over_the_daemons_end(another_stack, attach):
    stack = another_stack("names-restart")
    box = attach(SYNTHETIC, on=stack)
    before = {name: synthetic(box, name) for name in ("api.test", "a.many.test", "b.many.test")}
    for number in (signal.SIGKILL, signal.SIGTERM):
        stack.kill_daemon(number)
        stack.start_daemon()
        assert {name: synthetic(box, name) for name in before} == before
        assert pointer(box, before["api.test"]) == ("NOERROR", ["api.test."])
        later = synthetic(box, f"after-{int(number)}.many.test")
        assert later not in before.values(), "an address is never used again"
        before[f"after-{int(number)}.many.test"] = later
    mode = os.stat(record(box))
    assert mode.st_mode & 0o7777 == 0o600
    path = record(box)
    box.detach()
    until(lambda: not os.path.exists(path), "the end of the record of a sandbox that is detached")


def _asker(box, found, end):
    """Asks for one new name after the other until the end; notes what it was told."""
    number = 0
    while not end.is_set():
        number += 1
        name = f"k{number}.many.test"
        try:
            answer = told(box, name)
        except OSError:
            continue  # the daemon is away: nobody was told anything
        if answer[0] == "NOERROR" and answer[1]:
            found.setdefault(name, set()).add(answer[1][0])


def test_whatever_a_client_was_told_stands_after_any_kill(another_stack, attach):
    stack = another_stack("names-kill")
    box = attach(SYNTHETIC, on=stack)
    box.python("result = 0")
    found, end = {}, threading.Event()
    burst = [f"burst{i}.many.test" for i in range(2000)]
    thread = threading.Thread(target=_asker, args=(box, found, end), daemon=True)
    thread.start()
    try:
        for turn in range(6):
            part = burst[turn * 300:turn * 300 + 300]
            with box.connect("203.0.113.53", 53, kind="SOCK_DGRAM") as sock:
                sock.settimeout(0.02)
                until_killed = time.monotonic() + random.uniform(0.001, 0.25)
                for number, name in enumerate(part):
                    sock.send(wire_of(number, name))
                while time.monotonic() < until_killed:
                    _note(sock, part, found)
                stack.kill_daemon()
                for _ in range(400):
                    if not _note(sock, part, found):
                        break
            stack.start_daemon()
    finally:
        end.set()
        thread.join(30)
    assert len(found) > 50, "the control: names were told between the kills"
    assert all(len(told_of) == 1 for told_of in found.values()), "one address for each name"
    assert len({next(iter(a)) for a in found.values()}) == len(found), "one name for each address"
    now = ask_many(box, list(found))
    assert {name: {address} for name, (_, address) in now.items()} == found
    on_disk = kept(box)
    assert all(on_disk[name] in told_of for name, told_of in found.items())


def _note(sock, part, found):
    try:
        number, rcode, address = addresses(sock.recv(4096))
    except OSError:
        return False
    if rcode == 0 and address:
        found.setdefault(part[number], set()).add(address)
    return True


def test_what_cannot_be_kept_is_not_told(another_stack, attach):
    stack = another_stack("names-unkept")
    box = attach(SYNTHETIC, on=stack)
    first = synthetic(box, "api.test")
    folder = os.path.join(stack.state, "sandboxes")
    os.rename(record(box), record(box) + ".away")
    os.mkdir(record(box))  # cannot be written, whoever one is
    try:
        assert told(box, "site.test") == ("SERVFAIL", [])
        assert told(box, "a.many.test", over="tcp") == ("SERVFAIL", [])
        assert synthetic(box, "api.test") == first, "what is known is still told"
        assert stack.log("daemon").count("cannot keep the names") == 1, "and it is said once"
    finally:
        os.rmdir(record(box))
        os.rename(record(box) + ".away", record(box))
    second = synthetic(box, "site.test")
    assert kept(box) == {"api.test": first, "site.test": second}
    assert os.listdir(folder)


def test_a_lock_on_the_record_that_is_kept_holds_up_nobody_else(another_stack, attach):
    """As a daemon that hands over and hangs could keep it."""
    stack = another_stack("names-locked")
    box, other = attach(SYNTHETIC, on=stack), attach(SYNTHETIC, on=stack)
    first = synthetic(box, "api.test")
    with open(record(box), "r+b") as file:
        fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        begin = time.monotonic()
        assert told(box, "site.test") == ("SERVFAIL", []), "after two seconds"
        assert 1.5 < time.monotonic() - begin < 4 * PATIENCE
        assert stack.log("daemon").count("cannot keep the names") == 1
        assert synthetic(box, "api.test") == first
        waiting = threading.Thread(target=lambda: told(box, "a.many.test"))
        waiting.start()
        begin = time.monotonic()
        assert synthetic(other, "api.test") and stack.get("/v1/status")
        assert time.monotonic() - begin < 1 * PATIENCE, "while it waits"
        waiting.join()
        old = stack.take_over()
        assert old.wait(20 * PATIENCE) == 0
        assert f"sandbox {box.id}: another daemon has its names locked" in stack.log("daemon")
        assert stack.get("/v1/status")["pid"] == stack.daemon.pid
        assert synthetic(other, "b.many.test")
        assert told(box, "api.test") == ("SERVFAIL", []), "no other address, either"
    until(lambda: f"sandbox {box.id}: its names have been read" in stack.log("daemon"), "the names")
    assert synthetic(box, "api.test") == first and pointer(box, first) == ("NOERROR", ["api.test."])
    second = synthetic(box, "site.test")
    assert kept(box) == {"api.test": first, "site.test": second}


def test_a_line_that_was_torn_by_a_crash_is_dropped(another_stack, attach):
    stack = another_stack("names-torn")
    box = attach(SYNTHETIC, on=stack)
    first = synthetic(box, "api.test")
    stack.kill_daemon()
    with open(record(box), "ab") as file:
        file.write(b"198.18.77.77 site.te")
    stack.start_daemon()
    assert synthetic(box, "api.test") == first
    second = synthetic(box, "site.test")
    assert kept(box) == {"api.test": first, "site.test": second}
    stack.kill_daemon()
    os.truncate(record(box), 7)  # the first line was torn
    stack.start_daemon()
    assert synthetic(box, "api.test")
    assert list(kept(box)) == ["api.test"]


DAMAGE = {
    "another version": (lambda text: text.replace(b"names 1", b"names 2"), 1),
    "no address": (lambda text: text + b"198.18.1 site.test\n", 3),
    "an address outside": (lambda text: text + b"10.0.0.1 site.test\n", 3),
    "the shared address": (lambda text: text + b"198.19.255.254 site.test\n", 3),
    "no name": (lambda text: text + b"198.18.1.1 SITE.test\n", 3),
    "a name again": (lambda text: text + b"198.18.1.1 api.test\n", 3),
    "a hole": (lambda text: text + bytes(10) + b"\n", 3),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_record_that_is_damaged_closes_the_sandbox_and_names_the_line(another_stack, attach, origin, what):
    stack = another_stack("names-damaged")
    box = attach(SYNTHETIC, on=stack)
    synthetic(box, "api.test")
    assert "hello" in box.curl("http://api.test/", check=True).stdout, "the control"
    stack.kill_daemon()
    with open(record(box), "rb") as file:
        text = file.read()
    damage, line = DAMAGE[what]
    with open(record(box), "wb") as file:
        file.write(damage(text))
    since = origin.mark()
    stack.start_daemon()
    until(lambda: f"{record(box)}:{line}: " in stack.log("daemon"), "the file and the line in the log")
    assert not [one for one in stack.get("/v1/sandboxes")["sandboxes"] if one["id"] == box.id]
    with pytest.raises((Refused, OSError)):
        with box.connect("203.0.113.10", 80, timeout=2) as sock:
            sock.settimeout(2)
            sock.sendall(b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
            if not sock.recv(100):
                raise OSError("closed")
    assert origin.mark() == since


# ---- bounds


def test_the_4097th_name_shares_the_refused_ones_address_and_is_on_record(attach, stack):
    box, other = attach(SYNTHETIC), attach(SYNTHETIC)
    names = [f"n{i}.many.test" for i in range(NAMES_MAX)]
    found = ask_many(box, names, patience=60 * PATIENCE)
    own = {address for rcode, address in found.values() if rcode == 0}
    assert len(own) == NAMES_MAX and SHARED not in own
    assert all(ipaddress.ip_address(address) in POOL for address in own)
    mark = stack.audit_mark()
    assert told(box, "api.test") == ("NOERROR", [SHARED])
    event = stack.wait_audit(mark, sandbox=box.id, category="limit")[0]
    assert event["host"] == "api.test" and "dns" in event["protocols"], event
    assert synthetic(box, "n17.many.test") == found["n17.many.test"][1]
    assert synthetic(other, "api.test"), "the bound is each sandbox's own"
    assert len(kept(box)) == NAMES_MAX


@pytest.mark.parametrize("asking", [ask_many, ask_many_tcp], ids=["udp", "tcp"])
def test_a_hundred_new_names_in_flight(attach, asking):
    box = attach(SYNTHETIC)
    names = [f"f{i}.many.test" for i in range(100)]
    began = time.monotonic()
    found = asking(box, names)
    assert time.monotonic() - began < 5 * PATIENCE
    assert len({address for rcode, address in found.values() if rcode == 0}) == 100
    assert asking(box, names) == found
    assert kept(box) == {name: address for name, (_, address) in found.items()}


def test_a_burst_of_names_does_not_hold_up_another_sandbox(attach):
    busy, quiet = attach(SYNTHETIC), attach(SYNTHETIC)
    quiet.python("result = 0")
    names = [f"b{i}.many.test" for i in range(3000)]
    thread = threading.Thread(target=ask_many, args=(busy, names), kwargs={"patience": 60 * PATIENCE})
    thread.start()
    waits = []
    while thread.is_alive() and len(waits) < 50:
        began = time.monotonic()
        synthetic(quiet, f"q{len(waits)}.many.test")
        waits.append(time.monotonic() - began)
    thread.join()
    assert max(waits) < 1 * PATIENCE and len(waits) > 3, waits


# ---- where they come from


def test_the_pool_can_be_made_smaller(another_stack, attach):
    stack = another_stack("names-pool", extra="synthetic: 198.18.5.0/24")
    box = attach(SYNTHETIC, on=stack)
    names = [f"p{i}.many.test" for i in range(256)]
    found = ask_many(box, names)
    own = {address for _, address in found.values() if address != SHARED}
    assert own == {f"198.18.5.{i}" for i in range(1, 255)}
    assert [address for _, address in found.values()].count(SHARED) == 2


@pytest.mark.parametrize("pool,why", [
    ("10.0.0.0/8", "must lie within 198.18.0.0/15"), ("203.0.113.0/24", "must lie within 198.18.0.0/15"),
    ("198.16.0.0/14", "must lie within 198.18.0.0/15"), ("198.18.0.1/16", "a range of IPv4 addresses"),
    ("198.18.0.0/25", "a range of IPv4 addresses"), ("fd00::/64", "a range of IPv4 addresses"),
])
def test_a_pool_that_the_kernel_does_not_open_is_refused(another_stack, pool, why):
    stack = another_stack("names-bad-pool", start=False, extra=f"synthetic: {pool}")
    done = subprocess.run(
        [stack.tool("sallyportd"), "--check-config", stack.config], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert f"{stack.config}:" in done.stderr


# ---- dns: off


def test_off_no_name_exists_and_none_is_resolved(attach, watch, origin):
    box = attach(OFF)
    for kind in ("A", "AAAA", "TXT", "MX", "HTTPS", "PTR"):
        assert told(box, "api.test", kind) == ("NXDOMAIN", [])
        assert told(box, "denied.test", kind) == ("NXDOMAIN", [])
    assert told(box, "localhost") == ("NOERROR", ["127.0.0.1"])
    since = origin.mark()
    done = box.curl("-w", "%{http_code}", "--resolve", "api.test:80:203.0.113.10", "http://api.test/")
    assert done.stdout.endswith("502") and "dns-failure" in done.stdout
    assert origin.mark() == since and not watch.questions()
    assert "hello" in box.curl("http://203.0.113.10/", check=True).stdout, "the control: by its address"
