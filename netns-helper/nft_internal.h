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

#include "netns-helper/nft_batch.h"
#include "netns-helper/nft_rule.h"

struct nft_spec;

#define NFT_TABLE "sallyport"

enum {
	NFT_LO = 1, /* the index of lo in every namespace */
	NFT_DADDR4 = 16, /* offset of the destination in the IPv4 header */
	NFT_DADDR6 = 24, /* … and in the IPv6 header */
	NFT_DNS = 53,
	NFT_DNS_OVER_TLS = 853,
	NFT_PRIORITY = NF_IP_PRI_MANGLE,
};

/* nft.c: a chain at a hook (NF_INET_…), of type "filter" or "route"; policy NF_DROP or NF_ACCEPT. */
void nft_chain_put(struct nft_batch *b, const char *name, const char *type, uint32_t hook,
	int32_t priority, uint32_t policy);

/* nft_sets.c: every set of the table, filled. */
void nft_sets_put(struct nft_batch *b, const struct nft_spec *spec);

/* nft_input.c: the chain `input`. Wants the sets and the chain `refuse`. */
void nft_input_put(struct nft_batch *b, const struct nft_spec *spec);

#endif
