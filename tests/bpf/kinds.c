/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c – the ways out that are no connect() to an address: sockets of other kinds, sockets in the
 * file system, packets told to leave by a device. See battery.h. */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "tests/bpf/battery.h"

enum {
	KINDS_MPTCP = 262,
	KINDS_UDPLITE = 136,
	KINDS_SCTP = 132,
	KINDS_DCCP = 33,
	KINDS_L2TP = 115
};

static const struct kind {
	const char *name;
	int type, protocol;
	bool passes;
} kinds[] = {
	{"TCP", SOCK_STREAM, 0, true},
	{"TCP by name", SOCK_STREAM, IPPROTO_TCP, true},
	{"UDP", SOCK_DGRAM, 0, true},
	{"UDP by name", SOCK_DGRAM, IPPROTO_UDP, true},
	{"MPTCP", SOCK_STREAM, KINDS_MPTCP, false},
	{"SCTP", SOCK_STREAM, KINDS_SCTP, false},
	{"SCTP packets", SOCK_SEQPACKET, KINDS_SCTP, false},
	{"DCCP", SOCK_DCCP, KINDS_DCCP, false},
	{"UDP-Lite", SOCK_DGRAM, KINDS_UDPLITE, false},
	{"L2TP", SOCK_DGRAM, KINDS_L2TP, false},
	{"ping", SOCK_DGRAM, IPPROTO_ICMP, false},
	{"ping6", SOCK_DGRAM, IPPROTO_ICMPV6, false},
	{"raw ICMP", SOCK_RAW, IPPROTO_ICMP, false},
	{"raw UDP", SOCK_RAW, IPPROTO_UDP, false},
	{"raw TCP", SOCK_RAW, IPPROTO_TCP, false},
	{"raw", SOCK_RAW, IPPROTO_RAW, false},
};

static bool kinds_recorded(const struct battery *b, int protocol, pid_t pid)
{
	struct capture_refusal_key key = {.netns = b->w.cookie,
		.dport = (uint16_t)protocol,
		.proto = protocol < 256 ? (uint8_t)protocol : 0};
	struct capture_refusal r;

	return bpf_map_lookup_elem(b->refusals, &key, &r) == 0 && r.reason == CAPTURE_PROTOCOL &&
	       r.error == EPROTONOSUPPORT && r.client.tgid == (uint32_t)pid;
}

static void kinds_check(struct battery *b, const struct kind *k, int family)
{
	struct attempt a = {
		.op = CLIENT_SOCKET, .family = family, .type = k->type, .protocol = k->protocol};
	int kernel = client_try(&b->outside, &a).error; /* what there is without us */
	struct capture_verdicts old = battery_counters(b, b->w.cookie), new;
	struct capture_verdicts old0 = battery_counters(b, 0), new0;
	int error = client_try(&b->inside, &a).error, foreign;
	const char *v = family == AF_INET ? "IPv4" : "IPv6";
	bool ok;

	new = battery_counters(b, b->w.cookie);
	if (kernel != 0) {
		battery_report(b, error == kernel, "%s %s: this kernel has none", v, k->name);
		return;
	}
	foreign = client_try(&b->foreign, &a).error;
	new0 = battery_counters(b, 0);
	ok = k->passes ? error == 0 && new.protocol == old.protocol
		       : error == EPROTONOSUPPORT &&new.protocol == old.protocol + 1 &&
				 kinds_recorded(b, k->protocol, b->inside.pid);
	battery_report(b, ok, "%s %s: errno %d", v, k->name, error);
	battery_report(b, foreign == error && new0.protocol - old0.protocol == !k->passes,
		"%s %s in a foreign netns: errno %d", v, k->name, foreign);
}

void battery_check_kinds(struct battery *b)
{
	battery_fresh_second();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		kinds_check(b, &kinds[i], AF_INET);
		kinds_check(b, &kinds[i], AF_INET6);
	}
}

/* ---- unix sockets
 * ------------------------------------------------------------------------------------------------------
 */

static struct attempt kinds_unix(enum client_op op, const char *path)
{
	struct attempt a = {.op = op};

	(void)snprintf(a.text, sizeof(a.text), "%s", path);
	return a;
}

/* A sun_path without a NUL, as long as it can be. */
static struct attempt kinds_unix_long(enum client_op op, const char *prefix)
{
	struct attempt a = {.op = op, .length = WORLD_TEXT};

	memset(a.text, 'a', sizeof(a.text));
	memcpy(a.text, prefix, strlen(prefix));
	return a;
}

/* A socket of the outside, in the file system. */
static int kinds_canary(int type)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = BATTERY_CANARY};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)unlink(BATTERY_CANARY); /* of the other type */
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
		(type == SOCK_STREAM && listen(fd, 4) < 0))
		world_die(BATTERY_CANARY);
	return fd;
}

static bool kinds_heard(int canary)
{
	struct pollfd p = {.fd = canary, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

struct kinds_seen {
	const struct battery *b;
	unsigned n;
};

static int kinds_event(void *arg, void *data, size_t n)
{
	struct kinds_seen *seen = arg;
	const struct capture_unix_refusal *u = data;

	if (n >= sizeof(*u) && u->refusal.reason == CAPTURE_UNIX &&
		u->refusal.netns == seen->b->w.cookie &&
		u->refusal.client.tgid == (uint32_t)seen->b->inside.pid &&
		strcmp(u->path, BATTERY_CANARY) == 0)
		seen->n++;
	return 0;
}

/* The refusal of the canary is on record by the end of its path, and its event has the whole. */
static void kinds_check_event(struct battery *b)
{
	struct attempt a = kinds_unix(CLIENT_UNIX_CONNECT, BATTERY_CANARY);
	struct capture_refusal_key key = {.netns = b->w.cookie};
	struct kinds_seen seen = {b, 0};
	struct capture_refusal r = {.ns = 0};
	struct ring_buffer *ring;
	int maps[PROGRAMS_SHARED];

	static_assert(sizeof(BATTERY_CANARY) > 17, "longer than what the key holds");
	memcpy(key.dst, BATTERY_CANARY + sizeof(BATTERY_CANARY) - 17, 16);
	programs_shared_fds(b->programs, maps);
	ring = ring_buffer__new(maps[0], kinds_event, &seen, NULL);
	if (!ring)
		world_die("ring buffer");
	battery_fresh_second();
	(void)client_try(&b->inside, &a);
	(void)ring_buffer__consume(ring);
	ring_buffer__free(ring);
	(void)bpf_map_lookup_elem(b->refusals, &key, &r);
	battery_report(b, seen.n >= 1, "the event of a unix refusal has the path: %u", seen.n);
	battery_report(b,
		r.reason == CAPTURE_UNIX && r.error == EACCES &&
			r.client.tgid == (uint32_t)b->inside.pid,
		"the record of a unix refusal: reason %u", r.reason);
}

static void kinds_check_unix(
	struct battery *b, const char *name, const struct attempt *a, int expected)
{
	struct capture_verdicts old = battery_counters(b, b->w.cookie), new;
	int error = client_try(&b->inside, a).error;

	new = battery_counters(b, b->w.cookie);
	battery_report(b,
		error == expected && new.unix_path - old.unix_path == (expected == EACCES),
		"unix %s %s: errno %d", a->op == CLIENT_UNIX_CONNECT ? "connect" : "sendto", name,
		error);
}

/* Whether the kernel has the hooks, asked without the product's code. */
static bool kinds_unix_hooks(void)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)49);
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "hooks",
		"Dual BSD/GPL", pass, ARRAY_SIZE(pass), &opts);

	return fd >= 0;
}

static bool kinds_no_unix(struct battery *b)
{
	const struct programs_lack *lack = programs_missing(b->programs, 0);

	if (!lack)
		return false;
	battery_report(b,
		!kinds_unix_hooks() && strcmp(lack->feature, "unix-paths") == 0 && lack->remedy[0],
		"no unix hooks here: %s", lack->reason);
	return true;
}

/* What glibc asks all the time: refused and counted, not on record. */
static void kinds_check_nscd(struct battery *b)
{
	struct attempt a = kinds_unix(CLIENT_UNIX_CONNECT, "/var/run/nscd/socket");
	struct capture_verdicts old = battery_counters(b, b->w.cookie), new;
	struct capture_refusal_key key = {.netns = b->w.cookie};
	struct capture_refusal r;

	memcpy(key.dst, "/run/nscd/socket", 16);
	kinds_check_unix(b, "to nscd", &a, EACCES);
	new = battery_counters(b, b->w.cookie);
	battery_report(b,
		new.suppressed == old.suppressed + 1 &&
			bpf_map_lookup_elem(b->refusals, &key, &r) == -ENOENT,
		"to nscd: counted as suppressed, not on record");
}

void battery_check_unix(struct battery *b)
{
	static const struct {
		const char *path;
		int error;
	} tries[] = {
		{"/tmp/sallyport-nobody", ENOENT},
		{"/var/tmp/sallyport-nobody", ENOENT},
		{"/dev/shm/sallyport-nobody", ENOENT},
		{"/home/sallyport-nobody", ENOENT},
		{"/root/sallyport-nobody", ENOENT},
		{"/tmp/..sallyport", ENOENT},
		{"/tmp/sallyport..", ENOENT},
		{"/tmp/.sallyport", ENOENT},
		{"/run/sallyport-nobody", EACCES},
		{"/var/run/docker.sock", EACCES},
		{"/tmpx", EACCES},
		{"/tmp", EACCES},
		{"/", EACCES},
		{"tmp/x", EACCES},
		{"./x", EACCES},
		{"/tmp/../run/x", EACCES},
		{"/tmp/..", EACCES},
		{"/tmp/./x", EACCES},
		{"/tmp//x", EACCES},
		{"//tmp/x", EACCES},
		{"/tmp/x/..", EACCES},
		{"/tmp/x/.", EACCES},
	};
	static const enum client_op ops[] = {CLIENT_UNIX_CONNECT, CLIENT_UNIX_SENDTO};
	struct attempt abstract = {.op = CLIENT_UNIX_CONNECT, .text = "\0sallyport", .length = 10};

	if (kinds_no_unix(b))
		return;
	for (size_t k = 0; k < ARRAY_SIZE(ops); k++) {
		_cleanup_close_ int canary = kinds_canary(k ? SOCK_DGRAM : SOCK_STREAM);
		struct attempt a;

		battery_fresh_second();
		for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
			a = kinds_unix(ops[k], tries[i].path);
			kinds_check_unix(b, tries[i].path, &a, tries[i].error);
		}
		a = kinds_unix_long(ops[k], "/tmp/");
		kinds_check_unix(b, "108 bytes below /tmp", &a, ENOENT);
		a = kinds_unix_long(ops[k], "/run/");
		kinds_check_unix(b, "108 bytes below /run", &a, EACCES);
		a = kinds_unix(ops[k], BATTERY_CANARY);
		kinds_check_unix(b, "to the canary", &a, EACCES);
		battery_report(b, !kinds_heard(canary), "the canary heard nothing");
		battery_report(b, client_try(&b->outside, &a).error == 0 && kinds_heard(canary),
			"control: from outside the cgroup the canary hears it");
		a = kinds_unix(ops[k], "/run/x");
		battery_report(b, client_try(&b->foreign, &a).error == EACCES,
			"in a foreign netns the default holds: refused");
		a = kinds_unix(ops[k], "/tmp/sallyport-nobody");
		battery_report(b, client_try(&b->foreign, &a).error == ENOENT,
			"in a foreign netns the default holds: allowed");
	}
	kinds_check_unix(b, "abstract", &abstract, ECONNREFUSED);
	kinds_check_nscd(b);
	kinds_check_event(b);
}

void battery_check_own_unix(struct battery *b)
{
	_cleanup_close_ int canary = kinds_canary(SOCK_STREAM);
	struct attempt a = kinds_unix(CLIENT_UNIX_CONNECT, BATTERY_CANARY);

	if (kinds_no_unix(b))
		return;
	kinds_check_unix(b, "a path that is allowed alone", &a, 0);
	battery_report(b, kinds_heard(canary), "the canary heard it");
	a = kinds_unix(CLIENT_UNIX_CONNECT, BATTERY_CANARY "x");
	kinds_check_unix(b, "what begins like it", &a, EACCES);
	a = kinds_unix(CLIENT_UNIX_CONNECT, WORLD_FILES "/canary.soc");
	kinds_check_unix(b, "what it begins like", &a, EACCES);
	a = kinds_unix(CLIENT_UNIX_CONNECT, "/tmp/sallyport-nobody");
	kinds_check_unix(b, "the default list, which does not hold now", &a, EACCES);
	a = kinds_unix(CLIENT_UNIX_CONNECT, "/run/sallyport/nobody");
	kinds_check_unix(b, "below a prefix", &a, ENOENT);
}

/* ---- packets
 * ------------------------------------------------------------------------------------------------------
 */

/* Sees every frame that comes in by v1. */
static int kinds_watch(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex("v1")};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_IP));

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		world_die("watching v1");
	return fd;
}

static unsigned kinds_frames(int watch)
{
	char frame[256];
	unsigned n = 0;
	struct pollfd p = {.fd = watch, .events = POLLIN};

	while (poll(&p, 1, 50) > 0 && recv(watch, frame, sizeof(frame), 0) > 0)
		n += memmem(frame, sizeof(frame), "question", 8) != NULL;
	return n;
}

/* A question to port 53 passes every other hook; the socket's device beats the route to lo. */
void battery_check_egress(struct battery *b, bool sealed)
{
	_cleanup_close_ int watch = kinds_watch();
	struct attempt a = battery_to(CLIENT_SENDTO_BY, "198.51.100.2", 53);
	struct capture_verdicts old = battery_counters(b, b->w.cookie), new;
	unsigned frames;
	int error;

	(void)snprintf(a.text, sizeof(a.text), "v0");
	error = client_try(&b->inside, &a).error;
	frames = kinds_frames(watch);
	new = battery_counters(b, b->w.cookie);
	battery_report(b,
		sealed ? error == EPERM && frames == 0 && new.egress == old.egress + 1
		       : error == 0 && frames == 1 && new.egress == old.egress,
		"by a device, %s: errno %d, %u frames, egress %llu", sealed ? "sealed" : "uplink",
		error, frames, (unsigned long long)(new.egress - old.egress));
	if (!sealed)
		return;
	error = client_try(&b->outside, &a).error;
	frames = kinds_frames(watch);
	battery_report(b, error == 0 && frames == 1,
		"control: from outside the cgroup the wire sees it: %u frames", frames);
}
