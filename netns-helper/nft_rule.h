/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_rule.h – one rule, built from left to right as `nft` would print it: matches, then what is
 * done. Each match loads something into register 1 and compares; a rule whose matches all hold
 * acts. Failures (memory) stick and are told by the batch's commit. Only for files in this folder
 * that build the table.
 */
#ifndef SALLYPORT_NFT_RULE_H
#define SALLYPORT_NFT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nft_batch;
struct nftnl_rule;

/* The name under which a set without one is put; the kernel makes another of it. */
#define NFT_RULE_OWN_SET "__set%d"

struct nft_rule {
	struct nft_batch *batch;
	struct nftnl_rule *rule; /* NULL when memory is out */
};

/* Begins a rule at the end of the chain. */
struct nft_rule nft_rule_in(struct nft_batch *b, const char *table, const char *chain);

/* meta iif/oif (NFT_META_IIF, NFT_META_OIF) is, or is not, that index. */
void nft_rule_interface(struct nft_rule *r, uint32_t key, uint32_t index, bool is);
/* meta nfproto NFPROTO_IPV4 or NFPROTO_IPV6; wanted before any match of an address. */
void nft_rule_family(struct nft_rule *r, uint8_t nfproto);
/* meta l4proto. */
void nft_rule_protocol(struct nft_rule *r, uint8_t protocol);
/* th dport lo-hi (host order), of TCP or UDP: after nft_rule_protocol(). */
void nft_rule_port(struct nft_rule *r, uint16_t lo, uint16_t hi);
/* th sport, likewise. */
void nft_rule_source_port(struct nft_rule *r, uint16_t port);
/* n ≤ 16 bytes of the network header at the offset, under the mask (NULL = all), are these. */
void nft_rule_bytes(
	struct nft_rule *r, uint32_t offset, uint32_t n, const uint8_t *mask, const uint8_t *value);
/* n bytes of the network header at the offset, inverted first when asked, are in the set. */
void nft_rule_in_set(
	struct nft_rule *r, uint32_t offset, uint32_t n, bool inverted, const char *set);
/* The same in the set that has been put with that id and is for this rule alone. */
void nft_rule_in_own_set(struct nft_rule *r, uint32_t offset, uint32_t n, uint32_t id);
/*
 * 4 bytes of the network header, inverted first when asked, are noted in the packet for the rules to
 * come: an address that can stand at several places is judged in one chain. The note is the packet's
 * priority, which nobody reads once it has arrived at lo.
 */
void nft_rule_note(struct nft_rule *r, uint32_t offset, bool inverted);
/* What was noted is in the set; with a name the table's, without one that of the id as above. */
void nft_rule_noted_in(struct nft_rule *r, const char *set, uint32_t id);
/* Counts what has come so far. */
void nft_rule_counter(struct nft_rule *r);
/* A TCP segment that opens a connection: SYN without ACK; and one that does not. After
 * nft_rule_protocol(). */
void nft_rule_syn(struct nft_rule *r);
void nft_rule_no_syn(struct nft_rule *r);

/* What a packet is redirected to, of the family that the rule matches. */
struct nft_rule_target {
	uint8_t nfproto;
	const uint8_t *address; /* 4 or 16 bytes */
	uint16_t port; /* host order; 0: what the map says */
	const char *map; /* masked source port → port */
	uint16_t mask; /* of the source port, host order */
};
/* tproxy: gives the packet to the transparent socket; where there is none the rule ends here. */
void nft_rule_tproxy(struct nft_rule *r, const struct nft_rule_target *target);

/* n ≤ 16 bytes of the transport header at the offset are these: after nft_rule_protocol(). */
/* Load bytes of the transport header, and look them up in the set. */
void nft_rule_transport_in_set(struct nft_rule *r, uint32_t offset, uint32_t n, const char *set);
void nft_rule_transport(struct nft_rule *r, uint32_t offset, uint32_t n, const uint8_t *value);

/* Of the connection that the packet belongs to, as conntrack knows it (that a rule asks is what
 * makes the namespace track): its mark; IP_CT_DIR_…; one of the NF_CT_STATE bits. */
void nft_rule_ct_mark(struct nft_rule *r, uint32_t mark);
void nft_rule_ct_direction(struct nft_rule *r, uint8_t direction);
void nft_rule_ct_state(struct nft_rule *r, uint32_t bits);

/* Sets the connection's mark, or the packet's; the rule goes on. */
void nft_rule_set_ct_mark(struct nft_rule *r, uint32_t mark);
void nft_rule_set_mark(struct nft_rule *r, uint32_t mark);

/* The actions; each sends the rule off and frees it. */
void nft_rule_accept(struct nft_rule *r);
void nft_rule_drop(struct nft_rule *r);
void nft_rule_notrack(struct nft_rule *r); /* conntrack does not look at the packet */
void nft_rule_goto(struct nft_rule *r, const char *chain);
void nft_rule_jump(struct nft_rule *r, const char *chain);
void nft_rule_reset(struct nft_rule *r); /* reject with tcp reset */
/* reject with icmpx; NFT_REJECT_ICMPX_… */
void nft_rule_unreachable(struct nft_rule *r, uint8_t code);

#endif
