/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h1_head.c – heads from tables. Every good one: each prefix wants more, arrival byte by byte
 * comes to the same, what follows is not touched. Every bad one: the same answer and the same words
 * whole and byte by byte, outputs untouched.
 */
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "h1_head_rows.h"
#include "http/h1_head.h"
#include "model/msg.h"

/* what to parse a text as */
enum kind { REQUEST, RESPONSE, RESPONSE_TO_HEAD };

static int parse(enum kind kind, struct slice in, size_t *scan, struct msg *m, size_t *used,
	const char **why)
{
	if (kind == REQUEST)
		return h1_request_parse(in, scan, m, used, why);
	return h1_response_parse(in, scan, kind == RESPONSE_TO_HEAD, m, used, why);
}

/* Parses an exact copy of the first n bytes; the answer must leave what it does not set. */
static int parse_first(enum kind kind, struct slice text, size_t n, size_t *scan, const char **why)
{
	struct slice copy = exact_copy(slice_first(text, n));
	struct msg m = {.minor = 77, .nfields = 7777};
	const char *said = "untouched";
	size_t used = 99999;
	int r = parse(kind, copy, scan, &m, &used, &said);

	if (r == 1) {
		assert_true(used <= n);
		assert_int_equal(*scan, 0);
	} else {
		assert_int_equal(m.minor, 77);
		assert_int_equal(m.nfields, 7777);
		assert_int_equal(used, 99999);
	}
	if (r >= 0)
		assert_string_equal(said, "untouched");
	else
		*why = said;
	exact_free(copy);
	return r;
}

static void check_good_arrival(enum kind kind, struct slice text)
{
	const char *why = "";
	size_t scan = 0;

	for (size_t n = 0; n < text.n; n++) {
		size_t fresh = 0;

		assert_int_equal(parse_first(kind, text, n, &fresh, &why), 0);
		assert_int_equal(parse_first(kind, text, n, &scan, &why), 0);
		assert_true(scan <= n && scan + 1 >= n); /* it does not look at bytes twice */
	}
	assert_int_equal(parse_first(kind, text, text.n, &scan, &why), 1);
}

static void check_bad(enum kind kind, const struct head_row *row, int error)
{
	const char *why = "nothing said";
	size_t scan = 0, n;
	int r = parse_first(kind, row->text, row->text.n, &scan, &why);

	if (r != error || strcmp(why, row->why))
		fail_msg("answer %d (%s) to:\n%.*s", r, why, SLICE_ARG(row->text));
	scan = 0;
	for (n = 0, r = 0; n <= row->text.n && r == 0; n++) {
		size_t fresh = 0;

		r = parse_first(kind, row->text, n, &scan, &why);
		assert_int_equal(parse_first(kind, row->text, n, &fresh, &why), r);
	}
	assert_int_equal(r, error);
	assert_string_equal(why, row->why);
}

/* ---- requests ---- */

enum { KEEP = 1, EXPECT = 2, OLD10 = 4 };

static const struct {
	const char *text, *method, *target, *fields; /* "name=value|" of each */
	unsigned flags;
	enum framing framing;
	uint64_t length;
} requests[] = {
	{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "/", "Host=h|", KEEP, FRAMING_NONE, 0},
	{"\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "/", "Host=h|", KEEP, FRAMING_NONE, 0},
	{"GET / HTTP/1.1\r\nhOsT:h:8080\r\n\r\n", "GET", "/", "hOsT=h:8080|", KEEP, FRAMING_NONE,
		0},
	{"GET / HTTP/1.1\r\nX: 1\r\nHost:\t h \t\r\nY:\r\nX:2\r\n\r\n", "GET", "/",
		"X=1|Host=h|Y=|X=2|", KEEP, FRAMING_NONE, 0},
	{"GET / HTTP/1.0\r\n\r\n", "GET", "/", "", OLD10, FRAMING_NONE, 0},
	{"GET / HTTP/1.0\r\nHost: h\r\nConnection: Keep-Alive\r\n\r\n", "GET", "/",
		"Host=h|Connection=Keep-Alive|", OLD10 | KEEP, FRAMING_NONE, 0},
	{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET", "/",
		"Connection=keep-alive, close|", OLD10, FRAMING_NONE, 0},
	{"GET / HTTP/1.1\r\nHost: h\r\nConnection: x, CLOSE\r\n\r\n", "GET", "/",
		"Host=h|Connection=x, CLOSE|", 0, FRAMING_NONE, 0},
	{"GET / HTTP/1.1\r\nHost: h\r\nConnection: x\r\nConnection: close\r\n\r\n", "GET", "/",
		"Host=h|Connection=x|Connection=close|", 0, FRAMING_NONE, 0},
	{"GET / HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n\r\n", "GET", "/",
		"Host=h|Connection=closed|", KEEP, FRAMING_NONE, 0},
	{"POST /p?q=%20 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", "POST", "/p?q=%20",
		"Host=h|Content-Length=5|", KEEP, FRAMING_LENGTH, 5},
	{"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "GET", "/",
		"Host=h|Content-Length=0|", KEEP, FRAMING_LENGTH, 0},
	{"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n", "GET", "/",
		"Host=h|Content-Length=3|", KEEP, FRAMING_LENGTH, 3},
	{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5, 5\r\n\r\n", "POST", "/",
		"Host=h|Content-Length=5|", KEEP, FRAMING_LENGTH, 5},
	{"POST / HTTP/1.1\r\nContent-Length: 5\r\nHost: h\r\nContent-length:5 ,5\r\nX: y\r\n\r\n",
		"POST", "/", "Content-Length=5|Host=h|X=y|", KEEP, FRAMING_LENGTH, 5},
	{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999999999999999\r\n\r\n", "POST", "/",
		"Host=h|Content-Length=9999999999999999999|", KEEP, FRAMING_LENGTH,
		9999999999999999999ULL},
	{"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "POST", "/",
		"Host=h|Transfer-Encoding=chunked|", KEEP, FRAMING_CHUNKED, 0},
	{"POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding:CHUNKED  \r\n\r\n", "POST", "/",
		"Host=h|transfer-encoding=CHUNKED|", KEEP, FRAMING_CHUNKED, 0},
	{"PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n", "PUT",
		"/", "Host=h|Expect=100-Continue|Content-Length=1|", KEEP | EXPECT, FRAMING_LENGTH,
		1},
	{"PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", "PUT", "/",
		"Expect=100-continue|Content-Length=1|", OLD10, FRAMING_LENGTH, 1},
	{"PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue, x\r\n\r\n", "PUT", "/",
		"Host=h|Expect=100-continue, x|", KEEP, FRAMING_NONE, 0},
	{"PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n\r\n", "PUT",
		"/", "Host=h|Expect=100-continue|Expect=100-continue|", KEEP, FRAMING_NONE, 0},
	{"CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", "CONNECT", "h:443", "Host=h:443|", KEEP,
		FRAMING_NONE, 0},
	{"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS", "*", "Host=h|", KEEP, FRAMING_NONE, 0},
	{"GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "http://h/x", "Host=h|", KEEP,
		FRAMING_NONE, 0},
	{"M-SEARCH!#$%&'*+.^_`|~ / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "M-SEARCH!#$%&'*+.^_`|~",
		"/", "Host=[::1]:80|", KEEP, FRAMING_NONE, 0},
	{"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", "TRACE", "/", "Host=h|", KEEP, FRAMING_NONE, 0},
	{"GET /a\\|{}\"<>^` HTTP/1.1\r\nHost: h\r\nX: \xc3\xbc\t:;\r\n\r\n", "GET", "/a\\|{}\"<>^`",
		"Host=h|X=\xc3\xbc\t:;|", KEEP, FRAMING_NONE, 0},
};

static void fields_text(const struct msg *m, char *ret, size_t size)
{
	size_t at = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < m->nfields; i++)
		at += (size_t)snprintf(ret + at, size - at, "%.*s=%.*s|",
			SLICE_ARG(m->fields[i].name), SLICE_ARG(m->fields[i].value));
}

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct slice text = slice_str(requests[i].text);
		struct slice copy = exact_copy(text);
		const char *why = "nothing said";
		unsigned flags = requests[i].flags;
		size_t scan = 0, used = 0;
		struct msg m;
		char got[512];

		if (h1_request_parse(copy, &scan, &m, &used, &why) != 1)
			fail_msg("%s: %s", why, requests[i].text);
		assert_int_equal(used, text.n);
		assert_true(slice_eq(m.method, slice_str(requests[i].method)));
		assert_true(slice_eq(m.target, slice_str(requests[i].target)));
		fields_text(&m, got, sizeof(got));
		assert_string_equal(got, requests[i].fields);
		assert_int_equal(m.minor, flags & OLD10 ? 0 : 1);
		assert_int_equal(m.keep_alive, !!(flags & KEEP));
		assert_int_equal(m.expect_continue, !!(flags & EXPECT));
		assert_int_equal(m.framing, requests[i].framing);
		assert_true(m.length == requests[i].length);
		assert_int_equal(m.status, 0);
		assert_false(m.doubtful);
		exact_free(copy);
		check_good_arrival(REQUEST, text);
	}
}

static void test_pipelined(void **state)
{
	struct slice text = SLICE("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\n\r\n\0\n");
	const char *why = "";
	size_t scan = 0, used;
	struct msg m;

	(void)state;
	assert_int_equal(h1_request_parse(text, &scan, &m, &used, &why), 1);
	assert_int_equal(used, 28);
	assert_true(slice_eq(m.target, SLICE("/1")));
	text = slice_skip(text, used);
	assert_int_equal(h1_request_parse(text, &scan, &m, &used, &why), -EBADMSG);
	assert_string_equal(why, NO_HOST);
}

static void test_bad_requests(void **state)
{
	(void)state;
	static_assert(ARRAY_SIZE(bad_requests) >= 120, "at least that many");
	for (size_t i = 0; i < ARRAY_SIZE(bad_requests); i++)
		check_bad(REQUEST, &bad_requests[i], -EBADMSG);
}

/* ---- responses ---- */

enum { DOUBTFUL = 2 };

static const struct {
	const char *text, *reason, *fields;
	enum kind kind;
	unsigned status, flags;
	enum framing framing;
	uint64_t length;
} responses[] = {
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "OK", "Content-Length=5|", RESPONSE, 200,
		KEEP, FRAMING_LENGTH, 5},
	{"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "", "Content-Length=0|", RESPONSE, 200, KEEP,
		FRAMING_LENGTH, 0},
	{"HTTP/1.1 404 \r\nContent-Length: 7,7\r\n\r\n", "", "Content-Length=7|", RESPONSE, 404,
		KEEP, FRAMING_LENGTH, 7},
	{"HTTP/1.1 999 Denied \xc3\xbc\t!\r\n\r\n", "Denied \xc3\xbc\t!", "", RESPONSE, 999, 0,
		FRAMING_CLOSE, 0},
	{"HTTP/1.0 200 OK\r\n\r\n", "OK", "", RESPONSE, 200, OLD10, FRAMING_CLOSE, 0},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", "OK", "Content-Length=1|", RESPONSE, 200,
		OLD10, FRAMING_LENGTH, 1},
	{"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", "OK",
		"Connection=keep-alive|Content-Length=1|", RESPONSE, 200, OLD10 | KEEP,
		FRAMING_LENGTH, 1},
	{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n", "OK",
		"Connection=close|Content-Length=1|", RESPONSE, 200, 0, FRAMING_LENGTH, 1},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", "OK",
		"Transfer-Encoding=Chunked|", RESPONSE, 200, KEEP, FRAMING_CHUNKED, 0},
	/* H1-12 */
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nX: y\r\n"
	 "Content-Length: 5\r\n\r\n",
		"OK", "Transfer-Encoding=chunked|X=y|", RESPONSE, 200, DOUBTFUL, FRAMING_CHUNKED,
		0},
	/* H1-13 */
	{"HTTP/1.1 200 OK\r\nContent-Length: 1488324\r\n\r\n", "OK", "Content-Length=1488324|",
		RESPONSE_TO_HEAD, 200, KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "OK",
		"Transfer-Encoding=chunked|", RESPONSE_TO_HEAD, 200, KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 200 OK\r\n\r\n", "OK", "", RESPONSE_TO_HEAD, 200, KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "Not Modified",
		"Content-Length=9|", RESPONSE, 304, KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 204 No Content\r\n\r\n", "No Content", "", RESPONSE, 204, KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nX: y\r\n\r\n", "No Content", "X=y|",
		RESPONSE, 204, KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "No Content", "", RESPONSE, 204,
		DOUBTFUL, FRAMING_NONE, 0},
	{"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "No Content",
		"Transfer-Encoding=chunked|", RESPONSE, 204, DOUBTFUL, FRAMING_NONE, 0},
	{"HTTP/1.1 100 Continue\r\n\r\n", "Continue", "", RESPONSE, 100, KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", "Early Hints", "Link=<x>|", RESPONSE, 103,
		KEEP, FRAMING_NONE, 0},
	{"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "Switching",
		"Connection=upgrade|Upgrade=x|", RESPONSE, 101, KEEP, FRAMING_NONE, 0},
	/* Host means nothing here */
	{"HTTP/1.1 304 x\r\nHost:\r\nHost: a b\r\n\r\n", "x", "Host=|Host=a b|", RESPONSE, 304,
		KEEP, FRAMING_NONE, 0},
};

static void test_responses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(responses); i++) {
		struct slice text = slice_str(responses[i].text);
		struct slice copy = exact_copy(text);
		const char *why = "nothing said";
		unsigned flags = responses[i].flags;
		size_t scan = 0, used = 0;
		struct msg m;
		char got[512];

		if (parse(responses[i].kind, copy, &scan, &m, &used, &why) != 1)
			fail_msg("%s: %s", why, responses[i].text);
		assert_int_equal(used, text.n);
		assert_int_equal(m.status, responses[i].status);
		assert_true(slice_eq(m.reason, slice_str(responses[i].reason)));
		fields_text(&m, got, sizeof(got));
		assert_string_equal(got, responses[i].fields);
		assert_int_equal(m.minor, flags & OLD10 ? 0 : 1);
		assert_int_equal(m.keep_alive, !!(flags & KEEP));
		assert_int_equal(m.doubtful, !!(flags & DOUBTFUL));
		assert_int_equal(m.framing, responses[i].framing);
		assert_true(m.length == responses[i].length);
		exact_free(copy);
		check_good_arrival(responses[i].kind, text);
	}
}

static void test_bad_responses(void **state)
{
	(void)state;
	static_assert(ARRAY_SIZE(bad_responses) >= 30, "at least that many");
	for (size_t i = 0; i < ARRAY_SIZE(bad_responses); i++) {
		check_bad(RESPONSE, &bad_responses[i], -EBADMSG);
		check_bad(RESPONSE_TO_HEAD, &bad_responses[i], -EBADMSG);
	}
}

/* ---- limits ---- */

static char big[LIMIT_HEAD + 64];

/* A request with one field that makes the head n bytes long. */
static struct slice head_of(size_t n)
{
	static const char start[] = "GET / HTTP/1.1\r\nHost: h\r\nX: ";

	memset(big, 'x', sizeof(big));
	memcpy(big, start, sizeof(start) - 1);
	memcpy(big + n - 4, "\r\n\r\n", 4);
	return slice_of(big, n);
}

static void test_head_limit(void **state)
{
	const char *why = "";
	size_t scan = 0;
	int r = 0;

	(void)state;
	assert_int_equal(parse_first(REQUEST, head_of(LIMIT_HEAD), LIMIT_HEAD, &scan, &why), 1);
	assert_int_equal(parse_first(REQUEST, head_of(LIMIT_HEAD), LIMIT_HEAD - 1, &scan, &why), 0);
	for (size_t over = 1; over < 4; over++) {
		struct slice in = head_of(LIMIT_HEAD + over);

		scan = 0;
		assert_int_equal(parse_first(REQUEST, in, in.n, &scan, &why), -EMSGSIZE);
		assert_string_equal(why, "the head is too long");
		scan = 0;
		for (size_t n = 0; n < LIMIT_HEAD; n += 1023)
			assert_int_equal(
				h1_request_parse(slice_first(in, n), &scan, NULL, NULL, &why), 0);
		r = h1_request_parse(slice_first(in, LIMIT_HEAD), &scan, NULL, NULL, &why);
		assert_int_equal(r, -EMSGSIZE);
	}
	/* what stands beyond the limit does not change the answer */
	big[LIMIT_HEAD] = '\0';
	scan = 0;
	assert_int_equal(parse_first(REQUEST, slice_of(big, sizeof(big)), sizeof(big), &scan, &why),
		-EMSGSIZE);
}

static struct slice head_with(const char *field, unsigned count)
{
	size_t at = (size_t)sprintf(big, "GET / HTTP/1.1\r\nHost: h\r\n");

	for (unsigned i = 0; i < count; i++)
		at += (size_t)sprintf(big + at, "%s\r\n", field);
	at += (size_t)sprintf(big + at, "\r\n");
	return slice_of(big, at);
}

static void test_count_limits(void **state)
{
	struct slice in;
	struct msg m;
	const char *why = "";
	size_t scan = 0, used;

	(void)state;
	in = head_with("X: y", LIMIT_FIELDS - 1);
	assert_int_equal(h1_request_parse(in, &scan, &m, &used, &why), 1);
	assert_int_equal(m.nfields, LIMIT_FIELDS);
	assert_true(slice_eq(m.fields[LIMIT_FIELDS - 1].value, SLICE("y")));
	in = head_with("X: y", LIMIT_FIELDS);
	assert_int_equal(parse_first(REQUEST, in, in.n, &scan, &why), -EMSGSIZE);
	assert_string_equal(why, "too many fields");
	in = head_with("Connection: a, b", 16);
	scan = 0;
	assert_int_equal(parse_first(REQUEST, in, in.n, &scan, &why), 1);
	in = head_with("Connection: ,,", 17);
	assert_int_equal(parse_first(REQUEST, in, in.n, &scan, &why), -EMSGSIZE);
	assert_string_equal(why, "too many connection options");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_pipelined),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_responses),
		cmocka_unit_test(test_bad_responses),
		cmocka_unit_test(test_head_limit),
		cmocka_unit_test(test_count_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
