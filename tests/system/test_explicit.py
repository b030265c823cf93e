# SPDX-License-Identifier: Apache-2.0
"""Clients that believe in a proxy: they work as they are, and what their CONNECT leads to (CAP-09)."""
import base64
import json
import os
import socket
import ssl

import pytest

import client
import javaclass
from documents import API_SECRET, GIT_SECRET
from origin import raw
from proxied import AFTER_EOF, BANNER, ECHO, PROXY, PROXY_PORT, URL, connected, head, of_connection, proxy, shaken, through
from proxied import arrived, box, no_packet_to_the_proxy, opened, servers  # noqa: F401 - the fixtures
from sandbox import PYTHON
from test_tunnel import address_of, ended, hello_of, read_all, read_exactly
from waiting import until

# ---- real clients ------------------------------------------------------------------------------------

UNDICI = "/usr/lib/node_modules/npm/node_modules/undici"
URLLIB = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"
AGENT = (
    f"const {{ProxyAgent, fetch}} = require('{UNDICI}');"
    f"fetch(process.argv[1], {{dispatcher: new ProxyAgent({{uri: '{URL}', requestTls: {{ca: "
    "require('fs').readFileSync(process.env.NODE_EXTRA_CA_CERTS)}})}).then(async r => console.log(await r.text()))"
)
CLIENTS = {
    "curl": ["curl", "-sS", "-x", URL],
    "curl --proxytunnel": ["curl", "-sS", "--proxytunnel", "-x", URL],
    "curl with HTTP/1.0": ["curl", "-sS", "--proxy1.0", f"{PROXY}:{PROXY_PORT}"],
    "curl with a password for the proxy": ["curl", "-sS", "-x", f"http://user:pass@{PROXY}:{PROXY_PORT}"],
    "wget": ["wget", "-qO-", "-e", f"http_proxy={URL}", "-e", f"https_proxy={URL}"],
    "python urllib": [PYTHON, "-c", URLLIB],
    "undici": ["node", "-e", AGENT],
}
ENVIRONMENT = {"HTTPS_PROXY": URL, "HTTP_PROXY": URL, "http_proxy": URL, "https_proxy": URL}


@pytest.mark.parametrize("scheme,port", [("https", 443), ("http", 80)])
@pytest.mark.parametrize("name", CLIENTS)
def test_CAP_09_a_client_with_a_proxy_works_unchanged(box, stack, arrived, name, scheme, port):
    if name == "undici" and not os.path.isdir(UNDICI):
        pytest.skip("no undici beside npm")
    mark = stack.audit_mark()
    env = ENVIRONMENT if name.startswith("python") else {}
    done = box.run([*CLIENTS[name], f"{scheme}://api.test/by-proxy"], env=env)
    assert done.returncode == 0 and "hello from api.test" in done.stdout, f"{done.stdout} {done.stderr}"
    assert arrived() == [("203.0.113.10", port)]
    event = of_connection(stack, mark, sandbox=box.id)
    assert (event["asked"], event["host"]) == (f"{PROXY}:{PROXY_PORT}", "api.test")
    (request,) = stack.wait_audit(mark, kind="request", sandbox=box.id)
    assert (request["target"], request["host"], request["path"], request["status"]) == (
        f"api.test:{port}", "api.test", "/by-proxy", 200)


def test_CAP_09_a_proxy_by_a_name_that_no_rule_opens(box, stack, arrived):
    """curl asks our DNS for the proxy: the name has the address of what is refused, and that is ignored."""
    mark = stack.audit_mark()
    done = box.run(["curl", "-sS", "https://api.test/proxy-by-name"], env={"HTTPS_PROXY": "http://corp.test:3128"}, check=True)
    assert "hello from api.test" in done.stdout
    assert arrived() == [("203.0.113.10", 443)]
    event = of_connection(stack, mark, sandbox=box.id)
    assert (event["asked"], event["target"], event["host"], event["rule"], event["decision"]) == (
        "198.19.255.254:3128", "api.test:443", "api.test", "web", "allow")
    assert event["protocols"] == ["tcp", "tls", "h2"]


def test_CAP_09_git_by_its_own_setting_with_the_real_password(box, origin):
    helper = f"!f() {{ echo username=oauth2; echo password={box.placeholder('GIT_TOKEN')}; }}; f"
    done = box.run(["git", "-c", f"http.proxy={URL}", "-c", f"credential.helper={helper}", "ls-remote",
                    "https://git.test/r.git"])
    assert "refs/heads/main" in done.stdout, done.stderr
    sent = base64.b64decode(origin.last("/r.git/info/refs").value("authorization").removeprefix("Basic "))
    assert sent == f"oauth2:{GIT_SECRET}".encode()
    assert GIT_SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_CAP_09_java_by_its_properties(box, scheme):
    with open(os.path.join(box.home, "Get.class"), "wb") as out:
        out.write(javaclass.get())
    store = os.path.join(box.home, "trust.p12")
    if not os.path.exists(store):
        box.run(["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", box.trusted, "-keystore", store,
                 "-storepass", "changeit"], check=True)
    options = [f"-D{s}.proxy{what}={value}" for s in ("http", "https")
               for what, value in (("Host", PROXY), ("Port", PROXY_PORT))]
    done = box.run(["java", "-Xshare:auto", f"-Djavax.net.ssl.trustStore={store}",
                    "-Djavax.net.ssl.trustStorePassword=changeit", *options, "-cp", box.home, "Get",
                    f"{scheme}://api.test/java"])
    assert "hello from api.test" in done.stdout, done.stderr


@pytest.mark.parametrize("name", [name for name in CLIENTS if name.startswith(("curl", "python"))])
def test_the_control_without_our_trust_they_refuse(box, world, name):
    box.write_trust(world.pki.ca)
    try:
        done = box.run([*CLIENTS[name], "https://api.test/"], env=ENVIRONMENT)
    finally:
        box.write_trust("/etc/ssl/certs/ca-certificates.crt", box.ca)
    assert done.returncode != 0 and "hello" not in done.stdout


def test_a_denied_target_is_told_by_clients(box, watch):
    done = box.run(["curl", "-sS", "-x", URL, "https://denied.test/"])
    assert done.returncode == 56 and "403" in done.stderr
    done = box.run(["curl", "-sS", "-x", URL, "http://denied.test/"], check=True)
    assert json.loads(done.stdout)["error"]["rule"] == "never"
    done = box.run(["git", "-c", f"http.proxy={URL}", "ls-remote", "https://denied.test/r.git"])
    assert done.returncode != 0 and "403" in done.stderr
    watch.nothing()


# ---- CONNECT: what is answered -----------------------------------------------------------------------


@pytest.mark.parametrize("address,port", [(PROXY, 3128), (PROXY, 443), (PROXY, 80), (PROXY, 9999), ("2001:db8::99", 3128)])
def test_CAP_09_the_targets_port_counts_and_not_the_proxys(box, arrived, address, port):
    with through(box, "other.test:8443", address=address, port=port) as session:
        assert session.get("/hello", host="other.test:8443").status == 200
    assert arrived() == [("203.0.113.14", 8443)]


def test_CAP_09_the_records_say_both_places(box, stack):
    mark = stack.audit_mark()
    with through(box, "other.test:8443") as session:
        session.get("/recorded?a=b", host="other.test:8443")
    event = of_connection(stack, mark, sandbox=box.id)
    assert (event["asked"], event["target"], event["host"]) == (
        f"{PROXY}:{PROXY_PORT}", "other.test:8443", "other.test")
    assert (event["decision"], event["rule"], event["protocols"]) == ("allow", "web", ["tcp", "tls", "http/1.1"])
    (request,) = stack.wait_audit(mark, kind="request", sandbox=box.id)
    assert (request["method"], request["path"], request["target"]) == ("GET", "/recorded?a=***", "other.test:8443")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_CONNECT_may_lack_Host_in_1_0_only(box, version):
    with proxy(box) as connection:
        connection.send(f"CONNECT api.test:443 HTTP/{version}\r\n\r\n")
        assert connection.line().split()[1] == (b"200" if version == "1.0" else b"400")


@pytest.mark.parametrize("host", ["api.test:443", "api.test", "API.test.:443"])
def test_Host_of_a_CONNECT_may_be_spelled_as_clients_do(box, host):
    with shaken(box, connected(box, "api.test:443", host), "api.test") as session:
        assert session.get("/hello").status == 200


def test_a_hello_right_behind_the_head_is_kept(box):
    context = ssl.create_default_context(cafile=box.ca)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="api.test")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    sock = connected(box, "api.test:443", behind=outgoing.read())
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            sock.sendall(outgoing.read())
            incoming.write(sock.recv(65536))
    tls.write(b"GET /early HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
    sock.sendall(outgoing.read())
    incoming.write(read_all(sock))
    assert tls.read(65536).startswith(b"HTTP/1.1 200")
    sock.close()


def test_a_head_byte_by_byte(box):
    sock = box.connect(PROXY, PROXY_PORT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in head("api.test:443", extra="User-Agent: drip\r\n").encode():
        sock.sendall(bytes([byte]))
    assert read_exactly(sock, 12) == b"HTTP/1.1 200"
    while read_exactly(sock, 1) != b"\n":
        pass
    assert read_exactly(sock, 2) == b"\r\n"
    with shaken(box, sock, "api.test") as session:
        assert session.get("/hello").status == 200


def test_without_SNI_the_target_is_the_name(box):
    sock = connected(box, "api.test:443")
    context = ssl.create_default_context(cafile=box.ca)
    context.check_hostname = False
    with client.Client(context.wrap_socket(sock)) as session:
        names = session.sock.getpeercert()["subjectAltName"]
        assert ("DNS", "api.test") in names
        assert session.get("/hello").status == 200
        assert session.get("/hello", host="other.test").refusal == "host-mismatch"
    sock = connected(box, "203.0.113.40:443")
    with client.Client(context.wrap_socket(sock)) as session:
        assert session.get("/hello", host="203.0.113.40").status == 200


def test_SNI_is_judged_as_ever(box, arrived, watch):
    """Another name than the target's is where the session goes, when a rule opens it at that port."""
    with through(box, "api.test:8443", "other.test") as session:
        assert session.get("/hello", host="other.test:8443").status == 200
    assert arrived() == [("203.0.113.14", 8443)]
    before = len(watch.connections())
    with through(box, "api.test:443", "denied.test") as session:
        reply = session.get("/", host="denied.test")
        assert (reply.status, reply.refusal) == (403, "host-denied")
    assert len(watch.connections()) == before


def test_credentials_are_swapped_within_and_nothing_for_the_proxy_leaves(box, origin):
    token = box.placeholder("API_TOKEN")
    secret = f"Proxy-Authorization: Basic {'cHJveHk6c2VjcmV0'}\r\nProxy-Connection: keep-alive\r\n"
    bearer = f"Authorization: Bearer {token}\r\n"
    with through(box, "api.test:443", extra=secret) as session:
        session.get("/swapped-within", extra=bearer)
    assert origin.last("/swapped-within").value("authorization") == f"Bearer {API_SECRET}"
    with proxy(box) as connection:
        reply = connection.exchange(head("http://api.test/in-plain-text", "api.test", secret + bearer, "GET"))
        assert reply.status == 200
    sent = origin.last("/in-plain-text")
    assert sent.value("authorization") == f"Bearer {token}"
    assert (sent.target, sent.value("host")) == ("/in-plain-text", "api.test")
    assert not sent.values("proxy-authorization") and not sent.values("proxy-connection")
    assert b"cHJveHk6c2VjcmV0" not in origin.received()


def test_plain_HTTP_within_is_for_the_target_alone(box, stack, origin, arrived, watch):
    mark = stack.audit_mark()
    with client.Client(connected(box, "other.test:8080")) as session:
        assert session.get("/one", host="other.test:8080").status == 200
        assert session.get("/two", host="other.test").status == 200
        assert session.exchange(head("http://other.test:8080/three", "other.test:8080", method="GET")).status == 200
        opened = len(watch.connections())
        assert session.get("/four", host="api.test:8080").refusal == "host-mismatch"
        assert session.ended()
    assert set(arrived()) == {("203.0.113.14", 8080)} and len(watch.connections()) == opened
    assert not origin.requests("/four")
    requests = stack.wait_audit(mark, kind="request", sandbox=box.id, path="/four")
    assert [r["target"] for r in requests] == ["other.test:8080"]
    with client.Client(connected(box, "api.test:80")) as session:
        assert session.exchange(head("http://other.test/", "other.test", method="GET")).refusal == "host-mismatch"


# ---- CONNECT: tunnels --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["tunnel.test", "203.0.113.60"])
def test_a_server_that_speaks_first_is_heard(box, stack, servers, target):
    mark = stack.audit_mark()
    with connected(box, f"{target}:{BANNER}") as sock:
        assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
        sock.sendall(b"EHLO\r\n")
        assert read_exactly(sock, 6) == b"EHLO\r\n"
    assert servers[BANNER].accepted[-1].local[0] == "203.0.113.60"
    event = of_connection(stack, mark, sandbox=box.id)
    assert (event["decision"], event["target"], event["host"], event["protocols"]) == (
        "tunnel", f"{target}:{BANNER}", target, ["tcp"])


def test_raw_bytes_right_behind_the_head_reach_the_server(box, servers):
    with connected(box, f"tunnel.test:{ECHO}", behind=b"\x00early") as sock:
        assert read_exactly(sock, 6) == b"\x00early"
    with connected(box, f"tunnel.test:{AFTER_EOF}", behind=b"REQ\n") as sock:
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b"r" * 1048576


def test_an_address_that_stands_for_a_name_is_that_name(box, stack, servers):
    mark = stack.audit_mark()
    address = address_of(box, "tunnel.test")
    with connected(box, f"{address}:{BANNER}") as sock:
        assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
    assert of_connection(stack, mark, sandbox=box.id)["target"] == f"tunnel.test:{BANNER}"


def test_a_tunnel_at_443_is_for_its_name(box, world, stack, watch):
    context = ssl.create_default_context(cafile=world.pki.ca)
    with client.Client(context.wrap_socket(connected(box, "site.test:443"), server_hostname="site.test")) as session:
        assert session.get("/hello", host="site.test").status == 200  # with the server itself
    mark = stack.audit_mark()
    with connected(box, "site.test:443") as sock:
        sock.sendall(hello_of("api.test"))
        assert ended(sock) == "reset"
    assert of_connection(stack, mark, sandbox=box.id, decision="deny")["category"] == "host-mismatch"


def test_a_tunnels_name_under_a_target_that_is_terminated(box, world):
    """As ever: the hello decides."""
    context = ssl.create_default_context(cafile=world.pki.ca)
    sock = connected(box, "api.test:443")
    with client.Client(context.wrap_socket(sock, server_hostname="site.test")) as session:
        assert session.get("/hello", host="site.test").status == 200


RAW = {
    "binary": b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
    "SSH": b"SSH-2.0-x\r\n",
    "SOCKS 4": b"\x04\x01\x01\xbb\xcb\x00\x71\x0a\x00",
    "SOCKS 5": b"\x05\x01\x00",
    "SSLv2": bytes.fromhex("802e0100020015000000100100800200800300800400800500800600400700c0") + bytes(16),
}


@pytest.mark.parametrize("what", RAW)
def test_raw_bytes_pass_under_a_tunnel_alone(box, stack, watch, what):
    mark = stack.audit_mark()
    with connected(box, "api.test:443") as sock:
        sock.sendall(RAW[what])
        assert ended(sock) == "reset"
    assert of_connection(stack, mark, sandbox=box.id)["category"] == "protocol-denied"
    with box.connect(PROXY, PROXY_PORT) as sock:  # the reset may come before the answer does
        sock.sendall(head("api.test:443").encode() + RAW[what])
        with pytest.raises(ConnectionResetError):
            until(lambda: not sock.recv(100), "a reset")
    watch.nothing(what)


@pytest.mark.parametrize("what", ["SOCKS 4", "SOCKS 5"])
def test_a_SOCKS_greeting_is_refused(box, stack, watch, what):
    mark = stack.audit_mark()
    with box.connect(PROXY, 1080) as sock:
        sock.sendall(RAW[what])
        assert ended(sock) == "reset"
    assert of_connection(stack, mark, sandbox=box.id)["category"] == "protocol-denied"
    watch.nothing(what)


# ---- default: allow ----------------------------------------------------------------------------------


def test_an_unnamed_host_is_passed_through(opened, world, stack, servers, arrived):
    context = ssl.create_default_context(cafile=world.pki.ca)
    mark = stack.audit_mark()
    sock = connected(opened, "evil.test:443")
    with client.Client(context.wrap_socket(sock, server_hostname="evil.test")) as session:
        assert session.get("/hello", host="evil.test").status == 200
    assert arrived() == [("203.0.113.31", 443)]
    event = of_connection(stack, mark, sandbox=opened.id)
    assert (event["decision"], event["target"], event["protocols"]) == ("pass", "evil.test:443", ["tcp", "tls"])
    with connected(opened, f"two.test:{BANNER}") as sock:
        assert read_exactly(sock, len(raw.BANNER)) == raw.BANNER
    assert servers[BANNER].accepted[-1].local[0] in ("203.0.113.63", "203.0.113.64")
    with connected(opened, f"203.0.113.61:{ECHO}", behind=b"\x00raw") as sock:
        assert read_exactly(sock, 4) == b"\x00raw"


def test_what_is_named_is_terminated_and_denied_as_ever(opened, watch):
    with through(opened, "api.test:443") as session:
        assert session.get("/hello").status == 200
    opens = len(watch.connections())
    with through(opened, "evil.test:443", "denied.test") as session:
        assert session.get("/", host="denied.test").refusal == "host-denied"
    with proxy(opened) as connection:
        assert connection.exchange(head("denied.test:443")).refusal == "host-denied"
    assert len(watch.connections()) == opens
