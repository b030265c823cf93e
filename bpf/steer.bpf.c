// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * steer.bpf.c – every TCP connection and every DNS question of a netns goes to our sockets:
 * sk_lookup on the netns, for sockets of whatever cgroup and age.
 *
 * The route makes every destination local, so that a connection arrives on lo with the address that
 * the program asked for; here a socket is chosen for it. The accepted socket's getsockname() is
 * that address: nothing is rewritten.
 *
 * The order, the first that applies decides:
 *   1. came in by another interface than lo   passes, or an outsider would reach us as the sandbox
 *   2. port 53                                ours, whatever the address
 *   3. port 853                               dropped
 *   4. the self-test's place (bpf/probe.h)    dropped
 *   5. 127.0.0.11 of a container runtime      dropped
 *   6. loopback, own addresses, the uplink's  pass: own services, and the replies to DNS clients
 *   7. other UDP                              dropped
 *   8. of a refused class, and not opened     dropped: sockets of the cgroup have been refused before
 *   9. TCP                                    ours
 * "Ours" means a listener for TCP, the DNS socket for UDP, and a drop while the sandbox is not
 * active, while no daemon serves (outage.bpf.h), or if the slot is empty. The sockets are of AF_INET6 and serve both families, or of AF_INET
 * where there is no IPv6 (bpf_sk_assign() then takes IPv4 alone). A drop of a SYN is answered by a reset, a drop of UDP by port
 * unreachable: the client knows at once.
 *
 * A listener is chosen by a hash of the client's port (client ports are mostly of one parity: the
 * port itself would fill half the slots), and never by the listener's reuseport group, which a root
 * in the sandbox could join. There is no netns cookie in these programs, hence a program and a SOCKMAP
 * for each netns, with the cookie in its instructions (steer_program.c); all else is in the maps that the cgroup
 * programs have: by the cookie it finds the sandbox's entry, and drops while there is none. It should fit a page of 503
 * instructions, which is what each netns pays. Needs (floor 6.1): sk_lookup 5.9, ingress_ifindex 5.17.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define MATCH_SMALL 1
#include "bpf/match_class.bpf.h"
#include "bpf/outage.bpf.h"
#include "bpf/probe.h"
#include "bpf/steer.h"

enum { STEER_LO = 1, STEER_AF_INET = 2, STEER_PORT_DNS = 53, STEER_PORT_DOT = 853 };
enum { STEER_RESOLVER = 0x7f00000b }; /* 127.0.0.11 */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, CAPTURE_SLOT_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} steer_slots SEC(".maps");

/* What differs from netns to netns: numbers that are written into the instructions (bpf/steer.h). */
static __always_inline __u64 steer_netns(void)
{
	__u64 value;

	asm volatile("%0 = %1 ll" : "=r"(value) : "i"(STEER_NETNS));
	return value;
}

static __always_inline __u64 steer_nslots(void)
{
	__u64 value;

	asm volatile("%0 = %1 ll" : "=r"(value) : "i"(STEER_NSLOTS));
	return value;
}

/* Where it goes, four words in network order, IPv4 v4-mapped. The barriers keep
 * clang from choosing between two places in the context before it reads, which the verifier refuses. */
static __always_inline void steer_destination(struct bpf_sk_lookup *ctx, __u32 ret[4])
{
	bool v4 = ctx->family == STEER_AF_INET;
	__u32 ip4 = ctx->local_ip4, ip6 = ctx->local_ip6[3];

	barrier_var(ip4);
	barrier_var(ip6);
	ret[0] = v4 ? 0 : ctx->local_ip6[0];
	ret[1] = v4 ? 0 : ctx->local_ip6[1];
	ret[2] = v4 ? bpf_htonl(0xffff) : ctx->local_ip6[2];
	ret[3] = v4 ? ip4 : ip6;
}

static __always_inline bool steer_same(const __u32 a[4], const __u8 ip[16])
{
	const __u32 *b = (const __u32 *)ip;

	/* one question for the verifier, not four */
	return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

static __always_inline bool steer_v4(const __u32 w[4])
{
	return w[0] == 0 && w[1] == 0 && w[2] == bpf_htonl(0xffff);
}

/* The unspecified addresses never arrive: what is sent there goes to loopback. */
static __always_inline bool steer_passes(const __u32 dst[4], const struct capture_sandbox *s)
{
	if (steer_v4(dst) && (dst[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000))
		return true;
	if (dst[0] == 0 && dst[1] == 0 && dst[2] == 0 && dst[3] == bpf_htonl(1))
		return true;
	if (steer_same(dst, s->own4) || steer_same(dst, s->own6))
		return true;
#pragma clang loop unroll(disable)
	for (unsigned i = 0; i < CAPTURE_LOCALS; i++)
		if (steer_same(dst, s->locals[i]))
			return true;
	return false;
}

static __always_inline __u32 steer_slot(struct bpf_sk_lookup *ctx)
{
	__u64 hash = bpf_ntohs(ctx->remote_port) * 0x9e3779b1u >> 16;

	return ctx->protocol == IPPROTO_UDP ? CAPTURE_SLOT_UDP
					    : CAPTURE_SLOT_TCP + hash % steer_nslots();
}

static __always_inline int steer_assign(struct bpf_sk_lookup *ctx, __u32 slot)
{
	struct bpf_sock *sk = bpf_map_lookup_elem(&steer_slots, &slot);
	long r;

	if (!sk)
		return SK_DROP;
	r = bpf_sk_assign(ctx, sk, BPF_SK_LOOKUP_F_NO_REUSEPORT);
	bpf_sk_release(sk);
	return r ? SK_DROP : SK_PASS;
}

/* Refused by its class, and not opened. */
static __always_inline bool steer_refused(const struct attempt *a)
{
	unsigned class = match_class(a->dst, MATCH_SANDBOX);

	return class != RANGE_PUBLIC && !match_opened(a, class == RANGE_METADATA);
}

/* The order of the file's head, from the second row on. */
static __always_inline int steer_decide(struct bpf_sk_lookup *ctx, __u64 netns)
{
	const struct capture_sandbox *s = bpf_map_lookup_elem(&sandboxes, &netns);
	struct attempt a = {
		.dport = ctx->local_port, .proto = IPPROTO_TCP, .netns = netns}; /* host order */

	if (!s || a.dport == STEER_PORT_DOT)
		return SK_DROP;
	if (a.dport != STEER_PORT_DNS) {
		steer_destination(ctx, a.dst);
		if (probe_is(a.dst, a.dport))
			return SK_DROP;
		if (s->resolver && steer_v4(a.dst) && a.dst[3] == bpf_htonl(STEER_RESOLVER))
			return SK_DROP;
		if (steer_passes(a.dst, s))
			return SK_PASS;
		if (ctx->protocol != IPPROTO_TCP || steer_refused(&a))
			return SK_DROP;
	}
	return s->active && !outage_refuses() ? steer_assign(ctx, steer_slot(ctx)) : SK_DROP;
}

SEC("sk_lookup")
int steer_lookup(struct bpf_sk_lookup *ctx)
{
	__u64 netns = steer_netns();
	struct capture_verdicts *counts;
	int verdict;

	if (ctx->ingress_ifindex != STEER_LO)
		return SK_PASS;
	verdict = steer_decide(ctx, netns);
	if (verdict == SK_DROP) {
		counts = bpf_map_lookup_elem(&verdicts, &netns);
		if (counts)
			__sync_fetch_and_add(&counts->dropped, 1);
	}
	return verdict;
}
