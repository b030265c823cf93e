/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_uplink.c – in uplink mode: what may come in by the interfaces, and that nothing but its replies
 * leaves by them.
 *
 *   untracked  output, before conntrack: it looks at nothing but packets from or to an address of the
 *              uplink. A captured connection has an own address as its source, and costs no entry
 *   arriving   prerouting, not from lo: drops who claims to be an address of the sandbox. Marks the connection when it is new, to an address of the uplink, and begins as an
 *              inbound one does: a TCP SYN, UDP, an echo request. (A segment out of the middle, of a
 *              connection that was there before, would count as new as well; its "replies" would
 *              leave.)
 *   inbound    gone to by `input`, not from lo: packets of the side that began a marked connection,
 *              and neighbour discovery and group membership; drop the rest
 *   replies    output, of type route: packets of the other side of a marked connection get the mark
 *              that rules.c routes by `main`. Never a SYN without ACK: no server sends that. What
 *              comes from an address of the uplink and belongs to no connection is dropped: on lo it
 *              would reach our listener, whose reset ends the connection that it came from
 *   leaving    postrouting, policy drop: lo; replies; neighbour discovery; membership of the groups of its own addresses.
 *              (Any program may join a group of its choice: the report of it would carry 14 bytes out.)
 *              (OUTPUT still sees lo after a packet has been routed anew.) A reply with IPv4 options
 *              or an IPv6 routing, hop-by-hop or destination header is dropped: its header may
 *              name one host and lead to another
 *
 * The mark of connections is another at each attach: one that was entered in the namespace's conntrack before, by somebody
 * who could then, is nobody's inbound connection.
 *
 * In a closed table nothing is marked and nothing but discovery passes the interfaces.
 *
 * Conntrack is loaded by the rules that ask it; a kernel without it refuses the whole table.
 */
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <linux/netfilter/nf_tables.h>

#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"
#include "netns-helper/rules.h"

#include "base/cleanup.h"

enum {
	NFT_UPLINK_IHL4 = 0, /* offset of version and length of the IPv4 header */
	NFT_UPLINK_NEXT6 = 6, /* … of the next header's number in the IPv6 one */
	NFT_UPLINK_TYPE = 0, /* … of the type in the ICMP header */
	NFT_UPLINK_GROUP = 8, /* … of the group in a report */
	NFT_UPLINK_ESTABLISHED =
		NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED),
	NFT_UPLINK_NEW = NF_CT_STATE_BIT(IP_CT_NEW),
};

/* Without these no neighbour finds the sandbox; the kernel makes and takes them by itself. */
static const uint8_t nft_uplink_discovery_in[] = {
	ND_ROUTER_ADVERT, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT, MLD_LISTENER_QUERY};
static const uint8_t nft_uplink_discovery_out[] = {
	ND_ROUTER_SOLICIT, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT};

/* Reports of group membership of MLD's first version, which name one group each: sysctls.c wants that version. */
static const uint8_t nft_uplink_reports[] = {MLD_LISTENER_REPORT, MLD_LISTENER_REDUCTION};

/* The sets of the uplink's addresses, by family. */
struct nft_uplink_family {
	uint8_t nfproto;
	const char *set;
	uint32_t saddr, daddr, width;
};

static const struct nft_uplink_family nft_uplink_families[] = {
	{NFPROTO_IPV4, "local4", NFT_SADDR4, NFT_DADDR4, 4},
	{NFPROTO_IPV6, "local6", NFT_SADDR6, NFT_DADDR6, 16},
};

/* How an inbound connection begins. */
static const struct nft_uplink_beginning {
	uint8_t protocol;
	bool syn;
	uint8_t icmp; /* type, 0 = not asked for */
} nft_uplink_beginnings[] = {
	{IPPROTO_TCP, true, 0},
	{IPPROTO_UDP, false, 0},
	{IPPROTO_ICMP, false, ICMP_ECHO},
	{IPPROTO_ICMPV6, false, ICMP6_ECHO_REQUEST},
};

/* Begins a rule for packets from (or to) an address of the uplink. */
static struct nft_rule nft_uplink_local(
	struct nft_batch *b, const char *chain, const struct nft_uplink_family *f, bool from)
{
	struct nft_rule r = nft_rule_in(b, NFT_TABLE, chain);

	nft_rule_family(&r, f->nfproto);
	nft_rule_in_set(&r, from ? f->saddr : f->daddr, f->width, false, f->set);
	return r;
}

static void nft_uplink_accept_discovery(
	struct nft_batch *b, const char *chain, const uint8_t *types, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct nft_rule r = nft_rule_in(b, NFT_TABLE, chain);

		nft_rule_family(&r, NFPROTO_IPV6);
		nft_rule_protocol(&r, IPPROTO_ICMPV6);
		nft_rule_transport(&r, NFT_UPLINK_TYPE, 1, &types[i]);
		nft_rule_accept(&r);
	}
}

/* Reports of nothing but the groups in which neighbours ask for an address of the uplink. */
static void nft_uplink_accept_reports(struct nft_batch *b, const char *chain)
{
	for (size_t i = 0; i < ARRAY_SIZE(nft_uplink_reports); i++) {
		struct nft_rule r = nft_rule_in(b, NFT_TABLE, chain);
		nft_rule_family(&r, NFPROTO_IPV6);
		nft_rule_protocol(&r, IPPROTO_ICMPV6);
		nft_rule_transport(&r, NFT_UPLINK_TYPE, 1, &nft_uplink_reports[i]);
		nft_rule_transport_in_set(&r, NFT_UPLINK_GROUP, 16, NFT_GROUPS);
		nft_rule_accept(&r);
	}
}

static void nft_uplink_untracked(struct nft_batch *b)
{
	struct nft_rule r;

	nft_chain_put(b, "untracked", "filter", NF_INET_LOCAL_OUT, NF_IP_PRI_RAW, NF_ACCEPT);
	for (size_t i = 0; i < ARRAY_SIZE(nft_uplink_families); i++) {
		r = nft_uplink_local(b, "untracked", &nft_uplink_families[i], true);
		nft_rule_accept(&r);
		r = nft_uplink_local(b, "untracked", &nft_uplink_families[i], false);
		nft_rule_accept(&r);
	}
	r = nft_rule_in(b, NFT_TABLE, "untracked");
	nft_rule_notrack(&r);
}

/* Gone to with a packet to an address of the uplink. */
static void nft_uplink_begin(struct nft_batch *b, const struct nft_spec *spec)
{
	nft_chain_put_inner(b, "begin");
	for (size_t i = 0; i < ARRAY_SIZE(nft_uplink_beginnings); i++) {
		const struct nft_uplink_beginning *begin = &nft_uplink_beginnings[i];
		struct nft_rule r = nft_rule_in(b, NFT_TABLE, "begin");

		nft_rule_ct_state(&r, NFT_UPLINK_NEW);
		nft_rule_protocol(&r, begin->protocol);
		if (begin->syn)
			nft_rule_syn(&r);
		if (begin->icmp)
			nft_rule_transport(&r, NFT_UPLINK_TYPE, 1, &begin->icmp);
		nft_rule_set_ct_mark(&r, spec->inbound);
		nft_rule_accept(&r);
	}
}

/* Drops who claims to be the sandbox itself. */
static void nft_uplink_impostors(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r = nft_rule_in(b, NFT_TABLE, "arriving");

	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_bytes(&r, NFT_SADDR4, sizeof(spec->own4), NULL, spec->own4);
	nft_rule_drop(&r);
	r = nft_rule_in(b, NFT_TABLE, "arriving");
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_bytes(&r, NFT_SADDR6, sizeof(spec->own6), NULL, spec->own6);
	nft_rule_drop(&r);
	for (size_t i = 0; i < ARRAY_SIZE(nft_uplink_families); i++) {
		r = nft_uplink_local(b, "arriving", &nft_uplink_families[i], true);
		nft_rule_drop(&r);
	}
}

static void nft_uplink_arriving(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_uplink_begin(b, spec);
	nft_chain_put(b, "arriving", "filter", NF_INET_PRE_ROUTING, NFT_PRIORITY, NF_ACCEPT);
	r = nft_rule_in(b, NFT_TABLE, "arriving");
	nft_rule_interface(&r, NFT_META_IIF, NFT_LO, true);
	nft_rule_accept(&r);
	nft_uplink_impostors(b, spec);
	for (size_t i = 0; i < ARRAY_SIZE(nft_uplink_families) && !spec->closed; i++) {
		r = nft_uplink_local(b, "arriving", &nft_uplink_families[i], false);
		nft_rule_goto(&r, "begin");
	}
}

void nft_uplink_put_inbound(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_chain_put_inner(b, "inbound");
	if (!spec->closed) {
		r = nft_rule_in(b, NFT_TABLE, "inbound");
		nft_rule_ct_mark(&r, spec->inbound);
		nft_rule_ct_direction(&r, IP_CT_DIR_ORIGINAL);
		nft_rule_accept(&r);
	}
	nft_uplink_accept_discovery(
		b, "inbound", nft_uplink_discovery_in, ARRAY_SIZE(nft_uplink_discovery_in));
	r = nft_rule_in(b, NFT_TABLE, "inbound");
	nft_rule_drop(&r);
}

static void nft_uplink_replies(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_chain_put(b, "replies", "route", NF_INET_LOCAL_OUT, NFT_PRIORITY, NF_ACCEPT);
	r = nft_rule_in(b, NFT_TABLE, "replies");
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_syn(&r);
	nft_rule_accept(&r);
	if (!spec->closed) {
		r = nft_rule_in(b, NFT_TABLE, "replies");
		nft_rule_ct_mark(&r, spec->inbound);
		nft_rule_ct_direction(&r, IP_CT_DIR_REPLY);
		nft_rule_set_mark(&r, RULES_MARK);
		nft_rule_accept(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(nft_uplink_families); i++) {
		r = nft_uplink_local(b, "replies", &nft_uplink_families[i], true);
		nft_rule_protocol(&r, IPPROTO_TCP);
		nft_rule_ct_state(&r, NF_CT_STATE_INVALID_BIT);
		nft_rule_drop(&r);
	}
}

/* Gone to with a reply, on its way out. */
static void nft_uplink_reply(struct nft_batch *b)
{
	static const uint8_t extensions[] = {IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS};
	static const uint8_t plain = 4 << 4 | 5; /* IPv4, five words */
	struct nft_rule r;

	nft_chain_put_inner(b, "reply");
	r = nft_rule_in(b, NFT_TABLE, "reply");
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_syn(&r);
	nft_rule_drop(&r);
	r = nft_rule_in(b, NFT_TABLE, "reply");
	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_bytes(&r, NFT_UPLINK_IHL4, sizeof(plain), NULL, &plain);
	nft_rule_accept(&r);
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++) {
		r = nft_rule_in(b, NFT_TABLE, "reply");
		nft_rule_family(&r, NFPROTO_IPV6);
		nft_rule_bytes(&r, NFT_UPLINK_NEXT6, sizeof(extensions[i]), NULL, &extensions[i]);
		nft_rule_drop(&r);
	}
	r = nft_rule_in(b, NFT_TABLE, "reply");
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_accept(&r);
	r = nft_rule_in(b, NFT_TABLE, "reply");
	nft_rule_drop(&r);
}

static void nft_uplink_leaving(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_uplink_reply(b);
	nft_chain_put(b, "leaving", "filter", NF_INET_POST_ROUTING, NFT_PRIORITY, NF_DROP);
	r = nft_rule_in(b, NFT_TABLE, "leaving");
	nft_rule_interface(&r, NFT_META_OIF, NFT_LO, true);
	nft_rule_accept(&r);
	if (!spec->closed) {
		r = nft_rule_in(b, NFT_TABLE, "leaving");
		nft_rule_ct_mark(&r, spec->inbound);
		nft_rule_ct_direction(&r, IP_CT_DIR_REPLY);
		nft_rule_ct_state(&r, NFT_UPLINK_ESTABLISHED);
		nft_rule_goto(&r, "reply");
	}
	nft_uplink_accept_discovery(
		b, "leaving", nft_uplink_discovery_out, ARRAY_SIZE(nft_uplink_discovery_out));
	nft_uplink_accept_reports(b, "leaving");
}

void nft_uplink_put(struct nft_batch *b, const struct nft_spec *spec)
{
	nft_uplink_untracked(b);
	nft_uplink_arriving(b, spec);
	nft_uplink_replies(b, spec);
	nft_uplink_leaving(b, spec);
}
