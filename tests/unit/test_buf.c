/* SPDX-License-Identifier: Apache-2.0 */
/* test_buf.c – a buf against a plain model of it, its maximum, and what lending forbids. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

static void test_fill_and_consume(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(buf_used(&b), 0);
	assert_int_equal(buf_room(&b), 8);
	assert_int_equal(buf_slice(&b).n, 0);
	assert_int_equal(buf_append(&b, SLICE("")), 0);
	assert_null(b.data); /* nothing is taken for nothing */
	assert_int_equal(buf_append(&b, SLICE("abcde")), 0);
	buf_consume(&b, 2);
	assert_true(slice_eq(buf_slice(&b), SLICE("cde")));
	assert_int_equal(buf_room(&b), 5);
	assert_int_equal(buf_append(&b, SLICE("123456")), -ENOBUFS);
	assert_true(slice_eq(buf_slice(&b), SLICE("cde")));
	assert_int_equal(buf_append(&b, SLICE("12345")), 0);
	assert_true(slice_eq(buf_slice(&b), SLICE("cde12345")));
	assert_int_equal(buf_append(&b, SLICE("x")), -ENOBUFS);
	buf_consume(&b, 8);
	assert_int_equal(b.start, 0);
	assert_int_equal(buf_room(&b), 8);
	buf_done(&b);
	assert_null(b.data);
	assert_int_equal(b.max, 8);
}

static void test_reserve(void **state)
{
	struct buf b;
	uint8_t *to;

	(void)state;
	buf_init(&b, 5000);
	assert_null(buf_reserve(&b, 5001));
	to = buf_reserve(&b, 5000);
	assert_non_null(to);
	memset(to, 'x', 5000);
	buf_commit(&b, 4999);
	assert_null(buf_reserve(&b, 2));
	assert_non_null(buf_reserve(&b, 1));
	buf_consume(&b, 1);
	to = buf_reserve(&b, 2);
	assert_non_null(to);
	to[0] = to[1] = 'y';
	buf_commit(&b, 2);
	assert_int_equal(buf_used(&b), 5000);
	assert_int_equal(buf_slice(&b).p[4997], 'x');
	assert_int_equal(buf_slice(&b).p[4998], 'y');
	buf_done(&b);
}

/* Appends and consumes by a fixed sequence of odd numbers; the bytes are their own position. */
static void test_against_model(void **state)
{
	enum { MAX = 10007 };
	uint8_t bytes[997];
	size_t in = 0, out = 0;
	uint32_t seed = 1;
	struct buf b;

	(void)state;
	buf_init(&b, MAX);
	for (unsigned step = 0; step < 20000; step++) {
		size_t n;

		seed = seed * 1103515245 + 12345;
		n = seed >> 16 & 0x3ff;
		if (seed & 0x8000) {
			n %= sizeof(bytes);
			for (size_t i = 0; i < n; i++)
				bytes[i] = (uint8_t)((in + i) * 7);
			if (n <= MAX - (in - out)) {
				assert_int_equal(buf_append(&b, slice_of(bytes, n)), 0);
				in += n;
			} else {
				assert_int_equal(buf_append(&b, slice_of(bytes, n)), -ENOBUFS);
			}
		} else {
			if (n > in - out)
				n = in - out;
			buf_consume(&b, n);
			out += n;
		}
		assert_int_equal(buf_used(&b), in - out);
		assert_true(b.cap <= MAX);
		for (size_t i = 0; i < in - out; i += 101)
			assert_int_equal(buf_slice(&b).p[i], (uint8_t)((out + i) * 7));
	}
	assert_true(in > 1000000);
	buf_done(&b);
}

/* A nearly full window that slides byte by byte does not move all of itself each time. */
static void test_sliding(void **state)
{
	uint8_t fill[1000] = {0};
	const uint8_t *data;
	unsigned moved = 0;
	struct buf b;

	(void)state;
	buf_init(&b, 65536);
	assert_int_equal(buf_append(&b, slice_of(fill, sizeof(fill))), 0);
	for (unsigned i = 0; i < 10000; i++) {
		size_t start = b.start;

		data = b.data;
		buf_consume(&b, 1);
		assert_int_equal(buf_append(&b, SLICE("x")), 0);
		moved += b.data != data || b.start < start;
	}
	assert_true(moved <= 12);
	buf_done(&b);
}

static void test_lent(void **state)
{
	struct buf b;
	const uint8_t *data;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(buf_append(&b, SLICE("0123456789")), 0);
	b.lent = true;
	data = b.data;
	assert_int_equal(buf_append(&b, SLICE("ab")), 0); /* there was room behind */
	assert_null(buf_reserve(&b, 2000)); /* this would move it */
	assert_ptr_equal(b.data, data);
	buf_consume(&b, 12);
	assert_int_equal(b.start, 12); /* the operation may still look */
	buf_relax(&b);
	assert_ptr_equal(b.data, data);
	b.lent = false;
	buf_relax(&b);
	assert_null(b.data);
}

static void test_relax(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(buf_append(&b, SLICE("ab")), 0);
	buf_relax(&b);
	assert_non_null(b.data);
	buf_consume(&b, 2);
	buf_relax(&b);
	assert_null(b.data);
	assert_int_equal(buf_append(&b, SLICE("cd")), 0);
	assert_true(slice_eq(buf_slice(&b), SLICE("cd")));
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill_and_consume),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_sliding),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_relax),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
