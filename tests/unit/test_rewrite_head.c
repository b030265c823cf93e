/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rewrite_head.c – heads in, heads out, byte for byte; and for each of them: what goes out is read by our own parser
 * with the framing that came in, since a body under another framing would be read as another request (H1-15).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "exact.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "policy/hosts.h"
#include "proxy/rewrite_head.h"

enum { OUT = 8192 };

#define START "GET /p?q=1 HTTP/1.1\r\n"
#define POST  "POST /p?q=1 HTTP/1.1\r\n"
#define HOST  "Host: a.test\r\n"
#define END   "\r\n"
/* what becomes of them */
#define OWN "host: a.test\r\n"

enum row_flag { TLS = 1, METHODS = 2, PATHS = 4 };

static const struct {
	const char *in;
	const char *host;
	uint16_t port;
	unsigned flags;
	const char *out;
} requests[] = {
	/* Host: ours, first, in the canonical spelling; the port unless it is the scheme's own */
	{START "Accept: */*\r\nHost: A.Test.\r\nUser-Agent: x\r\n" END, "a.test", 443, TLS,
		START OWN "Accept: */*\r\nUser-Agent: x\r\n" END},
	{START HOST END, "a.test", 80, 0, START OWN END},
	{START HOST END, "a.test", 80, TLS, START "host: a.test:80\r\n" END},
	{START HOST END, "a.test", 443, 0, START "host: a.test:443\r\n" END},
	{START HOST END, "a.test", 65535, TLS, START "host: a.test:65535\r\n" END},
	{START HOST END, "203.0.113.10", 80, 0, START "host: 203.0.113.10\r\n" END},
	{START HOST END, "203.0.113.10", 8080, 0, START "host: 203.0.113.10:8080\r\n" END},
	{START HOST END, "2001:db8::1", 80, 0, START "host: [2001:db8::1]\r\n" END},
	{START HOST END, "2001:db8::1", 8443, TLS, START "host: [2001:db8::1]:8443\r\n" END},
	{START HOST END, "2001:DB8:0::1", 443, TLS, START "host: [2001:db8::1]\r\n" END},
	{"GET / HTTP/1.0\r\n" END, "a.test", 80, 0, "GET / HTTP/1.1\r\n" OWN END},

	/* order, repeats, empty values and odd bytes of values stay */
	{START HOST "B: 2\r\nA: 1\r\nB:\r\nC: \xc3\xa4\t~\r\n" END, "a.test", 80, 0,
		START OWN "B: 2\r\nA: 1\r\nB: \r\nC: \xc3\xa4\t~\r\n" END},

	/* what speaks of the client's connection ends here */
	{START HOST "Keep-Alive: 5\r\nX: 1\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n"
		    "Trailer: x\r\nUpgrade: websocket\r\nHTTP2-Settings: AAMAAABk\r\n"
		    "Proxy-Authorization: Basic eDp5\r\nProxy-Authenticate: Basic\r\n"
		    "Connection: close\r\n" END,
		"a.test", 80, 0, START OWN "X: 1\r\nte: trailers\r\nconnection: te\r\n" END},
	{START HOST "X-One: 1\r\nX-Two: 2\r\nx-three: 3\r\nX-Four: 4\r\n"
		    "Connection: x-one,, X-TWO\r\nconnection:close,\tX-Three\r\n" END,
		"a.test", 80, 0, START OWN "X-Four: 4\r\n" END},
	{START HOST "Authorization: Bearer t\r\nConnection: host, authorization\r\n" END, "a.test",
		80, 0, START OWN END},

	/* trailers: whether they are taken is told anew, of what may come only chunks can speak */
	{START HOST "TE: deflate, Trailers\r\nConnection: TE\r\nX: 1\r\n" END, "a.test", 80, 0,
		START OWN "X: 1\r\nte: trailers\r\nconnection: te\r\n" END},
	{START HOST "TE: deflate\r\nTE: gzip;q=0.1\r\n" END, "a.test", 80, 0, START OWN END},
	{"GET /p HTTP/1.0\r\n" HOST "TE: trailers\r\n" END, "a.test", 80, 0,
		"GET /p HTTP/1.1\r\n" OWN END},
	{POST HOST "Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n" END, "a.test", 80, 0,
		POST OWN "Trailer: X-Sum\r\ntransfer-encoding: chunked\r\n" END},
	{POST HOST "Trailer: X-Sum\r\nContent-Length: 5\r\n" END, "a.test", 80, 0,
		POST OWN "Content-Length: 5\r\n" END},

	/* framing */
	{POST HOST "Content-Length: 5\r\n" END, "a.test", 80, 0,
		POST OWN "Content-Length: 5\r\n" END},
	{POST HOST "Content-Length: 5, 5\r\nContent-Length: 5\r\n" END, "a.test", 80, 0,
		POST OWN "Content-Length: 5\r\n" END},
	{POST HOST "TRANSFER-ENCODING: Chunked\r\nX: 1\r\n" END, "a.test", 80, 0,
		POST OWN "X: 1\r\ntransfer-encoding: chunked\r\n" END},
	{POST HOST "Transfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n" END, "a.test",
		80, 0, POST OWN "transfer-encoding: chunked\r\n" END},

	/* Expect: from 1.1 it goes on, from 1.0 it means nothing */
	{POST HOST "Expect: 100-continue\r\nContent-Length: 5\r\n" END, "a.test", 80, 0,
		POST OWN "Expect: 100-continue\r\nContent-Length: 5\r\n" END},
	{"POST /p HTTP/1.0\r\n" HOST "Expect: 100-continue\r\nContent-Length: 5\r\n" END, "a.test",
		80, 0, "POST /p HTTP/1.1\r\n" OWN "Content-Length: 5\r\n" END},

	/* another method than the judged one, where methods are judged */
	{POST HOST "X-HTTP-Method-Override: DELETE\r\nx-http-method: PUT\r\nX: 1\r\n"
		   "X-METHOD-OVERRIDE: PATCH\r\nX-Method-Overrides: y\r\n" END,
		"a.test", 80, METHODS, POST OWN "X: 1\r\nX-Method-Overrides: y\r\n" END},
	{POST HOST "X-HTTP-Method-Override: DELETE\r\nX-HTTP-Method: PUT\r\n"
		   "X-Method-Override: PATCH\r\n" END,
		"a.test", 80, 0,
		POST OWN "X-HTTP-Method-Override: DELETE\r\nX-HTTP-Method: PUT\r\n"
			 "X-Method-Override: PATCH\r\n" END},

	/* the same for paths */
	{START HOST "X-Original-URL: /admin\r\nx-rewrite-url: /admin\r\nX: 1\r\n" END, "a.test", 80,
		PATHS, START OWN "X: 1\r\n" END},
	{START HOST "X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\n" END, "a.test", 80,
		METHODS, START OWN "X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\n" END},
};

static struct host host_of(const char *text)
{
	struct host h;

	assert_int_equal(host_canon(slice_str(text), &h), 0);
	return h;
}

static void parse_request(struct slice in, struct msg *ret)
{
	const char *why = "cut";
	size_t scan = 0, used;

	if (h1_request_parse(in, &scan, ret, &used, &why) != 1 || used != in.n)
		fail_msg("%s:\n%.*s", why, SLICE_ARG(in));
}

static void assert_bytes(struct slice got, const char *want)
{
	if (!slice_eq(got, slice_str(want)))
		fail_msg("got:\n%.*s\nwanted:\n%s", SLICE_ARG(got), want);
}

static int rewrite(const struct rewrite_request *r, size_t max, struct buf *out)
{
	struct rewritten rewritten;

	buf_init(out, max);
	rewrite_request_head(r, &rewritten);
	return h1_write_request(out, &rewritten.msg);
}

static int rewrite_response(const struct msg *m, const struct h1_write_how *how, struct buf *out)
{
	struct msg rewritten;

	rewrite_response_head(m, &rewritten);
	return h1_write_response(out, &rewritten, how);
}

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct slice in = exact_copy(slice_str(requests[i].in));
		const struct swap_plan plan = {.result = SWAP_NONE};
		struct host host = host_of(requests[i].host);
		struct msg m, again;
		struct swap_request swap = {.msg = &m, .host = &host};
		struct buf values = {0}, out;
		struct rewrite_request r = {
			.msg = &m,
			.host = &host,
			.port = requests[i].port,
			.tls = requests[i].flags & TLS,
			.judges_methods = requests[i].flags & METHODS,
			.judges_paths = requests[i].flags & PATHS,
			.plan = &plan,
			.swap = &swap,
			.values = &values,
		};

		parse_request(in, &m);
		r.path = m.target;
		assert_int_equal(rewrite(&r, OUT, &out), 0);
		assert_bytes(buf_slice(&out), requests[i].out);

		parse_request(buf_slice(&out), &again);
		assert_int_equal(again.framing, m.framing);
		assert_int_equal(again.length, m.length);
		assert_true(again.keep_alive);
		assert_true(slice_eq(again.method, m.method));
		buf_done(&out);

		/* too small by any number of bytes is told */
		for (size_t max = 1; max < strlen(requests[i].out); max++) {
			assert_int_equal(rewrite(&r, max, &out), -ENOBUFS);
			buf_done(&out);
		}
		exact_free(in);
	}
}

/* Connection cannot take the length off a body that is forwarded: its bytes would be the next request. */
static void test_length_is_not_an_option(void **state)
{
	static const char *const names[] = {
		"content-length", "Content-Length", "x, CONTENT-LENGTH"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct swap_plan plan = {.result = SWAP_NONE};
		struct host host = host_of("a.test");
		struct msg m, again;
		struct swap_request swap = {.msg = &m, .host = &host};
		struct buf values = {0}, in, out;
		size_t scan = 0, used;
		const char *why;

		buf_init(&in, OUT);
		assert_int_equal(
			buf_append(&in, SLICE(POST HOST "Content-Length: 37\r\nConnection: ")), 0);
		assert_int_equal(buf_append(&in, slice_str(names[i])), 0);
		assert_int_equal(buf_append(&in, SLICE("\r\n\r\n")), 0);
		parse_request(buf_slice(&in), &m);
		assert_int_equal(rewrite(&(struct rewrite_request){.msg = &m,
						 .path = m.target,
						 .host = &host,
						 .port = 80,
						 .plan = &plan,
						 .swap = &swap,
						 .values = &values},
					 OUT, &out),
			0);
		parse_request(buf_slice(&out), &again);
		assert_int_equal(again.framing, FRAMING_LENGTH);
		assert_int_equal(again.length, 37);
		buf_done(&in);
		buf_done(&out);

		buf_init(&in, OUT);
		assert_int_equal(
			buf_append(&in,
				SLICE("HTTP/1.1 200 OK\r\nContent-Length: 37\r\nConnection: ")),
			0);
		assert_int_equal(buf_append(&in, slice_str(names[i])), 0);
		assert_int_equal(buf_append(&in, SLICE("\r\n\r\n")), 0);
		assert_int_equal(
			h1_response_parse(buf_slice(&in), &scan, false, &m, &used, &why), 1);
		buf_init(&out, OUT);
		assert_int_equal(rewrite_response(&m, &(struct h1_write_how){0}, &out), 0);
		assert_int_equal(
			h1_response_parse(buf_slice(&out), &scan, false, &again, &used, &why), 1);
		assert_int_equal(again.framing, FRAMING_LENGTH);
		assert_int_equal(again.length, 37);
		buf_done(&in);
		buf_done(&out);
	}
}

/* A value that was put in goes out; one that could end a line does not, nor anything behind it. */
static void test_values(void **state)
{
	struct slice in = SLICE(START HOST "A: 1\r\nAuthorization: Bearer p\r\nB: 2\r\n" END);
	static const struct {
		struct slice value;
		const char *out; /* NULL: refused */
	} rows[] = {
		{{(const uint8_t *)"Bearer real", 11},
			START OWN "A: 1\r\nAuthorization: Bearer real\r\nB: 2\r\n" END},
		{{(const uint8_t *)"", 0}, START OWN "A: 1\r\nAuthorization: \r\nB: 2\r\n" END},
		{{(const uint8_t *)"Bearer r\r\nX: y", 14}, NULL},
		{{(const uint8_t *)"Bearer r\n", 9}, NULL},
		{{(const uint8_t *)"Bearer \0r", 9}, NULL},
	};
	struct host host = host_of("a.test");
	struct msg m;

	(void)state;
	parse_request(in, &m);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct swap_request swap = {.msg = &m, .host = &host};
		struct swap_plan plan = {.result = SWAP_DONE, .nreplaced = 1};
		struct buf values, out;
		int r;

		buf_init(&values, 64);
		assert_int_equal(buf_append(&values, SLICE("before")), 0);
		assert_int_equal(buf_append(&values, rows[i].value), 0);
		plan.replaced[0].field = 2;
		plan.replaced[0].offset = 6;
		plan.replaced[0].n = rows[i].value.n;
		r = rewrite(&(struct rewrite_request){.msg = &m,
				    .path = m.target,
				    .host = &host,
				    .port = 80,
				    .plan = &plan,
				    .swap = &swap,
				    .values = &values},
			OUT, &out);
		assert_int_equal(r, rows[i].out ? 0 : -EINVAL);
		if (rows[i].out)
			assert_bytes(buf_slice(&out), rows[i].out);
		buf_done(&values);
		buf_done(&out);
	}
}

/* ---- responses ---- */

enum response_flag { CHUNKED = 1, CLOSE = 2, CLIENT_10 = 4, TO_HEAD = 8 };

static const struct {
	const char *in;
	unsigned flags;
	const char *out;
} responses[] = {
	{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: 1\r\n" END, 0,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: 1\r\n" END},
	/* our own version, the reason as it came, also none */
	{"HTTP/1.0 404 Nothing h\xc3\xa9re\r\nContent-Length: 0\r\n" END, 0,
		"HTTP/1.1 404 Nothing h\xc3\xa9re\r\nContent-Length: 0\r\n" END},
	{"HTTP/1.1 299\r\nContent-Length: 0\r\n" END, 0,
		"HTTP/1.1 299 \r\nContent-Length: 0\r\n" END},
	/* what speaks of the upstream's connection ends here, and what leads around us */
	{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close, x-one\r\nX-One: 1\r\n"
	 "Keep-Alive: timeout=5\r\nTrailer: x\r\nUpgrade: h2c\r\nProxy-Authenticate: Basic\r\n"
	 "Alt-Svc: h3=\":443\"\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n" END,
		0,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nSet-Cookie: a=1\r\nSet-Cookie: "
		"b=2\r\n" END},
	/* framing is what we say */
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" END, CHUNKED,
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" END},
	{"HTTP/1.1 200 OK\r\n" END, CHUNKED,
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" END},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n" END, CHUNKED,
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" END},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" END, CLOSE | CLIENT_10,
		"HTTP/1.1 200 OK\r\nconnection: close\r\n" END},
	/* trailers go with chunks only */
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n" END, CHUNKED,
		"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\ntransfer-encoding: chunked\r\n" END},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n" END,
		CLOSE | CLIENT_10, "HTTP/1.1 200 OK\r\nconnection: close\r\n" END},
	/* the length that a GET would have had stays */
	{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" END, TO_HEAD,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" END},
	{"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n" END, 0,
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n" END},
	/* whether the connection lives on is said once, by us */
	{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n" END, CLOSE,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nconnection: close\r\n" END},
	{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" END, CLIENT_10,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nconnection: keep-alive\r\n" END},
	{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" END, CLOSE | CLIENT_10,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nconnection: close\r\n" END},
	/* interim heads say nothing of it */
	{"HTTP/1.1 100 Continue\r\n" END, CLOSE, "HTTP/1.1 100 Continue\r\n" END},
	{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x\r\nX: 1\r\n" END,
		CLOSE | CLIENT_10, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n" END},
};

static void test_responses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(responses); i++) {
		struct slice in = exact_copy(slice_str(responses[i].in));
		unsigned flags = responses[i].flags;
		const char *why = "cut";
		size_t scan = 0, used;
		struct msg m;
		struct buf out;
		struct h1_write_how r = {
			.chunked = flags & CHUNKED,
			.close = flags & CLOSE,
			.client_10 = flags & CLIENT_10,
		};

		if (h1_response_parse(in, &scan, flags & TO_HEAD, &m, &used, &why) != 1)
			fail_msg("%s:\n%s", why, responses[i].in);
		buf_init(&out, OUT);
		assert_int_equal(rewrite_response(&m, &r, &out), 0);
		assert_bytes(buf_slice(&out), responses[i].out);
		buf_done(&out);
		for (size_t max = 1; max < strlen(responses[i].out); max++) {
			buf_init(&out, max);
			assert_int_equal(rewrite_response(&m, &r, &out), -ENOBUFS);
			buf_done(&out);
		}
		exact_free(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_length_is_not_an_option),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
