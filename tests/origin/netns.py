# SPDX-License-Identifier: Apache-2.0
"""netns.py - a network namespace held by nothing but a descriptor of ours.

No name under /run/netns and no mount: when this process ends, however it ends, so does the namespace.
A socket belongs to the namespace in which it was made, so the servers of the tests are plain threads of
this process whose sockets were made over there.
"""
import ctypes
import os
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _in_thread(function):
    """The namespace belongs to the thread: what enters one must be a thread of its own."""
    box = {}

    def body():
        try:
            box["value"] = function()
        except BaseException as error:  # handed to the caller
            box["error"] = error

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if "error" in box:
        raise box["error"]
    return box["value"]


class Netns:
    def __init__(self, name):
        def make():
            _checked(_libc.unshare(CLONE_NEWNET))
            return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)

        self.name = name
        self.fd = _in_thread(make)

    @property
    def path(self):
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def call(self, function, *arguments):
        """function(*arguments) by a thread inside the namespace."""

        def inside():
            _checked(_libc.setns(self.fd, CLONE_NEWNET))
            return function(*arguments)

        return _in_thread(inside)

    def socket(self, family, kind, protocol=0):
        return self.call(socket.socket, family, kind, protocol)

    def command(self, argv):
        return ["nsenter", f"--net={self.path}", "--", *argv]

    def run(self, *argv, **options):
        done = subprocess.run(self.command(argv), capture_output=True, text=True, **options)
        if done.returncode:
            raise RuntimeError(f"{' '.join(argv)} in {self.name}: {done.stderr.strip()}")
        return done

    def ip(self, lines):
        """Many ip commands in one process."""
        self.run("ip", "-batch", "-", input="\n".join(lines) + "\n")

    def sysctl(self, path, value):
        def write():
            with open(f"/proc/sys/net/{path}", "w", encoding="ascii") as file:
                file.write(str(value))

        self.call(write)

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
