/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_malformed_rows.h – HTTP/2 that must be refused, as scripts (h2_script.h): {name, script,
 * answer, code, opened}. Of a server's rows: what comes after a good preface and SETTINGS (WHOLE:
 * all there is), and how many requests before the fault are good, and shown as such. Of a client's:
 * what a server answers to its GET on stream 1 and its open POST on stream 3.
 */
#ifndef SALLYPORT_TEST_H2_MALFORMED_ROWS_H
#define SALLYPORT_TEST_H2_MALFORMED_ROWS_H

#include "h2_script.h"
#include "http/h2_stream.h"

enum answer {
	STREAM, /* RST_STREAM of the first stream of the script, the session goes on */
	CONN, /* GOAWAY */
	WHOLE, /* the same, the script is from the very beginning */
};

struct malformed {
	const char *name, *script;
	enum answer answer;
	uint32_t code;
	unsigned opened;
};

#define M ":method=GET|"
#define S ":scheme=https|"
#define P ":path=/|"
#define A ":authority=a.test"

/* a request on stream 1 that has everything and one thing more */
#define REQUEST_WITH(name, field)                                                                  \
	{                                                                                          \
		name, "H 1 e " RQ "|" field, STREAM, H2_PROTOCOL_ERROR, 0                          \
	}
#define REQUEST_OF(name, fields)                                                                   \
	{                                                                                          \
		name, "H 1 e " fields, STREAM, H2_PROTOCOL_ERROR, 0                                \
	}

static const struct malformed malformed_requests[] = {
	/* pseudo-fields, RFC 9113 section 8.3.1 */
	REQUEST_OF("no method", S P A),
	REQUEST_OF("no scheme", M P A),
	REQUEST_OF("no path", M S A),
	REQUEST_OF("no authority and no host", M S ":path=/"),
	REQUEST_OF("nothing at all", ""),
	REQUEST_OF("regular fields alone", "x=y"),
	REQUEST_WITH("method twice", ":method=GET"),
	REQUEST_WITH("scheme twice", ":scheme=https"),
	REQUEST_WITH("path twice", ":path=/"),
	REQUEST_WITH("authority twice", ":authority=a.test"),
	REQUEST_WITH("another authority too", ":authority=b.test"),
	REQUEST_OF("empty method", ":method=|" S P A),
	REQUEST_OF("empty scheme", M ":scheme=|" P A),
	REQUEST_OF("empty path", M S ":path=|" A),
	REQUEST_OF("empty authority", M S P ":authority="),
	REQUEST_OF("pseudo-field after a regular one", M S P "x=y|" A),
	REQUEST_OF("method last", "x=y|" S P A "|:method=GET"),
	REQUEST_WITH("pseudo-field of a response", ":status=200"),
	REQUEST_WITH("unknown pseudo-field", ":foo=bar"),
	REQUEST_WITH("pseudo-field without a name", ":=x"),
	REQUEST_OF("pseudo-field in upper case", ":METHOD=GET|" S P A),
	REQUEST_OF("method is no token", ":method=GE%20T|" S P A),
	REQUEST_OF("method with CRLF", ":method=GET%0d%0ax|" S P A),
	REQUEST_OF("path without a slash", M S ":path=a|" A),
	REQUEST_OF("path is a whole URL", M S ":path=https://b.test/|" A),
	REQUEST_OF("asterisk for GET", M S ":path=*|" A),
	REQUEST_OF("path with a space", M S ":path=/a%20b|" A),
	REQUEST_OF("path with a space at its end", M S ":path=/a%20|" A),
	REQUEST_OF("path with CRLF", M S ":path=/%0d%0aX:y|" A),
	REQUEST_OF("path with NUL", M S ":path=/%00|" A),
	REQUEST_OF("path with a byte over 0x7e", M S ":path=/%ff|" A),
	REQUEST_OF("path with a fragment", M S ":path=/a#b|" A),
	REQUEST_OF("path with a tab", M S ":path=/%09|" A),
	REQUEST_OF("scheme of something else", M ":scheme=ftp|" P A),
	REQUEST_OF("scheme in upper case", M ":scheme=HTTPS|" P A),
	REQUEST_OF("scheme with a colon", M ":scheme=https:|" P A),
	REQUEST_OF("authority with user information", M S P ":authority=u@a.test"),
	REQUEST_OF("authority with a path", M S P ":authority=a.test/x"),
	REQUEST_OF("authority with a space", M S P ":authority=a%20.test"),
	REQUEST_OF("authority with CRLF", M S P ":authority=a.test%0d%0aX: y"),
	REQUEST_OF("authority with a bad port", M S P ":authority=a.test:0"),
	REQUEST_OF("authority with an empty port", M S P ":authority=a.test:"),
	REQUEST_OF("authority of two hosts", M S P ":authority=a.test,b.test:x"),
	REQUEST_WITH("host is another", "host=b.test"),
	REQUEST_WITH("host with a port more", "host=a.test:443"),
	REQUEST_OF("host twice, no authority", M S P "host=a.test|host=a.test"),
	REQUEST_OF("empty host, no authority", M S P "host="),
	REQUEST_OF("bad host, no authority", M S P "host=u@a.test"),
	REQUEST_OF("CONNECT", ":method=CONNECT|:authority=a.test:443"),
	REQUEST_OF("CONNECT with everything", ":method=CONNECT|" S P A),
	REQUEST_OF("extended CONNECT", ":method=CONNECT|:protocol=websocket|" S P A),
	REQUEST_WITH(":protocol without CONNECT", ":protocol=websocket"),

	/* names and values, section 8.2.1 */
	REQUEST_WITH("name in upper case", "X-Y=z"),
	REQUEST_WITH("Host in upper case", "Host=a.test"),
	REQUEST_WITH("name with a tab at its end", "cookie%09=a=b"),
	REQUEST_WITH("name with a space at its end", "x =y"),
	REQUEST_WITH("name with a space before", "%20x=y"),
	REQUEST_WITH("name with a colon", "x:y=z"),
	REQUEST_WITH("name with CRLF", "x%0d%0ay=z"),
	REQUEST_WITH("name with NUL", "x%00=z"),
	REQUEST_WITH("name with a byte over 0x7f", "x%e4=z"),
	REQUEST_WITH("name with a slash", "x/y=z"),
	REQUEST_WITH("name with DEL", "x%7f=z"),
	REQUEST_WITH("no name", "=z"),
	REQUEST_WITH("value with LF", "x=a%0ab"),
	REQUEST_WITH("value with CR", "x=a%0db"),
	REQUEST_WITH("value with CRLF and a field", "x=a%0d%0ay: z"),
	REQUEST_WITH("value with NUL", "x=a%00b"),
	REQUEST_WITH("value with DEL", "x=a%7fb"),
	REQUEST_WITH("value with a control byte", "x=a%01b"),
	REQUEST_WITH("value with a space before", "x=%20a"),
	REQUEST_WITH("value with a space after", "x=a%20"),
	REQUEST_WITH("value with a tab before", "x=%09a"),
	REQUEST_WITH("value with a tab after", "x=a%09"),
	REQUEST_WITH("value is a space", "x=%20"),
	REQUEST_WITH("cookie crumb with LF", "cookie=a=b|cookie=c%0a=d"),
	REQUEST_WITH("never indexed, still with LF", "!x=a%0ab"),

	/* fields of the connection, section 8.2.2 */
	REQUEST_WITH("connection", "connection=close"),
	REQUEST_WITH("empty connection", "connection="),
	REQUEST_WITH("keep-alive", "keep-alive=timeout%3d5"),
	REQUEST_WITH("proxy-connection", "proxy-connection=keep-alive"),
	REQUEST_WITH("transfer-encoding", "transfer-encoding=chunked"),
	REQUEST_WITH("transfer-encoding identity", "transfer-encoding=identity"),
	REQUEST_WITH("upgrade", "upgrade=websocket"),
	REQUEST_WITH("http2-settings", "http2-settings=AAMAAABkAAQAAP__"),
	REQUEST_WITH("te gzip", "te=gzip"),
	REQUEST_WITH("te trailers and more", "te=trailers, gzip"),
	REQUEST_WITH("te twice", "te=trailers|te=trailers"),
	REQUEST_WITH("empty te", "te="),

	/* length of the body, section 8.1.1 */
	REQUEST_WITH("content-length, but it ends", "content-length=1"),
	REQUEST_WITH("content-length twice", "content-length=0|content-length=0"),
	REQUEST_WITH("content-length of letters", "content-length=a"),
	REQUEST_WITH("empty content-length", "content-length="),
	REQUEST_WITH("negative content-length", "content-length=-1"),
	REQUEST_WITH("content-length with a plus", "content-length=+0"),
	REQUEST_WITH("content-length in hex", "content-length=0x0"),
	REQUEST_WITH("content-length list", "content-length=0, 0"),
	REQUEST_WITH("content-length over 64 bits", "content-length=18446744073709551616"),
	{"body longer than content-length", "H 1 . " RQ "|content-length=3\nD 1 e abcd", STREAM,
		H2_PROTOCOL_ERROR, 1},
	{"body longer, in two frames", "H 1 . " RQ "|content-length=3\nD 1 . abc\nD 1 e d", STREAM,
		H2_PROTOCOL_ERROR, 1},
	{"body shorter than content-length", "H 1 . " RQ "|content-length=3\nD 1 e ab", STREAM,
		H2_PROTOCOL_ERROR, 1},
	{"no body where content-length says one", "H 1 . " RQ "|content-length=3\nD 1 e ", STREAM,
		H2_PROTOCOL_ERROR, 1},
	{"trailers before all of content-length",
		"H 1 . " RQ "|content-length=3\nD 1 . ab\nH 1 e x=y", STREAM, H2_PROTOCOL_ERROR, 1},

	/* trailers, section 8.1 */
	{"trailers without END_STREAM", "H 1 . " RQ "\nD 1 . a\nH 1 . x=y", STREAM,
		H2_PROTOCOL_ERROR, 1},
	{"pseudo-field in trailers", "H 1 . " RQ "\nH 1 e :path=/b", STREAM, H2_PROTOCOL_ERROR, 1},
	{"status in trailers", "H 1 . " RQ "\nH 1 e :status=200", STREAM, H2_PROTOCOL_ERROR, 1},
	{"a second head", "H 1 . " RQ "\nH 1 e " RQ, STREAM, H2_PROTOCOL_ERROR, 1},
	{"upper case in trailers", "H 1 . " RQ "\nH 1 e X=y", STREAM, H2_PROTOCOL_ERROR, 1},
	{"LF in trailers", "H 1 . " RQ "\nH 1 e x=a%0ab", STREAM, H2_PROTOCOL_ERROR, 1},
	{"transfer-encoding in trailers", "H 1 . " RQ "\nH 1 e transfer-encoding=chunked", STREAM,
		H2_PROTOCOL_ERROR, 1},
	{"content-length in trailers", "H 1 . " RQ "\nH 1 e content-length=0", STREAM,
		H2_PROTOCOL_ERROR, 1},
	{"host in trailers", "H 1 . " RQ "\nH 1 e host=b.test", STREAM, H2_PROTOCOL_ERROR, 1},
	{"te in trailers", "H 1 . " RQ "\nH 1 e te=trailers", STREAM, H2_PROTOCOL_ERROR, 1},

	/* frames, sections 4 to 6 */
	{"no preface", "H 1 e " RQ, WHOLE, H2_PROTOCOL_ERROR, 0},
	{"HTTP/1.1", "X 474554202f20485454502f312e310d0a486f73743a20610d0a0d0a", WHOLE,
		H2_PROTOCOL_ERROR, 0},
	{"preface with a wrong byte",
		"X 505249202a20485454502f322e300d0a0d0a534d0d0a0d0b\n" SETTINGS, WHOLE,
		H2_PROTOCOL_ERROR, 0},
	{"no SETTINGS after the preface", "P\nH 1 e " RQ, WHOLE, H2_PROTOCOL_ERROR, 0},
	{"PING before SETTINGS", "P\nF 6 0 0 0000000000000000", WHOLE, H2_PROTOCOL_ERROR, 0},
	{"acknowledgement in place of SETTINGS", "P\nF 4 1 0 ", WHOLE, H2_PROTOCOL_ERROR, 0},
	{"preface twice", "P", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"HEADERS of stream 0", "H 0 e " RQ, CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS of an even stream", "H 2 e " RQ, CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS that depend on themselves", "F 1 25 1 00000001 10", CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS with more padding than payload", "F 1 d 1 ff82", CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS too short for their padding", "F 1 d 1 ", CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS too short for a priority", "F 1 25 1 000000", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"DATA of stream 0", "D 0 . a", CONN, H2_PROTOCOL_ERROR, 0},
	{"DATA of an idle stream", "D 1 . a", CONN, H2_PROTOCOL_ERROR, 0},
	{"DATA of an even stream", "D 2 . a", CONN, H2_PROTOCOL_ERROR, 0},
	{"DATA after the end", "H 1 e " RQ "\nD 1 e a", CONN, H2_STREAM_CLOSED, 1},
	{"HEADERS after the end", "H 1 e " RQ "\nH 1 e x=y", CONN, H2_STREAM_CLOSED, 1},
	{"DATA with more padding than payload", "H 1 . " RQ "\nF 0 8 1 0500", CONN,
		H2_PROTOCOL_ERROR, 1},
	{"DATA too short for its padding", "H 1 . " RQ "\nF 0 8 1 ", CONN, H2_PROTOCOL_ERROR, 1},
	{"PRIORITY of stream 0", "F 2 0 0 0000000010", CONN, H2_PROTOCOL_ERROR, 0},
	{"PRIORITY too short", "F 2 0 1 00000000", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"RST_STREAM of stream 0", "F 3 0 0 00000008", CONN, H2_PROTOCOL_ERROR, 0},
	{"RST_STREAM of an idle stream", "F 3 0 1 00000008", CONN, H2_PROTOCOL_ERROR, 0},
	{"RST_STREAM too short", "H 1 . " RQ "\nF 3 0 1 000008", CONN, H2_FRAME_SIZE_ERROR, 1},
	{"RST_STREAM too long", "H 1 . " RQ "\nF 3 0 1 0000000800", CONN, H2_FRAME_SIZE_ERROR, 1},
	{"SETTINGS of a stream", "F 4 0 1 ", CONN, H2_PROTOCOL_ERROR, 0},
	{"SETTINGS of odd length", "F 4 0 0 0001", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"acknowledgement with a payload", "F 4 1 0 000100001000", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"push of 2", "F 4 0 0 000200000002", CONN, H2_PROTOCOL_ERROR, 0},
	{"initial window over 2^31-1", "F 4 0 0 000480000000", CONN, H2_FLOW_CONTROL_ERROR, 0},
	{"largest frame too small", "F 4 0 0 000500003fff", CONN, H2_PROTOCOL_ERROR, 0},
	{"largest frame too large", "F 4 0 0 000501000000", CONN, H2_PROTOCOL_ERROR, 0},
	{"acknowledgement of nothing", "F 4 1 0 \nF 4 1 0 \nF 4 1 0 ", CONN, H2_PROTOCOL_ERROR, 0},
	{"PUSH_PROMISE from a client", "F 5 4 1 0000000282", CONN, H2_PROTOCOL_ERROR, 0},
	{"PING of a stream", "F 6 0 1 0000000000000000", CONN, H2_PROTOCOL_ERROR, 0},
	{"PING too short", "F 6 0 0 00000000000000", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"PING too long", "F 6 0 0 000000000000000000", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"GOAWAY of a stream", "F 7 0 1 0000000000000000", CONN, H2_PROTOCOL_ERROR, 0},
	{"GOAWAY too short", "F 7 0 0 00000000000000", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"window opened by 0", "F 8 0 0 00000000", CONN, H2_PROTOCOL_ERROR, 0},
	{"window opened over 2^31-1", "F 8 0 0 7fffffff", CONN, H2_FLOW_CONTROL_ERROR, 0},
	{"WINDOW_UPDATE too short", "F 8 0 0 000001", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"WINDOW_UPDATE of an idle stream", "F 8 0 1 00000001", CONN, H2_PROTOCOL_ERROR, 0},
	{"stream's window opened by 0", "H 1 . " RQ "\nF 8 0 1 00000000", CONN, H2_PROTOCOL_ERROR,
		1},
	{"stream's window opened over 2^31-1", "H 1 . " RQ "\nF 8 0 1 7fffffff", STREAM,
		H2_FLOW_CONTROL_ERROR, 1},
	{"initial window overflows a stream's",
		"H 1 . " RQ "\nF 8 0 1 7fff0000\nF 4 0 0 00047fffffff", STREAM,
		H2_FLOW_CONTROL_ERROR, 1},
	{"CONTINUATION of nothing", "C 1 . x=y", CONN, H2_PROTOCOL_ERROR, 0},
	{"CONTINUATION of stream 0", "C 0 . x=y", CONN, H2_PROTOCOL_ERROR, 0},
	{"CONTINUATION after the end of the block", "H 1 e " RQ "\nC 1 . x=y", CONN,
		H2_PROTOCOL_ERROR, 1},
	{"CONTINUATION of another stream", "H 1 e- " RQ "\nC 3 . x=y", CONN, H2_PROTOCOL_ERROR, 0},
	{"DATA within a field block", "H 1 - " RQ "\nD 1 e a", CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS within a field block", "H 1 e- " RQ "\nH 3 e " RQ, CONN, H2_PROTOCOL_ERROR, 0},
	{"unknown frame within a field block", "H 1 e- " RQ "\nF bb 0 0 00", CONN,
		H2_PROTOCOL_ERROR, 0},
	{"PING within a field block", "H 1 e- " RQ "\nF 6 0 0 0000000000000000", CONN,
		H2_PROTOCOL_ERROR, 0},
	{"frame over 16384 bytes", "X 0040010000000000010000", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"HEADERS over 16384 bytes", "X 004001010500000001", CONN, H2_FRAME_SIZE_ERROR, 0},
	{"stream below the last one", "H 5 e " RQ "\nH 5 e " RQ, CONN, H2_STREAM_CLOSED, 1},

	/* HPACK, RFC 7541 */
	{"index 0", "H 1 e " RQ "|%%", CONN, H2_COMPRESSION_ERROR, 0},
	{"index beyond the tables", "F 1 5 1 fe", CONN, H2_COMPRESSION_ERROR, 0},
	{"integer without end", "F 1 5 1 ffffffffffffffffffffff", CONN, H2_COMPRESSION_ERROR, 0},
	{"string beyond the block", "F 1 5 1 82870084 6162", CONN, H2_COMPRESSION_ERROR, 0},
	{"Huffman with EOS", "F 1 5 1 000178 84ffffffff", CONN, H2_COMPRESSION_ERROR, 0},
	{"Huffman padded too long", "F 1 5 1 000178 8207ff", CONN, H2_COMPRESSION_ERROR, 0},
	{"Huffman padded with 0", "F 1 5 1 000178 8100", CONN, H2_COMPRESSION_ERROR, 0},
	{"table larger than we allow", "F 1 5 1 3fe2ff0382", CONN, H2_COMPRESSION_ERROR, 0},
	{"table size after a field", "F 1 5 1 8220", CONN, H2_COMPRESSION_ERROR, 0},
	{"name of 1 MiB", "F 1 1 1 007f81ff3f 61", CONN, H2_COMPRESSION_ERROR, 0},
};

/* a response to the GET on stream 1 with one thing more */
#define RESPONSE_WITH(name, field)                                                                 \
	{                                                                                          \
		name, "H 1 e :status=200|" field, STREAM, H2_PROTOCOL_ERROR, 0                     \
	}
#define RESPONSE_OF(name, fields)                                                                  \
	{                                                                                          \
		name, "H 1 e " fields, STREAM, H2_PROTOCOL_ERROR, 0                                \
	}

static const struct malformed malformed_responses[] = {
	RESPONSE_OF("no status", "x=y"),
	RESPONSE_OF("nothing at all", ""),
	RESPONSE_OF("empty status", ":status="),
	RESPONSE_OF("status of two digits", ":status=20"),
	RESPONSE_OF("status of four digits", ":status=2000"),
	RESPONSE_OF("status of letters", ":status=abc"),
	RESPONSE_OF("status with a reason", ":status=200 OK"),
	RESPONSE_OF("status 000", ":status=000"),
	RESPONSE_OF("status 099", ":status=099"),
	RESPONSE_OF("status +20", ":status=+20"),
	RESPONSE_OF("status 101", ":status=101"),
	RESPONSE_OF("status after a field", "x=y|:status=200"),
	RESPONSE_WITH("status twice", ":status=200"),
	RESPONSE_WITH("pseudo-field of a request", ":path=/"),
	RESPONSE_WITH("unknown pseudo-field", ":foo=bar"),
	RESPONSE_WITH("name in upper case", "X-Y=z"),
	RESPONSE_WITH("name with a space", "x =z"),
	RESPONSE_WITH("no name", "=z"),
	RESPONSE_WITH("value with LF", "x=a%0ab"),
	RESPONSE_WITH("value with CRLF and a field", "x=a%0d%0aset-cookie: z"),
	RESPONSE_WITH("value with NUL", "x=a%00b"),
	RESPONSE_WITH("value with a space after", "x=a%20"),
	RESPONSE_WITH("connection", "connection=close"),
	RESPONSE_WITH("keep-alive", "keep-alive=timeout%3d5"),
	RESPONSE_WITH("transfer-encoding", "transfer-encoding=chunked"),
	RESPONSE_WITH("upgrade", "upgrade=h2c"),
	RESPONSE_WITH("proxy-connection", "proxy-connection=close"),
	RESPONSE_WITH("content-length, but it ends", "content-length=1"),
	RESPONSE_WITH("content-length twice", "content-length=0|content-length=0"),
	RESPONSE_WITH("content-length of letters", "content-length=a"),
	RESPONSE_OF("204 with a content-length", ":status=204|content-length=3"),
	RESPONSE_OF("interim that ends", ":status=100"),
	{"interim with a content-length", "H 1 . :status=103|content-length=3", STREAM,
		H2_PROTOCOL_ERROR, 0},
	{"interim, then trailers", "H 1 . :status=103\nH 1 e x=y", STREAM, H2_PROTOCOL_ERROR, 0},
	{"interim, then DATA", "H 1 . :status=100\nD 1 e abc", STREAM, H2_PROTOCOL_ERROR, 0},
	{"body longer than content-length", "H 1 . :status=200|content-length=3\nD 1 e abcd",
		STREAM, H2_PROTOCOL_ERROR, 0},
	{"body shorter than content-length", "H 1 . :status=200|content-length=3\nD 1 e ab", STREAM,
		H2_PROTOCOL_ERROR, 0},
	{"204 with a body", "H 1 . :status=204\nD 1 e ab", STREAM, H2_PROTOCOL_ERROR, 0},
	{"304 with a body", "H 1 . :status=304\nD 1 e ab", STREAM, H2_PROTOCOL_ERROR, 0},
	{"trailers without END_STREAM", "H 1 . :status=200\nD 1 . a\nH 1 . x=y", STREAM,
		H2_PROTOCOL_ERROR, 0},
	{"status in trailers", "H 1 . :status=200\nD 1 . a\nH 1 e :status=200", STREAM,
		H2_PROTOCOL_ERROR, 0},
	{"content-length in trailers", "H 1 . :status=200\nD 1 . a\nH 1 e content-length=1", STREAM,
		H2_PROTOCOL_ERROR, 0},
	{"a field in upper case in trailers", "H 1 . :status=200\nH 1 e X=y", STREAM,
		H2_PROTOCOL_ERROR, 0},

	{"DATA before the head", "D 1 . a", CONN, H2_PROTOCOL_ERROR, 0},
	{"PUSH_PROMISE", "F 5 4 1 00000002828684", CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS of a stream of the server's", "H 2 e :status=200", CONN, H2_PROTOCOL_ERROR, 0},
	{"HEADERS of a stream that was not asked for", "H 9 e :status=200", CONN, H2_PROTOCOL_ERROR,
		0},
	{"DATA of a stream that was not asked for", "D 9 e a", CONN, H2_PROTOCOL_ERROR, 0},
	{"RST_STREAM of a stream that was not asked for", "F 3 0 9 00000008", CONN,
		H2_PROTOCOL_ERROR, 0},
	{"WINDOW_UPDATE of a stream that was not asked for", "F 8 0 9 00000001", CONN,
		H2_PROTOCOL_ERROR, 0},
	{"DATA after the end", "H 3 e :status=200\nD 3 e a", CONN, H2_STREAM_CLOSED, 0},
	{"index 0", "H 1 e :status=200|%%", CONN, H2_COMPRESSION_ERROR, 0},
	{"push allowed by a server", "F 4 0 0 000200000001", CONN, H2_PROTOCOL_ERROR, 0},
	{"CONTINUATION of nothing", "C 1 . x=y", CONN, H2_PROTOCOL_ERROR, 0},
	{"frame over 16384 bytes", "X 0040010000000000010000", CONN, H2_FRAME_SIZE_ERROR, 0},
};

#endif
