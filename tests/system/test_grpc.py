# SPDX-License-Identifier: Apache-2.0
"""gRPC by python3-grpcio on both sides (grpc_calls.py, origin/grpc_service.py): what its clients see of calls, refusals and faults.

gRPC's shapes by hand, which grpcio does not make, are in test_h2.py (H2-01, H2-03).
"""
import hashlib
import json
import os
import re
import shutil
import time

import pytest

import documents
from origin.daemons import Grpc
from sandbox import PYTHON, attached
from waiting import PATIENCE, until

SECRET = "real-grpc-8c41e0b72f6d-value"
POLICY = """\
version: 1
name: grpc
default: deny
rules:
  - {name: no-flaky, hosts: [grpc.test], ports: [50051, 50052], methods: [POST], paths: [/test.Peer/Flaky], action: deny}
  - {name: grpc, hosts: [grpc.test], ports: [50051, 50052, 50053], action: allow}
  - {name: never, hosts: [denied.test], action: deny}
  - {name: old, hosts: [api.test], action: allow}
"""
CREDENTIALS = f"""\
credentials:
  - name: GRPC_TOKEN
    source: {{value: "{SECRET}"}}
    env: GRPC_TOKEN
    swap:
      - {{hosts: [grpc.test], in: [bearer]}}
"""
OK, CANCELLED, DEADLINE, NOT_FOUND, DENIED, INTERNAL, UNAVAILABLE = 0, 1, 4, 5, 7, 13, 14
WAYS = {"tls": ["grpc.test:50052"], "H2_07_prior_knowledge": ["grpc.test:50051", "--plain"]}
ways = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def grpc(world):
    made = Grpc(world)
    yield made
    made.close()


@pytest.fixture(scope="module")
def box(stack, lane):
    with attached(stack, POLICY, lane=lane) as made:
        yield made


def calls(box, target, asked):
    script = shutil.copy(os.path.join(os.path.dirname(os.path.realpath(__file__)), "grpc_calls.py"), box.stack.world.run)
    done = box.run([PYTHON, "-I", script, *target], input=json.dumps(asked).encode(), check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@ways
def test_H2_01_every_kind_of_call(box, grpc, way):
    asked = [
        {"method": "Unary", "messages": [{"size": 200000}], "metadata": [["x-many", "1"], ["x-many", "2"]]},
        {"method": "ServerStream", "messages": [{"count": 3, "ms": 300}]},
        {"method": "ClientStream", "messages": [{"bytes": 50000}] * 20},
        {"method": "Bidi", "messages": [{"n": n} for n in range(50)]},
        {"method": "ServerStream", "messages": [{"count": 0}]},
        {"method": "ClientStream", "messages": []},
        {"method": "FailAfter", "messages": [{"count": 2, "code": INTERNAL}]},
        {"method": "Unary", "repeat": 20},
    ]
    told = calls(box, WAYS[way], asked)
    unary, stream, client_stream, both, nothing, none, after = told[:7]
    assert [one["code"] for one in told] == [OK] * 6 + [INTERNAL] + [OK] * 20, [one["details"] for one in told]
    assert len(unary["messages"][0]["pad"]) == 200000
    assert [value for name, value in unary["messages"][0]["metadata"] if name == "x-many"] == ["1", "2"]
    assert ["x-initial", "begin"] in unary["initial"]
    for one in (unary, stream, client_stream, both, nothing, none):
        assert ["x-trailing", "end"] in one["trailing"] and ["x-raw-bin", "00ff"] in one["trailing"]
    assert stream["messages"] == [{"number": n} for n in range(3)]
    assert stream["at"][2] - stream["at"][0] > 0.4, "a stream is not held up"
    assert client_stream["messages"][0]["sha256"] == hashlib.sha256(b"m" * 1000000).hexdigest()
    assert both["messages"] == [{"n": n} for n in range(50)]
    assert nothing["messages"] == [] and none["messages"][0]["count"] == 0
    assert len(after["messages"]) == 2, "what came before the status"


@ways
def test_H2_03_a_status_without_any_message(box, grpc, way):
    details = f"nicht da: ü, 100 % {way}"
    asked = [{"method": "Fail", "messages": [{"code": code, "details": details}]} for code in (NOT_FOUND, INTERNAL, 16)]
    told = calls(box, WAYS[way], [*asked, {"method": "Unary"}])
    assert [one["code"] for one in told] == [NOT_FOUND, INTERNAL, 16, OK], "and later calls of the channel are fine"
    assert all(one["details"] == details and one["messages"] == [] for one in told[:3])
    assert all(["x-trailing", "end"] in one["trailing"] and ["x-raw-bin", "00ff"] in one["trailing"] for one in told[:3])


@ways
def test_large_messages_both_ways(box, grpc, way):
    asked = [{"method": "Unary", "messages": [{"size": 2_000_000}]},
             {"method": "ClientStream", "messages": [{"bytes": 2_000_000}] * 4},
             {"method": "Bidi", "messages": [{"bytes": 2_000_000}] * 3}]
    one, up, both = calls(box, WAYS[way], asked)
    assert len(one["messages"][0]["pad"]) == 2_000_000
    assert up["messages"][0]["sha256"] == hashlib.sha256(b"m" * 8_000_000).hexdigest()
    assert both["messages"] == [{"bytes": 2_000_000}] * 3


@ways
def test_a_cancellation_and_a_deadline_reach_the_server(box, grpc, way):
    """The server's log says when; the control is a call that nobody gives up."""
    who = [f"{way}-{turn}" for turn in range(3)]
    asked = [{"method": "Hang", "messages": [{"who": who[0]}], "cancel_after": 0.3},
             {"method": "Hang", "messages": [{"who": who[1]}], "timeout": 0.5},
             {"method": "ServerStream", "messages": [{"count": 1000, "ms": 20}], "cancel_after": 3},
             {"method": "Unary"}]
    told = calls(box, WAYS[way], asked)
    assert [one["code"] for one in told] == [CANCELLED, DEADLINE, CANCELLED, OK]
    assert len(told[2]["messages"]) >= 3
    until(lambda: f'gone {{"who": "{who[0]}"}}' in grpc.log(), "the cancellation to arrive upstream", 2)
    until(lambda: f'gone {{"who": "{who[1]}"}}' in grpc.log(), "the deadline to arrive upstream", 2)


def test_a_cancellation_reaches_the_server_at_once(box, grpc):
    """Within 100 ms, on a machine with nothing else to do: the log is looked at while the call is given up."""
    taken = []
    for turn in range(5):
        who = f"at-once-{turn}"
        # prints when it cancelled, by the machine's one monotonic clock
        code = ("import grpc, sys, time\n"
                "channel = grpc.secure_channel('grpc.test:50052', grpc.ssl_channel_credentials())\n"
                "call = channel.unary_unary('/test.Peer/Hang').future(sys.argv[1].encode(), timeout=20)\n"
                "time.sleep(0.3); call.cancel(); print(time.monotonic(), flush=True); time.sleep(1)\n")
        process = box.popen([PYTHON, "-I", "-c", code, json.dumps({"who": who})], stdout=-1, text=True)
        try:
            at = float(process.stdout.readline())
            until(lambda: f'gone {{"who": "{who}"}}' in grpc.log(), "the cancellation upstream", 5)
            taken.append(time.monotonic() - at)
        finally:
            process.wait(20 * PATIENCE)
            process.stdout.close()
        if min(taken) < 0.1:
            break  # one may meet a busy machine
    assert min(taken) < 0.1 * PATIENCE, taken


# ---- refusals and faults ---------------------------------------------------------------------------------


def test_a_denied_host_is_PERMISSION_DENIED_with_host_and_rule(box, watch):
    (told,) = calls(box, ["denied.test:443"], [{"method": "Unary", "timeout": 10}])
    assert told["code"] == DENIED, told
    assert re.search(r"sallyport: host-denied: denied\.test.*by rule never", told["details"])
    assert ["sallyport-refusal", "host-denied"] in [*told["trailing"], *told["initial"]]
    watch.nothing("a call to a denied host")


@ways
def test_a_denied_method_is_PERMISSION_DENIED_and_the_channel_goes_on(box, grpc, way):
    key = f"denied-{way}"
    told = calls(box, WAYS[way], [{"method": "Unary"}, {"method": "Flaky", "messages": [{"key": key}]},
                                  {"method": "ClientStream", "messages": [{"bytes": 10}]}])
    assert [one["code"] for one in told] == [OK, DENIED, OK]
    assert "grpc.test" in told[1]["details"] and told[1]["details"].endswith("by rule no-flaky"), told[1]["details"]
    assert not grpc.calls("Flaky")


def test_an_upstream_that_is_down_is_UNAVAILABLE(box, grpc):
    """Nothing listens there."""
    (told,) = calls(box, ["grpc.test:50053"], [{"method": "Unary", "timeout": 10}])
    assert told["code"] == UNAVAILABLE, told
    assert re.search(r"sallyport: upstream-connect: grpc\.test: .+", told["details"])
    assert calls(box, WAYS["tls"], [{"method": "Unary"}])[0]["code"] == OK, "the control"


def test_an_upstream_without_HTTP_2_is_UNAVAILABLE_and_says_why(box, origin):
    (told,) = calls(box, ["api.test:443"], [{"method": "Unary", "timeout": 10}])
    assert told["code"] == UNAVAILABLE, told
    assert "api.test" in told["details"] and "gRPC needs HTTP/2" in told["details"]
    assert not origin.requests("/test.Peer/Unary")


def test_a_server_that_ends_in_the_middle_is_UNAVAILABLE(stack, lane, world):
    """… for the calls that hang on it, and the next server is found."""
    server = Grpc(world, 50151, 50152)
    try:
        with attached(stack, POLICY.replace("50053", "50152"), lane=lane) as box:
            script = [PYTHON, "-I", os.path.join(world.run, "grpc_calls.py"), "grpc.test:50152"]
            calls(box, ["grpc.test:50152"], [{"method": "Unary"}])
            process = box.popen(script, stdin=-1, stdout=-1)
            process.stdin.write(json.dumps([{"method": "Hang", "messages": [{"who": "cut"}]}]).encode())
            process.stdin.close()
            until(lambda: server.calls("Hang"), "the call upstream")
            server.process.kill()
            told = json.loads(process.stdout.readline())
            process.wait(20 * PATIENCE)
            process.stdout.close()
            assert told["code"] in (UNAVAILABLE, INTERNAL), told
    finally:
        server.close()


# ---- credentials -----------------------------------------------------------------------------------------


def test_CRD_04_a_credential_in_metadata_is_swapped(attach, another_stack, world, grpc):
    document = documents.readable_by_daemon(world.write("grpc.credentials.yaml", CREDENTIALS, 0o600))
    box = attach(POLICY, on=another_stack("grpc", credentials=[("grpc-*", document)]), prefix="grpc")
    placeholder = box.placeholder("GRPC_TOKEN")
    metadata = [["authorization", f"Bearer {placeholder}"], ["x-copy", placeholder]]
    kinds = [{"method": "Unary"}, {"method": "ServerStream", "messages": [{"count": 2}]},
             {"method": "ClientStream", "messages": [{"bytes": 5}] * 3}, {"method": "Bidi", "messages": [{"n": 1}]}]
    before = len(grpc.calls())
    told = calls(box, WAYS["tls"], [{**one, "metadata": metadata} for one in kinds])
    assert [one["code"] for one in told] == [OK] * 4, told
    seen = until(lambda: len(found := grpc.calls()[before:]) == 4 and found, "the calls in the log")
    for call in seen:
        assert ["authorization", f"Bearer {SECRET}"] in call["metadata"]
        assert ["x-copy", placeholder] in call["metadata"], "the control: another place is left alone"
    before = len(grpc.calls())
    (plain,) = calls(box, WAYS["H2_07_prior_knowledge"], [{"method": "Unary", "metadata": metadata}])
    assert plain["code"] == OK and ["authorization", f"Bearer {placeholder}"] in grpc.calls()[before]["metadata"]
