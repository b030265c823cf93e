/* SPDX-License-Identifier: Apache-2.0 */
/* packets.c – see packets.h. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <string.h>

#include "tests/battery/packets.h"

enum { PACKET_SPORT = 4000 };

uint16_t packet_sum(const void *data, size_t n, uint32_t start)
{
	const uint8_t *p = data;
	uint32_t sum = start;

	for (size_t i = 0; i < n; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The sum of a pseudo header, not inverted. */
static uint32_t packet_pseudo(
	const void *from, const void *to, size_t n, uint8_t protocol, size_t length)
{
	uint16_t part = (uint16_t)~packet_sum(from, n, 0);

	return (uint32_t)part + (uint16_t)~packet_sum(to, n, 0) + protocol + (uint32_t)length;
}

static size_t packet_datagram(uint8_t *out, uint16_t sport, uint16_t dport, const char *text)
{
	size_t n = strlen(text);
	struct udphdr head = {.source = htons(sport),
		.dest = htons(dport),
		.len = htons((uint16_t)(sizeof(head) + n))};

	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), text, n);
	return sizeof(head) + n;
}

static size_t packet_segment(uint8_t *out, const struct sockaddr_in *from,
	const struct sockaddr_in *to, const char *text)
{
	size_t n = strlen(text), all = sizeof(struct tcphdr) + n;
	struct tcphdr head = {.source = from->sin_port,
		.dest = to->sin_port,
		.seq = htonl(1),
		.doff = 5,
		.syn = 1,
		.window = htons(8192)};

	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), text, n);
	head.check = htons(packet_sum(
		out, all, packet_pseudo(&from->sin_addr, &to->sin_addr, 4, IPPROTO_TCP, all)));
	memcpy(out, &head, sizeof(head));
	return all;
}

size_t packet_udp(uint8_t *out, uint16_t sport, const struct arena *a)
{
	return packet_datagram(out, sport, a->port, a->token);
}

size_t packet_syn(uint8_t *out, struct in_addr from, struct in_addr to, const struct arena *a)
{
	const struct sockaddr_in ends[2] = {
		{AF_INET, htons(PACKET_SPORT), from, {0}}, {AF_INET, htons(a->port), to, {0}}};

	return packet_segment(out, &ends[0], &ends[1], a->token);
}

size_t packet_echo(uint8_t *out, bool v6, const struct arena *a)
{
	size_t n = strlen(a->token);
	uint16_t sum;

	memset(out, 0, 8);
	out[0] = v6 ? 128 : 8;
	memcpy(out + 8, a->token, n);
	sum = htons(packet_sum(out, 8 + n, 0)); /* of ICMPv6 the kernel writes it itself */
	memcpy(out + 2, &sum, 2);
	return 8 + n;
}

size_t packet_between(uint8_t *out, uint8_t protocol, const struct sockaddr_in *from,
	const struct sockaddr_in *to, const char *text)
{
	struct iphdr head = {.version = 4,
		.ihl = 5,
		.ttl = 64,
		.protocol = protocol,
		.saddr = from->sin_addr.s_addr,
		.daddr = to->sin_addr.s_addr};
	size_t n = protocol == IPPROTO_TCP
			   ? packet_segment(out + sizeof(head), from, to, text)
			   : packet_datagram(out + sizeof(head), ntohs(from->sin_port),
				     ntohs(to->sin_port), text);

	head.tot_len = htons((uint16_t)(sizeof(head) + n));
	head.check = htons(packet_sum(&head, sizeof(head), 0));
	memcpy(out, &head, sizeof(head));
	return sizeof(head) + n;
}

size_t packet_ipv4(uint8_t *out, uint8_t protocol, struct in_addr from, struct in_addr to,
	const struct arena *a)
{
	const struct sockaddr_in ends[2] = {
		{AF_INET, htons(PACKET_SPORT), from, {0}}, {AF_INET, htons(a->port), to, {0}}};

	return packet_between(out, protocol, &ends[0], &ends[1], a->token);
}

size_t packet_ipv6(uint8_t *out, struct in6_addr from, struct in6_addr to, const struct arena *a)
{
	size_t n = packet_udp(out + 40, PACKET_SPORT, a);
	uint16_t length = htons((uint16_t)n), sum;

	memset(out, 0, 40);
	out[0] = 0x60;
	memcpy(out + 4, &length, 2);
	out[6] = IPPROTO_UDP;
	out[7] = 64;
	memcpy(out + 8, &from, 16);
	memcpy(out + 24, &to, 16);
	sum = htons(packet_sum(out + 40, n, packet_pseudo(&from, &to, 16, IPPROTO_UDP, n)));
	memcpy(out + 46, &sum, 2);
	return 40 + n;
}

size_t packet_frame(uint8_t *out, const struct arena *a)
{
	const uint16_t type = htons(ETH_P_IP);

	memcpy(out, a->scene->peer_mac, 6);
	memcpy(out + 6, a->scene->mac, 6);
	memcpy(out + 12, &type, 2);
	return 14 + packet_ipv4(out + 14, IPPROTO_UDP, a->scene->own4, a->v4, a);
}
