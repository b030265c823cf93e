/* SPDX-License-Identifier: Apache-2.0 */
/* test_show.c – what a person sees of the answers: columns below each other, no JSON, no control bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "ctl/show.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *json, *text;
} rows[] = {
	{"{\"version\":\"0.1.0\",\"pid\":7,\"uptime_ms\":3780999,\"sanitizer\":false,"
	 "\"audit\":{\"written\":12,\"lost\":0},\"degraded\":[]}",
		"version    0.1.0\n"
		"pid        7\n"
		"uptime     1 h 3 min\n"
		"sanitizer  no\n"
		"audit      written 12, lost 0\n"
		"degraded   none\n"},
	{"{\"pid\":7,\"degraded\":[{\"feature\":\"audit\",\"reason\":\"No "
	 "space\",\"remedy\":\"make "
	 "room\"}]}",
		"pid  7\n"
		"degraded\n"
		"  feature  reason    remedy\n"
		"  audit    No space  make room\n"},
	{"{\"sandboxes\":[]}", "none\n"},
	{"{\"sandboxes\":[{\"id\":\"a\",\"degraded\":[]},{\"id\":\"b\",\"degraded\":[{\"feature\":"
	 "\"self-test\",\"reason\":\"no program\",\"remedy\":\"attach again\"}]}]}",
		"id  degraded\n"
		"a   none\n"
		"b   self-test (no program)\n"},
	{"{\"sandboxes\":[{\"id\":\"a\",\"digest\":\"" DIGEST
	 "\",\"counters\":{\"open\":1,\"denied\":1000"
	 "000},\"credentials\":[]},{\"id\":\"long-one\",\"digest\":\"" DIGEST
	 "\",\"counters\":{\"open\":12345,\"denied\":0},\"credentials\":[{\"name\":\"A\",\"state\":"
	 "\"available\",\"env\":\"A\"},{\"name\":\"B\",\"state\":\"unavailable\",\"cause\":"
	 "\"gone\"}]}]}",
		"id        digest        open   denied   credentials\n"
		"a         0123456789ab  1      1000000  none\n"
		"long-one  0123456789ab  12345  0        A (available), B (unavailable: gone)\n"},
	{"{\"id\":\"a\",\"digest\":\"" DIGEST
	 "\",\"counters\":{\"open\":1},\"credentials\":[{\"name\":"
	 "\"A\",\"state\":\"available\"},{\"name\":\"B\",\"state\":\"unavailable\",\"cause\":"
	 "\"gone\"}]}",
		"id           a\n"
		"digest       " DIGEST "\n"
		"counters     open 1\n"
		"credentials  A (available)\n"
		"             B (unavailable: gone)\n"},
	{"{\"id\":\"a\",\"credentials\":[]}", "id           a\ncredentials  none\n"},
	{"[{\"n\":\"\xc3\xa4\xc3\xb6\",\"x\":1},{\"n\":\"abc\",\"x\":2}]",
		"n    x\n\xc3\xa4\xc3\xb6   1\nabc  2\n"},
	{"{\"id\":\"\\u001b[31m\\n\",\"x\":null,\"list\":[1,\"b\",[2]]}",
		"id    ?[31m?\nx     -\nlist  1, b, \xe2\x80\xa6\n"},
	{"{\"uptime_ms\":\"soon\"}", "uptime_ms  soon\n"},
	{"{\"uptime_ms\":0}", "uptime  0 s\n"},
	{"{\"uptime_ms\":59999}", "uptime  59 s\n"},
	{"{\"uptime_ms\":60000}", "uptime  1 min\n"},
	{"{\"uptime_ms\":61000}", "uptime  1 min 1 s\n"},
	{"{\"uptime_ms\":3600000}", "uptime  1 h\n"},
	{"{\"uptime_ms\":190800000}", "uptime  2 d 5 h\n"},
};

static char *shown(const char *json)
{
	struct fault fault = {{0}};
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	assert_int_equal(show_answer(slice_str(json), to, &fault), 0);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void test_answers(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = shown(rows[i].json);

		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

/* More credentials than a cell holds: cut, not overrun. */
static void test_long(void **state)
{
	char json[32768], *text;
	size_t n = (size_t)sprintf(json, "[{\"credentials\":[");

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		n += (size_t)sprintf(json + n,
			"%s{\"name\":\"CREDENTIAL_%u\",\"state\":\"available\"}", i ? "," : "", i);
	(void)sprintf(json + n, "]}]");
	text = shown(json);
	assert_in_range(strlen(text), 1000, 1100);
	free(text);
}

static void test_not_json(void **state)
{
	struct fault fault = {{0}};

	(void)state;
	assert_true(show_answer(slice_str("{"), stdout, &fault) < 0);
	assert_string_equal(fault.text, "sallyportd gave an answer that is not JSON");
}

static void test_error(void **state)
{
	char why[64];

	(void)state;
	show_error(slice_str("{\"error\":{\"message\":\"no\\u0007\",\"hint\":\"do\"}}"), why,
		sizeof(why));
	assert_string_equal(why, "no?; do");
	show_error(slice_str(""), why, sizeof(why));
	assert_string_equal(why, "");
	show_error(slice_str("{\"error\":{\"message\":\"no\"}}"), why, 2);
	assert_string_equal(why, "n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_not_json),
		cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
