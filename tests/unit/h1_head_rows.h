/* SPDX-License-Identifier: Apache-2.0 */
/* h1_head_rows.h – the malformed heads of test_h1_head.c, each with what must be said about it. */
#ifndef SALLYPORT_TEST_H1_HEAD_ROWS_H
#define SALLYPORT_TEST_H1_HEAD_ROWS_H

#include "base/slice.h"

struct head_row {
	struct slice text;
	const char *why;
};

#define LINE(text, why)                                                                            \
	{                                                                                          \
		SLICE(text), why                                                                   \
	}
/* a request whose request line and Host are right */
#define FIELD(text, why)                                                                           \
	{                                                                                          \
		SLICE("POST /x HTTP/1.1\r\nHost: h.test\r\n" text "\r\n\r\n"), why                 \
	}
#define OLD(text, why)                                                                             \
	{                                                                                          \
		SLICE("POST /x HTTP/1.0\r\n" text "\r\n\r\n"), why                                 \
	}
#define REPLY(text, why)                                                                           \
	{                                                                                          \
		SLICE("HTTP/1.1 200 OK\r\n" text "\r\n\r\n"), why                                  \
	}
#define END " HTTP/1.1\r\nHost: h.test\r\n\r\n"

#define PARTS    "the request line has not three parts"
#define METHOD   "the method is not a token"
#define VERSION  "the version is not HTTP/1.1 or HTTP/1.0"
#define TARGET   "the request target is malformed"
#define CONTROL  "a control byte in the head"
#define BARE_LF  "a LF without CR in the head"
#define BARE_CR  "a CR without LF in the head"
#define FOLD     "a folded field line"
#define COLON    "a field line without a colon"
#define BEFORE   "white space between a field name and its colon"
#define NAME     "a field name that is not a token"
#define BOTH     "both Content-Length and Transfer-Encoding"
#define TWICE    "more than one Transfer-Encoding"
#define CODING   "Transfer-Encoding is not exactly chunked"
#define CODING10 "Transfer-Encoding in HTTP/1.0"
#define LENGTH   "Content-Length is not a number"
#define LARGE    "Content-Length is too large"
#define DIFFER   "Content-Length values that differ"
#define HOST     "Host is not a host with an optional port"
#define HOSTS    "more than one Host"
#define NO_HOST  "no Host"
#define STATUS   "the status is not a number of three digits"

static const struct head_row bad_requests[] = {
	/* the request line */
	LINE("\r\n\r\n", "no request line"),
	LINE("\r\n\r\nGET /" END, "no request line"),
	LINE("GET\r\n\r\n", PARTS),
	LINE("GET /\r\n\r\n", PARTS),
	LINE("GET /x\r\nHost: h.test\r\n\r\n", PARTS),
	LINE("GET / HTTP/1.1 \r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET  / HTTP/1.1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET /  HTTP/1.1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET /a b HTTP/1.1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET\t/\tHTTP/1.1\r\nHost: h.test\r\n\r\n", PARTS),
	LINE("GET /\tHTTP/1.1\r\nHost: h.test\r\n\r\n", PARTS),
	LINE(" GET /" END, METHOD),
	LINE("\tGET /" END, METHOD),
	LINE("G@T /" END, METHOD),
	LINE("GET: /" END, METHOD),
	LINE("G(T /" END, METHOD),
	LINE("\"GET\" /" END, METHOD),
	LINE("G\xc3\x89T /" END, METHOD),
	LINE("GET / HTTP/1.2\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / HTTP/1.\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / HTTP/1.10\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / HTTP/0.9\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / HTTP/2.0\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / HTTP/01.1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / HTTP/1,1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / http/1.1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / HTTPS/1.1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / FTP/1.1\r\nHost: h.test\r\n\r\n", VERSION),
	LINE("GET / \r\nHost: h.test\r\n\r\n", VERSION),
	LINE("PRI * HTTP/2.0\r\n\r\n", VERSION),
	LINE("HTTP/1.1 200 OK\r\n\r\n", METHOD),
	LINE("Host: h.test\r\n\r\n", PARTS),
	/* the target */
	LINE("GET x" END, TARGET),
	LINE("GET ?x" END, TARGET),
	LINE("GET *" END, TARGET),
	LINE("GET /#f" END, TARGET),
	LINE("GET /\xc3\xbc" END, TARGET),
	LINE("GET h.test:80" END, TARGET),
	LINE("GET ftp://h.test/" END, TARGET),
	LINE("GET http://u@h.test/" END, TARGET),
	LINE("GET http:///x" END, TARGET),
	LINE("GET http://h.test:0/" END, TARGET),
	LINE("GET http://h.test\\@evil.test/" END, TARGET),
	LINE("CONNECT h.test" END, TARGET),
	LINE("CONNECT /" END, TARGET),
	LINE("CONNECT ok.test@evil.test:443" END, TARGET),
	LINE("CONNECT ok.test\0.evil.test:443" END, CONTROL),
	LINE("OPTIONS **" END, TARGET),
	/* bytes that may stand nowhere */
	LINE("\nGET /" END, BARE_LF),
	LINE("\rGET /" END, BARE_CR),
	LINE("\r\n\nGET /" END, BARE_LF),
	LINE("\r\r\nGET /" END, BARE_CR),
	LINE("GET / HTTP/1.1\nHost: h.test\n\n", BARE_LF),
	LINE("GET / HTTP/1.1\rHost: h.test\r\r", BARE_CR),
	LINE("GET / HTTP/1.1\r\nHost: h.test\n\r\n", BARE_LF),
	LINE("GET / HTTP/1.1\r\nHost: h.test\r\n\n", BARE_LF),
	LINE("GET / HTTP/1.1\r\nHost: h.test\r\r\n\r\n", BARE_CR),
	LINE("GET / HTTP/1.1\r\n\rHost: h.test\r\n\r\n", BARE_CR),
	LINE("GET /\0 HTTP/1.1\r\nHost: h.test\r\n\r\n", CONTROL),
	LINE("GET /\x7f HTTP/1.1\r\nHost: h.test\r\n\r\n", CONTROL),
	LINE("GET /\x0b HTTP/1.1\r\nHost: h.test\r\n\r\n", CONTROL),
	LINE("\x16\x03\x01\x02\x00", CONTROL),
	LINE("\x80\x2e\x01", CONTROL),
	FIELD("X: a\0b", CONTROL),
	FIELD("X\0: a", CONTROL),
	FIELD("X: a\x01", CONTROL),
	FIELD("X: a\x08", CONTROL),
	FIELD("X: a\x0b", CONTROL),
	FIELD("X: a\x0c", CONTROL),
	FIELD("X: a\x1b[31m", CONTROL),
	FIELD("X: a\x7f", CONTROL),
	FIELD("X: a\nY: b", BARE_LF),
	FIELD("X: a\rY: b", BARE_CR),
	FIELD("X: a\n Y: b", BARE_LF),
	/* lines and names */
	FIELD(" X: a", FOLD),
	FIELD("\tX: a", FOLD),
	FIELD("X: a\r\n b", FOLD),
	FIELD("X: a\r\n\tb", FOLD),
	FIELD("X: a\r\n \r\nY: b", FOLD),
	FIELD("Transfer-Encoding:\r\n chunked", FOLD),
	LINE("GET / HTTP/1.1\r\n Host: h.test\r\n\r\n", FOLD),
	FIELD("X", COLON),
	FIELD("X a", COLON),
	FIELD("GET / HTTP/1.1", COLON),
	FIELD("X : a", BEFORE),
	FIELD("X\t: a", BEFORE),
	FIELD("Content-Length : 5", BEFORE),
	FIELD("Transfer-Encoding : chunked", BEFORE),
	FIELD(":", NAME),
	FIELD(": a", NAME),
	FIELD("X Y: a", NAME),
	FIELD("X\tY: a", NAME),
	FIELD("X(c): a", NAME),
	FIELD("X/Y: a", NAME),
	FIELD("X[0]: a", NAME),
	FIELD("X=Y: a", NAME),
	FIELD("\"X\": a", NAME),
	FIELD("X,Y: a", NAME),
	FIELD("X@Y: a", NAME),
	FIELD("{X}: a", NAME),
	FIELD("X\\: a", NAME),
	FIELD("X\xff: a", NAME),
	FIELD("\xef\xbb\xbfX: a", NAME),
	/* Host */
	LINE("GET / HTTP/1.1\r\n\r\n", NO_HOST),
	LINE("GET / HTTP/1.1\r\nHosts: h.test\r\n\r\n", NO_HOST),
	LINE("GET http://h.test/ HTTP/1.1\r\n\r\n", NO_HOST),
	LINE("CONNECT h.test:443 HTTP/1.1\r\n\r\n", NO_HOST),
	FIELD("Host: h.test", HOSTS),
	FIELD("host: evil.test", HOSTS),
	OLD("Host: h.test\r\nHost: h.test", HOSTS),
	LINE("GET / HTTP/1.1\r\nHost:\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: \t \r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: ok.test@evil.test\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h.test%00\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h\ttest\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h\x7ftest\r\n\r\n", CONTROL),
	LINE("GET / HTTP/1.1\r\nHost: h\xfftest\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h\\test\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: http://h.test\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h.test/\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h.test:\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h.test:443x\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: h.test:65536\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n", HOST),
	LINE("GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", HOST),
	OLD("Host:", HOST),
	/* Transfer-Encoding (H1-15) */
	FIELD("Content-Length: 6\r\nTransfer-Encoding: chunked", BOTH),
	FIELD("Transfer-Encoding: chunked\r\nContent-Length: 6", BOTH),
	FIELD("Content-Length: 6\r\nTransfer-Encoding: xchunked", BOTH),
	FIELD("Content-Length: 6\r\nTransfer-Encoding: chunked,", BOTH),
	FIELD("Content-Length: 6\r\nTransfer-Encoding: chunked\t", BOTH),
	FIELD("Content-Length: 0\r\nTransfer-Encoding:", BOTH),
	FIELD("Transfer-Encoding: chunked,", CODING),
	FIELD("Transfer-Encoding: ,chunked", CODING),
	FIELD("Transfer-Encoding: chunked\t", CODING),
	FIELD("Transfer-Encoding:\tchunked", CODING),
	FIELD("Transfer-Encoding: \t chunked", CODING),
	FIELD("Transfer-Encoding: chunked, gzip", CODING),
	FIELD("Transfer-Encoding: gzip, chunked", CODING),
	FIELD("Transfer-Encoding: chunked, chunked", CODING),
	FIELD("Transfer-Encoding: xchunked", CODING),
	FIELD("Transfer-Encoding: chunkedx", CODING),
	FIELD("Transfer-Encoding: chunke", CODING),
	FIELD("Transfer-Encoding: chunked;q=1", CODING),
	FIELD("Transfer-Encoding: \"chunked\"", CODING),
	FIELD("Transfer-Encoding: 'chunked'", CODING),
	FIELD("Transfer-Encoding: c hunked", CODING),
	FIELD("Transfer-Encoding: chunked, identity", CODING),
	FIELD("Transfer-Encoding: identity", CODING),
	FIELD("Transfer-Encoding: gzip", CODING),
	FIELD("Transfer-Encoding:", CODING),
	FIELD("Transfer-Encoding: \x80"
	      "chunked",
		CODING),
	FIELD("Transfer-Encoding: \x0b"
	      "chunked",
		CONTROL),
	FIELD("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", TWICE),
	FIELD("Transfer-Encoding: chunked\r\ntransfer-encoding: identity", TWICE),
	FIELD("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", TWICE),
	OLD("Transfer-Encoding: chunked", CODING10),
	OLD("Host: h.test\r\nTransfer-Encoding: gzip", CODING10),
	OLD("Transfer-Encoding: chunked\r\nContent-Length: 1", BOTH),
	/* Content-Length (H1-16) */
	FIELD("Content-Length: 5\r\nContent-Length: 6", DIFFER),
	FIELD("Content-Length: 5\r\nX: y\r\ncontent-length: 05", DIFFER),
	FIELD("Content-Length: 5, 6", DIFFER),
	FIELD("Content-Length: 5,5\r\nContent-Length: 5,6", DIFFER),
	FIELD("Content-Length: +5", LENGTH),
	FIELD("Content-Length: -1", LENGTH),
	FIELD("Content-Length: 0x5", LENGTH),
	FIELD("Content-Length: 5x", LENGTH),
	FIELD("Content-Length: 5 5", LENGTH),
	FIELD("Content-Length: 5.0", LENGTH),
	FIELD("Content-Length: 1e3", LENGTH),
	FIELD("Content-Length:", LENGTH),
	FIELD("Content-Length: \t", LENGTH),
	FIELD("Content-Length: ,", LENGTH),
	FIELD("Content-Length: 5,", LENGTH),
	FIELD("Content-Length: ,5", LENGTH),
	FIELD("Content-Length: 5,,5", LENGTH),
	FIELD("Content-Length: 5;x", LENGTH),
	FIELD("Content-Length: \"5\"", LENGTH),
	FIELD("Content-Length: \xd9\xa5", LENGTH),
	FIELD("Content-Length: 10000000000000000000", LARGE),
	FIELD("Content-Length: 18446744073709551621", LARGE),
	FIELD("Content-Length: 00000000000000000005", LARGE),
	OLD("Content-Length: 5\r\nContent-Length: 6", DIFFER),
};

static const struct head_row bad_responses[] = {
	LINE("\r\nHTTP/1.1 200 OK\r\n\r\n", VERSION),
	LINE("\r\n\r\n", VERSION),
	LINE("200 OK\r\n\r\n", VERSION),
	LINE("ICY 200 OK\r\n\r\n", VERSION),
	LINE("HTTP/1.1\r\n\r\n", STATUS),
	LINE("HTTP/1.2 200 OK\r\n\r\n", VERSION),
	LINE("HTTP/2 200\r\n\r\n", VERSION),
	LINE("HTTP/2.0 200 OK\r\n\r\n", VERSION),
	LINE("http/1.1 200 OK\r\n\r\n", VERSION),
	LINE(" HTTP/1.1 200 OK\r\n\r\n", VERSION),
	LINE("HTTP/1.1\t200 OK\r\n\r\n", VERSION),
	LINE("HTTP/1.1  200 OK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 20 OK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 2000 OK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 099 OK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 2x0 OK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 +20 OK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 200\tOK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 200OK\r\n\r\n", STATUS),
	LINE("HTTP/1.1 OK 200\r\n\r\n", STATUS),
	LINE("HTTP/1.1 \r\n\r\n", STATUS),
	LINE("HTTP/1.1 200 O\0K\r\n\r\n", CONTROL),
	LINE("HTTP/1.1 200 OK\n\n", BARE_LF),
	LINE("HTTP/1.1 200 OK\r\nX: y\n\r\n", BARE_LF),
	LINE("HTTP/1.1 200 OK\r\rX: y\r\n\r\n", BARE_CR),
	LINE("GET / HTTP/1.1\r\nHost: h\r\n\r\n", VERSION),
	REPLY(" X: y", FOLD),
	REPLY("X: y\r\n z", FOLD),
	REPLY("X y", COLON),
	REPLY("X : y", BEFORE),
	REPLY("X y: z", NAME),
	REPLY(": z", NAME),
	REPLY("X: \x1b[0m", CONTROL),
	REPLY("Content-Length: 5\r\nContent-Length: 6", DIFFER),
	REPLY("Content-Length: 5, 6", DIFFER),
	REPLY("Content-Length: -1", LENGTH),
	REPLY("Content-Length: abc", LENGTH),
	REPLY("Content-Length:", LENGTH),
	REPLY("Content-Length: 99999999999999999999", LARGE),
	REPLY("Transfer-Encoding: gzip, chunked", CODING),
	REPLY("Transfer-Encoding: chunked\t", CODING),
	REPLY("Transfer-Encoding: identity", CODING),
	REPLY("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", TWICE),
	LINE("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", CODING10),
	LINE("HTTP/1.1 204 No\r\nContent-Length: x\r\n\r\n", LENGTH),
};

#endif
