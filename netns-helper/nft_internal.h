/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_internal.h – what the files that build the table share. Only for files in this folder that
 * build the table. Each puts its chain and its rules into the batch; failures stick in it. nft.c
 * has the order.
 */
#ifndef SALLYPORT_NFT_INTERNAL_H
#define SALLYPORT_NFT_INTERNAL_H

#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter_ipv4.h>
#include <stdint.h>

#include "netns-helper/intervals.h"
#include "netns-helper/nft_batch.h"
#include "netns-helper/nft_rule.h"

struct nft_spec;

#define NFT_TABLE  "sallyport"
#define NFT_GROUPS "groups6"

enum {
	NFT_LO = 1, /* the index of lo in every namespace */
	NFT_SADDR4 = 12, /* offset of the source in the IPv4 header */
	NFT_SADDR6 = 8, /* … and in the IPv6 header */
	NFT_DADDR4 = 16, /* offset of the destination in the IPv4 header */
	NFT_DADDR6 = 24, /* … and in the IPv6 header */
	NFT_DNS = 53,
	NFT_DNS_OVER_TLS = 853,
	NFT_PRIORITY = NF_IP_PRI_MANGLE,
	NFT_SLOTS = 64, /* kinds of source ports, shared out among the listeners */
	NFT_SLOTS_SHIFT = 1, /* a connect() without bind() mostly takes even ports */
	NFT_SLOTS_MASK = (NFT_SLOTS - 1) << NFT_SLOTS_SHIFT,
	NFT_SETS_SLOTS = 16, /* ids of sets that nft_sets_put() does not use: from here on */
	NFT_SETS_RANGES = 32, /* … of nft_input.c's */
};

/* nft.c: a chain that is only gone to. */
void nft_chain_put_inner(struct nft_batch *b, const char *name);

/* nft.c: a chain at a hook (NF_INET_…), of type "filter" or "route"; policy NF_DROP or NF_ACCEPT. */
void nft_chain_put(struct nft_batch *b, const char *name, const char *type, uint32_t hook,
	int32_t priority, uint32_t policy);

/* nft_probe.c: the chain `probe`, and in `input` the rules that lead to it. Wants the chain `refuse`. */
void nft_probe_put_chain(struct nft_batch *b, const struct nft_spec *spec);
void nft_probe_put(struct nft_batch *b, const char *chain);
/* … and one rule that goes by the port alone. */
void nft_probe_put_port(struct nft_batch *b, const char *chain);

/* nft_outage.c: the chain `outage` of the nft lane. Wants the chain `refuse`. */
void nft_outage_put(struct nft_batch *b, const struct nft_spec *spec);
extern const char nft_outage_chain[];

/* nft_resolver.c: the chain `resolver`, when the container runtime has one; and where it is. */
void nft_resolver_put(struct nft_batch *b, const struct nft_spec *spec);
extern const uint8_t nft_resolver[4];

/* nft_sets.c: every set of the table that has a name, filled. */
void nft_sets_put(struct nft_batch *b, const struct nft_spec *spec);

/* … and a map: the source port under NFT_SLOTS_MASK → one of the n ports. The id is the table's own. */
void nft_sets_put_slots(
	struct nft_batch *b, const char *name, uint32_t id, const uint16_t *ports, unsigned int n);

/* … and a set without a name, for one rule, which finds it by the id: addresses of 4 or 16 bytes. */
void nft_sets_put_ranges(
	struct nft_batch *b, enum intervals_kind kind, uint32_t width, uint32_t id);

/* nft_input.c: accepts, in that chain, loopback destinations and the sandbox's other addresses. */
void nft_local_put(struct nft_batch *b, const char *chain, const struct nft_spec *spec);

/* nft_lane.c: the chains `capture` and `prerouting` of the nft lane. Wants the sets and `refuse`. */
void nft_lane_put(struct nft_batch *b, const struct nft_spec *spec);

/* nft_input.c: the chain `input`. Wants the sets and the chain `refuse`. */
void nft_input_put(struct nft_batch *b, const struct nft_spec *spec);

/* nft_uplink.c, uplink mode alone: the chain `inbound`, before nft_input_put(), which goes to it; and
 * the others. Both want the sets. */
void nft_uplink_put_inbound(struct nft_batch *b, const struct nft_spec *spec);
void nft_uplink_put(struct nft_batch *b, const struct nft_spec *spec);

#endif
