/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_probe.c – the self-test's place (bpf/probe.h) in the table: counted, which proves that the table sees what the
 * sandbox sends. In the BPF lane it is let through to sk_lookup, which drops and counts it; in the nft lane it is
 * refused here. A closed table does the same. Where all TCP is let through in any case, its port alone is the place: that
 * is one rule, and others at that port are counted with it, as whoever knocks at the place itself is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h> /* which libnftnl/expr.h wants */
#include <string.h>

#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

#include "bpf/probe.h"
#include "netns-helper/netlink.h"
#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"

#include "base/cleanup.h"

static const char nft_probe_chain[] = "probe";

static const struct {
	int family;
	uint8_t nfproto;
	uint32_t offset, width; /* of the destination in the header */
	const char *address;
} nft_probe_places[] = {
	{AF_INET, NFPROTO_IPV4, NFT_DADDR4, 4, PROBE_ADDRESS4},
	{AF_INET6, NFPROTO_IPV6, NFT_DADDR6, 16, PROBE_ADDRESS6},
};

struct nft_probe_found {
	bool found;
	uint64_t packets;
};

void nft_probe_put_chain(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_chain_put_inner(b, nft_probe_chain);
	r = nft_rule_in(b, NFT_TABLE, nft_probe_chain);
	nft_rule_counter(&r);
	if (spec->lane == PROTO_LANE_BPF)
		nft_rule_accept(&r);
	else
		nft_rule_goto(&r, "refuse");
}

void nft_probe_put(struct nft_batch *b, const char *chain)
{
	for (size_t i = 0; i < ARRAY_SIZE(nft_probe_places); i++) {
		struct nft_rule r = nft_rule_in(b, NFT_TABLE, chain);
		uint8_t address[16];

		if (inet_pton(nft_probe_places[i].family, nft_probe_places[i].address, address) !=
			1)
			nft_batch_fail(b, -EINVAL);
		nft_rule_family(&r, nft_probe_places[i].nfproto);
		nft_rule_protocol(&r, IPPROTO_TCP);
		nft_rule_bytes(
			&r, nft_probe_places[i].offset, nft_probe_places[i].width, NULL, address);
		nft_rule_port(&r, PROBE_PORT, PROBE_PORT);
		nft_rule_goto(&r, nft_probe_chain);
	}
}

void nft_probe_put_port(struct nft_batch *b, const char *chain)
{
	struct nft_rule r = nft_rule_in(b, NFT_TABLE, chain);

	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_port(&r, PROBE_PORT, PROBE_PORT);
	nft_rule_goto(&r, nft_probe_chain);
}

static int nft_probe_expression(struct nftnl_expr *e, void *arg)
{
	struct nft_probe_found *found = arg;

	if (strcmp(nftnl_expr_get_str(e, NFTNL_EXPR_NAME), "counter") == 0) {
		found->found = true;
		found->packets += nftnl_expr_get_u64(e, NFTNL_EXPR_CTR_PACKETS);
	}
	return 0;
}

static int nft_probe_each(const struct nlmsghdr *message, void *arg)
{
	struct nftnl_rule *rule = nftnl_rule_alloc();

	if (rule && nftnl_rule_nlmsg_parse(message, rule) >= 0)
		(void)nftnl_expr_foreach(rule, nft_probe_expression, arg); /* ours returns 0 */
	if (rule)
		nftnl_rule_free(rule);
	return MNL_CB_OK;
}

int nft_probe_count(uint64_t *ret)
{
	struct nft_probe_found found = {false, 0};
	struct nftnl_rule *which = nftnl_rule_alloc();
	char bytes[512];
	int r = -ENOMEM;

	if (which && nftnl_rule_set_str(which, NFTNL_RULE_TABLE, NFT_TABLE) >= 0 &&
		nftnl_rule_set_str(which, NFTNL_RULE_CHAIN, nft_probe_chain) >= 0) {
		struct nlmsghdr *request =
			nftnl_nlmsg_build_hdr(bytes, NFT_MSG_GETRULE, NFPROTO_INET, NLM_F_DUMP, 0);

		nftnl_rule_nlmsg_build_payload(request, which);
		r = netlink_dump(NETLINK_NETFILTER, request, nft_probe_each, &found);
	}
	if (which)
		nftnl_rule_free(which);
	if (r == 0 && !found.found)
		r = -ENOENT;
	if (r == 0)
		*ret = found.packets;
	return r;
}
