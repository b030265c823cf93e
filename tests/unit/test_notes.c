/* SPDX-License-Identifier: Apache-2.0 */
/* test_notes.c – degraded features: set, replaced in place, removed, bounded. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "proxy/notes.h"

static void expect(const struct note *n, const char *feature, const char *reason)
{
	assert_non_null(n);
	assert_string_equal(n->feature, feature);
	assert_string_equal(n->reason, reason);
}

static void test_set_and_remove(void **state)
{
	struct notes notes = {0};

	(void)state;
	assert_int_equal(notes_set(&notes, "a", "", ""), 0); /* was whole before */
	assert_null(notes.first);
	assert_int_equal(notes_set(&notes, "a", "one", "do"), 0);
	assert_int_equal(notes_set(&notes, "b", "two", ""), 0);
	assert_int_equal(notes_set(&notes, "a", "three", "other"), 0);
	assert_int_equal(notes.n, 2);
	expect(notes.first, "a", "three");
	assert_string_equal(notes.first->remedy, "other");
	expect(notes.first->next, "b", "two");
	assert_int_equal(notes_set(&notes, "a", "", ""), 0);
	assert_int_equal(notes.n, 1);
	expect(notes.first, "b", "two");
	notes_done(&notes);
	assert_null(notes.first);
	assert_int_equal(notes.n, 0);
}

static void test_bound(void **state)
{
	struct notes notes = {0};
	char feature[16];

	(void)state;
	for (unsigned i = 0; i < NOTES_MAX; i++) {
		(void)snprintf(feature, sizeof(feature), "%u", i);
		assert_int_equal(notes_set(&notes, feature, "r", ""), 0);
	}
	assert_int_equal(notes_set(&notes, "more", "r", ""), -E2BIG);
	assert_int_equal(notes_set(&notes, "3", "s", ""), 0); /* a known one has its place */
	assert_int_equal(notes_set(&notes, "4", "", ""), 0);
	assert_int_equal(notes_set(&notes, "more", "r", ""), 0);
	assert_int_equal(notes.n, NOTES_MAX);
	notes_done(&notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_and_remove),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
