/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_sets.c – the sets of the table.
 *
 *   host4, host6     in the nft lane, the host's own addresses
 *   local4, local6   in uplink mode, further addresses of the sandbox
 *   groups6          … and the groups in which neighbours ask for the IPv6 ones (solicited-node, RFC 4291)
 *   slots4, slots6   in the nft lane, masked source port → listener's port
 *   without a name   in the nft lane, the rows of bpf/ranges.h, as intervals; never change. For one rule each, since a
 *                    named set of intervals costs 16 KiB in the kernel however short it is
 *                    (6.18: nft_set_rbtree keeps an array for a thousand beside its tree)
 *
 * host, local and groups come with the table and are replaced as a whole, in one transaction, when the
 * addresses change.
 */
#include <errno.h>
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <libnftnl/set.h>

#include "bpf/capture.h"
#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"

#include "base/cleanup.h"

enum {
	NFT_SETS_MESSAGE = 256, /* elements in one message */
	NFT_SETS_IPADDR = 7, /* nft's own numbers for key types: only how it prints a set */
	NFT_SETS_IP6ADDR = 8,
	NFT_SETS_PORT = 13,
};

/* A list of addresses in two sets, one for each family. */
struct nft_sets_pair {
	const char *v4, *v6;
};

static const struct nft_sets_pair nft_sets_host = {"host4", "host6"};
static const struct nft_sets_pair nft_sets_local = {"local4", "local6"};

/* A set's name alone: what a message about its elements begins with. */
static struct nftnl_set *nft_sets_named(struct nft_batch *b, const char *name)
{
	struct nftnl_set *s = nftnl_set_alloc();

	if (!s) {
		nft_batch_fail(b, -ENOMEM);
		return NULL;
	}
	if (nftnl_set_set_str(s, NFTNL_SET_TABLE, NFT_TABLE) < 0 ||
		nftnl_set_set_str(s, NFTNL_SET_NAME, name) < 0)
		nft_batch_fail(b, -ENOMEM);
	return s;
}

static uint32_t nft_sets_type(uint32_t width)
{
	return width == 4 ? NFT_SETS_IPADDR : width == 16 ? NFT_SETS_IP6ADDR : NFT_SETS_PORT;
}

/* A map, when flags say so, leads to ports. */
static void nft_sets_declare(
	struct nft_batch *b, const char *name, uint32_t width, uint32_t flags, uint32_t id)
{
	struct nftnl_set *s = nft_sets_named(b, name);
	struct nlmsghdr *message;

	if (!s)
		return;
	nftnl_set_set_u32(s, NFTNL_SET_ID, id);
	nftnl_set_set_u32(s, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, width);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, nft_sets_type(width));
	nftnl_set_set_u32(s, NFTNL_SET_FLAGS, flags);
	if (flags & NFT_SET_MAP) {
		nftnl_set_set_u32(s, NFTNL_SET_DATA_TYPE, NFT_SETS_PORT);
		nftnl_set_set_u32(s, NFTNL_SET_DATA_LEN, sizeof(uint16_t));
	}
	message = nft_batch_begin(b, NFT_MSG_NEWSET, NFPROTO_INET, NLM_F_CREATE);
	nftnl_set_nlmsg_build_payload(message, s);
	nft_batch_end(b);
	nftnl_set_free(s);
}

static void nft_sets_element(
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

static void nft_sets_send(struct nft_batch *b, struct nftnl_set *s, uint16_t type)
{
	struct nlmsghdr *message = nft_batch_begin(
		b, type, NFPROTO_INET, type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0);

	nftnl_set_elems_nlmsg_build_payload(message, s);
	nft_batch_end(b);
	nftnl_set_free(s);
}

/* The address after this one; false when it was the last of all. */
static bool nft_sets_after(uint8_t *address, uint32_t width)
{
	for (uint32_t i = width; i-- > 0;)
		if (++address[i] != 0)
			return true;
	return false;
}

/* An interval is a first element and one behind its last, flagged; the end of all addresses has
 * none behind it. */
void nft_sets_put_ranges(struct nft_batch *b, enum intervals_kind kind, uint32_t width, uint32_t id)
{
	struct interval intervals[INTERVALS_MAX];
	size_t n = intervals_of(kind, width, intervals);
	struct nftnl_set *s;

	nft_sets_declare(b, NFT_RULE_OWN_SET, width,
		NFT_SET_ANONYMOUS | NFT_SET_INTERVAL | NFT_SET_CONSTANT, id);
	s = nft_sets_named(b, NFT_RULE_OWN_SET);
	if (!s)
		return;
	nftnl_set_set_u32(s, NFTNL_SET_ID, id);
	for (size_t i = 0; i < n; i++) {
		nft_sets_element(b, s, intervals[i].lo, width, false);
		if (nft_sets_after(intervals[i].hi, width))
			nft_sets_element(b, s, intervals[i].hi, width, true);
	}
	nft_sets_send(b, s, NFT_MSG_NEWSETELEM);
}

static bool nft_sets_is_v4(const uint8_t address[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address, mapped, sizeof(mapped)) == 0;
}

/* Those of one family, in messages of at most NFT_SETS_MESSAGE. */
static void nft_sets_fill(
	struct nft_batch *b, const char *name, bool v4, const uint8_t (*addresses)[16], size_t n)
{
	struct nftnl_set *s = NULL;
	size_t in_message = 0;

	for (size_t i = 0; i < n; i++) {
		if (nft_sets_is_v4(addresses[i]) != v4)
			continue;
		if (!s)
			s = nft_sets_named(b, name);
		if (!s)
			return;
		nft_sets_element(b, s, addresses[i] + (v4 ? 12 : 0), v4 ? 4 : 16, false);
		if (++in_message < NFT_SETS_MESSAGE)
			continue;
		nft_sets_send(b, s, NFT_MSG_NEWSETELEM);
		s = NULL;
		in_message = 0;
	}
	if (s)
		nft_sets_send(b, s, NFT_MSG_NEWSETELEM);
}

static void nft_sets_fill_pair(struct nft_batch *b, const struct nft_sets_pair *pair,
	const uint8_t (*addresses)[16], size_t n)
{
	nft_sets_fill(b, pair->v4, true, addresses, n);
	nft_sets_fill(b, pair->v6, false, addresses, n);
}

/* More than one address may have the same group: it is entered once. */
static void nft_sets_fill_groups(struct nft_batch *b, const uint8_t (*addresses)[16], size_t n)
{
	static const uint8_t prefix[13] = {0xff, 0x02, [11] = 0x01, 0xff};
	uint8_t groups[CAPTURE_LOCALS][16];
	size_t ngroups = 0;

	for (size_t i = 0; i < n && ngroups < CAPTURE_LOCALS; i++) {
		if (nft_sets_is_v4(addresses[i]))
			continue;
		memcpy(groups[ngroups], prefix, sizeof(prefix));
		memcpy(groups[ngroups] + sizeof(prefix), addresses[i] + sizeof(prefix), 3);
		ngroups++;
	}
	nft_sets_fill(b, NFT_GROUPS, false, (const uint8_t(*)[16])groups, ngroups);
}

void nft_sets_put_slots(
	struct nft_batch *b, const char *name, uint32_t id, const uint16_t *ports, unsigned int n)
{
	struct nftnl_set *s;

	nft_sets_declare(b, name, sizeof(uint16_t), NFT_SET_MAP | NFT_SET_CONSTANT, id);
	s = nft_sets_named(b, name);
	if (!s)
		return;
	for (unsigned int i = 0; i < NFT_SLOTS; i++) {
		const uint16_t key = htons((uint16_t)(i << NFT_SLOTS_SHIFT)),
			       port = htons(ports[i % n]);
		struct nftnl_set_elem *e = nftnl_set_elem_alloc();

		if (!e || nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, &key, sizeof(key)) < 0 ||
			nftnl_set_elem_set(e, NFTNL_SET_ELEM_DATA, &port, sizeof(port)) < 0)
			nft_batch_fail(b, -ENOMEM);
		if (e)
			nftnl_set_elem_add(s, e);
	}
	nft_sets_send(b, s, NFT_MSG_NEWSETELEM);
}

void nft_sets_put(struct nft_batch *b, const struct nft_spec *spec)
{
	uint32_t id = 1;

	if (spec->lane == PROTO_LANE_NFT) {
		nft_sets_declare(b, nft_sets_host.v4, 4, 0, id++);
		nft_sets_declare(b, nft_sets_host.v6, 16, 0, id++);
		nft_sets_fill_pair(b, &nft_sets_host, spec->hosts, spec->nhosts);
	}
	if (spec->mode != PROTO_UPLINK)
		return;
	nft_sets_declare(b, nft_sets_local.v4, 4, 0, id++);
	nft_sets_declare(b, nft_sets_local.v6, 16, 0, id++);
	nft_sets_declare(b, NFT_GROUPS, 16, 0, id);
	nft_sets_fill_pair(b, &nft_sets_local, spec->locals, spec->nlocals);
	nft_sets_fill_groups(b, spec->locals, spec->nlocals);
}

static void nft_sets_empty(struct nft_batch *b, const char *name)
{
	struct nftnl_set *s = nft_sets_named(b, name);

	if (s)
		nft_sets_send(b, s, NFT_MSG_DELSETELEM);
}

static int nft_sets_replace(
	const struct nft_sets_pair *pair, const uint8_t (*addresses)[16], size_t n)
{
	struct nft_batch *b = nft_batch_new();
	int r;

	if (!b)
		return -ENOMEM;
	nft_sets_empty(b, pair->v4);
	nft_sets_empty(b, pair->v6);
	nft_sets_fill_pair(b, pair, addresses, n);
	if (pair == &nft_sets_local) {
		nft_sets_empty(b, NFT_GROUPS);
		nft_sets_fill_groups(b, addresses, n);
	}
	r = nft_batch_commit(b);
	nft_batch_free(b);
	return r;
}

int nft_set_hosts(const uint8_t (*hosts)[16], size_t n)
{
	return nft_sets_replace(&nft_sets_host, hosts, n);
}

int nft_set_locals(const uint8_t (*locals)[16], size_t n)
{
	return nft_sets_replace(&nft_sets_local, locals, n);
}
