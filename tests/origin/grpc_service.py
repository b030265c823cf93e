# SPDX-License-Identifier: Apache-2.0
"""grpc_service.py PORT TLS_PORT CHAIN KEY - a gRPC server by python3-grpcio, without generated code.

Messages are JSON as bytes; what a call got, its metadata too, is in what it answers. Methods of /test.Peer/:

    Unary         {"size": n}       -> {"got": the request, "metadata": [...], "peer": ..., "pad": n letters}
    ServerStream  {"count", "ms"}   -> so many {"number": i}, a rest between them
    ClientStream  any               -> {"count", "bytes", "sha256"}
    Bidi          any               -> each back, as it comes
    Fail          {"code", "details"} -> that status, and nothing else: trailers only
    FailAfter     {"count", "code"} -> so many messages, then that status
    Hang          any               -> nothing, until the caller gives up
    Flaky         {"key"}           -> UNAVAILABLE the first time that the key is seen

Each call also has initial metadata x-initial, and trailing x-trailing and x-raw-bin (bytes 00 ff).
"""
import hashlib
import json
import sys
import threading
import time
from concurrent import futures

import grpc

SERVICE = "test.Peer"
TRAILING = (("x-trailing", "end"), ("x-raw-bin", b"\x00\xff"))
CODES = {code.value[0]: code for code in grpc.StatusCode}
_seen = {}


def said(document):
    return json.dumps(document).encode()


def metadata(context):
    return [(key, value if isinstance(value, str) else value.hex()) for key, value in context.invocation_metadata()]


def begin(context):
    context.send_initial_metadata((("x-initial", "begin"),))
    context.set_trailing_metadata(TRAILING)


def unary(request, context):
    begin(context)
    size = json.loads(request).get("size", 0)
    return said({"got": request.decode(), "metadata": metadata(context), "peer": context.peer(), "pad": "p" * size})


def server_stream(request, context):
    begin(context)
    asked = json.loads(request)
    for number in range(asked.get("count", 3)):
        if number:
            time.sleep(asked.get("ms", 0) / 1000)  # what the stream is about
        yield said({"number": number})


def client_stream(requests, context):
    begin(context)
    count, size, digest = 0, 0, hashlib.sha256()
    for request in requests:
        count, size = count + 1, size + len(request)
        digest.update(request)
    return said({"count": count, "bytes": size, "sha256": digest.hexdigest()})


def bidi(requests, context):
    begin(context)
    yield from requests


def fail(request, context):
    asked = json.loads(request)
    context.set_trailing_metadata(TRAILING)
    context.abort(CODES[asked.get("code", 5)], asked.get("details", "not here"))


def fail_after(request, context):
    asked = json.loads(request)
    yield from server_stream(request, context)
    context.abort(CODES[asked.get("code", 13)], "after the messages")


def hang(request, context):
    gone = threading.Event()
    context.add_callback(gone.set)
    gone.wait()
    print(f"gone {request.decode()}", flush=True)  # the log says that the caller's end arrived
    return b""


def flaky(request, context):
    key = json.loads(request)["key"]
    _seen[key] = _seen.get(key, 0) + 1
    if _seen[key] == 1:
        context.abort(grpc.StatusCode.UNAVAILABLE, "come again")
    begin(context)
    return said({"turn": _seen[key]})


METHODS = {
    "Unary": grpc.unary_unary_rpc_method_handler(unary),
    "ServerStream": grpc.unary_stream_rpc_method_handler(server_stream),
    "ClientStream": grpc.stream_unary_rpc_method_handler(client_stream),
    "Bidi": grpc.stream_stream_rpc_method_handler(bidi),
    "Fail": grpc.unary_unary_rpc_method_handler(fail),
    "FailAfter": grpc.unary_stream_rpc_method_handler(fail_after),
    "Hang": grpc.unary_unary_rpc_method_handler(hang),
    "Flaky": grpc.unary_unary_rpc_method_handler(flaky),
}


class Recorded(grpc.ServerInterceptor):
    """Every call that arrives is a line of the log, before anything answers it."""

    def intercept_service(self, continuation, call):
        fields = [(key, value if isinstance(value, str) else value.hex()) for key, value in call.invocation_metadata]
        print("call " + json.dumps({"method": call.method, "metadata": fields}), flush=True)
        return continuation(call)


def main():
    port, tls_port, chain, key = sys.argv[1:]
    server = grpc.server(futures.ThreadPoolExecutor(32), interceptors=[Recorded()])
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, METHODS)])
    with open(chain, "rb") as chain_file, open(key, "rb") as key_file:
        credentials = grpc.ssl_server_credentials([(key_file.read(), chain_file.read())])
    assert server.add_secure_port(f"[::]:{tls_port}", credentials) == int(tls_port)
    assert server.add_insecure_port(f"[::]:{port}") == int(port)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
