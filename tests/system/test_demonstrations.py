# SPDX-License-Identifier: Apache-2.0
"""The main job, over IPv4, IPv6 and for v4-mapped sockets."""
import json
import os
import subprocess

import pytest

import client
from waiting import until
from documents import API_SECRET
from sandbox import PYTHON

# way: (host, address of the origin, metadata address, private address, curl's option)
WAYS = {
    "v4": ("api.test", "203.0.113.10", "169.254.169.254", "10.0.0.1", "-4"),
    "v6": ("v6only.test", "2001:db8::11", "fd00:ec2::254", "fd00::1", "-6"),
    "v4-mapped": ("api.test", "::ffff:203.0.113.10", "::ffff:169.254.169.254", "::ffff:10.0.0.1", None),
}

way = pytest.mark.parametrize("way", WAYS)

MAPPED = """
import socket, ssl, sys
host, address, token = sys.argv[1:]
raw = socket.socket(socket.AF_INET6)
raw.connect((address, 443))
with ssl.create_default_context().wrap_socket(raw, server_hostname=host) as s:
    s.sendall(f"GET /demo HTTP/1.1\\r\\nHost: {host}\\r\\nAuthorization: Bearer {token}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    data = b""
    while piece := s.recv(4096):
        data += piece
print(data.decode())
"""


@way
def test_demonstration_1_the_origin_gets_the_real_value_and_the_client_never_sees_it(sandbox, origin, way):
    host, address, _, _, option = WAYS[way]
    token = sandbox.placeholder("API_TOKEN")
    if option:
        done = sandbox.curl(option, "-v", "-H", f"Authorization: Bearer {token}", f"https://{host}/demo", check=True)
    else:
        done = sandbox.run([PYTHON, "-c", MAPPED, host, address, token], check=True)
    assert "hello from" in done.stdout
    assert API_SECRET not in done.stdout + done.stderr
    request = origin.last("/demo")
    assert request.value("authorization") == f"Bearer {API_SECRET}"
    assert request.connection.tls and request.connection.sni == host
    assert request.connection.peer[0] in ("198.51.100.1", "2001:db8:ffff::1")


@way
def test_demonstration_2_node_is_captured_whatever_HTTPS_PROXY_says(sandbox, origin, way):
    host, address, _, _, option = WAYS[way]
    token = sandbox.placeholder("API_TOKEN")
    if option:
        script = (
            f"fetch('https://{host}/node', {{headers: {{authorization: 'Bearer ' + process.env.TOKEN}}}})"
            ".then(async r => console.log(r.status, await r.text()))"
        )
    else:
        script = (
            f"require('https').get({{host: '{address}', servername: '{host}', path: '/node', family: 6,"
            f" headers: {{host: '{host}', authorization: 'Bearer ' + process.env.TOKEN}}}},"
            " r => { console.log(r.statusCode); r.pipe(process.stdout) })"
        )
    environment = {"TOKEN": token, "HTTPS_PROXY": "http://203.0.113.254:9", "https_proxy": "http://203.0.113.254:9"}
    done = sandbox.run(["node", "-e", script], env=environment, check=True)
    assert done.stdout.startswith("200") and "hello from" in done.stdout
    assert origin.last("/node").value("authorization") == f"Bearer {API_SECRET}"


@way
def test_demonstration_3_metadata_and_private_addresses_are_refused_at_once(sandbox, world, way):
    _, _, metadata, private, _ = WAYS[way]
    watch = world.watch()
    for address in (metadata, private):
        url = f"http://[{address}]/" if ":" in address else f"http://{address}/"
        done = sandbox.curl("-w", "%{time_total}", url)
        assert done.returncode == 7, done.stderr  # curl: could not connect
        assert float(done.stdout) < 2
    watch.nothing()
    assert not watch.packets_to(metadata, private, metadata.removeprefix("::ffff:"), private.removeprefix("::ffff:"))


@way
def test_demonstration_4_audit_and_maps_tell_who(sandbox, stack, way):
    host, address, metadata, _, _ = WAYS[way]
    family = "AF_INET6" if ":" in address else "AF_INET"
    mark = stack.audit_mark()
    token = sandbox.placeholder("API_TOKEN")
    pid = sandbox.agent_pid
    with client.https(sandbox, host, address=address, family=family) as connection:
        assert connection.get("/audited", host=host, extra=f"Authorization: Bearer {token}\r\n").status == 200
        if sandbox.lane != "nft":
            flows = [e["formatted"] for e in stack.maps(f"flows/{sandbox.id}")]
            assert any(f["key"]["dport"] == 443 and f["value"]["tgid"] == pid for f in flows), flows
    request = stack.wait_audit(mark, kind="request", sandbox=sandbox.id)[0]
    assert (request["method"], request["host"], request["path"], request["status"]) == ("GET", host, "/audited", 200)
    assert request["rule"] == "tests" and request["decision"] == "allow"
    assert request["uses"][0]["credential"] == "API_TOKEN"
    connected = stack.wait_audit(mark, kind="connection", sandbox=sandbox.id)[0]
    if sandbox.lane == "nft":
        assert connected["client"] == "unattributed", "without BPF nobody knows"
        return
    assert connected["client"]["pid"] == pid and "python" in connected["client"]["comm"]

    with pytest.raises(OSError):
        sandbox.connect(metadata, 8099)
    # what others in this sandbox were refused just before may be told behind the mark
    until(lambda: [e for e in stack.audit(mark, kind="refusal", sandbox=sandbox.id, category="metadata-address")
                   if e["client"]["pid"] == pid], "the refusal's line, with who it was")
    entries = [e["formatted"] for e in stack.maps("refusals")]
    assert any(e["key"]["dport"] == 8099 and e["value"]["client"]["tgid"] == pid for e in entries)


@pytest.mark.bpf
def test_a_person_can_read_the_maps_with_bpftool(sandbox, stack):
    with pytest.raises(OSError):
        sandbox.connect("169.254.169.254", 8098)
    text = subprocess.run(
        ["bpftool", "map", "dump", "pinned", os.path.join(stack.state, "bpf", "refusals")],
        check=True, capture_output=True, text=True,
    ).stdout
    assert '"comm"' in text and "python" in text and str(sandbox.agent_pid) in text
    sandboxes = json.dumps(stack.maps("sandboxes"))
    assert sandbox.id in sandboxes
    assert stack.maps("verdicts")
