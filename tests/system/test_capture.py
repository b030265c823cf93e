# SPDX-License-Identifier: Apache-2.0
"""Every socket of the sandbox ends at the daemon, and notices nothing."""
import errno
import json
import os
import signal
import socket
import subprocess

import pytest

import client
import installed
from sandbox import PYTHON, Refused
from waiting import until

WAYS = {
    "v4": ("203.0.113.10", "AF_INET"),
    "v6": ("2001:db8::10", "AF_INET6"),
    "v4-mapped": ("::ffff:203.0.113.10", "AF_INET6"),
}


@pytest.mark.parametrize("way", WAYS)
def test_CAP_01_each_family_is_captured_alike(sandbox, stack, origin, way):
    address, family = WAYS[way]
    mark = stack.audit_mark()
    with client.https(sandbox, address=address, family=family) as connection:
        reply = connection.get("/echo")
    assert reply.status == 200
    assert json.loads(reply.body)["sni"] == "api.test"
    assert origin.last("/echo").connection.peer[0] in ("198.51.100.1", "2001:db8:ffff::1")
    events = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id)
    assert len(events) == 1, "one connection is logged once"
    asked = str(events[0]["asked"])
    assert "ffff:" not in asked, "a mapped address is logged as the IPv4 address that it is"
    assert address.removeprefix("::ffff:") in asked


@pytest.mark.bpf
def test_CAP_01_a_refused_address_is_refused_in_mapped_form_too(sandbox, stack, watch):
    for port, address in enumerate(("::ffff:169.254.169.254", "::ffff:10.0.0.1"), 4301):
        with pytest.raises(Refused) as plain:
            sandbox.connect(address.removeprefix("::ffff:"), 80)
        mark = stack.audit_mark()
        with pytest.raises(Refused) as mapped:
            sandbox.connect(address, port)
        assert mapped.value.errno == plain.value.errno
        asked = f"{address.removeprefix('::ffff:')}:{port}"
        (event,) = stack.wait_audit(mark, kind="refusal", sandbox=sandbox.id, asked=asked)
        assert event["count"] == 1, "logged once, as IPv4"
    watch.nothing()


def test_CAP_01_a_denied_host_is_denied_in_mapped_form_too(sandbox, stack, watch):
    told = []
    for address, family in (WAYS["v4"], WAYS["v4-mapped"]):
        mark = stack.audit_mark()
        with client.https(sandbox, "denied.test", address=address, family=family) as connection:
            reply = connection.get(host="denied.test")
        (event,) = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id)
        told.append((reply.status, reply.error, event["asked"], event["decision"], event["rule"]))
    assert told[0] == told[1] and told[0][0] == 403
    watch.nothing()


JAVA = """
public class Get {
    public static void main(String[] words) throws Exception {
        System.out.write(new java.net.URL(words[0]).openStream().readAllBytes());
        System.out.flush();
    }
}
"""


def test_CAP_01_java_whose_sockets_are_all_of_IPv6(sandbox, stack, world, origin):
    """openjdk of Debian; a name with an IPv4 address only, so that the socket has it in mapped form."""
    installed.need("java", "javac", "keytool")
    source, store = world.write("Get.java", JAVA), os.path.join(world.run, "java.p12")
    subprocess.run(["javac", "-d", world.run, source], check=True, capture_output=True, timeout=120)
    subprocess.run(
        ["keytool", "-importcert", "-noprompt", "-storetype", "PKCS12", "-storepass", "changeit",
         "-keystore", store, "-alias", "sandbox", "-file", sandbox.ca],
        check=True, capture_output=True, timeout=120,
    )
    os.chmod(store, 0o644)
    mark = stack.audit_mark()
    done = sandbox.run(
        ["java", "-Xshare:auto", f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit",
         "-cp", world.run, "Get", "https://v4only.test/java"], timeout=120,
    )
    assert "hello from v4only.test" in done.stdout, done.stderr[-2000:]
    assert origin.last("/java").connection.peer[0] == "198.51.100.1"
    (event,) = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id, host="v4only.test")
    assert event["asked"] == "203.0.113.11:443"
    assert sandbox.lane == "nft" or event["client"]["pid"]


def test_CAP_04_loopback_inside_is_left_alone(sandbox, stack):
    with open(f"{sandbox.home}/inside", "w", encoding="ascii") as file:
        file.write("inside")
    server = sandbox.popen(  # listens on both families
        [PYTHON, "-m", "http.server", "3000", "--bind", "::", "--directory", sandbox.home],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: sandbox.curl("http://127.0.0.1:3000/inside").returncode == 0, "the server inside")
        mark = stack.audit_mark()
        for name in ("127.0.0.1", "[::1]", "localhost", "127.8.9.10"):
            done = sandbox.curl(f"http://{name}:3000/inside")
            assert (done.returncode, done.stdout) == (0, "inside"), f"{name}: {done.stderr}"
        others = sandbox.python(
            f"""
import socket
result = []
for name in ("\\0inside", {sandbox.home + "/socket"!r}):
    server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
    one = socket.socket(socket.AF_UNIX); one.connect(name); other, _ = server.accept()
    one.send(b"by unix socket"); result.append(other.recv(100).decode())
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.socket(family, socket.SOCK_DGRAM); server.bind((address, 8125)); server.settimeout(5)
    one = socket.socket(family, socket.SOCK_DGRAM); one.sendto(b"by datagram", (address, 8125))
    result.append(server.recv(100).decode())
"""
        )
        assert others == ["by unix socket"] * 2 + ["by datagram"] * 2
        with client.plain(sandbox) as control:  # its record comes after any that there were
            assert control.get("/after-loopback").status == 200
        stack.wait_audit(mark, sandbox=sandbox.id, kind="connection", asked="203.0.113.10:80")
        seen = {e["asked"] for e in stack.audit(mark, sandbox=sandbox.id) if e["kind"] != "losses"}
        assert seen == {"203.0.113.10:80"}, "loopback is nobody's business"
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("address,family", [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_CAP_04_loopback_outside_is_not_reachable(sandbox, world, address, family):
    with world.edge.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind((address, 3001))
        listener.listen()
        listener.settimeout(0.5)

        def from_the_edge():
            return socket.create_connection((address, 3001), 5)

        world.edge.call(from_the_edge).close()
        listener.accept()[0].close()  # the control: it can be reached from where it is
        with pytest.raises(Refused) as refused:
            sandbox.connect(address, 3001)
        assert refused.value.errno == errno.ECONNREFUSED
        with pytest.raises(socket.timeout):
            listener.accept()


def _listeners(sandbox):
    """(family, address, port) of what listens in the sandbox's namespace and is not the sandbox's."""
    text = sandbox.python(
        "result = open('/proc/self/net/tcp').read() + open('/proc/self/net/tcp6').read()"
    )
    found = set()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == "0A":
            raw, port = fields[1].split(":")
            packed = b"".join(
                bytes.fromhex(raw[at : at + 8])[::-1] for at in range(0, len(raw), 8)
            )
            family = "AF_INET" if len(packed) == 4 else "AF_INET6"
            address = socket.inet_ntop(getattr(socket, family), packed)
            if int(port, 16) not in (3000, 3001):
                found.add((family, address, int(port, 16)))
    return found


def test_CAP_10_connecting_to_the_listener_itself_ends_at_once(sandbox, stack, watch):
    found = _listeners(sandbox)
    assert found, "the daemon's listeners live in the sandbox's namespace"

    def try_all(times):
        for _ in range(times):
            for family, address, port in sorted(found):
                try:
                    sock = sandbox.connect(address, port, family=family, timeout=2)
                except Refused:
                    continue  # not reachable at all: better still
                with client.Client(sock) as connection:
                    try:
                        connection.send("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
                    except OSError:
                        continue
                    assert connection.ended(2), f"{address}:{port} was served"

    mark = stack.audit_mark()
    try_all(2)

    def lines():
        return [e["asked"] for e in stack.audit(mark, sandbox=sandbox.id, rule="built-in", category="protocol-denied")]

    until(lambda: len(lines()) >= 2 * len(found), "a line for each")
    assert len(set(lines())) == len(found) and len(lines()) == 2 * len(found), "one line for each"
    before = stack.descriptors()
    try_all(1000 // len(found))
    until(lambda: stack.descriptors() <= before + 2, "the daemon's descriptors to come back")
    watch.nothing()
    with client.https(sandbox) as connection:  # and everybody else is still served
        assert connection.get().status == 200


@pytest.mark.bpf
def test_CAP_10_without_its_entry_in_the_map_a_connection_keeps_its_destination(sandbox, stack, world):
    """The entry tells who connected. Where to is the socket's own address, never the Host field's."""
    pins = os.path.join(stack.state, "bpf", "flows", sandbox.id)
    mark = stack.audit_mark()
    stack.pause_daemon()  # the connection waits in the backlog while its entry goes
    try:
        connection = client.plain(sandbox, "203.0.113.99")
        entries = [e["key"] for e in stack.maps(f"flows/{sandbox.id}")]
        assert entries, "the control: there is an entry"
        for key in entries:  # one of an earlier connection may be gone by itself
            subprocess.run(["bpftool", "map", "delete", "pinned", pins, "key", "hex", *(k[2:] for k in key)], check=False)
        assert not stack.maps(f"flows/{sandbox.id}")
    finally:
        os.kill(stack.daemon.pid, signal.SIGCONT)
    with connection:
        reply = connection.get(host="evil.test")
        assert (reply.status, reply.refusal) == (403, "host-denied")
    (event,) = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id, asked="203.0.113.99:80")
    assert event["client"] == "unattributed", "rather nobody than somebody else"
    with client.plain(sandbox) as connection:
        assert connection.get().status == 200


@pytest.mark.parametrize("way", WAYS)
def test_CAP_15_the_peer_is_who_was_asked_for(sandbox, way):
    address, family = WAYS[way]
    with sandbox.connect(address, 443, family=family) as sock:
        assert sock.getpeername()[:2] == (address, 443)


@pytest.mark.parametrize("server", ["203.0.113.99", "8.8.8.8", "2001:db8::99", "::ffff:203.0.113.99"])
def test_CAP_15_a_dns_reply_comes_from_the_server_that_was_asked(sandbox, server):
    source = sandbox.python(
        f"""
import socket
question = bytes.fromhex("1234 0100 0001 0000 0000 0000 03617069 0474657374 00 0001 0001".replace(" ", ""))
s = socket.socket(socket.AF_INET6 if ":" in "{server}" else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(question, ("{server}", 53))
data, peer = s.recvfrom(2000)
result = [peer[0], peer[1], data[:2].hex()]
"""
    )
    assert source == [server, 53, "1234"]


def test_sockets_outside_the_cgroup_are_captured_and_refused_too(sandbox, world, stack):
    """A socket that the cgroup's programs never see: made in the namespace by a process of elsewhere."""
    with client.Client(sandbox.netns.socket(socket.AF_INET, socket.SOCK_STREAM)) as connection:
        connection.sock.settimeout(10)
        sandbox.netns.call(connection.sock.connect, ("203.0.113.10", 80))
        assert connection.get("/echo").status == 200
    watch = world.watch()
    for family, address in ((socket.AF_INET, "169.254.169.254"), (socket.AF_INET, "10.0.0.1"),
                            (socket.AF_INET6, "fd00:ec2::254")):
        with sandbox.netns.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(3)
            with pytest.raises(ConnectionRefusedError):
                sandbox.netns.call(sock.connect, (address, 80))
    watch.nothing()


def test_one_connection_in_two_workers_sandboxes_and_families_at_once(sandbox, attach):
    other = attach()
    connections = [
        client.https(box, address=address, family=family)
        for box in (sandbox, other)
        for address, family in WAYS.values()
        for _ in range(4)
    ]
    for connection in connections:
        assert connection.get().status == 200
    for connection in connections:
        connection.close()
