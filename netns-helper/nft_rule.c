/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nft_rule.c – see nft_rule.h. nf_tables expressions by libnftnl; nothing is sent here. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

#include "netns-helper/nft_batch.h"
#include "netns-helper/nft_rule.h"

enum {
	NFT_RULE_SPORT = 0, /* offsets in the TCP and the UDP header */
	NFT_RULE_DPORT = 2,
	NFT_RULE_FLAGS = 13, /* … in the TCP header */
	NFT_RULE_SYN = 0x02,
	NFT_RULE_ACK = 0x10,
};

struct nft_rule nft_rule_in(struct nft_batch *b, const char *table, const char *chain)
{
	struct nft_rule r = {b, nftnl_rule_alloc()};

	if (!r.rule) {
		nft_batch_fail(b, -ENOMEM);
		return r;
	}
	nftnl_rule_set_u32(r.rule, NFTNL_RULE_FAMILY, NFPROTO_INET);
	if (nftnl_rule_set_str(r.rule, NFTNL_RULE_TABLE, table) < 0 ||
		nftnl_rule_set_str(r.rule, NFTNL_RULE_CHAIN, chain) < 0)
		nft_batch_fail(b, -ENOMEM);
	return r;
}

/* Appends a new expression to the rule; NULL when that failed, which is remembered. */
static struct nftnl_expr *nft_rule_add(struct nft_rule *r, const char *name)
{
	struct nftnl_expr *e = r->rule ? nftnl_expr_alloc(name) : NULL;

	if (!e) {
		nft_batch_fail(r->batch, -ENOMEM);
		return NULL;
	}
	nftnl_rule_add_expr(r->rule, e);
	return e;
}

static void nft_rule_meta(struct nft_rule *r, uint32_t key)
{
	struct nftnl_expr *e = nft_rule_add(r, "meta");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
}

static void nft_rule_load(struct nft_rule *r, uint32_t base, uint32_t offset, uint32_t n)
{
	struct nftnl_expr *e = nft_rule_add(r, "payload");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, n);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
}

static void nft_rule_compare(struct nft_rule *r, uint32_t op, const void *value, uint32_t n)
{
	struct nftnl_expr *e = nft_rule_add(r, "cmp");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, op);
	nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, value, n);
}

/* register = (register & mask) ^ flip */
static void nft_rule_bits(struct nft_rule *r, const uint8_t *mask, const uint8_t *flip, uint32_t n)
{
	struct nftnl_expr *e = nft_rule_add(r, "bitwise");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, n);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, mask, n);
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, flip, n);
}

void nft_rule_interface(struct nft_rule *r, uint32_t key, uint32_t index, bool is)
{
	nft_rule_meta(r, key);
	nft_rule_compare(r, is ? NFT_CMP_EQ : NFT_CMP_NEQ, &index, sizeof(index));
}

void nft_rule_family(struct nft_rule *r, uint8_t nfproto)
{
	nft_rule_meta(r, NFT_META_NFPROTO);
	nft_rule_compare(r, NFT_CMP_EQ, &nfproto, sizeof(nfproto));
}

void nft_rule_protocol(struct nft_rule *r, uint8_t protocol)
{
	nft_rule_meta(r, NFT_META_L4PROTO);
	nft_rule_compare(r, NFT_CMP_EQ, &protocol, sizeof(protocol));
}

void nft_rule_port(struct nft_rule *r, uint16_t lo, uint16_t hi)
{
	const uint16_t from = htons(lo), to = htons(hi);

	nft_rule_load(r, NFT_PAYLOAD_TRANSPORT_HEADER, NFT_RULE_DPORT, sizeof(from));
	if (lo == hi) {
		nft_rule_compare(r, NFT_CMP_EQ, &from, sizeof(from));
		return;
	}
	nft_rule_compare(r, NFT_CMP_GTE, &from, sizeof(from));
	nft_rule_compare(r, NFT_CMP_LTE, &to, sizeof(to));
}

void nft_rule_source_port(struct nft_rule *r, uint16_t port)
{
	const uint16_t wire = htons(port);

	nft_rule_load(r, NFT_PAYLOAD_TRANSPORT_HEADER, NFT_RULE_SPORT, sizeof(wire));
	nft_rule_compare(r, NFT_CMP_EQ, &wire, sizeof(wire));
}

void nft_rule_bytes(
	struct nft_rule *r, uint32_t offset, uint32_t n, const uint8_t *mask, const uint8_t *value)
{
	static const uint8_t none[16];

	nft_rule_load(r, NFT_PAYLOAD_NETWORK_HEADER, offset, n);
	if (mask)
		nft_rule_bits(r, mask, none, n);
	nft_rule_compare(r, NFT_CMP_EQ, value, n);
}

void nft_rule_transport(struct nft_rule *r, uint32_t offset, uint32_t n, const uint8_t *value)
{
	nft_rule_load(r, NFT_PAYLOAD_TRANSPORT_HEADER, offset, n);
	nft_rule_compare(r, NFT_CMP_EQ, value, n);
}

/* Of the flags that tell an opening, the segment has SYN alone (NFT_CMP_EQ), or not (NFT_CMP_NEQ). */
static void nft_rule_flags(struct nft_rule *r, uint32_t op)
{
	static const uint8_t mask[] = {NFT_RULE_SYN | NFT_RULE_ACK}, none[1],
			     syn[] = {NFT_RULE_SYN};

	nft_rule_load(r, NFT_PAYLOAD_TRANSPORT_HEADER, NFT_RULE_FLAGS, sizeof(syn));
	nft_rule_bits(r, mask, none, sizeof(syn));
	nft_rule_compare(r, op, syn, sizeof(syn));
}

void nft_rule_syn(struct nft_rule *r)
{
	nft_rule_flags(r, NFT_CMP_EQ);
}

void nft_rule_no_syn(struct nft_rule *r)
{
	nft_rule_flags(r, NFT_CMP_NEQ);
}

static void nft_rule_ct(struct nft_rule *r, uint32_t key)
{
	struct nftnl_expr *e = nft_rule_add(r, "ct");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, NFT_REG_1);
}

void nft_rule_ct_mark(struct nft_rule *r, uint32_t mark)
{
	nft_rule_ct(r, NFT_CT_MARK);
	nft_rule_compare(r, NFT_CMP_EQ, &mark, sizeof(mark));
}

void nft_rule_ct_direction(struct nft_rule *r, uint8_t direction)
{
	nft_rule_ct(r, NFT_CT_DIRECTION);
	nft_rule_compare(r, NFT_CMP_EQ, &direction, sizeof(direction));
}

void nft_rule_ct_state(struct nft_rule *r, uint32_t bits)
{
	const uint32_t none = 0;

	nft_rule_ct(r, NFT_CT_STATE);
	nft_rule_bits(r, (const uint8_t *)&bits, (const uint8_t *)&none, sizeof(bits));
	nft_rule_compare(r, NFT_CMP_NEQ, &none, sizeof(none));
}

static void nft_rule_value(struct nft_rule *r, uint32_t reg, const void *value, uint32_t n)
{
	struct nftnl_expr *e = nft_rule_add(r, "immediate");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, reg);
	nftnl_expr_set(e, NFTNL_EXPR_IMM_DATA, value, n);
}

void nft_rule_set_ct_mark(struct nft_rule *r, uint32_t mark)
{
	struct nftnl_expr *e;

	nft_rule_value(r, NFT_REG_1, &mark, sizeof(mark));
	e = nft_rule_add(r, "ct");
	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, NFT_CT_MARK);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_SREG, NFT_REG_1);
}

void nft_rule_set_mark(struct nft_rule *r, uint32_t mark)
{
	struct nftnl_expr *e;

	nft_rule_value(r, NFT_REG_1, &mark, sizeof(mark));
	e = nft_rule_add(r, "meta");
	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_MARK);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_SREG, NFT_REG_1);
}

/* 4 to 16 bytes of the network header, inverted first when asked, into the register. */
static void nft_rule_take(struct nft_rule *r, uint32_t offset, uint32_t n, bool inverted)
{
	uint8_t ones[16];

	memset(ones, 0xff, sizeof(ones));
	nft_rule_load(r, NFT_PAYLOAD_NETWORK_HEADER, offset, n);
	if (inverted)
		nft_rule_bits(r, ones, ones, n);
}

static void nft_rule_lookup(struct nft_rule *r, const char *set, uint32_t id)
{
	struct nftnl_expr *e = nft_rule_add(r, "lookup");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, set ? set : NFT_RULE_OWN_SET);
	if (!set)
		nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SET_ID, id);
}

void nft_rule_in_set(
	struct nft_rule *r, uint32_t offset, uint32_t n, bool inverted, const char *set)
{
	nft_rule_take(r, offset, n, inverted);
	nft_rule_lookup(r, set, 0);
}

void nft_rule_in_own_set(struct nft_rule *r, uint32_t offset, uint32_t n, uint32_t id)
{
	nft_rule_take(r, offset, n, false);
	nft_rule_lookup(r, NULL, id);
}

void nft_rule_transport_in_set(struct nft_rule *r, uint32_t offset, uint32_t n, const char *set)
{
	nft_rule_load(r, NFT_PAYLOAD_TRANSPORT_HEADER, offset, n);
	nft_rule_lookup(r, set, 0);
}

void nft_rule_note(struct nft_rule *r, uint32_t offset, bool inverted)
{
	struct nftnl_expr *e;

	nft_rule_take(r, offset, 4, inverted);
	e = nft_rule_add(r, "meta");
	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_PRIORITY);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_SREG, NFT_REG_1);
}

void nft_rule_noted_in(struct nft_rule *r, const char *set, uint32_t id)
{
	nft_rule_meta(r, NFT_META_PRIORITY);
	nft_rule_lookup(r, set, id);
}

/* register 1 = what the map says of the masked source port */
static void nft_rule_mapped(struct nft_rule *r, uint16_t mask, const char *map)
{
	const uint16_t bits = htons(mask), none = 0;
	struct nftnl_expr *e;

	nft_rule_load(r, NFT_PAYLOAD_TRANSPORT_HEADER, NFT_RULE_SPORT, sizeof(bits));
	nft_rule_bits(r, (const uint8_t *)&bits, (const uint8_t *)&none, sizeof(bits));
	e = nft_rule_add(r, "lookup");
	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_DREG, NFT_REG_1);
	nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, map);
}

void nft_rule_tproxy(struct nft_rule *r, const struct nft_rule_target *target)
{
	const uint16_t port = htons(target->port);
	struct nftnl_expr *e;

	if (target->port)
		nft_rule_value(r, NFT_REG_1, &port, sizeof(port));
	else
		nft_rule_mapped(r, target->mask, target->map);
	nft_rule_value(r, NFT_REG_2, target->address, target->nfproto == NFPROTO_IPV4 ? 4 : 16);
	e = nft_rule_add(r, "tproxy");
	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_FAMILY, target->nfproto);
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_REG_ADDR, NFT_REG_2);
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_REG_PORT, NFT_REG_1);
}

static void nft_rule_send(struct nft_rule *r)
{
	struct nlmsghdr *message;

	if (!r->rule)
		return;
	message = nft_batch_begin(
		r->batch, NFT_MSG_NEWRULE, NFPROTO_INET, NLM_F_CREATE | NLM_F_APPEND);
	nftnl_rule_nlmsg_build_payload(message, r->rule);
	nft_batch_end(r->batch);
	nftnl_rule_free(r->rule);
	r->rule = NULL;
}

static void nft_rule_verdict(struct nft_rule *r, uint32_t verdict, const char *chain)
{
	struct nftnl_expr *e = nft_rule_add(r, "immediate");

	if (e) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
		nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, verdict);
		if (chain)
			nftnl_expr_set_str(e, NFTNL_EXPR_IMM_CHAIN, chain);
	}
	nft_rule_send(r);
}

void nft_rule_accept(struct nft_rule *r)
{
	nft_rule_verdict(r, NF_ACCEPT, NULL);
}

void nft_rule_drop(struct nft_rule *r)
{
	nft_rule_verdict(r, NF_DROP, NULL);
}

void nft_rule_goto(struct nft_rule *r, const char *chain)
{
	nft_rule_verdict(r, (uint32_t)NFT_GOTO, chain);
}

void nft_rule_counter(struct nft_rule *r)
{
	(void)nft_rule_add(r, "counter"); /* takes nothing; failure sticks in the batch */
}

void nft_rule_notrack(struct nft_rule *r)
{
	(void)nft_rule_add(r, "notrack"); /* takes nothing; failure sticks in the batch */
	nft_rule_send(r);
}

void nft_rule_jump(struct nft_rule *r, const char *chain)
{
	nft_rule_verdict(r, (uint32_t)NFT_JUMP, chain);
}

static void nft_rule_reject(struct nft_rule *r, uint32_t type, uint8_t code)
{
	struct nftnl_expr *e = nft_rule_add(r, "reject");

	if (e) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_REJECT_TYPE, type);
		nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE, code);
	}
	nft_rule_send(r);
}

void nft_rule_reset(struct nft_rule *r)
{
	nft_rule_reject(r, NFT_REJECT_TCP_RST, 0);
}

void nft_rule_unreachable(struct nft_rule *r, uint8_t code)
{
	nft_rule_reject(r, NFT_REJECT_ICMPX_UNREACH, code);
}
