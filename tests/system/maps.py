# SPDX-License-Identifier: Apache-2.0
"""maps.py - the pinned maps as numbers and texts, by bpftool; and one map filled up."""
import ctypes
import ctypes.util
import os
import struct

DIALLER = (1 << 64) - 1  # in the place of a cookie
PASSES = ("passed", "dns", "local", "opened")
EXTRA = ("suppressed", "lost")
COUNTED_ONLY = ("egress", "dropped", "probe")  # packets have no caller; the self-test is the helper's


def text(value):
    """A char array, as bpftool writes it: a string or a list."""
    if isinstance(value, str):
        return value
    raw = bytes(int(c, 0) if isinstance(c, str) and len(c) > 1 else ord(c) if isinstance(c, str) else c for c in value)
    return raw.split(b"\0")[0].decode()


def address(value):
    return bytes(int(b, 0) if isinstance(b, str) else b for b in value)


def entries(stack, name):
    return [e["formatted"] for e in stack.maps(name)]


def cookie(stack, sandbox):
    (found,) = [e["key"] for e in entries(stack, "sandboxes") if text(e["value"]["id"]) == sandbox.id]
    return found


def account(stack, key):
    (found,) = [e["value"] for e in entries(stack, "verdicts") if e["key"] == key]
    return found


def verdicts(stack, sandbox):
    return account(stack, cookie(stack, sandbox))


def refused(counters):
    return sum(n for name, n in counters.items() if name not in PASSES + EXTRA + COUNTED_ONLY)


# ---- bpf(2), for what bpftool would need a process each

_libc = ctypes.CDLL(None, use_errno=True)
_BPF, _UPDATE, _LOAD, _GET, _BY_ID, _INFO, _LINK = 321, 2, 5, 7, 14, 15, 28
_SCHED_CLS = 3


def _bpf(command, attributes):
    data = ctypes.create_string_buffer(attributes, 128)
    result = _libc.syscall(_BPF, command, data, 128)
    return result if result >= 0 else -ctypes.get_errno()


def fill(path, key_size, value_size, cookie=None, most=1 << 30):
    """Entries of no sandbox, or of that one, until there are so many or there is room for no more; how many."""
    name = ctypes.create_string_buffer(path.encode())
    map_fd = _bpf(_GET, struct.pack("QII", ctypes.addressof(name), 0, 0))
    assert map_fd >= 0, os.strerror(-map_fd)
    value = ctypes.create_string_buffer(value_size)
    count = 0
    try:
        while count < most:
            head = struct.pack("QQ", cookie, count) if cookie else struct.pack("QQ", (1 << 60) + count, 0)
            key = ctypes.create_string_buffer(head.ljust(key_size, b"\0"), key_size)
            attributes = struct.pack("IIQQQ", map_fd, 0, ctypes.addressof(key), ctypes.addressof(value), 1)
            if _bpf(_UPDATE, attributes) < 0:
                return count
            count += 1
        return count
    finally:
        os.close(map_fd)


def renew_budget(stack, key):
    """As if a new second had begun, for the events of that account. Its map has no pin: it is among the helper's."""
    for fd in os.listdir(f"/proc/{stack.helper.pid}/fdinfo"):
        with open(f"/proc/{stack.helper.pid}/fdinfo/{fd}", encoding="ascii") as file:
            fields = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        if "map_id" not in fields:
            continue
        map_fd = _bpf(_BY_ID, struct.pack("III", int(fields["map_id"]), 0, 0))
        assert map_fd >= 0, os.strerror(-map_fd)
        try:
            if _name(map_fd) == b"budgets":
                value, name = ctypes.create_string_buffer(int(fields["value_size"])), struct.pack("Q", key)
                number = ctypes.create_string_buffer(name, 8)
                attributes = struct.pack("IIQQQ", map_fd, 0, ctypes.addressof(number), ctypes.addressof(value), 2)
                assert _bpf(_UPDATE, attributes) == 0
                return
        finally:
            os.close(map_fd)
    raise AssertionError("the helper has no map of budgets")


def _name(map_fd):
    info = ctypes.create_string_buffer(88)
    assert _bpf(_INFO, struct.pack("IIQ", map_fd, len(info), ctypes.addressof(info))) == 0
    return info.raw[24:40].split(b"\0")[0]  # struct bpf_map_info


def link_program(index, kind):
    """A tc program that passes everything on, at that hook (enum bpf_attach_type) of a link; the descriptor of both's link."""
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, -1, 0x95, 0, 0, 0))  # r0 = -1; exit
    license_ = ctypes.create_string_buffer(b"GPL")
    program = _bpf(_LOAD, struct.pack("IIQQIIQ", _SCHED_CLS, 2, ctypes.addressof(code), ctypes.addressof(license_), 0, 0, 0))
    if program < 0:
        raise OSError(-program, os.strerror(-program))
    link = _bpf(_LINK, struct.pack("IIII", program, index, kind, 0))
    os.close(program)
    if link < 0:
        raise OSError(-link, os.strerror(-link))
    return link
