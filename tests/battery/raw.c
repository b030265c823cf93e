/* SPDX-License-Identifier: Apache-2.0 */
/* raw.c – sockets of IP that are neither TCP nor UDP, and those that write their own headers. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/dccp.h>
#include <string.h>

#include "tests/battery/attempt.h"
#include "tests/battery/packets.h"

#ifndef IPV6_HDRINCL
#define IPV6_HDRINCL 36
#endif

static void raw_give(int sock, const struct address *to, const void *packet, size_t n)
{
	(void)tries(sendto(sock, packet, n, 0, &to->any, to->n), "sendto");
	sent();
}

/* arg: protocol */
static void raw_plain(const struct arena *a)
{
	struct address to = address4(a->v4, 0);
	int sock = needs(socket(AF_INET, SOCK_RAW, (int)a->arg), "socket");
	uint8_t packet[256];
	size_t n = strlen(a->token);

	memcpy(packet, a->token, n);
	if (a->arg == IPPROTO_UDP)
		n = packet_udp(packet, 4000, a);
	if (a->arg == IPPROTO_ICMP)
		n = packet_echo(packet, false, a);
	if (a->arg == IPPROTO_TCP)
		n = packet_syn(packet, a->scene->own4, a->v4, a);
	raw_give(sock, &to, packet, n);
}

static void raw_plain6(const struct arena *a)
{
	struct address to = address6(a->v6, 0);
	int sock = needs(socket(AF_INET6, SOCK_RAW, (int)a->arg), "socket");
	uint8_t packet[256];
	size_t n = a->arg == IPPROTO_ICMPV6 ? packet_echo(packet, true, a)
					    : packet_udp(packet, 4000, a);

	raw_give(sock, &to, packet, n);
}

static void raw_connected(const struct arena *a)
{
	struct address to = address4(a->v4, 0);
	int sock = needs(socket(AF_INET, SOCK_RAW, IPPROTO_UDP), "socket");
	uint8_t packet[256];
	size_t n = packet_udp(packet, 4000, a);

	(void)tries(connect(sock, &to.any, to.n), "connect");
	(void)tries(send(sock, packet, n, 0), "send");
	sent();
}

/* arg: protocol of the packet; IP_HDRINCL */
static void raw_own_header(const struct arena *a)
{
	struct address to = address4(a->v4, 0);
	int sock = needs(socket(AF_INET, SOCK_RAW, IPPROTO_RAW), "socket");
	uint8_t packet[256];

	raw_give(sock, &to, packet, packet_ipv4(packet, (uint8_t)a->arg, a->scene->own4, a->v4, a));
}

/* … to a header whose destination is another than that of sendto(). */
static void raw_two_destinations(const struct arena *a)
{
	struct address own = address_text("127.0.0.1", 0);
	int sock = needs(socket(AF_INET, SOCK_RAW, IPPROTO_RAW), "socket");
	uint8_t packet[256];

	raw_give(sock, &own, packet, packet_ipv4(packet, IPPROTO_UDP, a->scene->own4, a->v4, a));
}

/* … by the device. */
static void raw_device(const struct arena *a)
{
	struct address to = address4(a->v4, 0);
	int sock = needs(socket(AF_INET, SOCK_RAW, IPPROTO_RAW), "socket");
	const char *device = a->scene->device;
	uint8_t packet[256];

	(void)device_index(a);
	option(sock, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device),
		"SO_BINDTODEVICE");
	raw_give(sock, &to, packet, packet_ipv4(packet, IPPROTO_UDP, a->scene->own4, a->v4, a));
}

static void raw_own_header6(const struct arena *a)
{
	struct address to = address6(a->v6, 0);
	int sock = needs(socket(AF_INET6, SOCK_RAW, IPPROTO_RAW), "socket");
	uint8_t packet[256];

	option_int(sock, IPPROTO_IPV6, IPV6_HDRINCL, 1, "IPV6_HDRINCL");
	raw_give(sock, &to, packet, packet_ipv6(packet, a->scene->own6, a->v6, a));
}

/* Datagram sockets of ICMP: what net.ipv4.ping_group_range admits. */
static void raw_ping(const struct arena *a)
{
	bool v6 = a->arg == AF_INET6;
	struct address to = v6 ? address6(a->v6, 0) : address4(a->v4, 0);
	int sock = needs(
		socket((int)a->arg, SOCK_DGRAM, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP), "socket");
	uint8_t packet[256];

	raw_give(sock, &to, packet, packet_echo(packet, v6, a));
}

static void raw_ping_connected(const struct arena *a)
{
	struct address to = address4(a->v4, 0);
	int sock = needs(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), "socket");
	uint8_t packet[256];
	size_t n = packet_echo(packet, false, a);

	(void)tries(connect(sock, &to.any, to.n), "connect");
	(void)tries(send(sock, packet, n, 0), "send");
	sent();
}

static void raw_ping_metadata(const struct arena *a)
{
	struct address to = address_text("169.254.169.254", 0);
	int sock = needs(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), "socket");
	uint8_t packet[256];

	raw_give(sock, &to, packet, packet_echo(packet, false, a));
}

/* arg: type << 16 | protocol; sends where there is no connection to be had */
static void raw_other(const struct arena *a)
{
	struct address to = here4(a);
	int type = (int)(a->arg >> 16), protocol = (int)(a->arg & 0xffff);
	int sock = needs(socket(AF_INET, type, protocol), "socket");

	if (type == SOCK_DGRAM)
		throw(sock, &to, a);
	if (type == SOCK_DCCP)
		option(sock, SOL_DCCP, DCCP_SOCKOPT_SERVICE, &(uint32_t){1}, 4,
			"DCCP_SOCKOPT_SERVICE");
	dial(sock, &to, a);
}

static void raw_lite6(const struct arena *a)
{
	struct address to = here6(a);

	throw(needs(socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDPLITE), "socket"), &to, a);
}

static void raw_lite_connected(const struct arena *a)
{
	struct address to = here4(a);
	int sock = needs(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE), "socket");

	(void)tries(connect(sock, &to.any, to.n), "connect");
	push(sock, a);
}

#define OTHER(type, protocol) ((long)(type) << 16 | (protocol))
enum { RAW_L2TP = 115 };

static const struct attempt raw_rows[] = {
	{"raw-udp", "raw", raw_plain, IPPROTO_UDP},
	{"raw-tcp", "raw", raw_plain, IPPROTO_TCP},
	{"raw-icmp", "raw", raw_plain, IPPROTO_ICMP},
	{"raw-igmp", "raw", raw_plain, IPPROTO_IGMP},
	{"raw-gre", "raw", raw_plain, IPPROTO_GRE},
	{"raw-esp", "raw", raw_plain, IPPROTO_ESP},
	{"raw-experimental", "raw", raw_plain, 253},
	{"raw-connected", "raw", raw_connected},
	{"raw6-udp", "raw", raw_plain6, IPPROTO_UDP},
	{"raw6-icmp", "raw", raw_plain6, IPPROTO_ICMPV6},
	{"raw-header-udp", "raw", raw_own_header, IPPROTO_UDP},
	{"raw-header-tcp", "raw", raw_own_header, IPPROTO_TCP},
	{"raw-header-elsewhere", "raw", raw_two_destinations},
	{"raw-header-device", "raw", raw_device},
	{"raw6-header", "raw", raw_own_header6},
	{"ping4", "ping", raw_ping, AF_INET},
	{"ping6", "ping", raw_ping, AF_INET6},
	{"ping-connected", "ping", raw_ping_connected},
	{"ping-metadata", "ping", raw_ping_metadata},
	{"udp-lite", "transport", raw_other, OTHER(SOCK_DGRAM, IPPROTO_UDPLITE)},
	{"udp-lite6", "transport", raw_lite6},
	{"udp-lite-connected", "transport", raw_lite_connected},
	{"sctp-stream", "transport", raw_other, OTHER(SOCK_STREAM, IPPROTO_SCTP)},
	{"sctp-packets", "transport", raw_other, OTHER(SOCK_SEQPACKET, IPPROTO_SCTP)},
	{"dccp", "transport", raw_other, OTHER(SOCK_DCCP, IPPROTO_DCCP)},
	{"l2tp", "transport", raw_other, OTHER(SOCK_DGRAM, RAW_L2TP)},
	{"smc-over-tcp", "transport", raw_other, OTHER(SOCK_STREAM, 256)},
};

const struct attempt_list raw_list = ATTEMPTS(raw_rows);
