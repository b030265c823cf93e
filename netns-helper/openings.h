/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openings.h – one sandbox's entries in the LPM map `openings`: the ranges that its policy lifts. */
#ifndef SALLYPORT_NETNS_HELPER_OPENINGS_H
#define SALLYPORT_NETNS_HELPER_OPENINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/capture.h"

struct fault;

/* -EINVAL or -E2BIG, with the reason, for what no policy can mean. The other functions want it checked. */
int openings_check(const struct capture_opening *all, size_t n, struct fault *f);

/* Whether every address of `narrow` is one of `wide`. */
bool openings_covers(const struct capture_opening *wide, const struct capture_opening *narrow);

struct openings {
	struct capture_opening_key *keys; /* owned: those in the map now */
	size_t n;
};

/*
 * Replaces the sandbox's openings by these n. The old ones go first. -EINVAL or -E2BIG with the
 * reason: nothing has changed. Another -errno: none are left.
 */
int openings_replace(struct openings *o, int map, uint64_t netns, const struct capture_opening *all,
	size_t n, struct fault *f);
/* Removes them. */
void openings_close(struct openings *o, int map);

#endif
