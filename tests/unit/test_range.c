/* SPDX-License-Identifier: Apache-2.0 */
/* test_range.c – every class on both sides, the edges of prefixes, every form with an IPv4 address
 * inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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
			fail_msg(
				"%s: sandbox says %s", rows[i].text, range_name(range_sandbox(&a)));
		if (range_dialler(&a) != rows[i].dialler)
			fail_msg(
				"%s: dialler says %s", rows[i].text, range_name(range_dialler(&a)));
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

/* The rows as the LPM map takes them: no two with one prefix, no bit behind the prefix, all in
 * their family. */
static void rows_are_prefixes(void **state)
{
	size_t n;
	const struct range_row *all = range_rows(&n);

	(void)state;
	assert_in_range(n, 40, 255); /* the map has room for 256 */
	for (size_t i = 0; i < n; i++) {
		assert_in_range(all[i].prefix, 0, 128);
		for (unsigned bit = all[i].prefix; bit < 128; bit++)
			assert_int_equal(all[i].ip[bit / 8] >> (7 - bit % 8) & 1, 0);
		for (size_t k = 0; k < i; k++)
			assert_false(all[i].prefix == all[k].prefix &&
				     memcmp(all[i].ip, all[k].ip, 16) == 0);
		assert_in_range(all[i].class[RANGE_SANDBOX], 0, RANGE_COUNT - 1);
		assert_in_range(all[i].class[RANGE_DIALLER], 0, RANGE_COUNT - 1);
		/* what the sandbox may not try, the daemon may not dial */
		if (all[i].class[RANGE_SANDBOX] != RANGE_PUBLIC)
			assert_int_equal(all[i].class[RANGE_DIALLER], all[i].class[RANGE_SANDBOX]);
	}
}

static bool holds(const struct range_row *wide, const struct range_row *narrow)
{
	for (unsigned bit = 0; bit < wide->prefix; bit++)
		if ((wide->ip[bit / 8] ^ narrow->ip[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return wide->prefix < narrow->prefix;
}

/* The kernel's programs take the last row of RANGES4 that matches (bpf/match_class.bpf.h). */
static void narrower_rows_stand_behind(void **state)
{
	static const struct range_row ipv4[] = {
#define X(a, b, c, d, n, sandbox, dialler, source) {.ip = {a, b, c, d}, .prefix = (n)},
		RANGES4(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ipv4); i++)
		for (size_t k = i + 1; k < ARRAY_SIZE(ipv4); k++)
			assert_false(holds(&ipv4[k], &ipv4[i]));
	assert_true(holds(&ipv4[0], &(struct range_row){.ip = {0, 1}, .prefix = 16}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_its_class),
		cmocka_unit_test(each_class_has_a_category),
		cmocka_unit_test(rows_are_prefixes),
		cmocka_unit_test(narrower_rows_stand_behind),
	};

	return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
