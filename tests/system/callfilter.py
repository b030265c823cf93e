# SPDX-License-Identifier: Apache-2.0
"""callfilter.py - a seccomp filter for one system call: what its verdict is; all others are allowed. x86-64 alone, like
the rest."""
import ctypes
import struct

BPF = 321  # the number of bpf(2) on x86-64
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # of classic BPF: ld w abs, jeq k, ret k
ALLOW = 0x7FFF0000


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = [("n", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    def __init__(self, call, verdict):
        steps = ((LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 1, call), (RETURN, 0, 0, verdict), (RETURN, 0, 0, ALLOW))
        self.code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))  # kept
        super().__init__(len(steps), ctypes.cast(self.code, ctypes.c_void_p))
