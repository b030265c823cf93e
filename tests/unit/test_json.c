/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c – the text of values, strings that try to break out, and a buffer that is too small.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "exact.h"

static void check(struct buf *b, const char *text)
{
	if (!slice_eq(buf_slice(b), slice_str(text)))
		fail_msg("%.*s is not %s", SLICE_ARG(buf_slice(b)), text);
	buf_done(b);
}

static void test_shapes(void **state)
{
	struct json j;
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	json_start(&j, &b);
	json_open(&j, NULL, '{');
	json_text(&j, "a", "b");
	json_text(&j, "null", NULL);
	json_number(&j, "least", INT64_MIN);
	json_number(&j, "most", INT64_MAX);
	json_bool(&j, "t", true);
	json_bool(&j, "f", false);
	json_open(&j, "list", '[');
	json_number(&j, NULL, 0);
	json_open(&j, NULL, '{');
	json_close(&j, '}');
	json_open(&j, NULL, '[');
	json_close(&j, ']');
	json_slice(&j, NULL, slice_of("xyz", 2));
	json_close(&j, ']');
	json_slice(&j, "empty", slice_of(NULL, 0));
	json_close(&j, '}');
	assert_int_equal(json_end(&j), 0);
	check(&b, "{\"a\":\"b\",\"null\":null,\"least\":-9223372036854775808,"
		  "\"most\":9223372036854775807,\"t\":true,\"f\":false,"
		  "\"list\":[0,{},[],\"xy\"],\"empty\":\"\"}");
}

static void test_strings(void **state)
{
#define R "\xef\xbf\xbd"
	static const struct {
		struct slice in;
		const char *out;
	} rows[] = {
		{SLICE(""), ""},
		{SLICE("a\"b\\c/"), "a\\\"b\\\\c/"},
		{SLICE("\r\n\t\0\x1f\x7f"), "\\u000d\\u000a\\u0009\\u0000\\u001f\\u007f"},
		{SLICE("\xc2\x80\xdf\xbf"), "\xc2\x80\xdf\xbf"},
		{SLICE("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80"),
			"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80"},
		{SLICE("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
		/* not UTF-8: lone, cut, overlong, surrogate, beyond */
		{SLICE("\x80"), R},
		{SLICE("\xff\xfe"), R R},
		{SLICE("\xc3"), R},
		{SLICE("\xc3\""), R "\\\""},
		{SLICE("\xe2\x82"), R R},
		{SLICE("\xe2\x82x"), R R "x"},
		{SLICE("\xf0\x9f\x98"), R R R},
		{SLICE("\xc0\xaf"), R R},
		{SLICE("\xc1\xbf"), R R},
		{SLICE("\xe0\x80\xaf"), R R R},
		{SLICE("\xed\xa0\x80"), R R R},
		{SLICE("\xf0\x80\x80\xaf"), R R R R},
		{SLICE("\xf4\x90\x80\x80"), R R R R},
		{SLICE("\xf5\x80\x80\x80"), R R R R},
	};
#undef R
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice copy = exact_copy(rows[i].in);
		char wanted[128];
		struct json j;
		struct buf b;

		buf_init(&b, 4096);
		json_start(&j, &b);
		json_slice(&j, NULL, copy);
		assert_int_equal(json_end(&j), 0);
		(void)snprintf(wanted, sizeof(wanted), "\"%s\"", rows[i].out);
		check(&b, wanted);
		exact_free(copy);
	}
}

/* A failure sticks: what follows it is not written, even if it would fit. */
static void test_full(void **state)
{
	struct json j;
	struct buf b;

	(void)state;
	buf_init(&b, 8);
	json_start(&j, &b);
	json_open(&j, NULL, '[');
	json_text(&j, NULL, "0123456789");
	json_number(&j, NULL, 1);
	json_close(&j, ']');
	assert_int_equal(json_end(&j), -ENOBUFS);
	check(&b, "[\"012345");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
