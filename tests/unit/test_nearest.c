/* SPDX-License-Identifier: Apache-2.0 */
/* test_nearest.c – a slip of two letters finds its word, anything else finds none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "conf/nearest.h"
#include "exact.h"

static const char *const known[] = {"status", "sandboxes", "policy", "to", ""};

static const struct {
	const char *written, *hint;
} rows[] = {
	{"status", "; did you mean `status`?"},
	{"statsu", "; did you mean `status`?"}, /* two swapped */
	{"stat", "; did you mean `status`?"},
	{"Polici", "; did you mean `policy`?"},
	{"sandbox", "; did you mean `sandboxes`?"},
	{"sandbo", ""}, /* three */
	{"ot", "; did you mean `to`?"},
	{"x", ""}, /* everything short is near to everything short */
	{"", ""},
	{"policypolicypolicypolicypolicypolicy", ""},
};

static void test_nearest(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice in = exact_copy(slice_str(rows[i].written));
		char hint[NEAREST_HINT];
		struct nearest best;

		nearest_to(&best, in);
		for (unsigned k = 0; k < ARRAY_SIZE(known); k++)
			nearest_try(&best, known[k]);
		assert_string_equal(nearest_hint(&best, hint), rows[i].hint);
		exact_free(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_nearest)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
