/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h1_trailers.c – trailer sections from tables, whole and byte by byte: fields as they came,
 * where the section ends, and the words for each fault.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "http/h1_body.h"
#include "http/h1_head.h"
#include "model/msg.h"

/* Parses an exact copy of the first n bytes; the answer must leave what it does not set. */
static int parse_first(struct slice text, size_t n, size_t *scan, const char **why)
{
	struct slice copy = exact_copy(slice_first(text, n));
	struct msg m = {.nfields = 7777};
	const char *said = "untouched";
	size_t used = 99999;
	int r = h1_trailers_parse(copy, scan, &m, &used, &said);

	if (r != 1) {
		assert_int_equal(m.nfields, 7777);
		assert_int_equal(used, 99999);
	} else {
		assert_true(used <= n);
		assert_int_equal(*scan, 0);
	}
	if (r < 0)
		*why = said;
	else
		assert_string_equal(said, "untouched");
	exact_free(copy);
	return r;
}

/* Byte by byte, with the scan kept and from anew at each: the first answer that is not "more". */
static int arrive(struct slice text, size_t *ret_n, const char **why)
{
	size_t scan = 0, n;
	int r = 0;

	for (n = 0; n <= text.n && r == 0; n++) {
		size_t fresh = 0;

		r = parse_first(text, n, &scan, why);
		assert_int_equal(parse_first(text, n, &fresh, why), r);
	}
	*ret_n = n - 1;
	return r;
}

static void test_good(void **state)
{
	static const struct {
		const char *text;
		size_t used;
		const char *fields; /* "name=value|" of each */
	} rows[] = {
		{"\r\n", 2, ""},
		{"\r\nGET / HTTP/1.1\r\n\r\n", 2, ""},
		{"\r\n\r\n", 2, ""},
		{"X: y\r\n\r\n", 8, "X=y|"},
		{"X: y\r\n\r\nZ: 1\r\n\r\n", 8, "X=y|"},
		{"x:\r\nGrpc-Status:\t0 \t\r\n\r\n", 24, "x=|Grpc-Status=0|"},
		{"A: 1\r\nB: \xc3\xbc\r\na: 2\r\n\r\n", 21, "A=1|B=\xc3\xbc|a=2|"},
		/* what would be framing in a head is a field like any other */
		{"Content-Length: x, y\r\n\r\n", 24, "Content-Length=x, y|"},
		{"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 40,
			"Content-Length=5|Content-Length=6|"},
		{"Transfer-Encoding: gzip\r\nHost:\r\nHost: a b\r\n\r\n", 45,
			"Transfer-Encoding=gzip|Host=|Host=a b|"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice text = slice_str(rows[i].text), copy = exact_copy(text);
		const char *why = "nothing said";
		size_t scan = 0, used = 0, n;
		char got[128] = "";
		struct msg m;

		if (h1_trailers_parse(copy, &scan, &m, &used, &why) != 1)
			fail_msg("%s: %s", why, rows[i].text);
		assert_int_equal(used, rows[i].used);
		for (unsigned f = 0, at = 0; f < m.nfields; f++)
			at += (unsigned)snprintf(got + at, sizeof(got) - at, "%.*s=%.*s|",
				SLICE_ARG(m.fields[f].name), SLICE_ARG(m.fields[f].value));
		assert_string_equal(got, rows[i].fields);
		assert_int_equal(m.status, 0);
		assert_int_equal(m.method.n, 0);
		exact_free(copy);
		assert_int_equal(arrive(text, &n, &why), 1);
		assert_int_equal(n, rows[i].used);
	}
}

static void test_bad(void **state)
{
	static const struct {
		struct slice text;
		const char *why;
	} rows[] = {
		{SLICE("\n"), "a LF without CR in the head"},
		{SLICE("X: y\n\r\n"), "a LF without CR in the head"},
		{SLICE("X: y\r\n\n"), "a LF without CR in the head"},
		{SLICE("\r\r\n"), "a CR without LF in the head"},
		{SLICE("X: y\rz\r\n\r\n"), "a CR without LF in the head"},
		{SLICE("X: \0\r\n\r\n"), "a control byte in the head"},
		{SLICE("X: \x7f\r\n\r\n"), "a control byte in the head"},
		{SLICE("X\r\n\r\n"), "a field line without a colon"},
		{SLICE("GET / HTTP/1.1\r\n\r\n"), "a field line without a colon"},
		{SLICE("GET http://h/ HTTP/1.1\r\n\r\n"), "a field name that is not a token"},
		{SLICE("X : y\r\n\r\n"), "white space between a field name and its colon"},
		{SLICE(" X: y\r\n\r\n"), "a folded field line"},
		{SLICE("X: y\r\n z\r\n\r\n"), "a folded field line"},
		{SLICE(": y\r\n\r\n"), "a field name that is not a token"},
		{SLICE("X(: y\r\n\r\n"), "a field name that is not a token"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *why = "nothing said";
		size_t scan = 0, n;
		int r = parse_first(rows[i].text, rows[i].text.n, &scan, &why);

		if (r != -EBADMSG || strcmp(why, rows[i].why))
			fail_msg("answer %d (%s) to:\n%.*s", r, why, SLICE_ARG(rows[i].text));
		assert_int_equal(arrive(rows[i].text, &n, &why), -EBADMSG);
		assert_string_equal(why, rows[i].why);
	}
}

static void test_limits(void **state)
{
	static char big[2 * H1_BODY_TRAILER_MAX];
	const char *why = "";
	size_t scan = 0, used, at = 0;
	struct msg m;

	(void)state;
	for (size_t over = 0; over < 5; over++) {
		struct slice in = slice_of(big, H1_BODY_TRAILER_MAX + over);

		memset(big, 'x', sizeof(big));
		memcpy(big, "X: ", 3);
		memcpy(big + in.n - 4, "\r\n\r\n", 4);
		scan = 0;
		assert_int_equal(parse_first(in, H1_BODY_TRAILER_MAX - 1, &scan, &why), 0);
		assert_int_equal(parse_first(in, in.n, &scan, &why), over ? -EMSGSIZE : 1);
		if (over)
			assert_string_equal(why, "the trailer section is too long");
	}
	for (unsigned i = 0; i <= LIMIT_FIELDS; i++)
		at += (size_t)sprintf(big + at, "X: %u\r\n", i);
	memcpy(big + at, "\r\n", 2);
	scan = 0;
	assert_int_equal(
		h1_trailers_parse(slice_of(big, at + 2), &scan, &m, &used, &why), -EMSGSIZE);
	assert_string_equal(why, "too many fields");
	at -= strlen("X: 128\r\n");
	memcpy(big + at, "\r\n", 2);
	scan = 0;
	assert_int_equal(h1_trailers_parse(slice_of(big, at + 2), &scan, &m, &used, &why), 1);
	assert_int_equal(m.nfields, LIMIT_FIELDS);
	assert_true(slice_eq(m.fields[LIMIT_FIELDS - 1].value, SLICE("127")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
