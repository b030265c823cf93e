/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h – the path of a request as rules read it, and the patterns that are compared with it. A path that two servers
 * could read differently is refused here, never normalised into a match: what is judged is what is forwarded.
 */
#ifndef SALLYPORT_POLICY_PATHS_H
#define SALLYPORT_POLICY_PATHS_H

#include "base/slice.h"

/*
 * What is wrong with the path of a target, as a constant sentence, or NULL. After one percent-decode it may hold no `.` or
 * `..` segment (also in front of a `;`, and where an escaped slash ends it), no backslash, no control byte, no bad
 * escape and no overlong form of UTF-8. The query is not looked at; `*` is good.
 */
const char *path_fault(struct slice target);

struct path_pattern {
	const uint16_t *units; /* bytes and signs, see paths.c */
	size_t n;
};

enum { PATH_WHY = 200 };

/*
 * Reads a pattern of a document to units, which the caller owns and which has room for text.n of them. 0, or -EINVAL and
 * why.
 */
int path_pattern_parse(
	struct slice text, uint16_t *units, struct path_pattern *ret, char why[PATH_WHY]);

/*
 * Whether the target's path, query aside, is one of the pattern's. The target is a good one (path_fault()); `*` is no path.
 * `broad`: an escaped delimiter counts as the delimiter too (%40, @), as most servers take it: for what is denied.
 *
 * Takes time for at most (bytes of the path) x (units of the pattern), and no memory.
 */
bool path_pattern_match(const struct path_pattern *p, struct slice target, bool broad);

/* Whether everything that b matches is matched by a; false also where that is hard to see. */
bool path_pattern_covers(const struct path_pattern *a, const struct path_pattern *b, bool broad);

#endif
