# SPDX-License-Identifier: Apache-2.0
"""client.py - raw HTTP over a socket of the sandbox: bytes out, replies parsed by the standard library.

HTTP/2 is h2client.py's, WebSocket wsclient.py's: h2(), h2_raw(), h2c(), wss() and ws() open them.
"""
import http.client
import socket
import ssl

import h2client
import wsclient
from reply import Reply


class _Unclosed:
    """http.client closes what it reads from; a connection outlives its replies."""

    def __init__(self, stream):
        self._stream = stream

    def makefile(self, *_, **__):
        return self

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def close(self):
        pass


class Client:
    """One connection; replies are read in order."""

    def __init__(self, sock):
        self.sock = sock
        self._stream = sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._stream.close()
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def reply(self, method="GET"):
        response = http.client.HTTPResponse(_Unclosed(self._stream), method=method)
        response.begin()
        return Reply(response.status, response.headers, response.read())

    def line(self):
        return self._stream.readline()

    def exactly(self, size):
        data = self._stream.read(size)
        if len(data) < size:
            raise ConnectionError(f"the stream ended {size - len(data)} bytes before what was to come")
        return data

    def exchange(self, data, method="GET"):
        self.send(data)
        return self.reply(method)

    def get(self, path="/", host="api.test", extra=""):
        return self.exchange(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n")

    def ended(self, seconds=5):
        """The other side closed, by an end of stream or a reset, and sent nothing more first."""
        self.sock.settimeout(seconds)
        try:
            return self._stream.read(1) == b""
        except socket.timeout:
            return False
        except (ConnectionError, ssl.SSLError):
            return True


def https(sandbox, host="api.test", address="203.0.113.10", **options):
    return Client(sandbox.tls(address, name=host, **options))


def plain(sandbox, address="203.0.113.10", port=80, **options):
    return Client(sandbox.connect(address, port, **options))


def h2(sandbox, host="api.test", address="203.0.113.10", alpn=("h2",), **options):
    """An h2client.Client, with its options; fails where h2 is not chosen."""
    return h2client.Client(_chosen(sandbox.tls(address, name=host, alpn=alpn)), host, **options)


def h2_raw(sandbox, host="api.test", address="203.0.113.10", alpn=("h2",), begin=True):
    return h2client.RawClient(_chosen(sandbox.tls(address, name=host, alpn=alpn)), host, begin=begin)


def h2c(sandbox, host="api.test", address="203.0.113.10", port=80, **options):
    """HTTP/2 without TLS, by prior knowledge."""
    return h2client.Client(sandbox.connect(address, port), host, scheme="http", **options)


def _chosen(sock):
    assert sock.selected_alpn_protocol() == "h2", f"{sock.selected_alpn_protocol()} was chosen"
    return sock


def wss(sandbox, path="/ws/echo", host="api.test", address="203.0.113.10", **options):
    return wsclient.Client(https(sandbox, host, address), path, host, **options)


def ws(sandbox, path="/ws/echo", host="api.test", address="203.0.113.10", port=80, **options):
    return wsclient.Client(plain(sandbox, address, port), path, host, **options)


def head_end(extra="", host="api.test", target="/echo", method="POST"):
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{extra}"
