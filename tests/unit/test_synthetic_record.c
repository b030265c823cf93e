/* SPDX-License-Identifier: Apache-2.0 */
/* test_synthetic_record.c – the file of names: what is read, what is torn, what is refused with its line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "exact.h"
#include "proxy/synthetic.h"
#include "proxy/synthetic_record.h"

#define FIRST "sallyport-names 1\n"
#define ONE   "198.18.0.7 db.test\n"
#define TWO   "198.19.3.200 git.example.com\n"

static int read_text(struct synthetic *s, const char *text, struct synthetic_place *at,
	struct fault *fault, size_t *used)
{
	struct slice in = exact_copy(slice_str(text));
	int r = synthetic_record_read(s, in, at, fault, used);

	exact_free(in);
	return r;
}

static void test_good(void **state)
{
	static const struct {
		const char *text;
		unsigned names;
		size_t torn;
	} good[] = {
		{"", 0, 0},
		{"sallyport", 0, 9},
		{"sallyport-names 1", 0, 17},
		{"garbage without an end", 0, 22},
		{FIRST, 0, 0},
		{FIRST ONE, 1, 0},
		{FIRST ONE TWO, 2, 0},
		{FIRST ONE "1", 1, 1},
		{FIRST ONE "198.19.3.200 git.example.com", 1, 28},
		{FIRST "198.18.0.7 db", 0, 13},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct synthetic_place at = {"f", 0};
		struct synthetic s = {0};
		struct fault fault = {{0}};
		size_t used = 12345;

		assert_int_equal(read_text(&s, good[i].text, &at, &fault, &used), 0);
		assert_int_equal(used, strlen(good[i].text) - good[i].torn);
		assert_int_equal(synthetic_count(&s), good[i].names);
		assert_int_equal(at.lines, used ? good[i].names + 1 : 0);
		synthetic_done(&s);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *fault;
	} bad[] = {
		{"sallyport-names 2\n", "f:1: not a file of names, or of another version"},
		{"\n", "f:1: not a file"},
		{ONE, "f:1: not a file"},
		{FIRST "\n", "f:2: no address"},
		{FIRST ONE "db.test\n", "f:3: no address"},
		{FIRST "198.18.7 db.test\n", "f:2: no address"},
		{FIRST "198.18.0.07 db.test\n", "f:2: no address"},
		{FIRST "::ffff:198.18.0.7 db.test\n", "f:2: no address"},
		{FIRST "2001:db8::1 db.test\n", "f:2: no address"},
		{FIRST " 198.18.0.7 db.test\n", "f:2: no address"},
		{FIRST "198.18.0.7\n", "f:2: no name"},
		{FIRST "198.18.0.7 \n", "f:2: no name"},
		{FIRST "198.18.0.7  db.test\n", "f:2: no name"},
		{FIRST "198.18.0.7 db.test \n", "f:2: no name"},
		{FIRST "198.18.0.7 db.test\r\n", "f:2: no name"},
		{FIRST "198.18.0.7 DB.test\n", "f:2: no name"},
		{FIRST "198.18.0.7 db.test.\n", "f:2: no name"},
		{FIRST "198.18.0.7 203.0.113.1\n", "f:2: no name"},
		{FIRST "198.18.0.7 a..b\n", "f:2: no name"},
		{FIRST "10.0.0.7 db.test\n", "f:2: the address is none"},
		{FIRST "198.19.255.254 db.test\n", "f:2: the address is none"},
		{FIRST ONE ONE, "f:3: the name or the address again"},
		{FIRST ONE "198.18.0.8 db.test\n", "f:3: the name or the address again"},
		{FIRST ONE "198.18.0.7 git.test\n", "f:3: the name or the address again"},
		{FIRST ONE FIRST, "f:3: no address"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct synthetic_place at = {"f", 0};
		struct synthetic s = {0};
		struct fault fault = {{0}};
		size_t used = 12345;

		assert_int_equal(read_text(&s, bad[i].text, &at, &fault, &used), -EBADMSG);
		if (strncmp(fault.text, bad[i].fault, strlen(bad[i].fault)) != 0)
			fail_msg("%s: %s", bad[i].fault, fault.text);
		assert_non_null(strstr(fault.text, "detach the sandbox"));
		assert_int_equal(used, 12345);
		synthetic_done(&s);
	}
}

/* What another has appended is read on from where we are; a name of ours that was written and not settled is settled
 * by its own line and contradicted by another. */
static void test_read_on(void **state)
{
	struct synthetic_place at = {"f", 0};
	struct synthetic s = {0};
	struct fault fault = {{0}};
	struct synthetic_entry *e;
	size_t used;

	(void)state;
	assert_int_equal(read_text(&s, FIRST ONE, &at, &fault, &used), 0);
	assert_int_equal(read_text(&s, TWO, &at, &fault, &used), 0);
	assert_int_equal(at.lines, 3);
	assert_int_equal(synthetic_count(&s), 2);
	assert_int_equal(synthetic_add(&s, SLICE("mine.test"), 198u << 24 | 18 << 16 | 9, &e), 0);
	assert_int_equal(read_text(&s, "198.18.0.10 mine.test\n", &at, &fault, &used), -EBADMSG);
	assert_non_null(strstr(fault.text, "f:4: "));
	assert_int_equal(read_text(&s, "198.18.0.9 mine.test\n", &at, &fault, &used), 0);
	assert_true(e->settled);
	assert_int_equal(read_text(&s, "198.18.0.9 mine.test\n", &at, NULL, &used), -EBADMSG);
	synthetic_done(&s);
}

static void test_written(void **state)
{
	struct synthetic_place at = {"f", 0};
	struct synthetic s = {0}, again = {0};
	struct fault fault = {{0}};
	struct synthetic_entry *e;
	char longest[LIMIT_NAME + 1];
	struct buf out;
	size_t used;

	(void)state;
	memset(longest, 'a', sizeof(longest));
	for (size_t i = 1; i < LIMIT_NAME; i += 2)
		longest[i] = '.';
	longest[LIMIT_NAME] = 0;
	buf_init(&out, SYNTHETIC_RECORD_HEAD + SYNTHETIC_RECORD_LINE);
	assert_int_equal(synthetic_record_head(&out), 0);
	assert_int_equal(
		synthetic_add(&s, slice_str(longest), 198u << 24 | 18 << 16 | 255 << 8 | 255, &e),
		0);
	assert_int_equal(synthetic_record_line(e, &out), 0);
	assert_int_equal(buf_used(&out), SYNTHETIC_RECORD_HEAD + SYNTHETIC_RECORD_LINE - 1);
	assert_int_equal(synthetic_record_read(&again, buf_slice(&out), &at, &fault, &used), 0);
	assert_int_equal(used, buf_used(&out));
	assert_non_null(synthetic_entry(&again, slice_str(longest)));
	buf_done(&out);
	synthetic_done(&s);
	synthetic_done(&again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_read_on),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
