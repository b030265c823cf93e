# SPDX-License-Identifier: Apache-2.0
"""hello.py - ClientHellos as bytes, real ones from OpenSSL, and what a hostile client makes of them."""
import ssl
import struct


def make(name=None):
    """A whole ClientHello record for that server name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def _extensions_at(record):
    at = 5 + 4 + 2 + 32  # record, handshake, version, random
    at += 1 + record[at]  # session id
    at += 2 + struct.unpack_from("!H", record, at)[0]  # suites
    return at + 1 + record[at]  # compressions


def with_extension(record, kind, data):
    """The same hello with one more extension in front of the others."""
    at = _extensions_at(record)
    total = struct.unpack_from("!H", record, at)[0]
    added = struct.pack("!HH", kind, len(data)) + data
    body = record[5 + 4 : at] + struct.pack("!H", total + len(added)) + added + record[at + 2 :]
    handshake = b"\x01" + len(body).to_bytes(3, "big") + body
    return record[:3] + struct.pack("!H", len(handshake)) + handshake


def with_extension_total(record, total):
    """The same hello with another length in front of its extensions."""
    at = _extensions_at(record)
    return record[:at] + struct.pack("!H", total) + record[at + 2 :]


def with_name_bytes(template, replaced):
    """A hello whose server name is `template` with some bytes replaced: {index: byte}."""
    record = make(template)
    at = record.index(template.encode())
    raw = bytearray(record)
    for index, byte in replaced.items():
        raw[at + index] = byte
    return bytes(raw)


def in_records(record, size):
    """The same handshake message cut into records of at most that size."""
    payload = record[5:]
    return b"".join(
        record[:3] + struct.pack("!H", len(payload[at : at + size])) + payload[at : at + size]
        for at in range(0, len(payload), size)
    )


SSLV2 = bytes.fromhex("802e0100020015000000100100800200800300800400800500800600400700c0") + bytes(16)
