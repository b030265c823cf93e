/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h – FNV-1a, 64 bits, for tables whose keys a peer cannot flood (bounded tables, compared in full after). */
#ifndef SALLYPORT_HASH_H
#define SALLYPORT_HASH_H

#include "base/slice.h"

static inline uint64_t hash_add(uint64_t h, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ s.p[i]) * 0x100000001b3ULL;
	return (h ^ 0xff) * 0x100000001b3ULL; /* ends the field: ("ab","c") is not ("a","bc") */
}

static inline uint64_t hash_start(void)
{
	return 0xcbf29ce484222325ULL;
}

#endif
