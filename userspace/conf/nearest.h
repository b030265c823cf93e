/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h – which of the known words somebody meant who wrote another one. */
#ifndef SALLYPORT_CONF_NEAREST_H
#define SALLYPORT_CONF_NEAREST_H

#include "base/slice.h"

enum { NEAREST_HINT = 80 };

struct nearest {
	struct slice to; /* what was written */
	const char *word; /* the nearest one so far, borrowed; NULL = none is near */
	unsigned distance;
};

void nearest_to(struct nearest *best, struct slice to);
/* Offers a known word. Two letters may be missing, too many, other or swapped. */
void nearest_try(struct nearest *best, const char *word);
/* "; did you mean `WORD`?", or "" when none is near. Returns ret. */
const char *nearest_hint(const struct nearest *best, char ret[NEAREST_HINT]);

#endif
