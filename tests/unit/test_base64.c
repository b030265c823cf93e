/* SPDX-License-Identifier: Apache-2.0 */
/* test_base64.c – the vectors of RFC 4648 section 10, all lengths round, and what is broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "rewrite/base64.h"

static const struct {
	const char *plain, *text;
} vectors[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};

static void test_vectors(void **state)
{
	uint8_t to[16];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct slice plain = exact_copy(slice_str(vectors[i].plain)),
			     text = exact_copy(slice_str(vectors[i].text));

		base64_encode(plain, to);
		assert_int_equal(BASE64_ENCODED(plain.n), text.n);
		assert_memory_equal(to, text.p, text.n);
		assert_int_equal(base64_decode(text, to), plain.n);
		assert_memory_equal(to, plain.p, plain.n);
		exact_free(plain);
		exact_free(text);
	}
	assert_int_equal(base64_decode(SLICE("Zg"), to), 1);
	assert_int_equal(base64_decode(SLICE("Zm8"), to), 2);
}

static void test_round(void **state)
{
	uint8_t plain[256], text[BASE64_ENCODED(256)], back[BASE64_DECODED(BASE64_ENCODED(256))];

	(void)state;
	for (unsigned i = 0; i < sizeof(plain); i++)
		plain[i] = (uint8_t)(i * 37);
	for (size_t n = 0; n <= sizeof(plain); n++) {
		base64_encode(slice_of(plain, n), text);
		assert_int_equal(base64_decode(slice_of(text, BASE64_ENCODED(n)), back), n);
		assert_memory_equal(back, plain, n);
	}
}

static void test_broken(void **state)
{
	static const char *const broken[] = {"Z", "Zm9vY", "Zh==", "Zm9=", "Z===", "====", "=",
		"==", "Zg=", "Zg===", "Z=g=", "Zm9v=", "Zm 9v", "Zm9v\n", "Zm-v", "Zm_v",
		"Zg==Zg==", "Zm9v===="};
	uint8_t to[16];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(broken); i++) {
		struct slice in = exact_copy(slice_str(broken[i]));

		if (base64_decode(in, to) != -EBADMSG)
			fail_msg("accepted: %s", broken[i]);
		exact_free(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_round), cmocka_unit_test(test_broken)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
