/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.c – root inside: links, routes, rules, tables and programs changed, then tried. These run
 * last, one after the other, and what one of them breaks stays broken for the next: from a route of
 * its own to a namespace in which nothing of ours is left.
 *
 * A step is a shell script (iproute2, nftables), with the scene in its environment. Only what is in
 * this namespace and on this cgroup is touched.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/battery/attempt.h"

enum links_step {
	STEP_ADD_VETH,
	STEP_ADD_MACVLAN,
	STEP_ADD_VXLAN,
	STEP_ROUTE,
	STEP_ROUTE6,
	STEP_SEGMENTS,
	STEP_RULE,
	STEP_RULE6,
	STEP_MIRRED,
	STEP_FORWARD,
	STEP_DNAT,
	STEP_NO_DEFAULT,
	STEP_FLUSH_NFT,
	STEP_FLUSH_RULES,
	STEP_FLUSH_ROUTES,
	STEP_NOTHING
};

static const char *const links_scripts[] = {
	/* a wire into the namespace outside, which then forwards */
	[STEP_ADD_VETH] = "ip link del esc0 2>/dev/null; ip link add esc0 type veth peer name esc1 "
			  "netns $OUTSIDER &&"
			  "ip addr add 100.64.9.2/30 dev esc0 && ip link set esc0 up &&"
			  "nsenter --net=$OUTER ip addr add 100.64.9.1/30 dev esc1 &&"
			  "nsenter --net=$OUTER ip link set esc1 up &&"
			  "nsenter --net=$OUTER sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' &&"
			  "ip route replace $V4 via 100.64.9.1 dev esc0 src 100.64.9.2 table local",
	[STEP_ADD_MACVLAN] =
		"ip link add link $DEV name esc2 type macvlan mode bridge &&"
		"ip link set esc2 up && ip neigh replace $PEER4 lladdr $PEER_MAC dev esc2 &&"
		"ip route replace $V4 via $PEER4 dev esc2 onlink src $OWN4 table local",
	[STEP_ADD_VXLAN] = "ip link add esc3 type vxlan id 7 remote $PEER4 dstport 4789 dev $DEV &&"
			   "ip addr add 10.99.9.1/24 dev esc3 && ip link set esc3 up &&"
			   "ip neigh replace 10.99.9.2 lladdr $PEER_MAC dev esc3 &&"
			   "ip route replace $V4 via 10.99.9.2 dev esc3 src $OWN4 table local",
	[STEP_ROUTE] = "ip route replace $V4 via $PEER4 dev $DEV src $OWN4 table local",
	[STEP_ROUTE6] = "ip -6 route replace $V6 via $PEER6 dev $DEV src $OWN6 table local",
	[STEP_SEGMENTS] =
		"ip -6 route replace $V6 encap seg6 mode encap segs $PEER6 dev $DEV table local",
	[STEP_RULE] = "ip rule add pref 0 to $V4 lookup main",
	[STEP_RULE6] = "ip -6 rule add pref 0 to $V6 lookup main",
	[STEP_MIRRED] = "tc qdisc replace dev lo clsact &&"
			"tc filter add dev lo egress u32 match u32 0 0 action mirred egress "
			"redirect dev $DEV",
	[STEP_FORWARD] = "tc qdisc del dev lo clsact 2>/dev/null;"
			 "nft 'table netdev esc { chain c { type filter hook ingress device lo "
			 "priority -500;"
			 " ip daddr '$V4' fwd to '$DEV'; }; }'",
	[STEP_DNAT] = "echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet;"
		      "nft 'table ip esc { chain c { type nat hook output priority -100;"
		      " ip daddr 127.0.0.77 dnat to '$V4'; };"
		      " chain d { type nat hook postrouting priority 100; ip daddr '$V4' "
		      "masquerade; }; }'",
	[STEP_NO_DEFAULT] =
		"ip route del local default table local; ip -6 route del local ::/0 table local;"
		"ip route replace default via $PEER4 dev $DEV src $OWN4",
	[STEP_FLUSH_NFT] = "tc qdisc del dev lo clsact 2>/dev/null; nft flush ruleset",
	[STEP_FLUSH_RULES] =
		"ip rule add pref 1 lookup main && ip -6 rule add pref 1 lookup main &&"
		"ip rule del pref 0; ip -6 rule del pref 0",
	[STEP_FLUSH_ROUTES] = "ip route flush table local; ip -6 route flush table local",
	[STEP_NOTHING] = "true",
};

static void links_environment(const struct arena *a)
{
	const struct scene *s = a->scene;
	char text[INET6_ADDRSTRLEN], mac[32], pid[16];
	const struct {
		const char *name;
		int family;
		const void *ip;
	} rows[] = {{"V4", AF_INET, &a->v4}, {"V6", AF_INET6, &a->v6}, {"OWN4", AF_INET, &s->own4},
		{"OWN6", AF_INET6, &s->own6}, {"PEER4", AF_INET, &s->peer4},
		{"PEER6", AF_INET6, &s->peer6}};
	const uint8_t *m = s->peer_mac;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		(void)setenv(
			rows[i].name, inet_ntop(rows[i].family, rows[i].ip, text, sizeof(text)), 1);
	(void)snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3],
		m[4], m[5]);
	(void)snprintf(pid, sizeof(pid), "%d", (int)s->outsider);
	(void)setenv("PEER_MAC", mac, 1);
	(void)setenv("DEV", s->device, 1);
	(void)setenv("OUTER", s->outer, 1);
	(void)setenv("OUTSIDER", pid, 1);
}

static void links_script(const struct arena *a, enum links_step step)
{
	int status = 0, quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t child;

	links_environment(a);
	child = fork_tied();
	if (child == 0) {
		(void)dup2(quiet, STDOUT_FILENO);
		(void)dup2(quiet, STDERR_FILENO);
		(void)execl("/bin/sh", "sh", "-c", links_scripts[step], NULL);
		_exit(127);
	}
	(void)needs(waitpid(child, &status, 0), "wait");
	needs_code(status ? EPERM : 0, "the script");
}

/* ---- what is tried then ---- */

enum links_then {
	THEN_TCP,
	THEN_UDP,
	THEN_TCP6,
	THEN_UDP6,
	THEN_DEVICE,
	THEN_METADATA,
	THEN_MOVED,
	THEN_MOVED_UDP,
	THEN_MOVED_DEVICE,
	THEN_OWN_NAT,
	THEN_CONNECTED
};

static void links_device(int sock, const struct arena *a)
{
	const char *device = a->scene->device;

	(void)device_index(a);
	option(sock, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device),
		"SO_BINDTODEVICE");
}

static void links_move(const struct arena *a)
{
	char path[512];
	int r;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", a->scene->cgroups);
	r = write_text(path, "0");
	needs_code(r < 0 ? -r : 0, "move to the root cgroup");
}

/* One of these alone would wait until its deadline: a SYN that is not answered at once is not. */
static void links_dial(int sock, const struct address *to, const struct arena *a)
{
	const struct timeval wait = {
		.tv_sec = a->scene->patience / 2, .tv_usec = a->scene->patience % 2 * 500000};

	option(sock, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait), "SO_SNDTIMEO");
	if (connect(sock, &to->any, to->n) == 0)
		push(sock, a);
	if (errno == EINPROGRESS || errno == EAGAIN)
		report(SAID_NOTHING, errno, "connect");
	(void)tries(-1, "connect");
}

static void links_try(const struct arena *a, enum links_then then)
{
	struct address to = here4(a);
	int sock;

	if (then == THEN_MOVED || then == THEN_MOVED_UDP || then == THEN_MOVED_DEVICE)
		links_move(a);
	if (then == THEN_TCP6 || then == THEN_UDP6)
		to = here6(a);
	if (then == THEN_METADATA)
		to = address_text("169.254.169.254", a->port);
	if (then == THEN_OWN_NAT)
		to = address_text("127.0.0.77", a->port);
	switch (then) {
	case THEN_UDP:
	case THEN_UDP6:
	case THEN_MOVED_UDP:
	case THEN_OWN_NAT:
		throw(udp(to.any.sa_family), &to, a);
	case THEN_CONNECTED:
		sock = udp(AF_INET);
		(void)tries(connect(sock, &to.any, to.n), "connect");
		push(sock, a);
	case THEN_DEVICE:
	case THEN_MOVED_DEVICE:
		sock = udp(AF_INET);
		links_device(sock, a);
		throw(sock, &to, a);
	default:
		links_dial(tcp(to.any.sa_family), &to, a);
	}
	report(SAID_BROKEN, 0, "argument");
}

#define ARG(step, then) ((long)(step) << 8 | (then))

static void links_run(const struct arena *a)
{
	links_script(a, (enum links_step)(a->arg >> 8));
	links_try(a, (enum links_then)(a->arg & 255));
}

/* ---- the programs ---- */

static int links_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Detaches the link if it is on this cgroup or this namespace; others are none of ours. */
static bool links_detach(int fd, uint64_t cgroup, uint64_t netns)
{
	struct bpf_link_info info = {0};
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd,
				       .info_len = sizeof(info),
				       .info = (uint64_t)(uintptr_t)&info}};

	if (links_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) < 0)
		return false;
	if (!(info.type == BPF_LINK_TYPE_CGROUP && info.cgroup.cgroup_id == cgroup) &&
		!(info.type == BPF_LINK_TYPE_NETNS && info.netns.netns_ino == netns))
		return false;
	attr = (union bpf_attr){.link_detach = {.link_fd = (uint32_t)fd}};
	return links_bpf(BPF_LINK_DETACH, &attr) == 0;
}

static void links_no_programs(const struct arena *a)
{
	union bpf_attr attr = {0};
	struct stat cgroup, netns;
	int n = 0;

	(void)needs(stat(a->scene->cgroup, &cgroup), "the cgroup");
	(void)needs(stat("/proc/self/ns/net", &netns), "the namespace");
	while (links_bpf(BPF_LINK_GET_NEXT_ID, &attr) == 0) {
		uint32_t id = attr.next_id;
		union bpf_attr one = {.link_id = id};
		int fd = needs(links_bpf(BPF_LINK_GET_FD_BY_ID, &one), "a link's descriptor");

		n += links_detach(fd, cgroup.st_ino, netns.st_ino);
		(void)close(fd);
		attr = (union bpf_attr){.start_id = id};
	}
	if (errno == EPERM)
		(void)needs(-1, "bpf");
	if (*a->scene->id && n == 0)
		needs_code(ENOENT, "links of ours");
	links_try(a, (enum links_then)a->arg);
}

#define LAST ATTEMPT_SERIAL
static const struct attempt links_rows[] = {
	{"link-veth-udp", "link", links_run, ARG(STEP_ADD_VETH, THEN_UDP), LAST},
	{"link-veth-tcp", "link", links_run, ARG(STEP_ADD_VETH, THEN_TCP), LAST},
	{"link-veth-moved-udp", "link", links_run, ARG(STEP_ADD_VETH, THEN_MOVED_UDP), LAST},
	{"link-macvlan", "link", links_run, ARG(STEP_ADD_MACVLAN, THEN_UDP), LAST},
	{"link-vxlan", "link", links_run, ARG(STEP_ADD_VXLAN, THEN_UDP), LAST},
	{"route-own", "route", links_run, ARG(STEP_ROUTE, THEN_TCP), LAST},
	{"route-own-udp", "route", links_run, ARG(STEP_ROUTE, THEN_CONNECTED), LAST},
	{"route-own6", "route", links_run, ARG(STEP_ROUTE6, THEN_TCP6), LAST},
	{"route-segments", "route", links_run, ARG(STEP_SEGMENTS, THEN_UDP6), LAST},
	{"rule-own", "route", links_run, ARG(STEP_RULE, THEN_TCP), LAST},
	{"rule-own6", "route", links_run, ARG(STEP_RULE6, THEN_TCP6), LAST},
	{"tc-redirect", "table", links_run, ARG(STEP_MIRRED, THEN_CONNECTED), LAST},
	{"nft-forward", "table", links_run, ARG(STEP_FORWARD, THEN_CONNECTED), LAST},
	{"nft-own-nat", "table", links_run, ARG(STEP_DNAT, THEN_OWN_NAT), LAST},
	{"no-default-route", "route", links_run, ARG(STEP_NO_DEFAULT, THEN_TCP), LAST},
	{"no-default-route-udp", "route", links_run, ARG(STEP_NO_DEFAULT, THEN_CONNECTED), LAST},
	{"flushed-nft-tcp", "flush", links_run, ARG(STEP_FLUSH_NFT, THEN_TCP), LAST},
	{"flushed-nft-udp", "flush", links_run, ARG(STEP_FLUSH_NFT, THEN_CONNECTED), LAST},
	{"flushed-nft-device", "flush", links_run, ARG(STEP_FLUSH_NFT, THEN_DEVICE), LAST},
	{"flushed-nft-metadata", "flush", links_run, ARG(STEP_FLUSH_NFT, THEN_METADATA), LAST},
	{"flushed-nft-moved", "flush", links_run, ARG(STEP_FLUSH_NFT, THEN_MOVED), LAST},
	{"flushed-nft-moved-device", "flush", links_run, ARG(STEP_FLUSH_NFT, THEN_MOVED_DEVICE),
		LAST},
	{"flushed-rules-tcp", "flush", links_run, ARG(STEP_FLUSH_RULES, THEN_TCP), LAST},
	{"flushed-rules-udp", "flush", links_run, ARG(STEP_NOTHING, THEN_CONNECTED), LAST},
	{"flushed-rules-udp6", "flush", links_run, ARG(STEP_NOTHING, THEN_UDP6), LAST},
	{"flushed-routes-tcp", "flush", links_run, ARG(STEP_FLUSH_ROUTES, THEN_TCP), LAST},
	{"flushed-routes-udp", "flush", links_run, ARG(STEP_NOTHING, THEN_CONNECTED), LAST},
	{"flushed-routes-moved-udp", "flush", links_run, ARG(STEP_NOTHING, THEN_MOVED_UDP), LAST},
	{"no-programs-tcp", "flush", links_no_programs, THEN_TCP, LAST},
	{"nothing-left-udp", "flush", links_run, ARG(STEP_NOTHING, THEN_UDP), LAST},
	{"nothing-left-device", "flush", links_run, ARG(STEP_NOTHING, THEN_DEVICE), LAST},
	{"nothing-left-metadata", "flush", links_run, ARG(STEP_NOTHING, THEN_METADATA), LAST},
	{"nothing-left-veth", "link", links_run, ARG(STEP_ADD_VETH, THEN_UDP), LAST},
};

const struct attempt_list links_list = ATTEMPTS(links_rows);
