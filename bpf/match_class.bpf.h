/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match_class.bpf.h – of which class a destination is, and whether the policy has opened it: for the cgroup programs and
 * for sk_lookup. Nothing here writes a map.
 *
 * Addresses are four words in network order, IPv4 v4-mapped, so that one path serves connect4,
 * connect6 and the v4-mapped destinations that arrive at connect6.
 */
#ifndef SALLYPORT_BPF_MATCH_CLASS_BPF_H
#define SALLYPORT_BPF_MATCH_CLASS_BPF_H

#include "bpf/judge_maps.bpf.h"

#ifndef MATCH_SMALL
#define MATCH_SMALL 0
#endif

/* One attempt to reach something. */
struct attempt {
	__u32 dst[4];
	__u16 dport; /* host order */
	__u8 proto;
	__u64 netns;
};

static __always_inline void match_set_v4(__u32 w[4], __u32 v4)
{
	w[0] = 0;
	w[1] = 0;
	w[2] = bpf_htonl(0xffff);
	w[3] = v4;
}

enum match_side { MATCH_SANDBOX, MATCH_DIALLER }; /* columns of bpf/ranges.h */

/*
 * IPv4's rows as instructions: a comparison each, where the tree of `ranges` takes a tenth of what a refused connect()
 * costs. A narrower row stands behind the wider ones (ranges.h), so the last that matches decides. Not in sk_lookup's
 * program, which is there once for each sandbox and has to fit a page (MATCH_SMALL): that asks the tree, which has all
 * rows.
 */
static __always_inline unsigned match_row4(__u32 ip, enum match_side side)
{
	const __u32 host = bpf_ntohl(ip);
	unsigned class = RANGE_PUBLIC;

#define X(a, b, c, d, length, sandbox, dialler, source)                                            \
	if (host >> (32 - length) ==                                                               \
		((__u32)(a) << 24 | (b) << 16 | (c) << 8 | (d)) >> (32 - length))                  \
		class = side == MATCH_SANDBOX ? RANGE_##sandbox : RANGE_##dialler;
	RANGES4(X)
#undef X
	return class;
}

/*
 * The class of an address itself, on that side: one of the host, else the row with the
 * longest prefix. A metadata address stays one if the host has it, as openings of metadata must say
 * so. One key for both maps: the stack of a chain of calls is 512 bytes in all (tests/bpf/test_stack.py).
 */
static __always_inline unsigned match_row(const __u32 w[4], enum match_side side)
{
	bool mapped = w[0] == 0 && w[1] == 0 && w[2] == bpf_htonl(0xffff);
	struct capture_range_key key = {.prefixlen = 128};
	const struct capture_range *row;
	unsigned class;

	__builtin_memcpy(key.ip, w, sizeof(key.ip));
	if (mapped && !MATCH_SMALL) {
		class = match_row4(w[3], side);
	} else {
		row = bpf_map_lookup_elem(&ranges, &key);
		class = !row ? RANGE_PUBLIC : side == MATCH_SANDBOX ? row->sandbox : row->dialler;
	}
	if (class == RANGE_METADATA)
		return class;
	return bpf_map_lookup_elem(&hosts, key.ip) ? RANGE_HOST : class;
}

/* The class of an address; what carries IPv4 addresses has the first class that is not public. */
static __always_inline unsigned match_class(const __u32 w[4], enum match_side side)
{
	__u32 inside[2] = {0, 0}, at[4] = {w[0], w[1], w[2], w[3]};
	bool mapped = w[0] == 0 && w[1] == 0 && w[2] == bpf_htonl(0xffff);
	unsigned class = RANGE_PUBLIC, n = mapped ? 0 : range_embedded(w, inside);

#pragma clang loop unroll(disable)
	for (unsigned i = 0; i <= 2 && i <= n && class == RANGE_PUBLIC; i++) {
		class = match_row(at, side);
		match_set_v4(at, inside[0]);
		inside[0] = inside[1];
	}
	return class;
}

/*
 * Is the port in one of these ranges? For a metadata address only one that says metadata counts. By signs, not by
 * branches: of these the verifier would follow each way out of each turn, 4 ms for each sandbox's sk_lookup program.
 */
static __always_inline bool match_ports(
	const struct capture_opened *open, __u16 port, bool metadata)
{
	const __s64 least = metadata;
	__s64 outside = -1; /* negative as long as every range has been */

#pragma clang loop unroll(disable)
	for (unsigned i = 0; i < CAPTURE_OPENINGS && i < open->n; i++) {
		const struct capture_ports *p = &open->ports[i];

		outside &= (__s64)port - p->lo | (__s64)p->hi - port | (__s64)p->metadata - least;
	}
	return outside >= 0;
}

/* Has the policy lifted the refusal? A metadata address only by an opening that says so. */
static __always_inline bool match_opened(const struct attempt *a, bool metadata)
{
	struct capture_opening_key key = {.prefixlen = 64 + 128};
	const struct capture_opened *open;

	__builtin_memcpy(key.netns, &a->netns, sizeof(key.netns));
	__builtin_memcpy(key.ip, a->dst, sizeof(key.ip));
	open = bpf_map_lookup_elem(&openings, &key);
	return open && match_ports(open, a->dport, metadata);
}

#endif
