/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listeners.c – TCP listeners and DNS sockets inside the sandbox.
 *
 * sk_lookup assigns traffic to these sockets whatever they are bound to, and tproxy finds them by
 * that, so the binding only has to be out of the way: an odd loopback address and a port that the
 * kernel picks (TCP), port 53 (DNS, since answers must come from there). A connection that names the
 * odd address itself shows as such in getsockname(), and the daemon closes it.
 *
 * For sk_lookup one socket serves both families: AF_INET6 without IPV6_V6ONLY, bound to the odd
 * address in its v4-mapped form (a socket that is bound to ::1 is of IPv6 alone, whatever the
 * option). It costs as much as one, and half of what a sandbox's sockets and their places in the
 * SOCKMAP would be. tproxy needs each family's own; IPv6 has one loopback address, hence ::1.
 *
 * One listener for each slot; neither SO_REUSEPORT, whose group a root in the sandbox
 * could join, nor SO_REUSEADDR: whoever binds what covers their addresses and ports gets
 * EADDRINUSE.
 *
 * tproxy assigns to transparent sockets alone. That a socket may then send from foreign addresses is
 * not used: all addresses are the sandbox's own by its route.
 *
 * All are left blocking: io_uring answers EAGAIN at once for an O_NONBLOCK socket in place of
 * waiting. Who uses plain calls passes MSG_DONTWAIT.
 *
 * DNS sockets tell the asked address (IP_PKTINFO; IPV6_RECVPKTINFO, v4-mapped for IPv4 on a socket of
 * both) and answer from it (the same as control data of sendmsg(2)); IPv6 allows that only with
 * IPV6_FREEBIND, else EINVAL.
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
	int family;
	int type; /* SOCK_STREAM or SOCK_DGRAM */
	const char *address;
	uint16_t port; /* 0: the kernel picks */
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
	{IPPROTO_IPV6, IPV6_RECVPKTINFO},
	{IPPROTO_IPV6, IPV6_RECVORIGDSTADDR},
	{IPPROTO_IPV6, IPV6_FREEBIND},
};

/* Of a series: its listeners and its DNS socket. */
struct listeners_series {
	struct listeners_socket tcp, dns;
	const struct listeners_option *dns_options;
	size_t ndns_options;
	struct listeners_option transparent;
	bool v6only; /* AF_INET6: and not for both */
};

#define LISTENERS_BOTH_TCP "::ffff:" LISTENERS_TCP4
#define LISTENERS_BOTH_DNS "::ffff:" LISTENERS_DNS4

enum { LISTENERS_V4, LISTENERS_V6, LISTENERS_BOTH };

static const struct listeners_series listeners_series[] = {
	[LISTENERS_V4] = {{AF_INET, SOCK_STREAM, LISTENERS_TCP4, 0},
		{AF_INET, SOCK_DGRAM, LISTENERS_DNS4, LISTENERS_DNS_PORT}, listeners_dns4,
		ARRAY_SIZE(listeners_dns4), {IPPROTO_IP, IP_TRANSPARENT}, false},
	[LISTENERS_V6] = {{AF_INET6, SOCK_STREAM, LISTENERS_TCP6, 0},
		{AF_INET6, SOCK_DGRAM, LISTENERS_DNS6, LISTENERS_DNS_PORT}, listeners_dns6,
		ARRAY_SIZE(listeners_dns6), {IPPROTO_IPV6, IPV6_TRANSPARENT}, true},
	[LISTENERS_BOTH] = {{AF_INET6, SOCK_STREAM, LISTENERS_BOTH_TCP, 0},
		{AF_INET6, SOCK_DGRAM, LISTENERS_BOTH_DNS, LISTENERS_DNS_PORT}, listeners_dns6,
		ARRAY_SIZE(listeners_dns6), {IPPROTO_IPV6, IPV6_TRANSPARENT}, false},
};

unsigned int listeners_slots(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores < 1)
		return 1;
	return cores > PROTO_SLOTS ? PROTO_SLOTS : (unsigned int)cores;
}

static int listeners_set(int fd, const struct listeners_option *option, int value)
{
	return setsockopt(fd, option->level, option->name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int listeners_bind(int fd, const struct listeners_socket *want)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(want->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(want->port)};
	int r;

	if (want->family == AF_INET) {
		if (inet_pton(AF_INET, want->address, &v4.sin_addr) != 1)
			return -EINVAL;
		r = bind(fd, (struct sockaddr *)&v4, sizeof(v4));
	} else {
		if (inet_pton(AF_INET6, want->address, &v6.sin6_addr) != 1)
			return -EINVAL;
		r = bind(fd, (struct sockaddr *)&v6, sizeof(v6));
	}
	return r < 0 ? -errno : 0;
}

static int listeners_make(const struct listeners_series *series,
	const struct listeners_socket *want, bool transparent)
{
	static const struct listeners_option v6only = {IPPROTO_IPV6, IPV6_V6ONLY};
	_cleanup_close_ int fd = socket(want->family, want->type | SOCK_CLOEXEC, 0);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (want->family == AF_INET6) /* the default is the namespace's to set */
		r = listeners_set(fd, &v6only, series->v6only);
	for (size_t i = 0; want->type == SOCK_DGRAM && i < series->ndns_options && r == 0; i++)
		r = listeners_set(fd, &series->dns_options[i], 1);
	if (transparent && r == 0)
		r = listeners_set(fd, &series->transparent, 1);
	if (r == 0)
		r = listeners_bind(fd, want);
	if (r == 0 && want->type == SOCK_STREAM && listen(fd, LISTENERS_BACKLOG) < 0)
		r = -errno;
	return r < 0 ? r : TAKE_FD(fd);
}

static int listeners_fill(struct listeners *l, unsigned int family,
	const struct listeners_series *series, bool transparent)
{
	l->dns[family] = listeners_make(series, &series->dns, transparent);
	if (l->dns[family] < 0)
		return l->dns[family];
	for (unsigned int i = 0; i < l->nslots; i++) {
		l->tcp[family][i] = listeners_make(series, &series->tcp, transparent);
		if (l->tcp[family][i] < 0)
			return l->tcp[family][i];
	}
	return 0;
}

int listeners_open(unsigned int nslots, bool has_v6, bool transparent, struct listeners *ret)
{
	bool both = has_v6 && !transparent;
	struct listeners l = {.nslots = nslots, .dns = {-1, -1}};
	int r;

	if (nslots < 1 || nslots > PROTO_SLOTS)
		return -EINVAL;
	for (unsigned int i = 0; i < PROTO_SLOTS; i++)
		l.tcp[0][i] = l.tcp[1][i] = -1;
	r = listeners_fill(
		&l, 0, &listeners_series[both ? LISTENERS_BOTH : LISTENERS_V4], transparent);
	if (r == 0 && has_v6 && !both)
		r = listeners_fill(&l, 1, &listeners_series[LISTENERS_V6], transparent);
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
		r = listeners_port(l->tcp[0][i], &ret4[i]);
		if (r == 0)
			r = listeners_port(l->tcp[1][i], &ret6[i]);
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
	for (unsigned int family = 0; family < 2; family++) {
		listeners_close_one(&l->dns[family]);
		for (unsigned int i = 0; i < PROTO_SLOTS; i++)
			listeners_close_one(&l->tcp[family][i]);
	}
}
