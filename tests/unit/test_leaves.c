/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaves.c – the cache: who shares what, who goes first, when a leaf is made anew, what
 * outlives it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "model/addr.h"
#include "tls/ca.h"
#include "tls/leaves.h"
#include "tls/mint.h"
#include "tls/tls_internal.h"

enum { NOW = 1900000000, HOUR = 3600 };

static struct ca *ca;

static int set_up(void **state)
{
	(void)state;
	return ca_new("Sallyport CA one", NOW, &ca);
}

static int tear_down(void **state)
{
	(void)state;
	ca_free(ca);
	return 0;
}

/* The leaf's certificate: who is the same object was not minted again. */
static X509 *get(struct leaves *cache, uint64_t owner, const char *name, int64_t now)
{
	struct leaf *leaf = NULL;

	assert_int_equal(leaves_get(cache, ca, owner, slice_str(name), NULL, now, &leaf), 0);
	return leaf->cert;
}

static void kept_by_owner_and_name(void **state)
{
	struct leaves *cache;
	struct addr ip;
	struct leaf *leaf;
	X509 *a, *b;

	(void)state;
	assert_int_equal(leaves_new(8, &cache), 0);
	a = get(cache, 1, "a.test", NOW);
	b = get(cache, 2, "a.test", NOW);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(get(cache, 1, "a.test", NOW + HOUR), a);
	assert_ptr_equal(get(cache, 2, "a.test", NOW), b);
	assert_ptr_not_equal(get(cache, 1, "b.test", NOW), a);
	assert_int_equal(leaves_minted(cache), 3);
	/* an address and a name of the same text are two */
	assert_int_equal(addr_parse(SLICE("192.0.2.1"), &ip), 0);
	a = get(cache, 1, "192.0.2.1", NOW);
	assert_int_equal(leaves_get(cache, ca, 1, SLICE("192.0.2.1"), &ip, NOW, &leaf), 0);
	assert_ptr_not_equal(leaf->cert, a);
	assert_int_equal(leaves_count(cache), 5);
	leaves_forget(cache, 1);
	assert_int_equal(leaves_count(cache), 1);
	assert_ptr_equal(get(cache, 2, "a.test", NOW), b);
	leaves_free(cache);
}

static void bad_names_are_not_kept(void **state)
{
	struct leaves *cache;
	struct leaf *leaf = NULL;
	char big[400];

	(void)state;
	memset(big, 'a', sizeof(big));
	assert_int_equal(leaves_new(8, &cache), 0);
	assert_int_equal(leaves_get(cache, ca, 1, SLICE("*.test"), NULL, NOW, &leaf), -EINVAL);
	assert_int_equal(
		leaves_get(cache, ca, 1, slice_of(big, sizeof(big)), NULL, NOW, &leaf), -EINVAL);
	assert_null(leaf);
	assert_int_equal(leaves_count(cache), 0);
	leaves_free(cache);
}

static void least_recently_used_goes(void **state)
{
	struct leaves *cache;
	char name[32];
	X509 *first;

	(void)state;
	assert_int_equal(leaves_new(4, &cache), 0);
	first = get(cache, 1, "0.test", NOW);
	for (int i = 1; i < 4; i++) {
		snprintf(name, sizeof(name), "%d.test", i);
		(void)get(cache, 1, name, NOW);
	}
	assert_ptr_equal(get(cache, 1, "0.test", NOW), first); /* now 1 is the oldest */
	(void)get(cache, 1, "4.test", NOW);
	assert_int_equal(leaves_count(cache), 4);
	assert_int_equal(leaves_minted(cache), 5);
	assert_ptr_equal(get(cache, 1, "0.test", NOW), first);
	(void)get(cache, 1, "2.test", NOW);
	(void)get(cache, 1, "3.test", NOW);
	assert_int_equal(leaves_minted(cache), 5);
	(void)get(cache, 1, "1.test", NOW);
	assert_int_equal(leaves_minted(cache), 6);
	for (int i = 0; i < 200; i++) { /* through every chain, several times over */
		snprintf(name, sizeof(name), "%d.test", i % 7);
		(void)get(cache, (uint64_t)i % 3, name, NOW);
		assert_int_equal(leaves_count(cache), 4);
	}
	leaves_forget(cache, 0);
	leaves_forget(cache, 1);
	leaves_forget(cache, 2);
	assert_int_equal(leaves_count(cache), 0);
	(void)get(cache, 1, "1.test", NOW);
	leaves_free(cache);
}

static void renewed_before_its_end(void **state)
{
	/* 24 h from an hour ago: a tenth of that is 2 h 24 min, which is left at 20 h 36 min from
	 * now */
	int64_t end = NOW - HOUR + MINT_LIFE - 1, edge = end - (MINT_LIFE - 1) / 10;
	struct leaves *cache;
	X509 *a;

	(void)state;
	assert_int_equal(leaves_new(4, &cache), 0);
	a = get(cache, 1, "a.test", NOW);
	X509_up_ref(a); /* so that its address is not used again */
	assert_ptr_equal(get(cache, 1, "a.test", edge), a);
	assert_int_equal(leaves_minted(cache), 1);
	assert_ptr_not_equal(get(cache, 1, "a.test", edge + 1), a);
	assert_int_equal(leaves_minted(cache), 2);
	assert_int_equal(leaves_count(cache), 1);
	/* the clock was set back to before the leaf's start */
	(void)get(cache, 1, "a.test", NOW);
	assert_int_equal(leaves_minted(cache), 3);
	X509_free(a);
	leaves_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_by_owner_and_name),
		cmocka_unit_test(bad_names_are_not_kept),
		cmocka_unit_test(least_recently_used_goes),
		cmocka_unit_test(renewed_before_its_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
