/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_reroute.c – a mark that a route chain gives on OUTPUT leads the packet by another routing
 * table, ahead of the local one: so replies of inbound flows leave by the interface in uplink mode.
 */
#include "probe_nft.h"

enum { MARK = 0x5a11, PORT = 4242 };

int main(void)
{
	const uint32_t mark = MARK;
	struct nft_batch *b;
	struct nftnl_rule *r;
	struct nftnl_expr *e;
	int marked, plain;

	probe_begin("nft_reroute");
	probe_enter_anyip();
	/* the local rule moves behind ours, as in uplink mode */
	probe_need(system("ip route add prohibit default table 99 && "
			  "ip rule add pref 1 lookup local && ip rule del pref 0 lookup local && "
			  "ip rule add pref 0 fwmark 0x5a11 lookup 99") == 0,
		"a fwmark rule ahead of the local table (ip rule)");
	b = probe_nft_begin();
	probe_nft_chain(b, "output", "route", NF_INET_LOCAL_OUT, NF_IP_PRI_MANGLE);
	r = probe_nft_rule("output");
	probe_nft_protocol(r, IPPROTO_UDP);
	probe_nft_port(r, PORT);
	probe_nft_number(r, &mark, sizeof(mark));
	e = probe_nft_expr(r, "meta");
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_MARK);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_SREG, NFT_REG_1);
	probe_nft_end(b, r);
	probe_nft_commit(b, "a route chain that sets a mark");
	marked = probe_send("203.0.113.7", PORT, 0);
	plain = probe_send("203.0.113.7", PORT + 1, 2000); /* it is local: a closed port answers */
	if (marked != EACCES || plain != ECONNREFUSED)
		probe_missing("a marked datagram: errno %d, not %d; a plain one: errno %d, not %d",
			marked, EACCES, plain, ECONNREFUSED);
	probe_ok();
}
