# SPDX-License-Identifier: Apache-2.0
"""h1_malformed.py - requests that no HTTP/1 parser may read in its own way, in rows: name -> bytes.

HEADS   nothing of them may leave the sandbox; the answer is 400 unless OTHERWISE says which
BODIES  the head is good and may be at the origin already; the body must never be a whole one there
BEHIND  good requests and then something that is not; what is good is answered and arrives, and nothing more

Behind each of them the test sends another, good request with a credential in it. Nobody but the daemon may ever
see that one, and it must not answer it.
"""

BAD, MISMATCH, METHOD = "bad-request", "host-mismatch", "method-denied"
HOST = b"Host: api.test\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def head(fields=b"", line=b"POST /m HTTP/1.1", host=HOST):
    return line + b"\r\n" + host + fields + b"\r\n"


def lines(rows):
    """Request lines in place of a good one."""
    return {f"line {name}": head(line=line) for name, line in rows.items()}


def hosts(rows):
    return {f"Host {name}": head(host=b"Host:" + value + b"\r\n", line=b"GET /m HTTP/1.1") for name, value in rows.items()}


def fields(prefix, rows, body=b""):
    """Field lines behind a good Host, without their last line end."""
    return {f"{prefix} {name}": head(line + b"\r\n") + body for name, line in rows.items()}


# ---- line ends ---------------------------------------------------------------------------------------

ENDS = {
    "LF everywhere": b"GET /m HTTP/1.1\nHost: api.test\n\n",
    "LF behind the request line": b"GET /m HTTP/1.1\nHost: api.test\r\n\r\n",
    "LF behind Host": b"GET /m HTTP/1.1\r\nHost: api.test\nX: 1\r\n\r\n",
    "LF as the last line": b"GET /m HTTP/1.1\r\nHost: api.test\r\n\n",
    "LF LF as the end": b"GET /m HTTP/1.1\r\nHost: api.test\n\n",
    "LF before the empty line": b"GET /m HTTP/1.1\r\nHost: api.test\n\r\n",
    "CR everywhere": b"GET /m HTTP/1.1\rHost: api.test\r\r",
    "CR behind the request line": b"GET /m HTTP/1.1\rHost: api.test\r\n\r\n",
    "CR behind Host": b"GET /m HTTP/1.1\r\nHost: api.test\rX: 1\r\n\r\n",
    "CR CR LF behind the request line": b"GET /m HTTP/1.1\r\r\nHost: api.test\r\n\r\n",
    "CR CR LF behind Host": b"GET /m HTTP/1.1\r\nHost: api.test\r\r\n\r\n",
    "CR CR LF as the last line": b"GET /m HTTP/1.1\r\nHost: api.test\r\n\r\r\n",
    "LF CR": b"GET /m HTTP/1.1\n\rHost: api.test\n\r\n\r",
    "CR before a name": b"GET /m HTTP/1.1\r\n\rHost: api.test\r\n\r\n",
    "LF before the request line": b"\nGET /m HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "CR before the request line": b"\rGET /m HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "two empty lines before it": b"\r\n\r\nGET /m HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "an empty line and LF before it": b"\r\n\nGET /m HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "an empty line and a space before it": b"\r\n GET /m HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "vertical tab for a line end": b"GET /m HTTP/1.1\r\nHost: api.test\x0bX: 1\r\n\r\n",
    "form feed for a line end": b"GET /m HTTP/1.1\r\nHost: api.test\x0cX: 1\r\n\r\n",
    "LF in the target": b"GET /m\n/x HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "CR in the target": b"GET /m\r/x HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "CR LF in the target": b"GET /m\r\n/x HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "a request behind CR in a value": head(b"X: 1\rGET /m HTTP/1.1\rHost: api.test\r\n"),
    "a request behind LF LF in a value": head(b"X: 1\n\nGET /m HTTP/1.1\r\nHost: api.test\r\n"),
}

# ---- folds, colons, names ----------------------------------------------------------------------------

LINES = fields("field line", {
    "folded by a space": b"X: 1\r\n 2",
    "folded by a tab": b"X: 1\r\n\t2",
    "folded to nothing": b"X: 1\r\n ",
    "folded twice": b"X: 1\r\n 2\r\n 3",
    "folded, a field in the fold": b"X: 1\r\n Content-Length: 5",
    "folded length": b"Content-Length:\r\n 5",
    "folded coding": b"Transfer-Encoding:\r\n chunked",
    "folded coding by a tab": b"Transfer-Encoding:\r\n\tchunked",
    "folded Connection": b"Connection: close,\r\n keep-alive",
    "space before it": b" X: 1",
    "tab before it": b"\tX: 1",
    "space before the length": b" Content-Length: 5",
    "space before the coding": b" Transfer-Encoding: chunked",
    "space before the colon": b"X : 1",
    "tab before the colon": b"X\t: 1",
    "space before the length's colon": b"Content-Length : 5",
    "tab before the length's colon": b"Content-Length\t: 5",
    "space before the coding's colon": b"Transfer-Encoding : chunked",
    "tab before the coding's colon": b"Transfer-Encoding\t: chunked",
    "space before Connection's colon": b"Connection : close",
    "no colon": b"X",
    "no colon but a word": b"Transfer-Encoding chunked",
    "a request line": b"GET /x HTTP/1.1",
    "no name": b": 1",
    "a colon": b":",
    "two words in the name": b"X Y: 1",
    "a word before the length": b"X Content-Length: 5",
    "quotes": b"\"X\": 1",
    "a slash in the name": b"X/Y: 1",
    "a bracket in the name": b"X(: 1",
    "an at in the name": b"X@Y: 1",
    "an equals sign for the colon": b"X=1",
    "a byte over 127 in the name": b"X\xff: 1",
    "a no-break space before the colon": b"X\xc2\xa0: 1",
    "a byte order mark": b"\xef\xbb\xbfX: 1",
    "a smart dash in the length's name": b"Content\xe2\x80\x90Length: 5",
})
LINES["field line Host folded"] = b"GET /m HTTP/1.1\r\nHost:\r\n api.test\r\n\r\n"
LINES["field line Host behind a space"] = b"GET /m HTTP/1.1\r\n Host: api.test\r\n\r\n"
LINES["field line Host with a space before the colon"] = b"GET /m HTTP/1.1\r\nHost : api.test\r\n\r\n"

# ---- control bytes in every place --------------------------------------------------------------------

PLACES = {
    "the method": b"GE%cT /m HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "the target": b"GET /m%cx HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "the version": b"GET /m HTTP/1.1%c\r\nHost: api.test\r\n\r\n",
    "a name": b"GET /m HTTP/1.1\r\nHost: api.test\r\nX%cY: 1\r\n\r\n",
    "a value": b"GET /m HTTP/1.1\r\nHost: api.test\r\nX: 1%c2\r\n\r\n",
    "a value's start": b"GET /m HTTP/1.1\r\nHost: api.test\r\nX: %c1\r\n\r\n",
    "Host": b"GET /m HTTP/1.1\r\nHost: api.test%c\r\n\r\n",
    "the length": b"POST /m HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5%c\r\n\r\n",
    "the coding": b"POST /m HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: %cchunked\r\n\r\n",
}
BYTES = {"NUL": 0, "SOH": 1, "BS": 8, "VT": 11, "FF": 12, "ESC": 27, "DEL": 127}
CONTROLS = {f"{name} in {place}": text % byte for place, text in PLACES.items() for name, byte in BYTES.items()}

# ---- the request line --------------------------------------------------------------------------------

REQUEST_LINES = lines({
    "with two spaces": b"GET  /m HTTP/1.1",
    "with two spaces behind the target": b"GET /m  HTTP/1.1",
    "with tabs": b"GET\t/m\tHTTP/1.1",
    "with a tab behind the target": b"GET /m\tHTTP/1.1",
    "with a space behind it": b"GET /m HTTP/1.1 ",
    "with a space before it": b" GET /m HTTP/1.1",
    "with a tab before it": b"\tGET /m HTTP/1.1",
    "without a target": b"GET HTTP/1.1",
    "with an empty target": b"GET  HTTP/1.1",
    "without a version": b"GET /m",
    "without a version but a space": b"GET /m ",
    "a method alone": b"GET",
    "of four words": b"GET /m x HTTP/1.1",
    "of two versions": b"GET /m HTTP/1.1 HTTP/1.1",
    "of a response": b"HTTP/1.1 200 OK",
    "empty method": b" /m HTTP/1.1",
    "method with a colon": b"GET: /m HTTP/1.1",
    "method with an at": b"G@T /m HTTP/1.1",
    "method in brackets": b"(GET) /m HTTP/1.1",
    "method in quotes": b"\"GET\" /m HTTP/1.1",
    "method with a comma": b"GET, /m HTTP/1.1",
    "method with a slash": b"GET/ /m HTTP/1.1",
    "method of other bytes": b"G\xc3\x89T /m HTTP/1.1",
    "method TRACE": b"TRACE /m HTTP/1.1",
    "method TRACK": b"TRACK /m HTTP/1.1",
    "version 0.9": b"GET /m HTTP/0.9",
    "version 1.2": b"GET /m HTTP/1.2",
    "version 1.10": b"GET /m HTTP/1.10",
    "version 1.11": b"GET /m HTTP/1.11",
    "version 2.0": b"GET /m HTTP/2.0",
    "version 2": b"GET /m HTTP/2",
    "version 1": b"GET /m HTTP/1",
    "version 1.": b"GET /m HTTP/1.",
    "version .1": b"GET /m HTTP/.1",
    "version 01.1": b"GET /m HTTP/01.1",
    "version +1.1": b"GET /m HTTP/+1.1",
    "version 1,1": b"GET /m HTTP/1,1",
    "version 1.1x": b"GET /m HTTP/1.1x",
    "version 1.1;": b"GET /m HTTP/1.1;x",
    "version in small letters": b"GET /m http/1.1",
    "version in mixed letters": b"GET /m HTtP/1.1",
    "version of HTTPS": b"GET /m HTTPS/1.1",
    "version of RTSP": b"GET /m RTSP/1.0",
    "version of ICE": b"SOURCE /m ICE/1.0",
    "version with a space": b"GET /m HTTP /1.1",
    "version of wide digits": b"GET /m HTTP/\xef\xbc\x91.1",
    "target without a slash": b"GET m HTTP/1.1",
    "target of a query alone": b"GET ?m HTTP/1.1",
    "target with a fragment": b"GET /m#f HTTP/1.1",
    "target of other bytes": b"GET /\xc3\xbc HTTP/1.1",
    "target of a backslash": b"GET \\m HTTP/1.1",
    "target of dots": b"GET ../m HTTP/1.1",
    "target * of GET": b"GET * HTTP/1.1",
    "target * of POST": b"POST * HTTP/1.1",
    "target ** of OPTIONS": b"OPTIONS ** HTTP/1.1",
    "target *, a path behind it": b"OPTIONS */m HTTP/1.1",
    "absolute over http for the same host": b"GET http://api.test/m HTTP/1.1",
    "absolute for another host": b"GET http://other.test/m HTTP/1.1",
    "absolute with a port": b"GET http://api.test:81/m HTTP/1.1",
    "absolute with a user": b"GET http://api.test@evil.test/m HTTP/1.1",
    "absolute with an escape in the host": b"GET http://api%2etest/m HTTP/1.1",
    "absolute with a backslash": b"GET http://evil.test\\@api.test/m HTTP/1.1",
    "absolute without a host": b"GET http:///m HTTP/1.1",
    "absolute without slashes": b"GET http:api.test/m HTTP/1.1",
    "absolute with one slash": b"GET http:/api.test/m HTTP/1.1",
    "absolute of ftp": b"GET ftp://api.test/m HTTP/1.1",
    "absolute of file": b"GET file:///etc/passwd HTTP/1.1",
    "absolute of javascript": b"GET javascript:alert(1) HTTP/1.1",
    "absolute of a gopher": b"GET gopher://api.test/m HTTP/1.1",
    "absolute with a fragment": b"GET http://api.test/m#f HTTP/1.1",
    "absolute with a bad port": b"GET http://api.test:0/m HTTP/1.1",
    "absolute of OPTIONS": b"OPTIONS http://api.test HTTP/1.1",
    "authority of GET": b"GET api.test:443 HTTP/1.1",
    "CONNECT to the same host": b"CONNECT api.test:443 HTTP/1.1",
    "CONNECT to another host": b"CONNECT other.test:443 HTTP/1.1",
    "CONNECT without a port": b"CONNECT api.test HTTP/1.1",
    "CONNECT to a path": b"CONNECT /m HTTP/1.1",
    "CONNECT to a URL": b"CONNECT https://api.test/ HTTP/1.1",
    "CONNECT with a user": b"CONNECT api.test@evil.test:443 HTTP/1.1",
    "CONNECT to *": b"CONNECT * HTTP/1.1",
})
REQUEST_LINES["line of HTTP/2's preface"] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
REQUEST_LINES["line of HTTP/0.9"] = b"GET /m\r\n\r\n"
REQUEST_LINES["line of Host only"] = b"Host: api.test\r\n\r\n"
REQUEST_LINES["line empty, and then nothing"] = b"\r\n\r\n"

# ---- Host --------------------------------------------------------------------------------------------

HOSTS = hosts({
    "of nothing": b"",
    "of white space": b" \t ",
    "of two words": b" api.test evil.test",
    "a list": b" api.test, evil.test",
    "with a user": b" api.test@evil.test",
    "with an escape": b" api%2etest",
    "with a NUL escape": b" api.test%00.evil.test",
    "a URL": b" https://api.test",
    "with a path": b" api.test/m",
    "with a query": b" api.test?m",
    "with a fragment": b" api.test#m",
    "with a backslash": b" api.test\\evil.test",
    "with a tab in it": b" api.test\tevil.test",
    "of other bytes": b" \xc3\xa4pi.test",
    "with a colon": b" api.test:",
    "with port 0": b" api.test:0",
    "with port 65536": b" api.test:65536",
    "with port 0x1bb": b" api.test:0x1bb",
    "with port 00443": b" api.test:00443",
    "with a negative port": b" api.test:-443",
    "with a second port": b" api.test:443:443",
    "with a port and a host": b" api.test:443@evil.test",
    "in brackets": b" [api.test]",
    "IPv6 without brackets": b" 2001:db8::10",
    "IPv6 with a zone": b" [fe80::1%25eth0]",
    "IPv6 not closed": b" [2001:db8::10",
    "IPv4 in brackets": b" [203.0.113.10]",
    "of hexadecimal IPv4": b" 0xcb.0.0x71.10",
    "of one number": b" 3405803786",
    "of a dot": b" .",
    "of two dots": b" api..test",
    "with a dot before it": b" .api.test",
    "of another name": b" other.test",
    "of a denied name": b" denied.test",
    "with the wrong port": b" api.test:81",
})
HOSTS |= {
    "Host twice": head(HOST),
    "Host twice, another": head(b"Host: other.test\r\n"),
    "Host twice in other letters": head(b"HOST: api.test\r\n"),
    "Host twice, the second empty": head(b"Host:\r\n"),
    "Host twice, the first empty": head(HOST, host=b"Host:\r\n"),
    "Host twice with fields between": head(b"X: 1\r\nY: 2\r\nhost: api.test\r\n"),
    "Host twice in HTTP/1.0": head(HOST, line=b"GET /m HTTP/1.0"),
    "Host missing": head(host=b""),
    "Host missing in HTTP/1.0": head(host=b"", line=b"GET /m HTTP/1.0"),
    "Host missing, X-Forwarded-Host there": head(b"X-Forwarded-Host: api.test\r\n", host=b""),
    "Host missing, absolute": head(host=b"", line=b"GET https://api.test/m HTTP/1.1"),
}

# ---- Content-Length and Transfer-Encoding ------------------------------------------------------------

BOTH = fields("both", {
    "length first": b"Content-Length: 6\r\nTransfer-Encoding: chunked",
    "coding first": b"Transfer-Encoding: chunked\r\nContent-Length: 6",
    "length 0": b"Content-Length: 0\r\nTransfer-Encoding: chunked",
    "and a field between": b"Content-Length: 6\r\nX: 1\r\nTransfer-Encoding: chunked",
    "chunked,": b"Content-Length: 6\r\nTransfer-Encoding: chunked,",
    "chunked and a tab": b"Content-Length: 6\r\nTransfer-Encoding: chunked\t",
    "xchunked": b"Content-Length: 6\r\nTransfer-Encoding: xchunked",
    "identity": b"Content-Length: 6\r\nTransfer-Encoding: identity",
    "empty coding": b"Content-Length: 6\r\nTransfer-Encoding:",
    "gzip": b"Content-Length: 6\r\nTransfer-Encoding: gzip",
    "Connection names the length": b"Connection: content-length\r\nContent-Length: 6\r\nTransfer-Encoding: chunked",
    "Connection names the coding": b"Connection: transfer-encoding\r\nContent-Length: 6\r\nTransfer-Encoding: chunked",
}, b"0\r\n\r\n")
CODINGS = fields("coding", {
    "chunked,": b"Transfer-Encoding: chunked,",
    ",chunked": b"Transfer-Encoding: ,chunked",
    "chunked and a tab": b"Transfer-Encoding: chunked\t",
    "a tab and chunked": b"Transfer-Encoding:\tchunked",
    "chunked, gzip": b"Transfer-Encoding: chunked, gzip",
    "gzip, chunked": b"Transfer-Encoding: gzip, chunked",
    "chunked, chunked": b"Transfer-Encoding: chunked, chunked",
    "chunked, identity": b"Transfer-Encoding: chunked, identity",
    "xchunked": b"Transfer-Encoding: xchunked",
    "chunkedx": b"Transfer-Encoding: chunkedx",
    "chunke": b"Transfer-Encoding: chunke",
    "chunked;q=1": b"Transfer-Encoding: chunked;q=1",
    "quoted": b"Transfer-Encoding: \"chunked\"",
    "in other quotes": b"Transfer-Encoding: 'chunked'",
    "c hunked": b"Transfer-Encoding: c hunked",
    "of nothing": b"Transfer-Encoding:",
    "identity": b"Transfer-Encoding: identity",
    "gzip": b"Transfer-Encoding: gzip",
    "a no-break space and chunked": b"Transfer-Encoding: \xc2\xa0chunked",
    "twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "twice, then identity": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "twice, identity first": b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "twice, empty first": b"Transfer-Encoding:\r\nTransfer-Encoding: chunked",
    "with a word in it": b"Transfer-Encoding: chunked bar",
}, b"0\r\n\r\n")
LENGTHS = fields("length", {
    "5 and 6": b"Content-Length: 5\r\nContent-Length: 6",
    "5 and 0": b"Content-Length: 5\r\nContent-Length: 0",
    "5 and 05": b"Content-Length: 5\r\nContent-Length: 05",
    "5, 6": b"Content-Length: 5, 6",
    "5,5 and 6": b"Content-Length: 5,5\r\nContent-Length: 6",
    "+5": b"Content-Length: +5",
    "-1": b"Content-Length: -1",
    "-0": b"Content-Length: -0",
    "0x5": b"Content-Length: 0x5",
    "5x": b"Content-Length: 5x",
    "5 5": b"Content-Length: 5 5",
    "5.0": b"Content-Length: 5.0",
    "1e1": b"Content-Length: 1e1",
    "5,": b"Content-Length: 5,",
    ",5": b"Content-Length: ,5",
    "5;": b"Content-Length: 5;x",
    "quoted": b"Content-Length: \"5\"",
    "of nothing": b"Content-Length:",
    "of a tab": b"Content-Length: \t",
    "of a word": b"Content-Length: five",
    "beyond 64 bits": b"Content-Length: 18446744073709551621",
    "of 30 digits": b"Content-Length: " + b"9" * 30,
    "of 20 digits, mostly noughts": b"Content-Length: 00000000000000000005",
    "of other digits": b"Content-Length: \xd9\xa5",
    "with an underscore": b"Content-Length: 1_0",
    "with a grouping comma": b"Content-Length: 1,000",
}, b"hello")
OLD = {
    "HTTP/1.0 with chunked": head(CHUNKED, line=b"POST /m HTTP/1.0") + b"0\r\n\r\n",
    "HTTP/1.0 with gzip": head(b"Transfer-Encoding: gzip\r\n", line=b"POST /m HTTP/1.0"),
    "HTTP/1.0 with both": head(CHUNKED + b"Content-Length: 5\r\n", line=b"POST /m HTTP/1.0") + b"0\r\n\r\n",
    "HTTP/1.0 with two lengths": head(b"Content-Length: 5\r\nContent-Length: 6\r\n", line=b"POST /m HTTP/1.0") + b"hello",
}

# ---- too much ----------------------------------------------------------------------------------------

SIZES = {
    "129 fields": head(b"X: 1\r\n" * 128),
    "2000 fields": head(b"X: 1\r\n" * 2000),
    "a value of 70000": head(b"X: " + b"x" * 70_000 + b"\r\n"),
    "a name of 70000": head(b"x" * 70_000 + b": 1\r\n"),
    "a target of 70000": head(line=b"GET /" + b"m" * 70_000 + b" HTTP/1.1"),
    "a method of 70000": head(line=b"G" * 70_000 + b" /m HTTP/1.1"),
    "70000 before any line end": b"GET /" + b"m" * 70_000,
    "33 connection options": head(b"Connection: " + b"x, " * 32 + b"x\r\n"),
    "a Host of 300": head(host=b"Host: " + b"x" * 300 + b"\r\n"),
}

HEADS = {**ENDS, **LINES, **CONTROLS, **REQUEST_LINES, **HOSTS, **BOTH, **CODINGS, **LENGTHS, **OLD, **SIZES}

OTHERWISE = {
    "line method TRACE": METHOD,
    "line method TRACK": METHOD,
    "Host of another name": MISMATCH,
    "Host of a denied name": MISMATCH,
    "Host with the wrong port": MISMATCH,
}
# Over plain HTTP the name is what Host says, and so another name is another server: allowed, or not by policy.
PLAIN = {"Host of a denied name": "host-denied"}
# Nor is a target for a proxy, there, nor HTTP/2: test_explicit*.py and test_h2.py have those.
NOT_PLAIN = {
    "Host of another name", "line absolute over http for the same host", "line absolute for another host",
    "line absolute with a port", "line absolute of OPTIONS", "line CONNECT to the same host", "line CONNECT to another host",
    "line of HTTP/2's preface",
}
# What does not even begin like HTTP is closed there without a word: it is some other protocol, for all that we know.
UNKNOWN = {
    "LF before the request line", "CR before the request line", "two empty lines before it",
    "an empty line and LF before it", "an empty line and a space before it", "line with tabs",
    "line with a space before it", "line with a tab before it", "line a method alone", "line of a response",
    "line empty method", "line method with a colon", "line method with an at", "line method in brackets",
    "line method in quotes", "line method with a comma", "line method with a slash", "line method of other bytes",
    "line of Host only", "line empty, and then nothing", "a method of 70000",
    *(f"{name} in the method" for name in BYTES),
}


# ---- bodies ------------------------------------------------------------------------------------------


def chunks(rows):
    return {f"chunk {name}": head(CHUNKED) + text for name, text in rows.items()}


BODIES = chunks({
    "beyond 64 bits": b"10000000000000000\r\nhello\r\n0\r\n\r\n",
    "beyond 64 bits, 5 when it wraps": b"10000000000000005\r\nhello\r\n0\r\n\r\n",
    "beyond 64 bits, an end when it wraps": b"10000000000000000\r\n\r\n",
    "of more digits than 16": b"0" * 16 + b"5\r\nhello\r\n0\r\n\r\n",
    "of more noughts than 16 for an end": b"0" * 17 + b"\r\n\r\n",
    "0x5": b"0x5\r\nhello\r\n0\r\n\r\n",
    "5h": b"5h\r\nhello\r\n0\r\n\r\n",
    "with a space before": b" 5\r\nhello\r\n0\r\n\r\n",
    "with a tab before": b"\t5\r\nhello\r\n0\r\n\r\n",
    "with a space behind": b"5 \r\nhello\r\n0\r\n\r\n",
    "with a word behind": b"5 x\r\nhello\r\n0\r\n\r\n",
    "with a comma": b"5,5\r\nhello\r\n0\r\n\r\n",
    "+5": b"+5\r\nhello\r\n0\r\n\r\n",
    "-5": b"-5\r\nhello\r\n0\r\n\r\n",
    "1_0": b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n",
    "of nothing": b"\r\nhello\r\n0\r\n\r\n",
    "of an extension alone": b";x\r\nhello\r\n0\r\n\r\n",
    "of other digits": b"\xd9\xa5\r\nhello\r\n0\r\n\r\n",
    "of NUL": b"\x005\r\nhello\r\n0\r\n\r\n",
    "LF only": b"5\nhello\n0\n\n",
    "LF behind the size": b"5\nhello\r\n0\r\n\r\n",
    "CR behind the size": b"5\rhello\r\n0\r\n\r\n",
    "CR CR LF behind the size": b"5\r\r\nhello\r\n0\r\n\r\n",
    "LF behind the data": b"5\r\nhello\n0\r\n\r\n",
    "CR behind the data": b"5\r\nhello\r0\r\n\r\n",
    "nothing behind the data": b"5\r\nhello0\r\n\r\n",
    "two line ends behind the data": b"5\r\nhello\r\n\r\n0\r\n\r\n",
    "longer than its size": b"5\r\nhelloo\r\n0\r\n\r\n",
    "shorter than its size": b"6\r\nhello\r\n0\r\n\r\n",
    "LF in an extension": b"5;x\nhello\r\n0\r\n\r\n",
    "CR in an extension": b"5;x\ry\r\nhello\r\n0\r\n\r\n",
    "NUL in an extension": b"5;\x00\r\nhello\r\n0\r\n\r\n",
    "LF in a quoted extension": b"5;x=\"\n\"\r\nhello\r\n0\r\n\r\n",
    "extension of 5000": b"5;" + b"x" * 5000 + b"\r\nhello\r\n0\r\n\r\n",
    "a LF for an extension's line end, a size in it": b"2;\n47\r\nGET /m HTTP/1.1\r\n0\r\n\r\n",
    "last with LF": b"5\r\nhello\r\n0\n\r\n",
    "last without a line end": b"5\r\nhello\r\n0GET /m HTTP/1.1\r\n",
    "last with LF for the section's end": b"5\r\nhello\r\n0\r\n\n",
    "last with CR for the section's end": b"5\r\nhello\r\n0\r\n\rx",
    "last and a trailer with LF": b"0\r\nX: 1\n\r\n",
    "last and a trailer without a colon": b"0\r\nX\r\n\r\n",
    "last and a trailer with a space before the colon": b"0\r\nX : 1\r\n\r\n",
    "last and a folded trailer": b"0\r\nX: 1\r\n 2\r\n\r\n",
    "last and a trailer with NUL": b"0\r\nX: \x00\r\n\r\n",
    "last and too many trailers": b"0\r\n" + b"X: 1\r\n" * 129 + b"\r\n",
    "last and a trailer of 9000": b"0\r\nX: " + b"x" * 9000 + b"\r\n\r\n",
})

GOOD = b"GET /good HTTP/1.1\r\nHost: api.test\r\n\r\n"
GOOD_BODY = b"POST /good HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\n\r\nhello"
GOOD_CHUNKS = b"POST /good HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

# name: (good requests before, the malformed rest)
BEHIND = {
    "a GET, LF only": ([GOOD], ENDS["LF everywhere"]),
    "two GETs, no Host": ([GOOD, GOOD], head(host=b"")),
    "a body, two lengths": ([GOOD_BODY], LENGTHS["length 5 and 6"]),
    "a body, both": ([GOOD_BODY], BOTH["both length first"]),
    "a body that is longer than it says": ([GOOD_BODY], b" world"),
    "a body and a line end too much, twice": ([GOOD_BODY], b"\r\n\r\n" + GOOD),
    "chunks, a chunk too much": ([GOOD_CHUNKS], b"5\r\nhello\r\n0\r\n\r\n"),
    "chunks, an obfuscated coding": ([GOOD_CHUNKS], CODINGS["coding xchunked"]),
    "a GET, CONNECT": ([GOOD], head(line=b"CONNECT other.test:443 HTTP/1.1")),
    "a GET, another host": ([GOOD], head(host=b"Host: denied.test\r\n")),
    "a GET, a response": ([GOOD], b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "a GET, the preface of HTTP/2": ([GOOD], REQUEST_LINES["line of HTTP/2's preface"]),
    "a GET, bytes of TLS": ([GOOD], b"\x16\x03\x01\x00\x05hello"),
}
