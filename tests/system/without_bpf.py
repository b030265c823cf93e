#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""without_bpf.py COMMAND... - runs it where bpf(2) is refused with EPERM, as a container's seccomp filter or a
lockdown does it. x86-64 alone, like the rest."""
import ctypes
import errno
import os
import sys

import callfilter

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
REFUSE = 0x00050000 | errno.EPERM


def refuse():
    program = callfilter.Program(callfilter.BPF, REFUSE)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter was not taken")


if __name__ == "__main__":
    refuse()
    os.execv(sys.argv[1], sys.argv[1:])
