/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conntrack.c – a rule marks a new flow (ct state new, ct mark set), another knows it again by mark
 * and direction: uplink mode tells the replies of inbound flows from everything else by this.
 */
#include <linux/netfilter/nf_conntrack_common.h>

#include "probe_nft.h"

enum { MARK = 0x5a11, ORIGINAL = 0 /* the kernel's IP_CT_DIR_ORIGINAL */ };

static struct nftnl_expr *ct(struct nftnl_rule *r, uint32_t key)
{
	struct nftnl_expr *e = probe_nft_expr(r, "ct");

	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, key);
	return e;
}

static void ct_is(struct nftnl_rule *r, uint32_t key, const void *value, uint32_t n)
{
	nftnl_expr_set_u32(ct(r, key), NFTNL_EXPR_CT_DREG, NFT_REG_1);
	probe_nft_compare(r, value, n);
}

int main(void)
{
	const uint32_t fresh = NF_CT_STATE_BIT(IP_CT_NEW), mark = MARK;
	const uint8_t original = ORIGINAL;
	uint16_t marked, plain;
	struct nft_batch *b;
	struct nftnl_rule *r;
	int fared;

	probe_begin("conntrack");
	probe_enter_anyip();
	(void)probe_listener("127.0.0.1", &marked); /* both stay open to the end */
	(void)probe_listener("127.0.0.1", &plain);
	b = probe_nft_begin();
	probe_nft_chain(b, "prerouting", "filter", NF_INET_PRE_ROUTING, NF_IP_PRI_MANGLE);
	probe_nft_chain(b, "input", "filter", NF_INET_LOCAL_IN, NF_IP_PRI_MANGLE);
	r = probe_nft_rule("prerouting");
	probe_nft_protocol(r, IPPROTO_TCP);
	probe_nft_port(r, marked);
	ct_is(r, NFT_CT_STATE, &fresh, sizeof(fresh));
	probe_nft_number(r, &mark, sizeof(mark));
	nftnl_expr_set_u32(ct(r, NFT_CT_MARK), NFTNL_EXPR_CT_SREG, NFT_REG_1);
	probe_nft_end(b, r);
	r = probe_nft_rule("input");
	probe_nft_protocol(r, IPPROTO_TCP);
	ct_is(r, NFT_CT_MARK, &mark, sizeof(mark));
	ct_is(r, NFT_CT_DIRECTION, &original, sizeof(original));
	probe_nft_reject(b, r, true);
	probe_nft_commit(b, "rules with ct state, ct mark and ct direction");
	fared = probe_connect("127.0.0.1", marked);
	if (fared != ECONNREFUSED)
		probe_missing("a marked flow was not known again (errno %d)", fared);
	fared = probe_connect("127.0.0.1", plain);
	if (fared)
		probe_missing("an unmarked flow was taken for a marked one (errno %d)", fared);
	probe_ok();
}
