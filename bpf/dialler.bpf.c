// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * dialler.bpf.c – where the daemon's own sockets may go: connect4/6 and sendmsg4/6 on its cgroup.
 *
 * The daemon judges every address before it dials; this holds when that judgement is wrong, or when
 * somebody has taken the daemon over. What is refused here is on record like a sandbox's refusals,
 * under the account CAPTURE_DIALLER: it is a bug of ours or an attack.
 *
 *   1. an exception: its resolvers    passes, by UDP and TCP, this address and port alone
 *   2. other UDP                      refused: connect() as well, since send() meets no hook
 *   3. the address class              refused unless public, by the dialler's column of ranges.h
 *   4. a policy's private:            lifts the refusal of 3, the union of all sandboxes' policies
 * A port is no reason by itself: a policy may let a sandbox reach any.
 *
 * Needs (floor 6.1): bpf_set_retval and current task in sock_addr programs.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#include "bpf/match.bpf.h"
#include "bpf/record.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * CAPTURE_DIAL_EXCEPTIONS); /* while they change, old and new */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct capture_dial_key);
	__type(value, __u8);
} dial_exceptions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 2 * CAPTURE_DIAL_OPENINGS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct capture_range_key);
	__type(value, struct capture_opened);
} dial_openings SEC(".maps");

static __always_inline bool dialler_excepted(const struct attempt *a)
{
	struct capture_dial_key key = {.port = a->dport};

	__builtin_memcpy(key.ip, a->dst, sizeof(key.ip));
	return bpf_map_lookup_elem(&dial_exceptions, &key);
}

static __always_inline bool dialler_opened(const struct attempt *a, bool metadata)
{
	struct capture_range_key key = {.prefixlen = 128};
	const struct capture_opened *open;

	__builtin_memcpy(key.ip, a->dst, sizeof(key.ip));
	open = bpf_map_lookup_elem(&dial_openings, &key);
	return open && match_ports(open, a->dport, metadata);
}

static __always_inline unsigned dialler_reason(const struct attempt *a)
{
	unsigned class;

	if (dialler_excepted(a))
		return CAPTURE_DNS;
	class = match_class(a->dst, MATCH_DIALLER);
	if (a->proto == IPPROTO_UDP)
		return class == RANGE_PUBLIC ? CAPTURE_UDP : record_of_class(class);
	if (class == RANGE_PUBLIC)
		return CAPTURE_PASSED;
	if (dialler_opened(a, class == RANGE_METADATA))
		return CAPTURE_OPENED;
	return record_of_class(class);
}

static __always_inline int dialler_decide(const struct attempt *a)
{
	struct capture_refusal r = {.netns = CAPTURE_DIALLER, .dport = a->dport, .proto = a->proto};
	unsigned reason = dialler_reason(a);

	record_count(CAPTURE_DIALLER, reason);
	if (reason <= CAPTURE_OPENED)
		return RECORD_PASS;
	r.reason = reason;
	r.error = a->proto == IPPROTO_UDP ? ECONNREFUSED : EACCES;
	__builtin_memcpy(r.dst, a->dst, sizeof(r.dst));
	record_refusal(&r, CAPTURE_DIALLER, 0, 0);
	bpf_set_retval(-r.error);
	return RECORD_REFUSE;
}

static __always_inline __u8 dialler_proto(const struct bpf_sock_addr *ctx)
{
	return ctx->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
}

SEC("cgroup/connect4")
int dialler_connect4(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = dialler_proto(ctx)};

	match_attempt4(ctx, &a);
	return dialler_decide(&a);
}

SEC("cgroup/connect6")
int dialler_connect6(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = dialler_proto(ctx)};

	match_attempt6(ctx, &a);
	return dialler_decide(&a);
}

SEC("cgroup/sendmsg4")
int dialler_sendmsg4(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = IPPROTO_UDP};

	match_attempt4(ctx, &a);
	return dialler_decide(&a);
}

SEC("cgroup/sendmsg6")
int dialler_sendmsg6(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = IPPROTO_UDP};

	match_attempt6(ctx, &a);
	return dialler_decide(&a);
}
