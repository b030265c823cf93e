# SPDX-License-Identifier: Apache-2.0
"""wsclient.py - WebSocket over a socket of the sandbox: the handshake by hand, then origin/websocket.py's Socket."""
import base64
import os

from origin import websocket

OFFER = "permessage-deflate; client_max_window_bits"


class Refused(ConnectionError):
    def __init__(self, reply):
        super().__init__(f"no 101: {reply}")
        self.reply = reply


class Client(websocket.Socket):
    """A WebSocket that is open; `fields` is what the 101 said."""

    def __init__(self, connection, path="/ws/echo", host="api.test", deflate=False, fields=(), first=b"",
                 upgrade=("Connection: Upgrade", "Upgrade: websocket")):
        """connection: client.Client; first: bytes in the same segment as the request; upgrade: these lines as they
        are."""
        self.connection = connection
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", *upgrade, f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        lines += [f"Sec-WebSocket-Extensions: {OFFER}"] if deflate else []
        lines += [f"{name}: {value}" for name, value in fields]
        super().__init__(connection.send, self._exactly, client=True)
        connection.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + first)
        reply = connection.reply()
        if reply.status != 101:
            raise Refused(reply)
        self.fields = reply.fields
        assert self.fields.get("sec-websocket-accept") == websocket.accept_of(key), self.fields
        chosen = self.fields.get("sec-websocket-extensions", "")
        self.deflate = self.compress = chosen.startswith(websocket.DEFLATE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def _exactly(self, size):
        return self.connection.exactly(size)

    def frame(self, opcode, payload=b"", flags=websocket.FIN, mask=b"\0\0\0\0"):
        """Any frame, lawful or not."""
        self.connection.send(websocket.frame(opcode, payload, flags, mask))
