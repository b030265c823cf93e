/* SPDX-License-Identifier: Apache-2.0 */
/* udp.c – datagrams to the canary, by every way in which one can be sent. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/battery/attempt.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* arg: family */
static struct address udp_to(const struct arena *a)
{
	return a->arg == AF_INET6 ? here6(a) : here4(a);
}

static int udp_connected(const struct arena *a)
{
	struct address to = udp_to(a);
	int sock = udp(to.any.sa_family);

	(void)tries(connect(sock, &to.any, to.n), "connect");
	return sock;
}

static void udp_send(const struct arena *a)
{
	push(udp_connected(a), a);
}

/* After the first refusal the socket is good for another. */
static void udp_persistent(const struct arena *a)
{
	int sock = udp_connected(a);

	for (int i = 0; i < 5; i++)
		(void)send(sock, a->token, strlen(a->token),
			MSG_NOSIGNAL); /* what the last says counts */
	push(sock, a);
}

static void udp_sendmsg(const struct arena *a)
{
	struct address to = udp_to(a);

	throw_with(udp(to.any.sa_family), &to, NULL, 0, a);
}

/* From the link's own address, as a server there answers. arg: to the canary, to a refused address, to
 * the other end of the link, and by IPv6 */
enum { UDP_TO_CANARY, UDP_TO_METADATA, UDP_TO_PEER, UDP_TO_CANARY6 };

static void udp_from_link(const struct arena *a)
{
	struct address from = a->arg == UDP_TO_CANARY6 ? address6(a->scene->own6, 0)
						       : address4(a->scene->own4, 0);
	struct address to = a->arg == UDP_TO_CANARY6    ? here6(a)
			    : a->arg == UDP_TO_METADATA ? address_text("169.254.169.254", a->port)
			    : a->arg == UDP_TO_PEER     ? address4(a->scene->peer4, a->port)
							: here4(a);
	int sock = udp(from.any.sa_family);

	(void)needs(bind(sock, &from.any, from.n), "bind");
	throw(sock, &to, a);
}

static void udp_from_link_pktinfo(const struct arena *a)
{
	struct in_pktinfo info = {.ipi_spec_dst = a->scene->own4};
	struct address to = here4(a);
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(info))];
	} control = {.head = {CMSG_LEN(sizeof(info)), IPPROTO_IP, IP_PKTINFO}};

	memcpy(CMSG_DATA(&control.head), &info, sizeof(info));
	throw_with(udp(AF_INET), &to, &control, sizeof(control), a);
}

/* One message to loopback, one to the canary, in one call. */
static void udp_sendmmsg(const struct arena *a)
{
	struct address to[2] = {address_text("127.0.0.1", 9), here4(a)};
	struct iovec part = {(char *)a->token, strlen(a->token)};
	struct mmsghdr messages[2] = {0};
	int n;

	for (int i = 0; i < 2; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_name = &to[i].any,
			.msg_namelen = to[i].n,
			.msg_iov = &part,
			.msg_iovlen = 1};
	n = tries(sendmmsg(udp(AF_INET), messages, 2, MSG_NOSIGNAL), "sendmmsg");
	if (n < 2)
		(void)tries(-1, "the second message");
	sent();
}

/* Connected to one address, sent to another. */
static void udp_elsewhere(const struct arena *a)
{
	struct address one = address_text("203.0.113.250", 9), to = here4(a);
	int sock = udp(AF_INET);

	(void)needs(connect(sock, &one.any, one.n), "connect");
	throw(sock, &to, a);
}

/* sendto() takes an AF_INET address whose family says AF_UNSPEC. */
static void udp_unspec(const struct arena *a)
{
	struct address to = here4(a);

	to.any.sa_family = AF_UNSPEC;
	throw(udp(AF_INET), &to, a);
}

/* An IPv4 address handed to a socket of IPv6. */
static void udp_mixed(const struct arena *a)
{
	struct address to = here4(a);

	throw(udp(AF_INET6), &to, a);
}

static void udp_reconnect(const struct arena *a)
{
	struct address own = address_text("127.0.0.1", 9), to = here4(a);
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	int sock = udp(AF_INET);

	(void)needs(connect(sock, &own.any, own.n), "connect to loopback");
	(void)needs(connect(sock, &none, sizeof(none)), "connect to AF_UNSPEC");
	(void)tries(connect(sock, &to.any, to.n), "connect");
	push(sock, a);
}

/* Two tokens in one send, cut by the kernel into two datagrams. */
static size_t udp_double(char *out, size_t room, const struct arena *a)
{
	return (size_t)snprintf(out, room, "%s%s", a->token, a->token);
}

static void udp_gso(const struct arena *a)
{
	struct address to = udp_to(a);
	int sock = udp(to.any.sa_family);
	char out[2 * ATTEMPT_TOKEN];
	size_t n = udp_double(out, sizeof(out), a);

	option_int(sock, SOL_UDP, UDP_SEGMENT, (int)n / 2, "UDP_SEGMENT");
	(void)tries(sendto(sock, out, n, 0, &to.any, to.n), "sendto");
	sent();
}

static void udp_gso_control(const struct arena *a)
{
	struct address to = here4(a);
	char out[2 * ATTEMPT_TOKEN];
	size_t n = udp_double(out, sizeof(out), a);
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(uint16_t))];
	} control = {.head = {CMSG_LEN(sizeof(uint16_t)), SOL_UDP, UDP_SEGMENT}};
	struct iovec part = {out, n};
	struct msghdr message = {.msg_name = &to.any,
		.msg_namelen = to.n,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	*(uint16_t *)(void *)CMSG_DATA(&control.head) = (uint16_t)(n / 2);
	(void)tries(sendmsg(udp(AF_INET), &message, 0), "sendmsg");
	sent();
}

static void udp_corked(const struct arena *a)
{
	struct address to = here4(a);
	int sock = udp(AF_INET);

	option_int(sock, SOL_UDP, UDP_CORK, 1, "UDP_CORK");
	(void)tries(sendto(sock, a->token, strlen(a->token), 0, &to.any, to.n), "sendto");
	(void)tries(setsockopt(sock, SOL_UDP, UDP_CORK, &(int){0}, sizeof(int)), "uncork");
	sent();
}

/* The rest of a corked datagram needs no address. */
static void udp_more(const struct arena *a)
{
	struct address to = here4(a);
	int sock = udp(AF_INET);

	(void)tries(sendto(sock, a->token, strlen(a->token), MSG_MORE, &to.any, to.n), "sendto");
	(void)tries(sendto(sock, "!", 1, 0, NULL, 0), "the rest");
	sent();
}

/* arg: family; write() and splice() on a connected socket */
static void udp_write(const struct arena *a)
{
	(void)tries(write(udp_connected(a), a->token, strlen(a->token)), "write");
	sent();
}

static void udp_splice(const struct arena *a)
{
	int sock = udp_connected(a), ends[2];
	ssize_t n = (ssize_t)strlen(a->token);

	(void)needs(pipe(ends), "pipe");
	(void)needs(write(ends[1], a->token, (size_t)n), "write");
	(void)tries(splice(ends[0], NULL, sock, NULL, (size_t)n, 0), "splice");
	sent();
}

static void udp_confirm(const struct arena *a)
{
	struct address to = here4(a);
	int sock = udp(AF_INET);

	(void)tries(
		sendto(sock, a->token, strlen(a->token), MSG_CONFIRM | MSG_DONTWAIT, &to.any, to.n),
		"sendto");
	sent();
}

/* A question whose name is the token. */
static void udp_question(const struct arena *a)
{
	struct address to = here4(a);
	uint8_t packet[128] = {0x12, 0x34, 1, 0, 0, 1};
	size_t label = strlen(a->token) - 1, at = 12; /* without its dot */

	packet[at++] = (uint8_t)label;
	memcpy(packet + at, a->token, label);
	at += label;
	memcpy(packet + at, "\4test\0\0\1\0\1", 10);
	(void)tries(sendto(udp(AF_INET), packet, at + 10, 0, &to.any, to.n), "sendto");
	sent();
}

static const struct attempt udp_rows[] = {
	{"udp-connected", "udp", udp_send, AF_INET},
	{"udp-connected6", "udp", udp_send, AF_INET6},
	{"udp-persistent", "udp", udp_persistent, AF_INET},
	{"udp-sendmsg", "udp", udp_sendmsg, AF_INET},
	{"udp-sendmsg6", "udp", udp_sendmsg, AF_INET6},
	{"udp-from-link", "udp", udp_from_link, UDP_TO_CANARY},
	{"udp-from-link6", "udp", udp_from_link, UDP_TO_CANARY6},
	{"udp-from-link-metadata", "refused", udp_from_link, UDP_TO_METADATA},
	{"udp-from-link-gateway", "udp", udp_from_link, UDP_TO_PEER},
	{"udp-from-link-pktinfo", "udp", udp_from_link_pktinfo},
	{"udp-sendmmsg", "udp", udp_sendmmsg},
	{"udp-elsewhere", "udp", udp_elsewhere},
	{"udp-unspec", "udp", udp_unspec},
	{"udp-mixed-family", "udp", udp_mixed},
	{"udp-reconnect", "udp", udp_reconnect},
	{"udp-gso", "udp", udp_gso, AF_INET},
	{"udp-gso6", "udp", udp_gso, AF_INET6},
	{"udp-gso-control", "udp", udp_gso_control},
	{"udp-corked", "udp", udp_corked},
	{"udp-more", "udp", udp_more},
	{"udp-write", "udp", udp_write, AF_INET},
	{"udp-splice", "udp", udp_splice, AF_INET},
	{"udp-confirm", "udp", udp_confirm},
	{"udp-443", "udp", udp_sendmsg, AF_INET, 0, 443},
	{"udp-443-connected", "udp", udp_send, AF_INET, 0, 443},
	{"udp-dns-port", "dns", udp_sendmsg, AF_INET, 0, 53},
	{"udp-dns-question", "dns", udp_question, AF_INET, 0, 53},
	{"udp-dns-connected", "dns", udp_send, AF_INET, 0, 53},
	{"udp-dot-port", "dns", udp_sendmsg, AF_INET, 0, 853},
	{"udp-mdns-port", "dns", udp_sendmsg, AF_INET, 0, 5353},
};

const struct attempt_list udp_list = ATTEMPTS(udp_rows);
