# SPDX-License-Identifier: Apache-2.0
"""Placeholder to real value: where it is bound, on every method, all or nothing, and nowhere else."""
import base64
import json
import os
import re
import subprocess

import pytest

import client
import documents
from documents import API_SECRET, BANK_SECRET, GIT_SECRET
from sandbox import Sandbox
from waiting import until


def _basic(user, password, pad=True):
    raw = base64.b64encode(f"{user}:{password}".encode()).decode()
    return raw if pad else raw.rstrip("=")


def _decoded(value):
    scheme, _, rest = value.partition(" ")
    return scheme, base64.b64decode(rest + "=" * (-len(rest) % 4)).decode()


def _authorized(sandbox, origin, host, value, path):
    """What the origin got for a request with this Authorization."""
    with client.https(sandbox, host) as connection:
        reply = connection.get(path, host=host, extra=f"Authorization: {value}\r\n")
        assert reply.status == 200, reply
    return origin.last(path).value("authorization")


# ---- CRD-01 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["Basic", "basic", "BASIC"])
@pytest.mark.parametrize("pad", [True, False], ids=["padded", "unpadded"])
def test_CRD_01_a_password_in_Basic_is_swapped(sandbox, origin, scheme, pad):
    token = sandbox.placeholder("GIT_TOKEN")
    for user in ("oauth2", "", "x", "us", "a longer user"):
        sent = f"{scheme} {_basic(user, token, pad)}"
        got = _authorized(sandbox, origin, "git.test", sent, f"/basic-{len(user)}")
        assert _decoded(got) == (scheme, f"{user}:{GIT_SECRET}")


@pytest.mark.parametrize(
    "value", ["Basic !!!not-base64", "Basic", "Basic ====", "Basic b2F1dGgy", "Digest username=x"]
)
def test_CRD_01_what_is_not_Basic_is_left_alone(sandbox, origin, value):
    assert _authorized(sandbox, origin, "git.test", value, "/not-basic") == value


def test_CRD_01_only_the_whole_password_is_swapped(sandbox, origin):
    token = sandbox.placeholder("GIT_TOKEN")
    for user, password in (("u", token + "x"), ("u", "x" + token), (token, ""), ("u", token[:-1])):
        sent = f"Basic {_basic(user, password)}"
        assert _authorized(sandbox, origin, "git.test", sent, "/partly") == sent


def test_CRD_01_git_shows_the_real_password(sandbox, origin):
    token = sandbox.placeholder("GIT_TOKEN")
    done = sandbox.run(["git", "ls-remote", f"https://oauth2:{token}@git.test/r.git"])
    assert "refs/heads/main" in done.stdout, done.stderr
    got = origin.last("/r.git/info/refs").value("authorization")
    assert _decoded(got) == ("Basic", f"oauth2:{GIT_SECRET}")


def test_CRD_01_curl_u(sandbox, origin):
    token = sandbox.placeholder("API_TOKEN")
    sandbox.curl("-u", f"user:{token}", "https://api.test/curl-u", check=True)
    assert _decoded(origin.last("/curl-u").value("authorization")) == ("Basic", f"user:{API_SECRET}")
    # basic-user is no position of this credential: it goes out as it came
    sandbox.curl("-u", f"{token}:", "https://api.test/curl-u", check=True)
    assert _decoded(origin.last("/curl-u").value("authorization")) == ("Basic", f"{token}:")


# ---- CRD-04 ------------------------------------------------------------------------------------------

BODIES = {
    "GET": ("GET", "", ""),
    "HEAD": ("HEAD", "", ""),
    "DELETE": ("DELETE", "", ""),
    "OPTIONS": ("OPTIONS", "", ""),
    "POST with a length": ("POST", "Content-Length: 4\r\n", "body"),
    "POST in chunks": ("POST", "Transfer-Encoding: chunked\r\n", "4\r\nbody\r\n0\r\n\r\n"),
    "PUT that expects": ("PUT", "Content-Length: 4\r\nExpect: 100-continue\r\n", "body"),
    "PATCH": ("PATCH", "Content-Length: 4\r\n", "body"),
}


@pytest.mark.parametrize("what", BODIES)
@pytest.mark.parametrize("name", ["authorization", "Authorization", "AUTHORIZATION"])
def test_CRD_04_every_method_is_swapped(sandbox, origin, what, name):
    method, fields, body = BODIES[what]
    token = sandbox.placeholder("API_TOKEN")
    with client.https(sandbox) as connection:
        connection.send(
            f"{method} /methods HTTP/1.1\r\nHost: api.test\r\n{name}: Bearer {token}\r\n{fields}\r\n"
        )
        if "Expect" in fields:
            assert connection.line().startswith(b"HTTP/1.1 100")
            connection.line()
        connection.send(body)
        assert connection.reply(method).status == 200
    request = origin.last("/methods")
    assert request.method == method
    assert request.value("authorization") == f"Bearer {API_SECRET}"
    assert request.body == (b"body" if body else b"")


def test_swapped_on_every_request_of_a_connection_and_only_on_those(sandbox, origin):
    token = sandbox.placeholder("API_TOKEN")
    with client.https(sandbox) as connection:
        for number in range(6):
            value = f"Bearer {token}" if number % 2 else "Bearer of-my-own"
            connection.get(f"/alternate/{number}", extra=f"Authorization: {value}\r\n")
    for number in range(6):
        wanted = f"Bearer {API_SECRET}" if number % 2 else "Bearer of-my-own"
        assert origin.last(f"/alternate/{number}").value("authorization") == wanted


def test_a_request_with_a_credential_is_never_the_body_of_another(sandbox, origin):
    """What would make a bound host store a value where anybody reads it."""
    token = sandbox.placeholder("API_TOKEN")
    stored = []
    origin.on("/store", lambda exchange: (stored.append(exchange.accept_body()), exchange.reply()))
    half = b"POST /store HTTP/1.1\r\nHost: api.test\r\nContent-Length: 100\r\n\r\n"
    head = "POST /first HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer {}\r\nConnection: {}\r\nContent-Length: {}\r\n\r\n"
    with client.https(sandbox) as connection:
        connection.send(head.format(token, "content-length", len(half)).encode() + half)
        assert connection.reply("POST").status == 200
        connection.send(head.format(token, "keep-alive", 100).encode() + bytes(100))
        assert connection.reply("POST").status == 200
    assert not stored


# ---- CRD-09 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["bank.test", "other.test"])
def test_CRD_09_a_placeholder_on_another_host_is_forwarded_as_it_is(sandbox, origin, stack, host):
    token = sandbox.placeholder("API_TOKEN")
    mark = stack.audit_mark()
    got = _authorized(sandbox, origin, host, f"Bearer {token}", "/misdirected")
    assert got == f"Bearer {token}"
    event = stack.wait_audit(mark, kind="request", sandbox=sandbox.id, host=host)[0]
    assert event["misdirected"] == 1
    assert _authorized(sandbox, origin, "api.test", f"Bearer {token}", "/directed") == f"Bearer {API_SECRET}"


@pytest.mark.parametrize(
    "field", ["X-Api-Key: {}", "Cookie: t={}", "Authorization: Token {}", "Authorization: Bearer x{}",
              "Authorization: Bearer {}x", "Authorization: Bearer {} {}", "Proxy-Authorization: Bearer {}"]
)
def test_CRD_09_a_placeholder_in_another_position_is_never_swapped(sandbox, origin, field):
    token = sandbox.placeholder("API_TOKEN")
    with client.https(sandbox) as connection:
        reply = connection.exchange(
            client.head_end(field.format(token, token) + "\r\nContent-Length: 36\r\n", target=f"/position?t={token}")
            + "\r\n" + token, "POST",
        )
    assert reply.status == 200
    assert API_SECRET.encode() not in origin.last("/position").head + origin.last("/position").body
    assert origin.last("/position").body.decode() == token
    assert token in origin.last("/position").target


def test_CRD_09_not_over_plain_http(sandbox, origin):
    token = sandbox.placeholder("API_TOKEN")
    with client.plain(sandbox) as connection:
        connection.get("/in-the-clear", extra=f"Authorization: Bearer {token}\r\n")
    assert API_SECRET.encode() not in origin.last("/in-the-clear").head


def test_CRD_09_another_sandboxs_placeholder_is_a_word_like_any_other(sandbox, attach, origin):
    other = attach(prefix="swap")
    token = other.placeholder("API_TOKEN")
    assert token != sandbox.placeholder("API_TOKEN")
    assert _authorized(sandbox, origin, "api.test", f"Bearer {token}", "/foreign") == f"Bearer {token}"
    assert _authorized(other, origin, "api.test", f"Bearer {token}", "/foreign") == f"Bearer {API_SECRET}"


def test_CRD_09_a_sandbox_without_credentials_has_no_placeholders(attach, sandbox, origin):
    bare = attach(prefix="plain")
    assert bare.handed() == {}
    token = sandbox.placeholder("API_TOKEN")
    assert _authorized(bare, origin, "api.test", f"Bearer {token}", "/bare") == f"Bearer {token}"


def test_CRD_09_a_host_header_does_not_steer_a_secret(sandbox, origin, world):
    """SNI of a host without binding, Host of the bound one: refused, and the other way round too."""
    token = sandbox.placeholder("API_TOKEN")
    for name, host in (("other.test", "api.test"), ("api.test", "other.test")):
        watch = world.watch()
        with client.https(sandbox, name) as connection:
            reply = connection.get(host=host, extra=f"Authorization: Bearer {token}\r\n")
        assert (reply.status, reply.refusal) == (403, "host-mismatch")
        watch.nothing()


# ---- CRD-12 ------------------------------------------------------------------------------------------


@pytest.fixture
def vault(another_stack, world):
    """A stack whose one secret lives in a file that the test may take away."""
    secret = documents.write_secret(world, "vault.secret", BANK_SECRET)
    document = world.write(
        "vault.credentials.yaml",
        f"credentials:\n  - name: VAULT_TOKEN\n    source: {{file: {secret}}}\n    env: VAULT_TOKEN\n"
        "    swap:\n      - {hosts: [api.test], in: [bearer]}\n",
        0o600,
    )
    documents.readable_by_daemon(document)
    stack = another_stack("vault", credentials=[("swap-*", document)])
    return stack, secret


CAUSES = {
    "gone": "does not exist", "empty": "empty", "open to all": "mode", "a folder": "not a regular file",
    "a line break inside": "CR, LF or NUL",
}
TAKEN_AWAY = {
    "gone": os.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "open to all": lambda path: os.chmod(path, 0o644),
    "a folder": lambda path: (os.unlink(path), os.mkdir(path)),
    "a line break inside": lambda path: _overwrite(path, "0123456789abcdef\r\nX-Injected: 1\n"),
}


def _overwrite(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


@pytest.mark.parametrize("how", TAKEN_AWAY)
def test_CRD_12_without_its_value_the_request_is_not_sent(how, vault, attach, world, origin):
    stack, secret = vault
    box = attach(on=stack, prefix="swap")
    field = f"Authorization: Bearer {box.placeholder('VAULT_TOKEN')}\r\n"

    def once(extra=field):
        with client.https(box) as connection:
            return connection.get("/vault", extra=extra)

    assert once().status == 200
    assert origin.last("/vault").value("authorization") == f"Bearer {BANK_SECRET}"
    TAKEN_AWAY[how](secret)
    until(lambda: once().status != 200, "the daemon to notice that the source is gone")
    count = len(origin.requests("/vault"))
    watch = world.watch()
    reply = once()
    assert (reply.status, reply.refusal) == (503, "credential-unavailable")
    assert "VAULT_TOKEN" in reply.error["message"]
    assert CAUSES[how] in reply.error["message"], reply.error
    assert BANK_SECRET not in reply.body.decode()
    watch.nothing("a credential without a value")
    assert once(extra="").status == 200, "other requests pass"
    assert len(origin.requests("/vault")) == count + 1
    if os.path.isdir(secret):
        os.rmdir(secret)
    documents.write_secret(world, "vault.secret", BANK_SECRET)
    until(lambda: once().status == 200, "the value to come back")


def test_rotation_takes_effect_on_the_next_request_of_open_connections(vault, attach, world, origin):
    stack, _ = vault
    box = attach(on=stack, prefix="swap")
    token = box.placeholder("VAULT_TOKEN")
    with client.https(box) as connection:

        def value():
            connection.get("/rotate", extra=f"Authorization: Bearer {token}\r\n")
            return origin.last("/rotate").value("authorization")

        assert value() == f"Bearer {BANK_SECRET}"
        documents.write_secret(world, "vault.secret", "rotated-0123456789abcdef\n")
        until(lambda: value() == "Bearer rotated-0123456789abcdef", "the new value")
        assert box.placeholder("VAULT_TOKEN") == token, "the placeholder stays"


def test_placeholders_look_as_documented(sandbox):
    for name in ("API_TOKEN", "GIT_TOKEN", "BANK_TOKEN"):
        assert re.fullmatch(r"spx_[0-9a-zA-Z]{32}", sandbox.placeholder(name))


# ---- what an API or a log shows ----------------------------------------------------------------------


def test_the_use_of_a_credential_is_on_record_without_its_value(sandbox, stack):
    mark = stack.audit_mark()
    with client.https(sandbox) as connection:
        connection.get(
            "/recorded?key=value", extra=f"Authorization: Bearer {sandbox.placeholder('API_TOKEN')}\r\n"
        )
    event = stack.wait_audit(mark, kind="request", sandbox=sandbox.id)[0]
    assert event["uses"] == [{"credential": "API_TOKEN", "position": "bearer", "count": 1}]
    assert event["path"] == "/recorded?key=***"
    assert API_SECRET not in json.dumps(event)


# ---- documents that are refused ----------------------------------------------------------------------

GOOD = "credentials:\n  - name: T\n    source: {value: 0123456789abcdef0123}\n    env: T\n    swap:\n      - {hosts: [api.test], in: [bearer]}\n"
BAD_DOCUMENTS = {
    "unknown key": (GOOD.replace("env:", "envv:"), ":4:"),
    "not built yet": (GOOD.replace("[bearer]", "[query]"), "not available in this version"),
    "inject": (GOOD + "    inject: [{hosts: [api.test], header: x, value: '{}'}]\n", "not available in this version"),
    "missing file": (GOOD.replace("value: 0123456789abcdef0123", "file: /nonexistent/secret"), "/nonexistent/secret"),
    "short value": (GOOD.replace("0123456789abcdef0123", "short"), "weak"),
    "value with a line break": (GOOD.replace("0123456789abcdef0123", '"0123456789abcdef\\r\\nX: y"'), ":3:"),
    "wildcard host": (GOOD.replace("[api.test]", '["*"]'), ":6:"),
    "twice the same name": (GOOD + GOOD.split("\n", 1)[1], "T"),
    "anchor": (GOOD.replace("source: {", "source: &a {"), ":3:"),
}


@pytest.mark.parametrize("what", BAD_DOCUMENTS)
def test_a_bad_document_is_refused_at_load_with_the_place(world, stack, what):
    text, wanted = BAD_DOCUMENTS[what]
    name = f"bad-{list(BAD_DOCUMENTS).index(what)}"
    document = documents.readable_by_daemon(world.write(f"{name}.credentials.yaml", text, 0o600))
    config = world.write(
        f"{name}.yaml",
        f"state: {world.run}/{name}\ncredentials:\n  - {{sandboxes: ['*'], file: {document}}}\n",
    )
    done = _check_config(stack, config)
    assert done.returncode != 0
    assert wanted in done.stderr and document in done.stderr, done.stderr
    assert "0123456789abcdef" not in done.stderr, "a value is never in a message"


def test_a_missing_secret_file_is_refused_with_file_line_and_column(world, stack):
    text, _ = BAD_DOCUMENTS["missing file"]
    document = documents.readable_by_daemon(world.write("missing.credentials.yaml", text, 0o600))
    config = world.write("missing.yaml", f"state: {world.run}/missing\ncredentials:\n  - {{sandboxes: ['*'], file: {document}}}\n")
    done = _check_config(stack, config)
    assert done.returncode != 0 and f"{document}:3:" in done.stderr and "/nonexistent/secret" in done.stderr, done.stderr
    for line in ("credentials:\n  - {sandboxes: ['*'], file: /nonexistent/document}", "ca: /nonexistent/authority"):
        config = world.write("missing.yaml", f"state: {world.run}/missing\n{line}\n")
        done = _check_config(stack, config)
        assert done.returncode != 0 and "/nonexistent/" in done.stderr, done.stderr


def _check_config(stack, config):
    return subprocess.run(
        [stack.tool("sallyportd"), "--check-config", config], capture_output=True, text=True, timeout=20, check=False
    )


def test_a_good_document_passes_the_same_check(world, stack):
    document = documents.readable_by_daemon(world.write("good.credentials.yaml", GOOD, 0o600))
    config = world.write("good.yaml", f"state: {world.run}/good\ncredentials:\n  - {{sandboxes: ['*'], file: {document}}}\n")
    done = _check_config(stack, config)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode,owner", [(0o644, 0), (0o666, 0), (0o640, 65534)], ids=["others read", "others write", "not root's"])
def test_a_file_that_others_may_read_is_refused_with_the_remedy(world, stack, mode, owner):
    document = world.write("open.credentials.yaml", GOOD, 0o600)
    os.chown(document, owner, documents.daemon_group())
    os.chmod(document, mode)
    config = world.write("open.yaml", f"state: {world.run}/open\ncredentials:\n  - {{sandboxes: ['*'], file: {document}}}\n")
    done = _check_config(stack, config)
    assert done.returncode != 0
    assert document in done.stderr and ("chmod" in done.stderr or "chown" in done.stderr), done.stderr


def test_a_binding_that_no_rule_opens_fails_the_attach(stack, attach):
    box = Sandbox(stack, "version: 1\nname: narrow\ndefault: deny\nrules:\n  - {name: a, hosts: [ok.test], action: allow}\n", prefix="swap")
    try:
        done = box.try_attach()
        assert done.returncode != 0
        assert "api.test" in done.stderr or "API_TOKEN" in done.stderr, done.stderr
    finally:
        box.close()
