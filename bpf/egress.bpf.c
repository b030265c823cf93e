// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * egress.bpf.c – the last line of a sealed sandbox: no packet of its sockets leaves by anything but
 * lo. cgroup_skb/egress on the sandbox's cgroup; not attached in uplink mode, where replies do.
 *
 * What the address programs take for loopback may still be told to go elsewhere (source routes, a
 * socket bound to a device), and somebody may put an interface into the namespace later. Sees what
 * sockets of the cgroup send, of any protocol and age, in whatever namespace they are; not
 * AF_PACKET, which does not pass here.
 *
 * A packet has no caller, so that a drop is counted and not recorded. The namespace's cookie is
 * read from the socket: there is a helper for it here only since 6.15.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/record.bpf.h"

enum { EGRESS_LO = 1 }; /* in every netns */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The verifier forbids to add an offset to this pointer, not to read from it: the head of the
 * socket is copied and the field is taken from the copy.
 */
static __always_inline __u64 egress_netns(const struct bpf_sock *sk)
{
	__u8 head[sizeof(struct sock_common)];
	const struct net *net;

	if (!sk ||
		bpf_core_field_offset(struct sock_common, skc_net) + sizeof(net) > sizeof(head) ||
		bpf_probe_read_kernel(head, sizeof(head), sk))
		return 0;
	__builtin_memcpy(
		&net, head + bpf_core_field_offset(struct sock_common, skc_net), sizeof(net));
	return BPF_CORE_READ(net, net_cookie);
}

SEC("cgroup_skb/egress")
int egress_packet(struct __sk_buff *ctx)
{
	if (ctx->ifindex == EGRESS_LO)
		return RECORD_PASS;
	record_count(record_account(egress_netns(ctx->sk)), CAPTURE_EGRESS);
	return RECORD_REFUSE;
}
