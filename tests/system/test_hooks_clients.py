# SPDX-License-Identifier: Apache-2.0
"""The main job in containers that runc and Podman start with the hooks, in an ordinary Debian root.

One container of each runtime runs all clients; what each of them got, and the origin saw, is a test.
"""
import os
import shutil

import pytest

import containers
import installed
import javaclass
from documents import API_SECRET, SECRETS

MARK = "==== "
CLIENTS = {
    "curl": 'curl -sS -H "Authorization: Bearer $API_TOKEN" https://api.test/in-curl',
    "git": "GIT_TERMINAL_PROMPT=0 git ls-remote https://git.test/in-git.git",
    "python": """/usr/bin/python3 -c '
import os, urllib.request
request = urllib.request.Request("https://api.test/in-python", headers={"Authorization": "Bearer " + os.environ["API_TOKEN"]})
print(urllib.request.urlopen(request).read().decode())'""",
    "node": """node -e '
fetch("https://api.test/in-node", {headers: {authorization: "Bearer " + process.env.API_TOKEN}}).then(async r => console.log(r.status, await r.text()))'""",
    "java": "java -cp /yard Get https://api.test/in-java",
    "java without its variable": "JAVA_TOOL_OPTIONS= java -cp /yard Get https://api.test/in-java-2",
    "curl without its variables": "env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://api.test/in-curl-2",
    "metadata": "curl -sS -m 10 -w '%{errormsg} %{time_total}' http://169.254.169.254/",
    "metadata6": "curl -sS -m 10 -w '%{errormsg} %{time_total}' 'http://[fd00:ec2::254]/'",
    "loopback": """/usr/bin/python3 /yard/served.py word 8000 & sleep 1
for host in 127.0.0.1 ::1; do /usr/bin/python3 -c '
import socket, sys
with socket.create_connection((sys.argv[1], 8000), 5) as s:
    s.sendall(b"hi"); print(s.recv(99).decode())' $host; done; kill %1""",
    "search": "getent ahostsv4 api; cat /etc/resolv.conf",
    "secrets": "cat /proc/[0-9]*/environ /run/sallyport/* | tr '\\0' '\\n'",
}
SCRIPT = "".join(f"echo '{MARK}{name}'\n({command}) 2>&1\n" for name, command in CLIENTS.items())
NOTES = {"sallyport.credentials": "web", "sallyport.search": "test"}


def _runc(yard, argv, annotations):
    installed.need("runc")
    box = containers.Runc(yard, argv, annotations)
    assert box.prepared.returncode == 0, box.prepared.stderr
    return box.run()


def _podman(yard, argv, annotations):
    installed.need("podman", "runc")
    podman = containers.Podman(yard)
    try:
        return podman.run(*argv, annotations=annotations)
    finally:
        podman.close()


RUNTIMES = {"runc": _runc, "podman": _podman}


@pytest.fixture(scope="module", params=RUNTIMES)
def said(yard, world, request):
    """What each client said; and what arrived outside meanwhile, as `watch` and in the origin."""
    shutil.copy(os.path.join(os.path.dirname(__file__), "served.py"), yard.inside)
    yard.inside_file("Get.class", javaclass.get())
    yard.inside_file("clients.sh", SCRIPT.encode())
    watch = world.watch()
    done = RUNTIMES[request.param](yard, ["sh", "/yard/clients.sh"], NOTES)
    assert done.returncode == 0, done.stderr
    parts = dict(part.split("\n", 1) for part in done.stdout.split(MARK)[1:])
    assert list(parts) == list(CLIENTS), done.stdout + done.stderr
    assert not yard.attached()
    return parts, watch


@pytest.mark.parametrize("client", ["curl", "python", "node"])
def test_the_placeholder_is_swapped(said, origin, client):
    assert "hello from api.test" in said[0][client]
    assert origin.last(f"/in-{client}").value("authorization") == f"Bearer {API_SECRET}"


@pytest.mark.parametrize("client", ["curl without its variables", "java", "java without its variable"])
def test_the_ca_is_trusted(said, client):
    if client.startswith("java"):
        installed.need("java")
    assert "hello from api.test" in said[0][client]


def test_git_trusts_the_ca(said, origin):
    assert "certificate" not in said[0]["git"].lower()
    assert origin.last("/in-git.git/info/refs").connection.tls


def test_metadata_is_refused_at_once(said):
    parts, watch = said
    for name in ("metadata", "metadata6"):
        assert "refused" in parts[name] or "Failed to connect" in parts[name] or "Couldn't connect" in parts[name], parts[name]
        assert float(parts[name].split()[-1]) < 2
    assert not watch.packets_to("169.254.169.254", "fd00:ec2::254")


def test_a_policy_that_opens_metadata_lets_the_canary_fire(yard, watch):
    installed.need("runc")
    box = containers.Runc(yard, ["curl", "-sS", "-m", "10", "http://169.254.169.254/"], {"sallyport.policy": "open"})
    done = box.run()
    assert "hello from" in done.stdout, done.stderr
    assert watch.packets_to("169.254.169.254")


def test_crun(yard, origin):
    """Where crun runs at all: on a hybrid machine, or without CAP_SYS_RESOURCE, it does not."""
    installed.need("crun")
    control = containers.Runc(yard, ["true"], prepare=False, program="crun")
    del control.config["hooks"]
    control.write()
    done = control.run()
    if done.returncode != 0:
        control.delete()
        pytest.skip(f"crun runs no container here, hooks or not: {done.stderr.strip()}")
    box = containers.Runc(yard, ["sh", "-c", CLIENTS["curl"]], {"sallyport.credentials": "web"}, program="crun")
    done = box.run()
    assert "hello from api.test" in done.stdout, done.stderr
    assert origin.last("/in-curl").value("authorization") == f"Bearer {API_SECRET}"
    assert not yard.attached()


def test_services_on_loopback_are_untouched(said):
    lines = [line for line in said[0]["loopback"].splitlines() if line.startswith("word ")]
    assert [line.split()[1] for line in lines] == ["::ffff:127.0.0.1", "::1"], said[0]["loopback"]


def test_search_domains_are_in_place(said):
    assert "nameserver 192.0.2.1\nsearch test\n" in said[0]["search"]
    assert "api.test" in said[0]["search"].splitlines()[0]


def test_no_secret_is_in_the_container(said, origin):
    text = "".join(said[0].values())
    assert "API_TOKEN=spx_" in said[0]["secrets"], "the control: placeholders are there to be found"
    assert not [secret for secret in SECRETS if secret in text]
