# SPDX-License-Identifier: Apache-2.0
"""h1_odd.py - requests and replies that are valid, or nearly, in rows: name -> bytes. What a parser may not trip over."""
from h1_malformed import CHUNKED, GOOD, GOOD_BODY, GOOD_CHUNKS, HOST, head

GET = b"GET /m HTTP/1.1"


def named(prefix, make, rows):
    return {f"{prefix} {name}": make(value) for name, value in rows.items()}


def line(text):
    return head(line=text)


def field(text):
    return head(text + b"\r\n", line=GET)


def host(text):
    return head(host=b"Host:" + text + b"\r\n", line=GET)


def chunks(text):
    return head(CHUNKED) + text


METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "REPORT", "M-SEARCH", "PURGE", "QUERY",
           "get", "FOO", "X-Y_Z", "G.E+T", "!#$%&'*+-.^_`|~", "PRI", "TRACE"]

REQUESTS = {
    **named("method", lambda name: line(name.encode() + b" /m HTTP/1.1"), {name: name for name in METHODS}),
    **named("target", lambda target: line(b"GET " + target + b" HTTP/1.1"), {
        "/": b"/",
        "of slashes": b"//evil.test//m",
        "of dots": b"/a/../../m/.",
        "with escapes": b"/%2e%2e/%00%0d%0a%zz%",
        "with a query": b"/m?a=b&c=d?e/f",
        "with an empty query": b"/m?",
        "with semicolons": b"/m;a=b;c",
        "with brackets": b"/m[0]{1}<2>",
        "with quotes": b"/m\"'`",
        "with a backslash": b"/m\\..\\x",
        "with a caret and a bar": b"/m^|x",
        "with an at": b"/@evil.test",
        "with a colon": b"/a:80/b",
        "of 5000": b"/" + b"m" * 5000,
        "absolute": b"http://api.test/m",
        "absolute, no path": b"http://api.test",
        "absolute, a query alone": b"http://api.test?m",
        "absolute in capitals": b"HTTP://API.TEST/m",
        "absolute, IPv6": b"http://[2001:db8::1]:80/m",
        "of dashes": b"/-._~!$&'()*+,;=:@",
    }),
    "OPTIONS *": line(b"OPTIONS * HTTP/1.1"),
    "CONNECT": line(b"CONNECT api.test:443 HTTP/1.1") + GOOD,
    "HTTP/1.0": line(b"GET /m HTTP/1.0") + GOOD,
    "HTTP/1.0 without Host": head(host=b"", line=b"GET /m HTTP/1.0"),
    "HTTP/1.0 that stays": head(b"Connection: keep-alive\r\n", line=b"GET /m HTTP/1.0") + GOOD,
    "HTTP/1.0 with a body": head(b"Content-Length: 5\r\n", line=b"POST /m HTTP/1.0") + b"hello",
    "an empty line before it": b"\r\n" + head(line=GET),
    "an empty line between two": GOOD_BODY + b"\r\n" + GOOD,
    **named("Host", host, {
        "without a space": b"api.test",
        "behind tabs": b"\t \tapi.test \t",
        "in capitals": b" API.TEST",
        "with a port": b" api.test:8443",
        "with a dot at its end": b" api.test.",
        "IPv4": b" 203.0.113.10",
        "IPv6": b" [2001:db8::10]",
        "IPv6 and a port": b" [2001:db8::10]:443",
        "with an underscore": b" _dmarc.api.test",
        "with sub-delims": b" a!$&'()*+,;=b",
        "with a tilde": b" ~api.test",
    }),
    **named("field", field, {
        "empty": b"X:",
        "of white space": b"X: \t ",
        "with inner white space": b"X:  a \t b  ",
        "of other bytes": b"X: \xc3\xbc\xff\x80",
        "of colons": b"X: a:b::c",
        "with an odd name": b"!#$%&'*+-.^_`|~: 1",
        "of digits": b"0: 1",
        "with an underscore": b"Content_Length: 5",
        "of quotes": b"X: \"a\\\"b",
        "twice": b"X: 1\r\nX: 2",
        "twice in other letters": b"X-a: 1\r\nx-A: 2",
        "of 5000": b"X: " + b"x" * 5000,
        "and 99 more": b"\r\n".join(b"X-%d: %d" % (n, n) for n in range(100)),
        "Connection: close": b"Connection: close",
        "Connection in capitals": b"CONNECTION: CLOSE",
        "Connection: keep-alive": b"Connection: keep-alive",
        "Connection of many": b"Connection: a, ,b,\tclose ,c",
        "Connection twice": b"Connection: x\r\nConnection: close",
        "Connection: closed": b"Connection: closed",
        "Connection of both": b"Connection: keep-alive, close",
        "Upgrade: h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        "Upgrade: websocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13",
        "Upgrade without Connection": b"Upgrade: h2c",
        "TE": b"TE: trailers, deflate;q=0.5\r\nConnection: TE",
        "Expect: 100-continue": b"Expect: 100-continue",
        "Expect of something else": b"Expect: the-unexpected",
        "Proxy-Connection: close": b"Proxy-Connection: close",
        "Content-Length: 0": b"Content-Length: 0",
    }),
    "Connection: close and more": head(b"Connection: close\r\n", line=GET) + GOOD,
    "Upgrade: h2c with a body": head(b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n") + b"hello" + GOOD,
    "Upgrade: websocket and more": head(b"Connection: Upgrade\r\nUpgrade: websocket\r\n", line=GET) + GOOD,
    **named("length", lambda text: head(text + b"\r\n") + b"hello" + GOOD, {
        "5": b"Content-Length: 5",
        "without a space": b"Content-Length:5",
        "in capitals": b"CONTENT-LENGTH: 5",
        "05": b"Content-Length: 05",
        "of 19 digits": b"Content-Length: 0000000000000000005",
        "between tabs": b"Content-Length:\t5\t",
        "5, 5": b"Content-Length: 5, 5",
        "5 twice": b"Content-Length: 5\r\nContent-Length: 5",
        "named by Connection": b"Connection: content-length\r\nContent-Length: 5",
    }),
    "length of a GET": head(b"Content-Length: 5\r\n", line=GET) + b"hello" + GOOD,
    "length of a HEAD": head(b"Content-Length: 5\r\n", line=b"HEAD /m HTTP/1.1") + b"hello" + GOOD,
    "length, cut": head(b"Content-Length: 5\r\n") + b"hel",
    "length of 2^62, cut": head(b"Content-Length: 4611686018427387904\r\n") + b"hel",
    "length that is all: none": head() + GOOD,
    **named("coding", lambda text: head(text + b"\r\n") + b"5\r\nhello\r\n0\r\n\r\n" + GOOD, {
        "chunked": b"Transfer-Encoding: chunked",
        "in capitals": b"TRANSFER-ENCODING: CHUNKED",
        "without a space": b"Transfer-Encoding:chunked",
        "between spaces": b"Transfer-Encoding:   chunked  ",
        "named by Connection": b"Connection: transfer-encoding\r\nTransfer-Encoding: chunked",
    }),
    "chunks of a GET": head(CHUNKED, line=GET) + b"5\r\nhello\r\n0\r\n\r\n" + GOOD,
    **named("chunks", chunks, {
        "none": b"0\r\n\r\n" + GOOD,
        "in capitals": b"A\r\n0123456789\r\n0\r\n\r\n",
        "in small letters": b"a\r\n0123456789\r\n0\r\n\r\n",
        "of 16 digits": b"0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n",
        "of line ends": b"2\r\n\r\n\r\n4\r\n0\r\n\r\r\n0\r\n\r\n",
        "with an extension": b"5;x\r\nhello\r\n0;y\r\n\r\n" + GOOD,
        "with a value": b"5;x=y\r\nhello\r\n0\r\n\r\n",
        "with a quoted value": b"5;x=\"y;z\"\r\nhello\r\n0\r\n\r\n",
        "with a quote in quotes": b"5;x=\"y\\\"z\"\r\nhello\r\n0\r\n\r\n",
        "with spaces in the extension": b"5 ; x = y\r\nhello\r\n0\r\n\r\n",
        "with an empty extension": b"5;\r\nhello\r\n0\r\n\r\n",
        "with two extensions": b"5;a;b=c\r\nhello\r\n0\r\n\r\n",
        "with an extension of other bytes": b"5;\xc3\xbc\r\nhello\r\n0\r\n\r\n",
        "with an extension of separators": b"5;(){}[]@\r\nhello\r\n0\r\n\r\n",
        "with an open quote": b"5;x=\"y\r\nhello\r\n0\r\n\r\n",
        "with trailers": b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nx-sum:2\r\n\r\n" + GOOD,
        "with an empty trailer": b"0\r\nX:\r\n\r\n",
        "with trailers of framing": b"0\r\nContent-Length: 5\r\n\r\n" + GOOD,
        "with a trailer of another coding": b"0\r\nTransfer-Encoding: gzip\r\n\r\n" + GOOD,
        "cut in a size": b"5",
        "cut behind a size": b"5\r\n",
        "cut in the data": b"5\r\nhel",
        "cut behind the data": b"5\r\nhello",
        "cut before the trailers": b"0\r\n",
        "cut in the trailers": b"0\r\nX: 1\r\n",
    }),
    "three in a row": GOOD_BODY + GOOD_CHUNKS + GOOD,
    "twenty in a row": (GOOD + GOOD_CHUNKS) * 10,
    "cut in the request line": b"GET /m HT",
    "cut in a field": b"GET /m HTTP/1.1\r\nHost: api",
    "cut before the empty line": b"GET /m HTTP/1.1\r\n" + HOST,
    "nothing": b"",
}

OK = b"HTTP/1.1 200 OK\r\n"


def reply(text):
    return OK + text + b"\r\n\r\nhello"


def first(text):
    return text + b"\r\nContent-Length: 5\r\n\r\nhello"


REPLIES = {
    **named("status line", first, {
        "plain": b"HTTP/1.1 200 OK",
        "1.0": b"HTTP/1.0 200 OK",
        "without a reason": b"HTTP/1.1 200 ",
        "without a reason and its space": b"HTTP/1.1 200",
        "with a long reason": b"HTTP/1.1 200 It is \t all right",
        "of other bytes": b"HTTP/1.1 200 \xc3\xbc",
        "299": b"HTTP/1.1 299 Odd",
        "599": b"HTTP/1.1 599 Odd",
        "999": b"HTTP/1.1 999 Odd",
    }),
    **named("reply", reply, {
        "with a length": b"Content-Length: 5",
        "with the same length twice": b"Content-Length: 5\r\nContent-Length: 5",
        "with the same length in a list": b"Content-Length: 5, 5",
        "until the end": b"X: 1",
        "until the end, close": b"Connection: close",
        "with Host twice": b"Host: a\r\nHost: b\r\nContent-Length: 5",
        "with empty fields": b"X:\r\nY: \r\nContent-Length: 5",
        "with other bytes": b"X: \xff\x80\r\nContent-Length: 5",
        "with many fields": b"\r\n".join(b"X-%d: 1" % n for n in range(100)) + b"\r\nContent-Length: 5",
        "cut": b"Content-Length: 10",
    }),
    "chunks": OK + CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunks and trailers": OK + CHUNKED + b"\r\n5;x\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
    "chunks, cut": OK + CHUNKED + b"\r\n5\r\nhel",
    "chunks and a length": OK + CHUNKED + b"Content-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "204 with a length of 0": b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
    "204 with a length": b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
    "304 with a length": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    "304 with chunks": b"HTTP/1.1 304 Not Modified\r\n" + CHUNKED + b"\r\n",
    "100 and 200": b"HTTP/1.1 100 Continue\r\n\r\n" + reply(b"Content-Length: 5"),
    "103 twice and 200": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2 + reply(b"Content-Length: 5"),
    "103 with a length": b"HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" + reply(b"Content-Length: 5"),
    "101": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello",
    "Upgrade of a 200": reply(b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 5"),
    "half a head": OK + b"X: 1\r\n",
}
