/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c – see range.h. Addresses are compared as 128-bit numbers; the few dozen rows are tried in turn, since this
 * is asked once a dial. A class is that of the longest prefix; where that is PUBLIC, the IPv4 addresses inside have a
 * say (range_embedded() of bpf/ranges.h, the very function that the kernel programs use).
 */
#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/addr.h"
#include "model/range.h"

typedef unsigned __int128 range_number;

static const struct range_row range_table[] = {
#define X(a, b, c, d, n, sandbox, dialler, source) \
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, 96 + (n), {RANGE_##sandbox, RANGE_##dialler}},
	RANGES4(X)
#undef X
#define G(g) (uint8_t)((g) >> 8), (uint8_t)((g)&0xff)
#define X(a, b, c, d, e, f, g, h, n, sandbox, dialler, source) \
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

static void range_write(range_number n, uint8_t ret[16])
{
	for (size_t i = 16; i-- > 0; n >>= 8)
		ret[i] = (uint8_t)n;
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

/* ---- intervals ---------------------------------------------------------------------------------------------------- */

/*
 * The class can change only where a row begins or ends, or where a row of IPv4 does so inside a form that carries an
 * IPv4 address at a fixed place. So: collect these edges, ask for the class at each, join neighbours.
 */
enum { RANGE_EDGES = 2 * ARRAY_SIZE(range_table) * 5 };

struct range_edges {
	range_number at[RANGE_EDGES];
	size_t n;
};

/* Where an IPv4 address stands: this prefix, then the address, then `shift` bits. */
static const struct {
	uint16_t groups[6];
	unsigned shift;
} range_carriers[] = {
	{{0, 0, 0, 0, 0, 0}, 0},
	{{0, 0, 0, 0, 0xffff, 0}, 0},
	{{0x64, 0xff9b, 0, 0, 0, 0}, 0},
	{{0x2002, 0, 0, 0, 0, 0}, 80},
};

static void range_add_edges(struct range_edges *e, range_number first, range_number last)
{
	e->at[e->n++] = first;
	if (last != ~(range_number)0)
		e->at[e->n++] = last + 1;
}

static void range_add_carried(struct range_edges *e, range_number first, range_number last)
{
	for (size_t i = 0; i < ARRAY_SIZE(range_carriers); i++) {
		range_number base = 0;

		for (size_t g = 0; g < 6; g++)
			base = base << 16 | range_carriers[i].groups[g];
		base <<= 32;
		range_add_edges(e, base | (range_number)(uint32_t)first << range_carriers[i].shift,
			base | (range_number)(uint32_t)last << range_carriers[i].shift |
				(((range_number)1 << range_carriers[i].shift) - 1));
	}
}

static int range_compare(const void *a, const void *b)
{
	const range_number *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool range_refused_at(range_number n, bool v6)
{
	uint8_t ip[16];

	if (v6 && n >> 32 == 0xffff)
		return true;
	range_write(n, ip);
	return range_by_address(ip, RANGE_SANDBOX) != RANGE_PUBLIC;
}

static void range_collect_edges(bool v6, struct range_edges *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(range_table); i++) {
		range_number first = range_read(range_table[i].ip);
		range_number last = first | range_tail(range_table[i].prefix);

		range_add_edges(e, first, last);
		if (v6 && first >> 32 == 0xffff)
			range_add_carried(e, first, last);
	}
	qsort(e->at, e->n, sizeof(e->at[0]), range_compare);
}

unsigned range_refused(bool v6, struct range_interval ret[RANGE_INTERVALS])
{
	struct range_edges e = {.n = 0};
	range_number least = v6 ? 0 : range_mapped(0), most = v6 ? ~(range_number)0 : range_mapped(UINT32_MAX);
	bool open = false;
	unsigned n = 0;

	range_collect_edges(v6, &e);
	for (size_t i = 0; i < e.n && n < RANGE_INTERVALS; i++) {
		range_number at = e.at[i];

		if (at < least || at > most || (i && at == e.at[i - 1]))
			continue;
		if (range_refused_at(at, v6) == open)
			continue;
		if (!open)
			range_write(at, ret[n].lo);
		else
			range_write(at - 1, ret[n++].hi);
		open = !open;
	}
	if (open && n < RANGE_INTERVALS)
		range_write(most, ret[n++].hi);
	return n;
}
