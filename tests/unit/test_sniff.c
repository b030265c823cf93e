/* SPDX-License-Identifier: Apache-2.0 */
/* test_sniff.c – first bytes and ClientHellos: each input at every prefix, each hello over every
 * size of record. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "tls/sniff.h"

/* ---- exact-size copies, so that the sanitizer sees a read beyond ---- */

static int sniff_at(struct slice in, size_t n, enum sniff_kind *ret)
{
	uint8_t *copy = malloc(n ? n : 1);
	int r;

	if (n)
		memcpy(copy, in.p, n);
	r = sniff(slice_of(copy, n), ret);
	free(copy);
	return r;
}

static int hello_at(struct slice in, size_t n, struct hello *ret)
{
	uint8_t *copy = malloc(n ? n : 1);
	int r;

	if (n)
		memcpy(copy, in.p, n);
	r = sniff_client_hello(slice_of(copy, n), ret);
	free(copy);
	return r;
}

/* ---- sniff ---- */

static const struct {
	const char *text;
	size_t n;
	size_t decided; /* at this many bytes, and not before */
	enum sniff_kind kind;
} firsts[] = {
	{"\x16\x03\x01\x02\x00\x01", 6, 2, SNIFF_TLS}, {"\x16\x02\x01", 3, 2, SNIFF_OTHER},
	{"\x15\x03\x01\x00\x02\x01\x5a", 7, 2, SNIFF_TLS}, /* a warning first */
	{"\x14\x03\x03\x00\x01\x01", 6, 2, SNIFF_TLS}, {"\x18\x03\x03", 3, 2, SNIFF_TLS},
	{"\x15\x00\x00", 3, 2, SNIFF_OTHER}, {"\x13\x03\x01", 3, 1, SNIFF_OTHER},
	{"\x19\x03\x01", 3, 1, SNIFF_OTHER}, {"GET / HTTP/1.1\r\n", 16, 4, SNIFF_HTTP1},
	{"\r\nGET / HTTP/1.1\r\n", 18, 6, SNIFF_HTTP1},
	{"\r\n\r\nGET / HTTP/1.1", 18, 3, SNIFF_OTHER}, {"\rGET", 4, 2, SNIFF_OTHER},
	{"\nGET /", 6, 1, SNIFF_OTHER}, {"M-SEARCH * HTTP/1.1\r\n", 21, 9, SNIFF_HTTP1},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, 14, SNIFF_H2_PREFACE},
	{"PRI / HTTP/1.1\r\n", 16, 5, SNIFF_HTTP1}, {"PROPFIND / HTTP/1.1", 19, 9, SNIFF_HTTP1},
	{"SEARCH / HTTP/1.1", 17, 7, SNIFF_HTTP1},
	{"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32, 4, SNIFF_OTHER},
	{" GET / HTTP/1.1", 15, 1, SNIFF_OTHER}, {"G\xc3\xa9T / HTTP/1.1", 15, 2, SNIFF_OTHER},
	{"GET\t/ HTTP/1.1", 14, 4, SNIFF_OTHER}, {"GET\0/ HTTP/1.1", 14, 4, SNIFF_OTHER},
	{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ", 65, 65, SNIFF_HTTP1},
	{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ", 66, 65, SNIFF_OTHER},
	{"\x80\x2e\x01\x03\x01\x00\x15", 7, 4, SNIFF_SSLV2},
	{"\x80\x2e\x01\x00\x02\x00\x15", 7, 5, SNIFF_SSLV2},
	{"\x80\x2e\x01\x00\x03\x00\x15", 7, 5, SNIFF_OTHER},
	{"\x80\x2e\x01\x04\x03\x00\x15", 7, 4, SNIFF_OTHER},
	{"\x80\x2e\x04\x00\x02", 5, 3, SNIFF_OTHER},
	{"\x00\x00\x00\x08\x04\xd2\x16\x2f", 8, 1, SNIFF_OTHER}, /* PostgreSQL's SSLRequest */
	{"\x05\x01\x00", 3, 1, SNIFF_OTHER}, /* SOCKS 5 */
};

static void first_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		for (size_t n = 0; n <= firsts[i].n; n++) {
			enum sniff_kind kind = (enum sniff_kind)77;
			int r = sniff_at(slice_of(firsts[i].text, firsts[i].n), n, &kind);

			if (r != (n >= firsts[i].decided))
				fail_msg("row %zu: %d at %zu bytes", i, r, n);
			if ((int)kind != (r ? (int)firsts[i].kind : 77))
				fail_msg("row %zu: kind %d at %zu bytes", i, (int)kind, n);
		}
	}
}

/* ---- hellos ---- */

struct maker {
	uint8_t b[LIMIT_HELLO + 4096];
	size_t n;
};

static void put(struct maker *m, const void *p, size_t n)
{
	assert_true(m->n + n <= sizeof(m->b));
	if (n)
		memcpy(m->b + m->n, p, n);
	m->n += n;
}

static void put_number(struct maker *m, size_t v, unsigned bytes)
{
	while (bytes--)
		put(m, &(uint8_t){(uint8_t)(v >> 8 * bytes)}, 1);
}

static size_t open_vector(struct maker *m, unsigned bytes)
{
	put_number(m, 0, bytes);
	return m->n;
}

static void close_vector(struct maker *m, size_t at, unsigned bytes)
{
	size_t v = m->n - at;

	for (unsigned i = 0; i < bytes; i++)
		m->b[at - 1 - i] = (uint8_t)(v >> 8 * i);
}

static void put_ext(struct maker *m, unsigned type, struct slice body)
{
	put_number(m, type, 2);
	put_number(m, body.n, 2);
	put(m, body.p, body.n);
}

static void put_sni(struct maker *m, struct slice name)
{
	put_number(m, 0, 2);
	put_number(m, name.n + 5, 2);
	put_number(m, name.n + 3, 2);
	put_number(m, 0, 1);
	put_number(m, name.n, 2);
	put(m, name.p, name.n);
}

/* A hello around the extension bytes that `body` writes; exts false: no extensions field at all. */
static struct maker *make_hello(void (*body)(struct maker *), bool exts)
{
	struct maker *m = calloc(1, sizeof(*m));
	uint8_t random[32] = {7};
	size_t hello, vector;

	put_number(m, 1, 1);
	hello = open_vector(m, 3);
	put_number(m, 0x0303, 2);
	put(m, random, 32);
	put_number(m, 32, 1);
	put(m, random, 32);
	put_number(m, 4, 2);
	put_number(m, 0x0a0a, 2); /* GREASE */
	put_number(m, 0x1301, 2);
	put_number(m, 1, 1);
	put_number(m, 0, 1);
	if (exts) {
		vector = open_vector(m, 2);
		body(m);
		close_vector(m, vector, 2);
	}
	close_vector(m, hello, 3);
	return m;
}

/* The same message in records of at most `size` bytes; `first` of the first record alone. */
static struct maker *in_records(const struct maker *message, size_t first, size_t size)
{
	struct maker *m = calloc(1, sizeof(*m));

	for (size_t at = 0, n; at < message->n; at += n) {
		n = at == 0 ? first : size;
		if (n > message->n - at)
			n = message->n - at;
		put(m, "\x16\x03\x01", 3);
		put_number(m, n, 2);
		put(m, message->b + at, n);
	}
	return m;
}

static void body_curl(struct maker *m)
{
	put_ext(m, 0x2a2a, slice_of("", 0)); /* GREASE */
	put_sni(m, SLICE("api.example.com"));
	put_ext(m, 0xfe0d, SLICE("\x00grease-ech")); /* passed over, DNS-04 */
	put_ext(m, 16, SLICE("\x00\x0c\x02h2\x08http/1.1"));
	put_ext(m, 43, SLICE("\x04\x03\x04\x03\x03"));
}

static void body_big(struct maker *m)
{
	static uint8_t share[2000];

	put_ext(m, 51,
		slice_of(share, sizeof(share))); /* a post-quantum key share, before the name */
	put_ext(m, 51 + 1, slice_of(share, 1500));
	put_sni(m, SLICE("pq.test"));
	put_ext(m, 16, SLICE("\x00\x03\x02h2"));
}

static void body_none(struct maker *m)
{
	put_ext(m, 43, SLICE("\x02\x03\x04"));
}

static void body_raw(struct maker *m)
{
	put_sni(m, slice_of("ok.test\0.evil.test", 18));
	put_ext(m, 16, SLICE("\x00\x0b\x0agrpc-exp-1"));
}

static void body_long(struct maker *m)
{
	char name[SNIFF_SNI];

	memset(name, 'a', sizeof(name));
	put_sni(m, slice_of(name, sizeof(name)));
}

static const struct {
	void (*body)(struct maker *);
	struct hello hello;
	const char *sni;
} good[] = {
	{body_curl,
		{.has_sni = true, .alpn = true, .alpn_http11 = true, .alpn_h2 = true, .sni_n = 15},
		"api.example.com"},
	{body_big, {.has_sni = true, .alpn = true, .alpn_h2 = true, .sni_n = 7}, "pq.test"},
	{body_none, {.has_sni = false}, ""},
	{NULL, {.has_sni = false}, ""},
	{body_raw, {.has_sni = true, .alpn = true, .sni_n = 18}, "ok.test\0.evil.test"},
	{body_long, {.has_sni = true, .sni_n = SNIFF_SNI}, NULL},
};

static void check_good(struct slice in, size_t row)
{
	for (size_t n = 0; n <= in.n; n++) {
		struct hello h;
		int r;

		memset(&h, 0x5a, sizeof(h));
		r = hello_at(in, n, &h);
		if (r != (n == in.n))
			fail_msg("row %zu: %d at %zu of %zu bytes", row, r, n, in.n);
		if (r == 0) {
			assert_int_equal(h.sni_n, 0x5a); /* untouched */
			continue;
		}
		assert_int_equal(h.has_sni, good[row].hello.has_sni);
		assert_int_equal(h.alpn, good[row].hello.alpn);
		assert_int_equal(h.alpn_http11, good[row].hello.alpn_http11);
		assert_int_equal(h.alpn_h2, good[row].hello.alpn_h2);
		assert_int_equal(h.sni_n, good[row].hello.sni_n);
		if (good[row].sni)
			assert_memory_equal(h.sni, good[row].sni, h.sni_n);
	}
}

static void whole_hellos(void **state)
{
	static const size_t sizes[] = {16384, 1000, 100, 7, 4, 3, 2, 1};

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(good); row++) {
		struct maker *message = make_hello(good[row].body, good[row].body != NULL);

		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			struct maker *m;

			if (message->n / sizes[s] >= SNIFF_RECORDS)
				continue;
			m = in_records(message, sizes[s], sizes[s]);
			check_good(slice_of(m->b, m->n), row);
			free(m);
		}
		for (size_t first = 1; first < 40; first++) {
			struct maker *m = in_records(message, first, 16384);
			struct hello h;

			assert_int_equal(hello_at(slice_of(m->b, m->n), m->n, &h), 1);
			assert_int_equal(h.sni_n, good[row].hello.sni_n);
			free(m);
		}
		free(message);
	}
}

static void what_follows_is_not_read(void **state)
{
	struct maker *message = make_hello(body_curl, true), *m = in_records(message, 16384, 16384);
	struct hello h;
	size_t n = m->n;

	(void)state;
	put(m, "\x14\x03\x03\x00\x01\x01\xff\xff", 8);
	for (; n <= m->n; n++)
		assert_int_equal(hello_at(slice_of(m->b, m->n), n, &h), 1);
	free(m);
	free(message);
}

/* ---- bad ones ---- */

static void bad_double(struct maker *m)
{
	put_sni(m, SLICE("a.test"));
	put_sni(m, SLICE("b.test"));
}

static void bad_empty(struct maker *m)
{
	put_ext(m, 0, slice_of("", 0));
}

static void bad_empty_list(struct maker *m)
{
	put_ext(m, 0, SLICE("\x00\x00"));
}

static void bad_empty_name(struct maker *m)
{
	put_sni(m, slice_of("", 0));
}

static void bad_two_names(struct maker *m)
{
	put_ext(m, 0,
		SLICE("\x00\x08\x00\x00\x01"
		      "a"
		      "\x00\x00\x01"
		      "b"));
}

static void bad_type(struct maker *m)
{
	put_ext(m, 0,
		SLICE("\x00\x04\x01\x00\x01"
		      "a"));
}

static void bad_list_short(struct maker *m)
{
	put_ext(m, 0,
		SLICE("\x00\x03\x00\x00\x01"
		      "a"));
}

static void bad_list_long(struct maker *m)
{
	put_ext(m, 0,
		SLICE("\x00\x05\x00\x00\x01"
		      "a"));
}

static void bad_name_long(struct maker *m)
{
	put_ext(m, 0,
		SLICE("\x00\x04\x00\x00\x02"
		      "a"));
}

static void bad_trailing(struct maker *m)
{
	put_ext(m, 0,
		SLICE("\x00\x04\x00\x00\x01"
		      "ax"));
}

static void bad_256(struct maker *m)
{
	char name[SNIFF_SNI + 1];

	memset(name, 'a', sizeof(name));
	put_sni(m, slice_of(name, sizeof(name)));
}

static void bad_ext_cut(struct maker *m)
{
	put(m, "\x00\x2b\x00\x05\x00", 5);
}

static void bad_ext_head_cut(struct maker *m)
{
	put(m, "\x00\x2b\x00", 3);
}

static void bad_alpn_double(struct maker *m)
{
	put_ext(m, 16, SLICE("\x00\x03\x02h2"));
	put_ext(m, 16, SLICE("\x00\x03\x02h2"));
}

static void bad_alpn_empty(struct maker *m)
{
	put_ext(m, 16, SLICE("\x00\x00"));
}

static void bad_alpn_name(struct maker *m)
{
	put_ext(m, 16, SLICE("\x00\x04\x00\x02h2"));
}

static void bad_alpn_long(struct maker *m)
{
	put_ext(m, 16, SLICE("\x00\x03\x05h2"));
}

static void (*const bad[])(struct maker *) = {bad_double, bad_empty, bad_empty_list, bad_empty_name,
	bad_two_names, bad_type, bad_list_short, bad_list_long, bad_name_long, bad_trailing,
	bad_256, bad_ext_cut, bad_ext_head_cut, bad_alpn_double, bad_alpn_empty, bad_alpn_name,
	bad_alpn_long};

static void bad_extensions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct maker *message = make_hello(bad[i], true),
			     *m = in_records(message, 16384, 16384);
		struct hello h;

		for (size_t n = 0; n < m->n; n++)
			assert_int_equal(hello_at(slice_of(m->b, m->n), n, &h), 0);
		if (hello_at(slice_of(m->b, m->n), m->n, &h) != -EBADMSG)
			fail_msg("row %zu", i);
		free(m);
		free(message);
	}
}

/* Every length field of a good hello, one off in both directions, is noticed. */
static void lengths_that_do_not_add_up(void **state)
{
	static const struct {
		size_t at; /* in the record */
		uint8_t value;
		int want;
	} changes[] = {
		{0, 23, -EBADMSG}, /* not a handshake record */
		{1, 2, -EBADMSG}, /* SSL 2 inside a record head */
		{5, 2, -EBADMSG}, /* a ServerHello */
		{43, 33, -EBADMSG}, /* session id over 32 bytes */
		{77, 3, -EBADMSG}, /* odd number of suite bytes */
		{77, 0, -EBADMSG}, /* no suite */
		{82, 0, -EBADMSG}, /* no compression method */
	};
	struct maker *message = make_hello(body_curl, true), *m = in_records(message, 16384, 16384);
	struct hello h;

	(void)state;
	assert_int_equal(m->b[43], 32);
	assert_int_equal(m->b[77], 4);
	assert_int_equal(m->b[82 - 2], 0x13);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		uint8_t was = m->b[changes[i].at];

		m->b[changes[i].at] = changes[i].value;
		if (hello_at(slice_of(m->b, m->n), m->n, &h) != changes[i].want)
			fail_msg("row %zu", i);
		m->b[changes[i].at] = was;
	}
	assert_int_equal(hello_at(slice_of(m->b, m->n), m->n, &h), 1);
	m->b[8]++; /* the hello is one byte longer than its record: more is awaited */
	assert_int_equal(hello_at(slice_of(m->b, m->n), m->n, &h), 0);
	m->b[8] -= 2; /* one shorter: a record with something behind the hello */
	assert_int_equal(hello_at(slice_of(m->b, m->n), m->n, &h), -EBADMSG);
	m->b[8]++;
	m->b[4]++; /* the record says one more */
	assert_int_equal(hello_at(slice_of(m->b, m->n), m->n, &h), -EBADMSG);
	free(m);
	free(message);
}

static void records_out_of_order(void **state)
{
	struct maker *message = make_hello(body_curl, true), *m = in_records(message, 10, 10);
	struct hello h;

	(void)state;
	m->b[15] = 21; /* an alert in between */
	assert_int_equal(hello_at(slice_of(m->b, m->n), m->n, &h), -EBADMSG);
	assert_int_equal(hello_at(slice_of(m->b, m->n), 20, &h), -EBADMSG);
	m->b[15] = 22;
	m->b[19] = 0; /* an empty one */
	assert_int_equal(hello_at(slice_of(m->b, m->n), 20, &h), -EBADMSG);
	m->b[18] = 0x40; /* 16385 bytes */
	m->b[19] = 1;
	assert_int_equal(hello_at(slice_of(m->b, m->n), 20, &h), -EBADMSG);
	free(m);
	free(message);
}

static void bounds(void **state)
{
	struct maker *message = make_hello(body_big, true), *m;
	struct hello h;
	uint8_t *big = calloc(1, LIMIT_HELLO + 1);

	(void)state;
	m = in_records(message, 1, 1); /* more than SNIFF_RECORDS of them */
	assert_true(message->n > SNIFF_RECORDS);
	assert_int_equal(hello_at(slice_of(m->b, m->n), 6 * SNIFF_RECORDS - 1, &h), 0);
	assert_int_equal(hello_at(slice_of(m->b, m->n), 6 * SNIFF_RECORDS, &h), -EBADMSG);
	free(m);
	free(message);
	/* a message that says it is bigger than we take */
	assert_int_equal(hello_at(SLICE("\x16\x03\x01\x40\x00\x01\x01\x00\x00"), 9, &h), -EBADMSG);
	/* the most that is taken, never complete */
	for (size_t at = 0; at < LIMIT_HELLO; at += 5 + 16384)
		memcpy(big + at, "\x16\x03\x01\x40\x00",
			at + 5 <= LIMIT_HELLO ? 5 : LIMIT_HELLO - at);
	memcpy(big + 5, "\x01\x00\xff\xfc", 4);
	assert_int_equal(hello_at(slice_of(big, LIMIT_HELLO), LIMIT_HELLO - 1, &h), 0);
	assert_int_equal(hello_at(slice_of(big, LIMIT_HELLO), LIMIT_HELLO, &h), -EBADMSG);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_bytes),
		cmocka_unit_test(whole_hellos),
		cmocka_unit_test(what_follows_is_not_read),
		cmocka_unit_test(bad_extensions),
		cmocka_unit_test(lengths_that_do_not_add_up),
		cmocka_unit_test(records_out_of_order),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
