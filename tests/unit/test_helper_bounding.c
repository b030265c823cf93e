/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_bounding.c – sets of capabilities as text, and of a process. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "netns-helper/bounding.h"

static const struct {
	const char *text;
	uint64_t set;
} right[] = {
	{"none", 0},
	{"NET_RAW", 1ULL << CAP_NET_RAW},
	{"CAP_NET_RAW", 1ULL << CAP_NET_RAW},
	{"cap_net_raw,Sys_Admin", 1ULL << CAP_NET_RAW | 1ULL << CAP_SYS_ADMIN},
	{"00000000a80425fb", 0xa80425fb},
	{"0x2000", 1ULL << CAP_NET_RAW},
	{"0", 0},
	{"ffffffffffffffff", UINT64_MAX},
};

static const char *const wrong[] = {"", "NET_RAV", "none,CHOWN", "CHOWN,", ",CHOWN", "CHOWN,,KILL",
	"CHOWN KILL", "0x", "1ffffffffffffffff", "12g4", "-1",
	"cap_a_name_that_is_much_longer_than_that_of_any_capability_there_is"};

static void test_texts(void **state)
{
	uint64_t set;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		set = 1234;
		assert_int_equal(bounding_parse(right[i].text, &set), 0);
		assert_true(set == right[i].set);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (bounding_parse(wrong[i], &set) != -EINVAL)
			fail_msg("%s was taken", wrong[i]);
}

static void test_names(void **state)
{
	char name[32];

	(void)state;
	bounding_name(CAP_NET_RAW, name);
	assert_string_equal(name, "NET_RAW");
	bounding_name(CAP_SYS_ADMIN, name);
	assert_string_equal(name, "SYS_ADMIN");
}

/* What this process holds is part of what is told, whichever way it holds it. */
static void test_of_a_process(void **state)
{
	cap_t held = cap_get_proc();
	char comm[16] = "";
	uint64_t set = 0;

	(void)state;
	assert_int_equal(bounding_of(getpid(), &set, comm), 0);
	assert_string_equal(comm, "test_helper_bou");
	for (cap_value_t c = 0; CAP_IS_SUPPORTED(c); c++) {
		cap_flag_value_t permitted = CAP_CLEAR;

		assert_int_equal(cap_get_flag(held, c, CAP_PERMITTED, &permitted), 0);
		if (permitted == CAP_SET || cap_get_bound(c) == 1)
			assert_true(set & 1ULL << c);
	}
	cap_free(held);
	assert_int_equal(bounding_of(0x7ffffffe, &set, comm), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
