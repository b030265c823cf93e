/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_hash.c – jhash of the source port tells connections apart, so that the nft lane can share
 * them out: of many, the half of one value is refused, the rest is not.
 */
#include "probe_nft.h"

enum { TRIES = 64 };

int main(void)
{
	const uint32_t which = 0;
	struct nft_batch *b;
	struct nftnl_rule *r;
	struct nftnl_expr *e;
	unsigned refused = 0;
	uint16_t port;

	probe_begin("nft_hash");
	probe_enter_anyip();
	(void)probe_listener("127.0.0.1", &port); /* stays open to the end */
	b = probe_nft_begin();
	probe_nft_chain(b, "input", "filter", NF_INET_LOCAL_IN, NF_IP_PRI_MANGLE);
	r = probe_nft_rule("input");
	probe_nft_protocol(r, IPPROTO_TCP);
	probe_nft_port(r, port);
	probe_nft_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 2);
	e = probe_nft_expr(r, "hash");
	nftnl_expr_set_u32(e, NFTNL_EXPR_HASH_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_HASH_DREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_HASH_LEN, 2);
	nftnl_expr_set_u32(e, NFTNL_EXPR_HASH_MODULUS, 2);
	nftnl_expr_set_u32(e, NFTNL_EXPR_HASH_SEED, 1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_HASH_TYPE, NFT_HASH_JENKINS);
	probe_nft_compare(r, &which, sizeof(which));
	probe_nft_reject(b, r, true);
	probe_nft_commit(b, "a rule with jhash");
	for (unsigned i = 0; i < TRIES; i++)
		refused += probe_connect("127.0.0.1", port) == ECONNREFUSED;
	if (refused == 0 || refused == TRIES)
		probe_missing("%u of %u connections have the same hash", TRIES, TRIES);
	probe_ok();
}
