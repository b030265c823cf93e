/* SPDX-License-Identifier: Apache-2.0 */
/* test_private.c – what a policy says of addresses: which are refused, and which its entries of `private` open. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "policy_text.h"

static const char private_text[] =
	"version: 1\nrules:\n"
	"- {name: db, hosts: [db.corp.test, '*.wild.test', 10.0.0.0/8], ports: [5432], action: "
	"allow}\n"
	"private:\n"
	"- {cidr: 10.20.0.0/16, ports: [5432, '6000-6001'], hosts: [db.corp.test, '*.wild.test']}\n"
	"- {cidr: 10.30.0.0/16}\n"
	"- {cidr: 0.0.0.0/0, ports: [9999]}\n"
	"- {cidr: 169.254.169.254, ports: [80], metadata: true}\n"
	"- {cidr: fd00:20::/32, hosts: ['*']}\n";

static const struct {
	const char *host, *address;
	uint16_t port;
	enum category category;
} addresses[] = {
	{"db.corp.test", "203.0.113.1", 443, CATEGORY_NONE},
	{"db.corp.test", "2001:db8::1", 443, CATEGORY_NONE},
	{"db.corp.test", "10.20.1.1", 5432, CATEGORY_NONE},
	{"db.corp.test", "10.20.1.1", 6001, CATEGORY_NONE},
	{"db.corp.test", "10.20.1.1", 0, CATEGORY_NONE}, /* at some port */
	{"other.test", "10.20.1.1", 0, CATEGORY_PRIVATE_ADDRESS},
	{"db.corp.test", "10.20.1.1", 443, CATEGORY_PRIVATE_ADDRESS},
	{"db.corp.test", "10.21.1.1", 5432, CATEGORY_PRIVATE_ADDRESS},
	{"x.wild.test", "10.20.1.1", 5432, CATEGORY_NONE},
	{"other.test", "10.20.1.1", 5432, CATEGORY_PRIVATE_ADDRESS},
	{"10.20.1.1", "10.20.1.1", 5432, CATEGORY_PRIVATE_ADDRESS}, /* hosts: names only names */
	{"db.corp.test", "10.30.1.1", 443, CATEGORY_NONE}, /* no hosts: exact names, */
	{"10.30.1.1", "10.30.1.1", 443, CATEGORY_NONE}, /* and literals, */
	{"x.wild.test", "10.30.1.1", 443, CATEGORY_PRIVATE_ADDRESS}, /* but nothing by a wildcard */
	{"10.9.9.9", "192.168.1.1", 9999, CATEGORY_NONE},
	{"10.9.9.9", "127.0.0.1", 9999, CATEGORY_PRIVATE_ADDRESS}, /* never lifted */
	{"10.9.9.9", "224.0.0.1", 9999, CATEGORY_PRIVATE_ADDRESS},
	{"10.9.9.9", "0.0.0.0", 9999, CATEGORY_PRIVATE_ADDRESS},
	{"10.9.9.9", "100.100.100.200", 9999, CATEGORY_METADATA_ADDRESS},
	{"10.9.9.9", "169.254.169.254", 9999, CATEGORY_METADATA_ADDRESS},
	{"169.254.169.254", "169.254.169.254", 80, CATEGORY_NONE},
	{"169.254.169.254", "169.254.169.254", 81, CATEGORY_METADATA_ADDRESS},
	{"db.corp.test", "169.254.169.254", 80, CATEGORY_NONE},
	{"x.wild.test", "169.254.169.254", 80, CATEGORY_METADATA_ADDRESS},
	{"x.wild.test", "fd00:20::1", 1, CATEGORY_NONE},
	{"x.wild.test", "fd00:21::1", 1, CATEGORY_PRIVATE_ADDRESS},
	{"x.wild.test", "fd00:ec2::254", 1, CATEGORY_METADATA_ADDRESS},
	{"db.corp.test", "64:ff9b::a1e:101", 443,
		CATEGORY_PRIVATE_ADDRESS}, /* 10.30.1.1 inside is not 10.30.1.1 */
	{"db.corp.test", "64:ff9b::a9fe:a9fe", 80, CATEGORY_METADATA_ADDRESS},
	{"db.corp.test", "::1", 9999, CATEGORY_PRIVATE_ADDRESS},
};

static void test_addresses(void **state)
{
	struct policy *p = load(private_text);
	struct policy_opening o[8];
	char text[ADDR_TEXT];
	struct addr a;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct host h = host(addresses[i].host);
		enum category c;

		assert_int_equal(addr_parse(slice_str(addresses[i].address), &a), 0);
		a.port = addresses[i].port;
		c = policy_address(p, &h, &a);
		if (c != addresses[i].category)
			fail_msg("%s at %s:%u: %s", addresses[i].host, addresses[i].address, a.port,
				category_name(c));
	}
	assert_int_equal(policy_openings(p, NULL, 0), 6);
	assert_int_equal(policy_openings(p, o, 2), 6);
	assert_int_equal(policy_openings(p, o, 8), 6);
	assert_true(o[1].prefix == 112 && o[1].port_lo == 6000 && o[1].port_hi == 6001 &&
		    !o[1].metadata);
	assert_true(o[2].port_lo == 1 && o[2].port_hi == 65535);
	assert_true(o[4].prefix == 128 && o[4].metadata && o[4].port_lo == 80);
	memcpy(a.ip, o[4].ip, 16);
	addr_text(&a, text);
	assert_string_equal(text, "169.254.169.254");
	policy_unref(p);
}

static void test_too_many_openings(void **state)
{
	struct fault fault = {{0}};
	struct policy *p = NULL;
	char text[4096];
	size_t n = (size_t)sprintf(text, "version: 1\nprivate:\n");

	(void)state;
	for (unsigned i = 0; i <= POLICY_OPENINGS; i++)
		n += (size_t)sprintf(text + n, "- {cidr: 10.0.%u.0/24}\n", i);
	assert_int_equal(policy_load(slice_of(text, n), "f", &fault, &p), -EBADMSG);
	assert_string_equal(
		fault.text, "f:3:1: `private` holds more than 64 pairs of a range and ports");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_too_many_openings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
