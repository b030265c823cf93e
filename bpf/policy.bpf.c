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
 *   2. connect() of a datagram socket    passes: it sends nothing, address sorting (RFC 6724)
 *   3. the sandbox is not active yet     loopback passes unless it is port 53, the rest is refused
 *   4. port 53                           passes whatever the address: the daemon answers it
 *   5. port 853                          refused, so that resolvers fall back to port 53 at once
 *   6. loopback, own addresses           pass
 *   7. the address class                 refused unless public or lifted by an opening
 *   8. UDP                               refused: QUIC falls back to TCP at once
 * sk_lookup and the nft table repeat what matters of it for sockets that no cgroup program sees.
 *
 * connect() of TCP also leaves the caller's facts in the socket's storage, where flows.bpf.c finds
 * them. Needs (floor 6.1): bpf_set_retval, netns cookie and current task in sock_addr programs,
 * socket storage.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#include "bpf/match.bpf.h"

/* of errno.h and socket.h, which do not mix with vmlinux.h */
enum {
	EPERM = 1,
	EACCES = 13,
	EPROTONOSUPPORT = 93,
	EAFNOSUPPORT = 97,
	ENETUNREACH = 101,
	ECONNREFUSED = 111
};
enum { POLICY_PASS = 1, POLICY_REFUSE = 0 };
/* the counters behind those of the reasons */
enum { POLICY_SUPPRESSED = CAPTURE_REASON_COUNT, POLICY_LOST, POLICY_COUNTERS };

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Address class → reason. Volatile, here and below: otherwise clang moves the table into a
 * mergeable section that its BTF does not describe, and the kernel refuses the whole BTF.
 */
const volatile __u8 policy_class_reason[RANGE_COUNT] = {
	[RANGE_PUBLIC] = CAPTURE_PASSED,
	[RANGE_LOOPBACK] = CAPTURE_LOOPBACK,
	[RANGE_PRIVATE] = CAPTURE_PRIVATE,
	[RANGE_LINK_LOCAL] = CAPTURE_LINK_LOCAL,
	[RANGE_METADATA] = CAPTURE_METADATA,
	[RANGE_CGNAT] = CAPTURE_CGNAT,
	[RANGE_MULTICAST] = CAPTURE_MULTICAST,
	[RANGE_RESERVED] = CAPTURE_RESERVED,
	[RANGE_BENCHMARK] = CAPTURE_BENCHMARK,
	[RANGE_HOST] = CAPTURE_HOST_ADDRESS,
};

const volatile __u8 policy_errno[CAPTURE_REASON_COUNT] = {
#define X(name, field, error) [CAPTURE_##name] = error,
	CAPTURE_REASONS(X)
#undef X
};

/* Inode number of the helper's pid namespace, set at load; 0 = not known. */
const volatile __u32 policy_pidns = 0;

enum { POLICY_PIDNS_LEVELS = 33 }; /* MAX_PID_NS_LEVEL of the kernel, and the initial one */

static __always_inline struct upid policy_upid(struct pid *pid, unsigned level)
{
	struct upid u = {.nr = 0};

	(void)bpf_probe_read_kernel(&u, sizeof(u),
		(const char *)&pid->numbers + level * sizeof(u)); /* zeroes on failure */
	return u;
}

/*
 * The caller's ids as the helper's pid namespace numbers them: those that the people who read them
 * find in their /proc. A caller that is not in it, nor below, has those of the initial one.
 */
static __noinline void policy_ids(struct task_struct *task, struct capture_client *c)
{
	struct pid *process = BPF_CORE_READ(task, group_leader, thread_pid);
	unsigned depth = BPF_CORE_READ(process, level);
	__u64 ids = bpf_get_current_pid_tgid();

	c->pid = (__u32)ids;
	c->tgid = ids >> 32;
	for (unsigned level = 0; level < POLICY_PIDNS_LEVELS && level <= depth; level++) {
		struct upid u = policy_upid(process, level);

		if (BPF_CORE_READ(u.ns, ns.inum) != policy_pidns)
			continue;
		c->tgid = u.nr;
		c->pid = policy_upid(BPF_CORE_READ(task, thread_pid), level).nr;
		break;
	}
}

static __always_inline void policy_client(struct capture_client *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *exe = BPF_CORE_READ(task, mm, exe_file, f_inode); /* a kernel thread: NULL */

	policy_ids(task, c);
	c->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	c->uid = (__u32)bpf_get_current_uid_gid();
	c->exe_dev = exe ? BPF_CORE_READ(exe, i_sb, s_dev) : 0;
	c->exe_ino = exe ? BPF_CORE_READ(exe, i_ino) : 0;
	c->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(c->comm, sizeof(c->comm));
}

/*
 * One row of `verdicts`, by number: the struct is counters only, in the order of the reasons. The
 * barrier makes the register that is checked the one that is added: the verifier does not see that
 * a copy is bounded too.
 */
static __always_inline void policy_count(__u64 account, __u64 reason)
{
	struct capture_verdicts *v = bpf_map_lookup_elem(&verdicts, &account);

	asm volatile("" : "+r"(reason));
	if (v && reason < POLICY_COUNTERS)
		__sync_fetch_and_add((__u64 *)v + reason, 1);
}

/* May this account raise an event now? Racing processors may overspend it by a few. */
static __always_inline bool policy_budget(__u64 account, __u64 now)
{
	struct budget *b = bpf_map_lookup_elem(&budgets, &account);
	__u64 second = now / 1000000000;

	if (!b)
		return false;
	if (b->second != second) {
		b->second = second;
		b->used = 0;
	}
	return __sync_fetch_and_add(&b->used, 1) < CAPTURE_EVENTS_PER_SECOND;
}

/*
 * Puts the refusal on record. Over its budget a sandbox only refreshes destinations that are
 * remembered already: it can push the others' out of the LRU at no more than its share of events.
 */
static __always_inline void policy_record(
	const struct attempt *a, __u64 account, unsigned reason, int error)
{
	struct capture_refusal_key key = {.netns = a->netns, .dport = a->dport, .proto = a->proto};
	struct capture_refusal r = {.ns = bpf_ktime_get_ns(),
		.netns = a->netns,
		.dport = a->dport,
		.proto = a->proto,
		.reason = reason,
		.error = error,
		.count = 1};
	bool affordable = policy_budget(account, r.ns);
	struct capture_refusal *known;

	__builtin_memcpy(key.dst, a->dst, sizeof(key.dst));
	__builtin_memcpy(r.dst, a->dst, sizeof(r.dst));
	known = bpf_map_lookup_elem(&refusals, &key);
	if (!affordable) {
		if (known)
			__sync_fetch_and_add(&known->count, 1);
		policy_count(account, POLICY_SUPPRESSED);
		return;
	}
	policy_client(&r.client);
	if (bpf_ringbuf_output(&events, &r, sizeof(r), 0))
		policy_count(account, POLICY_LOST);
	if (known)
		r.count += known->count;
	bpf_map_update_elem(&refusals, &key, &r, BPF_ANY);
}

/* What an address class is refused with; the barrier as in policy_count(). */
static __always_inline unsigned policy_of_class(__u64 class)
{
	asm volatile("" : "+r"(class));
	return class < RANGE_COUNT ? policy_class_reason[class] : CAPTURE_RESERVED;
}

/* Steps 3 to 8 for a sandbox of ours. */
static __always_inline unsigned policy_reason(
	const struct attempt *a, const struct capture_sandbox *s, bool local)
{
	unsigned class;

	if (match_resolver(s, a->dst, a->dport))
		return CAPTURE_RESOLVER;
	if (!s->active)
		return local && a->dport != MATCH_PORT_DNS ? CAPTURE_LOCAL : CAPTURE_INACTIVE;
	if (a->dport == MATCH_PORT_DNS)
		return CAPTURE_DNS;
	if (a->dport == MATCH_PORT_DOT)
		return CAPTURE_DOT;
	if (local)
		return CAPTURE_LOCAL;
	class = match_class(a->dst);
	if (a->proto == IPPROTO_UDP)
		return class == RANGE_PUBLIC ? CAPTURE_UDP : policy_of_class(class);
	if (class == RANGE_PUBLIC)
		return CAPTURE_PASSED;
	if (match_opened(a, class == RANGE_METADATA))
		return CAPTURE_OPENED;
	return policy_of_class(class);
}

/* The one decision. Returns what the program returns. */
static __always_inline int policy_decide(const struct attempt *a)
{
	const struct capture_sandbox *s = bpf_map_lookup_elem(&sandboxes, &a->netns);
	bool local = match_loopback(a->dst) || (s && match_own(s, a->dst));
	unsigned reason = s       ? policy_reason(a, s, local)
			  : local ? CAPTURE_LOCAL
				  : CAPTURE_NOT_ATTACHED;
	__u64 account = s ? a->netns : 0;
	int error = reason < CAPTURE_REASON_COUNT ? policy_errno[reason] : EACCES;

	if (error && a->proto == IPPROTO_UDP && s)
		error = ECONNREFUSED;
	policy_count(account, reason);
	if (!error)
		return POLICY_PASS;
	policy_record(a, account, reason, error);
	bpf_set_retval(-error);
	return POLICY_REFUSE;
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
		policy_client(c);
}

/*
 * Only STREAM sockets that reach these hooks are TCP; the others (UDP, UDP-Lite, ping) are datagram
 * sockets. A foreign netns is refused to them as well: what a connected datagram socket sends meets
 * no hook.
 */
static __always_inline int policy_connect(struct bpf_sock_addr *ctx, struct attempt *a)
{
	int verdict;

	a->proto = IPPROTO_TCP;
	if (ctx->type != SOCK_STREAM) {
		const struct capture_sandbox *s = bpf_map_lookup_elem(&sandboxes, &a->netns);

		a->proto = IPPROTO_UDP;
		if (s && !match_resolver(s, a->dst, a->dport))
			return POLICY_PASS;
	}
	verdict = policy_decide(a);
	if (verdict == POLICY_PASS && a->proto == IPPROTO_TCP)
		policy_note_client(ctx->sk);
	return verdict;
}

/* user_port is a 32-bit field with a 16-bit value in network order; the volatile read keeps its
 * access 32 bits wide. */
static __always_inline __u16 policy_port(struct bpf_sock_addr *ctx)
{
	volatile __u32 port = ctx->user_port;

	return bpf_ntohs((__u16)port);
}

static __always_inline void policy_attempt4(struct bpf_sock_addr *ctx, struct attempt *a)
{
	match_set_v4(a->dst, ctx->user_ip4);
	a->dport = policy_port(ctx);
	a->netns = bpf_get_netns_cookie(ctx);
}

static __always_inline void policy_attempt6(struct bpf_sock_addr *ctx, struct attempt *a)
{
	a->dst[0] = ctx->user_ip6[0];
	a->dst[1] = ctx->user_ip6[1];
	a->dst[2] = ctx->user_ip6[2];
	a->dst[3] = ctx->user_ip6[3];
	a->dport = policy_port(ctx);
	a->netns = bpf_get_netns_cookie(ctx);
}

SEC("cgroup/connect4")
int policy_connect4(struct bpf_sock_addr *ctx)
{
	struct attempt a = {};

	policy_attempt4(ctx, &a);
	return policy_connect(ctx, &a);
}

SEC("cgroup/connect6")
int policy_connect6(struct bpf_sock_addr *ctx)
{
	struct attempt a = {};

	policy_attempt6(ctx, &a);
	return policy_connect(ctx, &a);
}

SEC("cgroup/sendmsg4")
int policy_sendmsg4(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = IPPROTO_UDP};

	policy_attempt4(ctx, &a);
	return policy_decide(&a);
}

SEC("cgroup/sendmsg6")
int policy_sendmsg6(struct bpf_sock_addr *ctx)
{
	struct attempt a = {.proto = IPPROTO_UDP};

	policy_attempt6(ctx, &a);
	return policy_decide(&a);
}
