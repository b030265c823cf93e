/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.h – rtnetlink in the calling thread's network namespace: lo up, own addresses, every
 * address local. */
#ifndef SALLYPORT_ROUTES_H
#define SALLYPORT_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/* What was made, so that it can be taken back. */
struct routes {
	bool lo_was_down;
	bool v4; /* own address and AnyIP route of that family are in place */
	bool v6;
};

/*
 * 0 when no link but lo could carry a packet: others are refused unless they are the fallback
 * tunnels that some kernels put into every namespace and are down. -EBUSY names the link.
 */
int routes_only_lo(struct fault *fault);

/*
 * lo up, own4/32 and own6/128, `local default dev lo src OWN table local`. A kernel or namespace
 * without IPv6 leaves ret->v6 false and is no failure. On failure what was done is taken back. 0 or
 * -errno.
 */
int routes_set_up(
	const uint8_t own4[4], const uint8_t own6[16], struct fault *fault, struct routes *ret);

/* Takes back what routes_set_up() made; what is gone already is no failure. */
void routes_take_back(const struct routes *routes, const uint8_t own4[4], const uint8_t own6[16]);

#endif
