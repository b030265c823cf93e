/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c – other network namespaces: new and empty ones, and one outside that has a link to the
 * canary, entered by path, by descriptor, by a process. Hooks on the cgroup follow into them, what
 * is in the sandbox's own namespace does not.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/battery/attempt.h"
#include "tests/battery/packets.h"

enum foreign_then {
	THEN_TCP,
	THEN_TCP6,
	THEN_UDP,
	THEN_UDP_CONNECTED,
	THEN_RAW,
	THEN_PACKET,
	THEN_LITE,
	THEN_TFO,
	THEN_METADATA,
	THEN_DNS
};

static void foreign_packet(const struct arena *a)
{
	int sock = needs(socket(AF_PACKET, SOCK_DGRAM, 0), "socket");
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_halen = 6,
		.sll_addr = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	uint8_t out[256];
	size_t n = packet_ipv4(out, IPPROTO_UDP, a->scene->own4, a->v4, a);

	to.sll_ifindex =
		needs(if_nametoindex(a->scene->device) ? (int)if_nametoindex(a->scene->device) : -1,
			"the link");
	(void)tries(sendto(sock, out, n, 0, (struct sockaddr *)&to, sizeof(to)), "sendto");
	sent();
}

static void foreign_raw(const struct arena *a)
{
	struct address to = address4(a->v4, 0);
	int sock = needs(socket(AF_INET, SOCK_RAW, IPPROTO_UDP), "socket");
	uint8_t out[256];
	size_t n = packet_udp(out, 4000, a);

	(void)tries(sendto(sock, out, n, 0, &to.any, to.n), "sendto");
	sent();
}

static void foreign_try(enum foreign_then then, const struct arena *a)
{
	struct address to = here4(a);
	int sock;

	switch (then) {
	case THEN_TCP:
		dial(tcp(AF_INET), &to, a);
	case THEN_TCP6:
		to = here6(a);
		dial(tcp(AF_INET6), &to, a);
	case THEN_METADATA:
		to = address_text("169.254.169.254", a->port);
		dial(tcp(AF_INET), &to, a);
	case THEN_UDP:
	case THEN_DNS:
		throw(udp(AF_INET), &to, a);
	case THEN_UDP_CONNECTED:
		sock = udp(AF_INET);
		(void)tries(connect(sock, &to.any, to.n), "connect");
		push(sock, a);
	case THEN_LITE:
		throw(tries(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE), "socket"), &to, a);
	case THEN_TFO:
		(void)tries(sendto(tcp(AF_INET), a->token, strlen(a->token),
				    MSG_FASTOPEN | MSG_NOSIGNAL, &to.any, to.n),
			"sendto");
		sent();
	case THEN_RAW:
		foreign_raw(a);
		break;
	case THEN_PACKET:
		foreign_packet(a);
		break;
	}
	report(SAID_BROKEN, EINVAL, "argument");
}

static void foreign_nested(const struct arena *a)
{
	(void)needs(unshare(CLONE_NEWNET), "a namespace");
	foreign_try((enum foreign_then)a->arg, a);
}

/* … of an unprivileged user: root of its own namespaces, with NET_ADMIN and NET_RAW in them. */
static void foreign_nested_user(const struct arena *a)
{
	(void)needs(unshare(CLONE_NEWUSER | CLONE_NEWNET), "namespaces");
	foreign_try((enum foreign_then)a->arg, a);
}

/* A socket made before stays where it was made. */
static void foreign_kept(const struct arena *a)
{
	struct address to = here4(a);
	int sock = a->arg == THEN_TCP ? tcp(AF_INET) : udp(AF_INET);

	(void)needs(unshare(CLONE_NEWNET), "a namespace");
	if (a->arg == THEN_TCP)
		dial(sock, &to, a);
	throw(sock, &to, a);
}

static void foreign_enter(const struct arena *a)
{
	int ns = needs(open(a->scene->outer, O_RDONLY), "the namespace's file");

	(void)needs(setns(ns, CLONE_NEWNET), "setns");
	foreign_try((enum foreign_then)a->arg, a);
}

static void foreign_enter_process(const struct arena *a)
{
	int process = needs(syscall(SYS_pidfd_open, a->scene->outsider, 0), "pidfd_open");

	(void)needs(setns(process, CLONE_NEWNET), "setns");
	foreign_try((enum foreign_then)a->arg, a);
}

/* Out of the cgroup and into the other namespace: no hook and no table of ours is left. */
static void foreign_enter_and_move(const struct arena *a)
{
	int ns = needs(open(a->scene->outer, O_RDONLY), "the namespace's file");
	char path[512];
	int r;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", a->scene->cgroups);
	r = write_text(path, "0");
	needs_code(r < 0 ? -r : 0, "move to the root cgroup");
	(void)needs(setns(ns, CLONE_NEWNET), "setns");
	foreign_try((enum foreign_then)a->arg, a);
}

/* A socket made outside of the sandbox's namespace, used in it. */
static void foreign_brought_back(const struct arena *a)
{
	int here = needs(open("/proc/self/ns/net", O_RDONLY), "the own namespace");
	int ns = needs(open(a->scene->outer, O_RDONLY), "the namespace's file"), sock;
	struct address to = here4(a);

	(void)needs(setns(ns, CLONE_NEWNET), "setns");
	sock = a->arg == THEN_TCP ? tcp(AF_INET) : udp(AF_INET);
	(void)needs(setns(here, CLONE_NEWNET), "setns back");
	if (a->arg == THEN_TCP)
		dial(sock, &to, a);
	throw(sock, &to, a);
}

static const struct attempt foreign_rows[] = {
	{"nested-tcp", "nested netns", foreign_nested, THEN_TCP},
	{"nested-udp", "nested netns", foreign_nested, THEN_UDP},
	{"nested-user-tcp", "nested netns", foreign_nested_user, THEN_TCP},
	{"nested-user-udp", "nested netns", foreign_nested_user, THEN_UDP},
	{"nested-user-raw", "nested netns", foreign_nested_user, THEN_RAW},
	{"nested-kept-tcp", "nested netns", foreign_kept, THEN_TCP},
	{"nested-kept-udp", "nested netns", foreign_kept, THEN_UDP},
	{"setns-tcp", "foreign netns", foreign_enter, THEN_TCP},
	{"setns-tcp6", "foreign netns", foreign_enter, THEN_TCP6},
	{"setns-tfo", "foreign netns", foreign_enter, THEN_TFO},
	{"setns-metadata", "foreign netns", foreign_enter, THEN_METADATA},
	{"setns-udp", "foreign netns", foreign_enter, THEN_UDP},
	{"setns-udp-connected", "foreign netns", foreign_enter, THEN_UDP_CONNECTED},
	{"setns-udp-dns", "foreign netns", foreign_enter, THEN_DNS, 0, 53},
	{"setns-udp-lite", "foreign netns", foreign_enter, THEN_LITE},
	{"setns-raw", "foreign netns", foreign_enter, THEN_RAW},
	{"setns-packet", "foreign netns", foreign_enter, THEN_PACKET},
	{"setns-pidfd", "foreign netns", foreign_enter_process, THEN_TCP},
	{"setns-brought-back-tcp", "foreign netns", foreign_brought_back, THEN_TCP},
	{"setns-brought-back-udp", "foreign netns", foreign_brought_back, THEN_UDP},
	{"setns-root-cgroup-tcp", "foreign netns", foreign_enter_and_move, THEN_TCP},
	{"setns-root-cgroup-udp", "foreign netns", foreign_enter_and_move, THEN_UDP},
};

const struct attempt_list foreign_list = ATTEMPTS(foreign_rows);
