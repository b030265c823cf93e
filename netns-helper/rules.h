/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.h – the order in which routing tables are asked in a sandbox with an uplink: replies to
 * inbound flows first in `main`, everything first in `local`, where every address is. Called inside
 * the namespace (netns_within).
 */
#ifndef SALLYPORT_RULES_H
#define SALLYPORT_RULES_H

#include <stdbool.h>

#include "base/fault.h"

enum { RULES_MARK = 0x5a117001 }; /* the packet mark of a reply to an inbound flow */

/* What was made, so that it can be taken back. */
struct rules {
	bool v4;
	bool v6;
};

/*
 * Puts `0: fwmark RULES_MARK lookup main` and `1: lookup local` in place of `0: lookup local`, in
 * IPv4 and, when asked, in IPv6, and reads the order back. What a dead helper left is taken over.
 * On failure what was done is taken back. 0 or -errno.
 */
int rules_set_up(bool v6, struct fault *fault, struct rules *ret);

/* `local` first again, then ours go; what is gone already is no failure. */
void rules_take_back(const struct rules *rules);

#endif
