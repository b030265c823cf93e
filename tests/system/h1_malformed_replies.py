# SPDX-License-Identifier: Apache-2.0
"""h1_malformed_replies.py - what a server may not say, in rows: name -> bytes. "poison" must not reach the client.

HEADS   malformed from the head on: the client gets 502 and nothing of them
BODIES  a good head, a body that is not: the client gets no whole reply
BEHIND  a whole reply, and bytes behind it that nobody asked for: the client gets the reply and nothing more
"""

OK = b"HTTP/1.1 200 OK\r\n"
POISON = b"Content-Length: 6\r\n\r\npoison"


def head(line, fields=POISON):
    return line + b"\r\n" + fields


def status(rows):
    return {f"status line {name}": head(line) for name, line in rows.items()}


def fields(rows):
    return {f"field {name}": OK + line + b"\r\n" + POISON for name, line in rows.items()}


HEADS = {
    **status({
        "of version 1.2": b"HTTP/1.2 200 OK",
        "of version 2": b"HTTP/2 200",
        "of version 2.0": b"HTTP/2.0 200 OK",
        "of version 0.9": b"HTTP/0.9 200 OK",
        "of ICY": b"ICY 200 OK",
        "in small letters": b"http/1.1 200 OK",
        "without a version": b"200 OK",
        "without a status": b"HTTP/1.1",
        "with a space before it": b" HTTP/1.1 200 OK",
        "with two spaces": b"HTTP/1.1  200 OK",
        "with a tab": b"HTTP/1.1\t200 OK",
        "of two digits": b"HTTP/1.1 20 OK",
        "of four digits": b"HTTP/1.1 2000 OK",
        "of 099": b"HTTP/1.1 099 OK",
        "of 000": b"HTTP/1.1 000 OK",
        "of a sign": b"HTTP/1.1 +20 OK",
        "of hexadecimal": b"HTTP/1.1 0xc8 OK",
        "of a word": b"HTTP/1.1 OK 200",
        "with the reason at once": b"HTTP/1.1 200OK",
        "with a NUL in the reason": b"HTTP/1.1 200 O\0K",
        "with an escape in the reason": b"HTTP/1.1 200 \x1b[31mOK",
        "of a request": b"GET / HTTP/1.1",
    }),
    **fields({
        "folded": b"X: 1\r\n poison",
        "folded by a tab": b"X: 1\r\n\tpoison",
        "behind a space": b" X: poison",
        "without a colon": b"poison",
        "with a space before the colon": b"X : poison",
        "without a name": b": poison",
        "with a space in the name": b"X Y: poison",
        "with a bracket in the name": b"X(: poison",
        "with NUL in the value": b"X: poison\0",
        "with NUL in the name": b"X\0: poison",
        "with a bell": b"X: poison\x07",
        "with an escape": b"X: \x1b[2Jpoison",
        "with DEL": b"X: poison\x7f",
        "with a bare LF": b"X: 1\nSet-Cookie: poison",
        "with a bare CR": b"X: 1\rSet-Cookie: poison",
        "with CR CR LF": b"X: poison\r",
        "of another length": b"Content-Length: 5",
        "of two lengths": b"Content-Length: 5, 6",
        "of a coding before gzip": b"Transfer-Encoding: chunked, gzip",
        "of a coding behind gzip": b"Transfer-Encoding: gzip, chunked",
        "of a coding and a tab": b"Transfer-Encoding: chunked\t",
        "of an unknown coding": b"Transfer-Encoding: xchunked",
        "of two codings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "of no coding": b"Transfer-Encoding:",
        "of identity": b"Transfer-Encoding: identity",
    }),
    "fields of 129": OK + b"X: poison\r\n" * 129 + b"\r\n",
    "a field of 70000": OK + b"X: " + b"poison" * 12_000 + b"\r\n\r\n",
    "70000 before any line end": OK[:-2] + b"poison" * 12_000,
    "33 connection options": OK + b"Connection: " + b"poison, " * 33 + b"\r\n\r\n",
    "a length of a word": OK + b"Content-Length: poison\r\n\r\n",
    "a negative length": OK + b"Content-Length: -1\r\n\r\npoison",
    "a length beyond 64 bits": OK + b"Content-Length: 18446744073709551622\r\n\r\npoison",
    "a length of nothing": OK + b"Content-Length:\r\n\r\npoison",
    "chunks in HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\npoison\r\n0\r\n\r\n",
    "LF only": b"HTTP/1.1 200 OK\nContent-Length: 6\n\npoison",
    "LF behind the status line": b"HTTP/1.1 200 OK\nX: poison\r\n\r\n",
    "LF as the last line": OK + b"X: poison\r\n\n",
    "an empty line before it": b"\r\n" + OK + POISON,
    "a body alone": b"poison",
    "HTML alone": b"<html>poison</html>",
    "nothing": b"",
    "half a head": OK + b"X: poison\r\n",
    "101 unasked": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: poison\r\nConnection: upgrade\r\n\r\npoison",
    "40 interim heads": b"HTTP/1.1 102 Processing\r\n\r\n" * 40 + OK + POISON,
    "a malformed interim head": b"HTTP/1.1 103 Early Hints\r\nLink : poison\r\n\r\n" + OK + POISON,
    "a good interim head and a bad final one": b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nX : 1\r\n" + POISON,
}

CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BODIES = {
    **{f"chunk {name}": CHUNKS + b"5\r\nhello\r\n" + rest for name, rest in {
        "beyond 64 bits": b"10000000000000006\r\npoison\r\n0\r\n\r\n",
        "of no digits": b"\r\npoison\r\n0\r\n\r\n",
        "0x6": b"0x6\r\npoison\r\n0\r\n\r\n",
        "-6": b"-6\r\npoison\r\n0\r\n\r\n",
        "with a space before": b" 6\r\npoison\r\n0\r\n\r\n",
        "with a space behind": b"6 \r\npoison\r\n0\r\n\r\n",
        "with LF": b"6\npoison\r\n0\r\n\r\n",
        "with LF in its extension": b"6;x\npoison\r\n0\r\n\r\n",
        "of data alone": b"poison",
        "last with LF": b"0\n\r\npoison",
        "last, LF for the end": b"0\r\n\npoison",
        "last, a trailer that is folded": b"0\r\nX: 1\r\n poison\r\n\r\n",
        "last, a trailer without a colon": b"0\r\npoison\r\n\r\n",
        "missing": b"",
        "cut": b"6\r\npoi",
        "cut in its size": b"6",
        "last, cut": b"0\r\n",
        "last, its section cut": b"0\r\nX: poison\r\n",
    }.items()},
    "a length, cut": OK + b"Content-Length: 100\r\n\r\npoi",
}

HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
BEHIND = {
    "a second reply": HELLO + OK + POISON,
    "a second reply behind chunks": CHUNKS + b"5\r\nhello\r\n0\r\n\r\n" + OK + POISON,
    "a body that is longer than it says": HELLO + b"poison",
    "a body of 204": b"HTTP/1.1 204 No Content\r\n\r\n" + OK + POISON,
    "a body of 304": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\npoison",
    "a length and chunks": OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + OK + POISON,
    "a line end": HELLO + b"\r\npoison",
}
