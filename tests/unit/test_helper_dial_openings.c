/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_dial_openings.c – netns-helper/dial_openings.c: the union of all policies' openings, replaced without a gap. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "base/fault.h"
#include "bpf/capture.h"
#include "netns-helper/dial_openings.h"

static int new_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "test_openings",
		sizeof(struct capture_range_key), sizeof(struct capture_opened),
		2 * CAPTURE_DIAL_OPENINGS, &opts);

	if (map < 0) {
		print_message("no map can be made here: %s\n", strerrordesc_np(errno));
		skip();
	}
	return map;
}

/* a.b.0.0/bits of IPv4 at these ports */
static struct capture_opening opening(uint8_t a, uint8_t b, unsigned bits, uint16_t lo, uint16_t hi)
{
	return (struct capture_opening){.ip = {[10] = 0xff, [11] = 0xff, a, b},
		.prefix = (uint8_t)(96 + bits),
		.port_lo = lo,
		.port_hi = hi};
}

static bool is_open(int map, uint8_t a, uint8_t b, uint8_t c, uint16_t port)
{
	struct capture_range_key key = {
		.prefixlen = 128, .ip = {[10] = 0xff, [11] = 0xff, a, b, c, 1}};
	struct capture_opened v;

	if (bpf_map_lookup_elem(map, &key, &v) < 0)
		return false;
	for (unsigned i = 0; i < v.n; i++)
		if (port >= v.ports[i].lo && port <= v.ports[i].hi)
			return true;
	return false;
}

static size_t entries(int map)
{
	struct capture_range_key key, next;
	size_t n = 0;

	for (int r = bpf_map_get_next_key(map, NULL, &next); r == 0;
		r = bpf_map_get_next_key(map, &key, &next)) {
		key = next;
		n++;
	}
	return n;
}

static void test_union(void **state)
{
	struct capture_opening all[] = {opening(10, 1, 16, 80, 80), opening(10, 0, 8, 5432, 5432),
		opening(10, 1, 16, 80, 80), opening(10, 1, 16, 8080, 8090),
		opening(10, 1, 16, 80, 80)};
	struct dial_openings o = {0};
	struct fault fault = {""};
	int map = new_map();

	(void)state;
	assert_int_equal(dial_openings_replace(&o, map, all, 5, &fault), 0);
	assert_int_equal(entries(map), 2);
	assert_true(is_open(map, 10, 1, 2, 80) && is_open(map, 10, 1, 2, 8085));
	assert_true(is_open(map, 10, 1, 2, 5432)); /* of the wider one */
	assert_true(is_open(map, 10, 2, 2, 5432));
	assert_false(is_open(map, 10, 2, 2, 80) || is_open(map, 11, 1, 2, 80));
	dial_openings_close(&o, map);
	assert_int_equal(entries(map), 0);
	close(map);
}

static void test_replaced(void **state)
{
	struct capture_opening first[] = {opening(10, 1, 16, 80, 80), opening(10, 2, 16, 80, 80)};
	struct capture_opening second[] = {
		opening(10, 2, 16, 443, 443), opening(10, 3, 16, 80, 80)};
	struct dial_openings o = {0};
	struct fault fault = {""};
	int map = new_map();

	(void)state;
	assert_int_equal(dial_openings_replace(&o, map, first, 2, &fault), 0);
	assert_int_equal(dial_openings_replace(&o, map, second, 2, &fault), 0);
	assert_false(is_open(map, 10, 1, 2, 80) || is_open(map, 10, 2, 2, 80));
	assert_true(is_open(map, 10, 2, 2, 443) && is_open(map, 10, 3, 2, 80));
	assert_int_equal(dial_openings_replace(&o, map, NULL, 0, &fault), 0);
	assert_int_equal(entries(map), 0);
	dial_openings_close(&o, map);
	close(map);
}

/* What does not fit changes nothing of what held. */
static void test_limits(void **state)
{
	struct capture_opening *all = calloc(CAPTURE_DIAL_OPENINGS + 1, sizeof(*all));
	struct capture_opening one[] = {opening(10, 1, 16, 80, 80)};
	struct dial_openings o = {0};
	struct fault fault = {""};
	int map = new_map();

	(void)state;
	assert_non_null(all);
	assert_int_equal(dial_openings_replace(&o, map, one, 1, &fault), 0);
	for (unsigned i = 0; i <= CAPTURE_DIAL_OPENINGS; i++)
		all[i] = opening(20, (uint8_t)(i & 255), 16, (uint16_t)(1 + i), (uint16_t)(1 + i));
	assert_int_equal(
		dial_openings_replace(&o, map, all, CAPTURE_DIAL_OPENINGS + 1, &fault), -E2BIG);
	assert_non_null(strstr(fault.text, "together"));
	for (unsigned i = 0; i <= CAPTURE_OPENINGS; i++) /* one prefix, more ranges than it holds */
		all[i] = opening(30, 1, 16, (uint16_t)(1 + 2 * i), (uint16_t)(1 + 2 * i));
	assert_int_equal(dial_openings_replace(&o, map, all, CAPTURE_OPENINGS + 1, &fault), -E2BIG);
	assert_true(is_open(map, 10, 1, 2, 80));
	assert_int_equal(entries(map), 1);
	assert_int_equal(dial_openings_replace(&o, map, all, CAPTURE_OPENINGS, &fault), 0);
	assert_int_equal(entries(map), 1);
	assert_true(is_open(map, 30, 1, 2, 1) && !is_open(map, 10, 1, 2, 80));
	dial_openings_close(&o, map);
	free(all);
	close(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_union),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
