/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match.bpf.h – what a destination is to the cgroup programs: local or not; its class is in
 * match_class.bpf.h. Nothing here writes a map.
 */
#ifndef SALLYPORT_BPF_MATCH_BPF_H
#define SALLYPORT_BPF_MATCH_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/match_class.bpf.h"

enum { MATCH_PORT_DNS = 53, MATCH_PORT_DOT = 853 };
enum { MATCH_RESOLVER = 0x7f00000b }; /* 127.0.0.11, where container runtimes have theirs */

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

#endif
