#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""reaper.py COMMAND... - the command, whose orphans are waited for as by an init. Podman looks whether its conmon is gone,
which a zombie is not, and the first process of a machine for tests may let it be one for long."""
import ctypes
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36


def main():
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit("reaper: prctl failed")
    child = os.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status) & 255)


main()
