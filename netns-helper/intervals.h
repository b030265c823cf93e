/* SPDX-License-Identifier: GPL-2.0-or-later */
/* intervals.h – the refused addresses of bpf/ranges.h as disjoint intervals, the form that nft sets
 * take. */
#ifndef SALLYPORT_INTERVALS_H
#define SALLYPORT_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

enum { INTERVALS_MAX = 128 };

enum intervals_kind {
	INTERVALS_REFUSED, /* every class but public, on the sandbox's side */
	INTERVALS_METADATA, /* of these, metadata alone */
};

/* Both ends belong to it; network order, IPv4 in the first four bytes. */
struct interval {
	uint8_t lo[16];
	uint8_t hi[16];
};

/*
 * Fills ret with ascending intervals that neither overlap nor touch and returns their number. width
 * is 4 (IPv4) or 16 (IPv6, each address by its own row: those that carry an IPv4 address count as
 * their row says).
 */
size_t intervals_of(
	enum intervals_kind kind, unsigned int width, struct interval ret[INTERVALS_MAX]);

#endif
