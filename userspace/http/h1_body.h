/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_body.h – the body of an HTTP/1.x message (RFC 9112 sections 6 and 7), taken out of its framing
 * as it arrives.
 */
#ifndef SALLYPORT_H1_BODY_H
#define SALLYPORT_H1_BODY_H

#include "base/slice.h"
#include "model/msg.h"

enum {
	H1_BODY_EXTENSION_MAX = 4096, /* bytes of one chunk's extensions */
	H1_BODY_TRAILER_MAX = 8192, /* bytes of the trailer section, its empty line included */
};

enum { H1_BODY_TRAILERS = 2 }; /* an answer of h1_body_next() */

struct h1_body {
	uint8_t state; /* enum h1_body_state, private */
	uint8_t digits; /* of the chunk size read so far */
	uint16_t extra; /* bytes of extension so far */
	uint64_t left; /* bytes of the body (FRAMING_LENGTH) or of this chunk still to come */
};

/* length counts for FRAMING_LENGTH only. */
void h1_body_init(struct h1_body *b, enum framing framing, uint64_t length);

/*
 * Takes bytes from the front of `in`: *ret_used of them, of which *ret_data (borrowed, one run, may
 * be empty) are body. 1 = the body has ended with them; what follows belongs to the next message. 2 =
 * the data has ended with the last chunk's size line; what follows is the trailer section, for
 * h1_trailers_parse(), and then the next message. Only FRAMING_CHUNKED ends so, and never with 1. 0
 * = not ended: call again with the rest, or with more once the rest is empty (each call with bytes
 * uses at least one). -EBADMSG = malformed, and so is every later call; data before the fault has
 * been delivered by earlier calls. A body that is already over (FRAMING_NONE, length 0) answers 1
 * with nothing used, so ask once before waiting for bytes.
 *
 * Chunk sizes: 1 to 16 hex digits, nothing before them; extensions are checked, bounded and
 * dropped.
 */
int h1_body_next(struct h1_body *b, struct slice in, size_t *ret_used, struct slice *ret_data);

/*
 * The connection ended here: 0 if that was the proper end of the body (or it had ended), -EBADMSG
 * if it is cut short, before its trailer section too.
 */
int h1_body_eof(const struct h1_body *b);

#endif
