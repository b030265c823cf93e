/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h1_request.c – any bytes as a request head. Arrival byte by byte and in two parts gives the
 * answer of the whole; what was accepted can be written, and read again is the same request.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "http/target.h"
#include "h1_answer.h"

static struct answer parse(struct slice in, size_t *scan)
{
	struct answer a = {.why = ""};

	a.r = h1_request_parse(in, scan, &a.m, &a.used, &a.why);
	return a;
}

/* The first part from memory of exactly its size, so that nothing is read beyond it. */
static void check_two_parts(const struct answer *whole, struct slice in, size_t cut)
{
	uint8_t *copy = malloc(cut);
	struct answer a;
	size_t scan = 0;

	if (cut)
		memcpy(copy, in.p, cut);
	a = parse(slice_of(copy, cut), &scan);
	if (a.r == 0)
		a = parse(in, &scan);
	check_same(whole, &a);
	free(copy);
}

static void check_bytes(const struct answer *whole, struct slice in)
{
	struct answer a = {0};
	size_t scan = 0;

	for (size_t n = 0; n <= in.n && a.r == 0; n++)
		a = parse(slice_first(in, n), &scan);
	check_same(whole, &a);
}

static void check_round(const struct answer *whole)
{
	const struct msg *m = &whole->m;
	struct target t;
	struct answer again;
	struct buf b;
	size_t scan = 0;

	assert(target_parse(m->target, m->method, &t) == 0);
	if (m->minor == 0)
		return; /* we write 1.1, where other rules hold */
	buf_init(&b, 2 * LIMIT_HEAD);
	assert(h1_write_request_line(&b, m->method, m->target) == 0);
	for (unsigned i = 0; i < m->nfields; i++)
		assert(h1_write_field(&b, m->fields[i].name, m->fields[i].value) == 0);
	assert(h1_write_head_end(&b) == 0);
	if (buf_used(&b) <= LIMIT_HEAD) {
		again = parse(buf_slice(&b), &scan);
		assert(again.r == 1 && again.used == buf_used(&b) && msg_same(m, &again.m));
	}
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	size_t scan = 0;
	struct answer whole = parse(in, &scan);

	check_bytes(&whole, in);
	check_two_parts(&whole, in, size / 2);
	if (size > 1)
		check_two_parts(&whole, in, size - 1 - data[0] % size);
	if (whole.r == 1)
		check_round(&whole);
	return 0;
}
