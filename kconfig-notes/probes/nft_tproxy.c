/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_tproxy.c – tproxy in prerouting on lo hands a connection to any address to an IP_TRANSPARENT
 * listener; getsockname() is what was asked for. The nft lane's capture, IPv4.
 */
#include "probe_nft.h"

static int transparent_listener(uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	probe_need(fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)) == 0,
		"IP_TRANSPARENT");
	probe_need(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 8) == 0 &&
			   getsockname(fd, (struct sockaddr *)&at, &n) == 0,
		"a transparent listener");
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void redirect(struct nft_batch *b, uint16_t port)
{
	const uint8_t family = NFPROTO_IPV4;
	const in_addr_t loopback = htonl(INADDR_LOOPBACK);
	const uint16_t wire = htons(port);
	struct nftnl_rule *r = probe_nft_rule("prerouting");
	struct nftnl_expr *e;

	probe_nft_meta(r, NFT_META_NFPROTO, &family, sizeof(family));
	probe_nft_protocol(r, IPPROTO_TCP);
	probe_nft_number(r, &loopback, sizeof(loopback));
	e = probe_nft_expr(r, "immediate");
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_2);
	nftnl_expr_set(e, NFTNL_EXPR_IMM_DATA, &wire, sizeof(wire));
	e = probe_nft_expr(r, "tproxy");
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_FAMILY, NFPROTO_IPV4);
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_REG_ADDR, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_REG_PORT, NFT_REG_2);
	probe_nft_end(b, r);
}

int main(void)
{
	struct sockaddr_in asked;
	socklen_t n = sizeof(asked);
	struct nft_batch *b;
	uint16_t port;
	int us, fd, r;

	probe_begin("nft_tproxy");
	probe_enter_anyip();
	us = transparent_listener(&port);
	b = probe_nft_begin();
	probe_nft_chain(b, "prerouting", "filter", NF_INET_PRE_ROUTING, NF_IP_PRI_MANGLE);
	redirect(b, port);
	probe_nft_commit(b, "a rule with tproxy");
	r = probe_connect("203.0.113.7", 443);
	errno = r;
	probe_need(r == 0, "connect() to an address that only tproxy serves");
	fd = accept(us, NULL, NULL);
	probe_need(fd >= 0 && getsockname(fd, (struct sockaddr *)&asked, &n) == 0, "accepting it");
	if (asked.sin_addr.s_addr != inet_addr("203.0.113.7") || asked.sin_port != htons(443))
		probe_missing("getsockname() is not the address that was asked for");
	probe_ok();
}
