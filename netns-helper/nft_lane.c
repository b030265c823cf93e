/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_lane.c – capture without BPF: tproxy gives what came back in by lo to our transparent sockets.
 * The same order of questions as bpf/steer.bpf.c.
 *
 *   prerouting   not by lo: not ours to judge here. UDP to port 53, whatever the address: the chain
 *                `outage`, the DNS socket, and where that is gone refuse. TCP to port 53: capture. Loopback, own and
 *                further local addresses: accept. TCP: capture.
 *   capture      the chain `outage`; a listener, chosen by the source port. A SYN that none took: refuse.
 *
 * tproxy only notes the socket in the packet; the destination stays what it was. So `input`, which
 * comes later, still sees every packet and refuses by address, and getsockname() of the accepted
 * socket is the address that was asked for. No fwmark, rule or conntrack is wanted: by the AnyIP
 * route every destination is local already, and the answers go back by lo.
 *
 * Where a connection exists already, tproxy finds that socket before it looks for a listener. A
 * socket that is not transparent is never taken: an answer to a client that is bound to a foreign
 * address goes on and reaches it, and a server of the sandbox at 0.0.0.0:443 is not even asked.
 *
 * The listener is found by its own address and port, which nobody else can bind (listeners.c). It is
 * chosen by some bits of the source port and a map: jhash would do too, and would need
 * CONFIG_NFT_HASH.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "netns-helper/listeners.h"
#include "netns-helper/nft.h"
#include "netns-helper/nft_internal.h"

#include "base/cleanup.h"

static const struct nft_lane_family {
	uint8_t nfproto;
	int family;
	const char *map, *tcp, *dns;
} nft_lane_families[] = {
	{NFPROTO_IPV4, AF_INET, "slots4", LISTENERS_TCP4, LISTENERS_DNS4},
	{NFPROTO_IPV6, AF_INET6, "slots6", LISTENERS_TCP6, LISTENERS_DNS6},
};

/* The rule that gives what it matches to the socket at the address, by the port or by the map. */
static void nft_lane_take(struct nft_batch *b, struct nft_rule *r, const struct nft_lane_family *f,
	const char *at, uint16_t port)
{
	uint8_t address[16];
	const struct nft_rule_target target = {
		.nfproto = f->nfproto,
		.address = address,
		.port = port,
		.map = f->map,
		.mask = NFT_SLOTS_MASK,
	};

	if (inet_pton(f->family, at, address) != 1)
		nft_batch_fail(b, -EINVAL);
	nft_rule_family(r, f->nfproto);
	nft_rule_tproxy(r, &target);
	nft_rule_accept(r);
}

static void nft_lane_put_capture(struct nft_batch *b, const struct nft_spec *spec)
{
	const uint16_t *const ports[] = {spec->ports4, spec->ports6};
	struct nft_rule r;

	nft_chain_put_inner(b, "capture");
	r = nft_rule_in(b, NFT_TABLE, "capture");
	nft_rule_jump(&r, nft_outage_chain);
	for (size_t i = 0; i < ARRAY_SIZE(nft_lane_families); i++) {
		const struct nft_lane_family *f = &nft_lane_families[i];

		if (!ports[i][0])
			continue; /* the namespace does not have the family */
		nft_sets_put_slots(b, f->map, NFT_SETS_SLOTS + (uint32_t)i, ports[i], spec->nslots);
		r = nft_rule_in(b, NFT_TABLE, "capture");
		nft_rule_protocol(&r, IPPROTO_TCP);
		nft_lane_take(b, &r, f, f->tcp, 0);
	}
	r = nft_rule_in(b, NFT_TABLE, "capture");
	nft_rule_protocol(&r, IPPROTO_TCP);
	nft_rule_syn(&r);
	nft_rule_goto(&r, "refuse");
}

static struct nft_rule nft_lane_rule(struct nft_batch *b, uint8_t protocol)
{
	struct nft_rule r = nft_rule_in(b, NFT_TABLE, "prerouting");

	nft_rule_protocol(&r, protocol);
	return r;
}

static struct nft_rule nft_lane_dns(struct nft_batch *b, uint8_t protocol)
{
	struct nft_rule r = nft_lane_rule(b, protocol);

	nft_rule_port(&r, NFT_DNS, NFT_DNS);
	return r;
}

void nft_lane_put(struct nft_batch *b, const struct nft_spec *spec)
{
	struct nft_rule r;

	nft_lane_put_capture(b, spec);
	nft_chain_put(b, "prerouting", "filter", NF_INET_PRE_ROUTING, NFT_PRIORITY, NF_ACCEPT);
	r = nft_rule_in(b, NFT_TABLE, "prerouting");
	nft_rule_interface(&r, NFT_META_IIF, NFT_LO, false);
	nft_rule_accept(&r);
	r = nft_lane_dns(b, IPPROTO_UDP);
	nft_rule_jump(&r, nft_outage_chain);
	for (size_t i = 0; i < ARRAY_SIZE(nft_lane_families); i++) {
		r = nft_lane_dns(b, IPPROTO_UDP);
		nft_lane_take(b, &r, &nft_lane_families[i], nft_lane_families[i].dns, NFT_DNS);
	}
	r = nft_lane_dns(b, IPPROTO_UDP);
	nft_rule_goto(&r, "refuse");
	r = nft_lane_dns(b, IPPROTO_TCP);
	nft_rule_goto(&r, "capture");
	nft_local_put(b, "prerouting", spec);
	r = nft_lane_rule(b, IPPROTO_TCP);
	nft_rule_goto(&r, "capture");
}
