/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_refuse.c – an inet table refuses on INPUT of lo by an interval set: TCP by a reset, connected
 * UDP by port unreachable, both at once. (In OUTPUT a UDP sender would get EPERM.)
 */
#include <libnftnl/set.h>

#include "probe_nft.h"

#define SET "refused"

static void element(struct nftnl_set *set, const char *address, uint32_t flags)
{
	struct nftnl_set_elem *e = nftnl_set_elem_alloc();
	const in_addr_t key = inet_addr(address);

	probe_need(e, "memory");
	nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, &key, sizeof(key));
	if (flags)
		nftnl_set_elem_set_u32(e, NFTNL_SET_ELEM_FLAGS, flags);
	nftnl_set_elem_add(set, e);
}

/* 10.0.0.0/8 */
static void interval_set(struct nft_batch *b)
{
	struct nftnl_set *set = nftnl_set_alloc();

	probe_need(set, "memory");
	probe_need(nftnl_set_set_str(set, NFTNL_SET_TABLE, PROBE_TABLE) == 0 &&
			   nftnl_set_set_str(set, NFTNL_SET_NAME, SET) == 0,
		"memory");
	nftnl_set_set_u32(set, NFTNL_SET_ID, 1);
	nftnl_set_set_u32(set, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(set, NFTNL_SET_FLAGS, NFT_SET_INTERVAL);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, 7); /* ipv4_addr, for who prints it */
	nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, 4);
	nftnl_set_nlmsg_build_payload(
		nft_batch_begin(b, NFT_MSG_NEWSET, NFPROTO_INET, NLM_F_CREATE), set);
	nft_batch_end(b);
	element(set, "10.0.0.0", 0);
	element(set, "11.0.0.0", NFT_SET_ELEM_INTERVAL_END);
	nftnl_set_elems_nlmsg_build_payload(
		nft_batch_begin(b, NFT_MSG_NEWSETELEM, NFPROTO_INET, NLM_F_CREATE), set);
	nft_batch_end(b);
	nftnl_set_free(set);
}

static void refuse(struct nft_batch *b, uint8_t protocol)
{
	const uint8_t family = NFPROTO_IPV4;
	struct nftnl_rule *r = probe_nft_rule("input");
	struct nftnl_expr *e;

	probe_nft_meta(r, NFT_META_NFPROTO, &family, sizeof(family));
	probe_nft_protocol(r, protocol);
	probe_nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, 16, 4); /* ip daddr */
	e = probe_nft_expr(r, "lookup");
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	probe_need(nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, SET) == 0, "memory");
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SET_ID, 1);
	(void)probe_nft_expr(r, "counter");
	probe_nft_reject(b, r, protocol == IPPROTO_TCP);
}

int main(void)
{
	struct nft_batch *b;
	int tcp, udp;

	probe_begin("nft_refuse");
	probe_enter_anyip();
	b = probe_nft_begin();
	interval_set(b);
	probe_nft_chain(b, "input", "filter", NF_INET_LOCAL_IN, NF_IP_PRI_MANGLE);
	refuse(b, IPPROTO_TCP);
	refuse(b, IPPROTO_UDP);
	probe_nft_commit(b, "an inet table with an interval set and rejects");
	tcp = probe_connect("10.1.2.3", 443);
	udp = probe_send("10.1.2.3", 443, 2000);
	if (tcp != ECONNREFUSED || udp != ECONNREFUSED)
		probe_missing(
			"TCP: errno %d, UDP: errno %d, both should be %d", tcp, udp, ECONNREFUSED);
	probe_ok();
}
