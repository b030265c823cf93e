/* SPDX-License-Identifier: Apache-2.0 */
/* h1_answer.h – what a parser of heads or trailers says of some bytes, and that two of its answers are the same. */
#ifndef SALLYPORT_FUZZ_H1_ANSWER_H
#define SALLYPORT_FUZZ_H1_ANSWER_H

#include <assert.h>
#include <string.h>

#include "model/msg.h"
#include "msg_same.h"

struct answer {
	int r;
	size_t used;
	const char *why;
	struct msg m;
};

static inline void check_same(const struct answer *a, const struct answer *b)
{
	assert(a->r == b->r && a->used == b->used && strcmp(a->why, b->why) == 0);
	assert(a->r != 1 || msg_same(&a->m, &b->m));
}

#endif
