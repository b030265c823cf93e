/* SPDX-License-Identifier: Apache-2.0 */
/* test_addr.c – the one spelling of each address, the many that are not taken, both socket
 * families. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "model/addr.h"

static const struct {
	const char *in, *out, *with_port;
	bool v4;
} good[] = {
	{"192.0.2.1", "192.0.2.1", "192.0.2.1:443", true},
	{"0.0.0.0", "0.0.0.0", "0.0.0.0:443", true},
	{"255.255.255.255", "255.255.255.255", "255.255.255.255:443", true},
	{"::ffff:127.0.0.1", "127.0.0.1", "127.0.0.1:443", true},
	{"::ffff:7f00:1", "127.0.0.1", "127.0.0.1:443", true},
	{"0:0:0:0:0:FFFF:7F00:0001", "127.0.0.1", "127.0.0.1:443", true},
	{"::", "::", "[::]:443", false},
	{"::1", "::1", "[::1]:443", false},
	{"2001:DB8:0:0:0:0:0:1", "2001:db8::1", "[2001:db8::1]:443", false},
	{"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1", "[2001:db8:0:1:1:1:1:1]:443", false},
	{"fe80::a9fe:a9fe", "fe80::a9fe:a9fe", "[fe80::a9fe:a9fe]:443", false},
	{"64:ff9b::192.0.2.1", "64:ff9b::c000:201", "[64:ff9b::c000:201]:443", false},
	{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:443", false},
};

static const struct slice bad[] = {
	SLICE(""),
	SLICE("0"),
	SLICE("127.1"),
	SLICE("127.0.1"),
	SLICE("2130706433"),
	SLICE("0x7f.1"),
	SLICE("0x7f000001"),
	SLICE("0177.0.0.1"),
	SLICE("127.0.0.01"),
	SLICE("127.0.0.256"),
	SLICE("127.0.0.1."),
	SLICE(".127.0.0.1"),
	SLICE("127..0.1"),
	SLICE("127.0.0.1.1"),
	SLICE("127.0.0.-1"),
	SLICE("127.0.0.+1"),
	SLICE("127.0.0.1 "),
	SLICE(" 127.0.0.1"),
	SLICE("127.0.0.1\0"),
	SLICE("127.0.0.1\0.evil"),
	SLICE("127.0.0.1:80"),
	SLICE("127.0.0.1/8"),
	SLICE("1.2.3"),
	SLICE("a.b.c.d"),
	SLICE(":"),
	SLICE(":::"),
	SLICE("::1\0"),
	SLICE("[::1]"),
	SLICE("::1%lo"),
	SLICE("fe80::1%25eth0"),
	SLICE("1::2::3"),
	SLICE("1:2:3:4:5:6:7"),
	SLICE("1:2:3:4:5:6:7:8:9"),
	SLICE("::12345"),
	SLICE("::g"),
	SLICE("::1 "),
	SLICE("::ffff:127.1"),
	SLICE("::ffff:0177.0.0.1"),
	SLICE("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555"),
	SLICE("0000000000000000000000000000000000000000000000::1"),
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct slice copy = exact_copy(slice_str(good[i].in));
		struct addr a = {.port = 9}, again;
		char text[ADDR_TEXT];

		if (addr_parse(copy, &a) != 0)
			fail_msg("refused: %s", good[i].in);
		assert_int_equal(a.port, 0);
		assert_int_equal(addr_is_v4(&a), good[i].v4);
		addr_text(&a, text);
		assert_string_equal(text, good[i].out);
		assert_int_equal(addr_parse(slice_str(text), &again), 0);
		assert_true(addr_same_ip(&a, &again));
		a.port = 443;
		addr_port_text(&a, text);
		assert_string_equal(text, good[i].with_port);
		exact_free(copy);
	}
}

static void test_longest_text(void **state)
{
	struct addr a;
	char text[ADDR_TEXT];

	(void)state;
	memset(a.ip, 0xff, sizeof(a.ip));
	a.port = 65535;
	addr_port_text(&a, text);
	assert_string_equal(text, "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice copy = exact_copy(bad[i]);
		struct addr a = {.port = 9};

		if (addr_parse(copy, &a) != -EINVAL)
			fail_msg("accepted: %.*s", SLICE_ARG(copy));
		assert_int_equal(a.port, 9);
		exact_free(copy);
	}
}

static void test_prefixes(void **state)
{
	static const struct slice text = SLICE("255.255.255.255");

	(void)state;
	for (size_t n = 0; n < text.n; n++) {
		struct slice copy = exact_copy(slice_first(text, n));
		struct addr a;

		/* "255.255.255.2" and longer are addresses too */
		assert_int_equal(addr_parse(copy, &a), n < 13 ? -EINVAL : 0);
		exact_free(copy);
	}
}

static void test_sockaddr(void **state)
{
	static const char *const texts[] = {"192.0.2.1", "2001:db8::1"};
	static const int families[] = {AF_INET, AF_INET6};
	static const socklen_t sizes[] = {sizeof(struct sockaddr_in), sizeof(struct sockaddr_in6)};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sockaddr_storage ss;
		struct addr a, again = {.port = 9};

		assert_int_equal(addr_parse(slice_str(texts[i]), &a), 0);
		a.port = 0x1234;
		assert_int_equal(addr_to_sockaddr(&a, &ss), sizes[i]);
		assert_int_equal(ss.ss_family, families[i]);
		for (socklen_t n = 0; n < sizes[i]; n++)
			assert_int_equal(addr_from_sockaddr((struct sockaddr *)&ss, n, &again),
				-EAFNOSUPPORT);
		assert_int_equal(again.port, 9);
		assert_int_equal(addr_from_sockaddr((struct sockaddr *)&ss, sizes[i], &again), 0);
		assert_true(addr_same_ip(&a, &again));
		assert_int_equal(again.port, 0x1234);
	}
}

/* A v4-mapped socket address is its IPv4 address. */
static void test_mapped_sockaddr(void **state)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
	struct sockaddr_storage ss;
	struct addr a, v4;

	(void)state;
	memcpy(&in6.sin6_addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xa9\xfe\xa9\xfe", 16);
	assert_int_equal(addr_from_sockaddr((struct sockaddr *)&in6, sizeof(in6), &a), 0);
	assert_int_equal(addr_parse(SLICE("169.254.169.254"), &v4), 0);
	assert_true(addr_is_v4(&a));
	assert_true(addr_same_ip(&a, &v4));
	assert_int_equal(addr_to_sockaddr(&a, &ss), sizeof(struct sockaddr_in));
	assert_memory_equal(&((struct sockaddr_in *)&ss)->sin_addr, "\xa9\xfe\xa9\xfe", 4);
	in6.sin6_family = AF_UNIX;
	assert_int_equal(
		addr_from_sockaddr((struct sockaddr *)&in6, sizeof(in6), &a), -EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_longest_text),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_sockaddr),
		cmocka_unit_test(test_mapped_sockaddr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
