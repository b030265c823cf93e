/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_sockets.c – the sockets of a network namespace that were not made in the sandbox's cgroup.
 *
 *   TCP, UDP         sock_diag, which tells the cgroup in which a socket was made (Linux 5.8); where the
 *                    kernel has no such module, the files below
 *   UDP-Lite, raw    /proc/net, which tells no cgroup: all are listed
 *   packet           likewise
 *   XDP              listed nowhere, counted: of interest in uplink mode alone, where one is one too many
 *   unix             likewise, those with an abstract name alone: such a name is the namespace's; one that is
 *                    a path is the file system's (connect_unix judges it), one without a name cannot be
 *                    reached
 *
 * Before all that /proc/net/protocols is asked which kinds there are at all: a list of TCP sockets is a walk through
 * the hash table of the whole machine (2 ms where it has 262144 buckets), and mostly there are none.
 *
 * Left out: what no process has (TIME_WAIT, orphans: no inode), sockets that are neither bound nor
 * connected (the kernel lists them nowhere; they reach nobody), netlink, which speaks to the kernel.
 *
 * #syscalls: openat read close, and those of netlink_dump()
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netns-helper/foreign_internal.h"
#include "netns-helper/netlink.h"

#include "base/cleanup.h"

#define FOREIGN_RESOLVER "127.0.0.11"

enum {
	FOREIGN_CGROUP_ID = 21, /* INET_DIAG_CGROUP_ID, in headers since 5.8 */
	FOREIGN_TIME_WAIT = 6, /* TCP states as the kernel numbers them */
	FOREIGN_NEW_SYN_RECV = 12,
	FOREIGN_LINE = 512,
	FOREIGN_PROTOCOLS = 64, /* lines of /proc/net/protocols that are kept */
	FOREIGN_NAME = 16,
};

/* The kinds of sockets that there are in the namespace. */
struct foreign_protocols {
	bool unknown; /* that cannot be told: all kinds are looked for */
	size_t n;
	char names[FOREIGN_PROTOCOLS][FOREIGN_NAME];
};

struct foreign_listing {
	uint64_t cgroup_id;
	struct foreign_sockets *sockets;
	const char *kind;
	bool below; /* the table */
	bool may_resolve; /* TCP, UDP over IPv4 */
	int failed;
};

/* Where the kernel lists one kind of IP socket as text, and by sock_diag when it can. */
static const struct foreign_kind {
	const char *name;
	const char *protocol; /* in /proc/net/protocols */
	const char *file;
	uint8_t family;
	uint8_t diag; /* IPPROTO_… for sock_diag; 0 = the file alone */
} foreign_kinds[] = {
	{"TCP", "TCP", "/proc/net/tcp", AF_INET, IPPROTO_TCP},
	{"TCP", "TCPv6", "/proc/net/tcp6", AF_INET6, IPPROTO_TCP},
	{"UDP", "UDP", "/proc/net/udp", AF_INET, IPPROTO_UDP},
	{"UDP", "UDPv6", "/proc/net/udp6", AF_INET6, IPPROTO_UDP},
	{"UDP-Lite", "UDP-Lite", "/proc/net/udplite", AF_INET, 0},
	{"UDP-Lite", "UDPLITEv6", "/proc/net/udplite6", AF_INET6, 0},
	{"raw", "RAW", "/proc/net/raw", AF_INET, 0},
	{"raw", "RAWv6", "/proc/net/raw6", AF_INET6, 0},
};

/* "protocol  size sockets  memory press maxhdr  slab module …": those with a socket in this namespace. */
static void foreign_protocols_read(struct foreign_protocols *p)
{
	char line[FOREIGN_LINE], name[FOREIGN_NAME];
	FILE *f = fopen("/proc/net/protocols", "re");
	int sockets;

	*p = (struct foreign_protocols){.unknown = !f};
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%15s %*d %d", name, &sockets) != 2 || sockets <= 0)
			continue;
		if (p->n == FOREIGN_PROTOCOLS)
			p->unknown = true;
		else
			memcpy(p->names[p->n++], name, sizeof(name));
	}
	if (f)
		(void)fclose(f); /* only read */
}

static bool foreign_protocols_have(const struct foreign_protocols *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->names[i], name) == 0)
			return true;
	return p->unknown;
}

static void foreign_add(struct foreign_listing *l, const char *address, uint64_t inode)
{
	struct foreign_sockets *s = l->sockets;
	struct foreign_socket *more;
	size_t room = s->room ? 2 * s->room : 64;

	if (s->n == s->room) {
		more = s->n < FOREIGN_SOCKETS ? realloc(s->list, room * sizeof(*more)) : NULL;
		if (!more) {
			l->failed = s->n < FOREIGN_SOCKETS ? -ENOMEM : -E2BIG;
			return;
		}
		s->list = more;
		s->room = room;
	}
	s->list[s->n] = (struct foreign_socket){.kind = l->kind, .below = l->below, .inode = inode};
	(void)snprintf(s->list[s->n].address, FOREIGN_ADDRESS, "%s", address); /* cut to size */
	foreign_printable(s->list[s->n].address);
	s->n++;
}

static void foreign_add_ip(
	struct foreign_listing *l, int family, const void *ip, unsigned int port, uint64_t inode)
{
	char text[INET6_ADDRSTRLEN], address[FOREIGN_ADDRESS];

	(void)inet_ntop(family, ip, text, sizeof(text)); /* cannot fail: known family, room */
	if (l->may_resolve && strcmp(text, FOREIGN_RESOLVER) == 0) {
		l->sockets->resolver = true;
		return;
	}
	(void)snprintf(address, sizeof(address), family == AF_INET6 ? "[%s]:%u" : "%s:%u", text,
		port); /* fits */
	foreign_add(l, address, inode);
}

static int foreign_each_diag(const struct nlmsghdr *message, void *arg)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(message);
	struct foreign_listing *l = arg;
	const struct nlattr *attr;
	uint64_t cgroup = 0;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*m))
		return MNL_CB_OK;
	mnl_attr_for_each(attr, message, sizeof(*m))
	{
		if (mnl_attr_get_type(attr) == FOREIGN_CGROUP_ID &&
			mnl_attr_get_payload_len(attr) == sizeof(cgroup))
			cgroup = mnl_attr_get_u64(attr);
	}
	if (m->idiag_inode && cgroup != l->cgroup_id)
		foreign_add_ip(l, m->idiag_family, m->id.idiag_src, ntohs(m->id.idiag_sport),
			m->idiag_inode);
	return MNL_CB_OK;
}

static int foreign_list_diag(struct foreign_listing *l, const struct foreign_kind *kind)
{
	char bytes[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct inet_diag_req_v2 *ask;

	request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	ask = mnl_nlmsg_put_extra_header(request, sizeof(*ask));
	ask->sdiag_family = kind->family;
	ask->sdiag_protocol = kind->diag;
	ask->idiag_states = ~(1U << FOREIGN_TIME_WAIT | 1U << FOREIGN_NEW_SYN_RECV);
	return netlink_dump(NETLINK_SOCK_DIAG, request, foreign_each_diag, l);
}

/* An address as these files print it: words of 32 bits, each as a number of this machine, in hex. */
static bool foreign_hex(const char *text, int family, uint8_t ret[16])
{
	uint32_t words[4] = {0};
	int n = sscanf(text, family == AF_INET6 ? "%8x%8x%8x%8x" : "%8x", &words[0], &words[1],
		&words[2], &words[3]);

	memcpy(ret, words, sizeof(words));
	return n == (family == AF_INET6 ? 4 : 1);
}

/* "  sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt   uid  timeout inode …" */
static void foreign_ip_line(struct foreign_listing *l, int family, const char *line)
{
	unsigned long long inode;
	unsigned int port, state;
	char local[40];
	uint8_t ip[16];

	if (sscanf(line, " %*d: %39[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s %llu", local, &port,
		    &state, &inode) != 4)
		return;
	if (inode && !(l->may_resolve && state == FOREIGN_TIME_WAIT) &&
		foreign_hex(local, family, ip))
		foreign_add_ip(l, family, ip, port, inode);
}

/* A file that is not there lists nothing: the kernel has no such sockets. */
static int foreign_list_file(struct foreign_listing *l, const char *file, int family,
	void (*each)(struct foreign_listing *l, int family, const char *line))
{
	char line[FOREIGN_LINE];
	FILE *f = fopen(file, "re");

	if (!f)
		return errno == ENOENT ? 0 : -errno;
	while (l->failed == 0 && fgets(line, sizeof(line), f))
		each(l, family, line);
	(void)fclose(f); /* only read */
	return 0;
}

static int foreign_list_ip(struct foreign_listing *l, const struct foreign_kind *kind)
{
	int r = -ENOENT;

	l->kind = kind->name;
	l->below = strcmp(kind->name, "raw") == 0;
	l->may_resolve = kind->diag && kind->family == AF_INET;
	if (kind->diag)
		r = foreign_list_diag(l, kind);
	return r == -ENOENT ? foreign_list_file(l, kind->file, kind->family, foreign_ip_line) : r;
}

/* "sk       RefCnt Type Proto  Iface R Rmem   User   Inode" */
static void foreign_packet_line(struct foreign_listing *l, int family, const char *line)
{
	unsigned long long inode;
	unsigned int protocol, link;
	char address[FOREIGN_ADDRESS];

	(void)family; /* has none */
	if (sscanf(line, "%*s %*d %*d %x %u %*d %*u %*u %llu", &protocol, &link, &inode) != 3 ||
		!inode)
		return;
	(void)snprintf(
		address, sizeof(address), "link %u, protocol 0x%04x", link, protocol); /* fits */
	foreign_add(l, address, inode);
}

/* "Num       RefCount Protocol Flags    Type St Inode Path", an abstract one's begins with @. */
static void foreign_unix_line(struct foreign_listing *l, int family, const char *line)
{
	unsigned long long inode;
	char name[FOREIGN_ADDRESS];

	(void)family; /* is known */
	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu %127[^\n]", &inode, name) != 2 ||
		name[0] != '@' || !inode)
		return;
	foreign_add(l, name, inode);
}

int foreign_sockets_list(const struct foreign_spec *spec, struct foreign_sockets *s)
{
	struct foreign_listing l = {.cgroup_id = spec->cgroup_id, .sockets = s};
	struct foreign_protocols protocols;
	int r = 0;

	foreign_protocols_read(&protocols);
	for (size_t i = 0; i < ARRAY_SIZE(foreign_kinds) && r == 0; i++)
		if (foreign_protocols_have(&protocols, foreign_kinds[i].protocol))
			r = foreign_list_ip(&l, &foreign_kinds[i]);
	l.may_resolve = false;
	l.kind = "packet";
	l.below = true;
	if (r == 0 && foreign_protocols_have(&protocols, "PACKET"))
		r = foreign_list_file(&l, "/proc/net/packet", AF_UNSPEC, foreign_packet_line);
	l.kind = "XDP";
	if (r == 0 && spec->uplink && !protocols.unknown &&
		foreign_protocols_have(&protocols, "XDP"))
		foreign_add(&l, "a queue of an interface", 0);
	l.kind = "unix";
	l.below = false;
	if (r == 0 && (foreign_protocols_have(&protocols, "UNIX") ||
			      foreign_protocols_have(&protocols, "UNIX-STREAM")))
		r = foreign_list_file(&l, "/proc/net/unix", AF_UNSPEC, foreign_unix_line);
	return l.failed ? l.failed : r;
}

void foreign_sockets_free(struct foreign_sockets *s)
{
	free(s->list);
	*s = (struct foreign_sockets){NULL};
}
