/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.h – Upgrade in HTTP/1.1 (RFC 9110 section 7.8): which protocols a request may offer to the upstream, and whether
 * a 101 keeps to that. h2c is not offered: both sides settle their own version.
 */
#ifndef SALLYPORT_PROXY_UPGRADE_H
#define SALLYPORT_PROXY_UPGRADE_H

#include "base/slice.h"

struct msg;

enum { UPGRADE_TEXT = 128 };

struct upgrade {
	char offered[UPGRADE_TEXT]; /* what goes on, a list of tokens */
	size_t n; /* 0 = nothing is offered */
	bool websocket; /* it is WebSocket and nothing else (RFC 6455) */
};

/* What that request offers. A request with a body, or of HTTP/1.0, offers nothing. */
void upgrade_offer(const struct msg *m, struct upgrade *ret);
/* NULL and out->upgrade set (borrowed from m) when the 101 takes one of them; otherwise why not, a constant. */
const char *upgrade_accept(const struct upgrade *u, const struct msg *m, struct msg *out);

#endif
