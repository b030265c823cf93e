/* SPDX-License-Identifier: Apache-2.0 */
/* test_first.c – proxy/first.c: what a client's first bytes let into a tunnel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "proxy/first.h"

/* The smallest ClientHello (RFC 8446 section 4.1.2) in one record, with that SNI or without any. */
static struct slice hello(uint8_t *to, const char *sni)
{
	static const uint8_t body[] = {3, 3, [2 ... 33] = 7, 0, 0, 2, 0x13, 1, 1, 0};
	size_t name = sni ? strlen(sni) : 0, extension = sni ? name + 9 : 0;
	size_t n = sizeof(body) + 2 + extension;
	uint8_t *p = to;

#define PUT16(v) (*p++ = (uint8_t)((v) >> 8), *p++ = (uint8_t)(v))
	*p++ = 22, *p++ = 3, *p++ = 1;
	PUT16(n + 4);
	*p++ = 1, *p++ = 0;
	PUT16(n);
	memcpy(p, body, sizeof(body));
	p += sizeof(body);
	PUT16(extension);
	if (sni) {
		PUT16(0);
		PUT16(name + 5);
		PUT16(name + 3);
		*p++ = 0;
		PUT16(name);
		memcpy(p, sni, name);
		p += name;
	}
#undef PUT16
	return slice_of(to, (size_t)(p - to));
}

static int read_exactly(struct slice in, struct first *ret)
{
	struct slice copy = exact_copy(in);
	int r = first_read(copy, ret);

	exact_free(copy);
	return r;
}

/* Every prefix is either not enough or says what the whole says. */
static void test_prefixes(void **state)
{
	uint8_t bytes[512];
	struct slice whole = hello(bytes, "api.test");
	struct first f;

	(void)state;
	for (size_t n = 0; n < whole.n; n++)
		if (read_exactly(slice_first(whole, n), &f) != 0)
			fail_msg("%zu bytes", n);
	assert_int_equal(read_exactly(whole, &f), 1);
	assert_int_equal(f.kind, SNIFF_TLS);
	assert_true(f.has_name);
	assert_string_equal(f.name.text, "api.test");
}

static void test_bad(void **state)
{
	uint8_t bytes[512];
	struct slice whole;
	struct first f = {.has_name = true};

	(void)state;
	assert_int_equal(read_exactly(hello(bytes, "a b"), &f), -EINVAL);
	assert_int_equal(read_exactly(hello(bytes, "127.1"), &f), -EINVAL);
	whole = hello(bytes, "api.test");
	bytes[8]++; /* the length of the message does not fit its extensions any more */
	bytes[4]++;
	bytes[whole.n] = 0;
	assert_int_equal(read_exactly(slice_of(bytes, whole.n + 1), &f), -EBADMSG);
	/* a warning, which some servers drop, with a hello behind it */
	whole = hello(bytes + 7, "other.test");
	memcpy(bytes, "\x15\x03\x01\x00\x02\x01\x5a", 7);
	assert_int_equal(read_exactly(slice_of(bytes, whole.n + 7), &f), -EBADMSG);
	assert_true(f.has_name); /* untouched */
}

static void test_mismatch(void **state)
{
	static const struct {
		const char *bytes, *sni, *to; /* bytes NULL: a hello */
		bool passes;
	} rows[] = {
		{NULL, "api.test", "api.test", true},
		{NULL, "API.test.", "api.test", true},
		{NULL, "xapi.test", "api.test", false},
		{NULL, "api.test.evil.test", "api.test", false},
		{NULL, NULL, "api.test", false},
		{"SSH-2.0-OpenSSH_9.2\r\n", NULL, "api.test", true},
		{"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", NULL, "api.test", true},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NULL, "api.test", true},
		{"\x00\x00\x00\x08\x04\xd2\x16\x2f", NULL, "api.test",
			true}, /* PostgreSQL's SSLRequest */
		{"*1\r\n$4\r\nPING\r\n", NULL, "api.test", true},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t bytes[512];
		struct slice in =
			rows[i].bytes ? slice_str(rows[i].bytes) : hello(bytes, rows[i].sni);
		struct host to;
		struct first f;

		if (rows[i].bytes && rows[i].bytes[0] == 0)
			in = slice_of(rows[i].bytes, 8);
		assert_int_equal(host_canon(slice_str(rows[i].to), &to), 0);
		assert_int_equal(read_exactly(in, &f), 1);
		if ((first_mismatch(&f, &to) == NULL) != rows[i].passes)
			fail_msg("row %u: %s", i, first_mismatch(&f, &to));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_mismatch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
