/* SPDX-License-Identifier: Apache-2.0 */
/*
 * battery.c – the real kernel programs, loaded by the helper's own code, on a scratch cgroup and
 * netns. Each row of the tables is one attempt by a real process: the errno it sees, the counter
 * that moves, the record that is left; of what passes, that it arrives at a listener with the
 * address that was asked for and the client's facts beside it. Prints "ok NAME" or "not ok NAME:
 * why" for each row; exits 1 if any is not ok.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "bpf/capture.h"
#include "netns-helper/programs.h"
#include "netns-helper/steer_program.h"
#include "tests/bpf/battery.h"
#include "tests/bpf/rows.h"

static const char *const reasons[] = {
#define X(name, field, error) #field,
	CAPTURE_REASONS(X)
#undef X
};

void battery_report(struct battery *b, bool ok, const char *format, ...)
{
	va_list ap;

	printf(ok ? "ok " : "not ok ");
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	printf("\n");
	ok ? b->passed++ : b->failed++;
}

void battery_need(struct fault *f, int r, const char *what)
{
	if (r < 0) {
		printf("not ok %s: %s\n", what, f->text);
		exit(1);
	}
}

/* ---- looking
 * ------------------------------------------------------------------------------------------------------
 */

static int wait_readable(const int *fds, size_t n)
{
	struct pollfd p[8];

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	if (poll(p, n, 2000) > 0)
		for (size_t i = 0; i < n; i++)
			if (p[i].revents)
				return fds[i];
	return -1;
}

static bool same(const struct addr *a, const struct addr *b)
{
	return addr_same_ip(a, b) && a->port == b->port;
}

/* Who the flow map says made the connection that was accepted as fd; false: nobody. */
static bool flow_of(const struct battery *b, const struct addr *src, const struct addr *dst,
	struct capture_client *ret)
{
	struct capture_flow_key key = {
		.prefixlen = CAPTURE_FLOW_PREFIX, .sport = src->port, .dport = dst->port};

	memcpy(key.src, src->ip, 16);
	memcpy(key.dst, dst->ip, 16);
	return bpf_map_lookup_elem(b->flows, &key, ret) == 0;
}

/* NULL, or what is wrong with the connection that should have arrived. */
static const char *check_arrival(struct battery *b, const struct attempt *a,
	const struct outcome *o, bool steered, bool attributed)
{
	int from =
		wait_readable(steered ? b->w.listeners : &b->w.server, steered ? WORLD_SLOTS : 1);
	struct sockaddr_storage sa;
	struct capture_client who;
	struct addr asked, peer;
	socklen_t n = sizeof(sa);
	_cleanup_close_ int fd = from < 0 ? -1 : accept(from, (struct sockaddr *)&sa, &n);

	if (fd < 0)
		return "it did not arrive";
	(void)addr_from_sockaddr((struct sockaddr *)&sa, n, &peer);
	n = sizeof(sa);
	(void)getsockname(fd, (struct sockaddr *)&sa, &n);
	(void)addr_from_sockaddr((struct sockaddr *)&sa, n, &asked);
	if (!same(&peer, &o->self))
		return "the peer is not the client's address";
	if (!steered)
		return NULL;
	if (!same(&asked, &a->to))
		return "getsockname() is not what was asked for";
	if (!same(&o->peer, &a->to))
		return "the client's getpeername() is not what it asked for";
	if (!flow_of(b, &peer, &asked, &who))
		return attributed ? "no flow" : NULL;
	if (!attributed)
		return "a flow that nobody should have published";
	if (who.tgid != (uint32_t)b->inside.pid || strcmp(who.comm, "bpf-client") != 0 ||
		who.uid != 0 || who.cgroup != b->w.cgroup_id || !who.start_ns || !who.exe_ino ||
		!who.exe_dev)
		return "the flow's facts are wrong";
	return NULL;
}

static const char *check_question(const struct battery *b)
{
	int fd = wait_readable(&b->w.dns, 1);
	char text[16];

	return fd >= 0 && recv(fd, text, sizeof(text), 0) == 8 ? NULL
							       : "the question did not arrive";
}

static const char *check_refusal(
	const struct battery *b, const struct row *row, const struct attempt *a)
{
	struct capture_refusal_key key = {.netns = b->w.cookie,
		.dport = a->to.port,
		.proto = a->op == CLIENT_CONNECT ? IPPROTO_TCP : IPPROTO_UDP};
	struct capture_refusal r;

	memcpy(key.dst, a->to.ip, 16);
	if (bpf_map_lookup_elem(b->refusals, &key, &r) < 0)
		return "no record";
	if (r.reason != row->reason || r.error != row->error || r.netns != b->w.cookie ||
		r.count == 0 || r.client.tgid != (uint32_t)b->inside.pid ||
		strcmp(r.client.comm, "bpf-client") != 0)
		return "the record is wrong";
	return NULL;
}

static const char *check_row(struct battery *b, const struct row *row, const struct attempt *a)
{
	uint64_t old[CAPTURE_VERDICTS] = {0}, new[CAPTURE_VERDICTS] = {0};
	static char wrong[64];
	struct outcome o;

	(void)bpf_map_lookup_elem(b->verdicts, &b->w.cookie, old); /* the struct is counters only */
	o = client_try(&b->inside, a);
	(void)bpf_map_lookup_elem(b->verdicts, &b->w.cookie, new);
	if (o.error != row->error) {
		(void)snprintf(wrong, sizeof(wrong), "errno %d, expected %d", o.error, row->error);
		return wrong;
	}
	for (unsigned i = 0; i < CAPTURE_REASON_COUNT; i++)
		if (new[i] - old[i] != (i == row->reason)) {
			(void)snprintf(wrong, sizeof(wrong), "counter %s moved by %d", reasons[i],
				(int)(new[i] - old[i]));
			return wrong;
		}
	switch (row->passes) {
	case STEERED:
	case SERVED:
		return check_arrival(b, a, &o, row->passes == STEERED, true);
	case ASKED:
		return check_question(b);
	case REFUSED:
		return check_refusal(b, row, a);
	default:
		return NULL;
	}
}

static void run_rows(struct battery *b, const char *table, const struct row *rows, size_t n)
{
	static const char *const ops[] = {"connect", "connect-udp", "sendto"};

	battery_fresh_second();
	for (size_t i = 0; i < n; i++) {
		struct attempt a = {.op = rows[i].op};

		if (addr_parse(slice_str(rows[i].to), &a.to) < 0)
			world_die(rows[i].to);
		a.to.port = rows[i].port;
		for (int mapped = 0; mapped <= addr_is_v4(&a.to); mapped++) {
			const char *why;

			a.v6_socket = mapped || !addr_is_v4(&a.to);
			why = check_row(b, &rows[i], &a);
			battery_report(b, !why, "%s %s %s%s port %u%s%s", table, ops[a.op],
				mapped ? "mapped " : "", rows[i].to, rows[i].port, why ? ": " : "",
				why ? why : "");
		}
	}
}

#define RUN_ROWS(b, rows) run_rows(b, #rows, rows, ARRAY_SIZE(rows))

/* ---- what is not a row
 * -------------------------------------------------------------------------------------------- */

struct attempt battery_to(enum client_op op, const char *text, uint16_t port)
{
	struct attempt a = {.op = op};

	if (addr_parse(slice_str(text), &a.to) < 0)
		world_die(text);
	a.to.port = port;
	a.v6_socket = !addr_is_v4(&a.to);
	return a;
}

/* A socket outside the cgroup is captured all the same, without facts. */
static void check_outsider(struct battery *b, bool active)
{
	static const char *const where[] = {"203.0.113.9", "2001:db8:1::9"};

	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct attempt a = battery_to(CLIENT_CONNECT, where[i], 443);
		struct outcome o = client_try(&b->outside, &a);
		const char *why = NULL;

		if (o.error != (active ? 0 : ECONNREFUSED))
			why = "wrong errno";
		else if (active)
			why = check_arrival(b, &a, &o, true, false);
		battery_report(b, !why, "outside the cgroup, %s: %s%s%s",
			active ? "active" : "inactive", where[i], why ? ": " : "", why ? why : "");
	}
}

static void check_foreign(struct battery *b)
{
	static const struct {
		enum client_op op;
		const char *to;
		int error;
	} tries[] = {
		{CLIENT_CONNECT, "203.0.113.9", ENETUNREACH},
		{CLIENT_CONNECT, "169.254.169.254", ENETUNREACH},
		{CLIENT_CONNECT, "2001:db8:1::9", ENETUNREACH},
		{CLIENT_CONNECT_UDP, "203.0.113.9", ENETUNREACH},
		{CLIENT_SENDTO, "203.0.113.9", ENETUNREACH},
		{CLIENT_CONNECT, "127.0.0.1", ECONNREFUSED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		struct attempt a = battery_to(tries[i].op, tries[i].to, 443);
		struct capture_verdicts before = battery_counters(b, 0), after;
		struct outcome o = client_try(&b->foreign, &a);
		bool refused = tries[i].error == ENETUNREACH;

		after = battery_counters(b, 0);
		battery_report(b,
			o.error == tries[i].error &&
				after.not_attached - before.not_attached == refused &&
				after.local - before.local == !refused,
			"foreign netns op %d %s: errno %d", tries[i].op, tries[i].to, o.error);
	}
}

/* A service for datagrams of the sandbox's own, at every address. */
static int serve_datagrams(void)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0)
		world_die("a service for datagrams");
	return fd;
}

/*
 * A connected datagram socket meets no hook; sk_lookup drops, and the second send knows. Also where
 * somebody in the sandbox serves at every address, who has what is sent to loopback.
 */
static void check_connected_udp(struct battery *b)
{
	static const struct {
		const char *to;
		bool served;
	} tries[] = {{"203.0.113.7", false}, {"2001:db8:1::7", false}, {"10.0.0.1", false},
		{"127.0.0.1", true}, {"::1", true}};
	_cleanup_close_ int service = serve_datagrams();
	struct attempt more = {.op = CLIENT_SEND};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		struct attempt a = battery_to(CLIENT_CONNECT_UDP, tries[i].to, 443);
		int first, second;
		char got[16];
		bool came;

		(void)client_try(&b->inside, &a);
		first = client_try(&b->inside, &more).error;
		came = recv(service, got, sizeof(got), 0) > 0;
		second = client_try(&b->inside, &more).error;
		came |= recv(service, got, sizeof(got), 0) > 0;
		battery_report(b,
			first == 0 && second == (tries[i].served ? 0 : ECONNREFUSED) &&
				came == tries[i].served,
			"connected UDP to %s: first send %d, second %d, %s", tries[i].to, first,
			second, came ? "served inside" : "nothing came");
	}
}

static size_t flows(const struct battery *b)
{
	struct capture_flow_key key, next;
	size_t n = 0;

	for (void *at = NULL; bpf_map_get_next_key(b->flows, at, &next) == 0; at = &key, n++)
		key = next;
	return n;
}

/* Leaves the client with a connection, for who looks at the flow map next. */
static void leave_connection(struct battery *b)
{
	struct attempt a = battery_to(CLIENT_CONNECT, "203.0.113.7", 443);
	struct outcome o = client_try(&b->inside, &a);

	(void)check_arrival(b, &a, &o, true, true); /* a row has checked the same */
}

static void check_flow_removed(struct battery *b)
{
	struct attempt a = battery_to(CLIENT_CONNECT, "203.0.113.7", 443),
		       bye = {.op = CLIENT_CLOSE};
	struct outcome o = client_try(&b->inside, &a);
	const char *why = check_arrival(b, &a, &o, true, true); /* accepted and closed */

	battery_report(
		b, !why && flows(b) > 0, "a live connection is in the flow map: %zu", flows(b));
	(void)client_try(&b->inside, &bye);
	for (int i = 0; i < 100 && flows(b); i++)
		(void)usleep(10000); /* closing goes through a softirq */
	battery_report(b, flows(b) == 0, "after the close the flow map is empty: %zu", flows(b));
}

static void check_spread(struct battery *b)
{
	unsigned hits[WORLD_SLOTS] = {0};

	for (int i = 0; i < 64; i++) {
		struct attempt a = battery_to(CLIENT_CONNECT, "203.0.113.7", 443);
		int from, fd;

		(void)client_try(&b->inside, &a);
		from = wait_readable(b->w.listeners, WORLD_SLOTS);
		fd = from < 0 ? -1 : accept(from, NULL, NULL);
		if (fd >= 0) {
			hits[from == b->w.listeners[1]]++;
			(void)close(fd);
		}
	}
	battery_report(b, hits[0] >= 16 && hits[1] >= 16 && hits[0] + hits[1] == 64,
		"64 connections over two listeners: %u %u", hits[0], hits[1]);
}

bool battery_arrival(struct battery *b, struct capture_client *ret)
{
	int from = wait_readable(b->w.listeners, WORLD_SLOTS);
	struct sockaddr_storage sa;
	struct addr asked, peer;
	socklen_t n = sizeof(sa);
	_cleanup_close_ int fd = from < 0 ? -1 : accept(from, (struct sockaddr *)&sa, &n);

	if (fd < 0)
		return false;
	(void)addr_from_sockaddr((struct sockaddr *)&sa, n, &peer);
	n = sizeof(sa);
	(void)getsockname(fd, (struct sockaddr *)&sa, &n);
	(void)addr_from_sockaddr((struct sockaddr *)&sa, n, &asked);
	return flow_of(b, &peer, &asked, ret);
}

int battery_accept_own(struct battery *b)
{
	return wait_readable(&b->w.server, 1) < 0 ? -1 : accept(b->w.server, NULL, NULL);
}

/* A connection within the sandbox is nobody's flow: the daemon never sees it. */
static void check_no_local_flow(struct battery *b)
{
	struct attempt a = battery_to(CLIENT_CONNECT, "127.0.0.1", WORLD_SERVER_PORT);
	struct outcome o = client_try(&b->inside, &a);
	int fd = o.error == 0 ? battery_accept_own(b) : -1;

	battery_report(b, fd >= 0 && flows(b) == 0, "a connection to loopback leaves no flow: %zu",
		flows(b));
	cleanup_close(&fd);
}

int main(int argc, char **argv)
{
	static const uint8_t digest[32] = {0xab, 0xab, 0xab, 0xab, 0xab};
	struct battery b = {.passed = 0};
	struct fault f = {""};

	if (argc > 2)
		return battery_probe(argv);
	world_enter(&b.w);
	b.inside = client_start(&b.w, true, false);
	b.outside = client_start(&b.w, false, false);
	b.foreign = client_start(&b.w, true, true);
	battery_attach(&b);
	RUN_ROWS(&b, inactive_rows);
	check_outsider(&b, false);
	battery_need(
		&f, programs_set_policy(b.sandbox, digest, NULL, 0, &f), "programs_set_policy");
	battery_activate(&b);
	RUN_ROWS(&b, active_rows);
	check_outsider(&b, true);
	check_foreign(&b);
	check_connected_udp(&b);
	check_flow_removed(&b);
	check_no_local_flow(&b);
	check_spread(&b);
	battery_check_classes(&b);
	battery_check_hosts(&b);
	RUN_ROWS(&b, host_rows);
	battery_check_kinds(&b);
	battery_check_unix(&b);
	battery_check_egress(&b, true);
	battery_check_names(&b);
	battery_check_switch(&b);
	battery_need(&f, programs_set_policy(b.sandbox, digest, openings, ARRAY_SIZE(openings), &f),
		"openings");
	RUN_ROWS(&b, opened_rows);
	battery_check_openings(&b);
	battery_check_budget(&b);
	leave_connection(&b);
	battery_check_readable(&b);
	battery_check_sizes(&b);
	battery_check_detached(&b);
	client_stop(&b.inside);
	client_stop(&b.outside);
	client_stop(&b.foreign);
	printf("# %u passed, %u failed\n", b.passed, b.failed);
	return b.failed ? 1 : 0;
}
