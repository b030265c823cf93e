/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_keystore.c – netns-helper/keystore.c: the bytes of the form; that Java reads them is tests/system's to see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "netns-helper/keystore.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END   "-----END CERTIFICATE-----\n"

static const uint8_t head[] = {0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2};

static size_t made(const char *pem, uint8_t **ret)
{
	size_t n = 0;

	assert_int_equal(keystore_make(slice_str(pem), ret, &n), 0);
	assert_true(n >= 32);
	assert_memory_equal(*ret, head, sizeof(head));
	return n;
}

static unsigned int count(const uint8_t *store)
{
	return (unsigned int)store[8] << 24 | (unsigned int)store[9] << 16 |
	       (unsigned int)store[10] << 8 | store[11];
}

/* The digest of an empty store: sha1 of the password, "Mighty Aphrodite" and the twelve bytes (by sha1sum). */
static void test_nothing(void **state)
{
	static const uint8_t digest[20] = {0xe2, 0x68, 0x6e, 0x45, 0xfb, 0x43, 0xdf, 0xa4, 0xd9,
		0x92, 0xdd, 0x41, 0xce, 0xb6, 0xb2, 0x1c, 0x63, 0x30, 0xd7, 0x92};
	uint8_t *store;

	(void)state;
	assert_int_equal(made("", &store), 32);
	assert_int_equal(count(store), 0);
	assert_memory_equal(store + 12, digest, sizeof(digest));
	free(store);
}

static void test_an_entry(void **state)
{
	static const uint8_t entry[] = {0, 0, 0, 2, 0, 4, 'c', 'a', '-', '1', 0, 0, 0, 0, 0, 0, 0,
		0, 0, 5, 'X', '.', '5', '0', '9', 0, 0, 0, 4, 'a', 'b', 'c', 'd'};
	uint8_t *store;

	(void)state;
	assert_int_equal(
		made("text\n" BEGIN "YWJj\r\nZA==\n" END, &store), 12 + sizeof(entry) + 20);
	assert_int_equal(count(store), 1);
	assert_memory_equal(store + 12, entry, sizeof(entry));
	free(store);
}

static void test_what_is_passed_over(void **state)
{
	static const char *const rows[] = {BEGIN END, BEGIN "YW*j" END, BEGIN "YWJjZA==YWJj" END,
		BEGIN "YWJjZA===" END, BEGIN "YWJjZ" END, BEGIN "YWJj", END BEGIN};
	uint8_t *store;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(made(rows[i], &store), 32);
		assert_int_equal(count(store), 0);
		free(store);
	}
	assert_true(made(BEGIN "!" END BEGIN "YWJj" END BEGIN "YWJj" END, &store) > 32);
	assert_int_equal(count(store), 2);
	free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_an_entry),
		cmocka_unit_test(test_what_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
