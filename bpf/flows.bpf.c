// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flows.bpf.c – who made a connection: a sockops program that publishes, under the full 4-tuple,
 * what connect() left in the socket's storage.
 *
 * Published in TCP_CONNECT_CB, when the source address and port are settled and before the SYN
 * exists, so that whoever accepts the connection finds the entry. Removed when the client's socket
 * closes. The source address and port alone are too small a key: one pair can carry two live
 * connections.
 *
 * A client that sends, closes and ends at once is gone before its connection is accepted. So an
 * entry whose client has heard nothing yet goes to `closed` when it is removed, where it is looked
 * for second. That map is an LRU map: what is never accepted leaves it by itself.
 *
 * Live flows are one inner hash map for each sandbox, reached through flow_maps by netns cookie.
 * One flat map keyed {cookie, 4-tuple} would be simpler and as readable, but a sandbox that opens
 * connections without end would take the room of all others, and the daemon would hold a descriptor
 * that reads every sandbox. A person reads the inner maps: each is pinned as flows/ID; the outer
 * map holds numbers only and is not pinned. An inner map is an LPM trie that is used as a plain one:
 * a hash map for as many connections has 128 KiB of buckets while there is none, a trie has nothing,
 * and a thousand sandboxes are mostly idle.
 *
 * A connection without an entry is unattributed: its socket belongs to another cgroup, is older
 * than the attach or is an MPTCP subflow (whose connect() was seen on another socket), or the
 * sandbox has CAPTURE_FLOWS connections already.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#include "bpf/maps.bpf.h"

enum { FLOWS_SYN_SENT = 2 };
enum { FLOWS_AF_INET = 2, FLOWS_AF_INET6 = 10, FLOWS_CONTINUE = 1 };

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The shape of an inner map. The instance is never created: without it clang leaves the key and
 * value out of the BTF, and the helper takes the type ids of the maps that it creates from here.
 */
struct flow_map {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, CAPTURE_FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct capture_flow_key);
	__type(value, struct capture_client);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, CAPTURE_SANDBOXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__array(values, struct flow_map);
} flow_maps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CAPTURE_CLOSED);
	__type(key, struct capture_closed_key);
	__type(value, struct capture_closed);
} closed SEC(".maps");

static __always_inline void flows_set_v4(__u8 ip[16], __u32 v4)
{
	__u32 w[4] = {0, 0, bpf_htonl(0xffff), v4};

	__builtin_memcpy(ip, w, sizeof(w));
}

/* An AF_INET6 socket connected to a v4-mapped address gives the key that AF_INET gives. */
static __always_inline void flows_key(struct bpf_sock_ops *ctx, struct capture_flow_key *key)
{
	if (ctx->family == FLOWS_AF_INET) {
		flows_set_v4(key->src, ctx->local_ip4);
		flows_set_v4(key->dst, ctx->remote_ip4);
	} else {
		__u32 src[4] = {
			ctx->local_ip6[0], ctx->local_ip6[1], ctx->local_ip6[2], ctx->local_ip6[3]};
		__u32 dst[4] = {ctx->remote_ip6[0], ctx->remote_ip6[1], ctx->remote_ip6[2],
			ctx->remote_ip6[3]};

		__builtin_memcpy(key->src, src, sizeof(src));
		__builtin_memcpy(key->dst, dst, sizeof(dst));
	}
	key->sport = ctx->local_port; /* host order already */
	key->dport = bpf_ntohl(ctx->remote_port); /* network order in the upper half */
}

static __always_inline void flows_publish(struct bpf_sock_ops *ctx)
{
	struct capture_closed_key key = {
		.netns = bpf_get_netns_cookie(ctx), .flow = {.prefixlen = CAPTURE_FLOW_PREFIX}};
	void *live = bpf_map_lookup_elem(&flow_maps, &key.netns);
	struct capture_client *client;
	struct bpf_sock *sk = ctx->sk;

	if (!live || !sk)
		return;
	client = bpf_sk_storage_get(&clients, sk, 0, 0);
	if (!client)
		return;
	flows_key(ctx, &key.flow);
	bpf_map_delete_elem(&closed, &key);
	if (bpf_map_update_elem(live, &key.flow, client, BPF_ANY) == 0)
		bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG);
}

static __always_inline void flows_remember(
	const struct capture_closed_key *key, const struct capture_client *client)
{
	struct capture_closed last = {.ns = bpf_ktime_get_ns()};

	__builtin_memcpy(&last.client, client, sizeof(last.client));
	bpf_map_update_elem(&closed, key, &last, BPF_ANY);
}

static __always_inline void flows_remove(struct bpf_sock_ops *ctx)
{
	struct capture_closed_key key = {
		.netns = bpf_get_netns_cookie(ctx), .flow = {.prefixlen = CAPTURE_FLOW_PREFIX}};
	void *live = bpf_map_lookup_elem(&flow_maps, &key.netns);
	const struct capture_client *client;

	if (!live)
		return;
	flows_key(ctx, &key.flow);
	client = bpf_map_lookup_elem(live, &key.flow);
	/* what has heard something was accepted; what never was connected will not be */
	if (client && ctx->bytes_received == 0 && ctx->args[0] != FLOWS_SYN_SENT)
		flows_remember(&key, client);
	bpf_map_delete_elem(live, &key.flow);
}

SEC("sockops")
int flows_sockops(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		flows_publish(ctx);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ctx->args[1] == BPF_TCP_CLOSE)
			flows_remove(ctx);
		break;
	}
	return FLOWS_CONTINUE;
}
