# SPDX-License-Identifier: Apache-2.0
"""javaclass.py - a class file without a compiler, for machines that have a Java runtime only.

    public class Get { public static void main(String[] a) throws Throwable {
        System.out.write(new java.net.URL(a[0]).openStream().readAllBytes()); System.out.flush(); } }
"""
import struct


class _Pool:
    """The constant pool (JVM specification, 4.4)."""

    def __init__(self):
        self.entries = []

    def _add(self, entry):
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry) + 1

    def text(self, value):
        return self._add(b"\x01" + struct.pack("!H", len(value)) + value.encode())

    def type(self, name):
        return self._add(b"\x07" + struct.pack("!H", self.text(name)))

    def member(self, tag, owner, name, descriptor):
        kind = self._add(b"\x0c" + struct.pack("!HH", self.text(name), self.text(descriptor)))
        return self._add(bytes([tag]) + struct.pack("!HH", self.type(owner), kind))

    def field(self, *words):
        return struct.pack("!H", self.member(9, *words))

    def method(self, *words):
        return struct.pack("!H", self.member(10, *words))


def get():
    pool = _Pool()
    out = b"\xb2" + pool.field("java/lang/System", "out", "Ljava/io/PrintStream;")
    code = b"".join([
        out, b"\xbb", struct.pack("!H", pool.type("java/net/URL")), b"\x59\x2a\x03\x32",
        b"\xb7", pool.method("java/net/URL", "<init>", "(Ljava/lang/String;)V"),
        b"\xb6", pool.method("java/net/URL", "openStream", "()Ljava/io/InputStream;"),
        b"\xb6", pool.method("java/io/InputStream", "readAllBytes", "()[B"),
        b"\xb6", pool.method("java/io/PrintStream", "write", "([B)V"),
        out, b"\xb6", pool.method("java/io/PrintStream", "flush", "()V"), b"\xb1",
    ])
    body = struct.pack("!HHI", 5, 1, len(code)) + code + struct.pack("!HH", 0, 0)
    main = struct.pack("!HHHH", 9, pool.text("main"), pool.text("([Ljava/lang/String;)V"), 1)
    main += struct.pack("!HI", pool.text("Code"), len(body)) + body
    head = struct.pack("!HHHHHH", 0x21, pool.type("Get"), pool.type("java/lang/Object"), 0, 0, 1)
    constants = struct.pack("!H", len(pool.entries) + 1) + b"".join(pool.entries)
    return struct.pack("!IHH", 0xCAFEBABE, 0, 52) + constants + head + main + struct.pack("!H", 0)
