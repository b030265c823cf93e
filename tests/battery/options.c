/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c – socket options and control messages that choose another way than the destination's:
 * a device, a source, a mark, a route written into the packet. With a source route the destination
 * that a hook sees is loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/in6.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <string.h>

#include "tests/battery/attempt.h"

#ifndef IP_UNICAST_IF
#define IP_UNICAST_IF 50
#endif
#ifndef IPV6_UNICAST_IF
#define IPV6_UNICAST_IF 76
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif

static void options_go(int sock, const struct arena *a, bool v6)
{
	struct address to = v6 ? here6(a) : here4(a);
	int type = 0;
	socklen_t n = sizeof(type);

	(void)getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &n);
	if (type == SOCK_STREAM)
		dial(sock, &to, a);
	throw(sock, &to, a);
}

static int options_socket(int family, long type)
{
	return type == SOCK_STREAM ? tcp(family) : udp(family);
}

/* arg of these: SOCK_STREAM or SOCK_DGRAM */
static void options_device(const struct arena *a)
{
	int sock = options_socket(AF_INET, a->arg);
	const char *device = a->scene->device;

	(void)device_index(a);
	option(sock, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device),
		"SO_BINDTODEVICE");
	options_go(sock, a, false);
}

static void options_device6(const struct arena *a)
{
	int sock = options_socket(AF_INET6, a->arg);

	option_int(sock, SOL_SOCKET, SO_BINDTOIFINDEX, device_index(a), "SO_BINDTOIFINDEX");
	options_go(sock, a, true);
}

static void options_unicast(const struct arena *a)
{
	int sock = options_socket(AF_INET, a->arg);

	option_int(sock, IPPROTO_IP, IP_UNICAST_IF, (int)htonl((uint32_t)device_index(a)),
		"IP_UNICAST_IF");
	options_go(sock, a, false);
}

static void options_unicast6(const struct arena *a)
{
	int sock = options_socket(AF_INET6, a->arg);

	option_int(sock, IPPROTO_IPV6, IPV6_UNICAST_IF, (int)htonl((uint32_t)device_index(a)),
		"IPV6_UNICAST_IF");
	options_go(sock, a, true);
}

static void options_multicast(const struct arena *a)
{
	int sock = udp(AF_INET);
	struct address to = address_text("239.7.7.8", a->port);
	struct ip_mreqn device = {.imr_ifindex = device_index(a)};

	option(sock, IPPROTO_IP, IP_MULTICAST_IF, &device, sizeof(device), "IP_MULTICAST_IF");
	throw(sock, &to, a);
}

static void options_multicast6(const struct arena *a)
{
	int sock = udp(AF_INET6);
	struct address to = address_text("ff05::7", a->port);

	option_int(sock, IPPROTO_IPV6, IPV6_MULTICAST_IF, device_index(a), "IPV6_MULTICAST_IF");
	throw(sock, &to, a);
}

/* One control message. */
struct options_control {
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(64)];
	};
	size_t n;
};

static struct options_control options_message(int level, int type, const void *data, size_t n)
{
	struct options_control c = {.n = CMSG_SPACE(n)};

	c.head = (struct cmsghdr){CMSG_LEN(n), level, type};
	memcpy(CMSG_DATA(&c.head), data, n);
	return c;
}

static void options_pktinfo(const struct arena *a)
{
	struct in_pktinfo info = {.ipi_ifindex = device_index(a)};
	struct options_control c = options_message(IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	struct address to = here4(a);

	throw_with(udp(AF_INET), &to, &c, c.n, a);
}

/* A source that is not ours. */
static void options_pktinfo_source(const struct arena *a)
{
	struct in_pktinfo info = {.ipi_spec_dst = {inet_addr("203.0.113.251")}};
	struct options_control c = options_message(IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	struct address to = here4(a);

	throw_with(udp(AF_INET), &to, &c, c.n, a);
}

static void options_pktinfo6(const struct arena *a)
{
	struct in6_pktinfo info = {.ipi6_ifindex = (unsigned int)device_index(a)};
	struct options_control c = options_message(IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	struct address to = here6(a);

	throw_with(udp(AF_INET6), &to, &c, c.n, a);
}

static void options_dontroute(const struct arena *a)
{
	struct address to = address4(a->scene->peer4, a->port);
	int sock = udp(AF_INET);

	(void)tries(
		sendto(sock, a->token, strlen(a->token), MSG_DONTROUTE, &to.any, to.n), "sendto");
	sent();
}

static void options_mark(const struct arena *a)
{
	int sock = options_socket(AF_INET, a->arg);

	option_int(sock, SOL_SOCKET, SO_MARK, 1, "SO_MARK");
	options_go(sock, a, false);
}

/* Every mark with one bit, and all: whatever the rules look for. */
static void options_marks(const struct arena *a)
{
	struct address to = here4(a);
	int sock = udp(AF_INET);

	for (int bit = 0; bit < 32; bit++) {
		option_int(sock, SOL_SOCKET, SO_MARK, (int)(1U << bit), "SO_MARK");
		(void)sendto(sock, a->token, strlen(a->token), MSG_NOSIGNAL, &to.any, to.n);
	}
	option_int(sock, SOL_SOCKET, SO_MARK, -1, "SO_MARK");
	throw(sock, &to, a);
}

static void options_transparent(const struct arena *a)
{
	struct address from = address_text("203.0.113.250", 0);
	int sock = options_socket(AF_INET, a->arg);

	option_int(sock, IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT");
	(void)needs(bind(sock, &from.any, from.n), "bind");
	options_go(sock, a, false);
}

static void options_freebind(const struct arena *a)
{
	struct address from = address_text("203.0.113.249", 0);
	int sock = options_socket(AF_INET, a->arg);

	option_int(sock, IPPROTO_IP, IP_FREEBIND, 1, "IP_FREEBIND");
	(void)needs(bind(sock, &from.any, from.n), "bind");
	options_go(sock, a, false);
}

/* ---- source routes: the packet's own destination is loopback ---- */

enum { OPTIONS_LSRR = 131, OPTIONS_SSRR = 137 };

static size_t options_route(uint8_t *out, uint8_t kind, const struct arena *a)
{
	/* via the canary's end of the link to the canary's address */
	out[0] = IPOPT_NOOP;
	out[1] = kind;
	out[2] = 11;
	out[3] = 4;
	memcpy(out + 4, &a->scene->peer4, 4);
	memcpy(out + 8, &a->v4, 4);
	return 12;
}

/* arg: kind, + 256 for a stream */
static void options_source_route(const struct arena *a)
{
	struct address own = address_text("127.0.0.1", a->port);
	uint8_t route[12];
	size_t n = options_route(route, (uint8_t)a->arg, a);
	int sock = a->arg & 256 ? tcp(AF_INET) : udp(AF_INET);

	option(sock, IPPROTO_IP, IP_OPTIONS, route, (socklen_t)n, "IP_OPTIONS");
	if (a->arg & 256)
		dial(sock, &own, a);
	throw(sock, &own, a);
}

static void options_source_route_control(const struct arena *a)
{
	struct address own = address_text("127.0.0.1", a->port);
	uint8_t route[12];
	size_t n = options_route(route, (uint8_t)a->arg, a);
	struct options_control c = options_message(IPPROTO_IP, IP_RETOPTS, route, n);

	throw_with(udp(AF_INET), &own, &c, c.n, a);
}

/* A routing header of this type with one address, the next hop first: RFC 8754 is type 4. */
static size_t options_header(uint8_t *out, uint8_t type, const struct arena *a)
{
	memset(out, 0, 24);
	out[1] = 2;
	out[2] = type;
	out[3] = 1; /* segments left */
	if (type == 4) { /* last entry 0 … is the final one, which is the canary */
		out[1] = 4;
		memset(out + 24, 0, 16);
		out[4] = 1;
		memcpy(out + 8, &a->v6, 16);
		memcpy(out + 24, &a->scene->peer6, 16);
		return 40;
	}
	memcpy(out + 8, &a->v6, 16);
	return 24;
}

/* arg: type, + 256 for a stream */
static void options_routing_header(const struct arena *a)
{
	struct address own = address_text("::1", a->port);
	uint8_t header[40];
	size_t n = options_header(header, (uint8_t)a->arg, a);
	int sock = a->arg & 256 ? tcp(AF_INET6) : udp(AF_INET6);

	option(sock, IPPROTO_IPV6, IPV6_RTHDR, header, (socklen_t)n, "IPV6_RTHDR");
	if (a->arg & 256)
		dial(sock, &own, a);
	throw(sock, &own, a);
}

/* Behind hop-by-hop and destination options. */
static void options_extension(const struct arena *a)
{
	const uint8_t pad[8] = {0, 0, 1, 4};
	int sock = udp(AF_INET6);

	option(sock, IPPROTO_IPV6, (int)a->arg, pad, sizeof(pad), "an extension header");
	options_go(sock, a, true);
}

static const struct attempt options_rows[] = {
	{"device-tcp", "device", options_device, SOCK_STREAM},
	{"device-udp", "device", options_device, SOCK_DGRAM},
	{"device-tcp6", "device", options_device6, SOCK_STREAM},
	{"device-udp6", "device", options_device6, SOCK_DGRAM},
	{"unicast-if-tcp", "device", options_unicast, SOCK_STREAM},
	{"unicast-if-udp", "device", options_unicast, SOCK_DGRAM},
	{"unicast-if-tcp6", "device", options_unicast6, SOCK_STREAM},
	{"unicast-if-udp6", "device", options_unicast6, SOCK_DGRAM},
	{"multicast-if", "device", options_multicast},
	{"multicast-if6", "device", options_multicast6},
	{"pktinfo-device", "device", options_pktinfo},
	{"pktinfo-source", "source", options_pktinfo_source},
	{"pktinfo6-device", "device", options_pktinfo6},
	{"dontroute", "device", options_dontroute},
	{"mark-tcp", "mark", options_mark, SOCK_STREAM},
	{"mark-udp", "mark", options_mark, SOCK_DGRAM},
	{"marks-udp", "mark", options_marks},
	{"transparent-tcp", "source", options_transparent, SOCK_STREAM},
	{"transparent-udp", "source", options_transparent, SOCK_DGRAM},
	{"freebind-tcp", "source", options_freebind, SOCK_STREAM},
	{"freebind-udp", "source", options_freebind, SOCK_DGRAM},
	{"lsrr-udp", "source route", options_source_route, OPTIONS_LSRR},
	{"lsrr-tcp", "source route", options_source_route, OPTIONS_LSRR | 256},
	{"ssrr-udp", "source route", options_source_route, OPTIONS_SSRR},
	{"ssrr-tcp", "source route", options_source_route, OPTIONS_SSRR | 256},
	{"lsrr-control", "source route", options_source_route_control, OPTIONS_LSRR},
	{"rthdr4-udp", "source route", options_routing_header, 4},
	{"rthdr4-tcp", "source route", options_routing_header, 4 | 256},
	{"rthdr0-udp", "source route", options_routing_header, 0},
	{"rthdr2-udp", "source route", options_routing_header, 2},
	{"hop-options", "source route", options_extension, IPV6_HOPOPTS},
	{"destination-options", "source route", options_extension, IPV6_DSTOPTS},
};

const struct attempt_list options_list = ATTEMPTS(options_rows);
