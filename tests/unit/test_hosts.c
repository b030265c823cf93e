/* SPDX-License-Identifier: Apache-2.0 */
/* test_hosts.c – one spelling of a host, and patterns that no look-alike matches (POL-07, POL-09,
 * POL-12, POL-13). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "policy/hosts.h"

#define L63 "a23456789012345678901234567890123456789012345678901234567890123"
#define N253                                                                                       \
	L63 "." L63 "." L63 "."                                                                    \
	    "a234567890123456789012345678901234567890123456789012345678901"

static const struct {
	const char *raw, *text;
	bool is_ip;
} good[] = {
	{"api.example.com", "api.example.com", false},
	{"API.Example.COM", "api.example.com", false},
	{"api.example.com.", "api.example.com", false},
	{"localhost.", "localhost", false},
	{"xn--bcher-kva.example", "xn--bcher-kva.example", false},
	{"_dmarc.example.com", "_dmarc.example.com", false},
	{"r3---sn-x.example.com", "r3---sn-x.example.com", false},
	{"1.2.3.4.example", "1.2.3.4.example", false},
	{"0x7f.1.example", "0x7f.1.example", false},
	{"123.a", "123.a", false},
	{"1a", "1a", false},
	{"0xg", "0xg", false},
	{"x0", "x0", false},
	{L63 ".example", L63 ".example", false},
	{N253, N253, false},
	{N253 ".", N253, false},
	{"192.0.2.1", "192.0.2.1", true},
	{"192.0.2.1.", "192.0.2.1", true},
	{"169.254.169.254.", "169.254.169.254", true},
	{"2001:DB8:0::1", "2001:db8::1", true},
	{"::", "::", true},
	{"::1", "::1", true},
	{"::ffff:127.0.0.1", "127.0.0.1", true},
	{"::FFFF:7f00:1", "127.0.0.1", true},
	{"64:ff9b::192.0.2.1", "64:ff9b::c000:201", true},
};

/* a NUL in these ends the text: exact sizes are in bad_bytes */
static const char *const bad[] = {"", ".", "..", "a..b", ".a", "a..", "127.0.0.1..",
	"api.example.com..", "a b", " a", "a ", "a\tb", "a\x7f", "a\xff",
	"b\xc3\xbc"
	"cher.example",
	"a%00b", "a%2eb", "ok.test@evil.test", "a\\b", "a/b", "a:80", "[::1]", "[a]", "*",
	"*.example.com", "a,b", "a!b", "a~b", "a+b", "a;b", "a=b", "a'b", "a\"b", "a(b)", "{a}",
	"a#b", "a?b", "0177.0.0.1", "0x7f.1", "0X7F.1", "0x7f000001", "0x", "a.0x", "2130706433",
	"127.1", "127.0.1", "0", "00", "1.2.3.4.5", "256.1.1.1", "192.0.2.01", "192.0.2.1a.1",
	"example.123", "1.1.1.1.1", "fe80::1%eth0", "fe80::1%25eth0", ":", ":::", "1::2::3",
	"12345::", "::ffff:127.1", "::ffff:0x7f.1", "::127.0.0.1.", "g::1", L63 "4.example",
	N253 "a", "a." N253};

static void test_canon_good(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		struct slice in = exact_copy(slice_str(good[i].raw));
		struct host h;

		if (host_canon(in, &h) < 0)
			fail_msg("refused: %s", good[i].raw);
		assert_string_equal(h.text, good[i].text);
		assert_int_equal(h.n, strlen(good[i].text));
		assert_int_equal(h.is_ip, good[i].is_ip);
		exact_free(in);
	}
}

static void test_canon_bad(void **state)
{
	struct host h = {.text = "untouched"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice in = exact_copy(slice_str(bad[i]));

		if (host_canon(in, &h) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
		assert_string_equal(h.text, "untouched");
		exact_free(in);
	}
}

/* Each byte, in the middle and at the end: letters, digits, '-' and '_' only (and the dot, in the
 * middle). */
static void test_canon_bytes(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		uint8_t mid[] = {'a', (uint8_t)c, 'b'}, end[] = {'o', 'k', '.', 't', (uint8_t)c};
		uint8_t low = slice_lower((uint8_t)c);
		bool plain = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			     c == '_';
		struct host h;

		assert_int_equal(
			host_canon(slice_of(mid, sizeof(mid)), &h) == 0, plain || c == '.');
		assert_int_equal(
			host_canon(slice_of(end, sizeof(end)), &h) == 0, plain || c == '.');
	}
}

/* What comes out goes in again unchanged, for every prefix of every good host. */
static void test_canon_stable(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++)
		for (size_t n = 0; n <= strlen(good[i].raw); n++) {
			struct slice in = exact_copy(slice_of(good[i].raw, n));
			struct host h, again;

			if (host_canon(in, &h) == 0) {
				assert_int_equal(host_canon(slice_of(h.text, h.n), &again), 0);
				assert_true(host_same(&h, &again) && h.is_ip == again.is_ip);
			}
			exact_free(in);
		}
}

/* What is told of a number that was refused; every prefix of it is read within its bytes. */
static void test_misread(void **state)
{
	static const char *const numbers[][2] = {{"0177.0.0.1", "127.0.0.1"},
		{"0x7f.1", "127.0.0.1"}, {"0X7F.1", "127.0.0.1"}, {"2130706433", "127.0.0.1"},
		{"127.1.", "127.0.0.1"}, {"0", "0.0.0.0"}, {"0xa9fea9fe", "169.254.169.254"}};
	static const char *const others[] = {"", ".", "example.123", "256.1.1.1", "1.2.3.4.5",
		"1.2.3.4 x", "127.1 ", " 127.1", "127.1\n", "a.0x", L63 "4"};
	struct host h = {.text = "untouched"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		struct slice in = exact_copy(slice_str(others[i]));

		assert_int_equal(host_misread(in, &h), -EINVAL);
		assert_string_equal(h.text, "untouched");
		exact_free(in);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
		for (size_t n = 0; n <= strlen(numbers[i][0]); n++) {
			struct slice in = exact_copy(slice_of(numbers[i][0], n));

			(void)host_misread(in, &h);
			exact_free(in);
		}
		assert_int_equal(host_misread(slice_str(numbers[i][0]), &h), 0);
		assert_string_equal(h.text, numbers[i][1]);
	}
}

static struct host_pattern pattern(const char *text)
{
	char why[HOST_WHY] = "";
	struct host_pattern p;

	if (host_pattern_parse(slice_str(text), &p, why) < 0)
		fail_msg("%s: %s", text, why);
	return p;
}

static const struct {
	const char *pattern, *host;
	bool match;
} matches[] = {
	{"*.github.test", "notgithub.test", false},
	{"*.github.test", "github.test.evil.test", false},
	{"*.github.test", "xgithub.test", false},
	{"*.github.test", "github.test", false},
	{"*.github.test", ".github.test", false},
	{"*.github.test", "api.github.test", true},
	{"*.github.test", "API.GITHUB.TEST", true},
	{"*.github.test", "a.b.github.test.", true},
	{"*.GitHub.Test", "a.github.test", true},
	{"github.test", "GITHUB.TEST.", true},
	{"github.test.", "github.test", true},
	{"github.test", "a.github.test", false},
	{"github.test", "github.tes", false},
	{"github.test", "github.testt", false},
	{"*", "anything.at.all", true},
	{"*", "192.0.2.1", false},
	{"*", "::1", false},
	{"*.1", "127.0.0.1", false},
	{"192.0.2.1", "192.0.2.1.", true},
	{"192.0.2.1", "::ffff:192.0.2.1", true},
	{"::ffff:192.0.2.1", "192.0.2.1", true},
	{"192.0.2.1", "192.0.2.10", false},
	{"10.0.0.0/8", "10.255.0.1", true},
	{"10.0.0.0/8", "11.0.0.0", false},
	{"10.128.0.0/9", "10.127.255.255", false},
	{"10.0.0.0/8", "10.example.com", false},
	{"0.0.0.0/0", "192.0.2.1", true},
	{"0.0.0.0/0", "2001:db8::1", false},
	{"fd00::/8", "fdff::1", true},
	{"fd00::/8", "fe00::1", false},
	{"2001:db8::1", "2001:db8:0:0::1", true},
};

static void test_match(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(matches); i++) {
		struct host_pattern p;
		char why[HOST_WHY];
		struct host h;
		bool hit = false;

		if (strcmp(matches[i].pattern, "*.1") == 0) {
			assert_int_equal(host_pattern_parse(slice_str("*.1"), &p, why), -EINVAL);
			continue;
		}
		p = pattern(matches[i].pattern);
		if (host_canon(slice_str(matches[i].host), &h) == 0)
			hit = host_pattern_match(&p, &h);
		if (hit != matches[i].match)
			fail_msg("%s and %s", matches[i].pattern, matches[i].host);
	}
}

static const struct {
	const char *text, *why;
} refused[] = {
	{"b\xc3\xbc"
	 "cher.example",
		"a host pattern must be ASCII; write xn--bcher-kva.example"},
	{"*.B\xc3\x9c"
	 "CHER.example",
		"a host pattern must be ASCII; write *.xn--bcher-kva.example"},
	{"\xff", "a host pattern must be ASCII"},
	{"https://example.com", "a host pattern is a name, not a URL"},
	{"a*.example.com", "`*` stands alone or as the first label (*.example.com)"},
	{"*.*.example.com", "`*` stands alone or as the first label (*.example.com)"},
	{"api.*", "`*` stands alone or as the first label (*.example.com)"},
	{"**", "`*` stands alone or as the first label (*.example.com)"},
	{"*.", "`*` stands alone or as the first label (*.example.com)"},
	{"*.192.0.2.1", "an address has no subdomains"},
	{"127.1", "not a host name or an address in its usual form"},
	{"", "not a host name or an address in its usual form"},
	{"a b", "not a host name or an address in its usual form"},
	{"example.com:443", NULL},
	{"10.0.0.1/8", NULL},
	{"10.0.0.0/33", NULL},
	{"10.0.0.0/", NULL},
	{"10.0.0.0/08", NULL},
	{"10.0.0.0/-1", NULL},
	{"10.0/16", NULL},
	{"fd00::/129", NULL},
	{"fd00::1/64", NULL},
	{"[::1]", NULL},
	{"example.com/x", NULL},
};

static void test_pattern_bad(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		struct slice in = exact_copy(slice_str(refused[i].text));
		struct host_pattern p;
		char why[HOST_WHY] = "";

		if (host_pattern_parse(in, &p, why) != -EINVAL)
			fail_msg("accepted: %s", refused[i].text);
		if (refused[i].why)
			assert_string_equal(why, refused[i].why);
		assert_true(why[0]);
		exact_free(in);
	}
}

static const struct {
	const char *a, *b;
	bool covers, overlaps;
} pairs[] = {
	{"*", "*", true, true},
	{"*", "*.x", true, true},
	{"*", "a.x", true, true},
	{"*", "192.0.2.1", false, false},
	{"*.x", "*", false, true},
	{"*.x", "*.x", true, true},
	{"*.x", "*.y.x", true, true},
	{"*.y.x", "*.x", false, true},
	{"*.x", "y.x", true, true},
	{"*.x", "x", false, false},
	{"*.x", "yx", false, false},
	{"*.x", "*.yx", false, false},
	{"y.x", "*.x", false, true},
	{"y.x", "y.x", true, true},
	{"y.x", "z.x", false, false},
	{"10.0.0.0/8", "10.1.0.0/16", true, true},
	{"10.1.0.0/16", "10.0.0.0/8", false, true},
	{"10.0.0.0/8", "10.0.0.1", true, true},
	{"10.0.0.0/8", "a", false, false},
	{"::/0", "10.0.0.0/8", true, true},
};

static void test_covers(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct host_pattern a = pattern(pairs[i].a), b = pattern(pairs[i].b);

		if (host_pattern_covers(&a, &b) != pairs[i].covers)
			fail_msg("%s covers %s", pairs[i].a, pairs[i].b);
		assert_int_equal(host_pattern_overlaps(&a, &b), pairs[i].overlaps);
		assert_int_equal(host_pattern_overlaps(&b, &a), pairs[i].overlaps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canon_good),
		cmocka_unit_test(test_canon_bad),
		cmocka_unit_test(test_canon_bytes),
		cmocka_unit_test(test_canon_stable),
		cmocka_unit_test(test_misread),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_pattern_bad),
		cmocka_unit_test(test_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
