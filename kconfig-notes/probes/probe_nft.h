/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_nft.h – a table `inet probe` by libnftnl, sent as the helper sends its own (nft_batch.c):
 * table, chains, rules built from left to right. Besides: how a TCP connect or a UDP datagram fares.
 */
#ifndef SALLYPORT_PROBE_NFT_H
#define SALLYPORT_PROBE_NFT_H

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>

#include "netns-helper/nft_batch.h"

#include "probe.h"

#define PROBE_TABLE "probe"

static inline struct nft_batch *probe_nft_begin(void)
{
	struct nft_batch *b = nft_batch_new();
	struct nftnl_table *t = nftnl_table_alloc();

	probe_need(b && t, "memory");
	nftnl_table_set_u32(t, NFTNL_TABLE_FAMILY, NFPROTO_INET);
	probe_need(nftnl_table_set_str(t, NFTNL_TABLE_NAME, PROBE_TABLE) == 0, "memory");
	nftnl_table_nlmsg_build_payload(
		nft_batch_begin(b, NFT_MSG_NEWTABLE, NFPROTO_INET, NLM_F_CREATE), t);
	nft_batch_end(b);
	nftnl_table_free(t);
	return b;
}

/* A base chain that accepts what no rule of it refuses. */
static inline void probe_nft_chain(
	struct nft_batch *b, const char *name, const char *type, uint32_t hook, int32_t priority)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	probe_need(c, "memory");
	nftnl_chain_set_u32(c, NFTNL_CHAIN_FAMILY, NFPROTO_INET);
	probe_need(nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, PROBE_TABLE) == 0 &&
			   nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name) == 0 &&
			   nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, type) == 0,
		"memory");
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, hook);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, priority);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	nftnl_chain_nlmsg_build_payload(
		nft_batch_begin(b, NFT_MSG_NEWCHAIN, NFPROTO_INET, NLM_F_CREATE), c);
	nft_batch_end(b);
	nftnl_chain_free(c);
}

static inline struct nftnl_rule *probe_nft_rule(const char *chain)
{
	struct nftnl_rule *r = nftnl_rule_alloc();

	probe_need(r, "memory");
	nftnl_rule_set_u32(r, NFTNL_RULE_FAMILY, NFPROTO_INET);
	probe_need(nftnl_rule_set_str(r, NFTNL_RULE_TABLE, PROBE_TABLE) == 0 &&
			   nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chain) == 0,
		"memory");
	return r;
}

static inline struct nftnl_expr *probe_nft_expr(struct nftnl_rule *r, const char *name)
{
	struct nftnl_expr *e = nftnl_expr_alloc(name);

	probe_need(e, name);
	nftnl_rule_add_expr(r, e);
	return e;
}

static inline void probe_nft_compare(struct nftnl_rule *r, const void *value, uint32_t n)
{
	struct nftnl_expr *e = probe_nft_expr(r, "cmp");

	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
	nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, value, n);
}

/* meta KEY, n bytes, is that. */
static inline void probe_nft_meta(struct nftnl_rule *r, uint32_t key, const void *value, uint32_t n)
{
	struct nftnl_expr *e = probe_nft_expr(r, "meta");

	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
	probe_nft_compare(r, value, n);
}

static inline void probe_nft_protocol(struct nftnl_rule *r, uint8_t protocol)
{
	probe_nft_meta(r, NFT_META_L4PROTO, &protocol, sizeof(protocol));
}

/* Bytes of a header into register 1. */
static inline void probe_nft_payload(
	struct nftnl_rule *r, uint32_t base, uint32_t offset, uint32_t n)
{
	struct nftnl_expr *e = probe_nft_expr(r, "payload");

	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, n);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
}

/* th dport */
static inline void probe_nft_port(struct nftnl_rule *r, uint16_t port)
{
	const uint16_t wire = htons(port);

	probe_nft_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof(wire));
	probe_nft_compare(r, &wire, sizeof(wire));
}

/* A number into register 1. */
static inline void probe_nft_number(struct nftnl_rule *r, const void *value, uint32_t n)
{
	struct nftnl_expr *e = probe_nft_expr(r, "immediate");

	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
	nftnl_expr_set(e, NFTNL_EXPR_IMM_DATA, value, n);
}

/* Sends the rule off. */
static inline void probe_nft_end(struct nft_batch *b, struct nftnl_rule *r)
{
	nftnl_rule_nlmsg_build_payload(
		nft_batch_begin(b, NFT_MSG_NEWRULE, NFPROTO_INET, NLM_F_CREATE | NLM_F_APPEND), r);
	nft_batch_end(b);
	nftnl_rule_free(r);
}

/* The same, with a reject as its action: TCP by a reset, else port unreachable. */
static inline void probe_nft_reject(struct nft_batch *b, struct nftnl_rule *r, bool reset)
{
	struct nftnl_expr *e = probe_nft_expr(r, "reject");

	nftnl_expr_set_u32(
		e, NFTNL_EXPR_REJECT_TYPE, reset ? NFT_REJECT_TCP_RST : NFT_REJECT_ICMPX_UNREACH);
	nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE, reset ? 0 : NFT_REJECT_ICMPX_PORT_UNREACH);
	probe_nft_end(b, r);
}

static inline void probe_nft_commit(struct nft_batch *b, const char *what)
{
	int r = nft_batch_commit(b);

	nft_batch_free(b);
	errno = -r;
	probe_need(r == 0, what);
}

/* ---- sockets in the namespace of the probe ---- */

static inline int probe_listener(const char *address, uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = inet_addr(address);
	probe_need(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
			   listen(fd, 128) == 0 && getsockname(fd, (struct sockaddr *)&at, &n) == 0,
		"a listener");
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* 0, or the errno: at once, or after two seconds (ETIMEDOUT). */
static inline int probe_connect(const char *address, uint16_t port)
{
	const struct timeval limit = {.tv_sec = 2};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	to.sin_addr.s_addr = inet_addr(address);
	probe_need(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0,
		"a socket");
	r = connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
	(void)close(fd);
	return r == EINPROGRESS ? ETIMEDOUT : r;
}

/* A datagram of a connected socket: 0 when it was sent and nothing came back, or the errno. */
static inline int probe_send(const char *address, uint16_t port, int wait_ms)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r = 0;
	char c;

	to.sin_addr.s_addr = inet_addr(address);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		send(fd, "x", 1, MSG_NOSIGNAL) < 0)
		r = errno;
	else if (poll(&p, 1, wait_ms) == 1 && recv(fd, &c, 1, 0) < 0)
		r = errno;
	(void)close(fd);
	return r;
}

#endif
