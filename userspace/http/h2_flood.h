/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_flood.h – what a peer may cost. Walks the frames of a connection by their heads alone and
 * keeps an account: frames that move nothing forward cost, work that was done for both and time
 * bring in. Only for files in this folder and its tests.
 */
#ifndef SALLYPORT_H2_FLOOD_H
#define SALLYPORT_H2_FLOOD_H

#include "base/slice.h"

enum {
	H2_FRAME_HEAD = 9, /* bytes, RFC 9113 section 4.1 */
	H2_MAGIC = 24, /* bytes of a client's preface, RFC 9113 section 3.4 */

	FLOOD_MOST = 4000, /* what an account begins with and never passes */
	FLOOD_PER_SECOND = 200,
	FLOOD_KILLED = 10, /* price of a request that the peer opened and made futile */
	FLOOD_WORTH = 12, /* what an exchange that came to its end brings in */
};

struct h2_flood {
	uint64_t told; /* ms, the last time that was told */
	int32_t credit;
	uint32_t left; /* bytes of the frame (or of the preface) that are still to come */
	uint8_t head[H2_FRAME_HEAD];
	uint8_t have; /* bytes of head, 0 while in a payload */
	uint8_t type; /* of the frame whose payload is coming */
	bool block; /* a field block has begun and is not complete */
	uint16_t continuations; /* of it */
	bool ends_block; /* the frame whose payload is coming has END_HEADERS */
};

/* magic: the peer begins with a client's preface, which is passed over (the library checks it). */
void h2_flood_init(struct h2_flood *f, bool magic, uint64_t now);

/* Time brings in. now: ms. */
void h2_flood_time(struct h2_flood *f, uint64_t now);

/*
 * Walks over all of `in`, which continues what came before. Returns how many bytes of it may be
 * fed to the library: all with *ret_code 0; otherwise the frame that follows them is one too many,
 * or of a kind that no peer of ours may send, and *ret_code is the connection error (RFC 9113
 * section 7).
 */
size_t h2_flood_walk(struct h2_flood *f, struct slice in, uint32_t *ret_code);

/* Takes price off the account. */
void h2_flood_charge(struct h2_flood *f, unsigned price);
/* Adds to it. */
void h2_flood_earn(struct h2_flood *f, unsigned worth);
/* A DATA frame of n bytes was sent: worth the WINDOW_UPDATE and PING frames that it causes. */
void h2_flood_sent(struct h2_flood *f, size_t n);

static inline bool h2_flood_spent(const struct h2_flood *f)
{
	return f->credit < 0;
}

/* Bytes of a field block have come and not all of them. */
static inline bool h2_flood_in_block(const struct h2_flood *f)
{
	return f->block;
}

#endif
