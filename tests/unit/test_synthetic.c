/* SPDX-License-Identifier: Apache-2.0 */
/* test_synthetic.c – names and their addresses: one for one, bounded, seen only when settled, read while it grows. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "model/addr.h"
#include "proxy/sandbox.h"
#include "proxy/synthetic.h"

#define V4(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static const struct synthetic_range pool = {V4(198, 18, 0, 0), V4(198, 19, 255, 255)};

static struct addr address(uint32_t v4)
{
	return (struct addr){.ip = {[10] = 0xff,
				     [11] = 0xff,
				     (uint8_t)(v4 >> 24),
				     (uint8_t)(v4 >> 16),
				     (uint8_t)(v4 >> 8),
				     (uint8_t)v4}};
}

static struct host name_of(unsigned i)
{
	struct host h = {0};

	h.n = (uint8_t)snprintf(h.text, sizeof(h.text), "host-%u.names.example.com", i);
	return h;
}

static int give(struct synthetic *s, const struct synthetic_range *range, const struct host *h,
	uint32_t random, struct synthetic_entry **ret)
{
	return synthetic_give(s, range, slice_of(h->text, h->n), random, ret);
}

static void test_settled(void **state)
{
	struct synthetic s = {.seed = 7};
	struct host h = name_of(1), found;
	struct synthetic_entry *e;
	struct addr a, other;

	(void)state;
	a = address(V4(198, 18, 0, 1));
	assert_false(synthetic_find(&s, &a, &found));
	assert_false(synthetic_address(&s, &h, &a));
	assert_null(synthetic_entry(&s, slice_of(h.text, h.n)));
	assert_int_equal(synthetic_count(&s), 0);

	assert_int_equal(give(&s, &pool, &h, 41, &e), 0);
	assert_int_equal(e->v4, V4(198, 18, 0, 42));
	assert_ptr_equal(synthetic_entry(&s, slice_of(h.text, h.n)), e);
	a = address(e->v4);
	assert_false(synthetic_find(&s, &a, &found)); /* nobody is told before it is kept */
	assert_false(synthetic_address(&s, &h, &other));
	synthetic_settle(e);
	assert_true(synthetic_find(&s, &a, &found));
	assert_string_equal(found.text, h.text);
	assert_int_equal(found.n, h.n);
	assert_false(found.is_ip);
	assert_true(synthetic_address(&s, &h, &other));
	assert_true(addr_same_ip(&other, &a));
	assert_int_equal(other.port, 0);
	/* IPv6 whose last bytes are the same is not it */
	a.ip[0] = 0x20;
	assert_false(synthetic_find(&s, &a, &found));
	synthetic_done(&s);
	assert_int_equal(synthetic_count(&s), 0);
}

static void test_refused(void **state)
{
	struct synthetic s = {0};
	struct host h = name_of(1), other = name_of(2);
	struct synthetic_entry *e;
	struct slice name = slice_of(h.text, h.n), second = slice_of(other.text, other.n);

	(void)state;
	assert_int_equal(synthetic_add(&s, name, V4(10, 0, 0, 1), &e), -ERANGE);
	assert_int_equal(synthetic_add(&s, name, V4(203, 0, 113, 1), &e), -ERANGE);
	assert_int_equal(synthetic_add(&s, name, V4(198, 20, 0, 0), &e), -ERANGE);
	assert_int_equal(synthetic_add(&s, name, V4(198, 19, 255, 254), &e), -ERANGE);
	assert_int_equal(synthetic_add(&s, SLICE(""), V4(198, 18, 0, 1), &e), -ERANGE);
	assert_int_equal(synthetic_add(&s, name, V4(198, 18, 0, 1), &e), 0);
	assert_int_equal(synthetic_add(&s, name, V4(198, 18, 0, 2), &e), -EEXIST);
	assert_int_equal(synthetic_add(&s, second, V4(198, 18, 0, 1), &e), -EEXIST);
	assert_int_equal(give(&s, &pool, &h, 5, &e), -EEXIST);
	assert_int_equal(give(&s, &pool, &other, 0, &e), 0); /* the one is taken: the next */
	assert_int_equal(e->v4, V4(198, 18, 0, 2));
	synthetic_done(&s);
}

/* A range of 256: 254 names, then none. The shared address and both ends are never given. */
static void test_small_range(void **state)
{
	static const struct synthetic_range ranges[] = {
		{V4(198, 18, 5, 0), V4(198, 18, 5, 255)},
		{V4(198, 19, 255, 0), V4(198, 19, 255, 255)}, /* holds the shared address */
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(ranges); k++) {
		struct synthetic s = {.seed = 99};
		bool seen[256] = {0};
		struct synthetic_entry *e;
		unsigned n = k ? 253 : 254;

		for (unsigned i = 0; i < n; i++) {
			struct host h = name_of(i);

			assert_int_equal(give(&s, &ranges[k], &h, 0xffffffff - 1000 * i, &e), 0);
			assert_false(seen[e->v4 & 0xff]);
			seen[e->v4 & 0xff] = true;
		}
		assert_int_equal(
			give(&s, &ranges[k], &(struct host){.n = 1, .text = "x"}, 3, &e), -ENOSPC);
		assert_false(seen[0]);
		assert_false(seen[255]);
		assert_int_equal(seen[254], k == 0);
		synthetic_done(&s);
	}
}

/* All that there may be; every one is found by name and by address; the next has no room. */
static void test_bound(void **state)
{
	struct synthetic s = {.seed = 0x1234567890};
	struct host h, found;
	struct synthetic_entry *e;
	struct addr a;

	(void)state;
	for (unsigned i = 0; i < SYNTHETIC_MAX; i++) {
		h = name_of(i);
		assert_int_equal(give(&s, &pool, &h, i * 2654435761u, &e), 0);
		synthetic_settle(e);
	}
	assert_int_equal(synthetic_count(&s), SYNTHETIC_MAX);
	h = name_of(SYNTHETIC_MAX);
	assert_int_equal(give(&s, &pool, &h, 1, &e), -ENOSPC);
	for (unsigned i = 0; i < SYNTHETIC_MAX; i++) {
		h = name_of(i);
		assert_true(synthetic_address(&s, &h, &a));
		assert_true(synthetic_find(&s, &a, &found));
		assert_string_equal(found.text, h.text);
	}
	synthetic_done(&s);
}

static void test_pool(void **state)
{
	const struct addr in[] = {
		address(pool.first), address(pool.last), address(V4(198, 18, 77, 1))};
	const struct addr out[] = {address(V4(198, 17, 255, 255)), address(V4(198, 20, 0, 0)),
		address(V4(203, 0, 113, 1)), address(V4(10, 0, 0, 1)),
		{.ip = {0x20, 1, 0, 2, [15] = 1}}, {.ip = {0x20, 2, 198, 18, 0, 1}}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		assert_true(synthetic_pool(&in[i]));
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		assert_false(synthetic_pool(&out[i]));
}

/* Readers run while names are added: what they find is whole, and what was settled stays found. */
struct race {
	struct synthetic s;
	_Atomic unsigned settled;
	_Atomic bool end;
};

static void *race_read(void *arg)
{
	struct race *race = arg;
	uintptr_t wrong = 0;

	while (!atomic_load(&race->end)) {
		unsigned n = atomic_load(&race->settled);

		for (unsigned i = n > 50 ? n - 50 : 0; i < n; i++) {
			struct host h = name_of(i), found;
			struct addr a;

			if (!synthetic_address(&race->s, &h, &a) ||
				!synthetic_find(&race->s, &a, &found) ||
				strcmp(found.text, h.text) != 0)
				wrong++;
		}
		if (n < SYNTHETIC_MAX) {
			struct host h = name_of(n), found;
			struct addr a;

			if (synthetic_address(&race->s, &h, &a) &&
				(!synthetic_find(&race->s, &a, &found) ||
					strcmp(found.text, h.text) != 0))
				wrong++;
		}
	}
	return (void *)wrong;
}

static void test_readers(void **state)
{
	static struct race race;
	pthread_t threads[2];
	void *wrong;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race_read, &race), 0);
	for (unsigned i = 0; i < SYNTHETIC_MAX; i++) {
		struct host h = name_of(i);
		struct synthetic_entry *e;

		assert_int_equal(give(&race.s, &pool, &h, i * 2246822519u, &e), 0);
		synthetic_settle(e);
		atomic_store(&race.settled, i + 1);
	}
	atomic_store(&race.end, true);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	synthetic_done(&race.s);
}

#if !defined(SALLYPORT_SAN)
/* What it says at the top of synthetic.c. */
static void test_memory(void **state)
{
	static const struct {
		unsigned names;
		size_t bytes;
	} bounds[] = {{0, 0}, {10, 1024}, {100, 12288}, {SYNTHETIC_MAX, 384 << 10}};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(bounds); k++) {
		size_t before = mallinfo2().uordblks, used;
		struct synthetic s = {0};
		struct synthetic_entry *e;

		for (unsigned i = 0; i < bounds[k].names; i++) {
			struct host h = name_of(i);

			assert_int_equal(give(&s, &pool, &h, i * 2246822519u, &e), 0);
		}
		used = mallinfo2().uordblks - before;
		if (used > bounds[k].bytes)
			fail_msg("%u names take %zu bytes", bounds[k].names, used);
		synthetic_done(&s);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if !defined(SALLYPORT_SAN)
		cmocka_unit_test(test_memory), /* first: what others have freed would serve it */
#endif
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_small_range),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
