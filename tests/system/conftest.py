# SPDX-License-Identifier: Apache-2.0
"""The world of the system tests. Nothing in it has a way to the machine's own network.

      sandbox (one or more)            edge                       internet
     +----------------------+        +---------------------+      +------------------------------+
     | lo only              |        | sallyport-netns     |      | https 443 8443, http 80 8080 |
     | 192.0.2.1            |        | sallyportd          | veth | 22 5432, on EVERY address:   |
     | 2001:db8:53::1       |        | 198.51.100.1        +------+ origins on 203.0.113.0/24    |
     | curl, node, git, ... |        | 2001:db8:ffff::1    |      | and 2001:db8::/64, canaries  |
     |                      |        | no forwarding       |      | on 169.254.169.254, 10.0.0.1 |
     +----------+-----------+        +----------+----------+      | and all the rest             |
                |  sockets made in the sandbox  |                 | name server 203.0.113.53     |
                +--- served by the daemon ------+                 | sniffer on the veth          |
                     (descriptors, no wire)                       +------------------------------+

topology.py makes edge and internet, stack.py starts helper and daemon, sandbox.py makes and attaches
sandboxes and runs programs and sockets in them, client.py speaks raw HTTP over those (h2client.py HTTP/2,
wsclient.py WebSocket). The origins speak HTTP/1.1, HTTP/2 or both by their address (origin/zone.py). Everything
is named after this process, so runs can go side by side, and the last fixture to end looks for what is left.

Sandboxes are in the lane that the helper chooses; what BOTH_LANES names runs over both. SALLYPORT_LANE=nft
(or bpf) runs everything in that lane. What looks at errnos, attribution or maps of BPF's bears the marker
`bpf` and is left out in the nft lane.
"""
import os
import signal
import sys

import pytest

HERE = os.path.dirname(__file__)
sys.path[:0] = [path for path in (HERE, os.path.dirname(HERE)) if path not in sys.path]

import containers  # noqa: E402
import documents  # noqa: E402
import helper_rig  # noqa: E402
import installed  # noqa: E402
import topology  # noqa: E402
from farside import FarSide, UplinkSandbox  # noqa: E402
from sandbox import Sandbox, attached, default_lane, leftovers  # noqa: E402
from stack import Stack, build_folder  # noqa: E402

# the main job: file -> what the names of its tests contain
BOTH_LANES = {
    "test_capture.py": ["each_family", "CAP_01_a", "CAP_04", "CAP_10", "CAP_15", "outside_the_cgroup"],
    "test_demonstrations.py": [""],
    "test_dns.py": ["DNS_01", "DNS_04", "DNS_06", "DNS_09", "bad_packet", "search_domain", "cut_is_asked"],
    "test_endurance.py": ["OPS_01_and_two_hundred"],
    "test_explicit.py": ["CAP_09", "speaks_first"],
    "test_explicit_absolute.py": ["another_host"],
    "test_explicit_refused.py": ["may_not_be", "refused_address"],
    "test_http1.py": ["many_requests", "of_every_size", "chunked_passes", "pipelined", "event_stream", "H1_13"],
    "test_h2.py": ["every_bridge", "H2_01", "H2_07"],
    "test_grpc.py": ["every_kind"],
    "test_hosts.py": [""],
    "test_lifecycle.py": ["killed_daemon", "last_detach"],
    "test_hand_over.py": ["under_load", "takes_over", "hangs"],
    "test_outage.py": ["refused_at_once", "hangs", "let_in", "OPS_04", "under_load", "limit"],
    "test_refusals.py": [""],
    "test_resolver.py": [""],
    "test_pass.py": [""],
    "test_synthetic.py": ["under_a_tunnel", "by_its_synthetic", "without_SNI", "points_back", "in_flight"],
    "test_tunnel.py": [""],
    "test_tunnel_servers.py": [""],
    "test_websocket.py": ["messages_flow"],
    "test_websocket_ends.py": ["said_all"],
    "test_tls.py": ["TLS_01", "TLS_03", "TLS_13", "TLS_24", "many_records"],
}


def pytest_generate_tests(metafunc):
    names = BOTH_LANES.get(os.path.basename(metafunc.definition.path), [])
    if "lane" not in metafunc.fixturenames or "SALLYPORT_LANE" in os.environ:
        return
    if any(name in metafunc.definition.name for name in names):
        metafunc.parametrize("lane", ["bpf", "nft"], indirect=True, scope="module")


def _lane(item):
    return getattr(item, "callspec", None) and item.callspec.params.get("lane") or default_lane()


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if item.get_closest_marker("bpf") and _lane(item) == "nft"]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


WORKERS = []  # processes of pytest-xdist that run tests for this one


def pytest_configure(config):
    """A terminated run cleans up like an interrupted one."""
    config.addinivalue_line("markers", "bpf: looks at what only the BPF lane has")

    def interrupt(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: what follows is the cleaning up
        for worker in WORKERS:
            os.kill(worker, signal.SIGTERM)  # in the midst of a test, too: it is killed when it takes long
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@pytest.fixture
def rig():
    """A helper alone, without the world; a test may kill it."""
    made = helper_rig.Rig()
    yield made
    status, left = made.close()
    assert not left, "the state directory stays"
    assert status in (0, -signal.SIGKILL)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodeready(node):
    WORKERS.append(node.gateway._io.popen.pid)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    WORKERS.remove(node.gateway._io.popen.pid)


ORIGINS = []  # of the world, when there is one


@pytest.fixture(scope="module", autouse=True)
def no_behaviour_stays():
    """What the tests of one file teach an origin does not meet those of another in the same process."""
    yield
    for origin in ORIGINS:
        origin.forget()


@pytest.fixture(scope="session")
def world():
    assert os.geteuid() == 0, "the system tests make namespaces: run them as root"
    topology.sweep()
    world = topology.Topology()
    try:
        ORIGINS.append(world.origin)
        yield world
    finally:
        world.close()
    assert not leftovers(world), leftovers(world)


@pytest.fixture(scope="session")
def stack(world):
    for program in ("sallyportd", "sallyport-netns"):
        path = os.path.join(build_folder(), program)
        assert os.path.exists(path), f"{path} is missing: run make"
    stack = Stack(world, "main", credentials=[("swap-*", documents.write_credentials(world))])
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


@pytest.fixture(scope="module")
def lane(request):
    """The --lane of the sandboxes."""
    return getattr(request, "param", default_lane())


@pytest.fixture(scope="module")
def sandbox(stack, lane):
    """A sandbox under the shared policy that holds the shared credentials' placeholders."""
    with attached(stack, documents.POLICY, prefix="swap", lane=lane) as made:
        yield made


@pytest.fixture
def attach(stack, lane):
    """attach(policy, prefix=..., search=...): more sandboxes, gone after the test."""
    made = []

    def attach(policy=documents.POLICY, on=stack, **options):
        sandbox = Sandbox(on, policy, **{"lane": lane, **options})
        made.append(sandbox)
        return sandbox.attach()

    yield attach
    for sandbox in reversed(made):
        sandbox.close()


@pytest.fixture
def another_stack(world):
    """another_stack(name, ...): a helper and a daemon beside the shared ones, gone after the test."""
    made = []

    def make(name, start=True, **options):
        stack = Stack(world, name, **options)
        made.append(stack)
        return stack.start() if start else stack

    yield make
    for stack in reversed(made):
        stack.stop()


@pytest.fixture
def watch(world):
    """What left the edge and what the origin got since the test began."""
    return world.watch()


@pytest.fixture
def origin(world):
    return world.origin


@pytest.fixture(scope="module")
def far():
    """What lies behind the interfaces of sandboxes in uplink mode."""
    made = FarSide()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def wired(stack, far):
    """wired(options): a sandbox with an interface on the far side that is not attached yet."""
    made = []

    def wired(*options, **more):
        made.append(UplinkSandbox(stack, documents.POLICY, far, options=options, **more))
        return made[-1]

    yield wired
    for one in reversed(made):
        one.close()


@pytest.fixture(scope="module")
def yard(world):
    """Containers with the hooks, on a helper and a daemon of their own. Those of `web` hold the placeholders."""
    stack = Stack(world, "hooks", credentials=[("web.*", documents.write_credentials(world, "webs"))])
    stack.start()
    yard = containers.Yard(stack, containers.POLICIES, credentials=["container", "web"])
    try:
        yield yard
    finally:
        try:
            yard.close()
        finally:
            stack.stop()


@pytest.fixture(scope="module")
def podman(yard):
    installed.need("podman", "runc")
    made = containers.Podman(yard)
    yield made
    made.close()
