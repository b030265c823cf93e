/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_notes.c – netns-helper/notes.c: what is due, what is forgotten, the limit, texts that are too long. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "netns-helper/notes.h"

static void test_told_once_for_each_change(void **state)
{
	struct notes n = {.listeners = 1};
	struct note *due;

	(void)state;
	assert_null(notes_due(&n, 0));
	assert_int_equal(notes_set(&n, "ipv6", "off", "turn it on"), 1);
	due = notes_due(&n, 0);
	assert_string_equal(due->feature, "ipv6");
	assert_string_equal(due->reason, "off");
	assert_string_equal(due->remedy, "turn it on");
	notes_told(&n, due, 0);
	assert_null(notes_due(&n, 0));
	assert_int_equal(notes_set(&n, "ipv6", "off", "turn it on"), 0);
	assert_null(notes_due(&n, 0));
	assert_int_equal(notes_set(&n, "ipv6", "gone", "turn it on"), 1);
	assert_string_equal(notes_due(&n, 0)->reason, "gone");
	notes_free(&n);
	assert_int_equal(n.n, 0);
}

static void test_whole_again_is_told_and_forgotten(void **state)
{
	struct notes n = {.listeners = 1};

	(void)state;
	assert_int_equal(notes_set(&n, "a", "", ""), 0);
	assert_int_equal(n.n, 0);
	assert_int_equal(notes_set(&n, "a", "r", "m"), 1);
	assert_int_equal(notes_set(&n, "b", "r", "m"), 1);
	assert_true(notes_hold(&n, "a"));
	notes_told(&n, notes_due(&n, 0), 0);
	notes_told(&n, notes_due(&n, 0), 0);
	assert_int_equal(notes_set(&n, "a", "", ""), 1);
	assert_false(notes_hold(&n, "a"));
	assert_string_equal(notes_due(&n, 0)->feature, "a");
	assert_string_equal(notes_due(&n, 0)->reason, "");
	notes_told(&n, notes_due(&n, 0), 0);
	assert_int_equal(n.n, 1);
	assert_true(notes_hold(&n, "b"));
	notes_free(&n);
}

/* A new daemon hears what is degraded, and not what was. */
static void test_renewed(void **state)
{
	struct notes n = {.listeners = 1};

	(void)state;
	assert_int_equal(notes_set(&n, "a", "r", "m"), 1);
	assert_int_equal(notes_set(&n, "b", "r", "m"), 1);
	notes_told(&n, notes_due(&n, 0), 0);
	notes_told(&n, notes_due(&n, 0), 0);
	assert_int_equal(notes_set(&n, "a", "", ""), 1);
	notes_renew(&n, 0);
	assert_string_equal(notes_due(&n, 0)->feature, "b");
	notes_told(&n, notes_due(&n, 0), 0);
	assert_null(notes_due(&n, 0));
	notes_free(&n);
}

/* While one daemon takes over from another both are told, each once; who has left is told nothing. */
static void test_two_daemons(void **state)
{
	struct notes n = {.listeners = 1};

	(void)state;
	assert_int_equal(notes_set(&n, "a", "r", "m"), 1);
	assert_null(notes_due(&n, 1));
	notes_renew(&n, 1);
	assert_string_equal(notes_due(&n, 1)->feature, "a");
	notes_told(&n, notes_due(&n, 1), 1);
	assert_string_equal(notes_due(&n, 0)->feature, "a");
	notes_told(&n, notes_due(&n, 0), 0);
	assert_int_equal(notes_set(&n, "a", "", ""), 1);
	notes_told(&n, notes_due(&n, 1), 1);
	assert_int_equal(n.n, 1);
	notes_leave(&n, 0);
	assert_int_equal(n.n, 0);
	notes_leave(&n, 1);
	assert_int_equal(notes_set(&n, "b", "r", "m"), 1);
	assert_null(notes_due(&n, 0));
	assert_int_equal(notes_set(&n, "b", "", ""), 1);
	assert_int_equal(n.n, 0);
	notes_free(&n);
}

static void test_limits(void **state)
{
	struct notes n = {.listeners = 1};
	char name[8], big[2000];

	(void)state;
	for (int i = 0; i < NOTES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i); /* fits */
		assert_int_equal(notes_set(&n, name, "r", "m"), 1);
	}
	assert_int_equal(notes_set(&n, "more", "r", "m"), -ENOSPC);
	assert_int_equal(notes_set(&n, "n3", "r2", "m"), 1);
	notes_free(&n);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(notes_set(&n, big, big, big), 1);
	assert_int_equal(notes_set(&n, big, big, big), 0);
	assert_int_equal(strlen(notes_due(&n, 0)->feature), PROTO_FEATURE - 1);
	assert_int_equal(strlen(notes_due(&n, 0)->reason), PROTO_TEXT - 1);
	notes_free(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_once_for_each_change),
		cmocka_unit_test(test_whole_again_is_told_and_forgotten),
		cmocka_unit_test(test_renewed),
		cmocka_unit_test(test_two_daemons),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
