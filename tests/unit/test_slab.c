/* SPDX-License-Identifier: Apache-2.0 */
/* test_slab.c – all slots, generations of what is gone, walking, alignment, wiping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/slab.h"

enum { MAX = 130, SIZE = 41 }; /* more than two chunks, an odd size */

static void test_all_slots(void **state)
{
	unsigned char *o[MAX];
	struct slab s;

	(void)state;
	assert_int_equal(slab_init(&s, SIZE, MAX), 0);
	for (unsigned i = 0; i < MAX; i++) {
		o[i] = slab_take(&s);
		assert_non_null(o[i]);
		assert_int_equal((uintptr_t)o[i] % 16, 0);
		for (unsigned k = 0; k < SIZE; k++)
			assert_int_equal(o[i][k], 0);
		memset(o[i], (int)i + 1, SIZE);
		assert_int_equal(slab_slot(o[i]), i);
	}
	assert_null(slab_take(&s));
	assert_int_equal(s.used, MAX);
	for (unsigned i = 0; i < MAX; i++) {
		for (unsigned k = 0; k < SIZE; k++)
			assert_int_equal(
				o[i][k], (unsigned char)(i + 1)); /* nobody wrote over it */
		assert_ptr_equal(slab_at(&s, i), o[i]);
		assert_ptr_equal(slab_find(&s, i, slab_generation(o[i])), o[i]);
		assert_null(slab_find(&s, i, (uint16_t)(slab_generation(o[i]) + 1)));
	}
	assert_null(slab_at(&s, MAX));
	assert_null(slab_find(&s, MAX, 0));
	assert_null(slab_find(&s, UINT32_MAX, 0));
	slab_done(&s);
}

static void test_generations(void **state)
{
	struct slab s;
	unsigned char *a, *b;
	uint32_t slot;
	uint16_t gen;

	(void)state;
	assert_int_equal(slab_init(&s, SIZE, MAX), 0);
	a = slab_take(&s);
	memset(a, 0xaa, SIZE);
	slot = slab_slot(a);
	gen = slab_generation(a);
	slab_give(&s, a);
	assert_int_equal(s.used, 0);
	for (unsigned k = 0; k < SIZE; k++)
		assert_int_equal(a[k], 0); /* wiped at once */
	assert_null(slab_find(&s, slot, gen));
	assert_null(slab_find(&s, slot, (uint16_t)(gen + 1))); /* free: of no generation */
	assert_null(slab_at(&s, slot));
	b = slab_take(&s);
	assert_ptr_equal(b, a); /* the slot is used again */
	assert_int_not_equal(slab_generation(b), gen);
	assert_null(slab_find(&s, slot, gen));
	assert_ptr_equal(slab_find(&s, slot, slab_generation(b)), b);
	slab_done(&s);
}

/* Gives and takes in another order: each slot once, never more than the maximum. */
static void test_reuse(void **state)
{
	void *o[MAX];
	struct slab s;
	char seen[MAX] = {0};

	(void)state;
	assert_int_equal(slab_init(&s, 16, MAX), 0);
	for (unsigned i = 0; i < MAX; i++)
		o[i] = slab_take(&s);
	for (unsigned i = 0; i < MAX; i += 3)
		slab_give(&s, o[i]);
	for (unsigned i = 1; i < MAX; i += 3)
		slab_give(&s, o[i]);
	while ((o[0] = slab_take(&s))) {
		uint32_t slot = slab_slot(o[0]);

		assert_int_equal(seen[slot], 0);
		seen[slot] = 1;
		assert_int_not_equal(slot % 3, 2);
	}
	assert_int_equal(s.used, MAX);
	slab_done(&s);
	slab_done(&s); /* twice does no harm */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_slots),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_reuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
