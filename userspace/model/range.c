/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c – see range.h. Addresses are compared as 128-bit numbers; the few dozen rows are tried in
 * turn, since this is asked once a dial. A class is that of the longest prefix; where that is
 * PUBLIC, the IPv4 addresses inside have a say (range_embedded() of bpf/ranges.h, the very function
 * that the kernel programs use).
 */
#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/addr.h"
#include "model/range.h"

typedef unsigned __int128 range_number;

static const struct range_row range_table[] = {
#define X(a, b, c, d, n, sandbox, dialler, source)                                                 \
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, 96 + (n),                         \
		{RANGE_##sandbox, RANGE_##dialler}},
	RANGES4(X)
#undef X
#define G(g) (uint8_t)((g) >> 8), (uint8_t)((g)&0xff)
#define X(a, b, c, d, e, f, g, h, n, sandbox, dialler, source)                                     \
	{{G(a), G(b), G(c), G(d), G(e), G(f), G(g), G(h)}, n, {RANGE_##sandbox, RANGE_##dialler}},
		RANGES6(X)
#undef X
#undef G
	/* all of IPv4, or it would be part of the IPv6 rest that is not assigned */
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, {RANGE_PUBLIC, RANGE_PUBLIC}},
};

static const char *const range_names[] = {
#define X(name) #name,
	RANGE_CLASSES(X)
#undef X
};
static_assert(ARRAY_SIZE(range_names) == RANGE_COUNT, "a name for each class");

static range_number range_read(const uint8_t ip[16])
{
	range_number n = 0;

	for (size_t i = 0; i < 16; i++)
		n = n << 8 | ip[i];
	return n;
}

/* The bits behind a prefix; a shift by the full width is not defined in C. */
static range_number range_tail(unsigned prefix)
{
	return prefix >= 128 ? 0 : ~(range_number)0 >> prefix;
}

static enum range_class range_by_row(range_number n, enum range_side side)
{
	const struct range_row *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(range_table); i++) {
		const struct range_row *row = &range_table[i];

		if (((n ^ range_read(row->ip)) & ~range_tail(row->prefix)) == 0 &&
			(!best || row->prefix > best->prefix))
			best = row;
	}
	return best ? (enum range_class)best->class[side] : RANGE_PUBLIC;
}

static range_number range_mapped(uint32_t v4)
{
	return (range_number)0xffff << 32 | v4;
}

static enum range_class range_by_address(const uint8_t ip[16], enum range_side side)
{
	range_number n = range_read(ip);
	enum range_class class = range_by_row(n, side);
	unsigned words[4], inside[2], count;

	if (class != RANGE_PUBLIC || n >> 32 == 0xffff)
		return class;
	memcpy(words, ip, sizeof(words));
	count = range_embedded(words, inside);
	for (unsigned i = 0; i < count && class == RANGE_PUBLIC; i++)
		class = range_by_row(range_mapped(be32toh(inside[i])), side);
	return class;
}

enum range_class range_sandbox(const struct addr *a)
{
	return range_by_address(a->ip, RANGE_SANDBOX);
}

enum range_class range_dialler(const struct addr *a)
{
	return range_by_address(a->ip, RANGE_DIALLER);
}

enum category range_category(enum range_class c)
{
	switch (c) {
	case RANGE_PUBLIC:
		return CATEGORY_NONE;
	case RANGE_METADATA:
		return CATEGORY_METADATA_ADDRESS;
	default:
		return CATEGORY_PRIVATE_ADDRESS;
	}
}

const struct range_row *range_rows(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(range_table);
	return range_table;
}

const char *range_name(enum range_class c)
{
	return range_names[c];
}
