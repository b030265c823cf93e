/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h1_body.c – bodies from tables, each cut in every way that matters: whole, byte by byte, at
 * every single place. The bytes, the verdict and where the next message begins must be the same.
 */
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "http/h1_body.h"

enum { DATA_MAX = 512 };

/* What came of a body. */
struct outcome {
	int r; /* the last answer */
	size_t used; /* bytes taken in all */
	char data[DATA_MAX];
	size_t n;
};

/* Feeds one exact copy of a piece as the header says it is to be done. */
static void feed(struct h1_body *b, struct slice piece, struct outcome *o)
{
	struct slice copy = exact_copy(piece), rest = copy;

	do {
		size_t used = 77777;
		struct slice data = {NULL, 77777};

		o->r = h1_body_next(b, rest, &used, &data);
		if (o->r < 0) {
			assert_int_equal(used, 77777);
			assert_int_equal(data.n, 77777);
			break;
		}
		assert_true(used <= rest.n && data.n <= used);
		assert_true(o->r > 0 || used > 0 || rest.n == 0);
		assert_true(o->n + data.n < DATA_MAX);
		if (data.n)
			memcpy(o->data + o->n, data.p, data.n);
		o->n += data.n;
		o->data[o->n] = '\0';
		o->used += used;
		rest = slice_skip(rest, used);
	} while (o->r == 0 && rest.n);
	exact_free(copy);
}

/* Cuts the text after `first` bytes, the rest into pieces of `step`. */
static struct outcome feed_cut(
	enum framing framing, uint64_t length, struct slice text, size_t first, size_t step)
{
	struct outcome o = {0};
	struct h1_body b;

	h1_body_init(&b, framing, length);
	feed(&b, slice_first(text, first), &o);
	for (size_t at = first; at < text.n && o.r == 0; at += step)
		feed(&b, slice_first(slice_skip(text, at), step), &o);
	if (o.r < 0) {
		size_t used;
		struct slice data;

		assert_int_equal(h1_body_next(&b, SLICE(""), &used, &data), -EBADMSG);
		assert_int_equal(h1_body_next(&b, SLICE("0\r\n\r\n"), &used, &data), -EBADMSG);
	}
	if (framing != FRAMING_CLOSE)
		assert_int_equal(h1_body_eof(&b), o.r == 1 ? 0 : -EBADMSG);
	return o;
}

struct row {
	struct slice text;
	const char *data;
	size_t used; /* where the body ends in the text; of a bad one, anything */
	int r;
};

static void check(enum framing framing, uint64_t length, const struct row *row)
{
	for (size_t first = 0; first <= row->text.n; first++)
		for (unsigned whole = 0; whole < 2; whole++) {
			size_t step = whole ? row->text.n + 1 : 1;
			struct outcome o = feed_cut(framing, length, row->text, first, step);

			if (o.r != row->r || strcmp(o.data, row->data))
				fail_msg("%d, '%s' cut at %zu: %.*s", o.r, o.data, first,
					SLICE_ARG(row->text));
			if (o.r >= 0)
				assert_int_equal(o.used, row->used);
		}
}

#define GOOD(text, rest, data)                                                                     \
	{                                                                                          \
		SLICE(text rest), data, sizeof(text) - 1, 1                                        \
	}
/* the trailer section comes next */
#define LAST(text, rest, data)                                                                     \
	{                                                                                          \
		SLICE(text rest), data, sizeof(text) - 1, 2                                        \
	}
#define MORE(text, data)                                                                           \
	{                                                                                          \
		SLICE(text), data, sizeof(text) - 1, 0                                             \
	}
#define BAD(text, data)                                                                            \
	{                                                                                          \
		SLICE(text), data, 0, -EBADMSG                                                     \
	}

static const struct row chunked[] = {
	LAST("0\r\n", "\r\n", ""),
	LAST("0\r\n", "\r\nGET /2 HTTP/1.1\r\n", ""),
	LAST("5\r\nhello\r\n0\r\n", "\r\n", "hello"),
	LAST("5\r\nhello\r\n6\r\n world\r\n0\r\n", "\r\n5\r\n", "hello world"),
	LAST("1\r\n\r\r\n1\r\n\n\r\n0\r\n", "\r\n", "\r\n"),
	LAST("a\r\n0123456789\r\nA\r\n9876543210\r\n0\r\n", "\r\n\r\n", "01234567899876543210"),
	LAST("0000000000000005\r\nhello\r\n0000000000000000\r\n", "\r\n", "hello"),
	LAST("1f\r\n0123456789012345678901234567890\r\n0\r\n", "\r\n",
		"0123456789012345678901234567890"),
	/* extensions are dropped */
	LAST("5;ext=\"a\"\r\nhello\r\n0;x\r\n", "\r\nx", "hello"),
	LAST("5;\r\nhello\r\n0\r\n", "\r\n", "hello"),
	LAST("5 ;a\r\nhello\r\n0 \t; b = c\r\n", "\r\n", "hello"),
	LAST("1;0123;\"\\;\xc3\xbc\"\r\nx\r\n0\r\n", "\r\n", "x"),
	/* what follows the last size line is not looked at */
	LAST("0\r\n", "X: y\r\n\r\nZ", ""),
	LAST("1\r\nx\r\n0\r\n", "\n\0 anything", "x"),
	LAST("0\r\n", "", ""),
	MORE("", ""),
	MORE("5", ""),
	MORE("5\r", ""),
	MORE("5;", ""),
	MORE("5 ", ""),
	MORE("5\r\n", ""),
	MORE("5\r\nhell", "hell"),
	MORE("5\r\nhello", "hello"),
	MORE("5\r\nhello\r", "hello"),
	MORE("5\r\nhello\r\n", "hello"),
	MORE("0", ""),
	MORE("0\r", ""),
	MORE("ffffffffffffffff\r\nabc", "abc"),
	/* H1-18 */
	BAD("10000000000000000\r\nhello\r\n0\r\n\r\n", ""),
	BAD("00000000000000005\r\nhello\r\n0\r\n\r\n", ""),
	BAD("0x5\r\nhello\r\n0\r\n\r\n", ""),
	BAD(" 5\r\nhello\r\n0\r\n\r\n", ""),
	BAD("5\r\nhello0\r\n\r\n", "hello"),
	BAD("5\r\nhello\n0\r\n\r\n", "hello"),
	BAD("5\r\nhello\r0\r\n\r\n", "hello"),
	BAD("5\r\nhelloo\r\n0\r\n\r\n", "hello"),
	BAD("5\r\nhello\r\n\r\n", "hello"),
	BAD("5\nhello\r\n0\r\n\r\n", ""),
	BAD("5\rhello\r\n0\r\n\r\n", ""),
	BAD("5\r\r\nhello\r\n0\r\n\r\n", ""),
	BAD("5 \r\nhello\r\n0\r\n\r\n", ""),
	BAD("5 5\r\nhello\r\n0\r\n\r\n", ""),
	BAD("5,5\r\nhello\r\n0\r\n\r\n", ""),
	BAD("+5\r\nhello\r\n0\r\n\r\n", ""),
	BAD("-5\r\nhello\r\n0\r\n\r\n", ""),
	BAD("5g\r\nhello\r\n0\r\n\r\n", ""),
	BAD("5h\r\nhello\r\n0\r\n\r\n", ""),
	BAD("\r\nhello\r\n0\r\n\r\n", ""),
	BAD(";x\r\nhello\r\n0\r\n\r\n", ""),
	BAD("\0", ""),
	BAD("5\0\r\nhello", ""),
	BAD("5;a\0\r\nhello", ""),
	BAD("5;a\nhello\r\n0\r\n\r\n", ""),
	BAD("5;a\rb\r\nhello\r\n0\r\n\r\n", ""),
	BAD("5;\"a\r\nhello\"\n\r\n0\r\n\r\n", "hello"),
	BAD("0\n\r\n", ""),
	BAD("0\r\r\n\r\n", ""),
	BAD("1\r\na\r\nz\r\n", "a"),
};

static void test_chunked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chunked); i++)
		check(FRAMING_CHUNKED, 0, &chunked[i]);
}

/* Every prefix of a good body wants more. */
static void test_chunked_prefixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chunked); i++)
		for (size_t n = 0; chunked[i].r == 2 && n < chunked[i].used; n++) {
			struct slice text = slice_first(chunked[i].text, n);

			assert_int_equal(feed_cut(FRAMING_CHUNKED, 0, text, n, 1).r, 0);
		}
}

static void test_length(void **state)
{
	static const struct row five[] = {
		MORE("", ""),
		MORE("hell", "hell"),
		GOOD("hello", "", "hello"),
		GOOD("hello", "GET / HTTP/1.1\r\n", "hello"),
	};
	static const struct row none = GOOD("", "5\r\nhello", "");
	static const struct row huge = MORE("hello", "hello");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(five); i++)
		check(FRAMING_LENGTH, 5, &five[i]);
	check(FRAMING_LENGTH, 0, &none);
	check(FRAMING_NONE, 5, &none);
	check(FRAMING_LENGTH, UINT64_MAX, &huge);
}

static void test_close(void **state)
{
	static const struct row row = MORE("5\r\nhello", "5\r\nhello");
	struct h1_body b;

	(void)state;
	check(FRAMING_CLOSE, 0, &row);
	h1_body_init(&b, FRAMING_CLOSE, 0);
	assert_int_equal(h1_body_eof(&b), 0);
}

/* A single call yields one run and goes on over the framing behind it. */
static void test_one_call(void **state)
{
	struct h1_body b;
	struct slice data;
	size_t used;

	(void)state;
	h1_body_init(&b, FRAMING_CHUNKED, 0);
	assert_int_equal(
		h1_body_next(&b, SLICE("2\r\nab\r\n2\r\ncd\r\n0\r\n\r\nX"), &used, &data), 0);
	assert_true(slice_eq(data, SLICE("ab")));
	assert_int_equal(used, 10);
	assert_int_equal(h1_body_next(&b, SLICE("cd\r\n0\r\n\r\nX"), &used, &data), 2);
	assert_true(slice_eq(data, SLICE("cd")));
	assert_int_equal(used, 7);
	assert_int_equal(h1_body_next(&b, SLICE("\r\nX"), &used, &data), 2);
	assert_int_equal(data.n, 0);
	assert_int_equal(used, 0);
}

/* A line of n bytes 'x' between two texts, cut into pieces of 1000 and fed. */
static int feed_long(const char *before, size_t n, const char *after)
{
	static char text[16384];
	struct slice all = slice_of(text, strlen(before) + n + strlen(after));

	memcpy(text, before, strlen(before));
	memset(text + strlen(before), 'x', n);
	memcpy(text + strlen(before) + n, after, strlen(after));
	return feed_cut(FRAMING_CHUNKED, 0, all, all.n, 1).r |
	       feed_cut(FRAMING_CHUNKED, 0, all, 0, 1000).r;
}

static void test_bounds(void **state)
{
	(void)state;
	assert_int_equal(feed_long("0;", H1_BODY_EXTENSION_MAX, "\r\n"), 2);
	assert_int_equal(feed_long("0;", H1_BODY_EXTENSION_MAX + 1, "\r\n"), -EBADMSG);
	/* the bound is one chunk's, not the body's */
	assert_int_equal(feed_long("1;y\r\na\r\n0;", H1_BODY_EXTENSION_MAX, "\r\n"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunked),
		cmocka_unit_test(test_chunked_prefixes),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_one_call),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
