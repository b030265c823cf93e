# SPDX-License-Identifier: Apache-2.0
"""agent.py - runs inside a sandbox for as long as it lives and makes sockets there for the tests.

The sockets are made and connected by this process, so namespace, cgroup and the kernel's record of the
client are those of a program in the sandbox; the connected descriptor then goes to the test, which speaks
over it. Requests and answers are JSON datagrams on standard input, which is a unix socket.
"""
import json
import os
import socket
import time


def connect(request):
    """{family, kind, address, port, bind, timeout} -> {error, ms, peer, pid}, and the descriptor."""
    sock = socket.socket(getattr(socket, request["family"]), getattr(socket, request["kind"]))
    sock.settimeout(request["timeout"])
    start = time.monotonic()
    answer = {"error": 0, "pid": os.getpid()}
    try:
        if request.get("bind"):
            sock.bind(tuple(request["bind"]))
        sock.connect((request["address"], request["port"]))
        answer["peer"] = sock.getpeername()[:2]
    except socket.timeout:
        answer["error"] = 110
    except OSError as error:
        answer["error"] = error.errno or -1
        answer["text"] = str(error)
    answer["ms"] = (time.monotonic() - start) * 1000
    return answer, sock


NAMES = {"__name__": "sandboxed"}


def python(request):
    """{code} -> {result}: whatever the code leaves in `result`."""
    NAMES["result"] = None
    exec(request["code"], NAMES)  # the tests' own code, nobody else can speak here
    return {"error": 0, "result": NAMES["result"]}, None


def main():
    link = socket.socket(fileno=0)
    operations = {"connect": connect, "python": python}
    while True:
        data = link.recv(1 << 20)
        if not data:
            return
        request = json.loads(data)
        try:
            answer, sock = operations[request["op"]](request)
        except Exception as error:  # told to the test, which fails with it
            answer, sock = {"failure": f"{type(error).__name__}: {error}"}, None
        message = json.dumps(answer).encode()
        if sock is not None and not answer["error"]:
            socket.send_fds(link, [message], [sock.fileno()])
        else:
            link.send(message)
        if sock is not None:
            sock.close()


if __name__ == "__main__":
    main()
