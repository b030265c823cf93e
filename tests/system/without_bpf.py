#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""without_bpf.py COMMAND... - runs it where bpf(2) is refused with EPERM, as a container's seccomp filter or a
lockdown does it. x86-64 alone, like the rest."""
import ctypes
import errno
import os
import struct
import sys

BPF = 321  # the call's number on x86-64
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # of classic BPF: ld w abs, jeq k, ret k
REFUSE, ALLOW = 0x00050000 | errno.EPERM, 0x7FFF0000


class Program(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def refuse():
    steps = ((LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 1, BPF), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.cast(code, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter was not taken")


if __name__ == "__main__":
    refuse()
    os.execv(sys.argv[1], sys.argv[1:])
