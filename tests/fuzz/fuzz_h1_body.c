/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h1_body.c – any bytes as a body; the first byte says the framing, the second the length and
 * where the input is cut. However it is cut: the same bytes, the same verdict, the same end.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "http/h1_body.h"

struct outcome {
	int r;
	size_t used, n;
	uint8_t *data;
};

static void feed(struct h1_body *b, struct slice piece, struct outcome *o)
{
	do {
		size_t used;
		struct slice data;

		o->r = h1_body_next(b, piece, &used, &data);
		if (o->r < 0)
			return;
		assert(used <= piece.n && data.n <= used);
		assert(o->r > 0 || used > 0 || piece.n == 0);
		assert(o->r != 2 ||
			piece.p[used - 1] == '\n'); /* the trailer section is left alone */
		if (data.n) {
			assert(data.p >= piece.p && data.p + data.n <= piece.p + used);
			memcpy(o->data + o->n, data.p, data.n);
		}
		o->n += data.n;
		o->used += used;
		piece = slice_skip(piece, used);
	} while (o->r == 0 && piece.n);
}

static struct outcome feed_cut(enum framing framing, uint64_t length, struct slice in, size_t step)
{
	struct outcome o = {.data = malloc(in.n + 1)};
	struct h1_body b;

	h1_body_init(&b, framing, length);
	feed(&b, slice_of(in.p, 0), &o);
	for (size_t at = 0; at < in.n && o.r == 0; at += step)
		feed(&b, slice_first(slice_skip(in, at), step), &o);
	assert(o.r != 2 || framing == FRAMING_CHUNKED);
	assert(h1_body_eof(&b) == (o.r == 1 || framing == FRAMING_CLOSE ? 0 : -EBADMSG));
	return o;
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
	assert(a->r == b->r && a->n == b->n && memcmp(a->data, b->data, a->n) == 0);
	assert(a->r < 0 || a->used == b->used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, bytes, parts;
	enum framing framing;
	struct slice in;

	if (size < 2)
		return 0;
	framing = data[0] & 0x80 ? FRAMING_CHUNKED : (enum framing)(data[0] % 4);
	in = slice_of(data + 2, size - 2);
	whole = feed_cut(framing, data[1], in, in.n + 1);
	bytes = feed_cut(framing, data[1], in, 1);
	parts = feed_cut(framing, data[1], in, 2 + data[1] % 16);
	check_same(&whole, &bytes);
	check_same(&whole, &parts);
	assert(framing != FRAMING_LENGTH || whole.n == (in.n < data[1] ? in.n : data[1]));
	free(whole.data);
	free(bytes.data);
	free(parts.data);
	return 0;
}
