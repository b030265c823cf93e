/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbound.c – the accepting side: listening in the place of the listeners that capture, flows that
 * pretend to have come in from outside, and what can be made of those that really did (the judge
 * calls at the attempt's port, from that same port).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/battery/attempt.h"
#include "tests/battery/packets.h"

enum { INBOUND_PORT = 443, INBOUND_WAIT_MS = 300 };

static bool inbound_ready(int sock, const struct arena *a)
{
	struct pollfd p = {sock, POLLIN, 0};

	return poll(&p, 1, a->scene->patience * INBOUND_WAIT_MS) > 0;
}

/* A connect to the canary while a socket of ours listens in its place. */
static void inbound_hijack(int listener, const struct arena *a)
{
	struct address to = here4(a);
	int sock = tries(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
	struct pollfd p = {sock, POLLOUT, 0};
	int error = 0;
	socklen_t n = sizeof(error);

	(void)needs(listen(listener, 4), "listen");
	if (connect(sock, &to.any, to.n) < 0 && errno != EINPROGRESS)
		(void)tries(-1, "connect");
	if (inbound_ready(listener, a))
		report(SAID_EXPOSED, 0, "took another's connection");
	(void)poll(&p, 1, a->scene->patience * INBOUND_WAIT_MS);
	(void)getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &n);
	errno = error;
	(void)tries(error ? -1 : 0, "connect, later");
	push(sock, a);
}

/* arg: 0 every address, 1 the canary's, 2 every address of IPv6 */
static void inbound_hijack_tcp(const struct arena *a)
{
	struct address here = a->arg == 2   ? address_text("::", a->port)
			      : a->arg == 1 ? here4(a)
					    : address_text("0.0.0.0", a->port);
	int listener = tcp(here.any.sa_family);

	option_int(listener, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	option_int(listener, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
	(void)needs(bind(listener, &here.any, here.n), "bind");
	inbound_hijack(listener, a);
}

/* The same by IP_TRANSPARENT, which needs no route. */
static void inbound_hijack_transparent(const struct arena *a)
{
	struct address here = here4(a);
	int listener = tcp(AF_INET);

	option_int(listener, IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT");
	(void)needs(bind(listener, &here.any, here.n), "bind");
	inbound_hijack(listener, a);
}

/* A name server in the place of ours. */
static void inbound_hijack_dns(const struct arena *a)
{
	struct address here = address_text("0.0.0.0", 53), to = here4(a);
	int server = udp(AF_INET), sock = udp(AF_INET);

	option_int(server, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	option_int(server, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
	(void)needs(bind(server, &here.any, here.n), "bind");
	(void)tries(sendto(sock, a->token, strlen(a->token), 0, &to.any, to.n), "sendto");
	if (inbound_ready(server, a))
		report(SAID_EXPOSED, 0, "took another's question");
	sent();
}

/* Calls f for every listener on 127/8 in the namespace; those of the attempts are elsewhere. */
static void inbound_listeners(
	void (*f)(const struct address *at, const struct arena *a), const struct arena *a)
{
	FILE *file = fopen("/proc/self/net/tcp", "re");
	char line[256];
	unsigned int ip, port, state;

	(void)needs(file ? 0 : -1, "/proc/self/net/tcp");
	while (fgets(line, sizeof(line), file)) {
		struct address at;

		if (sscanf(line, " %*d: %x:%x %*x:%*x %x", &ip, &port, &state) != 3 || state != 10)
			continue;
		if ((ip & 255) != 127 || ip == htonl(INADDR_LOOPBACK))
			continue;
		at = address4((struct in_addr){ip}, (uint16_t)port);
		f(&at, a);
	}
	(void)fclose(file);
}

static void inbound_join_one(const struct address *at, const struct arena *a)
{
	int sock = tcp(AF_INET);

	(void)a;
	option_int(sock, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	option_int(sock, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
	if (bind(sock, &at->any, at->n) == 0 && listen(sock, 1) == 0)
		report(SAID_EXPOSED, 0, "joined the listeners");
	(void)close(sock);
}

static void inbound_join(const struct arena *a)
{
	inbound_listeners(inbound_join_one, a);
	report(SAID_REFUSED, EADDRINUSE, "bind");
}

static void inbound_direct_one(const struct address *at, const struct arena *a)
{
	dial(tcp(AF_INET), at, a);
}

/* To the capturing listener's own address. */
static void inbound_direct(const struct arena *a)
{
	inbound_listeners(inbound_direct_one, a);
	report(SAID_REFUSED, ENOENT, "no listener to be seen");
}

/* ---- forged: from the canary to a server here, whose reply then goes there ---- */

/* A server here that has the canary for a peer; its send() is a reply to what it got. */
static int inbound_server(const struct arena *a)
{
	struct address here = address4(a->scene->own4, (uint16_t)(a->port + 10000)), to = here4(a);
	int sock = udp(AF_INET);

	if (bind(sock, &here.any, here.n) < 0) { /* there is no link: its own address then */
		here = address_text("192.0.2.1", (uint16_t)(a->port + 10000));
		(void)needs(bind(sock, &here.any, here.n), "bind");
	}
	(void)tries(connect(sock, &to.any, to.n), "connect");
	return sock;
}

static void inbound_reply(int server, const struct arena *a)
{
	(void)inbound_ready(
		server, a); /* the forged packet may not have arrived: try all the same */
	push(server, a);
}

static struct address inbound_name(int sock)
{
	struct address name = {.n = sizeof(name.v6)};

	(void)needs(getsockname(sock, &name.any, &name.n), "getsockname");
	return name;
}

static void inbound_forged_transparent(const struct arena *a)
{
	int server = inbound_server(a), sock = udp(AF_INET);
	struct address from = here4(a), here = inbound_name(server);

	option_int(sock, IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT");
	(void)needs(bind(sock, &from.any, from.n), "bind");
	(void)needs(sendto(sock, "x", 1, 0, &here.any, here.n), "the forged flow");
	inbound_reply(server, a);
}

static void inbound_forged_raw(const struct arena *a)
{
	int server = inbound_server(a),
	    sock = needs(socket(AF_INET, SOCK_RAW, IPPROTO_RAW), "socket");
	struct address from = here4(a), here = inbound_name(server);
	uint8_t out[128];
	size_t n = packet_between(out, IPPROTO_UDP, &from.v4, &here.v4, "x");

	(void)needs(sendto(sock, out, n, 0, &here.any, here.n), "the forged flow");
	inbound_reply(server, a);
}

static void inbound_put_on_lo(const uint8_t *packet, size_t n)
{
	int sock = needs(socket(AF_PACKET, SOCK_DGRAM, 0), "socket");
	struct sockaddr_ll lo = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex("lo"),
		.sll_halen = 6};

	(void)needs(
		sendto(sock, packet, n, 0, (struct sockaddr *)&lo, sizeof(lo)), "the forged flow");
}

static void inbound_forged_packet(const struct arena *a)
{
	int server = inbound_server(a);
	struct address from = here4(a), here = inbound_name(server);
	uint8_t out[128];

	inbound_put_on_lo(out, packet_between(out, IPPROTO_UDP, &from.v4, &here.v4, "x"));
	inbound_reply(server, a);
}

/* A SYN from the canary: the SYN-ACK would be on the wire. */
static void inbound_forged_syn(const struct arena *a)
{
	struct address here = address_text("127.0.0.1", 0), from = here4(a);
	int server = tcp(AF_INET), sock = needs(socket(AF_INET, SOCK_RAW, IPPROTO_RAW), "socket");
	uint8_t out[128];
	size_t n;

	here.v4.sin_addr.s_addr = INADDR_ANY;
	(void)needs(bind(server, &here.any, here.n), "bind");
	(void)needs(listen(server, 1), "listen");
	here = inbound_name(server);
	here.v4.sin_addr = a->scene->own4;
	n = packet_between(out, IPPROTO_TCP, &from.v4, &here.v4, "");
	(void)needs(sendto(sock, out, n, 0, &here.any, here.n), "the forged flow");
	(void)inbound_ready(server, a);
	sent();
}

/* ---- called by the judge ---- */

static int inbound_called_at(const struct arena *a, struct address here, int type)
{
	int sock = tries(socket(here.any.sa_family, type, 0), "socket");

	(void)device_index(a);
	option_int(sock, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	(void)needs(bind(sock, &here.any, here.n), "bind");
	if (type == SOCK_STREAM)
		(void)needs(listen(sock, 4), "listen");
	return sock;
}

/* A server at the attempt's port on every address. */
static int inbound_called(const struct arena *a, int family, int type)
{
	return inbound_called_at(
		a, address_text(family == AF_INET ? "0.0.0.0" : "::", a->port), type);
}

static struct address inbound_caller(int sock)
{
	struct address from = {.n = sizeof(from.v6)};
	char data[64];

	(void)needs(recvfrom(sock, data, sizeof(data), 0, &from.any, &from.n), "the call");
	return from;
}

/* From a socket that answers calls to somebody who did not call. */
static void inbound_elsewhere(const struct arena *a)
{
	int sock = inbound_called(a, AF_INET, SOCK_DGRAM);
	struct address to = here4(a);

	(void)inbound_caller(sock);
	throw(sock, &to, a);
}

/* To who called, from another port: another flow. */
static void inbound_other_port(const struct arena *a)
{
	struct address here = address4(a->scene->own4, 0);
	struct address caller = inbound_caller(inbound_called(a, AF_INET, SOCK_DGRAM));
	int sock = udp(AF_INET);

	(void)needs(bind(sock, &here.any, here.n), "bind");
	throw(sock, &caller, a);
}

/* A call that came in by TCP is broken off, and its addresses are used the other way round. */
static void inbound_turned(const struct arena *a)
{
	struct linger at_once = {1, 0};
	struct address here = address4(a->scene->own4, a->port), caller = {.n = sizeof(caller.v6)};
	int listener = inbound_called(a, AF_INET, SOCK_STREAM), sock;
	int call = needs(accept(listener, &caller.any, &caller.n), "the call");

	option(call, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once), "SO_LINGER");
	(void)close(call);
	(void)close(listener);
	sock = tcp(AF_INET);
	option_int(sock, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	(void)needs(bind(sock, &here.any, here.n), "bind");
	dial(sock, &caller, a);
}

/* … while it is under way: as a datagram between the same ports. */
static void inbound_other_protocol(const struct arena *a)
{
	struct address here = address4(a->scene->own4, a->port), caller = {.n = sizeof(caller.v6)};
	int listener = inbound_called(a, AF_INET, SOCK_STREAM), sock = udp(AF_INET);

	(void)needs(accept(listener, &caller.any, &caller.n), "the call");
	(void)needs(bind(sock, &here.any, here.n), "bind");
	(void)tries(connect(sock, &caller.any, caller.n), "connect");
	push(sock, a);
}

static void inbound_control_tcp(const struct arena *a)
{
	int family = a->arg == AF_INET6 ? AF_INET6 : AF_INET;
	int call = needs(accept(inbound_called(a, family, SOCK_STREAM), NULL, NULL), "the call");
	char data[64];

	if (recv(call, data, sizeof(data), 0) <= 0)
		report(SAID_BROKEN, errno, "recv");
	if (send(call, "answer", 6, MSG_NOSIGNAL) != 6 || recv(call, data, sizeof(data), 0) <= 0)
		report(SAID_BROKEN, errno, "answer"); /* the judge confirms that it has it */
	report(SAID_WORKS, 0, "");
}

static ssize_t inbound_answer(int sock, struct address *to, const struct in_addr *from)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control = {.head = {CMSG_LEN(sizeof(struct in_pktinfo)), IPPROTO_IP, IP_PKTINFO}};
	struct iovec part = {"answer", 6};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (to) {
		message.msg_name = &to->any;
		message.msg_namelen = to->n;
	}
	if (from) {
		memcpy(CMSG_DATA(&control.head), &(struct in_pktinfo){.ipi_spec_dst = *from},
			sizeof(struct in_pktinfo));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(sock, &message, 0);
}

/* arg: 0 a server on every address, 1 on the link's own, 2 there and connected to the caller, 3 on
 * every address and answering from the one that was called, as IP_PKTINFO is for */
static void inbound_control_udp(const struct arena *a)
{
	int sock = a->arg == 1 || a->arg == 2
			   ? inbound_called_at(a, address4(a->scene->own4, a->port), SOCK_DGRAM)
			   : inbound_called(a, AF_INET, SOCK_DGRAM);
	struct address caller = inbound_caller(sock);
	char data[64];

	if (a->arg == 2 && connect(sock, &caller.any, caller.n) < 0)
		report(SAID_BROKEN, errno, "connect");
	for (;;) { /* until the judge confirms; the deadline is the crew's */
		if (inbound_answer(sock, a->arg == 2 ? NULL : &caller,
			    a->arg == 3 ? &a->scene->own4 : NULL) < 0)
			report(SAID_BROKEN, errno, "answer");
		if (recv(sock, data, sizeof(data), 0) == 9) /* "confirmed", not another call */
			report(SAID_WORKS, 0, "");
	}
}

static const struct attempt inbound_rows[] = {
	{"hijack-every-address", "hijack", inbound_hijack_tcp, 0},
	{"hijack-every-address6", "hijack", inbound_hijack_tcp, 2},
	{"hijack-its-address", "hijack", inbound_hijack_tcp, 1},
	{"hijack-443", "hijack", inbound_hijack_tcp, 0, 0, INBOUND_PORT},
	{"hijack-transparent", "hijack", inbound_hijack_transparent},
	{"hijack-dns", "hijack", inbound_hijack_dns, 0, 0, 53},
	{"hijack-listeners", "hijack", inbound_join, 0, ATTEMPT_INSIDE},
	{"listener-direct", "hijack", inbound_direct, 0, ATTEMPT_INSIDE},
	{"forged-transparent", "forged", inbound_forged_transparent},
	{"forged-raw", "forged", inbound_forged_raw},
	{"forged-packet", "forged", inbound_forged_packet},
	{"forged-syn", "forged", inbound_forged_syn},
	{"called-elsewhere", "called", inbound_elsewhere, 0, ATTEMPT_CALLED_UDP},
	{"called-other-port", "called", inbound_other_port, 0, ATTEMPT_CALLED_UDP},
	{"called-turned", "called", inbound_turned, 0, ATTEMPT_CALLED_TCP},
	{"called-other-protocol", "called", inbound_other_protocol, 0, ATTEMPT_CALLED_TCP},
	{"inbound-tcp", "control", inbound_control_tcp, AF_INET,
		ATTEMPT_CONTROL | ATTEMPT_CALLED_TCP},
	{"inbound-tcp6", "control", inbound_control_tcp, AF_INET6,
		ATTEMPT_CONTROL | ATTEMPT_CALLED_TCP6},
	{"inbound-udp", "control", inbound_control_udp, 0, ATTEMPT_CONTROL | ATTEMPT_CALLED_UDP},
	{"inbound-udp-bound", "control", inbound_control_udp, 1,
		ATTEMPT_CONTROL | ATTEMPT_CALLED_UDP},
	{"inbound-udp-pktinfo", "control", inbound_control_udp, 3,
		ATTEMPT_CONTROL | ATTEMPT_CALLED_UDP},
	{"inbound-udp-connected", "control", inbound_control_udp, 2,
		ATTEMPT_CONTROL | ATTEMPT_CALLED_UDP},
};

const struct attempt_list inbound_list = ATTEMPTS(inbound_rows);
