/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_outage.c – the chain `outage` of the nft lane, where what is for the daemon passes by: empty while one serves, else a
 * SYN is reset and a question of DNS answered by port unreachable (bpf/outage.bpf.h in the other lane). Segments of
 * connections that exist are not its business.
 */
#include <errno.h>
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <libmnl/libmnl.h>
#include <libnftnl/rule.h>

#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"

const char nft_outage_chain[] = "outage";

static void nft_outage_put_rules(struct nft_batch *b)
{
	struct nft_rule r = nft_rule_in(b, NFT_TABLE, nft_outage_chain);

	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_syn(&r);
	nft_rule_goto(&r, "refuse");
	r = nft_rule_in(b, NFT_TABLE, nft_outage_chain);
	nft_rule_protocol(&r, IPPROTO_UDP);
	nft_rule_goto(&r, "refuse");
}

void nft_outage_put(struct nft_batch *b, const struct nft_spec *spec)
{
	nft_chain_put_inner(b, nft_outage_chain);
	if (spec->outage)
		nft_outage_put_rules(b);
}

/* A deletion that names a chain and no rule is of all its rules. */
static void nft_outage_flush(struct nft_batch *b)
{
	struct nftnl_rule *all = nftnl_rule_alloc();
	struct nlmsghdr *message;

	if (!all || nftnl_rule_set_str(all, NFTNL_RULE_TABLE, NFT_TABLE) < 0 ||
		nftnl_rule_set_str(all, NFTNL_RULE_CHAIN, nft_outage_chain) < 0) {
		nft_batch_fail(b, -ENOMEM);
	} else {
		message = nft_batch_begin(b, NFT_MSG_DELRULE, NFPROTO_INET, 0);
		nftnl_rule_nlmsg_build_payload(message, all);
		nft_batch_end(b);
	}
	if (all)
		nftnl_rule_free(all);
}

int nft_set_outage(bool refuses)
{
	struct nft_batch *b = nft_batch_new();
	int r;

	if (!b)
		return -ENOMEM;
	nft_outage_flush(b); /* the rules are there once, whatever was */
	if (refuses)
		nft_outage_put_rules(b);
	r = nft_batch_commit(b);
	nft_batch_free(b);
	return r;
}
