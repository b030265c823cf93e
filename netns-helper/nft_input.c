/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_input.c – the chain `input`: the same order of questions as bpf/match.bpf.h, on packets.
 *
 * In the nft lane. What did not come in by lo: drop, or in uplink mode nft_uplink.c's question. TCP that opens no
 * connection: accept. The self-test's place: nft_probe.c. Port 53: accept, before the address classes and on loopback too. 853: refuse.
 * 127.0.0.11, where a container runtime has its resolver: refuse. Loopback, own and further local
 * addresses: accept. Then, for TCP alone: openings that name metadata addresses, metadata, other
 * openings, the host's addresses, refused classes; accept. All else: refuse.
 *
 * In the BPF lane TCP that came in by lo is accepted: every SYN comes to sk_lookup, whatever its socket, and is judged
 * there by the maps that all sandboxes share (bpf/steer.bpf.c); here that would be twenty kilobytes for each. Left are
 * port 53 of UDP, the resolver, local addresses as above; all else: refuse. The rules fit a kilobyte.
 *
 * A closed table, in both lanes, refuses port 53 and then lets loopback and own addresses alone through: nothing of
 * the sandbox reaches us, but the ends of its connections still reach it.
 *
 * IPv6 addresses that carry an IPv4 one (range_embedded() in bpf/ranges.h) are refused by the inner
 * address as well: whatever its offset in the header, it is noted, and judged in one chain (`refused`,
 * `metadata`) like the destination of an IPv4 packet. `metadata` is asked, and there, only when
 * openings follow: all that it refuses is refused behind them as well.
 */
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "bpf/capture.h"
#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"

#include "base/cleanup.h"

/* A form of IPv6 address with an IPv4 address inside: how it is recognised, where the inner one is.
 */
struct nft_input_form {
	uint32_t offset, n; /* the bytes that tell the form, from the beginning of the address */
	uint8_t value[16];
	uint32_t inner; /* offset of the IPv4 address */
	bool inverted;
	const uint8_t *mask; /* NULL: all bits tell, and the rule is a quarter smaller */
};

static const uint8_t nft_input_isatap[4] = {0xfd, 255, 255, 255};

static const struct nft_input_form nft_input_forms[] = {
	/* v4-compatible ::/96; ::1 has been accepted before */
	{0, 12, {0}, 12, false, NULL},
	/* v4-mapped ::ffff:0:0/96: never on the wire by right */
	{0, 12, {[10] = 255, [11] = 255}, 12, false, NULL},
	/* v4-translated ::ffff:0:0:0/96 */
	{0, 12, {[8] = 255, [9] = 255}, 12, false, NULL},
	/* NAT64 64:ff9b::/96 */
	{0, 12, {0, 0x64, 0xff, 0x9b}, 12, false, NULL},
	/* 6to4 2002::/16 */
	{0, 2, {0x20, 0x02}, 2, false, NULL},
	/* Teredo 2001::/32: its server, its client */
	{0, 4, {0x20, 0x01}, 4, false, NULL},
	{0, 4, {0x20, 0x01}, 12, true, NULL},
	/* ISATAP: [02]00:5efe: at the interface identifier */
	{8, 4, {0, 0, 0x5e, 0xfe}, 12, false, nft_input_isatap},
};

static struct nft_rule nft_input_rule(struct nft_batch *b)
{
	return nft_rule_in(b, NFT_TABLE, "input");
}

static void nft_input_ports(struct nft_batch *b, bool closed)
{
	static const uint8_t protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	struct nft_rule r;

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		r = nft_input_rule(b);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_port(&r, NFT_DNS, NFT_DNS);
		if (closed)
			nft_rule_goto(&r, "refuse");
		else
			nft_rule_accept(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		r = nft_input_rule(b);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_port(&r, NFT_DNS_OVER_TLS, NFT_DNS_OVER_TLS);
		nft_rule_goto(&r, "refuse");
	}
}

/* One address of the network header, as a rule that accepts. */
static void nft_local_put_one(
	struct nft_batch *b, const char *chain, uint8_t nfproto, const uint8_t *address, uint32_t n)
{
	struct nft_rule r = nft_rule_in(b, NFT_TABLE, chain);

	nft_rule_family(&r, nfproto);
	nft_rule_bytes(&r, nfproto == NFPROTO_IPV4 ? NFT_DADDR4 : NFT_DADDR6, n, NULL, address);
	nft_rule_accept(&r);
}

void nft_local_put(struct nft_batch *b, const char *chain, const struct nft_spec *spec)
{
	static const uint8_t loopback4[] = {127}, loopback6[16] = {[15] = 1};
	struct nft_rule r;

	nft_local_put_one(b, chain, NFPROTO_IPV4, loopback4, sizeof(loopback4));
	nft_local_put_one(b, chain, NFPROTO_IPV6, loopback6, sizeof(loopback6));
	nft_local_put_one(b, chain, NFPROTO_IPV4, spec->own4, sizeof(spec->own4));
	nft_local_put_one(b, chain, NFPROTO_IPV6, spec->own6, sizeof(spec->own6));
	if (spec->mode != PROTO_UPLINK)
		return;
	r = nft_rule_in(b, NFT_TABLE, chain);
	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_in_set(&r, NFT_DADDR4, 4, false, "local4");
	nft_rule_accept(&r);
	r = nft_rule_in(b, NFT_TABLE, chain);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_in_set(&r, NFT_DADDR6, 16, false, "local6");
	nft_rule_accept(&r);
}

static void nft_input_mask(uint8_t *mask, uint32_t width, uint32_t prefix)
{
	for (uint32_t i = 0; i < width; i++)
		mask[i] = (uint8_t)(prefix >= 8 * (i + 1) ? 0xff
				    : prefix <= 8 * i     ? 0
							  : 0xff00 >> (prefix - 8 * i));
}

/* One opening; IPv4 ones come v4-mapped with a prefix of at least 96. Its host bits need not be
 * zero. */
static void nft_input_opening(struct nft_batch *b, const struct capture_opening *o)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool v4 = o->prefix >= 96 && memcmp(o->ip, mapped, sizeof(mapped)) == 0;
	uint32_t width = v4 ? 4 : 16, prefix = v4 ? o->prefix - 96U : o->prefix;
	const uint8_t *ip = v4 ? o->ip + 12 : o->ip;
	struct nft_rule r = nft_input_rule(b);
	uint8_t mask[16], value[16];

	nft_input_mask(mask, width, prefix);
	for (uint32_t i = 0; i < width; i++)
		value[i] = ip[i] & mask[i];
	nft_rule_family(&r, v4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_bytes(
		&r, v4 ? NFT_DADDR4 : NFT_DADDR6, width, prefix == 8 * width ? NULL : mask, value);
	nft_rule_port(&r, o->port_lo, o->port_hi);
	nft_rule_accept(&r);
}

static void nft_input_openings(struct nft_batch *b, const struct nft_spec *spec, bool metadata)
{
	for (size_t i = 0; i < spec->nopenings; i++)
		if ((spec->openings[i].metadata != 0) == metadata)
			nft_input_opening(b, &spec->openings[i]);
}

/* What is refused at one place of the order: a chain for noted IPv4 addresses, and for IPv6 ones rules
 * in `input`. */
struct nft_input_refusals {
	const char *chain;
	enum intervals_kind kind;
	bool host; /* the host's addresses too */
	uint32_t id; /* of its set of IPv4 addresses; the next is that of its IPv6 ones */
};

static const struct nft_input_refusals nft_input_metadata = {
	.chain = "metadata", .kind = INTERVALS_METADATA, .id = NFT_SETS_RANGES};
static const struct nft_input_refusals nft_input_all = {
	.chain = "refused", .kind = INTERVALS_REFUSED, .host = true, .id = NFT_SETS_RANGES + 2};

/* The chain that judges what was noted. */
static void nft_input_put_noted(struct nft_batch *b, const struct nft_input_refusals *what)
{
	struct nft_rule r;

	nft_chain_put_inner(b, what->chain);
	nft_sets_put_ranges(b, what->kind, 4, what->id);
	r = nft_rule_in(b, NFT_TABLE, what->chain);
	nft_rule_noted_in(&r, NULL, what->id);
	nft_rule_goto(&r, "refuse");
	if (!what->host)
		return;
	r = nft_rule_in(b, NFT_TABLE, what->chain);
	nft_rule_noted_in(&r, "host4", 0);
	nft_rule_goto(&r, "refuse");
}

static void nft_input_refusals(struct nft_batch *b, const struct nft_input_refusals *what)
{
	struct nft_rule r;

	nft_input_put_noted(b, what);
	nft_sets_put_ranges(b, what->kind, 16, what->id + 1);
	r = nft_input_rule(b);
	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_note(&r, NFT_DADDR4, false);
	nft_rule_jump(&r, what->chain);
	r = nft_input_rule(b);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_in_own_set(&r, NFT_DADDR6, 16, what->id + 1);
	nft_rule_goto(&r, "refuse");
	if (what->host) {
		r = nft_input_rule(b);
		nft_rule_family(&r, NFPROTO_IPV6);
		nft_rule_in_set(&r, NFT_DADDR6, 16, false, "host6");
		nft_rule_goto(&r, "refuse");
	}
	for (size_t i = 0; i < ARRAY_SIZE(nft_input_forms); i++) {
		const struct nft_input_form *f = &nft_input_forms[i];

		r = nft_input_rule(b);
		nft_rule_family(&r, NFPROTO_IPV6);
		nft_rule_bytes(&r, NFT_DADDR6 + f->offset, f->n, f->mask, f->value);
		nft_rule_note(&r, NFT_DADDR6 + f->inner, f->inverted);
		nft_rule_jump(&r, what->chain);
	}
}

/* The container runtime's resolver is asked at port 53 alone, which has been judged before. */
static void nft_input_resolver(struct nft_batch *b)
{
	struct nft_rule r = nft_input_rule(b);

	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_bytes(&r, NFT_DADDR4, sizeof(nft_resolver), NULL, nft_resolver);
	nft_rule_goto(&r, "refuse");
}

static bool nft_input_opens(const struct nft_spec *spec)
{
	for (size_t i = 0; i < spec->nopenings; i++)
		if (!spec->openings[i].metadata)
			return true;
	return false;
}

static void nft_input_addresses(struct nft_batch *b, const struct nft_spec *spec)
{
	nft_input_openings(b, spec, true);
	if (nft_input_opens(spec)) {
		nft_input_refusals(b, &nft_input_metadata);
		nft_input_openings(b, spec, false);
	}
	nft_input_refusals(b, &nft_input_all);
}

/* What opens no connection belongs to one that was judged, or to none and is answered by a reset: the
 * questions are asked once a connection, not for each of its packets. */
static void nft_input_going_on(struct nft_batch *b)
{
	struct nft_rule r = nft_input_rule(b);

	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_no_syn(&r);
	nft_rule_accept(&r);
}

/* TCP, or UDP to port 53. */
static void nft_input_accept(struct nft_batch *b, uint8_t protocol)
{
	struct nft_rule r = nft_input_rule(b);

	nft_rule_protocol(&r, protocol);
	if (protocol == IPPROTO_UDP)
		nft_rule_port(&r, NFT_DNS, NFT_DNS);
	nft_rule_accept(&r);
}

static void nft_input_steered(struct nft_batch *b, const struct nft_spec *spec)
{
	nft_probe_put_port(b, "input");
	nft_input_accept(b, IPPROTO_TCP);
	nft_input_accept(b, IPPROTO_UDP);
	if (spec->resolver)
		nft_input_resolver(b);
	nft_local_put(b, "input", spec);
}

static void nft_input_judged(struct nft_batch *b, const struct nft_spec *spec)
{
	if (!spec->closed)
		nft_input_going_on(b);
	nft_probe_put(b, "input");
	nft_input_ports(b, spec->closed);
	if (spec->resolver)
		nft_input_resolver(b);
	nft_local_put(b, "input", spec);
	if (spec->closed)
		return;
	nft_input_addresses(b, spec);
	nft_input_accept(b, IPPROTO_TCP);
}

void nft_input_put(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_chain_put(b, "input", "filter", NF_INET_LOCAL_IN, NFT_PRIORITY, NF_DROP);
	r = nft_input_rule(b);
	nft_rule_interface(&r, NFT_META_IIF, NFT_LO, false);
	if (spec->mode == PROTO_UPLINK)
		nft_rule_goto(&r, "inbound");
	else
		nft_rule_drop(&r);
	if (spec->lane == PROTO_LANE_BPF && !spec->closed)
		nft_input_steered(b, spec);
	else
		nft_input_judged(b, spec);
	r = nft_input_rule(b);
	nft_rule_goto(&r, "refuse");
}
