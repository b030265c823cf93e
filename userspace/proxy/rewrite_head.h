/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite_head.h – the heads that go out, made from the heads that came in: hop-by-hop fields end here, framing is ours. */
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
	const struct host *host; /* becomes Host, with the port unless it is the scheme's own */
	uint16_t port;
	bool tls;
	bool judges_methods; /* a rule has methods: override fields must not smuggle another one past it */
	const struct swap_plan *plan;
	const struct swap_request *swap;
	const struct buf *values;
};

/* 0 or -errno; on failure out holds a part that must not be sent. */
int rewrite_request_head(const struct rewrite_request *r, struct buf *out);

struct rewrite_response {
	const struct msg *msg;
	bool chunked; /* the body goes out in chunks */
	bool close; /* this response ends the connection */
	bool client_10;
};

int rewrite_response_head(const struct rewrite_response *r, struct buf *out);

#endif
