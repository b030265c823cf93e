/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_notrack.c – notrack ahead of conntrack keeps a flow out of it, so that a NAT rule of another
 * (Docker's for its resolver at 127.0.0.11) does not see it: the flow is ct state untracked.
 */
#include <linux/netfilter/nf_conntrack_common.h>

#include "probe_nft.h"

enum { TRACKING = NF_IP_PRI_RAW };

static void untracked_is_refused(struct nft_batch *b)
{
	static const uint32_t none, untracked = NF_CT_STATE_UNTRACKED_BIT;
	struct nftnl_rule *r = probe_nft_rule("input");
	struct nftnl_expr *e;

	probe_nft_protocol(r, IPPROTO_TCP);
	e = probe_nft_expr(r, "ct");
	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, NFT_REG_1);
	e = probe_nft_expr(r, "bitwise");
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, sizeof(untracked));
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, &untracked, sizeof(untracked));
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, &none, sizeof(none));
	probe_nft_compare(r, &untracked, sizeof(untracked));
	probe_nft_reject(b, r, true);
}

int main(void)
{
	uint16_t kept, plain;
	struct nft_batch *b;
	struct nftnl_rule *r;
	int fared;

	probe_begin("nft_notrack");
	probe_enter_anyip();
	(void)probe_listener("127.0.0.1", &kept); /* both stay open to the end */
	(void)probe_listener("127.0.0.1", &plain);
	b = probe_nft_begin();
	probe_nft_chain(b, "output", "filter", NF_INET_LOCAL_OUT, TRACKING);
	probe_nft_chain(b, "input", "filter", NF_INET_LOCAL_IN, NF_IP_PRI_MANGLE);
	r = probe_nft_rule("output");
	probe_nft_protocol(r, IPPROTO_TCP);
	probe_nft_port(r, kept);
	(void)probe_nft_expr(r, "notrack");
	probe_nft_end(b, r);
	untracked_is_refused(b);
	probe_nft_commit(b, "a rule with notrack");
	fared = probe_connect("127.0.0.1", kept);
	if (fared != ECONNREFUSED)
		probe_missing("the flow was tracked all the same (errno %d)", fared);
	fared = probe_connect("127.0.0.1", plain);
	if (fared)
		probe_missing("another flow is not tracked (errno %d)", fared);
	probe_ok();
}
