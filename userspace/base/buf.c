/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c – see buf.h. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { BUF_FIRST = 1024 };

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

static void buf_shift(struct buf *b)
{
	size_t used = buf_used(b);

	memmove(b->data, b->data + b->start, used);
	b->start = 0;
	b->end = used;
}

static int buf_grow(struct buf *b, size_t need)
{
	/* always doubled, also when compacting would do: a window that slides must not be moved at each byte */
	size_t cap = b->cap ? b->cap * 2 : BUF_FIRST, used = buf_used(b);
	uint8_t *data;

	while (cap < need)
		cap *= 2;
	if (cap > b->max)
		cap = b->max;
	data = malloc(cap);
	if (!data)
		return -ENOMEM;
	if (used)
		memcpy(data, b->data + b->start, used);
	if (b->data) {
		explicit_bzero(b->data, b->cap);
		free(b->data);
	}
	b->data = data;
	b->cap = cap;
	b->start = 0;
	b->end = used;
	return 0;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
	size_t used = buf_used(b);

	if (n > b->max - used)
		return NULL;
	if (b->cap - b->end >= n && b->data)
		return b->data + b->end;
	if (b->lent)
		return NULL;
	if (b->data && b->cap - used >= n && b->start >= used)
		buf_shift(b); /* the move is paid for by the bytes consumed before it */
	else if (b->cap < b->max || !b->data) {
		if (buf_grow(b, used + n) < 0)
			return NULL;
	} else {
		buf_shift(b);
	}
	return b->data + b->end;
}

void buf_commit(struct buf *b, size_t n)
{
	assert(n <= b->cap - b->end);
	b->end += n;
}

int buf_append(struct buf *b, struct slice s)
{
	uint8_t *to;

	if (s.n == 0)
		return 0;
	if (s.n > buf_room(b))
		return -ENOBUFS;
	to = buf_reserve(b, s.n);
	if (!to)
		return -ENOMEM;
	memcpy(to, s.p, s.n);
	b->end += s.n;
	return 0;
}

void buf_consume(struct buf *b, size_t n)
{
	assert(n <= buf_used(b));
	b->start += n;
	if (b->start == b->end && !b->lent)
		b->start = b->end = 0;
}

void buf_relax(struct buf *b)
{
	if (b->start == b->end && !b->lent)
		buf_done(b);
}

void buf_done(struct buf *b)
{
	assert(!b->lent);
	if (b->data) {
		explicit_bzero(b->data, b->cap);
		free(b->data);
	}
	*b = (struct buf){.max = b->max};
}
