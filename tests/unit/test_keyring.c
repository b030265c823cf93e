/* SPDX-License-Identifier: Apache-2.0 */
/* test_keyring.c – keys lie in locked, undumped pages, never overlap, and are wiped when dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/keyring.h"

enum { KEYS = 8 * 126 }; /* whole pages: a place that is dropped is then the only free one */

/* "… lo … dd wf …" of the mapping of p; empty when it is not mapped. */
static void mapping_flags(const void *p, char ret[256])
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	int inside = 0;

	ret[0] = '\0';
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = from <= (uintptr_t)p && (uintptr_t)p < to;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			(void)snprintf(ret, 256, "%.255s", line + 8);
	}
	(void)fclose(f);
}

static void many_keys_do_not_overlap(void **state)
{
	static uint8_t *keys[KEYS];
	uint8_t *again;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < KEYS; i++) {
			uint8_t zero[KEYRING_KEY] = {0};

			keys[i] = keyring_take();
			assert_non_null(keys[i]);
			assert_memory_equal(keys[i], zero, KEYRING_KEY);
			memset(keys[i], (int)(1 + i % 255), KEYRING_KEY);
		}
		for (unsigned i = 0; i < KEYS; i++)
			for (unsigned k = 0; k < KEYRING_KEY; k++)
				assert_int_equal(keys[i][k], 1 + i % 255);
		keyring_drop(keys[KEYS / 2]);
		again = keyring_take(); /* the place that is free, wiped */
		assert_ptr_equal(again, keys[KEYS / 2]);
		for (unsigned k = 0; k < KEYRING_KEY; k++)
			assert_int_equal(again[k], 0);
		for (unsigned i = 0; i < KEYS; i++)
			keyring_drop(keys[(i * 5) % KEYS]);
	}
	keyring_drop(NULL);
}

static void pages_are_locked_and_go_with_the_last_key(void **state)
{
	uint8_t *key = keyring_take();
	char flags[256];

	(void)state;
	assert_non_null(key);
	mapping_flags(key, flags);
#ifndef __SANITIZE_ADDRESS__ /* which makes mlock() do nothing */
	assert_non_null(strstr(flags, " lo"));
#endif
	assert_non_null(strstr(flags, " dd"));
	assert_non_null(strstr(flags, " wf"));
	keyring_drop(key);
	mapping_flags(key, flags);
	assert_null(strstr(flags, " dd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_keys_do_not_overlap),
		cmocka_unit_test(pages_are_locked_and_go_with_the_last_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
