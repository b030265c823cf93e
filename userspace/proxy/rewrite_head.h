/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_head.h – the heads that go out, made from the heads that came in: hop-by-hop fields end here. How the body is
 * framed is said by whoever writes the head (h1_write.h, h2_session.h).
 */
#ifndef SALLYPORT_PROXY_REWRITE_HEAD_H
#define SALLYPORT_PROXY_REWRITE_HEAD_H

#include <stdbool.h>

#include "model/msg.h"
#include "rewrite/swap.h"

struct buf;
struct host;

struct rewrite_request {
	const struct msg *msg;
	struct slice path; /* origin-form */
	const struct host
		*host; /* becomes authority, with the port unless it is the scheme's own */
	uint16_t port;
	bool tls;
	bool judges_methods; /* a rule has methods: override fields must not smuggle another one past it */
	bool judges_paths; /* a rule has paths: the same for fields that name another path */
	struct slice upgrade; /* what of Upgrade goes on, empty = nothing */
	const struct swap_plan *plan;
	const struct swap_request *swap;
	const struct buf *values;
};

/* The slices of msg are borrowed from what the request was made of, and from this struct. */
struct rewritten {
	struct msg msg;
	char authority[LIMIT_NAME + 16];
};

void rewrite_request_head(const struct rewrite_request *r, struct rewritten *ret);

/* The same for a response, interim ones too. The slices of *ret are borrowed from m's. */
void rewrite_response_head(const struct msg *m, struct msg *ret);

#endif
