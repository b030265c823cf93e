/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_resolver.c – the chain `resolver`, where a container runtime (Docker) has put a resolver of its own into the
 * namespace: two sockets of a process outside at 127.0.0.11, at ports that are made up, and nat rules that lead
 * 127.0.0.11:53 to them. Its questions and answers are ours: untracked, before connection tracking is asked (hence the
 * raw priority), so that no nat rule sees them; then sk_lookup or tproxy has them like every other port 53.
 * Its other ports are refused by nft_input.c.
 *
 * Only for that address: an untracked reply of a published port 53 would not be known as a reply.
 */
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>

#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"

#include "base/cleanup.h"

const uint8_t nft_resolver[4] = {127, 0, 0, 11};

void nft_resolver_put(struct nft_batch *b, const struct nft_spec *spec)
{
	static const uint8_t protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	struct nft_rule r;

	if (!spec->resolver)
		return;
	nft_chain_put(b, "resolver", "filter", NF_INET_LOCAL_OUT, NF_IP_PRI_RAW, NF_ACCEPT);
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		r = nft_rule_in(b, NFT_TABLE, "resolver");
		nft_rule_family(&r, NFPROTO_IPV4);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_bytes(&r, NFT_DADDR4, sizeof(nft_resolver), NULL, nft_resolver);
		nft_rule_port(&r, NFT_DNS, NFT_DNS);
		nft_rule_notrack(&r);
		r = nft_rule_in(b, NFT_TABLE, "resolver");
		nft_rule_family(&r, NFPROTO_IPV4);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_bytes(&r, NFT_SADDR4, sizeof(nft_resolver), NULL, nft_resolver);
		nft_rule_source_port(&r, NFT_DNS);
		nft_rule_notrack(&r);
	}
}
