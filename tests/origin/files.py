# SPDX-License-Identifier: Apache-2.0
"""files.py - behaviours of servers with files behind them: a folder over HTTP, and git's own smart HTTP server."""
import base64
import email.utils
import os
import subprocess


def folder(path, prefix):
    """Files below `path`: If-Modified-Since and one Range, which is all that apt and curl ask for."""

    def behaviour(exchange):
        exchange.accept_body()
        name = os.path.join(path, exchange.request.path.removeprefix(prefix).lstrip("/"))
        if not os.path.isfile(name):
            exchange.reply(404, b"no such file\n", reason="Not Found")
            return
        with open(name, "rb") as file:
            data = file.read()
        modified = email.utils.formatdate(os.stat(name).st_mtime, usegmt=True)
        fields = [("Last-Modified", modified), ("Accept-Ranges", "bytes")]
        if exchange.request.value("if-modified-since") == modified:
            exchange.reply(304, fields=fields, reason="Not Modified")
            return
        start = exchange.request.value("range")
        if start and (offset := int(start.removeprefix("bytes=").split("-")[0])) < len(data):
            fields.append(("Content-Range", f"bytes {offset}-{len(data) - 1}/{len(data)}"))
            exchange.reply(206, data[offset:], fields, "Partial Content")
        else:
            exchange.reply(200, data, fields)

    return behaviour


def git(root, prefix, password=None):
    """git-http-backend for the repositories below `root`; with a password for who shows that one only."""

    def behaviour(exchange):
        body = exchange.accept_body()
        request = exchange.request
        shown = (request.value("authorization") or "").removeprefix("Basic ")
        if password and not base64.b64decode(shown).endswith(b":" + password.encode()):
            exchange.reply(401, b"who are you\n", [("WWW-Authenticate", 'Basic realm="git"')], "Unauthorized")
            return
        environment = {
            "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": root, "REMOTE_USER": "tester", "PATH_INFO": request.path.removeprefix(prefix),
            "QUERY_STRING": request.target.partition("?")[2], "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.value("content-type") or "", "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": request.value("content-encoding") or "",
            "GIT_PROTOCOL": request.value("git-protocol") or "",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")]
        status = dict(fields).get("Status", "200 OK")
        exchange.reply(int(status.split()[0]), content, [f for f in fields if f[0] != "Status"], status.partition(" ")[2])

    return behaviour
