/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listeners.c – TCP listeners and DNS sockets inside the sandbox.
 *
 * sk_lookup assigns traffic to these sockets whatever they are bound to, and tproxy finds them by
 * that, so the binding only has to be out of the way: an odd loopback address and a port that the
 * kernel picks (TCP), port 53 (DNS, since answers must come from there). IPv6 has one loopback
 * address, hence ::1. A connection that names the odd address itself shows as such in
 * getsockname(), and the daemon closes it.
 *
 * One listener for each slot and family; neither SO_REUSEPORT, whose group a root in the sandbox
 * could join, nor SO_REUSEADDR: whoever binds what covers their addresses and ports gets
 * EADDRINUSE.
 *
 * tproxy assigns to transparent sockets alone. That a socket may then send from foreign addresses is
 * not used: all addresses are the sandbox's own by its route.
 *
 * All are left blocking: io_uring answers EAGAIN at once for an O_NONBLOCK socket in place of
 * waiting. Who uses plain calls passes MSG_DONTWAIT.
 *
 * DNS sockets tell the asked address (IP_PKTINFO, IPV6_RECVPKTINFO) and answer from it (the same as
 * control data of sendmsg(2)); IPv6 allows that only with IPV6_FREEBIND, else EINVAL.
 *
 * #syscalls: socket bind listen setsockopt getsockname close
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns-helper/listeners.h"

#include "base/cleanup.h"

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

enum { LISTENERS_BACKLOG = 4096, LISTENERS_DNS_PORT = 53 };

/* One socket to be opened. */
struct listeners_socket {
	int type; /* SOCK_STREAM or SOCK_DGRAM */
	const char *address;
	uint16_t port; /* 0: the kernel picks */
	bool transparent;
};

struct listeners_option {
	int level, name;
};

/* Each is set to 1. */
static const struct listeners_option listeners_dns4[] = {
	{IPPROTO_IP, IP_PKTINFO},
	{IPPROTO_IP, IP_RECVORIGDSTADDR},
	{IPPROTO_IP, IP_FREEBIND},
};
static const struct listeners_option listeners_dns6[] = {
	{IPPROTO_IPV6, IPV6_V6ONLY},
	{IPPROTO_IPV6, IPV6_RECVPKTINFO},
	{IPPROTO_IPV6, IPV6_RECVORIGDSTADDR},
	{IPPROTO_IPV6, IPV6_FREEBIND},
};
static const struct listeners_option listeners_tcp6[] = {
	{IPPROTO_IPV6, IPV6_V6ONLY},
};

unsigned int listeners_slots(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores < 1)
		return 1;
	return cores > PROTO_SLOTS ? PROTO_SLOTS : (unsigned int)cores;
}

static int listeners_make(const struct listeners_socket *want, const struct sockaddr *at,
	socklen_t size, const struct listeners_option *options, size_t noptions)
{
	static const struct listeners_option transparent4 = {IPPROTO_IP, IP_TRANSPARENT};
	static const struct listeners_option transparent6 = {IPPROTO_IPV6, IPV6_TRANSPARENT};
	const struct listeners_option *own =
		at->sa_family == AF_INET ? &transparent4 : &transparent6;
	_cleanup_close_ int fd = socket(at->sa_family, want->type | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < noptions; i++)
		if (setsockopt(fd, options[i].level, options[i].name, &on, sizeof(on)) < 0)
			return -errno;
	if (want->transparent && setsockopt(fd, own->level, own->name, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, at, size) < 0)
		return -errno;
	if (want->type == SOCK_STREAM && listen(fd, LISTENERS_BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int listeners_v4(const struct listeners_socket *want, const struct listeners_option *options,
	size_t noptions)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(want->port)};

	if (inet_pton(AF_INET, want->address, &at.sin_addr) != 1)
		return -EINVAL;
	return listeners_make(want, (struct sockaddr *)&at, sizeof(at), options, noptions);
}

static int listeners_v6(const struct listeners_socket *want, const struct listeners_option *options,
	size_t noptions)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(want->port)};

	if (inet_pton(AF_INET6, want->address, &at.sin6_addr) != 1)
		return -EINVAL;
	return listeners_make(want, (struct sockaddr *)&at, sizeof(at), options, noptions);
}

static int listeners_fill(struct listeners *l, bool transparent)
{
	const struct listeners_socket tcp4 = {SOCK_STREAM, LISTENERS_TCP4, 0, transparent};
	const struct listeners_socket tcp6 = {SOCK_STREAM, LISTENERS_V6, 0, transparent};
	const struct listeners_socket dns4 = {
		SOCK_DGRAM, LISTENERS_DNS4, LISTENERS_DNS_PORT, transparent};
	const struct listeners_socket dns6 = {
		SOCK_DGRAM, LISTENERS_V6, LISTENERS_DNS_PORT, transparent};

	l->udp4 = listeners_v4(&dns4, listeners_dns4, ARRAY_SIZE(listeners_dns4));
	if (l->udp4 < 0)
		return l->udp4;
	for (unsigned int i = 0; i < l->nslots; i++) {
		l->tcp4[i] = listeners_v4(&tcp4, NULL, 0);
		if (l->tcp4[i] < 0)
			return l->tcp4[i];
	}
	if (!l->has_v6)
		return 0;
	l->udp6 = listeners_v6(&dns6, listeners_dns6, ARRAY_SIZE(listeners_dns6));
	if (l->udp6 < 0)
		return l->udp6;
	for (unsigned int i = 0; i < l->nslots; i++) {
		l->tcp6[i] = listeners_v6(&tcp6, listeners_tcp6, ARRAY_SIZE(listeners_tcp6));
		if (l->tcp6[i] < 0)
			return l->tcp6[i];
	}
	return 0;
}

int listeners_open(unsigned int nslots, bool has_v6, bool transparent, struct listeners *ret)
{
	struct listeners l = {.nslots = nslots, .has_v6 = has_v6, .udp4 = -1, .udp6 = -1};
	int r;

	if (nslots < 1 || nslots > PROTO_SLOTS)
		return -EINVAL;
	for (unsigned int i = 0; i < PROTO_SLOTS; i++)
		l.tcp4[i] = l.tcp6[i] = -1;
	r = listeners_fill(&l, transparent);
	if (r < 0) {
		listeners_close(&l);
		return r;
	}
	*ret = l;
	return 0;
}

static int listeners_port(int fd, uint16_t *ret)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at;
	socklen_t n = sizeof(at);

	*ret = 0;
	if (fd < 0)
		return 0;
	if (getsockname(fd, &at.any, &n) < 0)
		return -errno;
	*ret = ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port);
	return 0;
}

int listeners_ports(
	const struct listeners *l, uint16_t ret4[PROTO_SLOTS], uint16_t ret6[PROTO_SLOTS])
{
	int r = 0;

	for (unsigned int i = 0; i < PROTO_SLOTS && r == 0; i++) {
		r = listeners_port(l->tcp4[i], &ret4[i]);
		if (r == 0)
			r = listeners_port(l->tcp6[i], &ret6[i]);
	}
	return r;
}

static void listeners_close_one(int *fd)
{
	cleanup_close(fd);
	*fd = -1;
}

void listeners_close(struct listeners *l)
{
	listeners_close_one(&l->udp4);
	listeners_close_one(&l->udp6);
	for (unsigned int i = 0; i < PROTO_SLOTS; i++) {
		listeners_close_one(&l->tcp4[i]);
		listeners_close_one(&l->tcp6[i]);
	}
}
