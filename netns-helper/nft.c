/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft.c – the table as a whole: the backstop behind the cgroup programs and sk_lookup. It is what
 * holds for sockets older than the attach, of another cgroup, or without a hook.
 *
 *   sets     nft_sets.c
 *   refuse   a reset for TCP, port unreachable for UDP, else prohibited
 *   input    nft_input.c
 *   uplink   in uplink mode, in place of `output`: nft_uplink.c
 *   output   what would leave by another interface than lo: refuse. (Nothing else is refused here:
 *            a rejection in OUTPUT gives UDP senders EPERM, which clients take for a fault of their
 *            own; one on INPUT of lo is an ordinary ECONNREFUSED.)
 *   forward  drop
 *   resolver nft_resolver.c
 *   probe    nft_probe.c
 *   outage   of the nft lane, nft_outage.c
 *   capture, prerouting   of the nft lane, nft_lane.c
 */
#include <errno.h>
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/table.h>

#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"

#include "base/fault.h"

static void nft_put_table(struct nft_batch *b, uint16_t type, uint16_t flags)
{
	struct nftnl_table *t = nftnl_table_alloc();
	struct nlmsghdr *message;

	if (!t || nftnl_table_set_str(t, NFTNL_TABLE_NAME, NFT_TABLE) < 0) {
		nft_batch_fail(b, -ENOMEM);
		if (t)
			nftnl_table_free(t);
		return;
	}
	message = nft_batch_begin(b, type, NFPROTO_INET, flags);
	nftnl_table_nlmsg_build_payload(message, t);
	nft_batch_end(b);
	nftnl_table_free(t);
}

static struct nftnl_chain *nft_chain_named(struct nft_batch *b, const char *name)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (!c) {
		nft_batch_fail(b, -ENOMEM);
		return NULL;
	}
	if (nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, NFT_TABLE) < 0 ||
		nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name) < 0)
		nft_batch_fail(b, -ENOMEM);
	return c;
}

static void nft_chain_send(struct nft_batch *b, struct nftnl_chain *c)
{
	struct nlmsghdr *message = nft_batch_begin(b, NFT_MSG_NEWCHAIN, NFPROTO_INET, NLM_F_CREATE);

	nftnl_chain_nlmsg_build_payload(message, c);
	nft_batch_end(b);
	nftnl_chain_free(c);
}

void nft_chain_put(struct nft_batch *b, const char *name, const char *type, uint32_t hook,
	int32_t priority, uint32_t policy)
{
	struct nftnl_chain *c = nft_chain_named(b, name);

	if (!c)
		return;
	if (nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, type) < 0)
		nft_batch_fail(b, -ENOMEM);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, hook);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, priority);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, policy);
	nft_chain_send(b, c);
}

void nft_chain_put_inner(struct nft_batch *b, const char *name)
{
	struct nftnl_chain *c = nft_chain_named(b, name);

	if (c)
		nft_chain_send(b, c);
}

static void nft_put_refuse(struct nft_batch *b)
{
	struct nft_rule r;

	nft_chain_put_inner(b, "refuse");
	r = nft_rule_in(b, NFT_TABLE, "refuse");
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_reset(&r);
	r = nft_rule_in(b, NFT_TABLE, "refuse");
	nft_rule_protocol(&r, IPPROTO_UDP);
	nft_rule_unreachable(&r, NFT_REJECT_ICMPX_PORT_UNREACH);
	r = nft_rule_in(b, NFT_TABLE, "refuse");
	nft_rule_unreachable(&r, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
}

static void nft_put_output(struct nft_batch *b)
{
	struct nft_rule r;

	nft_chain_put(b, "output", "filter", NF_INET_LOCAL_OUT, NFT_PRIORITY, NF_ACCEPT);
	r = nft_rule_in(b, NFT_TABLE, "output");
	nft_rule_interface(&r, NFT_META_OIF, NFT_LO, true);
	nft_rule_accept(&r);
	r = nft_rule_in(b, NFT_TABLE, "output");
	nft_rule_goto(&r, "refuse");
}

int nft_load(const struct nft_spec *spec)
{
	struct nft_batch *b = nft_batch_new();
	int r;

	if (!b)
		return -ENOMEM;
	nft_batch_needs(b, "CONFIG_NF_TABLES_INET");
	/* add, so that deleting cannot fail; delete what a dead helper left; add */
	nft_put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	nft_put_table(b, NFT_MSG_DELTABLE, 0);
	nft_put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	nft_sets_put(b, spec);
	nft_batch_needs(b, "CONFIG_NFT_REJECT_INET");
	nft_put_refuse(b);
	nft_batch_needs(b, NULL);
	nft_probe_put_chain(b, spec);
	if (spec->mode == PROTO_UPLINK) {
		nft_batch_needs(b, "CONFIG_NFT_CT, CONFIG_NF_CONNTRACK_MARK");
		nft_uplink_put_inbound(b, spec);
		nft_batch_needs(b, NULL);
	}
	nft_input_put(b, spec);
	if (spec->mode == PROTO_UPLINK)
		nft_uplink_put(b, spec); /* what it needs has been asked for above */
	else
		nft_put_output(b);
	nft_chain_put(b, "forward", "filter", NF_INET_FORWARD, NFT_PRIORITY, NF_DROP);
	if (spec->lane == PROTO_LANE_NFT)
		nft_outage_put(b, spec);
	if (spec->lane == PROTO_LANE_NFT && !spec->closed) {
		nft_batch_needs(b, "CONFIG_NFT_TPROXY");
		nft_lane_put(b, spec);
	}
	nft_resolver_put(b, spec);
	r = nft_batch_commit(b);
	if (r < 0 && nft_batch_missing(b))
		(void)fault_set(spec->fault, r,
			"cannot load the nft table: the kernel lacks %s (or its module: modprobe)",
			nft_batch_missing(b));
	nft_batch_free(b);
	return r;
}

int nft_unload(void)
{
	struct nft_batch *b = nft_batch_new();
	int r;

	if (!b)
		return -ENOMEM;
	nft_put_table(b, NFT_MSG_DELTABLE, 0);
	r = nft_batch_commit(b);
	nft_batch_free(b);
	return r == -ENOENT ? 0 : r;
}
