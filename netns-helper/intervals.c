/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intervals.c – see intervals.h. The rows overlap and the longest prefix decides, so the address
 * space is cut at every end of every row; within a piece all addresses have one class; neighbours
 * of one answer are joined. Some sixty rows, once for each attach: no cleverness.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bpf/ranges.h"
#include "netns-helper/intervals.h"

#include "base/cleanup.h"

typedef unsigned __int128 intervals_number;

struct intervals_row {
	uint16_t groups[8]; /* of an IPv4 row: four bytes */
	unsigned int length;
	enum range_class class;
};

#define X(a, b, c, d, n, sandbox, dialler, source) {{a, b, c, d}, n, RANGE_##sandbox},
static const struct intervals_row intervals_rows4[] = {RANGES4(X)};
#undef X
#define X(a, b, c, d, e, f, g, h, n, sandbox, dialler, source)                                     \
	{{a, b, c, d, e, f, g, h}, n, RANGE_##sandbox},
static const struct intervals_row intervals_rows6[] = {RANGES6(X)};
#undef X

static intervals_number intervals_last(unsigned int width)
{
	return width == 4 ? (intervals_number)UINT32_MAX : ~(intervals_number)0;
}

static intervals_number intervals_low(const struct intervals_row *row, unsigned int width)
{
	unsigned int groups = width == 4 ? 4 : 8;
	unsigned int bits = width == 4 ? 8 : 16;
	intervals_number low = 0;

	for (unsigned int i = 0; i < groups; i++)
		low = low << bits | row->groups[i];
	return low;
}

static intervals_number intervals_high(const struct intervals_row *row, unsigned int width)
{
	unsigned int host = 8 * width - row->length;

	return intervals_low(row, width) |
	       (host == 128 ? ~(intervals_number)0 : ((intervals_number)1 << host) - 1);
}

static enum range_class intervals_class(
	const struct intervals_row *rows, size_t n, unsigned int width, intervals_number address)
{
	enum range_class class =
		RANGE_PUBLIC; /* IPv4 that no row names; IPv6 has a row for everything */
	unsigned int longest = 0;

	for (size_t i = 0; i < n; i++) {
		if (address < intervals_low(&rows[i], width) ||
			address > intervals_high(&rows[i], width))
			continue;
		if (rows[i].length < longest)
			continue;
		longest = rows[i].length;
		class = rows[i].class;
	}
	return class;
}

static int intervals_order(const void *a, const void *b)
{
	intervals_number x = *(const intervals_number *)a, y = *(const intervals_number *)b;

	return x < y ? -1 : x > y;
}

static void intervals_bytes(intervals_number number, unsigned int width, uint8_t ret[16])
{
	for (unsigned int i = 0; i < 16; i++)
		ret[i] = i < width ? (uint8_t)(number >> 8 * (width - 1 - i)) : 0;
}

static bool intervals_wanted(enum intervals_kind kind, enum range_class class)
{
	return kind == INTERVALS_METADATA ? class == RANGE_METADATA : class != RANGE_PUBLIC;
}

static_assert(
	2 * ARRAY_SIZE(intervals_rows4) + 1 <= INTERVALS_MAX, "every cut may begin an interval");
static_assert(
	2 * ARRAY_SIZE(intervals_rows6) + 1 <= INTERVALS_MAX, "every cut may begin an interval");

size_t intervals_of(
	enum intervals_kind kind, unsigned int width, struct interval ret[INTERVALS_MAX])
{
	const struct intervals_row *rows = width == 4 ? intervals_rows4 : intervals_rows6;
	size_t nrows = width == 4 ? ARRAY_SIZE(intervals_rows4) : ARRAY_SIZE(intervals_rows6);
	intervals_number last = intervals_last(width), cuts[INTERVALS_MAX];
	size_t ncuts = 0, n = 0;
	bool open = false;

	cuts[ncuts++] = 0;
	for (size_t i = 0; i < nrows; i++) {
		cuts[ncuts++] = intervals_low(&rows[i], width);
		if (intervals_high(&rows[i], width) != last)
			cuts[ncuts++] = intervals_high(&rows[i], width) + 1;
	}
	qsort(cuts, ncuts, sizeof(cuts[0]), intervals_order);
	for (size_t i = 0; i < ncuts; i++) {
		bool wanted = intervals_wanted(kind, intervals_class(rows, nrows, width, cuts[i]));

		if (wanted && !open)
			intervals_bytes(cuts[i], width, ret[n].lo);
		if (!wanted && open)
			intervals_bytes(cuts[i] - 1, width, ret[n++].hi);
		open = wanted;
	}
	if (open)
		intervals_bytes(last, width, ret[n++].hi);
	return n;
}
