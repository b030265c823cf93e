/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroups.c – out of the reach of the hooks on the sandbox's cgroup: a process that moves, a child
 * that is born elsewhere, and strangers, which are in the netns and never were in the cgroup.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/battery/attempt.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static void cgroups_move(const char *directory)
{
	char path[512];
	int r;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	r = write_text(path, "0");
	needs_code(r < 0 ? -r : 0, "move to a cgroup");
}

/* arg of what follows: what to try then */
enum {
	CGROUPS_TCP,
	CGROUPS_UDP,
	CGROUPS_UDP_CONNECTED,
	CGROUPS_METADATA,
	CGROUPS_TFO,
	CGROUPS_DEVICE,
	CGROUPS_UDP_DEVICE,
	CGROUPS_TCP6,
	CGROUPS_UDP6,
	CGROUPS_MAPPED,
	CGROUPS_MPTCP,
	CGROUPS_UDP_METADATA,
	CGROUPS_LITE,
	CGROUPS_MULTICAST,
	CGROUPS_UDP_DNS,
	CGROUPS_PRIVATE_NAT64
};

static void cgroups_device(int sock, const struct arena *a)
{
	const char *device = a->scene->device;

	(void)device_index(a);
	option(sock, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device),
		"SO_BINDTODEVICE");
}

static void cgroups_try(const struct arena *a)
{
	struct address to = here4(a);
	int sock;

	switch (a->arg) {
	case CGROUPS_TCP:
		dial(tcp(AF_INET), &to, a);
	case CGROUPS_UDP:
	case CGROUPS_UDP_DNS:
		throw(udp(AF_INET), &to, a);
	case CGROUPS_UDP_CONNECTED:
		sock = udp(AF_INET);
		(void)tries(connect(sock, &to.any, to.n), "connect");
		push(sock, a);
	case CGROUPS_METADATA:
		to = address_text("169.254.169.254", a->port);
		dial(tcp(AF_INET), &to, a);
	case CGROUPS_UDP_METADATA:
		to = address_text("169.254.169.254", a->port);
		throw(udp(AF_INET), &to, a);
	case CGROUPS_PRIVATE_NAT64:
		to = address_form(FORM_NAT64, (struct in_addr){inet_addr("10.77.0.1")}, a->port);
		dial(tcp(AF_INET6), &to, a);
	case CGROUPS_TFO:
		(void)tries(sendto(tcp(AF_INET), a->token, strlen(a->token),
				    MSG_FASTOPEN | MSG_NOSIGNAL, &to.any, to.n),
			"sendto");
		sent();
	case CGROUPS_DEVICE:
		sock = tcp(AF_INET);
		cgroups_device(sock, a);
		dial(sock, &to, a);
	case CGROUPS_UDP_DEVICE:
		sock = udp(AF_INET);
		cgroups_device(sock, a);
		throw(sock, &to, a);
	case CGROUPS_TCP6:
		to = here6(a);
		dial(tcp(AF_INET6), &to, a);
	case CGROUPS_UDP6:
		to = here6(a);
		throw(udp(AF_INET6), &to, a);
	case CGROUPS_MAPPED:
		to = address_form(FORM_MAPPED, a->v4, a->port);
		dial(tcp(AF_INET6), &to, a);
	case CGROUPS_MPTCP:
		dial(needs(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), "socket of MPTCP"), &to, a);
	case CGROUPS_LITE:
		throw(needs(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE), "socket of UDP-Lite"),
			&to, a);
	case CGROUPS_MULTICAST:
		to = address_text("239.7.7.7", a->port);
		throw(udp(AF_INET), &to, a);
	}
	report(SAID_BROKEN, EINVAL, "argument");
}

static void cgroups_root(const struct arena *a)
{
	cgroups_move(a->scene->cgroups);
	cgroups_try(a);
}

/* A directory beside the sandbox's. Removed by whoever made it, once nobody is in it. */
static void cgroups_sibling(const struct arena *a)
{
	char path[512];
	pid_t child;

	(void)snprintf(path, sizeof(path), "%s/escape-%d", a->scene->cgroups, (int)getpid());
	(void)needs(mkdir(path, 0755), "a sibling cgroup");
	child = fork_tied();
	if (child == 0) {
		cgroups_move(path);
		cgroups_try(a);
	}
	child_ends(child);
	(void)rmdir(path);
	child_reports(child);
}

/* Inside the sandbox's own directory. */
static void cgroups_nested(const struct arena *a)
{
	char path[512];
	pid_t child;

	(void)snprintf(path, sizeof(path), "%s/nested-%s", a->scene->cgroup, a->attempt->name);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		(void)needs(-1, "a nested cgroup");
	child = fork_tied();
	if (child == 0) {
		cgroups_move(path);
		cgroups_try(a);
	}
	child_ends(child);
	(void)rmdir(path);
	child_reports(child);
}

/* A child that starts its life in the root cgroup. */
static void cgroups_born_elsewhere(const struct arena *a)
{
	int directory = needs(open(a->scene->cgroups, O_RDONLY | O_DIRECTORY), "the cgroup tree");
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)directory};
	pid_t child = needs(syscall(SYS_clone3, &args, sizeof(args)), "CLONE_INTO_CGROUP");

	if (child == 0)
		cgroups_try(a);
	child_reports(child);
}

/* A mount of the tree of its own, for where the runtime's is read-only. */
static void cgroups_mounted_anew(const struct arena *a)
{
	char point[512];

	(void)needs(unshare(CLONE_NEWNS), "a mount namespace");
	(void)needs(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	(void)snprintf(point, sizeof(point), "%s/cgroup2-%s", a->scene->scratch, a->attempt->name);
	if (mkdir(point, 0755) < 0 && errno != EEXIST)
		(void)needs(-1, "a mount point");
	(void)needs(mount("none", point, "cgroup2", 0, NULL), "cgroup2");
	cgroups_move(point);
	cgroups_try(a);
}

static void cgroups_namespace(const struct arena *a)
{
	(void)needs(unshare(CLONE_NEWCGROUP), "a cgroup namespace");
	cgroups_try(a);
}

/* A socket made outside, used inside, and the other way round: hooks go by the socket's cgroup. */
static void cgroups_back(const struct arena *a)
{
	struct address to = here4(a);
	int sock;

	cgroups_move(a->scene->cgroups);
	sock = a->arg == CGROUPS_TCP ? tcp(AF_INET) : udp(AF_INET);
	cgroups_move(a->scene->cgroup);
	if (a->arg == CGROUPS_TCP)
		dial(sock, &to, a);
	throw(sock, &to, a);
}

static const struct attempt cgroups_rows[] = {
	{"cgroup-root-tcp", "cgroup", cgroups_root, CGROUPS_TCP},
	{"cgroup-root-tcp6", "cgroup", cgroups_root, CGROUPS_TCP6},
	{"cgroup-root-udp", "cgroup", cgroups_root, CGROUPS_UDP},
	{"cgroup-root-udp-connected", "cgroup", cgroups_root, CGROUPS_UDP_CONNECTED},
	{"cgroup-root-metadata", "cgroup", cgroups_root, CGROUPS_METADATA},
	{"cgroup-root-device", "cgroup", cgroups_root, CGROUPS_DEVICE},
	{"cgroup-sibling", "cgroup", cgroups_sibling, CGROUPS_TCP},
	{"cgroup-nested", "cgroup", cgroups_nested, CGROUPS_TCP},
	{"cgroup-nested-udp", "cgroup", cgroups_nested, CGROUPS_UDP},
	{"cgroup-born-elsewhere", "cgroup", cgroups_born_elsewhere, CGROUPS_TCP},
	{"cgroup-born-elsewhere-udp", "cgroup", cgroups_born_elsewhere, CGROUPS_UDP},
	{"cgroup-mounted-anew", "cgroup", cgroups_mounted_anew, CGROUPS_TCP},
	{"cgroup-namespace", "cgroup", cgroups_namespace, CGROUPS_TCP},
	{"cgroup-socket-from-root", "cgroup", cgroups_back, CGROUPS_TCP},
	{"cgroup-socket-from-root-udp", "cgroup", cgroups_back, CGROUPS_UDP},
	{"stranger-tcp", "stranger", cgroups_try, CGROUPS_TCP, ATTEMPT_STRANGER},
	{"stranger-tcp6", "stranger", cgroups_try, CGROUPS_TCP6, ATTEMPT_STRANGER},
	{"stranger-tcp-mapped", "stranger", cgroups_try, CGROUPS_MAPPED, ATTEMPT_STRANGER},
	{"stranger-tfo", "stranger", cgroups_try, CGROUPS_TFO, ATTEMPT_STRANGER},
	{"stranger-mptcp", "stranger", cgroups_try, CGROUPS_MPTCP, ATTEMPT_STRANGER},
	{"stranger-device", "stranger", cgroups_try, CGROUPS_DEVICE, ATTEMPT_STRANGER},
	{"stranger-metadata", "stranger", cgroups_try, CGROUPS_METADATA, ATTEMPT_STRANGER},
	{"stranger-private-nat64", "stranger", cgroups_try, CGROUPS_PRIVATE_NAT64,
		ATTEMPT_STRANGER},
	{"stranger-udp", "stranger", cgroups_try, CGROUPS_UDP, ATTEMPT_STRANGER},
	{"stranger-udp6", "stranger", cgroups_try, CGROUPS_UDP6, ATTEMPT_STRANGER},
	{"stranger-udp-connected", "stranger", cgroups_try, CGROUPS_UDP_CONNECTED,
		ATTEMPT_STRANGER},
	{"stranger-udp-device", "stranger", cgroups_try, CGROUPS_UDP_DEVICE, ATTEMPT_STRANGER},
	{"stranger-udp-metadata", "stranger", cgroups_try, CGROUPS_UDP_METADATA, ATTEMPT_STRANGER},
	{"stranger-udp-lite", "stranger", cgroups_try, CGROUPS_LITE, ATTEMPT_STRANGER},
	{"stranger-multicast", "stranger", cgroups_try, CGROUPS_MULTICAST, ATTEMPT_STRANGER},
	{"stranger-udp-dns-port", "stranger", cgroups_try, CGROUPS_UDP_DNS, ATTEMPT_STRANGER, 53},
	{"stranger-tcp-dot-port", "stranger", cgroups_try, CGROUPS_TCP, ATTEMPT_STRANGER, 853},
};

const struct attempt_list cgroups_list = ATTEMPTS(cgroups_rows);
