# SPDX-License-Identifier: Apache-2.0
"""Who may be reached: the words of a refusal, names that look alike, and spellings that try to slip through."""
import errno
import json
import socket
import subprocess
import time

import pytest

import client
import hello
import topology
from documents import POLICY
from sandbox import PYTHON, Refused, Sandbox, attached

SHARED = "198.19.255.254"  # the address of names that no rule opens

# ---- POL-01 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_POL_01_a_denial_says_so_in_words(sandbox, world, stack, scheme):
    watch, mark = world.watch(), stack.audit_mark()
    done = sandbox.curl("--http1.1", "-D", "-", f"{scheme}://denied.test/", check=True)
    head, _, body = done.stdout.replace("\r", "").partition("\n\n")
    assert head.startswith("HTTP/1.1 403")
    assert "content-type: application/json" in head.lower()
    assert "sallyport-refusal: host-denied" in head.lower()
    error = json.loads(body)["error"]
    assert error["category"] == "host-denied"
    assert error["host"] == "denied.test"
    assert error["rule"] == "never"
    assert "denied.test" in error["message"] and error["hint"]
    watch.nothing()
    for kind in ("request", "connection"):
        (event,) = stack.wait_audit(mark, sandbox=sandbox.id, kind=kind, host="denied.test")
        assert (event["decision"], event["rule"]) == ("deny", "never"), kind


def test_POL_01_a_name_that_no_rule_has_names_the_default(sandbox):
    error = json.loads(sandbox.curl("https://never-heard-of.example/", check=True).stdout)["error"]
    assert (error["category"], error["rule"]) == ("host-denied", "default")


def test_POL_01_real_clients_show_the_403(sandbox):
    done = sandbox.run(["git", "ls-remote", "https://denied.test/r.git"])
    assert done.returncode != 0 and "403" in done.stderr
    done = sandbox.run(["wget", "-qO-", "--content-on-error", "https://denied.test/"])
    assert "host-denied" in done.stdout
    script = "fetch('https://denied.test/').then(async r => console.log(r.status, await r.text()))"
    assert "403" in (out := sandbox.run(["node", "-e", script], check=True).stdout) and "never" in out


@pytest.mark.parametrize("address", ["203.0.113.30", SHARED])
@pytest.mark.parametrize("port", [5432, 443, 80, 22])
def test_POL_01_a_raw_connection_is_reset_at_once(sandbox, world, address, port):
    watch = world.watch()

    def reset():
        """Seconds until it is."""
        with sandbox.connect(address, port) as sock:
            start = time.monotonic()
            with pytest.raises(ConnectionError):
                sock.sendall(bytes.fromhex("0000000804d2162f"))
                assert sock.recv(100) == b"", "something was said"
                pytest.fail("an end in order, not a reset")
            return time.monotonic() - start

    assert min(reset() for _ in range(3)) < 0.1
    watch.nothing()


def test_POL_01_nc_ends_at_once(sandbox, stack, watch):
    """busybox's; the name gets an address, and the port behind it a reset."""
    mark = stack.audit_mark()
    nc = sandbox.popen(["busybox", "nc", "denied.test", "5432"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert nc.stdout.read() == b"" and nc.wait(3) is not None  # with its input open it waits for nothing else
    finally:
        nc.kill()
        nc.communicate()
    (event,) = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id, asked=f"{SHARED}:5432")
    assert event["category"] == "host-denied" and event["duration_ms"] < 100
    watch.nothing()


def test_POL_01_pip_shows_the_403(sandbox, watch):
    pip = [PYTHON, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--no-cache-dir",
           "--retries", "0", "-d", sandbox.home]
    # of an index pip tells the status with -vv only
    for words in (["-vv", "--index-url", "https://denied.test/simple", "x"], ["https://denied.test/x-1-py3-none-any.whl"]):
        done = sandbox.run([*pip, *words])
        said = done.stdout + done.stderr
        assert done.returncode != 0 and "403" in said, said
        assert "sallyport: host-denied: denied.test" in said or words[0] != "-vv", said
    watch.nothing()


@pytest.mark.parametrize("address,port", [("203.0.113.30", 22), ("203.0.113.10", 5432), ("198.19.255.254", 8443)])
def test_POL_01_a_client_that_waits_for_the_server_is_reset_at_once(sandbox, world, stack, address, port):
    """Where nothing could be allowed; the control waits where something could."""
    watch, mark = world.watch(), stack.audit_mark()
    with sandbox.connect(address, port) as sock, sandbox.connect("203.0.113.10", 8443) as control:
        start = time.monotonic()
        with pytest.raises(ConnectionResetError):
            sock.recv(100)
        assert time.monotonic() - start < 2
        control.settimeout(0.3)
        with pytest.raises(TimeoutError):
            control.recv(100)
    watch.nothing()
    stack.wait_audit(mark, kind="connection", asked=f"{address}:{port}", decision="deny", category="host-denied")


@pytest.mark.parametrize("method,status", [("GET", 200), ("HEAD", 200), ("POST", 403), ("DELETE", 403), ("get", 403)])
def test_a_method_that_the_rule_does_not_name_is_denied(sandbox, world, method, status):
    watch = world.watch()
    with client.https(sandbox, "readonly.test") as connection:
        reply = connection.exchange(f"{method} / HTTP/1.1\r\nHost: readonly.test\r\nContent-Length: 0\r\n\r\n", method)
    assert reply.status == status, reply
    if status == 403:
        assert reply.refusal == "method-denied"
        watch.nothing()


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_a_method_cannot_be_overridden_where_methods_are_judged(sandbox, origin, name):
    with client.https(sandbox, "readonly.test") as connection:
        connection.get("/override", host="readonly.test", extra=f"{name}: DELETE\r\n")
    assert not origin.last("/override").values(name)


def test_a_port_that_no_rule_names_is_denied(sandbox, world):
    watch = world.watch()
    with client.plain(sandbox, port=22) as connection:
        reply = connection.get(host="api.test:22")
    assert (reply.status, reply.refusal) == (403, "host-denied")
    watch.nothing()


# ---- POL-07 ------------------------------------------------------------------------------------------

LOOKALIKES = {
    "api.github.test": True,
    "a.b.github.test": True,
    "API.GITHUB.TEST": True,
    "github.test": False,
    "GITHUB.TEST": False,
    "notgithub.test": False,
    "xgithub.test": False,
    "github.test.evil.test": False,
    ".github.test": False,
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_POL_07_a_suffix_matches_at_a_label_only(sandbox, world, name):
    watch = world.watch()
    with client.plain(sandbox, "203.0.113.34") as connection:
        reply = connection.get(host=name)
    if LOOKALIKES[name]:
        assert reply.status == 200, reply
        assert watch.fired()
    else:
        assert reply.status in (400, 403) and reply.refusal in ("host-denied", "bad-request"), reply
        watch.nothing(name)


@pytest.mark.parametrize("name", [n for n in LOOKALIKES if not n.startswith(".")])
def test_POL_07_the_same_by_real_client_and_TLS(sandbox, world, name):
    watch = world.watch()
    done = sandbox.curl("-w", "\n%{http_code}", f"https://{name}/", check=True)
    assert done.stdout.rsplit("\n", 1)[1] == ("200" if LOOKALIKES[name] else "403"), done.stdout
    if not LOOKALIKES[name]:
        watch.nothing(name)


# ---- POL-09 ------------------------------------------------------------------------------------------


def test_POL_09_a_trailing_dot_is_the_same_name(sandbox, origin):
    token = sandbox.placeholder("API_TOKEN")
    sandbox.curl("-H", f"Authorization: Bearer {token}", "https://api.test./dotted", check=True)
    request = origin.last("/dotted")
    assert request.connection.sni == "api.test", "no dot towards the upstream"
    assert "real-api" in request.value("authorization"), "and the secret is bound to the name"


@pytest.mark.parametrize("host", ["API.Test.", "API.TEST", "api.test.", "Api.Test:80"])
def test_POL_09_case_and_dot_do_not_change_who_it_is(sandbox, host):
    with client.plain(sandbox) as connection:
        assert connection.get(host=host).status == 200


@pytest.mark.parametrize("host", ["denied.test.", "DENIED.test", "Denied.Test."])
def test_POL_09_nor_who_is_denied(sandbox, world, host):
    watch = world.watch()
    with client.plain(sandbox) as connection:
        reply = connection.get(host=host)
    assert (reply.status, reply.refusal) == (403, "host-denied")
    watch.nothing(host)


DOTTED = {
    "localhost.": {"host-denied", "dns-failure"},  # no name server knows it
    "loopback.test.": {"private-address"},
    "metadata.test.": {"metadata-address"},
    "169.254.169.254.": {"metadata-address"},
    "127.0.0.1.": {"private-address"},
    "10.0.0.1.": {"private-address"},
    "127.0.0.1..": {"bad-request"},
    "api.test..": {"bad-request"},
    "..": {"bad-request"},
    ".": {"bad-request"},
}


@pytest.mark.parametrize("host", DOTTED)
def test_POL_09_dotted_spellings_of_private_addresses_are_refused(wide, sandbox, world, own_service, host):
    """Where the policy would allow everything, so that it is the address that is refused; and elsewhere."""
    for box in (wide, sandbox):
        watch = world.watch()
        with client.plain(box) as connection:
            reply = connection.get(host=host)
        if box is wide:
            assert reply.refusal in DOTTED[host], reply
        assert reply.refusal and reply.status in (400, 403, 502), reply
        watch.nothing(host)
    assert not own_service()


@pytest.mark.parametrize("url", ["http://localhost./", "http://169.254.169.254./", "http://127.0.0.1./", "http://10.0.0.1./"])
def test_POL_09_curl_with_dotted_private_spellings_gets_nowhere(wide, world, own_service, url):
    watch = world.watch()
    done = wide.curl("-w", "\n%{http_code}", url)
    assert done.returncode in (6, 7) or done.stdout.rsplit("\n", 1)[1] in ("403", "502"), done.stdout + done.stderr
    assert not own_service()
    watch.nothing(url)


@pytest.mark.parametrize("name", ["api.test.", "API.Test.", "API.TEST"])
def test_POL_09_the_leaf_is_for_the_name_without_its_dot(sandbox, name):
    """openssl's client sends the name as it is given."""
    done = sandbox.run(
        ["openssl", "s_client", "-connect", "203.0.113.10:443", "-servername", name, "-verify_return_error",
         "-verify_hostname", "api.test"], input=b"",
    )
    assert done.returncode == 0 and "subject=CN = api.test\n" in done.stdout, done.stdout[:500] + done.stderr[-500:]


# ---- POL-12 ------------------------------------------------------------------------------------------

# spelling: the canonical form that the refusal shows; None where there is none
SPELLINGS = {
    "[::ffff:127.0.0.1]": "127.0.0.1", "[::ffff:7f00:1]": "127.0.0.1", "127.0.0.1": "127.0.0.1", "[::1]": "::1",
    "[::]": "::", "0.0.0.0": "0.0.0.0", "[::127.0.0.1]": "::127.0.0.1", "[64:ff9b::7f00:1]": "64:ff9b::7f00:1",
    "[2002:7f00:1::]": "2002:7f00:1::", "[0:0::0:1]": "::1", "[::FFFF:7F00:1]": "127.0.0.1",
    "0177.0.0.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "0x7f000001": "127.0.0.1", "2130706433": "127.0.0.1",
    "127.1": "127.0.0.1", "127.0.1": "127.0.0.1", "0": "0.0.0.0", "169.254.43518": "169.254.169.254",
    "0xa9fea9fe": "169.254.169.254",
    "[fe80::1%25eth0]": None, "[fe80::1%eth0]": None, "[::1": None, "::1": None, "1.2.3.4.5": None, "256.1.1.1": None,
    "127.0.0.1\u3002": None,
}

# default allow: only the spelling and the class of the address can be what refuses
OPEN = "version: 1\nname: open\ndefault: allow\ndefault_tls: terminate\n"


@pytest.fixture(scope="module")
def wide(stack):
    with attached(stack, OPEN, prefix="plain") as made:
        yield made


@pytest.fixture(scope="module")
def own_service(world):
    """Something on the edge's loopback that must never be reached; how often it was."""
    listener = world.edge.socket(socket.AF_INET6, socket.SOCK_STREAM)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", 80))
    listener.listen()
    listener.settimeout(0.02)

    def reached():
        try:
            listener.accept()[0].close()
            return True
        except socket.timeout:
            return False

    world.edge.call(socket.create_connection, ("127.0.0.1", 80), 2).close()
    assert reached(), "the control: it can be reached from where it is"
    yield reached
    listener.close()


@pytest.mark.parametrize("host", SPELLINGS)
def test_POL_12_no_spelling_of_an_address_slips_through(wide, world, own_service, host):
    watch = world.watch()
    with client.plain(wide) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n")
        reply = connection.reply()
    assert reply.status in (400, 403) and reply.refusal, reply
    assert reply.error.get("host") == SPELLINGS[host], reply
    assert SPELLINGS[host] is None or f" {SPELLINGS[host]}: " in reply.error["message"], reply
    assert not own_service()
    watch.nothing(host)


@pytest.mark.parametrize("host", [h for h in SPELLINGS if h.isascii()])
def test_POL_12_nor_in_an_absolute_target_or_a_CONNECT(wide, world, own_service, host):
    watch = world.watch()
    for head in (f"GET http://{host}/ HTTP/1.1", f"CONNECT {host}:80 HTTP/1.1"):
        with client.plain(wide) as connection:
            connection.send(f"{head}\r\nHost: {host}\r\n\r\n")
            reply = connection.reply()
        assert reply.status in (400, 403, 405) and reply.refusal, reply
    assert not own_service()
    watch.nothing(host)


def test_POL_12_the_control_a_public_name_and_address_pass_under_that_policy(wide):
    with client.plain(wide) as connection:
        assert connection.get(host="api.test").status == 200
        assert connection.get(host="203.0.113.10").status == 200


@pytest.mark.parametrize("port", ["0", "65536", "99999", "443x", "-1", "", " 80", "80 ", "+80", "0x50", "8080"])
def test_POL_12_bad_and_foreign_ports_are_refused(wide, world, port):
    with client.plain(wide) as connection:
        watch = world.watch()
        connection.send(f"GET / HTTP/1.1\r\nHost: api.test:{port}\r\n\r\n")
        reply = connection.reply()
    if port in ("", "80 "):  # RFC 3986 lets a port be empty, RFC 9112 strips space at the end
        assert reply.status in (200, 400)
        return
    assert reply.status in (400, 403) and reply.refusal in ("bad-request", "host-mismatch", "host-denied"), reply
    watch.nothing(port)


# ---- POL-13 ------------------------------------------------------------------------------------------

HOSTILE = [b"ok.test\0.evil.test", b"ok.test%00.evil.test", b"ok.test\t.evil.test", b"ok.test\x7f.evil.test",
           b"ok.test\xff.evil.test", b"ok.test@evil.test", b"user:pw@evil.test", b"ok.test\\.evil.test",
           b"ok.test/evil.test", b"ok.test#evil.test", b"ok.test?evil.test", b"ok.test evil.test", b"ok.test,evil.test",
           b"ok.test%2eevil.test", b"-ok.test;evil.test", b"[ok.test]", b"ok..test", b"ok.test\xc3\xa9",
           b"a" * 64 + b".test", b"a." * 130 + b"test"]


@pytest.mark.parametrize("host", HOSTILE, ids=[repr(h[:30]) for h in HOSTILE])
def test_POL_13_a_hostile_Host_is_refused(wide, world, host):
    watch = world.watch()
    with client.plain(wide, "203.0.113.32") as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        reply = connection.reply()
    assert reply.status in (400, 403) and reply.refusal, reply
    watch.nothing(host)
    assert not watch.questions(), "not even asked about"


@pytest.mark.parametrize("byte", [0, 9, 32, 37, 64, 92, 127, 255])
def test_POL_13_a_hostile_server_name_is_refused(wide, world, byte):
    watch = world.watch()
    with wide.connect("203.0.113.32", 443) as sock:
        sock.sendall(hello.with_name_bytes("ok.testX.evil.test", {7: byte}))
        try:
            answer = sock.recv(4096)
        except ConnectionError:
            answer = b""
    assert answer[:1] == b"\x15" and answer[6:] == b"\x70", "unrecognized_name, no ServerHello"
    watch.nothing(byte)
    assert not watch.questions(), "not even asked about"


def test_POL_13_the_control_the_same_hello_unharmed(wide):
    with wide.connect("203.0.113.32", 443) as sock:
        sock.sendall(hello.with_name_bytes("ok.testX.evil.test", {7: ord("y")}))
        assert sock.recv(1) == b"\x16"


# ---- policies that are refused -----------------------------------------------------------------------

RULES = "rules:\n  - name: a\n    hosts: [ok.test]\n    action: allow\n"
BAD_POLICIES = {
    "unknown key": ("version: 1\nname: x\ndefaultt: deny\n", ":3:1", "default"),
    "unknown rule key": ("version: 1\nname: x\ndefault: deny\n" + RULES + "    host: [a]\n", ":8:5", "hosts"),
    "not built yet": ("version: 1\nname: x\ndefault: deny\n" + RULES + "    client: {uid: 0}\n", ":8:5", "not available in this version"),
    "bad path": ("version: 1\nname: x\ndefault: deny\n" + RULES + "    paths: ['/a', '/b/../c']\n", ":8:19", "a dot segment"),
    "tunnel behind paths": ("version: 1\nname: x\ndefault: deny\n" + RULES + "    paths: [/a]\n" + RULES.split("rules:\n")[1].replace("name: ", "name: t-").replace("action: allow", "action: tunnel"), ":9:5", "looks at paths"),
    "ask": ("version: 1\nname: x\ndefault: deny\n" + RULES.replace("action: allow", "action: ask"), ":7:", "not available in this version"),
    "tunnel with methods": ("version: 1\nname: x\ndefault: deny\n" + RULES.replace("action: allow", "action: tunnel") + "    methods: [GET]\n", ":8:14", "shows no requests"),
    "tunnel behind methods": ("version: 1\nname: x\ndefault: deny\n" + RULES + "    methods: [GET]\n" + RULES.split("rules:\n")[1].replace("name: ", "name: t-").replace("action: allow", "action: tunnel"), ":9:5", "looks at methods"),
    "wrong type": ("version: 1\nname: x\ndefault: deny\nrules: yes\n", ":4:", "rules"),
    "bad pattern": ("version: 1\nname: x\ndefault: deny\n" + RULES.replace("ok.test", '"a*.test"'), ":6:13", "*.example.com"),
    "non-ASCII pattern": ("version: 1\nname: x\ndefault: deny\n" + RULES.replace("ok.test", '"b\u00fccher.test"'), ":6:", "xn--bcher-kva.test"),
    "numeric host": ("version: 1\nname: x\ndefault: deny\n" + RULES.replace("ok.test", '"0x7f.1"'), ":6:13", "host name"),
    "bad port": ("version: 1\nname: x\ndefault: deny\n" + RULES + "    ports: [70000]\n", ":8:13", "65535"),
    "duplicate key": ("version: 1\nname: x\nname: y\ndefault: deny\n", ":3:1", "duplicate"),
    "anchor": ("version: 1\nname: &a x\ndefault: deny\n", ":2:", "anchor"),
    "tag": ("version: 1\nname: !!str x\ndefault: deny\n", ":2:", "tag"),
    "two documents": ("version: 1\nname: x\ndefault: deny\n---\nversion: 1\n", ":4:", "document"),
    "bad cidr": ("version: 1\nname: x\ndefault: deny\nprivate:\n  - {cidr: 10.0.0.0/33}\n", ":5:12", "cidr"),
    "version 2": ("version: 2\nname: x\ndefault: deny\n", ":1:", "version"),
    "not YAML": ("version: 1\n  name: [x\n", ":", "yaml"),
    "empty": ("", ":", ""),
    "too big": ("#" * (1 << 20) + "\nversion: 1\n", ":", ""),
    "too deep": ("version: 1\nname: " + "[" * 40 + "]" * 40 + "\n", ":2:", ""),
    "not UTF-8": ("version: 1\nname: \udcff\n", ":2:", ""),
    "json with a bad key": ('{"version": 1, "name": "x", "defult": "deny"}', ":1:", "default"),
}


@pytest.fixture(scope="module")
def check(world, stack):
    def check(text, name):
        path = f"{world.run}/{name}.yaml"
        with open(path, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        return path, stack.ctl("policy", "check", path)

    return check


@pytest.mark.parametrize("what", BAD_POLICIES)
def test_a_bad_policy_is_refused_with_file_line_and_column(check, what):
    text, place, word = BAD_POLICIES[what]
    path, done = check(text, f"bad-policy-{list(BAD_POLICIES).index(what)}")
    assert done.returncode != 0
    assert path + place in done.stderr, done.stderr
    assert word.lower() in done.stderr.lower(), done.stderr


def test_a_good_policy_passes_and_a_shadowed_rule_is_named(check):
    _, done = check(POLICY, "good-policy")
    assert done.returncode == 0, done.stderr
    shadowed = "version: 1\nname: x\ndefault: deny\nrules:\n" + "".join(
        f"  - name: {name}\n    hosts: [{host}]\n    action: allow\n" for name, host in (("wide", '"*.test"'), ("narrow", "ok.test"))
    )
    _, done = check(shadowed, "shadowed-policy")
    assert done.returncode == 0 and "narrow" in done.stdout + done.stderr
    contrary = shadowed[: shadowed.rindex("allow")] + "deny\n"
    path, done = check(contrary, "contrary-policy")
    assert done.returncode != 0 and "narrow" in done.stderr and path in done.stderr


def test_a_policy_that_names_a_missing_authority_is_refused(stack, world):
    text = POLICY + f"upstream:\n  - {{hosts: [api.test], ca: {world.run}/nowhere.pem}}\n"
    box = Sandbox(stack, text)
    try:
        done = box.try_attach()
        assert done.returncode != 0 and f"{world.run}/nowhere.pem" in done.stderr, done.stderr
    finally:
        box.close()


def test_an_attach_with_a_bad_policy_fails_with_the_place_and_leaves_nothing(stack):
    box = Sandbox(stack, BAD_POLICIES["unknown key"][0])
    try:
        done = box.try_attach()
        assert done.returncode != 0 and ":3:1" in done.stderr, done.stderr
        assert box.id not in json.dumps(stack.get("/v1/sandboxes"))
        box.netns.run("ip", "link", "set", "lo", "up")
        assert "192.0.2.1" not in box.netns.run("ip", "addr").stdout, "undone in reverse"
    finally:
        box.close()


def test_the_first_rule_that_matches_decides(attach):
    box = attach(
        "version: 1\nname: order\ndefault: deny\nrules:\n"
        "  - {name: first, hosts: [other.test], methods: [GET], action: allow}\n"
        "  - {name: second, hosts: ['*.test'], methods: [POST], action: deny}\n"
        "  - {name: third, hosts: [other.test], action: allow}\n"
    )
    with client.plain(box) as connection:
        assert connection.get(host="other.test").status == 200
    with client.plain(box) as connection:
        reply = connection.exchange("POST / HTTP/1.1\r\nHost: other.test\r\nContent-Length: 0\r\n\r\n", "POST")
        assert reply.error["rule"] == "second"
    with client.plain(box) as connection:
        assert connection.exchange("PUT / HTTP/1.1\r\nHost: other.test\r\nContent-Length: 0\r\n\r\n", "PUT").status == 200


def test_the_hosts_own_addresses_are_refused_though_public(attach, world):
    """Whatever listens there on every address would take the sandbox for the host itself."""
    box = attach("version: 1\nname: open\ndefault: allow\ndefault_tls: terminate\n")
    serve = "import socket; s = socket.create_server(('%s', 8088), family=%d); print(1, flush=True); s.accept(); print('got', flush=True)"
    for address, family in ((topology.EDGE4, 2), (topology.EDGE6, 10)):
        server = subprocess.Popen(world.edge.command([PYTHON, "-c", serve % (address, family)]), stdout=subprocess.PIPE)
        assert server.stdout.readline() == b"1\n"
        with pytest.raises(Refused) as refused:
            box.connect(address, 8088)
        assert refused.value.errno == box.errno(errno.EACCES)
        with client.plain(box, port=8088) as connection:  # nor by asking elsewhere for it
            host = f"[{address}]" if ":" in address else address
            assert connection.get(host=f"{host}:8088").refusal == "private-address"
        server.kill()
        assert server.communicate(timeout=5)[0] == b"", "nobody connected: sandbox and dialler are both refused by the kernel"
