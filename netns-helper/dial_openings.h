/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dial_openings.h – the entries of the LPM map `dial_openings`: what the policies of all sandboxes lift from the refusal of
 * the daemon's own connections. Life: zeroed → replace … → close.
 */
#ifndef SALLYPORT_NETNS_HELPER_DIAL_OPENINGS_H
#define SALLYPORT_NETNS_HELPER_DIAL_OPENINGS_H

#include <stddef.h>

struct capture_opening;
struct capture_range_key;
struct fault;

struct dial_openings {
	struct capture_range_key *keys; /* owned: those in the map now */
	size_t n;
};

/*
 * Replaces all by these n, checked by openings_check(), in which the same one may come often; `all` is put in another order. The new ones come before the
 * old ones go: connections that stay open are never refused meanwhile. -E2BIG: more than CAPTURE_DIAL_OPENINGS different
 * ones, or more ranges of ports over one address than fit; on failure the old ones hold, and perhaps some of the new.
 */
int dial_openings_replace(
	struct dial_openings *o, int map, struct capture_opening *all, size_t n, struct fault *f);
/* Removes them. */
void dial_openings_close(struct dial_openings *o, int map);

#endif
