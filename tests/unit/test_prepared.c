/* SPDX-License-Identifier: Apache-2.0 */
/* test_prepared.c – proxy/prepared.c: who is noted, for how long, and how many. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proxy/prepared.h"

static void test_noted_until_its_time(void **state)
{
	static struct prepared p;
	char id[LIMIT_SANDBOX_ID + 1];

	(void)state;
	assert_int_equal(prepared_add(&p, "a", 1000), 0);
	assert_int_equal(prepared_add(&p, "b", 1000), 0);
	assert_int_equal(prepared_add(&p, "a", 2000), 0);
	assert_false(prepared_expired(&p, 1000 + PREPARED_MS - 1, id));
	assert_true(prepared_expired(&p, 1000 + PREPARED_MS, id));
	assert_string_equal(id, "b");
	assert_false(prepared_expired(&p, 1000 + PREPARED_MS, id));
	assert_true(prepared_expired(&p, 2000 + PREPARED_MS, id));
	assert_string_equal(id, "a");
	assert_int_equal(prepared_add(&p, "a", 2000), 0);
	prepared_drop(&p, "a");
	assert_false(prepared_expired(&p, UINT64_MAX, id));
}

static void test_as_many_as_there_may_be(void **state)
{
	static struct prepared p;
	char id[LIMIT_SANDBOX_ID + 1];

	(void)state;
	for (int i = 0; i < PREPARED_MAX; i++) {
		(void)snprintf(id, sizeof(id), "c%d", i);
		assert_int_equal(prepared_add(&p, id, 0), 0);
	}
	assert_int_equal(prepared_add(&p, "more", 0), -EBUSY);
	assert_int_equal(prepared_add(&p, "c7", 0), 0);
	prepared_drop(&p, "c7");
	assert_int_equal(prepared_add(&p, "more", 0), 0);
}

static bool is_attached(void *arg, const char *id)
{
	return strcmp(arg, id) == 0;
}

/* What lies there and is neither noted nor attached has its time from now; more than there is room for waits. */
static void test_what_an_earlier_daemon_left(void **state)
{
	static struct prepared p;
	char top[] = "/tmp/prepared-XXXXXX", path[128], id[LIMIT_SANDBOX_ID + 1];
	int left = 0;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(prepared_adopt(&p, top, is_attached, "d0", 0), 0);
	(void)snprintf(path, sizeof(path), "%s/handout", top);
	assert_int_equal(mkdir(path, 0700), 0);
	for (int i = 0; i < PREPARED_MAX + 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/handout/d%d", top, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(prepared_add(&p, "d1", 500), 0);
	assert_int_equal(prepared_adopt(&p, top, is_attached, "d0", 1000), PREPARED_MAX - 1);
	assert_true(p.more);
	assert_true(prepared_expired(&p, 500 + PREPARED_MS, id));
	assert_string_equal(id, "d1");
	assert_false(prepared_expired(&p, 999 + PREPARED_MS, id));
	while (prepared_expired(&p, 1000 + PREPARED_MS, id)) {
		assert_string_not_equal(id, "d0");
		(void)snprintf(path, sizeof(path), "%s/handout/%s", top, id);
		assert_int_equal(rmdir(path), 0);
		left++;
	}
	assert_int_equal(left, PREPARED_MAX - 1);
	assert_int_equal(prepared_adopt(&p, top, is_attached, "d0", 2000), 3);
	assert_false(p.more);
	(void)snprintf(path, sizeof(path), "rm -r %s", top);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noted_until_its_time),
		cmocka_unit_test(test_what_an_earlier_daemon_left),
		cmocka_unit_test(test_as_many_as_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
