/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_decide.c – one request against a policy: the form of its target, Host in all its spellings, the session's name, the
 * port, the method, the path (POL-12, POL-13).
 */
#include "decide_rows.h"

static void test_targets(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "/x/../y?q=http://b.test/#", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "/x/../y?q=http://b.test/", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "//b.test/x", "a.test", 80}, OK("plain", "a.test")},
		{{"OPTIONS", "*", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "*", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "/a b", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "/a\r\nX: y", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "x", "a.test", 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "/", "a.test", 80}, BAD(NULL, "malformed")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_hosts(void **state)
{
	static const struct row rows[] = {
		/* one name, one spelling */
		{{"GET", "/", "A.TeSt", 80}, OK("plain", "a.test")},
		{{"GET", "/", "a.test.", 80}, OK("plain", "a.test")},
		{{"GET", "/", "x_y.test", 80}, OK("plain", "x_y.test")},
		{{"GET", "/", "y.x.SUB.test", 80}, OK("sub", "y.x.sub.test")},
		{{"GET", "/", "sub.test", 80}, DENIED("default", "sub.test")},
		{{"GET", "/", "xsub.test", 80}, DENIED("default", "xsub.test")},
		{{"GET", "/", "a.test.evil.test", 80}, DENIED("default", "a.test.evil.test")},
		/* none, and what is none */
		{{"GET", "/", NULL, 80}, BAD(NULL, "no Host")},
		{{"GET", "/", NULL, 443, "a.test"}, BAD(NULL, "no Host")},
		{{"GET", "/", "", 80}, BAD(NULL, FORM)},
		{{"GET", "/", ".", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a..test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test..", 80}, BAD(NULL, FORM)},
		{{"GET", "/", " a.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test b.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test,b.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "user@a.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test/x", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test\\x", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a%2etest", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test\n", 80}, BAD(NULL, FORM)},
		{{"GET", "/",
			 "b\xc3\xbc"
			 "cher.test",
			 80},
			BAD(NULL, FORM)},
		{{"GET", "/", "*.sub.test", 80}, BAD(NULL, FORM)},
		/* addresses, in one form each */
		{{"GET", "/", "203.0.113.10", 80}, OK("v4", "203.0.113.10")},
		{{"GET", "/", "203.0.113.11", 80}, DENIED("default", "203.0.113.11")},
		{{"GET", "/", "3405803786", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "0xcb.0.113.10", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "0313.0.113.10", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "203.0.28938", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "[203.0.113.10]", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "[::ffff:203.0.113.10]", 80}, OK("v4", "203.0.113.10")},
		{{"GET", "/", "[2001:db8::1]", 443, "2001:db8::1"}, OK("v6", "2001:db8::1")},
		{{"GET", "/", "[2001:DB8:0:0::1]", 443, "2001:db8::1"}, OK("v6", "2001:db8::1")},
		{{"GET", "/", "[2001:db8::1]:8443", 8443, "2001:db8::1"}, OK("v6", "2001:db8::1")},
		{{"GET", "/", "[2001:db8::2]", 443, "2001:db8::2"},
			DENIED("default", "2001:db8::2")},
		{{"GET", "/", "2001:db8::1", 443, "2001:db8::1"}, BAD(NULL, FORM)},
		{{"GET", "/", "[2001:db8::1", 443, "2001:db8::1"}, BAD(NULL, FORM)},
		{{"GET", "/", "[2001:db8::1%25eth0]", 443, "2001:db8::1"}, BAD(NULL, FORM)},
		{{"GET", "/", "[a.test]", 80}, BAD(NULL, FORM)},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* Host is the session's name, in whatever spelling (no domain fronting); plain text has no other name. */
static void test_sessions(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "a.test", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "/", "A.test.:443", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "/", "a.test", 443, "b.sub.test"}, MISMATCH("a.test", SESSION)},
		{{"GET", "/", "b.sub.test", 443, "a.test"}, MISMATCH("b.sub.test", SESSION)},
		{{"GET", "/", "a.tes", 443, "a.test"}, MISMATCH("a.tes", SESSION)},
		{{"GET", "/", "a.testa", 443, "a.test"}, MISMATCH("a.testa", SESSION)},
		{{"GET", "/", "denied.test", 443, "a.test"}, MISMATCH("denied.test", SESSION)},
		/* a session without a name is for the address */
		{{"GET", "/", "203.0.113.10", 443, "203.0.113.10"}, OK("v4", "203.0.113.10")},
		{{"GET", "/", "a.test", 443, "203.0.113.10"}, MISMATCH("a.test", SESSION)},
		{{"GET", "/", "203.0.113.10", 443, "a.test"}, MISMATCH("203.0.113.10", SESSION)},
		{{"GET", "/", "a.test", 80}, OK("plain", "a.test")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_ports(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "a.test:80", 80}, OK("plain", "a.test")},
		{{"GET", "/", "a.test:443", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "/", "a.test:443", 80}, MISMATCH("a.test", PORT)},
		{{"GET", "/", "a.test:80", 443, "a.test"}, MISMATCH("a.test", PORT)},
		{{"GET", "/", "high.test", 8443, "high.test"}, OK("high", "high.test")},
		{{"GET", "/", "high.test:9001", 9001, "high.test"}, OK("high", "high.test")},
		{{"GET", "/", "high.test:8443", 443, "high.test"}, MISMATCH("high.test", PORT)},
		{{"GET", "/", "high.test", 443, "high.test"}, DENIED("default", "high.test")},
		{{"GET", "/", "high.test", 9002}, DENIED("default", "high.test")},
		{{"GET", "/", "a.test", 8080}, DENIED("default", "a.test")},
		{{"GET", "/", "a.test:", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:0", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:080", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:65616", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:http", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:80:80", 80}, BAD(NULL, FORM)},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_methods(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "read.test", 80}, OK("read", "read.test")},
		{{"HEAD", "/", "read.test", 80}, OK("read", "read.test")},
		{{"POST", "/", "read.test", 80}, METHOD("default", "read.test")},
		{{"get", "/", "read.test", 80}, METHOD("default", "read.test")},
		{{"GETS", "/", "read.test", 80}, METHOD("default", "read.test")},
		{{"DELETE", "/", "a.test", 80}, OK("plain", "a.test")},
		{{"PROPFIND", "/", "a.test", 80}, OK("plain", "a.test")},
		{{"TRACE", "/", "a.test", 80}, METHOD("built-in", "a.test")},
		{{"TRACK", "/", "a.test", 80}, METHOD("built-in", "a.test")},
		{{"TRACE", "/", "denied.test", 80}, DENIED("default", "denied.test")},
		{{"GET", "/", "no.sub.test", 80}, DENIED("never", "no.sub.test")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_paths(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/acme/x?y=../..", "paths.test", 80}, OK("acme", "paths.test")},
		{{"GET", "/%61cme/%41", "paths.test", 443, "paths.test"}, OK("acme", "paths.test")},
		{{"GET", "/acme", "paths.test", 80}, OK("acme", "paths.test")},
		{{"GET", "/acme;x/y", "paths.test", 80}, PATH("default", "paths.test")},
		{{"GET", "/ACME/x", "paths.test", 80}, PATH("default", "paths.test")},
		{{"GET", "/acme%2Fx", "paths.test", 80}, PATH("default", "paths.test")},
		{{"GET", "//acme/x", "paths.test", 80}, PATH("default", "paths.test")},
		{{"POST", "/acme/x", "paths.test", 80}, METHOD("default", "paths.test")},
		{{"OPTIONS", "*", "paths.test", 80}, METHOD("default", "paths.test")},
		{{"TRACE", "/acme/x", "paths.test", 80}, METHOD("default", "paths.test")},
		{{"GET", "/acme/../x", "paths.test", 80}, BAD("paths.test", "a dot segment")},
		{{"GET", "/acme/%2E./x", "paths.test", 80}, BAD("paths.test", "a dot segment")},
		{{"GET", "/acme/..;/x", "paths.test", 80}, BAD("paths.test", "a dot segment")},
		{{"GET", "/acme/%5cx", "paths.test", 80}, BAD("paths.test", "a backslash")},
		{{"GET", "/acme/%00", "paths.test", 80}, BAD("paths.test", "a control byte")},
		{{"GET", "/acme/%u0041", "paths.test", 80}, BAD("paths.test", "a bad escape")},
		{{"GET", "/acme/%c0%ae", "paths.test", 80}, BAD("paths.test", "overlong")},
		{{"GET", "http://paths.test/acme/x", "paths.test", 80}, OK("acme", "paths.test")},
		{{"GET", "http://paths.test/other/x", "paths.test", 80},
			PATH("default", "paths.test")},
		{{"GET", "/acme/../x", "denied.test", 80}, DENIED("default", "denied.test")},
		{{"GET", "/acme/../x", "paths.test", 443, "a.test"},
			MISMATCH("paths.test", SESSION)},
		/* elsewhere nobody looks */
		{{"GET", "/acme/..;/%2e%2e/%zz", "a.test", 80}, OK("plain", "a.test")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* default: allow opens hosts, not the forms that are never let through. */
static void test_open_policy(void **state)
{
	struct row rows[] = {
		{{"GET", "/", "any.test", 8080}, OK("default", "any.test")},
		{{"GET", "/", "no.test", 80}, DENIED("never", "no.test")},
		{{"GET", "/", "any.test", 443, "other.test"}, MISMATCH("any.test", SESSION)},
		{{"GET", "/", "any.test:81", 80}, MISMATCH("any.test", PORT)},
		{{"GET", "/", NULL, 80}, BAD(NULL, "no Host")},
		{{"GET", "/", "2130706433", 80}, BAD("127.0.0.1", FORM)},
		{{"GET", "http://any.test/", "any.test", 80}, OK("default", "any.test")},
		{{"GET", "http://no.test/", "no.test", 80}, DENIED("never", "no.test")},
		{{"CONNECT", "any.test:8443", NULL, 80, .goes = 8443}, OK("default", "any.test")},
		{{"CONNECT", "no.test:80", NULL, 80}, DENIED("never", "no.test")},
		{{"CONNECT", "no.test:8443", NULL, 80, .goes = 8443}, OK("default", "no.test")},
		{{"TRACE", "/", "any.test", 80}, METHOD("built-in", "any.test")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].ask.policy = open_policy;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_connections(void **state)
{
	static const struct {
		const char *server;
		uint16_t port;
		enum category category;
		const char *rule;
		bool alert;
	} rows[] = {
		{"a.test", 443, CATEGORY_NONE, "plain", false},
		{"a.test", 8443, CATEGORY_HOST_DENIED, "default", false},
		{"read.test", 443, CATEGORY_NONE, "read", false}, /* some request could pass */
		{"no.sub.test", 443, CATEGORY_HOST_DENIED, "never", true},
		{"yes.sub.test", 443, CATEGORY_NONE, "sub", false},
		{"2001:db8::1", 8443, CATEGORY_NONE, "v6", false},
		{"2001:db8::2", 8443, CATEGORY_HOST_DENIED, "default", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host server;
		struct verdict v;

		assert_int_equal(host_canon(slice_str(rows[i].server), &server), 0);
		v = decide_connection(policy, NULL, &server, rows[i].port);
		assert_int_equal(v.category, rows[i].category);
		assert_int_equal(v.allow, rows[i].category == CATEGORY_NONE);
		assert_int_equal(v.alert, rows[i].alert);
		assert_string_equal(v.rule, rows[i].rule);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_open_policy),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
