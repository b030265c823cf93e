/* SPDX-License-Identifier: Apache-2.0 */
/* old.c – sockets that are older than the attach: made, bound or connected while nothing watched. */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/un.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/battery/attempt.h"
#include "tests/battery/packets.h"

static int old_code(int fd)
{
	return fd < 0 ? -errno : fd;
}

static int old_connected(const struct arena *a, int type, const struct address *to)
{
	int sock = socket(to->any.sa_family, type, 0);

	(void)a;
	return sock < 0 || connect(sock, &to->any, to->n) < 0 ? -errno : sock;
}

static int old_tcp(const struct arena *a)
{
	return old_code(socket((int)a->arg, SOCK_STREAM, 0));
}

static void old_tcp_run(const struct arena *a)
{
	struct address to = a->arg == AF_INET ? here4(a) : here6(a);

	dial(a->fd, &to, a);
}

static int old_udp(const struct arena *a)
{
	return old_code(socket((int)a->arg, SOCK_DGRAM, 0));
}

static void old_udp_run(const struct arena *a)
{
	struct address to = a->arg == AF_INET ? here4(a) : here6(a);

	throw(a->fd, &to, a);
}

static int old_connected_here(const struct arena *a)
{
	struct address to = here4(a);

	return old_connected(a, (int)a->arg, &to);
}

static int old_connected_here6(const struct arena *a)
{
	struct address to = here6(a);

	return old_connected(a, (int)a->arg, &to);
}

static void old_push(const struct arena *a)
{
	push(a->fd, a);
}

/* A datagram socket that was connected to another address before. */
static int old_elsewhere(const struct arena *a)
{
	struct address to = address_text("203.0.113.250", 9);

	return old_connected(a, SOCK_DGRAM, &to);
}

static void old_reconnect(const struct arena *a)
{
	struct address to = here4(a);

	(void)tries(connect(a->fd, &to.any, to.n), "connect");
	push(a->fd, a);
}

static int old_device(const struct arena *a)
{
	int sock = socket(AF_INET, (int)a->arg, 0);
	const char *device = a->scene->device;

	return sock < 0 || setsockopt(sock, SOL_SOCKET, SO_BINDTODEVICE, device,
				   (socklen_t)strlen(device)) < 0
		       ? -errno
		       : sock;
}

static void old_device_run(const struct arena *a)
{
	struct address to = here4(a);

	if (a->arg == SOCK_STREAM)
		dial(a->fd, &to, a);
	throw(a->fd, &to, a);
}

static int old_bound(const struct arena *a)
{
	struct address from = address4(a->scene->own4, 0);
	int sock = socket(AF_INET, (int)a->arg, 0);

	return sock < 0 || bind(sock, &from.any, from.n) < 0 ? -errno : sock;
}

static int old_raw(const struct arena *a)
{
	return old_code(socket(AF_INET, SOCK_RAW, (int)a->arg));
}

static void old_raw_run(const struct arena *a)
{
	struct address to = address4(a->v4, 0);
	uint8_t packet[256];
	size_t n = a->arg == IPPROTO_UDP
			   ? packet_udp(packet, 4000, a)
			   : packet_ipv4(packet, IPPROTO_UDP, a->scene->own4, a->v4, a);

	(void)tries(sendto(a->fd, packet, n, 0, &to.any, to.n), "sendto");
	sent();
}

static int old_packet(const struct arena *a)
{
	(void)a;
	return old_code(socket(AF_PACKET, SOCK_RAW, 0));
}

static void old_packet_run(const struct arena *a)
{
	uint8_t frame[256];
	size_t n = packet_frame(frame, a);
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_ifindex = device_index(a), .sll_halen = 6};

	memcpy(to.sll_addr, a->scene->peer_mac, 6);
	(void)tries(sendto(a->fd, frame, n, 0, (struct sockaddr *)&to, sizeof(to)), "sendto");
	sent();
}

/* A listener: whoever calls is answered, and reads the token. */
static int old_listener(const struct arena *a)
{
	struct address here = address_text("0.0.0.0", a->port);
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	return sock < 0 || bind(sock, &here.any, here.n) < 0 || listen(sock, 4) < 0 ? -errno : sock;
}

/* As a listener it is of no use outwards; taken back, it connects. */
static void old_listener_run(const struct arena *a)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct address to = here4(a);

	(void)tries(connect(a->fd, &none, sizeof(none)), "connect to AF_UNSPEC");
	dial(a->fd, &to, a);
}

/* A unix socket that was connected to the outsider's relay before anything looked. */
static int old_relay(const struct arena *a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s/stream", a->scene->closed);
	return sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : sock;
}

static const struct attempt old_rows[] = {
	{"old-tcp", "old", old_tcp_run, AF_INET, 0, 0, old_tcp},
	{"old-tcp6", "old", old_tcp_run, AF_INET6, 0, 0, old_tcp},
	{"old-tcp-bound", "old", old_device_run, SOCK_STREAM, 0, 0, old_bound},
	{"old-tcp-device", "old", old_device_run, SOCK_STREAM, 0, 0, old_device},
	{"old-tcp-established", "old", old_push, SOCK_STREAM, 0, 0, old_connected_here},
	{"old-tcp6-established", "old", old_push, SOCK_STREAM, 0, 0, old_connected_here6},
	{"old-tcp-listener", "old", old_listener_run, 0, 0, 0, old_listener},
	{"old-udp", "old", old_udp_run, AF_INET, 0, 0, old_udp},
	{"old-udp6", "old", old_udp_run, AF_INET6, 0, 0, old_udp},
	{"old-udp-bound", "old", old_device_run, SOCK_DGRAM, 0, 0, old_bound},
	{"old-udp-device", "old", old_device_run, SOCK_DGRAM, 0, 0, old_device},
	{"old-udp-connected", "old", old_push, SOCK_DGRAM, 0, 0, old_connected_here},
	{"old-udp6-connected", "old", old_push, SOCK_DGRAM, 0, 0, old_connected_here6},
	{"old-udp-reconnect", "old", old_reconnect, 0, 0, 0, old_elsewhere},
	{"old-raw-udp", "old", old_raw_run, IPPROTO_UDP, 0, 0, old_raw},
	{"old-raw-own-header", "old", old_raw_run, IPPROTO_RAW, 0, 0, old_raw},
	{"old-packet", "old", old_packet_run, 0, 0, 0, old_packet},
	{"old-unix-relay", "unix", old_push, 0, 0, 0, old_relay},
};

const struct attempt_list old_list = ATTEMPTS(old_rows);
