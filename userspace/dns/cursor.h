/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h – reads and writes the numbers of DNS packets. Only for files in this folder. A cursor cannot pass the end:
 * once a get has failed, all that follow do.
 */
#ifndef SALLYPORT_DNS_CURSOR_H
#define SALLYPORT_DNS_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct cursor {
	struct slice rest;
	bool short_read;
};

static inline struct slice cursor_bytes(struct cursor *c, size_t n)
{
	struct slice s = slice_first(c->rest, n);

	if (n > c->rest.n) {
		c->short_read = true;
		c->rest.n = 0;
		return (struct slice){NULL, 0};
	}
	c->rest = slice_skip(c->rest, n);
	return s;
}

static inline unsigned cursor_u8(struct cursor *c)
{
	struct slice s = cursor_bytes(c, 1);

	return s.n ? s.p[0] : 0;
}

static inline unsigned cursor_u16(struct cursor *c)
{
	struct slice s = cursor_bytes(c, 2);

	return s.n ? (unsigned)s.p[0] << 8 | s.p[1] : 0;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	uint32_t high = cursor_u16(c);

	return high << 16 | cursor_u16(c);
}

static inline uint8_t *cursor_put16(uint8_t *to, unsigned value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
	return to + 2;
}

static inline uint8_t *cursor_put32(uint8_t *to, uint32_t value)
{
	return cursor_put16(cursor_put16(to, value >> 16), value & 0xffff);
}

#endif
