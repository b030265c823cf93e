// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * create.bpf.c – which sockets a program in a sandbox may have: sock_create on the sandbox's
 * cgroup.
 *
 * Of the internet families TCP and UDP only, whose every destination the other programs see. The
 * rest would pass them by (raw sockets of every kind, ping, UDP-Lite, SCTP, DCCP, L2TP) or be
 * judged on another socket than the program's (MPTCP, whose connect() is that of a subflow):
 * refused with EPROTONOSUPPORT, which programs that ask for MPTCP take as "use TCP".
 *
 * A socket carries its cgroup for good, and this is asked of the cgroup, not of the netns: it holds
 * in nested and foreign namespaces as well, on account 0. Of the other families the kernel asks
 * only for the internet's, today; AF_PACKET, AF_VSOCK, AF_NETLINK and the rest are closed by the
 * launcher's seccomp filter and by capabilities. A socket that is older than the attach, or handed
 * in, was not asked for here. Needs (floor 6.1): bpf_set_retval 5.18 and the netns cookie in
 * cgroup_sock programs 5.7.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/record.bpf.h"

enum { CREATE_AF_INET = 2, CREATE_AF_INET6 = 10 };

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline unsigned create_reason(__u32 family, __u32 type, __u32 protocol)
{
	if (family != CREATE_AF_INET && family != CREATE_AF_INET6)
		return CAPTURE_FAMILY;
	if (type == SOCK_STREAM && (protocol == IPPROTO_TCP || protocol == 0))
		return CAPTURE_PASSED;
	if (type == SOCK_DGRAM && (protocol == IPPROTO_UDP || protocol == 0))
		return CAPTURE_PASSED;
	return CAPTURE_PROTOCOL;
}

SEC("cgroup/sock_create")
int create_socket(struct bpf_sock *ctx)
{
	__u32 family = ctx->family, protocol = ctx->protocol;
	unsigned reason = create_reason(family, ctx->type, protocol);
	__u32 asked = reason == CAPTURE_FAMILY ? family : protocol;
	struct capture_refusal r = {.dport = asked,
		.proto = asked < 256 ? asked : 0,
		.reason = reason,
		.error = reason == CAPTURE_FAMILY ? EAFNOSUPPORT : EPROTONOSUPPORT};
	__u64 account;

	if (reason == CAPTURE_PASSED)
		return RECORD_PASS;
	r.netns = bpf_get_netns_cookie(ctx);
	account = record_account(r.netns);
	record_count(account, reason);
	record_refusal(&r, account, 0, 0);
	bpf_set_retval(-r.error);
	return RECORD_REFUSE;
}
