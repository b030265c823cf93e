/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_input.c – the chain `input`: the same order of questions as bpf/match.bpf.h, on packets.
 *
 * What did not come in by lo: drop. Port 53: accept, before the address classes and on loopback
 * too. 853: refuse. Loopback, own and further local addresses: accept. Then, for TCP alone: openings
 * that name metadata addresses, metadata, other openings, refused classes, accept. All else: refuse.
 *
 * A closed table asks for loopback alone.
 *
 * IPv6 addresses that carry an IPv4 one (range_embedded() in bpf/ranges.h) are looked up by the
 * inner address in the IPv4 sets, at its offset in the header.
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
	uint8_t mask[16], value[16];
	uint32_t inner; /* offset of the IPv4 address */
	bool inverted;
};

static const struct nft_input_form nft_input_forms[] = {
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

static struct nft_rule nft_input_rule(struct nft_batch *b)
{
	return nft_rule_in(b, NFT_TABLE, "input");
}

static void nft_input_ports(struct nft_batch *b)
{
	static const uint8_t protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	struct nft_rule r;

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		r = nft_input_rule(b);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_port(&r, NFT_DNS, NFT_DNS);
		nft_rule_accept(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		r = nft_input_rule(b);
		nft_rule_protocol(&r, protocols[i]);
		nft_rule_port(&r, NFT_DNS_OVER_TLS, NFT_DNS_OVER_TLS);
		nft_rule_goto(&r, "refuse");
	}
}

static void nft_input_loopback(struct nft_batch *b)
{
	static const uint8_t loopback4[] = {127}, loopback6[16] = {[15] = 1};
	struct nft_rule r = nft_input_rule(b);

	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_bytes(&r, NFT_DADDR4, sizeof(loopback4), NULL, loopback4);
	nft_rule_accept(&r);
	r = nft_input_rule(b);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_bytes(&r, NFT_DADDR6, sizeof(loopback6), NULL, loopback6);
	nft_rule_accept(&r);
}

static void nft_input_own(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r = nft_input_rule(b);

	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_bytes(&r, NFT_DADDR4, sizeof(spec->own4), NULL, spec->own4);
	nft_rule_accept(&r);
	r = nft_input_rule(b);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_bytes(&r, NFT_DADDR6, sizeof(spec->own6), NULL, spec->own6);
	nft_rule_accept(&r);
	r = nft_input_rule(b);
	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_in_set(&r, NFT_DADDR4, 4, false, "local4");
	nft_rule_accept(&r);
	r = nft_input_rule(b);
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
	nft_rule_bytes(&r, v4 ? NFT_DADDR4 : NFT_DADDR6, width, mask, value);
	nft_rule_port(&r, o->port_lo, o->port_hi);
	nft_rule_accept(&r);
}

static void nft_input_openings(struct nft_batch *b, const struct nft_spec *spec, bool metadata)
{
	for (size_t i = 0; i < spec->nopenings; i++)
		if ((spec->openings[i].metadata != 0) == metadata)
			nft_input_opening(b, &spec->openings[i]);
}

/* Refuses what is in the two sets, and in every form that hides an address of the IPv4 one. */
static void nft_input_refusals(struct nft_batch *b, const char *set4, const char *set6)
{
	struct nft_rule r = nft_input_rule(b);

	nft_rule_family(&r, NFPROTO_IPV4);
	nft_rule_in_set(&r, NFT_DADDR4, 4, false, set4);
	nft_rule_goto(&r, "refuse");
	r = nft_input_rule(b);
	nft_rule_family(&r, NFPROTO_IPV6);
	nft_rule_in_set(&r, NFT_DADDR6, 16, false, set6);
	nft_rule_goto(&r, "refuse");
	for (size_t i = 0; i < ARRAY_SIZE(nft_input_forms); i++) {
		const struct nft_input_form *f = &nft_input_forms[i];

		r = nft_input_rule(b);
		nft_rule_family(&r, NFPROTO_IPV6);
		nft_rule_bytes(&r, NFT_DADDR6 + f->offset, f->n, f->mask, f->value);
		nft_rule_in_set(&r, NFT_DADDR6 + f->inner, 4, f->inverted, set4);
		nft_rule_goto(&r, "refuse");
	}
}

static void nft_input_questions(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_input_ports(b);
	nft_input_loopback(b);
	nft_input_own(b, spec);
	nft_input_openings(b, spec, true);
	nft_input_refusals(b, "metadata4", "metadata6");
	nft_input_openings(b, spec, false);
	nft_input_refusals(b, "refused4", "refused6");
	r = nft_input_rule(b);
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_accept(&r);
}

void nft_input_put(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_chain_put(b, "input", "filter", NF_INET_LOCAL_IN, NFT_PRIORITY, NF_DROP);
	r = nft_input_rule(b);
	nft_rule_interface(&r, NFT_META_IIF, NFT_LO, false);
	nft_rule_drop(&r);
	if (spec->closed)
		nft_input_loopback(b);
	else
		nft_input_questions(b, spec);
	r = nft_input_rule(b);
	nft_rule_goto(&r, "refuse");
}
