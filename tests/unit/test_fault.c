/* SPDX-License-Identifier: Apache-2.0 */
/* test_fault.c – the first fault stays, control bytes do not get through, the text is bounded. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"

static void test_first_wins(void **state)
{
	struct fault f = {0};

	(void)state;
	assert_int_equal(fault_set(&f, -EINVAL, "%s:%d:%d: %s", "f.yaml", 3, 7, "no"), -EINVAL);
	assert_string_equal(f.text, "f.yaml:3:7: no");
	assert_int_equal(fault_set(&f, -ENOMEM, "second"), -ENOMEM);
	assert_int_equal(fault_set(NULL, -EPERM, "nobody listens"), -EPERM);
	assert_string_equal(f.text, "f.yaml:3:7: no");
}

static void test_control_bytes(void **state)
{
	struct fault f = {0};

	(void)state;
	(void)fault_set(&f, -1, "a%sb", "\x1b[31m\n\r\t\x7f\x01");
	assert_string_equal(f.text, "a?[31m?????b");
	f.text[0] = '\0';
	(void)fault_set(&f, -1, "%s", "\xc3\xbc");
	assert_string_equal(f.text, "\xc3\xbc");
}

static void test_bounded(void **state)
{
	struct fault f = {0};
	char big[2000];

	(void)state;
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(fault_set(&f, -EBADMSG, "%s", big), -EBADMSG);
	assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_wins),
		cmocka_unit_test(test_control_bytes),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
