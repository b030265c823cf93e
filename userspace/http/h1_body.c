/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_body.c – see h1_body.h.
 *
 * Goal: the same body bytes and the same verdict however the input is cut. So framing is a state
 * machine that takes one byte a step and remembers nothing but its state, two counters and what is
 * left of the chunk; data is the only thing that is taken as a run. A call stops before the byte
 * that would begin a second run, and before a byte that is wrong when it already has data to
 * deliver: the next call meets that byte first.
 *
 *   LENGTH ─────────────────────────────────────────────────────────────► ENDED
 *   SIZE ─► (BLANK ─►) (EXTENSION ─►) SIZE_LF ─► DATA ─► DATA_CR ─► DATA_LF ─► SIZE …
 *                                        └─ size 0 ─► TRAILERS
 *   CLOSE: everything is body.           any state ─► BAD, for good
 *
 * Not here: the trailer section, which is a head: h1_trailers_parse().
 */
#include <assert.h>
#include <errno.h>

#include "http/fields.h"
#include "http/h1_body.h"

enum h1_body_state {
	BODY_LENGTH,
	BODY_CLOSE,
	BODY_SIZE, /* in the hex digits, or before the first */
	BODY_BLANK, /* white space between the size and ';' */
	BODY_EXTENSION, /* after ';' */
	BODY_SIZE_LF,
	BODY_DATA,
	BODY_DATA_CR,
	BODY_DATA_LF,
	BODY_TRAILERS, /* the last chunk's size line is read */
	BODY_ENDED,
	BODY_BAD,
};

enum { BODY_DIGITS_MAX = 16 };

void h1_body_init(struct h1_body *b, enum framing framing, uint64_t length)
{
	static const uint8_t first[] = {
		[FRAMING_NONE] = BODY_ENDED,
		[FRAMING_LENGTH] = BODY_LENGTH,
		[FRAMING_CHUNKED] = BODY_SIZE,
		[FRAMING_CLOSE] = BODY_CLOSE,
	};

	*b = (struct h1_body){.state = first[framing]};
	if (framing == FRAMING_LENGTH) {
		b->left = length;
		if (length == 0)
			b->state = BODY_ENDED;
	}
}

static int h1_body_hex(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = slice_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The state after c in the size, which has at most 64 bits because it has at most 16 digits. */
static enum h1_body_state h1_body_size(struct h1_body *b, uint8_t c)
{
	int hex = h1_body_hex(c);

	if (hex >= 0) {
		if (b->digits == BODY_DIGITS_MAX)
			return BODY_BAD;
		b->digits++;
		b->left = b->left << 4 | (uint64_t)hex;
		return BODY_SIZE;
	}
	if (b->digits == 0)
		return BODY_BAD;
	switch (c) {
	case '\r':
		return BODY_SIZE_LF;
	case ';':
		return BODY_EXTENSION;
	case ' ':
	case '\t':
		return BODY_BLANK;
	default:
		return BODY_BAD;
	}
}

static enum h1_body_state h1_body_size_done(struct h1_body *b)
{
	b->digits = 0;
	b->extra = 0;
	return b->left ? BODY_DATA : BODY_TRAILERS;
}

/* Counts a byte of an extension, which is dropped: `next` while it fits. */
static enum h1_body_state h1_body_extra(struct h1_body *b, enum h1_body_state next)
{
	if (b->extra == H1_BODY_EXTENSION_MAX)
		return BODY_BAD;
	b->extra++;
	return next;
}

/* The state after byte c of the framing. */
static enum h1_body_state h1_body_step(struct h1_body *b, uint8_t c)
{
	switch ((enum h1_body_state)b->state) {
	case BODY_SIZE:
		return h1_body_size(b, c);
	case BODY_BLANK:
		if (c == ';')
			return BODY_EXTENSION;
		if (c != ' ' && c != '\t')
			return BODY_BAD; /* "5 \r\n" too: others read a size of another length there
					  */
		return h1_body_extra(b, BODY_BLANK);
	case BODY_EXTENSION:
		if (c == '\r')
			return BODY_SIZE_LF;
		if (!fields_vchar(c))
			return BODY_BAD;
		return h1_body_extra(b, BODY_EXTENSION);
	case BODY_SIZE_LF:
		return c == '\n' ? h1_body_size_done(b) : BODY_BAD;
	case BODY_DATA_CR:
		return c == '\r' ? BODY_DATA_LF : BODY_BAD;
	case BODY_DATA_LF:
		return c == '\n' ? BODY_SIZE : BODY_BAD;
	case BODY_LENGTH:
	case BODY_CLOSE:
	case BODY_DATA:
	case BODY_TRAILERS:
	case BODY_ENDED:
	case BODY_BAD:
		break;
	}
	return BODY_BAD;
}

/* Takes the run of body bytes at the front of `in`. */
static struct slice h1_body_run(struct h1_body *b, struct slice in)
{
	if (b->state == BODY_CLOSE)
		return in;
	if (b->left < in.n)
		in.n = (size_t)b->left;
	b->left -= in.n;
	if (b->left == 0)
		b->state = b->state == BODY_DATA ? BODY_DATA_CR : BODY_ENDED;
	return in;
}

int h1_body_next(struct h1_body *b, struct slice in, size_t *ret_used, struct slice *ret_data)
{
	struct slice data = {in.p, 0};
	size_t used = 0;

	while (used < in.n && b->state < BODY_TRAILERS) {
		if (b->state <= BODY_CLOSE || b->state == BODY_DATA) {
			if (data.n)
				break;
			data = h1_body_run(b, slice_skip(in, used));
			used += data.n;
		} else {
			struct h1_body before = *b;
			enum h1_body_state next = h1_body_step(b, in.p[used]);

			if (next == BODY_BAD && data.n) {
				*b = before;
				break;
			}
			b->state = (uint8_t)next;
			used++;
		}
	}
	if (b->state == BODY_BAD)
		return -EBADMSG;
	*ret_used = used;
	*ret_data = data;
	if (b->state == BODY_TRAILERS)
		return 2;
	return b->state == BODY_ENDED;
}

int h1_body_eof(const struct h1_body *b)
{
	return b->state == BODY_CLOSE || b->state == BODY_ENDED ? 0 : -EBADMSG;
}
