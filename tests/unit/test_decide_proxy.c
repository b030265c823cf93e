/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_decide_proxy.c – requests of clients that believe in a proxy: CONNECT and absolute-form, what may be meant by them,
 * and which requests may follow which (CAP-09, POL-12, POL-13).
 */
#include "decide_rows.h"

/* The target says where, whatever was connected to; every host is judged as if that were it (CAP-09). */
static void test_absolute(void **state)
{
	static const struct row rows[] = {
		{{"GET", "http://a.test/x?y", "a.test", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "http://a.test", "a.test", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "HTTP://A.test.?y", "a.TEST", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"OPTIONS", "http://a.test", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "http://a.test:80/", "a.test", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "http://high.test:8443/", "high.test:8443", 80, .goes = 8443},
			OK("high", "high.test")},
		{{"GET", "http://high.test:8443/", "high.test", 80, .goes = 8443},
			OK("high", "high.test")},
		{{"GET", "http://a.test/", NULL, 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "http://[2001:db8::1]:443/", "[2001:db8::1]:443", 80, .goes = 443},
			OK("v6", "2001:db8::1")},
		/* denied */
		{{"GET", "http://denied.test/", "denied.test", 80},
			DENIED("default", "denied.test")},
		{{"GET", "http://a.test:8080/", NULL, 80, .goes = 8080},
			DENIED("default", "a.test")},
		{{"GET", "http://high.test/", NULL, 8443, .goes = 80},
			DENIED("default", "high.test")},
		{{"POST", "http://read.test/", NULL, 80}, METHOD("default", "read.test")},
		{{"TRACE", "http://a.test/", NULL, 80}, METHOD("built-in", "a.test")},
		/* Host means another place */
		{{"GET", "http://a.test/", "b.test", 80}, MISMATCH("a.test", TARGET)},
		{{"GET", "http://a.test/", "a.test:81", 80}, MISMATCH("a.test", TARGET)},
		{{"GET", "http://a.test:81/", "a.test:80", 80}, MISMATCH("a.test", TARGET)},
		{{"GET", "http://a.test/", "a.test..", 80}, BAD(NULL, "Host is not a name")},
		/* no target of http */
		{{"GET", "https://a.test/", "a.test", 80}, BAD(NULL, "use CONNECT")},
		{{"GET", "https://a.test/", "a.test", 443}, BAD(NULL, "use CONNECT")},
		{{"GET", "ftp://a.test/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http:///", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://u@a.test/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://a.test\\x/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://a%2etest/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://a.test:0/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://2130706433/", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"GET", "http://*.sub.test/", NULL, 80}, BAD(NULL, FORM_OF_TARGET)},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_connect(void **state)
{
	static const struct row rows[] = {
		{{"CONNECT", "a.test:443", "a.test:443", 3128, .goes = 443}, OK("plain", "a.test")},
		{{"CONNECT", "A.test.:443", "a.test", 3128, .goes = 443}, OK("plain", "a.test")},
		{{"CONNECT", "a.test:443", NULL, 3128, .goes = 443}, OK("plain", "a.test")},
		{{"CONNECT", "[2001:db8::1]:443", NULL, 80, .goes = 443}, OK("v6", "2001:db8::1")},
		{{"CONNECT", "read.test:80", NULL, 80},
			OK("read", "read.test")}, /* some method could */
		/* denied */
		{{"CONNECT", "denied.test:443", NULL, 80, .goes = 443},
			DENIED("default", "denied.test")},
		{{"CONNECT", "a.test:8443", NULL, 80, .goes = 8443}, DENIED("default", "a.test")},
		{{"CONNECT", "high.test:443", NULL, 8443, .goes = 443},
			DENIED("default", "high.test")},
		/* Host means another place */
		{{"CONNECT", "a.test:443", "b.test:443", 80}, MISMATCH("a.test", TARGET)},
		{{"CONNECT", "a.test:443", "a.test:80", 80}, MISMATCH("a.test", TARGET)},
		/* nothing that is read in two ways */
		{{"CONNECT", "a.test", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:0", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:65536", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:443x", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", ":443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "/", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "http://a.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test@b.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test%00.b.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\t:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\x7f:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\xff:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\\b.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "[fe80::1%25eth0]:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "2001:db8::1:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a..test:443", NULL, 80}, BAD(NULL, FORM_OF_TARGET)},
		{{"CONNECT", "0177.0.0.1:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "0x7f.1:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "2130706433:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "127.1:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "0:443", NULL, 80}, BAD("0.0.0.0", FORM_OF_TARGET)},
		/* a body, whatever its length */
		{{"CONNECT", "a.test:443", NULL, 80, .framing = FRAMING_LENGTH},
			BAD(NULL, "no body")},
		{{"CONNECT", "a.test:443", NULL, 80, .framing = FRAMING_CHUNKED},
			BAD(NULL, "no body")},
		/* not the first */
		{{"CONNECT", "a.test:443", NULL, 80, .talk = DECIDE_PROXY}, BAD(NULL, FIRST)},
		{{"CONNECT", "a.test:443", NULL, 80, "a.test", NULL, DECIDE_SERVER, true},
			BAD(NULL, FIRST)},
		{{"CONNECT", "a.test:443", NULL, 443, "a.test"}, BAD(NULL, "within TLS")},
		{{"CONNECT", "a.test:443", NULL, 80, "a.test", .plain = true},
			BAD(NULL, "within a CONNECT")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* What the kernel refuses to who connects there itself. */
static void test_places(void **state)
{
	struct row rows[] = {
		{{"CONNECT", "169.254.169.254:80", NULL, 80},
			REFUSED(METADATA_ADDRESS, "169.254.169.254", "one that is refused")},
		{{"CONNECT", "[::ffff:169.254.169.254]:80", NULL, 80},
			REFUSED(METADATA_ADDRESS, "169.254.169.254", "one that is refused")},
		{{"GET", "http://169.254.169.254/latest", NULL, 80},
			REFUSED(METADATA_ADDRESS, "169.254.169.254", "one that is refused")},
		{{"CONNECT", "10.0.0.2:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "10.0.0.2", "one that is refused")},
		{{"CONNECT", "127.0.0.1:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "127.0.0.1", "one that is refused")},
		{{"CONNECT", "[::1]:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "::1", "one that is refused")},
		{{"CONNECT", "198.18.7.7:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "198.18.7.7", "one that is refused")},
		/* private: lifts it, at its port */
		{{"CONNECT", "10.0.0.1:443", NULL, 80, .goes = 443}, OK("private", "10.0.0.1")},
		{{"GET", "http://10.0.0.1:443/", NULL, 80, .goes = 443}, OK("private", "10.0.0.1")},
		{{"CONNECT", "10.0.0.1:80", NULL, 443, .goes = 80},
			REFUSED(PRIVATE_ADDRESS, "10.0.0.1", "one that is refused")},
		/* DNS */
		{{"CONNECT", "raw.test:22", NULL, 80, .goes = 22}, OK("raw", "raw.test")},
		{{"CONNECT", "raw.test:53", NULL, 80, .goes = 53},
			REFUSED(PROTOCOL_DENIED, "raw.test", "DNS is answered here")},
		{{"CONNECT", "raw.test:853", NULL, 80, .goes = 853},
			REFUSED(PROTOCOL_DENIED, "raw.test", "DNS is answered here")},
		{{"GET", "http://raw.test:853/", NULL, 80, .goes = 853},
			REFUSED(PROTOCOL_DENIED, "raw.test", "DNS is answered here")},
		/* a tunnel knows no requests */
		{{"GET", "http://raw.test:22/", NULL, 80, .goes = 22},
			{CATEGORY_PROTOCOL_DENIED, "raw", "raw.test", "is tunnelled"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].ask.policy = lifting;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* An address that our DNS gave to a name is that name. */
static void test_synthetic(void **state)
{
	static const struct row rows[] = {
		{{"CONNECT", "198.18.7.7:443", "198.18.7.7:443", 80, .goes = 443},
			OK("plain", "a.test")},
		{{"GET", "http://198.18.7.7/", "198.18.7.7", 443, .goes = 80},
			OK("plain", "a.test")},
		{{"CONNECT", "198.18.7.7:443", "a.test:443", 80}, MISMATCH("198.18.7.7", TARGET)},
		{{"CONNECT", "198.18.7.8:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "198.18.7.8", "one that is refused")},
	};
	struct synthetic table = {.seed = 1};
	struct synthetic_entry *e;

	(void)state;
	assert_int_equal(
		synthetic_add(&table, SLICE("a.test"), 198u << 24 | 18u << 16 | 0x0707, &e), 0);
	synthetic_settle(e);
	names = &table;
	check_rows(rows, ARRAY_SIZE(rows));
	names = NULL;
	synthetic_done(&table);
}

/* Behind the first request, within TLS and within a CONNECT. */
static void test_talk(void **state)
{
	static const struct row rows[] = {
		/* a proxy's client stays one, and may mean another server each time */
		{{"GET", "http://b.sub.test/", NULL, 3128, .talk = DECIDE_PROXY, .goes = 80},
			OK("sub", "b.sub.test")},
		{{"GET", "/", "a.test", 80, .talk = DECIDE_PROXY}, BAD(NULL, "names no host")},
		{{"OPTIONS", "*", "a.test", 80, .talk = DECIDE_PROXY}, BAD(NULL, "names no host")},
		/* a server's may repeat what it has said */
		{{"GET", "/", "b.sub.test", 80, "a.test", NULL, DECIDE_SERVER, true},
			OK("sub", "b.sub.test")},
		{{"GET", "http://a.test/x", "a.test", 80, "a.test", NULL, DECIDE_SERVER, true},
			OK("plain", "a.test")},
		{{"GET", "http://b.sub.test/", "b.sub.test", 80, "a.test", NULL, DECIDE_SERVER,
			 true},
			MISMATCH("b.sub.test", MEANT)},
		{{"GET", "http://a.test:8080/", NULL, 80, "a.test", NULL, DECIDE_SERVER, true},
			MISMATCH("a.test", MEANT)},
		{{"GET", "http://a.test/", NULL, 8080, "a.test", NULL, DECIDE_SERVER, true},
			MISMATCH("a.test", MEANT)},
		/* TLS */
		{{"GET", "https://a.test/", "a.test", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "https://A.test:443/", "a.test:443", 443, "a.test"},
			OK("plain", "a.test")},
		{{"GET", "https://b.sub.test/", "b.sub.test", 443, "a.test"},
			MISMATCH("b.sub.test", MEANT)},
		{{"GET", "https://a.test/", "b.sub.test", 443, "a.test"},
			MISMATCH("a.test", TARGET)},
		{{"GET", "https://a.test:8443/", NULL, 443, "a.test"}, MISMATCH("a.test", MEANT)},
		{{"GET", "http://a.test/", "a.test", 443, "a.test"}, BAD(NULL, "within TLS")},
		/* plain text in a CONNECT */
		{{"GET", "/", "a.test", 80, "a.test", .plain = true}, OK("plain", "a.test")},
		{{"GET", "/", "a.test:81", 80, "a.test", .plain = true}, MISMATCH("a.test", PORT)},
		{{"GET", "/", "b.sub.test", 80, "a.test", .plain = true},
			MISMATCH("b.sub.test", "that CONNECT was for")},
		{{"GET", "/", NULL, 80, "a.test", .plain = true}, BAD(NULL, "no Host")},
		{{"GET", "http://a.test/", "a.test", 80, "a.test", .plain = true},
			OK("plain", "a.test")},
		{{"GET", "http://b.sub.test/", NULL, 80, "a.test", .plain = true},
			MISMATCH("b.sub.test", MEANT)},
		{{"GET", "https://a.test/", NULL, 443, "a.test", .plain = true},
			BAD(NULL, "use CONNECT")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absolute),
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_synthetic),
		cmocka_unit_test(test_talk),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
