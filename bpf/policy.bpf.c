// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * policy.bpf.c – which destinations a program in a sandbox may try: connect4/6 and sendmsg4/6 on
 * the sandbox's cgroup.
 *
 * A refusal is an errno in the caller's hands before a packet exists, a counter, an entry in
 * `refusals` and, within the sandbox's budget, an event. What passes is not yet allowed anywhere:
 * it reaches the daemon (steer.bpf.c), which decides by name. So this file knows addresses and
 * ports only.
 *
 * The order, the first that applies decides:
 *   1. a netns that is not attached      loopback passes, the rest is refused
 *   2. 127.0.0.11 of a container runtime refused unless it is port 53
 *   3. connect() of a datagram socket    passes: it sends nothing, address sorting (RFC 6724)
 *   4. the self-test's place             refused and counted, without an event (bpf/probe.h)
 *   5. the sandbox is not active         loopback passes unless it is port 53, the rest is refused
 *   6. port 53                           passes whatever the address: the daemon answers it
 *   7. port 853                          refused, so that resolvers fall back to port 53 at once
 *   8. loopback, own and uplink's        pass
 *   9. the address class                 refused unless public or lifted by an opening
 *  10. UDP                               refused: QUIC falls back to TCP at once
 *  11. no daemon serves (outage.bpf.h)  what would pass to it is refused
 * sk_lookup and the nft table repeat what matters of it for sockets that no cgroup program sees.
 *
 * connect() of TCP to us also leaves the caller's facts in the socket's storage, where flows.bpf.c
 * finds them. Needs (floor 6.1): bpf_set_retval, netns cookie and current task in sock_addr programs,
 * socket storage.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#include "bpf/match.bpf.h"
#include "bpf/outage.bpf.h"
#include "bpf/probe.h"
#include "bpf/record.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Steps 2 and 4 to 10 for a sandbox of ours; step 11 is policy_judge()'s. */
static __always_inline unsigned policy_reason(
	const struct attempt *a, const struct capture_sandbox *s, bool local)
{
	unsigned class;

	if (match_resolver(s, a->dst, a->dport))
		return CAPTURE_RESOLVER;
	if (probe_is(a->dst, a->dport))
		return CAPTURE_PROBE;
	if (!s->active)
		return local && a->dport != MATCH_PORT_DNS ? CAPTURE_LOCAL : CAPTURE_INACTIVE;
	if (a->dport == MATCH_PORT_DNS)
		return CAPTURE_DNS;
	if (a->dport == MATCH_PORT_DOT)
		return CAPTURE_DOT;
	if (local)
		return CAPTURE_LOCAL;
	class = match_class(a->dst, MATCH_SANDBOX);
	if (a->proto == IPPROTO_UDP)
		return class == RANGE_PUBLIC ? CAPTURE_UDP : record_of_class(class);
	if (class == RANGE_PUBLIC)
		return CAPTURE_PASSED;
	if (match_opened(a, class == RANGE_METADATA))
		return CAPTURE_OPENED;
	return record_of_class(class);
}

/* What passes and is not local goes to the daemon. */
static __always_inline bool policy_for_daemon(unsigned reason)
{
	return reason == CAPTURE_PASSED || reason == CAPTURE_DNS || reason == CAPTURE_OPENED;
}

static __always_inline unsigned policy_judge(
	const struct attempt *a, const struct capture_sandbox *s)
{
	bool local = match_loopback(a->dst) || (s && match_own(s, a->dst));
	unsigned reason;

	if (s) {
		reason = policy_reason(a, s, local);
		return policy_for_daemon(reason) && outage_refuses() ? CAPTURE_OUTAGE : reason;
	}
	return local ? CAPTURE_LOCAL : CAPTURE_NOT_ATTACHED;
}

/* The one decision, for a sandbox or (NULL) a namespace that is not attached: what was its reason? */
static __always_inline unsigned policy_decide(
	const struct attempt *a, const struct capture_sandbox *s)
{
	unsigned reason = policy_judge(a, s);
	__u64 account = s ? a->netns : 0;
	struct capture_refusal r = {.netns = a->netns,
		.dport = a->dport,
		.proto = a->proto,
		.reason = reason,
		.error = reason < CAPTURE_REASON_COUNT ? record_errno[reason] : EACCES};

	record_count(account, reason);
	if (!r.error)
		return reason;
	if (a->proto == IPPROTO_UDP && s)
		r.error = ECONNREFUSED;
	__builtin_memcpy(r.dst, a->dst, sizeof(r.dst));
	if (reason != CAPTURE_PROBE)
		record_refusal(&r, account, 0, 0);
	bpf_set_retval(-r.error);
	return reason;
}

/* The reasons that pass are those before METADATA, for good: new ones are appended. */
static __always_inline int policy_verdict(unsigned reason)
{
	return reason < CAPTURE_METADATA ? RECORD_PASS : RECORD_REFUSE;
}

/*
 * Notes the caller in the socket's storage. No room: the connection is unattributed, which no rule
 * with `client:` matches.
 */
static __always_inline void policy_note_client(struct bpf_sock *sk)
{
	struct capture_client *c;

	if (!sk)
		return;
	c = bpf_sk_storage_get(&clients, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (c)
		record_client(c);
}

/*
 * Only STREAM sockets that reach these hooks are TCP; the others are datagram sockets. A foreign
 * netns is refused to them as well, and the runtime's resolver: what a connected datagram socket
 * sends meets no hook. Who connects within the sandbox is not noted: the daemon never sees it.
 */
static __always_inline int policy_connect(struct bpf_sock_addr *ctx, struct attempt *a)
{
	const struct capture_sandbox *s = bpf_map_lookup_elem(&sandboxes, &a->netns);
	unsigned reason;

	a->proto = ctx->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	if (a->proto == IPPROTO_UDP && s && !match_resolver(s, a->dst, a->dport))
		return RECORD_PASS;
	reason = policy_decide(a, s);
	if (a->proto == IPPROTO_TCP && reason != CAPTURE_LOCAL &&
		policy_verdict(reason) == RECORD_PASS)
		policy_note_client(ctx->sk);
	return policy_verdict(reason);
}

/*
 * A datagram from an address of the uplink is the answer of a server there, as far as can be told
 * here: whether it answers anything the rules of uplink mode know (conntrack), and what they do not
 * let out meets the table and sk_lookup. A client leaves its source to the kernel.
 */
static __always_inline bool policy_answers(
	const struct attempt *a, const struct capture_sandbox *s, const __u32 src[4])
{
	return s && s->active && match_uplink(s, src) && !match_resolver(s, a->dst, a->dport);
}

static __always_inline int policy_sendmsg(const struct attempt *a, const __u32 src[4])
{
	const struct capture_sandbox *s = bpf_map_lookup_elem(&sandboxes, &a->netns);

	return policy_answers(a, s, src) ? RECORD_PASS : policy_verdict(policy_decide(a, s));
}

SEC("cgroup/connect4")
int policy_connect4(struct bpf_sock_addr *ctx)
{
	struct attempt a = {};

	match_attempt4(ctx, &a);
	return policy_connect(ctx, &a);
}

SEC("cgroup/connect6")
int policy_connect6(struct bpf_sock_addr *ctx)
{
	struct attempt a = {};

	match_attempt6(ctx, &a);
	return policy_connect(ctx, &a);
}

SEC("cgroup/sendmsg4")
int policy_sendmsg4(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = IPPROTO_UDP};
	__u32 src[4];

	match_attempt4(ctx, &a);
	match_set_v4(src, ctx->msg_src_ip4);
	return policy_sendmsg(&a, src);
}

SEC("cgroup/sendmsg6")
int policy_sendmsg6(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = IPPROTO_UDP};
	__u32 src[4];

	match_attempt6(ctx, &a);
	src[0] = ctx->msg_src_ip6[0];
	src[1] = ctx->msg_src_ip6[1];
	src[2] = ctx->msg_src_ip6[2];
	src[3] = ctx->msg_src_ip6[3];
	return policy_sendmsg(&a, src);
}
