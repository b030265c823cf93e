/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h – owned bytes with a maximum that is fixed at creation: filled at the end, consumed at the front.
 *
 * Memory is taken in doubling steps up to the maximum, and given back by buf_done() or buf_relax(). Memory is
 * wiped whole before it is given back (growth, relax, done), since secrets pass through; consumed bytes stay in it
 * until then. While `lent` is set the
 * kernel holds a pointer into the buffer: nothing may move or free the bytes.
 */
#ifndef SALLYPORT_BUF_H
#define SALLYPORT_BUF_H

#include "base/slice.h"

struct buf {
	uint8_t *data;
	size_t start; /* first unconsumed byte */
	size_t end; /* one past the last byte */
	size_t cap; /* allocated */
	size_t max; /* never allocated beyond */
	bool lent; /* an operation in flight points into data */
};

void buf_init(struct buf *b, size_t max);

static inline size_t buf_used(const struct buf *b)
{
	return b->end - b->start;
}

/* Bytes that may still be added before the maximum. */
static inline size_t buf_room(const struct buf *b)
{
	return b->max - (b->end - b->start);
}

/* The unconsumed bytes; borrowed, valid until the buffer is changed. */
static inline struct slice buf_slice(const struct buf *b)
{
	return (struct slice){b->data ? b->data + b->start : NULL, b->end - b->start};
}

/* Makes room for n bytes at the end and returns where they go, or NULL (over the maximum, no memory, lent). */
uint8_t *buf_reserve(struct buf *b, size_t n);

/* Says that n of the reserved bytes are filled. */
void buf_commit(struct buf *b, size_t n);

/* Copies s to the end. 0, or -ENOBUFS when that passes the maximum, -ENOMEM. */
int buf_append(struct buf *b, struct slice s);

/* Drops n bytes at the front. */
void buf_consume(struct buf *b, size_t n);

/* Gives the memory back if the buffer is empty and not lent. */
void buf_relax(struct buf *b);

/* Wipes and frees. The buffer may be used again. Must not be lent. */
void buf_done(struct buf *b);

#endif
