# SPDX-License-Identifier: Apache-2.0
"""loadgen.py END - runs inside a sandbox, until the file END is there: short requests, half of them on connections of their own, half on kept ones,
and attempts at what no sandbox may reach. Prints what became of each as JSON: [kind, begin, end, outcome], by the monotonic clock,
outcome "ok", "refused" (by connect(), at once), or in which step it failed.
"""
import errno
import json
import os
import socket
import sys
import threading
import time

ORIGIN = ("203.0.113.10", 80)
FORBIDDEN = [("169.254.169.254", 80), ("10.0.0.1", 443)]
PAUSE = 0.01
THREADS = 4

results = []
stop = threading.Event()


def reply(stream):
    """The status and whether the connection may be used again."""
    status = stream.readline()
    if not status:
        raise ConnectionError("ended before the status")
    fields = {}
    for line in stream:
        if line in (b"\r\n", b""):
            break
        name, _, value = line.decode("latin-1").partition(":")
        fields[name.lower()] = value.strip().lower()
    body = stream.read(int(fields["content-length"]))
    if len(body) != int(fields["content-length"]):
        raise ConnectionError("cut short")
    return int(status.split()[1]), fields.get("connection") != "close"


class Kept:
    """A connection that is used again as long as the server says so."""

    def __init__(self):
        self.sock = None

    def close(self):
        if self.sock:
            self.stream.close()
            self.sock.close()
        self.sock = None

    def request(self, last):
        if not self.sock:
            self.sock = socket.create_connection(ORIGIN, 10)
            self.stream = self.sock.makefile("rb")
        step = "send"
        try:
            self.sock.sendall(b"GET /bytes/700 HTTP/1.1\r\nHost: api.test\r\n\r\n")
            step = "reply"
            status, keep = reply(self.stream)
        except (OSError, LookupError, ValueError) as error:  # the latter two: a head that is cut
            self.close()
            return f"{step}: {error!r}"
        if last or not keep:
            self.close()
        return "ok" if status == 200 else f"status {status}"


def attempt(kind, kept):
    begin = time.monotonic()
    try:
        outcome = kept.request(kind == "single")
    except OSError as error:
        kept.close()
        outcome = "refused" if error.errno == errno.ECONNREFUSED else f"connect: {error}"
    results.append((kind, begin, time.monotonic(), outcome))


def load(kind):
    kept = Kept()
    while not stop.is_set():
        attempt(kind, kept)
        time.sleep(PAUSE)
    kept.close()


def forbidden():
    while not stop.is_set():
        for address in FORBIDDEN:
            begin, outcome = time.monotonic(), "refused"
            try:
                socket.create_connection(address, 3).close()
                outcome = "let in"
            except OSError as error:
                if error.errno not in (errno.ECONNREFUSED, errno.EACCES):
                    outcome = str(error)
            results.append(("forbidden", begin, time.monotonic(), outcome))
        time.sleep(0.1)


def main():
    threads = [threading.Thread(target=load, args=(("single", "kept")[i % 2],)) for i in range(THREADS)]
    threads.append(threading.Thread(target=forbidden))
    for thread in threads:
        thread.start()
    print("loading", flush=True)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps(results), flush=True)


main()
