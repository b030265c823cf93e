/* SPDX-License-Identifier: Apache-2.0 */
/* test_alabel.c – known names (RFC 3492 section 7.1 among them), and what is no name. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "policy/alabel.h"

static const struct {
	const char *name, *label;
} good[] = {
	{"b\u00fccher.example", "xn--bcher-kva.example"},
	{"B\u00dcCHER.Example", "xn--bcher-kva.example"},
	{"*.stra\u00dfe.example", "*.xn--strae-oqa.example"},
	{"\u043f\u0440\u0438\u043c\u0435\u0440.example", "xn--e1afmkfd.example"},
	{"\u041f\u0420\u0418\u041c\u0415\u0420", "xn--e1afmkfd"},
	{"\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587", "xn--ihqwcrb4cv8a8dqg056pqjye"},
	{"3\u5e74b\u7d44\u91d1\u516b\u5148\u751f", "xn--3b-ww4c5e180e575a65lsy2b"},
	{"plain.example", "plain.example"},
	{"", ""},
};

static void test_good(void **state)
{
	char text[254];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		struct slice in = exact_copy(slice_str(good[i].name));

		text[0] = '\0';
		assert_int_equal(alabel_name(in, text, sizeof(text)), 0);
		assert_string_equal(text, good[i].label);
		exact_free(in);
	}
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
		"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe4\xbd"};
	char text[254];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice in = exact_copy(slice_str(bad[i]));

		assert_int_equal(alabel_name(in, text, sizeof(text)), -EINVAL);
		exact_free(in);
	}
	for (size_t n = 1; n <= 21; n++)
		assert_int_equal(alabel_name(slice_str("b\u00fccher.example"), text, n), -EINVAL);
	assert_int_equal(alabel_name(slice_str("b\u00fccher.example"), text, 22), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
