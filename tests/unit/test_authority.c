/* SPDX-License-Identifier: Apache-2.0 */
/* test_authority.c – host and port, and every spelling that must not get through (POL-12, POL-13).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "http/authority.h"

static const struct {
	const char *text, *host;
	uint16_t port;
	bool bracketed;
} good[] = {
	{"h", "h", 0, false},
	{"api.example.com", "api.example.com", 0, false},
	{"API.Example.COM:443", "API.Example.COM", 443, false},
	{"h.:8080", "h.", 8080, false},
	{"h:1", "h", 1, false},
	{"h:65535", "h", 65535, false},
	{"192.0.2.1:80", "192.0.2.1", 80, false},
	{"under_score-and~tilde", "under_score-and~tilde", 0, false},
	{"!$&'()*+,;=", "!$&'()*+,;=", 0, false},
	{"[::1]", "::1", 0, true},
	{"[2001:db8::1]:443", "2001:db8::1", 443, true},
	{"[::ffff:127.0.0.1]", "::ffff:127.0.0.1", 0, true},
	{"[::]:80", "::", 80, true},
	/* syntactically names: what they mean is refused where hosts are judged */
	{"0x7f.1", "0x7f.1", 0, false},
	{"2130706433", "2130706433", 0, false},
	{"0", "0", 0, false},
	{"xn--bcher-kva.example", "xn--bcher-kva.example", 0, false},
};

static const struct slice bad[] = {
	SLICE(""),
	SLICE(":"),
	SLICE(":80"),
	SLICE("h:"),
	SLICE("h:0"),
	SLICE("h:00"),
	SLICE("h:080"),
	SLICE("h:65536"),
	SLICE("h:99999"),
	SLICE("h:100000"),
	SLICE("h:4294967376"),
	SLICE("h:18446744073709551696"),
	SLICE("h:+80"),
	SLICE("h:-80"),
	SLICE("h:443x"),
	SLICE("h:x443"),
	SLICE("h: 80"),
	SLICE("h:80 "),
	SLICE("h:8\0"),
	SLICE("h:80:80"),
	SLICE("h::80"),
	SLICE("::1"),
	SLICE("2001:db8::1"),
	SLICE("user@h"),
	SLICE("user:pass@h"),
	SLICE("@h"),
	SLICE("ok.test@evil.test:443"),
	SLICE("h/"),
	SLICE("h/path"),
	SLICE("h?q"),
	SLICE("h#f"),
	SLICE("h\\evil"),
	SLICE("h%00"),
	SLICE("h%2e"),
	SLICE("%"),
	SLICE("h h"),
	SLICE(" h"),
	SLICE("h "),
	SLICE("\th"),
	SLICE("h\t"),
	SLICE("ok.test\0.evil.test:443"),
	SLICE("h\r"),
	SLICE("h\n"),
	SLICE("h\x7f"),
	SLICE("h\x01"),
	SLICE("h\xff"),
	SLICE("b\xc3\xbc"
	      "cher.example"),
	SLICE("h\"q"),
	SLICE("<h>"),
	SLICE("h|h"),
	SLICE("h^"),
	SLICE("h`"),
	SLICE("{h}"),
	SLICE("["),
	SLICE("]"),
	SLICE("[]"),
	SLICE("[]:80"),
	SLICE("[::1"),
	SLICE("::1]"),
	SLICE("[::1]x"),
	SLICE("[::1]80"),
	SLICE("[::1]:"),
	SLICE("[::1]:0"),
	SLICE("[::1]]"),
	SLICE("[[::1]]"),
	SLICE("[fe80::1%25eth0]"),
	SLICE("[fe80::1%eth0]"),
	SLICE("[127.0.0.1]"),
	SLICE("[h]"),
	SLICE("[1:2]"),
	SLICE("[:::1]"),
	SLICE("[::1\0]"),
	SLICE("[::12345]"),
	SLICE("[::1 ]"),
	SLICE("[v1.x:y]"),
	SLICE("[1:2:3:4:5:6:7:8:9]"),
	SLICE("h[::1]"),
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct slice copy = exact_copy(slice_str(good[i].text));
		struct authority a;

		if (authority_parse(copy, &a) != 0)
			fail_msg("refused: %s", good[i].text);
		assert_true(slice_eq(a.host, slice_str(good[i].host)));
		assert_int_equal(a.port, good[i].port);
		assert_int_equal(a.has_port, good[i].port != 0);
		assert_int_equal(a.bracketed, good[i].bracketed);
		exact_free(copy);
	}
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice copy = exact_copy(bad[i]);
		struct authority a = {.port = 7};

		if (authority_parse(copy, &a) != -EBADMSG)
			fail_msg("row %zu accepted: %.*s", i, SLICE_ARG(copy));
		assert_int_equal(a.port, 7);
		exact_free(copy);
	}
}

/* No byte but those of the grammar gets into a name, wherever it stands. */
static void test_each_byte(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++)
		for (unsigned at = 0; at < 3; at++) {
			char text[] = "aaa";
			struct authority a;
			bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
				  (c >= 'A' && c <= 'Z') ||
				  (c && strchr("-._~!$&'()*+,;=", (int)c));

			text[at] = (char)c;
			assert_int_equal(authority_parse(slice_of(text, 3), &a), ok ? 0 : -EBADMSG);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_each_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
