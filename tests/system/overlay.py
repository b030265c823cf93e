#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""overlay.py FILE TARGET COMMAND... - the command in a mount namespace of its own, with FILE in TARGET's place.

As `unshare --mount --propagation private` and a bind mount, but in a chroot too: there "/" is no mount point, so
the mount it lies in is looked for on the way up, outside of the root.
"""
import ctypes
import errno
import os
import signal
import sys

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), f"overlay: {what}: {os.strerror(ctypes.get_errno())}")


def _mount(source, target, flags):
    _checked(_libc.mount(source, os.fsencode(target), None, flags, None), f"mounting at {target}")


def _is_private(path):
    try:
        _mount(None, path, MS_REC | MS_PRIVATE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    return True


def make_private():
    """Nothing that is mounted from here on shows outside."""
    if _is_private("/"):
        return
    here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    os.chroot("/proc")
    os.fchdir(root)
    while not _is_private("."):  # the topmost is always a mount point
        os.chdir("..")
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(here)


def main():
    file, target, *command = sys.argv[1:]
    _checked(_libc.unshare(CLONE_NEWNS), "unshare")
    make_private()
    _mount(os.fsencode(file), target, MS_BIND)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and what it starts would too
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
