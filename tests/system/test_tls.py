# SPDX-License-Identifier: Apache-2.0
"""TLS on both sides: what the sandbox's clients accept, and what is never accepted from an upstream."""
import ipaddress
import json
import os
import re
import ssl
import subprocess

import pytest

import client
import hello
from origin import zone


def _pem(sandbox, name="api.test"):
    with sandbox.tls(name=name) as sock:
        return ssl.DER_cert_to_PEM_cert(sock.getpeercert(binary_form=True))


def _text(path_or_pem):
    pem = path_or_pem if path_or_pem.startswith("-----") else open(path_or_pem, encoding="ascii").read()
    return subprocess.run(
        ["openssl", "x509", "-noout", "-text"], input=pem, text=True, check=True, capture_output=True
    ).stdout


def test_TLS_01_the_strictest_verifier_accepts_leaf_and_authority(sandbox, world):
    leaf = world.write(f"{sandbox.id}.leaf.pem", _pem(sandbox))
    done = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "api.test",
         "-CAfile", sandbox.ca, leaf],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    context = ssl.create_default_context(cafile=sandbox.ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with sandbox.connect("203.0.113.10", 443) as sock:
        context.wrap_socket(sock, server_hostname="api.test").close()


def test_TLS_01_the_extensions_are_those_of_RFC_5280(sandbox):
    ca, leaf = _text(sandbox.ca), _text(_pem(sandbox))
    assert re.search(r"Basic Constraints: critical\s+CA:TRUE, pathlen:0", ca)
    assert re.search(r"Key Usage: critical\s+Certificate Sign, CRL Sign", ca)
    assert "Subject Key Identifier" in ca and "prime256v1" in ca
    assert re.search(r"Basic Constraints:[^\n]*\s+CA:FALSE", leaf)
    assert re.search(r"Key Usage:[^\n]*\s+Digital Signature\n", leaf)
    assert re.search(r"Extended Key Usage:[^\n]*\s+TLS Web Server Authentication\n", leaf)
    assert "Subject Key Identifier" in leaf and "Authority Key Identifier" in leaf
    assert re.search(r"Subject Alternative Name:[^\n]*\s+DNS:api.test\n", leaf)
    done = subprocess.run(
        ["openssl", "x509", "-noout", "-checkend", str(24 * 3600)],
        input=_pem(sandbox), text=True, capture_output=True, check=False,
    )
    assert done.returncode == 1, "a leaf lives for a day at most"


def test_TLS_01_each_sandbox_has_an_authority_of_its_own(sandbox, attach):
    other = attach()
    with open(sandbox.ca, encoding="ascii") as one, open(other.ca, encoding="ascii") as two:
        assert one.read() != two.read()
    context = ssl.create_default_context(cafile=other.ca)
    with sandbox.connect("203.0.113.10", 443) as sock, pytest.raises(ssl.SSLCertVerificationError):
        context.wrap_socket(sock, server_hostname="api.test")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_both_versions_of_TLS_are_spoken(sandbox, version):
    with client.https(sandbox, version=version) as connection:
        assert connection.sock.version() == version.name.replace("_", ".")
        assert connection.get().status == 200


@pytest.mark.parametrize(
    "offered,chosen",
    [(("http/1.1",), "http/1.1"), (("http/1.0", "http/1.1"), "http/1.1"), (("spdy/3",), None), ((), None)],
    ids=["h1", "h1 last", "another", "none"],
)
def test_TLS_03_http_1_1_or_nothing_is_chosen(sandbox, origin, offered, chosen):
    """Of a client that does not offer h2; test_h2.py has those that do."""
    with client.https(sandbox, "both.test", "203.0.113.71", alpn=offered) as connection:
        assert connection.sock.selected_alpn_protocol() == chosen
        reply = connection.get("/echo", host="both.test")
    assert reply.status == 200
    assert json.loads(reply.body)["alpn"] == "h2", "upstream is settled for itself"


def test_TLS_03_real_clients_without_h2(sandbox):
    assert "hello from api.test" in sandbox.curl("--http1.1", "https://api.test/", check=True).stdout
    assert "hello from api.test" in sandbox.curl("https://api.test/", check=True).stdout
    node = "require('https').get('https://api.test/', r => r.on('data', d => process.stdout.write(d)))"
    assert "hello from api.test" in sandbox.run(["node", "-e", node], check=True).stdout
    done = sandbox.run(
        ["openssl", "s_client", "-quiet", "-connect", "203.0.113.10:443", "-servername", "api.test",
         "-verify_return_error"],
        input=b"GET / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n",
    )
    assert "hello from api.test" in done.stdout, done.stderr[-1000:]


@pytest.mark.parametrize("url", [f"https://{zone.IP_ORIGIN4}/", f"https://[{zone.IP_ORIGIN6}]/"])
def test_TLS_13_an_address_in_the_url(sandbox, url):
    done = sandbox.curl(url, check=True)
    assert "hello from" in done.stdout


@pytest.mark.parametrize("address", [zone.IP_ORIGIN4, zone.IP_ORIGIN6])
def test_TLS_13_the_leaf_bears_the_address(sandbox, address):
    with sandbox.tls(address, name=address) as sock:  # verifies it too; an address is no SNI
        found = dict(sock.getpeercert())["subjectAltName"]
    assert [(kind, ipaddress.ip_address(value)) for kind, value in found] == [
        ("IP Address", ipaddress.ip_address(address))]


def test_TLS_13_an_address_as_server_name(sandbox):
    done = sandbox.run(
        ["openssl", "s_client", "-quiet", "-connect", f"{zone.IP_ORIGIN4}:443",
         "-servername", zone.IP_ORIGIN4, "-verify_return_error"],
        input=f"GET / HTTP/1.1\r\nHost: {zone.IP_ORIGIN4}\r\nConnection: close\r\n\r\n".encode(),
    )
    assert "hello from" in done.stdout, done.stderr[-1000:]


def test_TLS_13_an_upstream_without_that_address_is_not_accepted(sandbox, origin):
    before = origin.received()
    done = sandbox.curl("-w", "\n%{http_code}", f"https://{zone.NAME_ORIGIN4}/secret-path", check=True)
    body, _, status = done.stdout.rpartition("\n")
    assert status == "502"
    assert json.loads(body)["error"]["category"] == "upstream-tls"
    assert origin.received() == before, "no byte of the request went to the wrong server"


@pytest.mark.parametrize(
    "name,reason",
    [("wrong.test", "HOSTNAME_MISMATCH"), ("expired.test", "CERT_HAS_EXPIRED"),
     ("selfsigned.test", "SELF_SIGNED")],
)
def test_TLS_24_an_upstream_with_a_bad_certificate_gets_nothing(sandbox, origin, stack, name, reason):
    before = origin.received()
    mark = stack.audit_mark()
    done = sandbox.curl(
        "-w", "\n%{http_code}", "-H", f"Authorization: Bearer {sandbox.placeholder('API_TOKEN')}",
        f"https://{name}/secret-path", check=True,
    )
    body, _, status = done.stdout.rpartition("\n")
    error = json.loads(body)["error"]
    assert (status, error["category"]) == ("502", "upstream-tls")
    assert reason in error["message"], error
    assert origin.received() == before
    assert stack.wait_audit(mark, sandbox=sandbox.id, category="upstream-tls")
    control = sandbox.curl("https://api.test/secret-path", check=True)
    assert "hello" in control.stdout and origin.received() != before


# ---- bad input ---------------------------------------------------------------------------------------

_good = hello.make("api.test")
BAD_HELLOS = {
    "sslv2": hello.SSLV2,
    "handshake of type 9": _good[:5] + b"\x09" + _good[6:],
    "record of version 9": b"\x16\x09\x09" + _good[3:],
    "an alert first": b"\x15\x03\x01\x00\x02\x02\x28",
    "application data first": b"\x17\x03\x03\x00\x05hello",
    "empty record": b"\x16\x03\x01\x00\x00" * 40,
    "a length beyond the message": _good[:6] + b"\xff\xff\xff" + _good[9:],
    "an extension list too long": hello.with_extension_total(_good, 0xFFFF),
    "an extension list too short": hello.with_extension_total(_good, 7),
    "noise in a record": b"\x16\x03\x01\x01\x00" + bytes(range(256)),
    "a name with NUL": hello.with_name_bytes("ok.testX.evil.test", {7: 0}),
    "a name with a space": hello.with_name_bytes("ok.testX.evil.test", {7: 32}),
    "a name with @": hello.with_name_bytes("ok.testX.evil.test", {7: 64}),
    "a name with 0xff": hello.with_name_bytes("ok.testX.evil.test", {7: 255}),
    "raw protocol": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "socks5": b"\x05\x01\x00",
    "postgres": bytes.fromhex("0000000804d2162f"),
}


DECODE_ERROR, UNRECOGNIZED_NAME = b"\x15\x03\x03\0\2\2\x32", b"\x15\x03\x03\0\2\2\x70"
ALERTS = {  # the rest is no TLS handshake at all, and is reset
    **dict.fromkeys([w for w in BAD_HELLOS if w.startswith("a name with")], UNRECOGNIZED_NAME),
    **dict.fromkeys(["handshake of type 9", "an alert first", "application data first", "empty record",
                     "a length beyond the message",
                     "an extension list too long", "an extension list too short", "noise in a record"], DECODE_ERROR),
}


@pytest.mark.parametrize("port", [443, 80])
@pytest.mark.parametrize("what", BAD_HELLOS)
def test_a_malformed_first_word_ends_the_connection_and_goes_nowhere(sandbox, world, what, port):
    watch = world.watch()
    with client.https(sandbox, "other.test") as neighbour:
        assert neighbour.get(host="other.test").status == 200
        assert watch.fired(), "the control: a good one arrives"
        watch = world.watch()
        with client.Client(sandbox.connect("203.0.113.10", port)) as connection:
            connection.send(BAD_HELLOS[what])
            connection.sock.settimeout(5)
            try:
                answer = connection.sock.recv(65536)
                while answer and (more := connection.sock.recv(65536)):
                    answer += more
            except ConnectionError:
                answer = b""
        assert answer == ALERTS.get(what, b""), answer[:100]
        watch.nothing(what)
        assert neighbour.get(host="other.test").status == 200, "other connections are unharmed"


def test_half_a_hello_and_an_end_is_an_end(sandbox):
    with client.Client(sandbox.connect("203.0.113.10", 443)) as connection:
        connection.send(_good[:100])
        connection.sock.shutdown(1)
        assert connection.ended(3), "nothing more can come: nothing to wait for"


@pytest.mark.parametrize("size", [1, 50, 200])
def test_a_hello_in_many_records_and_segments_is_a_hello(sandbox, size):
    with sandbox.connect("203.0.113.10", 443) as sock:
        sock.setsockopt(6, 1, 1)  # TCP_NODELAY
        for byte in _split(hello.in_records(_good, size), 100):
            sock.sendall(byte)
        head = sock.recv(6)
    assert head[:1] == b"\x16" and head[5:6] == b"\x02", head


def _split(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("host", ["other.test", "evil.test", "api.test:8443", "api.test.", "203.0.113.10"])
def test_a_host_that_is_not_the_server_name_is_refused(sandbox, world, host):
    with client.https(sandbox) as connection:
        assert connection.get().status == 200
        watch = world.watch()
        reply = connection.get(host=host)
        if host == "api.test.":
            assert reply.status == 200, "a trailing dot is the same name"
            return
        assert (reply.status, reply.refusal) == (403, "host-mismatch")
        watch.nothing(host)


def test_a_hello_for_a_denied_name_is_answered_in_words(sandbox, world):
    watch = world.watch()
    with client.https(sandbox, "denied.test") as connection:
        reply = connection.get(host="denied.test")
        assert (reply.status, reply.refusal) == (403, "host-denied")
        assert connection.ended()
    watch.nothing()


def test_an_upstream_that_speaks_no_TLS_is_an_upstream_fault(sandbox, origin, world):
    # port 8080 of the origin is plain HTTP: a TLS connection to it fails there
    with client.https(sandbox, address="203.0.113.10", port=8080) as connection:
        reply = connection.get(host="api.test:8080")
    assert (reply.status, reply.refusal) == (502, "upstream-tls")


def test_an_upstream_that_is_not_there_is_an_upstream_fault(sandbox):
    with client.plain(sandbox, port=8081) as connection:
        reply = connection.get(host="closed.test:8081")
    assert (reply.status, reply.refusal) == (502, "upstream-connect")
    with client.plain(sandbox) as connection:  # there, but gone without a word
        assert connection.get("/reset", host="closed.test").status == 502


def test_no_private_key_of_the_authority_is_handed_out(sandbox, stack):
    handed = os.listdir(sandbox.handout)
    assert sorted(handed) == ["ca.pem", "environment"]
    for name in handed:
        with open(os.path.join(sandbox.handout, name), encoding="ascii") as file:
            assert "PRIVATE" not in file.read()
    for folder, _, names in os.walk(stack.state):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".key"):
                assert os.stat(path).st_mode & 0o077 == 0, path
