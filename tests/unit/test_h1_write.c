/* SPDX-License-Identifier: Apache-2.0 */
/* test_h1_write.c – what is written byte for byte, and that nothing which splits a message gets
 * out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/h1_write.h"
#include "model/msg.h"

static void test_request(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(h1_write_request_line(&b, SLICE("GET"), SLICE("/a?b")), 0);
	assert_int_equal(h1_write_field(&b, SLICE("Host"), SLICE("h")), 0);
	assert_int_equal(h1_write_field(&b, SLICE("X"), SLICE("")), 0);
	assert_int_equal(h1_write_number_field(&b, SLICE("Content-Length"), UINT64_MAX), 0);
	assert_int_equal(h1_write_number_field(&b, SLICE("N"), 0), 0);
	assert_int_equal(h1_write_head_end(&b), 0);
	assert_true(slice_eq(buf_slice(&b), SLICE("GET /a?b HTTP/1.1\r\nHost: h\r\nX: \r\n"
						  "Content-Length: 18446744073709551615\r\n"
						  "N: 0\r\n\r\n")));
	buf_done(&b);
}

static void test_bare_query(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(h1_write_request_line(&b, SLICE("GET"), SLICE("?b")), 0);
	assert_true(slice_eq(buf_slice(&b), SLICE("GET /?b HTTP/1.1\r\n")));
	buf_done(&b);
}

static void test_response(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(h1_write_status_line(&b, 100, SLICE(""), 0), 0);
	assert_int_equal(h1_write_status_line(&b, 403, SLICE("No \xc3\xbc"), 1), 0);
	assert_int_equal(h1_write_status_line(&b, 999, SLICE("x"), 1), 0);
	assert_true(slice_eq(buf_slice(&b), SLICE("HTTP/1.0 100 \r\nHTTP/1.1 403 No \xc3\xbc\r\n"
						  "HTTP/1.1 999 x\r\n")));
	buf_done(&b);
}

static void test_refused(void **state)
{
	static const struct slice lines[] = {SLICE("a\r"), SLICE("a\n"), SLICE("a\r\nX: y"),
		SLICE("a\0b"), SLICE("\x7f"), SLICE("\x1b")};
	static const struct slice names[] = {SLICE(""), SLICE("X:"), SLICE("X Y"), SLICE("\xff")};
	struct slice ok = SLICE("x");
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(h1_write_request_line(&b, lines[i], ok), -EINVAL);
		assert_int_equal(h1_write_request_line(&b, ok, lines[i]), -EINVAL);
		assert_int_equal(h1_write_status_line(&b, 200, lines[i], 1), -EINVAL);
		assert_int_equal(h1_write_field(&b, lines[i], ok), -EINVAL);
		assert_int_equal(h1_write_field(&b, ok, lines[i]), -EINVAL);
		assert_int_equal(h1_write_number_field(&b, lines[i], 1), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(h1_write_request_line(&b, names[i], ok), -EINVAL);
		assert_int_equal(h1_write_field(&b, names[i], ok), -EINVAL);
	}
	assert_int_equal(h1_write_request_line(&b, ok, SLICE("")), -EINVAL);
	assert_int_equal(h1_write_request_line(&b, ok, SLICE("/a b")), -EINVAL);
	assert_int_equal(h1_write_request_line(&b, ok, SLICE("/\xc3\xbc")), -EINVAL);
	assert_int_equal(h1_write_status_line(&b, 99, ok, 1), -EINVAL);
	assert_int_equal(h1_write_status_line(&b, 1000, ok, 1), -EINVAL);
	assert_int_equal(h1_write_status_line(&b, 200, ok, 2), -EINVAL);
	assert_int_equal(buf_used(&b), 0);
	buf_done(&b);
}

/* A line that does not fit leaves nothing of itself. */
static void test_full(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_int_equal(h1_write_field(&b, SLICE("Name"), SLICE("val")), -ENOBUFS);
	assert_int_equal(buf_used(&b), 0);
	assert_int_equal(h1_write_field(&b, SLICE("Name"), SLICE("va")), 0);
	assert_int_equal(h1_write_head_end(&b), -ENOBUFS);
	assert_true(slice_eq(buf_slice(&b), SLICE("Name: va\r\n")));
	buf_done(&b);
}

static void test_chunk_head(void **state)
{
	static const struct {
		size_t n;
		const char *text;
	} rows[] = {
		{1, "1\r\n"},
		{10, "a\r\n"},
		{4096, "1000\r\n"},
		{SIZE_MAX, "ffffffffffffffff\r\n"},
	};
	uint8_t out[H1_CHUNK_HEAD_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = h1_write_chunk_head(out, rows[i].n);

		assert_true(slice_eq(slice_of(out, n), slice_str(rows[i].text)));
	}
	assert_true(slice_eq(H1_CHUNK_TAIL, SLICE("\r\n")));
	assert_true(slice_eq(H1_LAST_CHUNK, SLICE("0\r\n\r\n")));
}

/* Those that may not stand there are left out, and what splits a message is refused. */
static void test_trailers(void **state)
{
	static const struct msg none;
	struct msg m = {.nfields = 5,
		.fields = {
			{SLICE("grpc-status"), SLICE("0")},
			{SLICE("Content-Length"), SLICE("5")},
			{SLICE("X"), SLICE("")},
			{SLICE("Transfer-Encoding"), SLICE("chunked")},
			{SLICE("X"), SLICE("a b")},
		}};
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(h1_write_trailers(&b, &none), 0);
	assert_true(slice_eq(buf_slice(&b), H1_LAST_CHUNK));
	buf_consume(&b, buf_used(&b));
	assert_int_equal(h1_write_trailers(&b, &m), 0);
	assert_true(slice_eq(buf_slice(&b), SLICE("0\r\ngrpc-status: 0\r\nX: \r\nX: a b\r\n\r\n")));
	m.fields[4].value = SLICE("a\r\nb: c");
	assert_int_equal(h1_write_trailers(&b, &m), -EINVAL);
	buf_done(&b);
	for (size_t max = 1; max < H1_LAST_CHUNK.n; max++) {
		buf_init(&b, max);
		assert_int_equal(h1_write_trailers(&b, &none), -ENOBUFS);
		buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_bare_query),
		cmocka_unit_test(test_response),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_chunk_head),
		cmocka_unit_test(test_trailers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
