# SPDX-License-Identifier: Apache-2.0
"""Metadata and private addresses: refused at once with the right errno, and nothing on the wire."""
import errno
import json

import pytest

import client
from sandbox import Refused

METADATA = errno.ECONNREFUSED
PRIVATE = errno.EACCES

ADDRESSES = [
    ("169.254.169.254", METADATA),
    ("169.254.170.2", METADATA),
    ("100.100.100.200", METADATA),
    ("168.63.129.16", METADATA),
    ("fd00:ec2::254", METADATA),
    ("fd20:ce::254", METADATA),
    ("::ffff:169.254.169.254", METADATA),
    ("64:ff9b::a9fe:a9fe", METADATA),
    ("10.0.0.1", PRIVATE),
    ("172.16.0.1", PRIVATE),
    ("192.168.1.1", PRIVATE),
    ("100.64.0.1", PRIVATE),
    ("169.254.1.1", PRIVATE),
    ("fd00::1", PRIVATE),
    ("::ffff:10.0.0.1", PRIVATE),
    ("64:ff9b::a00:1", PRIVATE),
    ("2002:a00:1::1", PRIVATE),
    ("224.0.0.1", PRIVATE),
    ("240.0.0.1", PRIVATE),
    ("198.19.255.254", 0),  # the address of names that nothing opens: answers, so that it can be explained
    ("203.0.113.10", 0),
]

OPENED = """\
version: 1
name: opened
default: deny
private:
  - {cidr: 169.254.169.254/32, ports: [80], metadata: true}
  - {cidr: 10.0.0.0/8, ports: [80]}
  - {cidr: "fd00:ec2::254/128", ports: [80], metadata: true}
rules:
  - name: opened
    hosts: [169.254.169.254, 10.0.0.1, "fd00:ec2::254"]
    action: allow
"""


@pytest.mark.parametrize("address,error", ADDRESSES, ids=[a for a, _ in ADDRESSES])
def test_an_address_is_refused_by_its_class(sandbox, world, address, error):
    watch = world.watch()
    if not error:
        sandbox.connect(address, 80).close()
        return
    with pytest.raises(Refused) as refused:
        sandbox.connect(address, 80)
    if address == "224.0.0.1" and sandbox.lane == "nft":
        error = errno.ENETUNREACH  # TCP knows no multicast: there is no packet
    else:
        error = sandbox.errno(error)
    assert refused.value.errno == error, refused.value
    assert refused.value.ms < 100
    watch.nothing(address)


def test_the_control_the_same_requests_reach_the_canary_where_the_policy_opens_them(attach, world):
    opened = attach(OPENED)
    for address, url in (
        ("169.254.169.254", "http://169.254.169.254/opened"),
        ("169.254.169.254", "http://[::ffff:169.254.169.254]/opened"),
        ("10.0.0.1", "http://[::ffff:10.0.0.1]/opened"),
        ("10.0.0.1", "http://10.0.0.1/opened"),
        ("fd00:ec2::254", "http://[fd00:ec2::254]/opened"),
    ):
        watch = world.watch()
        done = opened.curl(url)
        assert done.returncode == 0, done.stderr
        assert f"at {address}" in done.stdout
        assert watch.packets_to(address), "the canary fires"
    for address, port, error in (
        ("10.0.0.1", 81, PRIVATE),  # another port than the opened one
        ("169.254.170.2", 80, METADATA),  # another metadata address
        ("192.168.1.1", 80, PRIVATE),
    ):
        watch = world.watch()
        with pytest.raises(Refused) as refused:
            opened.connect(address, port)
        assert refused.value.errno == opened.errno(error)
        watch.nothing(address)


def test_a_private_range_does_not_open_the_metadata_address_inside_it(attach, world):
    wide = attach(OPENED.replace("169.254.169.254/32, ports: [80], metadata: true", "169.254.0.0/16, ports: [80]"))
    watch = world.watch()
    with pytest.raises(Refused) as refused:
        wide.connect("169.254.169.254", 80)
    assert refused.value.errno == METADATA
    watch.nothing()


@pytest.mark.parametrize("name", ["private.test", "private6.test", "metadata.test", "mapped.test", "loopback.test"])
def test_a_name_that_resolves_to_a_refused_address_is_refused_by_the_dialler(sandbox, world, name):
    watch = world.watch()
    with client.plain(sandbox) as connection:
        reply = connection.get(host=name)
    assert reply.status == 403
    assert reply.refusal in ("private-address", "metadata-address"), reply
    watch.nothing(name)
    done = sandbox.curl(f"https://{name}/")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["error"]["category"] in ("private-address", "metadata-address")
    watch.nothing(name)


def test_a_name_with_one_public_and_one_private_address_never_reaches_the_private_one(sandbox, world):
    watch = world.watch()
    with client.plain(sandbox) as connection:
        reply = connection.get(host="mixed.test")
    assert reply.status in (200, 403), reply
    assert not watch.packets_to("10.0.0.1")


@pytest.mark.parametrize(
    "connected", [True, pytest.param(False, marks=pytest.mark.bpf)], ids=["connected", "unconnected"]
)
@pytest.mark.parametrize("address", ["203.0.113.10", "10.0.0.1", "2001:db8::10"])
def test_udp_other_than_dns_is_refused_at_once(sandbox, world, address, connected):
    watch = world.watch()
    error, milliseconds = sandbox.python(
        f"""
import socket, time
s = socket.socket(socket.AF_INET6 if ":" in "{address}" else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
start = time.monotonic()
try:
    if {connected}:
        s.connect(("{address}", 443)); s.send(b"quic"); s.recv(100)
    else:
        s.sendto(b"quic", ("{address}", 443)); s.recvfrom(100)
    result = [0, 0]
except socket.timeout:
    result = [110, 2000]
except OSError as error:
    result = [error.errno, (time.monotonic() - start) * 1000]
"""
    )
    assert error == errno.ECONNREFUSED
    assert milliseconds < 100
    assert not watch.packets_to(address)


@pytest.mark.bpf
def test_the_refusals_map_names_process_and_address(sandbox, stack):
    with pytest.raises(Refused):
        sandbox.connect("169.254.169.254", 4242)
    pid = sandbox.agent_pid
    entries = [entry["formatted"] for entry in stack.maps("refusals")]
    ours = [e for e in entries if e["key"]["dport"] == 4242]
    assert len(ours) == 1, entries
    assert bytes(int(b, 0) if isinstance(b, str) else b for b in ours[0]["key"]["dst"])[12:] == bytes([169, 254, 169, 254])
    assert ours[0]["value"]["client"]["tgid"] == pid
    assert "python" in str(ours[0]["value"]["client"]["comm"])
    assert ours[0]["value"]["error"] == METADATA


@pytest.mark.bpf
def test_a_kernel_refusal_is_in_the_audit_with_its_process(sandbox, stack):
    mark = stack.audit_mark()
    with pytest.raises(Refused):
        sandbox.connect("10.0.0.1", 4243)
    event = stack.wait_audit(mark, kind="refusal", sandbox=sandbox.id, asked="10.0.0.1:4243")[0]
    assert event["category"] == "private-address"
    assert event["client"]["pid"] == sandbox.agent_pid
    assert "python" in event["client"]["comm"]


def test_a_flood_of_refusals_is_counted_not_written_line_by_line(sandbox, stack):
    mark = stack.audit_mark()
    sandbox.python(
        """
import socket
for number in range(2000):
    s = socket.socket(); s.setblocking(False)
    try: s.connect(("10.1.0.1", 1024 + number))
    except OSError: pass
    s.close()
"""
    )
    with pytest.raises(Refused):
        sandbox.connect("10.1.0.2", 1)
    lines = stack.audit(mark, kind="refusal", sandbox=sandbox.id)
    assert len(lines) < 1500, "a hundred a second, whatever the sandbox does"


def test_more_connections_than_the_policy_allows_are_reset_and_told(attach, stack):
    box = attach("version: 1\nname: few\ndefault: allow\ndefault_tls: terminate\nlimits: {connections: 3}\n")
    mark = stack.audit_mark()
    kept = [client.plain(box) for _ in range(3)]
    for connection in kept:
        assert connection.get().status == 200
    try:  # the reset may be faster than what connect() does after the handshake
        with client.plain(box) as fourth:
            fourth.send("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
            assert fourth.ended()
    except OSError:
        pass
    stack.wait_audit(mark, sandbox=box.id, category="limit")
    for connection in kept:
        assert connection.get().status == 200
        connection.close()
