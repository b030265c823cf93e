/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c – a connection is found by everything that makes it equal, the oldest goes first (none is shared between two). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "upstream/pool.h"

static const char seat_a, seat_b, trust_a, trust_b;

static const struct pool_key base = {
	.seat = &seat_a,
	.trust = &trust_a,
	.credentials = 7,
	.port = 443,
	.tls = true,
	.host = "a.test",
};

/* Forwards and backwards the same items, and as many as it says. */
static void assert_sound(const struct pool *p)
{
	unsigned forwards = 0, backwards = 0;

	for (const struct pool_item *i = p->head.next; i != &p->head; i = i->next, forwards++)
		assert_ptr_equal(i->next->prev, i);
	for (const struct pool_item *i = p->head.prev; i != &p->head; i = i->prev)
		backwards++;
	assert_int_equal(forwards, p->count);
	assert_int_equal(backwards, p->count);
}

static void test_each_member_tells_apart(void **state)
{
	struct pool_key others[] = {base, base, base, base, base, base, base, base};
	struct pool_item item = {.key = base};
	struct pool p;

	(void)state;
	others[0].seat = &seat_b;
	others[1].trust = &trust_b;
	others[2].credentials = 0;
	others[3].port = 8443;
	others[4].tls = false;
	strcpy(others[5].host, "b.test");
	strcpy(others[6].host, "a.test.x");
	others[7].credentials = 7 + (1ull << 32);
	pool_init(&p);
	assert_null(pool_take(&p, &base));
	assert_null(pool_put(&p, &item));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_null(pool_take(&p, &others[i]));
		assert_int_equal(p.count, 1);
	}
	assert_ptr_equal(pool_take(&p, &base), &item);
	assert_null(item.next);
	assert_null(item.prev);
	assert_null(pool_take(&p, &base)); /* it is one exchange's now */
	assert_sound(&p);
}

/* What stands behind the name in its array is not looked at. */
static void test_host_is_a_text(void **state)
{
	struct pool_item item = {.key = base};
	struct pool_key key = base;
	struct pool p;

	(void)state;
	memset(key.host + 7, 'x', sizeof(key.host) - 7);
	pool_init(&p);
	assert_null(pool_put(&p, &item));
	assert_ptr_equal(pool_take(&p, &key), &item);
}

static void test_newest_is_taken(void **state)
{
	struct pool_item items[3] = {{.key = base}, {.key = base}, {.key = base}};
	struct pool p;

	(void)state;
	pool_init(&p);
	for (unsigned i = 0; i < 3; i++)
		assert_null(pool_put(&p, &items[i]));
	assert_ptr_equal(pool_take(&p, &base), &items[2]);
	assert_null(pool_put(&p, &items[2]));
	assert_ptr_equal(pool_take(&p, &base), &items[2]);
	assert_ptr_equal(pool_take(&p, &base), &items[1]);
	assert_ptr_equal(pool_take(&p, &base), &items[0]);
	assert_sound(&p);
}

static void test_oldest_goes(void **state)
{
	static struct pool_item items[LIMIT_POOL_IDLE + 2];
	struct pool p;

	(void)state;
	pool_init(&p);
	for (unsigned i = 0; i < ARRAY_SIZE(items); i++) {
		items[i].key = base;
		(void)snprintf(items[i].key.host, sizeof(items[i].key.host), "h%u.test", i);
	}
	for (unsigned i = 0; i < LIMIT_POOL_IDLE; i++)
		assert_null(pool_put(&p, &items[i]));
	/* the first is used once more: now the second is the oldest */
	assert_ptr_equal(pool_take(&p, &items[0].key), &items[0]);
	assert_null(pool_put(&p, &items[0]));
	assert_ptr_equal(pool_put(&p, &items[LIMIT_POOL_IDLE]), &items[1]);
	assert_null(items[1].next);
	assert_int_equal(p.count, LIMIT_POOL_IDLE);
	assert_ptr_equal(pool_put(&p, &items[LIMIT_POOL_IDLE + 1]), &items[2]);
	assert_int_equal(p.count, LIMIT_POOL_IDLE);
	assert_null(pool_take(&p, &items[1].key));
	assert_ptr_equal(pool_take(&p, &items[0].key), &items[0]);
	assert_sound(&p);
}

static void test_seats(void **state)
{
	struct pool_item items[4] = {{.key = base}, {.key = base}, {.key = base}, {.key = base}};
	struct pool p;

	(void)state;
	items[1].key.seat = items[3].key.seat = &seat_b;
	strcpy(items[2].key.host, "b.test");
	pool_init(&p);
	for (unsigned i = 0; i < 4; i++)
		assert_null(pool_put(&p, &items[i]));
	assert_ptr_equal(pool_take_seat(&p, &seat_a), &items[2]);
	assert_ptr_equal(pool_take_seat(&p, &seat_a), &items[0]);
	assert_null(pool_take_seat(&p, &seat_a));
	assert_int_equal(p.count, 2);
	assert_ptr_equal(pool_take_seat(&p, &seat_b), &items[3]);
	assert_sound(&p);
}

static void test_remove(void **state)
{
	struct pool_item items[3] = {{.key = base}, {.key = base}, {.key = base}};
	struct pool p;

	(void)state;
	pool_init(&p);
	pool_remove(&p, &items[0]); /* never was in it */
	assert_int_equal(p.count, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_null(pool_put(&p, &items[i]));
	pool_remove(&p, &items[1]);
	assert_sound(&p);
	pool_remove(&p, &items[1]);
	assert_int_equal(p.count, 2);
	assert_sound(&p);
	assert_ptr_equal(pool_take(&p, &base), &items[2]);
	assert_ptr_equal(pool_take(&p, &base), &items[0]);
	assert_null(pool_put(&p, &items[1])); /* and may come again */
	assert_ptr_equal(pool_take(&p, &base), &items[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_member_tells_apart),
		cmocka_unit_test(test_host_is_a_text),
		cmocka_unit_test(test_newest_is_taken),
		cmocka_unit_test(test_oldest_goes),
		cmocka_unit_test(test_seats),
		cmocka_unit_test(test_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
