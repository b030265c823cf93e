# SPDX-License-Identifier: Apache-2.0
"""client.py - raw HTTP over a socket of the sandbox: bytes out, replies parsed by the standard library."""
import http.client
import json
import socket
import ssl


class Reply:
    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields  # http.client's message
        self.body = body

    @property
    def refusal(self):
        """Category by the header, None where the reply is the upstream's."""
        return self.fields.get("sallyport-refusal")

    @property
    def error(self):
        return json.loads(self.body)["error"]

    def __repr__(self):
        return f"<{self.status} {self.refusal or ''} {self.body[:300]!r}>"


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


def head_end(extra="", host="api.test", target="/echo", method="POST"):
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{extra}"
