/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match.bpf.h – what a destination is: local, of which class, opened by the policy. Nothing here
 * writes a map.
 *
 * Addresses are four words in network order, IPv4 v4-mapped, so that one path serves connect4,
 * connect6 and the v4-mapped destinations that arrive at connect6.
 */
#ifndef SALLYPORT_BPF_MATCH_BPF_H
#define SALLYPORT_BPF_MATCH_BPF_H

#include "bpf/maps.bpf.h"

enum { MATCH_PORT_DNS = 53, MATCH_PORT_DOT = 853 };
enum { MATCH_RESOLVER = 0x7f00000b }; /* 127.0.0.11, where container runtimes have theirs */

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

/* user_port is a 32-bit field with a 16-bit value in network order; the volatile read keeps its
 * access 32 bits wide. */
static __always_inline __u16 match_port(struct bpf_sock_addr *ctx)
{
	volatile __u32 port = ctx->user_port;

	return bpf_ntohs((__u16)port);
}

static __always_inline void match_attempt4(struct bpf_sock_addr *ctx, struct attempt *a)
{
	match_set_v4(a->dst, ctx->user_ip4);
	a->dport = match_port(ctx);
	a->netns = bpf_get_netns_cookie(ctx);
}

static __always_inline void match_attempt6(struct bpf_sock_addr *ctx, struct attempt *a)
{
	a->dst[0] = ctx->user_ip6[0];
	a->dst[1] = ctx->user_ip6[1];
	a->dst[2] = ctx->user_ip6[2];
	a->dst[3] = ctx->user_ip6[3];
	a->dport = match_port(ctx);
	a->netns = bpf_get_netns_cookie(ctx);
}

static __always_inline bool match_same(const __u32 a[4], const __u32 b[4])
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/*
 * Loopback of this netns: 127/8, ::1, and the unspecified addresses, which Linux connects to
 * loopback (a program that serves on 0.0.0.0 is often asked for at 0.0.0.0).
 */
static __always_inline bool match_loopback(const __u32 w[4])
{
	if (w[0] || w[1])
		return false;
	if (w[2] == bpf_htonl(0xffff))
		return (w[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000) || w[3] == 0;
	return w[2] == 0 && (w[3] == bpf_htonl(1) || w[3] == 0);
}

/* An address of its uplink. There are none when it is sealed. */
static __always_inline bool match_uplink(const struct capture_sandbox *s, const __u32 w[4])
{
	if (s->mode != CAPTURE_UPLINK || (w[0] | w[1] | w[2] | w[3]) == 0)
		return false;
	for (unsigned i = 0; i < CAPTURE_LOCALS; i++)
		if (match_same(w, (const __u32 *)s->locals[i]))
			return true;
	return false;
}

/* An address of the sandbox itself. */
static __always_inline bool match_own(const struct capture_sandbox *s, const __u32 w[4])
{
	return match_same(w, (const __u32 *)s->own4) || match_same(w, (const __u32 *)s->own6) ||
	       match_uplink(s, w);
}

/* The container runtime's own resolver, at a port that is not DNS: it would ask the outside for us. */
static __always_inline bool match_resolver(
	const struct capture_sandbox *s, const __u32 w[4], __u16 dport)
{
	return s->resolver && dport != MATCH_PORT_DNS && w[0] == 0 && w[1] == 0 &&
	       w[2] == bpf_htonl(0xffff) && w[3] == bpf_htonl(MATCH_RESOLVER);
}

enum match_side { MATCH_SANDBOX, MATCH_DIALLER }; /* columns of bpf/ranges.h */

/*
 * The class of an address itself, on that side: one of the host, else the row with the
 * longest prefix. A metadata address stays one if the host has it, as openings of metadata must say
 * so.
 */
static __always_inline unsigned match_row(const __u32 w[4], enum match_side side)
{
	struct capture_range_key key = {.prefixlen = 128};
	const struct capture_range *row;
	unsigned class;

	__builtin_memcpy(key.ip, w, sizeof(key.ip));
	row = bpf_map_lookup_elem(&ranges, &key);
	class = !row ? RANGE_PUBLIC : side == MATCH_SANDBOX ? row->sandbox : row->dialler;
	if (class == RANGE_METADATA)
		return class;
	if (bpf_map_lookup_elem(&hosts, key.ip))
		return RANGE_HOST;
	return class;
}

/* The class of an address; what carries IPv4 addresses has the first class that is not public. */
static __always_inline unsigned match_class(const __u32 w[4], enum match_side side)
{
	unsigned class = match_row(w, side), n;
	__u32 inside[2] = {0, 0}, mapped[4];

	if (class != RANGE_PUBLIC || (w[0] == 0 && w[1] == 0 && w[2] == bpf_htonl(0xffff)))
		return class;
	n = range_embedded(w, inside);
	if (n > 0) {
		match_set_v4(mapped, inside[0]);
		class = match_row(mapped, side);
	}
	if (n > 1 && class == RANGE_PUBLIC) {
		match_set_v4(mapped, inside[1]);
		class = match_row(mapped, side);
	}
	return class;
}

/* Is the port in one of these ranges? For a metadata address only one that says metadata counts. */
static __always_inline bool match_ports(
	const struct capture_opened *open, __u16 port, bool metadata)
{
	for (unsigned i = 0; i < CAPTURE_OPENINGS && i < open->n; i++) {
		const struct capture_ports *p = &open->ports[i];

		if (port >= p->lo && port <= p->hi && (!metadata || p->metadata))
			return true;
	}
	return false;
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
