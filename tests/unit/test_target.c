/* SPDX-License-Identifier: Apache-2.0 */
/* test_target.c – the four forms and which method may have which. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "http/target.h"

static const struct {
	const char *method, *text;
	enum target_form form;
	const char *path, *scheme, *host;
	uint16_t port;
} good[] = {
	{"GET", "/", TARGET_ORIGIN, "/", "", "", 0},
	{"GET", "/a/b?c=d", TARGET_ORIGIN, "/a/b?c=d", "", "", 0},
	{"GET", "//evil.test/x", TARGET_ORIGIN, "//evil.test/x", "", "", 0},
	{"GET", "/../%2e%00\\|{}\"<>^`", TARGET_ORIGIN, "/../%2e%00\\|{}\"<>^`", "", "", 0},
	{"GET", "/http://h/", TARGET_ORIGIN, "/http://h/", "", "", 0},
	{"OPTIONS", "/x", TARGET_ORIGIN, "/x", "", "", 0},
	{"connect", "/x", TARGET_ORIGIN, "/x", "", "", 0},
	{"OPTIONS", "*", TARGET_ASTERISK, "*", "", "", 0},
	{"GET", "http://h/", TARGET_ABSOLUTE, "/", "http", "h", 0},
	{"GET", "http://h", TARGET_ABSOLUTE, "/", "http", "h", 0},
	{"OPTIONS", "http://h", TARGET_ABSOLUTE, "*", "http", "h", 0},
	{"OPTIONS", "http://h/", TARGET_ABSOLUTE, "/", "http", "h", 0},
	{"GET", "http://h?q", TARGET_ABSOLUTE, "?q", "http", "h", 0},
	{"OPTIONS", "http://h?q", TARGET_ABSOLUTE, "?q", "http", "h", 0},
	{"POST", "HTTPS://h:8443/a?b/c", TARGET_ABSOLUTE, "/a?b/c", "HTTPS", "h", 8443},
	{"GET", "http://[::1]:80/x", TARGET_ABSOLUTE, "/x", "http", "::1", 80},
	{"GET", "http://h/@x", TARGET_ABSOLUTE, "/@x", "http", "h", 0},
	{"CONNECT", "h:443", TARGET_AUTHORITY, "", "", "h", 443},
	{"CONNECT", "[2001:db8::1]:443", TARGET_AUTHORITY, "", "", "2001:db8::1", 443},
};

static const struct {
	const char *method;
	struct slice text;
} bad[] = {
	{"GET", SLICE("")},
	{"GET", SLICE("x")},
	{"GET", SLICE("x/y")},
	{"GET", SLICE("?q")},
	{"GET", SLICE("*")},
	{"options", SLICE("*")},
	{"OPTIONS", SLICE("**")},
	{"OPTIONS", SLICE("*/")},
	{"GET", SLICE("/a#f")},
	{"GET", SLICE("#")},
	{"GET", SLICE("/a b")},
	{"GET", SLICE("/a\tb")},
	{"GET", SLICE("/a\0b")},
	{"GET", SLICE("/\x7f")},
	{"GET", SLICE("/\xc3\xbc")},
	{"GET", SLICE("h:443")},
	{"GET", SLICE("ftp://h/")},
	{"GET", SLICE("file:///etc/passwd")},
	{"GET", SLICE("ws://h/")},
	{"GET", SLICE("httpx://h/")},
	{"GET", SLICE("htt://h/")},
	{"GET", SLICE("://h/")},
	{"GET", SLICE("http:/h/")},
	{"GET", SLICE("http:h")},
	{"GET", SLICE("http:")},
	{"GET", SLICE("http://")},
	{"GET", SLICE("http:///")},
	{"GET", SLICE("http://?q")},
	{"GET", SLICE("http://u@h/")},
	{"GET", SLICE("http://u:p@h/")},
	{"GET", SLICE("http://h:0/")},
	{"GET", SLICE("http://h:65536/")},
	{"GET", SLICE("http://h:/")},
	{"GET", SLICE("http://h\\@evil/")},
	{"GET", SLICE("http://h%00/")},
	{"GET", SLICE("http://[::1/")},
	{"GET", SLICE("http://[fe80::1%25eth0]/")},
	{"GET", SLICE("http://h#f")},
	{"CONNECT", SLICE("h")},
	{"CONNECT", SLICE("h:")},
	{"CONNECT", SLICE("h:443/")},
	{"CONNECT", SLICE("/")},
	{"CONNECT", SLICE("*")},
	{"CONNECT", SLICE("http://h:443")},
	{"CONNECT", SLICE("http://h:443/")},
	{"CONNECT", SLICE("u@h:443")},
	{"CONNECT", SLICE("ok.test\0.evil.test:443")},
	{"CONNECT", SLICE("h:99999")},
	{"CONNECT", SLICE("[::1]")},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct slice copy = exact_copy(slice_str(good[i].text));
		struct target t;

		if (target_parse(copy, slice_str(good[i].method), &t) != 0)
			fail_msg("refused: %s %s", good[i].method, good[i].text);
		assert_int_equal(t.form, good[i].form);
		assert_true(slice_eq(t.path, slice_str(good[i].path)));
		assert_true(slice_eq(t.scheme, slice_str(good[i].scheme)));
		assert_true(slice_eq(t.authority.host, slice_str(good[i].host)));
		assert_int_equal(t.authority.port, good[i].port);
		assert_int_equal(t.https, slice_ieq(t.scheme, SLICE("https")));
		exact_free(copy);
	}
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice copy = exact_copy(bad[i].text);
		struct target t = {.form = TARGET_ASTERISK};

		if (target_parse(copy, slice_str(bad[i].method), &t) != -EBADMSG)
			fail_msg("row %zu accepted: %s %.*s", i, bad[i].method, SLICE_ARG(copy));
		assert_int_equal(t.form, TARGET_ASTERISK);
		exact_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
