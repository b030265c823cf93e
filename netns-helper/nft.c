/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft.c – the backstop behind the cgroup programs and sk_lookup: the same order of questions as
 * bpf/match.bpf.h, on packets. It is what holds for sockets older than the attach, of another
 * cgroup, or without a hook.
 *
 *   input    what did not come in by lo: drop. Port 53: accept, before the address classes and on
 * loopback too. 853: refuse. Loopback and own addresses: accept. Then, for TCP alone: openings that
 * name metadata addresses, metadata, other openings, refused classes, accept. All else: refuse.
 *   output   what would leave by another interface than lo: refuse. (Nothing else is refused here:
 * a rejection in OUTPUT gives UDP senders EPERM, which clients take for a fault of their own; one
 * on INPUT of lo is an ordinary ECONNREFUSED.) forward  drop.
 *
 * IPv6 addresses that carry an IPv4 one (range_embedded() in bpf/ranges.h) are looked up by the
 * inner address in the IPv4 sets, at its offset in the header.
 */
#include <errno.h>
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include "bpf/capture.h"
#include "netns-helper/intervals.h"
#include "netns-helper/nft.h"
#include "netns-helper/nft_batch.h"
#include "netns-helper/nft_rule.h"

#include "base/cleanup.h"

enum {
	NFT_LO = 1, /* the index of lo in every namespace */
	NFT_DADDR4 = 16, /* offset of the destination in the IPv4 header */
	NFT_DADDR6 = 24, /* … and in the IPv6 header */
	NFT_DNS = 53,
	NFT_DNS_OVER_TLS = 853,
	NFT_PRIORITY = NF_IP_PRI_MANGLE,
	NFT_TYPE_IPADDR = 7, /* nft's own numbers for key types: only how it prints a set */
	NFT_TYPE_IP6ADDR = 8,
};

static const char nft_table[] = "sallyport";

/* A set of addresses, one row each: name, which addresses, their width. */
struct nft_set {
	const char *name;
	enum intervals_kind kind;
	uint32_t width;
};

static const struct nft_set nft_sets[] = {
	{"metadata4", INTERVALS_METADATA, 4},
	{"metadata6", INTERVALS_METADATA, 16},
	{"refused4", INTERVALS_REFUSED, 4},
	{"refused6", INTERVALS_REFUSED, 16},
};

/* A form of IPv6 address with an IPv4 address inside: how it is recognised, where the inner one is.
 */
struct nft_form {
	uint32_t offset, n; /* the bytes that tell the form, from the beginning of the address */
	uint8_t mask[16], value[16];
	uint32_t inner; /* offset of the IPv4 address */
	bool inverted;
};

static const struct nft_form nft_forms[] = {
	/* v4-compatible ::/96; ::1 has been accepted before */
	{0, 12, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, {0}, 12, false},
	/* v4-mapped ::ffff:0:0/96: never on the wire by right */
	{0, 12, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
		{[10] = 255, [11] = 255}, 12, false},
	/* v4-translated ::ffff:0:0:0/96 */
	{0, 12, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
		{[8] = 255, [9] = 255}, 12, false},
	/* NAT64 64:ff9b::/96 */
	{0, 12, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, {0, 0x64, 0xff, 0x9b},
		12, false},
	/* 6to4 2002::/16 */
	{0, 2, {255, 255}, {0x20, 0x02}, 2, false},
	/* Teredo 2001::/32: its server, its client */
	{0, 4, {255, 255, 255, 255}, {0x20, 0x01}, 4, false},
	{0, 4, {255, 255, 255, 255}, {0x20, 0x01}, 12, true},
	/* ISATAP: [02]00:5efe: at the interface identifier */
	{8, 4, {0xfd, 255, 255, 255}, {0, 0, 0x5e, 0xfe}, 12, false},
};

static struct nft_rule nft_in(struct nft_batch *b)
{
	return nft_rule_in(b, nft_table, "input");
}

static void nft_put_table(struct nft_batch *b, uint16_t type, uint16_t flags)
{
	struct nftnl_table *t = nftnl_table_alloc();
	struct nlmsghdr *message;

	if (!t || nftnl_table_set_str(t, NFTNL_TABLE_NAME, nft_table) < 0) {
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

/* hook < 0: a chain that is only gone to. */
static void nft_put_chain(struct nft_batch *b, const char *name, int hook, uint32_t policy)
{
	struct nftnl_chain *c = nftnl_chain_alloc();
	struct nlmsghdr *message;

	if (!c) {
		nft_batch_fail(b, -ENOMEM);
		return;
	}
	if (nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, nft_table) < 0 ||
		nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name) < 0)
		nft_batch_fail(b, -ENOMEM);
	if (hook >= 0) {
		if (nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "filter") < 0)
			nft_batch_fail(b, -ENOMEM);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, (uint32_t)hook);
		nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, NFT_PRIORITY);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, policy);
	}
	message = nft_batch_begin(b, NFT_MSG_NEWCHAIN, NFPROTO_INET, NLM_F_CREATE);
	nftnl_chain_nlmsg_build_payload(message, c);
	nft_batch_end(b);
	nftnl_chain_free(c);
}

static void nft_put_element(
	struct nft_batch *b, struct nftnl_set *s, const uint8_t *key, uint32_t width, bool end)
{
	struct nftnl_set_elem *e = nftnl_set_elem_alloc();

	if (!e) {
		nft_batch_fail(b, -ENOMEM);
		return;
	}
	if (nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, key, width) < 0)
		nft_batch_fail(b, -ENOMEM);
	if (end)
		nftnl_set_elem_set_u32(e, NFTNL_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
	nftnl_set_elem_add(s, e);
}

/* The address after this one; false when it was the last of all. */
static bool nft_after(uint8_t *address, uint32_t width)
{
	for (uint32_t i = width; i-- > 0;)
		if (++address[i] != 0)
			return true;
	return false;
}

/* An interval is a first element and one behind its last, flagged; the end of all addresses has
 * none behind it. */
static void nft_put_set(struct nft_batch *b, const struct nft_set *row, uint32_t id)
{
	struct nftnl_set *s = nftnl_set_alloc();
	struct interval intervals[INTERVALS_MAX];
	struct nlmsghdr *message;
	size_t n = intervals_of(row->kind, row->width, intervals);

	if (!s) {
		nft_batch_fail(b, -ENOMEM);
		return;
	}
	if (nftnl_set_set_str(s, NFTNL_SET_TABLE, nft_table) < 0 ||
		nftnl_set_set_str(s, NFTNL_SET_NAME, row->name) < 0)
		nft_batch_fail(b, -ENOMEM);
	nftnl_set_set_u32(s, NFTNL_SET_ID, id);
	nftnl_set_set_u32(s, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, row->width);
	nftnl_set_set_u32(
		s, NFTNL_SET_KEY_TYPE, row->width == 4 ? NFT_TYPE_IPADDR : NFT_TYPE_IP6ADDR);
	nftnl_set_set_u32(s, NFTNL_SET_FLAGS, NFT_SET_INTERVAL | NFT_SET_CONSTANT);
	message = nft_batch_begin(b, NFT_MSG_NEWSET, NFPROTO_INET, NLM_F_CREATE);
	nftnl_set_nlmsg_build_payload(message, s);
	nft_batch_end(b);
	for (size_t i = 0; i < n; i++) {
		nft_put_element(b, s, intervals[i].lo, row->width, false);
		if (nft_after(intervals[i].hi, row->width))
			nft_put_element(b, s, intervals[i].hi, row->width, true);
	}
	message = nft_batch_begin(b, NFT_MSG_NEWSETELEM, NFPROTO_INET, NLM_F_CREATE);
	nftnl_set_elems_nlmsg_build_payload(message, s);
	nft_batch_end(b);
	nftnl_set_free(s);
}

static void nft_put_refuse(struct nft_batch *b)
{
	struct nft_rule r = nft_rule_in(b, nft_table, "refuse");

	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_reset(&r);
	r = nft_rule_in(b, nft_table, "refuse");
	nft_rule_protocol(&r, IPPROTO_UDP);
	nft_rule_unreachable(&r, NFT_REJECT_ICMPX_PORT_UNREACH);
	r = nft_rule_in(b, nft_table, "refuse");
	nft_rule_unreachable(&r, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
}

static void nft_put_output(struct nft_batch *b)
{
	struct nft_rule r = nft_rule_in(b, nft_table, "output");

	nft_rule_interface(&r, NFT_META_OIF, NFT_LO, true);
	nft_rule_accept(&r);
	r = nft_rule_in(b, nft_table, "output");
	nft_rule_goto(&r, "refuse");
}

static void nft_put_ports(struct nft_batch *b)
{
	static const uint8_t protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	struct nft_rule r;

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		r = nft_in(b);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_port(&r, NFT_DNS, NFT_DNS);
		nft_rule_accept(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		r = nft_in(b);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_port(&r, NFT_DNS_OVER_TLS, NFT_DNS_OVER_TLS);
		nft_rule_goto(&r, "refuse");
	}
}

static void nft_put_local(struct nft_batch *b, const struct nft_spec *spec)
{
	static const uint8_t loopback4[] = {127}, loopback6[16] = {[15] = 1};
	struct nft_rule r = nft_in(b);

	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_bytes(&r, NFT_DADDR4, sizeof(loopback4), NULL, loopback4);
	nft_rule_accept(&r);
	r = nft_in(b);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_bytes(&r, NFT_DADDR6, sizeof(loopback6), NULL, loopback6);
	nft_rule_accept(&r);
	r = nft_in(b);
	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_bytes(&r, NFT_DADDR4, sizeof(spec->own4), NULL, spec->own4);
	nft_rule_accept(&r);
	r = nft_in(b);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_bytes(&r, NFT_DADDR6, sizeof(spec->own6), NULL, spec->own6);
	nft_rule_accept(&r);
}

static void nft_mask(uint8_t *mask, uint32_t width, uint32_t prefix)
{
	for (uint32_t i = 0; i < width; i++)
		mask[i] = (uint8_t)(prefix >= 8 * (i + 1) ? 0xff
				    : prefix <= 8 * i     ? 0
							  : 0xff00 >> (prefix - 8 * i));
}

/* One opening; IPv4 ones come v4-mapped with a prefix of at least 96. Its host bits need not be
 * zero. */
static void nft_put_opening(struct nft_batch *b, const struct capture_opening *o)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool v4 = o->prefix >= 96 && memcmp(o->ip, mapped, sizeof(mapped)) == 0;
	uint32_t width = v4 ? 4 : 16, prefix = v4 ? o->prefix - 96U : o->prefix;
	const uint8_t *ip = v4 ? o->ip + 12 : o->ip;
	struct nft_rule r = nft_in(b);
	uint8_t mask[16], value[16];

	nft_mask(mask, width, prefix);
	for (uint32_t i = 0; i < width; i++)
		value[i] = ip[i] & mask[i];
	nft_rule_family(&r, v4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_bytes(&r, v4 ? NFT_DADDR4 : NFT_DADDR6, width, mask, value);
	nft_rule_port(&r, o->port_lo, o->port_hi);
	nft_rule_accept(&r);
}

static void nft_put_openings(struct nft_batch *b, const struct nft_spec *spec, bool metadata)
{
	for (size_t i = 0; i < spec->nopenings; i++)
		if ((spec->openings[i].metadata != 0) == metadata)
			nft_put_opening(b, &spec->openings[i]);
}

/* Refuses what is in the two sets, and in every form that hides an address of the IPv4 one. */
static void nft_put_refusals(struct nft_batch *b, const char *set4, const char *set6)
{
	struct nft_rule r = nft_in(b);

	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_in_set(&r, NFT_DADDR4, 4, false, set4);
	nft_rule_goto(&r, "refuse");
	r = nft_in(b);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_in_set(&r, NFT_DADDR6, 16, false, set6);
	nft_rule_goto(&r, "refuse");
	for (size_t i = 0; i < ARRAY_SIZE(nft_forms); i++) {
		const struct nft_form *f = &nft_forms[i];

		r = nft_in(b);
		nft_rule_family(&r, NFPROTO_IPV6);
		nft_rule_bytes(&r, NFT_DADDR6 + f->offset, f->n, f->mask, f->value);
		nft_rule_in_set(&r, NFT_DADDR6 + f->inner, 4, f->inverted, set4);
		nft_rule_goto(&r, "refuse");
	}
}

static void nft_put_input(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r = nft_in(b);

	nft_rule_interface(&r, NFT_META_IIF, NFT_LO, false);
	nft_rule_drop(&r);
	nft_put_ports(b);
	nft_put_local(b, spec);
	nft_put_openings(b, spec, true);
	nft_put_refusals(b, "metadata4", "metadata6");
	nft_put_openings(b, spec, false);
	nft_put_refusals(b, "refused4", "refused6");
	r = nft_in(b);
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_accept(&r);
	r = nft_in(b);
	nft_rule_goto(&r, "refuse");
}

int nft_load(const struct nft_spec *spec)
{
	struct nft_batch *b = nft_batch_new();
	int r;

	if (!b)
		return -ENOMEM;
	/* add, so that deleting cannot fail; delete what a dead helper left; add */
	nft_put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	nft_put_table(b, NFT_MSG_DELTABLE, 0);
	nft_put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	for (size_t i = 0; i < ARRAY_SIZE(nft_sets); i++)
		nft_put_set(b, &nft_sets[i], (uint32_t)i + 1);
	nft_put_chain(b, "refuse", -1, 0);
	nft_put_chain(b, "input", NF_INET_LOCAL_IN, NF_DROP);
	nft_put_chain(b, "output", NF_INET_LOCAL_OUT, NF_ACCEPT);
	nft_put_chain(b, "forward", NF_INET_FORWARD, NF_DROP);
	nft_put_refuse(b);
	nft_put_output(b);
	nft_put_input(b, spec);
	r = nft_batch_commit(b);
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
