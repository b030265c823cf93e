/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact.h – heap copies of exactly the size of the bytes, so that the sanitizer sees a parser that
 * reads one byte too many.
 */
#ifndef SALLYPORT_TEST_EXACT_H
#define SALLYPORT_TEST_EXACT_H

#include <stdlib.h>
#include <string.h>

#include "base/slice.h"

/* The caller frees it with exact_free(). */
static inline struct slice exact_copy(struct slice s)
{
	uint8_t *p = malloc(s.n);

	if (s.n)
		memcpy(p, s.p, s.n);
	return slice_of(p, s.n);
}

static inline void exact_free(struct slice s)
{
	free((void *)s.p);
}

#endif
