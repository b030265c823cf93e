/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_flood.c – see h2_flood.h.
 *
 * The library bounds some floods by itself (answers that wait, entries of SETTINGS, CONTINUATION,
 * RST_STREAM), each with a way of its own to say so, and others not at all: empty frames, PRIORITY
 * and unknown frames, WINDOW_UPDATE by 1, streams that the peer makes us reset. So they are
 * bounded here, all by one account and with one answer, GOAWAY(ENHANCE_YOUR_CALM); the library's
 * bounds stay behind as a second line.
 *
 * An account in place of a rate for each kind: peers that work may do odd things in proportion to
 * the work (gRPC pings at every round trip while data flows, old Go clients update windows at every
 * read, browsers cancel what a page does not want any more), and peers that do odd things alone run
 * out, fast ones within FLOOD_MOST frames.
 *
 * DATA of 1 to 4 bytes costs because no protocol on top makes many of these: gRPC's smallest
 * message has five. Larger pieces cost the peer as much as us.
 *
 * Reads nine bytes of each frame and skips the rest, so it never disagrees with the library about
 * where a frame begins.
 */
#include "base/limits.h"
#include "http/h2_flood.h"

/* RFC 9113 section 6 */
enum {
	FRAME_DATA = 0,
	FRAME_HEADERS = 1,
	FRAME_PRIORITY = 2,
	FRAME_PUSH_PROMISE = 5,
	FRAME_CONTINUATION = 9,
	FLAG_END_STREAM = 0x01,
	FLAG_END_HEADERS = 0x04,
	FLAG_PADDED = 0x08,
	CODE_PROTOCOL_ERROR = 1, /* section 7 */
	CODE_ENHANCE_YOUR_CALM = 11,
	DATA_TINY = 5, /* a payload below costs */
	PADDED_TINY = 512, /* the same where some of it is padding */
};

static const uint8_t flood_price[] = {
	0, /* DATA, see data_price() */
	1, /* HEADERS */
	1, /* PRIORITY */
	1, /* RST_STREAM; what it kills is charged apart */
	4, /* SETTINGS */
	0, /* PUSH_PROMISE: never */
	2, /* PING */
	4, /* GOAWAY */
	1, /* WINDOW_UPDATE */
	2, /* CONTINUATION */
};
enum { PRICE_UNKNOWN = 1 }; /* extensions, all ignored */

void h2_flood_init(struct h2_flood *f, bool magic, uint64_t now)
{
	*f = (struct h2_flood){.told = now, .credit = FLOOD_MOST, .left = magic ? H2_MAGIC : 0};
	f->type = FRAME_DATA;
}

void h2_flood_earn(struct h2_flood *f, unsigned worth)
{
	if (worth > FLOOD_MOST || f->credit > FLOOD_MOST - (int32_t)worth)
		f->credit = FLOOD_MOST;
	else
		f->credit += (int32_t)worth;
}

void h2_flood_charge(struct h2_flood *f, unsigned price)
{
	if (f->credit >= 0) /* once it is overdrawn it is over */
		f->credit -= (int32_t)price;
}

void h2_flood_time(struct h2_flood *f, uint64_t now)
{
	uint64_t ms = now > f->told ? now - f->told : 0;
	uint64_t worth = ms >= 60000 ? FLOOD_MOST : ms * FLOOD_PER_SECOND / 1000;

	if (worth == 0 || f->credit < 0)
		return; /* small steps add up: told stays */
	f->told = now;
	h2_flood_earn(f, (unsigned)worth);
}

void h2_flood_sent(struct h2_flood *f, size_t n)
{
	h2_flood_earn(f, 4 + (unsigned)(n / 256));
}

static unsigned data_price(uint32_t length, uint8_t flags)
{
	if (flags & FLAG_END_STREAM)
		return 0;
	return length < (flags & FLAG_PADDED ? PADDED_TINY : DATA_TINY) ? 1 : 0;
}

/* A frame head is complete. 0 or a connection error. */
static uint32_t flood_frame(struct h2_flood *f)
{
	const uint8_t *h = f->head;
	uint32_t length = (uint32_t)h[0] << 16 | (uint32_t)h[1] << 8 | h[2];
	uint8_t flags = h[4];

	f->type = h[3];
	f->left = length;
	f->have = 0;
	f->ends_block = false;
	switch (f->type) {
	case FRAME_DATA:
		h2_flood_charge(f, data_price(length, flags));
		h2_flood_earn(f, length / 1024);
		break;
	case FRAME_PUSH_PROMISE:
		return CODE_PROTOCOL_ERROR;
	case FRAME_PRIORITY: /* the library looks at none of them, so at no fault in them */
		if (!(h[5] & 0x7f) && !h[6] && !h[7] && !h[8])
			return CODE_PROTOCOL_ERROR; /* section 6.3 */
		h2_flood_charge(f, flood_price[f->type]);
		break;
	case FRAME_HEADERS:
	case FRAME_CONTINUATION:
		f->continuations = f->type == FRAME_HEADERS ? 0 : f->continuations + 1;
		if (f->continuations > LIMIT_H2_CONTINUATIONS)
			return CODE_ENHANCE_YOUR_CALM;
		f->block = true;
		f->ends_block = flags & FLAG_END_HEADERS;
		h2_flood_charge(f, flood_price[f->type]);
		break;
	default:
		h2_flood_charge(
			f, f->type < sizeof(flood_price) ? flood_price[f->type] : PRICE_UNKNOWN);
	}
	return h2_flood_spent(f) ? CODE_ENHANCE_YOUR_CALM : 0;
}

size_t h2_flood_walk(struct h2_flood *f, struct slice in, uint32_t *ret_code)
{
	size_t at = 0;

	*ret_code = 0;
	while (at < in.n) {
		size_t n;

		if (f->left == 0) {
			n = (size_t)H2_FRAME_HEAD - f->have;
			if (n > in.n - at)
				n = in.n - at;
			memcpy(f->head + f->have, in.p + at, n);
			f->have += (uint8_t)n;
			if (f->have == H2_FRAME_HEAD) {
				*ret_code = flood_frame(f);
				if (*ret_code)
					return at;
			}
			at += n;
		} else {
			n = f->left < in.n - at ? f->left : in.n - at;
			f->left -= (uint32_t)n;
			at += n;
		}
		if (f->left == 0 && f->have == 0 && f->ends_block)
			f->block = f->ends_block = false;
	}
	return at;
}
