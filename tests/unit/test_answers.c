/* SPDX-License-Identifier: Apache-2.0 */
/* test_answers.c – what a sandbox is told: one row a question, and the outcomes of lookups. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "dns/answers.h"

static const char search[2][LIMIT_NAME + 1] = {"ns.svc.test", "svc.test"};

enum { OPENED = 1, EXACT = 2, ODD = 4, SYN = 8, OFF = 16, POOL = 32 };

static const struct {
	const char *name;
	uint16_t type;
	unsigned facts;
	enum dns_action expect;
} rows[] = {
	/* opened */
	{"site.test", DNS_A, OPENED, DNS_RESOLVE},
	{"site.test", DNS_AAAA, OPENED, DNS_RESOLVE},
	{"site.test", DNS_AAAA, OPENED | EXACT, DNS_RESOLVE},
	/* DNS-04: never, whoever opens it */
	{"site.test", DNS_HTTPS, OPENED | EXACT, DNS_SAY_EMPTY},
	{"site.test", DNS_SVCB, OPENED | EXACT, DNS_SAY_EMPTY},
	/* DNS-01: other types never NXDOMAIN when the name has an address */
	{"site.test", DNS_SRV, OPENED, DNS_SAY_EMPTY},
	{"site.test", DNS_TXT, OPENED, DNS_SAY_EMPTY},
	{"site.test", DNS_MX, OPENED, DNS_SAY_EMPTY},
	{"site.test", 255, OPENED, DNS_SAY_EMPTY},
	{"1.113.0.203.in-addr.arpa", DNS_PTR, 0, DNS_SAY_EMPTY},
	/* other types: forwarded when a rule names the name as it is, and opens it */
	{"site.test", DNS_SRV, OPENED | EXACT, DNS_FORWARD},
	{"site.test", DNS_TXT, OPENED | EXACT | SYN, DNS_FORWARD},
	{"site.test", DNS_TXT, EXACT, DNS_SAY_EMPTY},
	{"site.test", 255, OPENED | EXACT, DNS_SAY_EMPTY},
	{"site.test", 252, OPENED | EXACT, DNS_SAY_EMPTY},
	{"a\\b.test", DNS_TXT, OPENED | EXACT | ODD, DNS_SAY_EMPTY},
	{"x.local", DNS_TXT, OPENED, DNS_SAY_NXDOMAIN},
	/* an address that stands for the name */
	{"site.test", DNS_A, OPENED | SYN, DNS_SYNTHETIC},
	{"site.test", DNS_AAAA, OPENED | SYN, DNS_SAY_EMPTY},
	{"site.test", DNS_HTTPS, OPENED | EXACT | SYN, DNS_SAY_EMPTY},
	{"evil.test", DNS_A, SYN, DNS_SAY_SHARED},
	{"a\\b.test", DNS_A, OPENED | ODD | SYN, DNS_SAY_SHARED},
	{"registry", DNS_A, OPENED | SYN, DNS_SAY_NXDOMAIN},
	{"registry", DNS_A, OPENED | EXACT | SYN, DNS_SYNTHETIC},
	{"api.svc.test", DNS_A, OPENED | SYN, DNS_SAY_NXDOMAIN},
	/* what an address of the pool points to is our knowledge alone */
	{"1.0.18.198.in-addr.arpa", DNS_PTR, POOL, DNS_POINTER},
	{"1.0.18.198.in-addr.arpa", DNS_PTR, POOL | OPENED | EXACT, DNS_POINTER},
	{"1.0.18.198.in-addr.arpa", DNS_TXT, POOL | OPENED | EXACT, DNS_SAY_EMPTY},
	/* off */
	{"site.test", DNS_A, OFF | OPENED | EXACT | SYN, DNS_SAY_NXDOMAIN},
	{"site.test", DNS_TXT, OFF | OPENED | EXACT, DNS_SAY_NXDOMAIN},
	{"evil.test", DNS_AAAA, OFF, DNS_SAY_NXDOMAIN},
	{"1.0.18.198.in-addr.arpa", DNS_PTR, OFF | POOL, DNS_SAY_NXDOMAIN},
	{"localhost", DNS_A, OFF, DNS_SAY_LOOPBACK},
	{"", DNS_NS, OFF, DNS_SAY_EMPTY},
	/* refused */
	{"evil.test", DNS_A, 0, DNS_SAY_SHARED},
	{"evil.test", DNS_AAAA, 0, DNS_SAY_EMPTY},
	{"evil.test", DNS_TXT, 0, DNS_SAY_EMPTY},
	{"evil.test", DNS_HTTPS, 0, DNS_SAY_EMPTY},
	/* not a host's name: nothing opens it, even if the caller says so */
	{"a\\b.test", DNS_A, OPENED | EXACT | ODD, DNS_SAY_SHARED},
	{"a\\b.test", DNS_AAAA, OPENED | EXACT | ODD, DNS_SAY_EMPTY},
	/* search domains: below, not the domain itself, not at another boundary */
	{"api.site.test.ns.svc.test", DNS_A, OPENED, DNS_SAY_NXDOMAIN},
	{"api.site.test.svc.test", DNS_AAAA, 0, DNS_SAY_NXDOMAIN},
	{"api.svc.test", DNS_TXT, 0, DNS_SAY_NXDOMAIN},
	{"api.svc.test", DNS_A, OPENED | EXACT, DNS_RESOLVE},
	{"a\\.svc.test", DNS_A, OPENED | EXACT | ODD, DNS_SAY_NXDOMAIN},
	{"svc.test", DNS_A, 0, DNS_SAY_SHARED},
	{"xsvc.test", DNS_A, OPENED, DNS_RESOLVE},
	/* local */
	{"printer.local", DNS_A, OPENED, DNS_SAY_NXDOMAIN},
	{"local", DNS_A, OPENED, DNS_SAY_NXDOMAIN},
	{"host.localdomain", DNS_AAAA, OPENED, DNS_SAY_NXDOMAIN},
	{"x.onion", DNS_A, OPENED, DNS_SAY_NXDOMAIN},
	{"notlocal", DNS_A, OPENED, DNS_SAY_NXDOMAIN},
	{"registry", DNS_A, 0, DNS_SAY_NXDOMAIN},
	{"registry", DNS_A, OPENED | EXACT, DNS_RESOLVE},
	{"x.notlocal", DNS_A, OPENED, DNS_RESOLVE},
	/* addresses are no names */
	{"169.254.169.254", DNS_A, OPENED | EXACT, DNS_SAY_NXDOMAIN},
	{"2130706433", DNS_A, OPENED | EXACT, DNS_SAY_NXDOMAIN},
	{"x.1a", DNS_A, OPENED, DNS_RESOLVE},
	/* localhost, the root */
	{"localhost", DNS_A, 0, DNS_SAY_LOOPBACK},
	{"app.localhost", DNS_AAAA, 0, DNS_SAY_LOOPBACK},
	{"localhost", DNS_TXT, 0, DNS_SAY_EMPTY},
	{"xlocalhost.test", DNS_A, 0, DNS_SAY_SHARED},
	{"", 2, OPENED, DNS_SAY_EMPTY},
	{"", DNS_A, OPENED, DNS_SAY_EMPTY},
};

static void test_decide(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dns_question q = {.type = rows[i].type, .plain = !(rows[i].facts & ODD)};
		struct dns_facts facts = {
			.opened = rows[i].facts & OPENED,
			.exact = rows[i].facts & EXACT,
			.synthetic = rows[i].facts & SYN,
			.off = rows[i].facts & OFF,
			.pool = rows[i].facts & POOL,
			.search = search,
			.nsearch = ARRAY_SIZE(search),
		};
		enum dns_action action;

		strcpy(q.name, rows[i].name);
		action = dns_decide(&q, &facts);
		if (action != rows[i].expect)
			fail_msg("%s type %u: %d, expected %d", rows[i].name, rows[i].type, action,
				rows[i].expect);
	}
}

static struct addr v4(uint8_t last)
{
	return (struct addr){.ip = {[10] = 0xff, [11] = 0xff, 203, 0, 113, last}};
}

static struct addr v6(uint8_t last)
{
	return (struct addr){.ip = {0x20, 1, 0xd, 0xb8, [15] = last}};
}

static void test_settle(void **state)
{
	struct dns_reply r;
	struct addr shared = dns_shared();
	char text[ADDR_TEXT];

	(void)state;
	addr_text(&shared, text);
	assert_string_equal(text, "198.19.255.254");
	dns_settle(DNS_SAY_SHARED, DNS_A, &r);
	assert_int_equal(r.rcode, DNS_NOERROR);
	assert_int_equal(r.n, 1);
	assert_true(addr_same_ip(&r.addrs[0], &shared));
	assert_true(r.ttl > 0 && r.ttl <= DNS_TTL);
	dns_settle(DNS_SAY_EMPTY, DNS_AAAA, &r);
	assert_int_equal(r.rcode, DNS_NOERROR);
	assert_int_equal(r.n, 0);
	dns_settle(DNS_SAY_NXDOMAIN, DNS_A, &r);
	assert_int_equal(r.rcode, DNS_NXDOMAIN);
	assert_int_equal(r.n, 0);
	dns_settle(DNS_SAY_LOOPBACK, DNS_A, &r);
	addr_text(&r.addrs[0], text);
	assert_string_equal(text, "127.0.0.1");
	dns_settle(DNS_SAY_LOOPBACK, DNS_AAAA, &r);
	addr_text(&r.addrs[0], text);
	assert_string_equal(text, "::1");
}

/* Accepts what is not in the list, whose end is an address of family 0. */
static bool accept_unless(void *arg, const struct addr *a)
{
	const struct addr *refused = arg;

	for (; refused && refused->port; refused++)
		if (addr_same_ip(refused, a))
			return false;
	return true;
}

static void expect(uint16_t type, int err, const struct addr *addrs, unsigned n,
	struct addr *refused, enum dns_rcode rcode, unsigned count, bool all_refused)
{
	struct dns_reply r;

	assert_int_equal(
		dns_resolved(type, err, addrs, n, accept_unless, refused, &r), all_refused);
	assert_int_equal(r.rcode, rcode);
	assert_int_equal(r.n, count);
	assert_true(r.ttl <= DNS_TTL);
	for (unsigned i = 0; i < r.n; i++)
		assert_int_equal(addr_is_v4(&r.addrs[i]), type == DNS_A);
}

static void test_resolved(void **state)
{
	const struct addr both[] = {v4(1), v4(2), v6(1), v6(2)};
	struct addr no_v4[] = {v4(1), v4(2), {.port = 0}},
		    none[] = {v4(1), v4(2), v6(1), v6(2), {.port = 0}};
	struct dns_reply r;
	struct addr shared = dns_shared();

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		none[i].port = 1;
	no_v4[0].port = no_v4[1].port = 1;

	expect(DNS_A, 0, both, 4, NULL, DNS_NOERROR, 2, false);
	expect(DNS_AAAA, 0, both, 4, NULL, DNS_NOERROR, 0, false); /* A first */
	expect(DNS_A, 0, both + 2, 2, NULL, DNS_NOERROR, 0, false); /* IPv6 only */
	expect(DNS_AAAA, 0, both + 2, 2, NULL, DNS_NOERROR, 2, false);
	expect(DNS_AAAA, 0, both, 2, NULL, DNS_NOERROR, 0, false); /* IPv4 only: DNS-01 */
	expect(DNS_A, 0, both, 4, no_v4, DNS_NOERROR, 0, false);
	expect(DNS_AAAA, 0, both, 4, no_v4, DNS_NOERROR, 2, false);
	expect(DNS_A, 0, both, 4, none, DNS_NOERROR, 1, true);
	expect(DNS_AAAA, 0, both, 4, none, DNS_NOERROR, 0, true);
	expect(DNS_A, -ENOENT, NULL, 0, NULL, DNS_NXDOMAIN, 0, false);
	expect(DNS_AAAA, -ENOENT, NULL, 0, NULL, DNS_NXDOMAIN, 0, false);
	expect(DNS_A, -ENODATA, NULL, 0, NULL, DNS_NOERROR, 0, false);
	expect(DNS_A, -ETIMEDOUT, NULL, 0, NULL, DNS_SERVFAIL, 0, false);
	expect(DNS_AAAA, -EIO, NULL, 0, NULL, DNS_SERVFAIL, 0, false);
	expect(DNS_A, -EAGAIN, NULL, 0, NULL, DNS_SERVFAIL, 0, false);

	assert_true(dns_resolved(DNS_A, 0, both, 4, accept_unless, none, &r));
	assert_true(addr_same_ip(&r.addrs[0], &shared));
}

static void test_resolved_many(void **state)
{
	struct addr many[3 * LIMIT_ADDRESSES];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = v4((uint8_t)i);
	expect(DNS_A, 0, many, ARRAY_SIZE(many), NULL, DNS_NOERROR, LIMIT_ADDRESSES, false);
}

static void test_reverse(void **state)
{
	static const char *const bad[] = {"", "in-addr.arpa", "1.in-addr.arpa",
		"1.2.3.in-addr.arpa", "1.2.3.4.5.in-addr.arpa", "01.2.3.4.in-addr.arpa",
		"256.2.3.4.in-addr.arpa", "1000.2.3.4.in-addr.arpa", ".2.3.4.in-addr.arpa",
		"1.2.3.4.in-addr.arpa.x", "x.1.2.3.4.in-addr.arpa", "1.2.3.4", "1.2.3.4.",
		"1.2.3.4.ip6.arpa", "-1.2.3.4.in-addr.arpa"};
	struct addr a;
	char text[ADDR_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (dns_reverse(bad[i], &a))
			fail_msg("%s", bad[i]);
	assert_true(dns_reverse("7.0.18.198.in-addr.arpa", &a));
	addr_text(&a, text);
	assert_string_equal(text, "198.18.0.7");
	assert_true(dns_reverse("255.255.255.255.in-addr.arpa", &a));
}

static void test_synthetic(void **state)
{
	const struct addr a = v4(7);
	struct dns_reply r;

	(void)state;
	dns_synthetic(&a, &r);
	assert_int_equal(r.rcode, DNS_NOERROR);
	assert_int_equal(r.n, 1);
	assert_true(addr_same_ip(&r.addrs[0], &a));
	assert_int_equal(r.ttl, DNS_TTL);
	assert_int_equal(r.nrecords, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_resolved),
		cmocka_unit_test(test_resolved_many),
		cmocka_unit_test(test_reverse),
		cmocka_unit_test(test_synthetic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
