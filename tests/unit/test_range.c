/* SPDX-License-Identifier: Apache-2.0 */
/* test_range.c – every class on both sides, the edges of prefixes, every form with an IPv4 address inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "model/addr.h"
#include "model/range.h"

static const struct {
	const char *text;
	enum range_class sandbox, dialler;
} rows[] = {
	{"8.8.8.8", RANGE_PUBLIC, RANGE_PUBLIC},
	{"0.0.0.0", RANGE_RESERVED, RANGE_RESERVED},
	{"0.255.255.255", RANGE_RESERVED, RANGE_RESERVED},
	{"1.0.0.0", RANGE_PUBLIC, RANGE_PUBLIC},
	{"9.255.255.255", RANGE_PUBLIC, RANGE_PUBLIC},
	{"10.0.0.0", RANGE_PRIVATE, RANGE_PRIVATE},
	{"10.255.255.255", RANGE_PRIVATE, RANGE_PRIVATE},
	{"11.0.0.0", RANGE_PUBLIC, RANGE_PUBLIC},
	{"100.63.255.255", RANGE_PUBLIC, RANGE_PUBLIC},
	{"100.64.0.0", RANGE_CGNAT, RANGE_CGNAT},
	{"100.100.100.200", RANGE_METADATA, RANGE_METADATA},
	{"100.127.255.255", RANGE_CGNAT, RANGE_CGNAT},
	{"100.128.0.0", RANGE_PUBLIC, RANGE_PUBLIC},
	{"126.255.255.255", RANGE_PUBLIC, RANGE_PUBLIC},
	{"127.0.0.1", RANGE_LOOPBACK, RANGE_LOOPBACK},
	{"127.255.255.255", RANGE_LOOPBACK, RANGE_LOOPBACK},
	{"128.0.0.0", RANGE_PUBLIC, RANGE_PUBLIC},
	{"168.63.129.15", RANGE_PUBLIC, RANGE_PUBLIC},
	{"168.63.129.16", RANGE_METADATA, RANGE_METADATA},
	{"169.254.0.1", RANGE_LINK_LOCAL, RANGE_LINK_LOCAL},
	{"169.254.169.253", RANGE_LINK_LOCAL, RANGE_LINK_LOCAL},
	{"169.254.169.254", RANGE_METADATA, RANGE_METADATA},
	{"169.254.170.2", RANGE_METADATA, RANGE_METADATA},
	{"169.254.170.23", RANGE_METADATA, RANGE_METADATA},
	{"169.254.42.42", RANGE_METADATA, RANGE_METADATA},
	{"172.15.255.255", RANGE_PUBLIC, RANGE_PUBLIC},
	{"172.16.0.0", RANGE_PRIVATE, RANGE_PRIVATE},
	{"172.31.255.255", RANGE_PRIVATE, RANGE_PRIVATE},
	{"172.32.0.0", RANGE_PUBLIC, RANGE_PUBLIC},
	{"192.0.0.8", RANGE_RESERVED, RANGE_RESERVED},
	{"192.0.0.9", RANGE_PUBLIC, RANGE_PUBLIC},
	{"192.0.0.192", RANGE_METADATA, RANGE_METADATA},
	{"192.0.2.1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"192.88.99.1", RANGE_RESERVED, RANGE_RESERVED},
	{"192.168.255.255", RANGE_PRIVATE, RANGE_PRIVATE},
	{"198.17.255.255", RANGE_PUBLIC, RANGE_PUBLIC},
	{"198.18.0.0", RANGE_PUBLIC, RANGE_BENCHMARK},
	{"198.19.255.254", RANGE_PUBLIC, RANGE_BENCHMARK},
	{"198.20.0.0", RANGE_PUBLIC, RANGE_PUBLIC},
	{"198.51.100.1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"203.0.113.1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"223.255.255.255", RANGE_PUBLIC, RANGE_PUBLIC},
	{"224.0.0.1", RANGE_MULTICAST, RANGE_MULTICAST},
	{"240.0.0.1", RANGE_RESERVED, RANGE_RESERVED},
	{"255.255.255.255", RANGE_RESERVED, RANGE_RESERVED},
	{"::", RANGE_RESERVED, RANGE_RESERVED},
	{"::1", RANGE_LOOPBACK, RANGE_LOOPBACK},
	{"::ffff:10.0.0.1", RANGE_PRIVATE, RANGE_PRIVATE},
	{"::ffff:8.8.8.8", RANGE_PUBLIC, RANGE_PUBLIC},
	{"::ffff:198.18.0.1", RANGE_PUBLIC, RANGE_BENCHMARK},
	{"::10.0.0.1", RANGE_PRIVATE, RANGE_PRIVATE},
	{"::8.8.8.8", RANGE_PUBLIC, RANGE_PUBLIC},
	{"::127.0.0.1", RANGE_LOOPBACK, RANGE_LOOPBACK},
	{"::ffff:0:169.254.169.254", RANGE_METADATA, RANGE_METADATA},
	{"::ffff:0:8.8.8.8", RANGE_PUBLIC, RANGE_PUBLIC},
	{"::fffe:10.0.0.1", RANGE_RESERVED, RANGE_RESERVED},
	{"64:ff9b::10.0.0.1", RANGE_PRIVATE, RANGE_PRIVATE},
	{"64:ff9b::169.254.169.254", RANGE_METADATA, RANGE_METADATA},
	{"64:ff9b::8.8.8.8", RANGE_PUBLIC, RANGE_PUBLIC},
	{"64:ff9b::198.18.0.1", RANGE_PUBLIC, RANGE_BENCHMARK},
	{"64:ff9b:1::8.8.8.8", RANGE_PRIVATE, RANGE_PRIVATE},
	{"2002:a00:1::", RANGE_PRIVATE, RANGE_PRIVATE},
	{"2002:a9fe:a9fe::1", RANGE_METADATA, RANGE_METADATA},
	{"2002:808:808::1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"2002:7f00:1::", RANGE_LOOPBACK, RANGE_LOOPBACK},
	/* Teredo: server 8.8.8.8, client 8.8.8.8, then either of them 10.0.0.1 */
	{"2001:0:808:808::f7f7:f7f7", RANGE_PUBLIC, RANGE_PUBLIC},
	{"2001:0:a00:1::f7f7:f7f7", RANGE_PRIVATE, RANGE_PRIVATE},
	{"2001:0:808:808::f5ff:fffe", RANGE_PRIVATE, RANGE_PRIVATE},
	/* ISATAP under a public and under a link-local prefix */
	{"2600::5efe:10.0.0.1", RANGE_PRIVATE, RANGE_PRIVATE},
	{"2600::200:5efe:169.254.169.254", RANGE_METADATA, RANGE_METADATA},
	{"2600::200:5efe:8.8.8.8", RANGE_PUBLIC, RANGE_PUBLIC},
	{"2600::100:5efe:10.0.0.1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"fe80::5efe:8.8.8.8", RANGE_LINK_LOCAL, RANGE_LINK_LOCAL},
	{"1fff:ffff::", RANGE_RESERVED, RANGE_RESERVED},
	{"2000::", RANGE_PUBLIC, RANGE_PUBLIC},
	{"2001:1::3", RANGE_RESERVED, RANGE_RESERVED},
	{"2001:1::1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"2001:2::1", RANGE_BENCHMARK, RANGE_BENCHMARK},
	{"2001:1ff::1", RANGE_RESERVED, RANGE_RESERVED},
	{"2001:200::1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"2001:db8::1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"3fff::1", RANGE_PUBLIC, RANGE_PUBLIC},
	{"4000::1", RANGE_RESERVED, RANGE_RESERVED},
	{"100::1", RANGE_RESERVED, RANGE_RESERVED},
	{"fbff::1", RANGE_RESERVED, RANGE_RESERVED},
	{"fc00::1", RANGE_PRIVATE, RANGE_PRIVATE},
	{"fd00:ec2::254", RANGE_METADATA, RANGE_METADATA},
	{"fd00:ec2::255", RANGE_PRIVATE, RANGE_PRIVATE},
	{"fd00:ec2::23", RANGE_METADATA, RANGE_METADATA},
	{"fd20:ce::254", RANGE_METADATA, RANGE_METADATA},
	{"fd00:42::42", RANGE_METADATA, RANGE_METADATA},
	{"fe80::1", RANGE_LINK_LOCAL, RANGE_LINK_LOCAL},
	{"fe80::a9fe:a9fe", RANGE_METADATA, RANGE_METADATA},
	{"febf:ffff::1", RANGE_LINK_LOCAL, RANGE_LINK_LOCAL},
	{"fec0::1", RANGE_PRIVATE, RANGE_PRIVATE},
	{"ff02::1", RANGE_MULTICAST, RANGE_MULTICAST},
};

static struct addr parsed(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(slice_str(text), &a), 0);
	return a;
}

static void each_address_has_its_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr a = parsed(rows[i].text);

		if (range_sandbox(&a) != rows[i].sandbox)
			fail_msg("%s: sandbox says %s", rows[i].text, range_name(range_sandbox(&a)));
		if (range_dialler(&a) != rows[i].dialler)
			fail_msg("%s: dialler says %s", rows[i].text, range_name(range_dialler(&a)));
	}
}

static void each_class_has_a_category(void **state)
{
	(void)state;
	for (unsigned c = 0; c < RANGE_COUNT; c++) {
		enum category expected = c == RANGE_PUBLIC     ? CATEGORY_NONE
					 : c == RANGE_METADATA ? CATEGORY_METADATA_ADDRESS
							       : CATEGORY_PRIVATE_ADDRESS;

		assert_int_equal(range_category((enum range_class)c), expected);
	}
	assert_string_equal(range_name(RANGE_LINK_LOCAL), "LINK_LOCAL");
}

static bool in_intervals(const struct addr *a, const struct range_interval *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (memcmp(a->ip, all[i].lo, 16) >= 0 && memcmp(a->ip, all[i].hi, 16) <= 0)
			return true;
	return false;
}

/* The intervals say the same as range_sandbox(), but for what the header names. */
static void intervals_agree(void **state)
{
	struct range_interval v4[RANGE_INTERVALS], v6[RANGE_INTERVALS];
	unsigned n4 = range_refused(false, v4), n6 = range_refused(true, v6);

	(void)state;
	assert_in_range(n4, 10, RANGE_INTERVALS - 1);
	assert_in_range(n6, 20, RANGE_INTERVALS - 1);
	for (unsigned i = 0; i < n4; i++) {
		assert_true(memcmp(v4[i].lo, v4[i].hi, 16) <= 0);
		if (i)
			assert_true(memcmp(v4[i - 1].hi, v4[i].lo, 16) < 0);
	}
	for (unsigned i = 0; i < n6; i++) {
		assert_true(memcmp(v6[i].lo, v6[i].hi, 16) <= 0);
		if (i)
			assert_true(memcmp(v6[i - 1].hi, v6[i].lo, 16) < 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr a = parsed(rows[i].text);
		bool v4_row = addr_is_v4(&a), refused = rows[i].sandbox != RANGE_PUBLIC;

		if (strstr(rows[i].text, "5efe") || strncmp(rows[i].text, "2001:0:", 7) == 0)
			continue;
		if (in_intervals(&a, v4_row ? v4 : v6, v4_row ? n4 : n6) != refused)
			fail_msg("%s: the intervals disagree", rows[i].text);
	}
	struct addr teredo = parsed("2001:0:808:808::f7f7:f7f7"), mapped = parsed("::ffff:8.8.8.8");

	assert_true(in_intervals(&teredo, v6, n6));
	assert_true(in_intervals(&mapped, v6, n6));
	assert_false(in_intervals(&mapped, v4, n4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_its_class),
		cmocka_unit_test(each_class_has_a_category),
		cmocka_unit_test(intervals_agree),
	};

	return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
