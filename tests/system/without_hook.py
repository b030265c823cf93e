#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""without_hook.py COMMAND... - runs it where the kernel has no hooks on unix sockets, as before Linux 6.7: a program
for them does not load, with that kernel's EINVAL. All other calls of bpf(2) are the kernel's to answer.

What a program is for is behind a pointer, where a filter cannot look: the calls are put to a process beside the
command (seccomp's user notification), which ends with the last process that is under the filter. x86-64 alone.
"""
import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import sys

import callfilter

SECCOMP = 317  # the call's number on x86-64
SET_MODE_FILTER, NEW_LISTENER = 1, 8
ASK = 0x7FC00000
NOTIFICATION, ANSWER = "=QIIiIQ6Q", "=QqiI"  # struct seccomp_notif, seccomp_notif_resp
RECEIVE, SEND = 0xC0502100, 0xC0182101
CONTINUE = 1
PROG_LOAD, ATTACH_TYPE_AT = 5, 68  # in union bpf_attr
UNIX_HOOKS = range(49, 54)  # BPF_CGROUP_UNIX_CONNECT and those behind it


def ask():
    """From now on bpf(2) is put to whoever has the descriptor that this returns."""
    program = callfilter.Program(callfilter.BPF, ASK)
    libc = ctypes.CDLL(None, use_errno=True)
    listener = libc.syscall(SECCOMP, SET_MODE_FILTER, NEW_LISTENER, ctypes.byref(program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "the filter was not taken")
    return listener


def attach_type(pid, command, attributes, size):
    """What the program is for that is to be loaded; 0 for any other call."""
    if command != PROG_LOAD or size < ATTACH_TYPE_AT + 4:
        return 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(attributes + ATTACH_TYPE_AT)
        return struct.unpack("=I", memory.read(4))[0]


def answer(listener):
    """Until nobody is left who could ask."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        ((_, events),) = poll.poll()
        if not events & select.POLLIN:
            return
        asked = bytearray(struct.calcsize(NOTIFICATION))
        try:
            fcntl.ioctl(listener, RECEIVE, asked)
            number, pid, _, _, _, _, command, attributes, size, *_ = struct.unpack(NOTIFICATION, asked)
            refused = attach_type(pid, command, attributes, size) in UNIX_HOOKS
            fcntl.ioctl(listener, SEND, struct.pack(ANSWER, number, 0, -errno.EINVAL if refused else 0, 0 if refused else CONTINUE))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ESRCH):  # who asked is gone
                raise


def beside(ours, theirs):
    """Gets the descriptor from the command's process and serves it; nobody's child."""
    if os.fork():
        os._exit(0)
    os.setsid()
    theirs.close()
    _, (listener,), _, _ = socket.recv_fds(ours, 1, 1)
    ours.close()
    answer(listener)


if __name__ == "__main__":
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            beside(ours, theirs)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    ours.close()
    listener = ask()
    socket.send_fds(theirs, [b"x"], [listener])
    os.close(listener)
    theirs.close()
    os.execv(sys.argv[1], sys.argv[1:])
