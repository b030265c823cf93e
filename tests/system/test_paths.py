# SPDX-License-Identifier: Apache-2.0
"""Rules with paths: what is allowed reaches the origin byte for byte, what is not never leaves the edge."""
import json

import pytest

import client
from sandbox import Sandbox

POLICY = """\
version: 1
name: paths
default: deny
rules:
  - {name: secret, hosts: [api.test, ok.test], paths: ["/acme/secret/**", "/m:del"], action: deny}
  - {name: reads, hosts: [api.test], methods: [GET, HEAD], paths: ["/acme/**", "/app/*/exchange"], action: allow}
  - {name: writes, hosts: [api.test], methods: [POST], paths: [/acme/issues], action: allow}
  - {name: rest, hosts: [ok.test], action: allow}
  - {name: plain, hosts: [other.test], action: allow}
"""
ADDRESS = "203.0.113.10"  # whatever the host: what is judged is dialled by its name


@pytest.fixture(scope="module")
def box(stack):
    made = Sandbox(stack, POLICY, prefix="plain")
    try:
        yield made.attach()
    finally:
        made.close()


@pytest.fixture(params=["https", "http"])
def ask(request, box):
    """ask(target, host, method): the reply, by a connection of its own."""

    def asked(target, host="api.test", method="GET"):
        connect = client.https if request.param == "https" else client.plain
        with connect(box, *([host] if connect is client.https else []), address=ADDRESS) as connection:
            return connection.exchange(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n", method)

    return asked


# ---- what is allowed, as it was written --------------------------------------------------------------

ALLOWED = [
    "/acme", "/acme/", "/acme/x", "/acme/x?q=../..&p=%00", "/acme//x", "/acme/x/", "/acme/%61%2D%7e", "/%61cme/x",
    "/acme/a%2Fb", "/acme/a%2fb", "/acme/%2F", "/acme/%252e%252e/x", "/acme/x;v=1/y;w", "/acme/a;", "/acme/caf%C3%A9",
    "/acme/...", "/acme/.git/config", "/acme/*", "/acme/{x}|y", "/acme/A%20b+c", "/app/1/exchange", "/app/a%2Fb/exchange",
    "/app/%3F/exchange?", "/acme/@x/%40x",
]


@pytest.mark.parametrize("target", ALLOWED)
def test_an_allowed_path_arrives_byte_for_byte(ask, origin, target):
    before = len(origin.requests())
    reply = ask(target)
    assert reply.refusal is None, reply
    assert [r.target for r in origin.requests()[before:]] == [target]
    assert origin.requests()[-1].head.startswith(f"GET {target} HTTP/1.1\r\n".encode())


# ---- what is not -------------------------------------------------------------------------------------

DENIED = [
    "/", "/x", "/acmes", "/ACME/x", "/acme%2Fx", "//acme/x", "/acme;x/y", "/app//exchange", "/app/1/2/exchange", "/app/1/exchange/",
    "/%2561cme/x", "/x?/acme/x", "/acme/secret", "/acme/secret/x", "/acme/%73ecret/x", "/%61cme/s%65cret",
]
AMBIGUOUS = [
    "/acme/../x", "/acme/..", "/acme/.", "/acme/./x", "/acme/%2e%2e/x", "/acme/.%2E/x", "/acme/%2e/x", "/acme/..;/x",
    "/acme/..;v=1/x", "/acme/..%2fx", "/acme/x%2f..%2f..%2fy", "/acme/..\\x", "/acme/%5c..%5cx", "/acme/x%00", "/acme/%0d%0aX:y",
    "/acme/%7f", "/acme/%", "/acme/%2", "/acme/%zz", "/acme/%u002e", "/acme/%c0%ae%c0%ae/x", "/acme/%c0%af", "/acme/%e0%80%af",
    "/x/../acme/x", "/acme/secret/..",
]


@pytest.mark.parametrize("target", DENIED)
def test_another_path_is_denied_and_nothing_leaves(ask, world, target):
    assert ask("/acme/control").refusal is None, "the control"
    watch = world.watch()
    reply = ask(target)
    assert (reply.status, reply.refusal) == (403, "path-denied"), reply
    assert reply.error["rule"] == ("secret" if "cret" in target else "default")
    watch.nothing(target)


@pytest.mark.parametrize("target", AMBIGUOUS)
def test_a_path_that_servers_read_differently_is_refused(ask, world, target):
    assert ask("/acme/control").refusal is None, "the control"
    watch = world.watch()
    reply = ask(target)
    assert (reply.status, reply.refusal, reply.error["rule"]) == (400, "bad-request", "built-in"), reply
    watch.nothing(target)


@pytest.mark.parametrize("target", ["/x/../acme/secret", "/acme/..;/x", "/%c0%ae/x", "/x\\y", "/%zz"])
def test_that_holds_where_a_rule_denies_paths_and_nowhere_else(ask, world, origin, target):
    watch = world.watch()
    assert ask(target, "ok.test").refusal == "bad-request"
    watch.nothing(target)
    before = len(origin.requests())
    assert ask(target, "other.test").refusal is None
    assert [r.target for r in origin.requests()[before:]] == [target]


@pytest.mark.parametrize("target", ["/m:del", "/m%3Adel", "/%6D%3adel", "/acme/secret", "/acme/secret/", "/acme/%73ecret/x"])
def test_a_denied_path_is_denied_in_each_spelling(ask, world, target):
    assert ask("/m:list", "ok.test", "POST").refusal is None, "the control"
    watch = world.watch()
    reply = ask(target, "ok.test", "POST")
    assert (reply.status, reply.refusal, reply.error["rule"]) == (403, "path-denied", "secret"), reply
    watch.nothing(target)


# ---- methods, and what has no path -------------------------------------------------------------------


@pytest.mark.parametrize("method,target,category", [
    ("POST", "/acme/issues", None), ("POST", "/acme/x", "path-denied"), ("HEAD", "/acme/x", None), ("PUT", "/acme/x", "method-denied"),
    ("PUT", "/acme/../x", "bad-request"), ("get", "/acme/x", "method-denied"), ("OPTIONS", "*", "method-denied"),
    ("TRACE", "/acme/x", "method-denied"), ("TRACK", "/acme/x", "method-denied"), ("CONNECT", "api.test:443", "bad-request"),
    ("GET", "http://api.test/acme/../x", "bad-request"),
])
def test_method_and_path_have_to_match_one_rule(ask, world, method, target, category):
    watch = world.watch()
    reply = ask(target, method=method)
    assert reply.refusal == category, reply
    if category:
        watch.nothing(target)


@pytest.mark.parametrize("host", ["ok.test", "other.test"])
@pytest.mark.parametrize("method", ["TRACE", "TRACK", "trace"])
def test_TRACE_is_refused_where_all_methods_are_allowed(ask, world, host, method):
    watch = world.watch()
    reply = ask("/x", host, method)
    assert (reply.status, reply.refusal, reply.error["rule"]) == (403, "method-denied", "built-in"), reply
    watch.nothing(method)


def test_OPTIONS_of_the_server_is_no_path(ask, origin):
    assert ask("*", "ok.test", "OPTIONS").refusal is None
    assert origin.requests()[-1].target == "*"


# ---- how it is told ----------------------------------------------------------------------------------


def test_it_is_told_in_words_and_in_the_audit(box, stack):
    mark = stack.audit_mark()
    with client.https(box) as connection:
        reply = connection.get("/acme/secret/x?token=1")
    assert "this path is not allowed for this host" in reply.error["message"] and "secret" in reply.error["message"]
    assert reply.error["hint"] == "the policy allows this host, but not this path"
    (event,) = stack.wait_audit(mark, kind="request", sandbox=box.id, host="api.test")
    assert (event["decision"], event["category"], event["rule"]) == ("deny", "path-denied", "secret")
    assert event["path"].startswith("/acme/secret/x")


def test_a_connection_goes_on_after_a_path_that_is_denied_was_refused(box, origin):
    """Each request is judged; the next connection is as good as ever."""
    for target, refusal in (("/acme/a", None), ("/x", "path-denied"), ("/acme/b", None)):
        with client.https(box) as connection:
            assert connection.get(target).refusal == refusal
    assert [r.target for r in origin.requests()[-2:]] == ["/acme/a", "/acme/b"]


def test_one_connection_is_judged_at_each_request(box, origin):
    with client.https(box) as connection:
        assert connection.get("/acme/first").refusal is None
        assert connection.get("/acme/second").refusal is None
        assert connection.get("/unread-third").refusal == "path-denied"
    assert not origin.requests("/unread-third")


def test_curl_by_name(box, origin, world):
    done = box.curl("--path-as-is", "-o", "/dev/null", "-w", "%{http_code}", "https://api.test/acme/by-curl%2Fx", check=True)
    assert done.stdout and origin.last("/acme/by-curl%2Fx")
    watch = world.watch()
    done = box.curl("--path-as-is", "https://api.test/acme/../x", check=True)
    assert json.loads(done.stdout)["error"]["category"] == "bad-request"
    watch.nothing()


def test_policy_check_says_the_same(world, stack):
    document = world.write("paths.yaml", POLICY)
    asked = [
        (["api.test", "--method", "GET", "--path", "/acme/x?q"], 0, "GET /acme/x?q: allowed by rule reads"),
        (["api.test", "--method", "GET", "--path", "/x"], 3, "GET /x: denied by default (path-denied)"),
        (["api.test", "--method", "PUT", "--path", "/acme/x"], 3, "denied by default (method-denied)"),
        (["api.test", "--path", "/acme/secret"], 3, "443 /acme/secret: denied by rule secret (path-denied)"),
        (["api.test", "--method", "GET", "--path", "/acme/.."], 3, "denied by built-in (bad-request)"),
        (["api.test", "--method", "GET"], 0, "GET: allowed by rule reads"),
        (["api.test"], 0, "443: allowed by rule reads"),
        (["ok.test", "--method", "OPTIONS", "--path", "*"], 0, "allowed by rule rest"),
    ]
    for arguments, status, said in asked:
        done = stack.ctl("policy", "check", document, "--host", *arguments)
        assert (done.returncode, said in done.stdout) == (status, True), (arguments, done)
    done = stack.ctl("--json", "policy", "check", document, "--host", "api.test", "--path", "/m:del")
    assert json.loads(done.stdout)["path"] == "/m:del"
    for path in ("x", "/a b", "/a#b", "http://api.test/", ""):
        assert stack.ctl("policy", "check", document, "--host", "api.test", "--path", path).returncode == 2, path
