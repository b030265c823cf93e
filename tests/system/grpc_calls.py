# SPDX-License-Identifier: Apache-2.0
"""grpc_calls.py TARGET [--plain] [--authority NAME] - runs inside a sandbox: gRPC calls as python3-grpcio makes them.

Reads a JSON list of calls from standard input, and makes them one after the other on one channel:

    {"method": "Unary", "messages": [...], "metadata": [[k, v]], "timeout": s, "cancel_after": n, "repeat": n}

`messages`: JSON values; {"bytes": n} is so many of them. Prints for each a line {"messages", "code", "details",
"initial", "trailing", "at"}; `at`: when each message came, in seconds from the call's start. repeat: at once, all on this channel.
The roots are those of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH, which `enter` sets.
"""
import argparse
import json
import sys
import threading
import time

import grpc

KINDS = {"Unary": "unary_unary", "Fail": "unary_unary", "Hang": "unary_unary", "Flaky": "unary_unary",
         "ServerStream": "unary_stream", "FailAfter": "unary_stream", "ClientStream": "stream_unary", "Bidi": "stream_stream"}


def encoded(message):
    return b"m" * message["bytes"] if list(message) == ["bytes"] else json.dumps(message).encode()


def shown(message):
    try:
        return json.loads(message)
    except ValueError:
        return {"bytes": len(message)}


def pairs(metadata):
    return [[key, value if isinstance(value, str) else value.hex()] for key, value in metadata or ()]


def call(channel, asked):
    kind = KINDS[asked["method"]]
    function = getattr(channel, kind)(f"/test.Peer/{asked['method']}")
    messages = [encoded(message) for message in asked.get("messages", [{}])]
    options = {"metadata": [tuple(pair) for pair in asked.get("metadata", [])], "timeout": asked.get("timeout", 20)}
    request = iter(messages) if kind.startswith("stream") else messages[0]
    start, found, at = time.monotonic(), [], []
    if kind.endswith("unary"):
        running = function.future(request, **options)
        if "cancel_after" in asked:
            threading.Timer(asked["cancel_after"], running.cancel).start()
        try:
            found.append(shown(running.result()))
            at.append(time.monotonic() - start)
        except (grpc.RpcError, grpc.FutureCancelledError):
            pass
    else:
        running = function(request, **options)
        try:
            for message in running:
                found.append(shown(message))
                at.append(time.monotonic() - start)
                if len(found) == asked.get("cancel_after"):
                    running.cancel()
        except grpc.RpcError:
            pass
    return {"messages": found, "code": running.code().value[0], "details": running.details(),
            "initial": pairs(running.initial_metadata()), "trailing": pairs(running.trailing_metadata()), "at": at}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--authority")
    given = parser.parse_args()
    options = [("grpc.default_authority", given.authority)] if given.authority else []
    if given.plain:
        channel = grpc.insecure_channel(given.target, options)
    else:
        options += [("grpc.ssl_target_name_override", given.authority)] if given.authority else []
        channel = grpc.secure_channel(given.target, grpc.ssl_channel_credentials(), options)
    for asked in json.load(sys.stdin):
        results = []
        threads = [threading.Thread(target=lambda: results.append(call(channel, asked))) for _ in range(asked.get("repeat", 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
