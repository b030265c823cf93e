# SPDX-License-Identifier: Apache-2.0
"""proxied.py - what the tests of clients that believe in a proxy share: the policy, the sandboxes, CONNECT as bytes.

     sandbox ── 203.0.113.99:3128, where nothing is ──▶ daemon ── the target, on the target's port ──▶ origin, raw.py

The proxy's address is a canary in every test that has the fixture no_packet_to_the_proxy: no packet goes there.
"""
import re
import ssl

import pytest

import client
from origin import raw
from sandbox import Sandbox

PROXY, PROXY_PORT = "203.0.113.99", 3128
URL = f"http://{PROXY}:{PROXY_PORT}"
BANNER, ECHO, AFTER_EOF = range(7200, 7203)

RULES = """\
rules:
  - {name: never, hosts: [denied.test], action: deny}
  - {name: tls, hosts: [site.test], ports: [443], action: tunnel}
  - {name: raw, hosts: [tunnel.test, private.test, mixed.test, metadata.test, loopback.test], ports: ["7200-7299"],
     action: tunnel}
  - {name: raw-address, hosts: [203.0.113.60, "10.0.0.0/8"], ports: ["7200-7299", 53, 853], action: tunnel}
  - name: web
    hosts: [api.test, v6only.test, git.test, bank.test, other.test, ok.test, private.test, mixed.test, metadata.test,
      loopback.test, 203.0.113.40, "2001:db8::40", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "fc00::/7", "::1"]
    ports: [80, 443, 8080, 8443]
    action: allow
"""
POLICY = "version: 1\nname: explicit\ndefault: deny\n" + RULES
LIFTED = POLICY + "private: [{cidr: 10.0.0.1, ports: [443, 80, '7200-7299'], hosts: [private.test, 10.0.0.1]}]\n"
OPEN = "version: 1\nname: explicit-open\ndefault: allow\n" + RULES


@pytest.fixture(scope="module")
def servers(world):
    behaviours = {BANNER: raw.banner, ECHO: raw.echo, AFTER_EOF: raw.after_eof}
    made = {port: raw.Raw(world.internet, port, behaviour) for port, behaviour in behaviours.items()}
    try:
        yield made
    finally:
        for server in made.values():
            server.close()


def attached(stack, lane, policy):
    made = Sandbox(stack, policy, prefix="swap", lane=lane)
    try:
        yield made.attach()
    finally:
        made.close()


@pytest.fixture(scope="module")
def box(stack, lane, servers):
    yield from attached(stack, lane, POLICY)


@pytest.fixture(scope="module")
def opened(stack, lane, servers):
    yield from attached(stack, lane, OPEN)


@pytest.fixture
def arrived(origin):
    """Where the origin's requests came to since the test began: (address, port)."""
    before = len(origin.requests())
    return lambda: [request.connection.local for request in origin.requests()[before:]]


@pytest.fixture(autouse=True)
def no_packet_to_the_proxy(world):
    watch = world.watch()
    yield
    assert not watch.packets_to(PROXY)


def proxy(box, address=PROXY, port=PROXY_PORT):
    return client.Client(box.connect(address, port))


def head(target, host=None, extra="", method="CONNECT"):
    return f"{method} {target} HTTP/1.1\r\nHost: {host or target}\r\n{extra}\r\n"


def connected(box, target, host=None, behind=b"", address=PROXY, port=PROXY_PORT, extra=""):
    """The raw socket behind the answer to a CONNECT, which is nothing but its head."""
    sock = box.connect(address, port)
    sock.sendall(head(target, host, extra).encode() + behind)
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        got = sock.recv(1)
        assert got, f"the end after {answer!r}"
        answer += got
    assert re.fullmatch(rb"HTTP/1\.1 200 [ -~]+\r\n\r\n", answer), answer
    return sock


def shaken(box, sock, name):
    context = ssl.create_default_context(cafile=box.ca)
    context.check_hostname = name is not None
    return client.Client(context.wrap_socket(sock, server_hostname=name))


def through(box, target, name=None, **options):
    """A TLS session through CONNECT that trusts nothing but the sandbox's CA."""
    return shaken(box, connected(box, target, **options), name or target.rsplit(":", 1)[0])


def of_connection(stack, mark, **wanted):
    return stack.wait_audit(mark, kind="connection", **wanted)[0]


def refusal_of(box, data, address=PROXY, port=PROXY_PORT):
    """(status, category) of an answer that ends the connection."""
    with proxy(box, address, port) as connection:
        reply = connection.exchange(data)
        assert reply.refusal == reply.error["category"] and "sallyport: " in reply.error["message"]
        assert connection.ended()
        return reply.status, reply.refusal


def absolute(url, host=None, extra="", method="GET"):
    return head(url, host or url.split("/")[2], extra, method)
