# SPDX-License-Identifier: Apache-2.0
"""Cases of HTTP/1 (H1-*) with the programs that they are about: git, apt, curl, java."""
import gzip
import hashlib
import os
import random
import shutil
import subprocess

import pytest

import installed
from documents import API_SECRET
from origin import files
from test_h1_cases import would_upgrade

# ---- H1-06: git --------------------------------------------------------------------------------------


@pytest.fixture
def repository(sandbox, world, origin):
    """git(...) runs git on a repository in the sandbox whose remote is the origin's."""
    installed.need("git")
    root = os.path.join(world.run, "repositories")
    shutil.rmtree(root, ignore_errors=True)
    bare = os.path.join(root, "r.git")
    subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
    origin.on("/git/", files.git(root, "/git", API_SECRET))
    work = f"{sandbox.home}/work"
    shutil.rmtree(work, ignore_errors=True)
    credential = f"!f() {{ echo username=oauth2; echo password={sandbox.placeholder('API_TOKEN')}; }}; f"

    def git(*arguments, at=work, check=True):
        names = ["user.name=t", "user.email=t@t.test", "gc.auto=0", "core.compression=0", f"credential.helper={credential}"]
        settings = [part for name in names for part in ("-c", name)]
        return sandbox.run(["git", *settings, *(["-C", at] if at else []), *arguments], check=check, timeout=100)

    git("init", "-q", "-b", "main", work, at=None)
    git.bare = bare
    git.work = work
    return git


def commit(git, sandbox, name, size):
    sandbox.run(["sh", "-c", f"head -c {size} /dev/urandom > {git.work}/{name}"], check=True)
    git("add", ".")
    git("commit", "-q", "-m", name)


def test_H1_06_git_pushes_a_large_pack_and_fetches_it(repository, sandbox, stack, origin):
    commit(repository, sandbox, "blob", 40 << 20)
    before = stack.resident()
    repository("push", "https://api.test/git/r.git", "main")
    grown = stack.resident() - before
    assert grown < (256 if stack.sanitized() else 32) << 20
    pushes = origin.requests("/git/r.git/git-receive-pack")
    assert max(len(r.body) for r in pushes) > 40 << 20
    assert pushes[-1].value("transfer-encoding") == "chunked", "beyond http.postBuffer"
    head = repository("rev-parse", "HEAD").stdout.strip()
    assert subprocess.run(["git", "-C", repository.bare, "rev-parse", "main"], capture_output=True, text=True,
                          check=True).stdout.strip() == head
    alone = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t"}
    grow = """tree=$(git rev-parse main^{tree}); for n in $(seq 40); do
        git branch b$n $(echo $n | git commit-tree $tree -p main); done"""  # so many that the negotiation is compressed
    subprocess.run(["sh", "-ec", grow], cwd=repository.bare, env={**os.environ, **alone}, check=True)
    repository("fetch", "-q", "https://api.test/git/r.git", "+refs/heads/*:refs/remotes/o/*")
    packed = [r for r in origin.requests("/git/r.git/git-upload-pack") if r.value("content-encoding") == "gzip"]
    assert packed and b"want" in gzip.decompress(packed[0].body)
    assert repository("rev-parse", "o/b40^").stdout.strip() == head


def test_H1_06_git_shows_a_413(repository, sandbox, origin):
    def too_large(exchange):
        if len(exchange.request.values("content-length")) and exchange.request.value("content-length") == "4":
            files.git(os.path.dirname(repository.bare), "/git", API_SECRET)(exchange)  # git's own test of the way
            return
        exchange.close = True
        exchange.reply(413, b"no\n", [("Connection", "close")], "Content Too Large")

    origin.on("/git/r.git/git-receive-pack", too_large)
    try:
        commit(repository, sandbox, "blob", 8 << 20)
        done = repository("push", "https://api.test/git/r.git", "main", check=False)
    finally:
        origin.on("/git/r.git/git-receive-pack", files.git(os.path.dirname(repository.bare), "/git", API_SECRET))
    assert done.returncode != 0 and "413" in done.stderr, done.stderr
    assert "SSL" not in done.stderr and "TLS" not in done.stderr


# ---- H1-09: curl, java -------------------------------------------------------------------------------


def test_H1_09_curl_offers_an_upgrade(sandbox, origin):
    origin.on("/h2c", would_upgrade)
    done = sandbox.curl("-v", "--http2", "-d", "x=1", "http://api.test/h2c", check=True)
    assert "> Upgrade: h2c" in done.stderr, "the control: it was asked for"
    assert done.stdout == "x=1" and "< HTTP/1.1 200" in done.stderr
    assert not origin.last("/h2c").values("upgrade")


JAVA = """
import java.net.URI;
import java.net.http.*;
public class Post {
    public static void main(String[] words) throws Throwable {
        HttpClient client = HttpClient.newHttpClient();
        for (int turn = 0; turn < 2; turn++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(words[0]))
                .POST(HttpRequest.BodyPublishers.ofString("x=1")).build();
            HttpResponse<String> reply = client.send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(reply.version() + " " + reply.statusCode() + " " + reply.body());
        }
    }
}
"""


def test_H1_09_java_offers_an_upgrade(sandbox, world, origin):
    installed.need("java", "javac")
    origin.on("/h2c-java", would_upgrade)
    subprocess.run(["javac", "-d", world.run, world.write("Post.java", JAVA)], check=True, capture_output=True, timeout=120)
    done = sandbox.run(["java", "-Xshare:auto", "-cp", world.run, "Post", "http://api.test/h2c-java"], timeout=120)
    assert done.stdout == "HTTP_1_1 200 x=1\n" * 2, done.stderr[-2000:]
    assert not origin.last("/h2c-java").values("upgrade") and not origin.last("/h2c-java").values("http2-settings")


# ---- H1-10: apt, curl over plain HTTP ----------------------------------------------------------------

PACKAGES = 12


@pytest.fixture
def mirror(world, origin):
    """A repository of Debian packages at http://api.test/debian."""
    installed.need("apt-get", "dpkg-deb")
    root = os.path.join(world.run, "debian")
    if not os.path.isdir(root):
        entries = []
        for number in range(PACKAGES):
            name = f"sallyport-test-{number}"
            made = os.path.join(world.run, name)
            os.makedirs(os.path.join(made, "DEBIAN"), mode=0o755)
            control = f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: t <t@t.test>\nDescription: {name}\n"
            with open(os.path.join(made, "DEBIAN", "control"), "w", encoding="ascii") as file:
                file.write(control)
            with open(os.path.join(made, "data"), "wb") as file:
                file.write(random.Random(number).randbytes(10_000 * number))
            os.makedirs(os.path.join(root, "pool"), exist_ok=True)
            path = os.path.join(root, "pool", f"{name}.deb")
            subprocess.run(["dpkg-deb", "-Znone", "--build", made, path], check=True, stdout=subprocess.DEVNULL)
            with open(path, "rb") as file:
                data = file.read()
            entries.append(f"{control}Filename: pool/{name}.deb\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n")
        text = "\n".join(entries).encode()
        with open(os.path.join(root, "Packages"), "wb") as file:
            file.write(text)
        with open(os.path.join(root, "Release"), "w", encoding="ascii") as file:
            file.write("Origin: t\nDate: Mon, 30 Nov 2020 00:00:00 UTC\nSHA256:\n"
                       f" {hashlib.sha256(text).hexdigest()} {len(text)} Packages\n")
    origin.on("/debian/", files.folder(root, "/debian/"))
    return root


def test_H1_10_apt_updates_and_downloads_over_plain_http(sandbox, mirror, origin):
    home = f"{sandbox.home}/apt"
    sandbox.run(["mkdir", "-p", f"{home}/state/lists/partial", f"{home}/cache/archives/partial", f"{home}/etc"], check=True)
    sandbox.run(["sh", "-c", f"echo 'deb [trusted=yes] http://api.test/debian/ ./' > {home}/etc/sources; : > {home}/status"],
                check=True)
    settings = {
        "Dir::Etc": f"{home}/etc", "Dir::Etc::SourceList": f"{home}/etc/sources", "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": f"{home}/state", "Dir::State::status": f"{home}/status", "Dir::Cache": f"{home}/cache",
        "Acquire::Languages": "none", "Acquire::http::Pipeline-Depth": "10", "APT::Sandbox::User": "",
    }
    options = [f"-o{name}={value}" for name, value in settings.items()]
    first = sandbox.run(["apt-get", *options, "update"])
    assert first.returncode == 0 and "Get:" in first.stdout, first.stdout + first.stderr
    again = sandbox.run(["apt-get", *options, "update"])
    assert again.returncode == 0 and "Hit:" in again.stdout, again.stdout + again.stderr
    assert origin.last("/debian/./Release").values("if-modified-since") or origin.last("/debian/./Release").value("range")
    names = [f"sallyport-test-{number}" for number in range(PACKAGES)]
    done = sandbox.run(["sh", "-c", f'mkdir -p {home}/got && cd {home}/got && exec "$@"', "sh", "apt-get", *options, "download", *names])
    assert done.returncode == 0, done.stdout + done.stderr
    for name in names:
        with open(os.path.join(mirror, "pool", f"{name}.deb"), "rb") as file:
            wanted = file.read()
        with open(f"{home}/got/{name}_1.0_all.deb", "rb") as file:
            assert file.read() == wanted


def test_H1_10_curl_goes_on_where_it_stopped(sandbox, mirror, origin):
    path = os.path.join(mirror, "pool", "sallyport-test-9.deb")
    with open(path, "rb") as file:
        wanted = file.read()
    sandbox.run(["sh", "-c", f"head -c 1000 {path} > {sandbox.home}/part.deb"], check=True)
    sandbox.curl("-C", "-", "-o", f"{sandbox.home}/part.deb", "http://api.test/debian/pool/sallyport-test-9.deb", check=True)
    with open(f"{sandbox.home}/part.deb", "rb") as file:
        assert file.read() == wanted
    request = origin.last("/debian/pool/sallyport-test-9.deb")
    assert request.value("range") == "bytes=1000-"
    assert request.target.startswith("/"), "origin-form: there is no proxy on the way"
