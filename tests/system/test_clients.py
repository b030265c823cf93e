# SPDX-License-Identifier: Apache-2.0
"""Real clients, unchanged, with the one bundle and the one variable that a launcher gives them."""
import pytest

from documents import API_SECRET
from sandbox import BUNDLE, PYTHON

URL = "https://api.test/client"
URLLIB = f"import urllib.request as u; print(u.urlopen('{URL}').read().decode())"
NODE_FETCH = f"fetch('{URL}').then(async r => console.log(await r.text()))"
NODE_HTTPS = f"require('https').get('{URL}', r => r.pipe(process.stdout))"

CLIENTS = {
    "curl": ["curl", "-sS", URL],
    "curl with HTTP/1.0": ["curl", "-sS", "-0", URL],
    "wget": ["wget", "-qO-", URL],
    "busybox wget": ["busybox", "wget", "-qO-", URL],
    "python urllib": [PYTHON, "-c", URLLIB],
    "node fetch": ["node", "-e", NODE_FETCH],
    "node https": ["node", "-e", NODE_HTTPS],
}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_works_unchanged(sandbox, name):
    done = sandbox.run(CLIENTS[name])
    assert done.returncode == 0 and "hello from api.test" in done.stdout, f"{done.stdout} {done.stderr}"


@pytest.mark.parametrize("name", [n for n in CLIENTS if n.startswith(("curl", "wget", "python", "node"))])
def test_a_client_without_our_trust_refuses(sandbox, world, name):
    """The control: what passes above passes because of the trust that was put in place."""
    sandbox.write_trust(world.pki.ca)
    try:
        done = sandbox.run(CLIENTS[name], env={"NODE_EXTRA_CA_CERTS": "/nonexistent"})
    finally:
        sandbox.write_trust(BUNDLE, sandbox.ca)
    assert "hello from api.test" not in done.stdout


def test_plain_http_too(sandbox):
    for argv in (["curl", "-sS", "http://api.test/x"], ["busybox", "wget", "-qO-", "http://api.test/x"]):
        assert "hello from api.test" in sandbox.run(argv, check=True).stdout


def test_git_clones_refs_with_the_real_password(sandbox, origin):
    token = sandbox.placeholder("API_TOKEN")
    helper = f"!f() {{ echo username=oauth2; echo password={token}; }}; f"
    done = sandbox.run(["git", "-c", f"credential.helper={helper}", "ls-remote", "https://api.test/r.git"])
    assert "refs/heads/main" in done.stdout, done.stderr
    assert API_SECRET not in done.stdout + done.stderr
    assert origin.last("/r.git/info/refs").value("authorization").startswith("Basic ")


def test_downloads_in_parallel(sandbox):
    urls = [part for n in range(20) for part in ("-o", "/dev/null", f"https://api.test/bytes/{n * 1000}")]
    done = sandbox.curl("-Z", "--parallel-max", "10", "-w", "%{http_code} ", *urls, check=True)
    assert done.stdout.split() == ["200"] * 20
