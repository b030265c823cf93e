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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "bpf/capture.h"
#include "netns-helper/programs.h"
#include "netns-helper/steer_program.h"
#include "tests/bpf/rows.h"
#include "tests/bpf/world.h"

struct battery {
	struct world w;
	struct programs *programs;
	struct programs_sandbox *sandbox;
	struct steer_program *steer;
	struct steer_netns *steered;
	struct client inside, outside, foreign;
	int verdicts, refusals; /* the pinned maps */
	unsigned passed, failed;
};

static const char *const reasons[] = {
#define X(name, field, error) #field,
	CAPTURE_REASONS(X)
#undef X
};

static void report(struct battery *b, bool ok, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void report(struct battery *b, bool ok, const char *format, ...)
{
	va_list ap;

	printf(ok ? "ok " : "not ok ");
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	printf("\n");
	ok ? b->passed++ : b->failed++;
}

static void need(struct fault *f, int r, const char *what)
{
	if (r < 0) {
		printf("not ok %s: %s\n", what, f->text);
		exit(1);
	}
}

/* ---- looking
 * ------------------------------------------------------------------------------------------------------
 */

static struct capture_verdicts counters(const struct battery *b, uint64_t account)
{
	struct capture_verdicts v = {.passed = 0};

	(void)bpf_map_lookup_elem(b->verdicts, &account, &v); /* absent after the detach: zeroes */
	return v;
}

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
	struct capture_flow_key key = {.sport = src->port, .dport = dst->port};

	memcpy(key.src, src->ip, 16);
	memcpy(key.dst, dst->ip, 16);
	return bpf_map_lookup_elem(programs_flows_fd(b->sandbox), &key, ret) == 0;
}

/* NULL, or what is wrong with the connection that should have arrived. */
static const char *check_arrival(struct battery *b, const struct attempt *a,
	const struct outcome *o, bool steered, bool attributed)
{
	int v6 = !addr_is_v4(&a->to);
	int from = wait_readable(
		steered ? b->w.listeners[v6] : &b->w.server, steered ? WORLD_SLOTS : 1);
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

static const char *check_question(const struct battery *b, const struct attempt *a)
{
	int fd = wait_readable(&b->w.dns[!addr_is_v4(&a->to)], 1);
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
	uint64_t old[CAPTURE_REASON_COUNT + 1] = {0}, new[CAPTURE_REASON_COUNT + 1] = {0};
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
		return check_question(b, a);
	case REFUSED:
		return check_refusal(b, row, a);
	default:
		return NULL;
	}
}

/* Waits for the next second of the kernel's budget of records, so that a table's rows have all of
 * it. */
static void fresh_budget(void)
{
	struct timespec now, until;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	until = (struct timespec){.tv_sec = now.tv_sec + 1};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static void run_rows(struct battery *b, const char *table, const struct row *rows, size_t n)
{
	static const char *const ops[] = {"connect", "connect-udp", "sendto"};

	fresh_budget();
	for (size_t i = 0; i < n; i++) {
		struct attempt a = {.op = rows[i].op};

		if (addr_parse(slice_str(rows[i].to), &a.to) < 0)
			world_die(rows[i].to);
		a.to.port = rows[i].port;
		for (int mapped = 0; mapped <= addr_is_v4(&a.to); mapped++) {
			const char *why;

			a.v6_socket = mapped || !addr_is_v4(&a.to);
			why = check_row(b, &rows[i], &a);
			report(b, !why, "%s %s %s%s port %u%s%s", table, ops[a.op],
				mapped ? "mapped " : "", rows[i].to, rows[i].port, why ? ": " : "",
				why ? why : "");
		}
	}
}

#define RUN_ROWS(b, rows) run_rows(b, #rows, rows, ARRAY_SIZE(rows))

/* ---- what is not a row
 * -------------------------------------------------------------------------------------------- */

static struct attempt to(enum client_op op, const char *text, uint16_t port)
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
		struct attempt a = to(CLIENT_CONNECT, where[i], 443);
		struct outcome o = client_try(&b->outside, &a);
		const char *why = NULL;

		if (o.error != (active ? 0 : ECONNREFUSED))
			why = "wrong errno";
		else if (active)
			why = check_arrival(b, &a, &o, true, false);
		report(b, !why, "outside the cgroup, %s: %s%s%s", active ? "active" : "inactive",
			where[i], why ? ": " : "", why ? why : "");
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
		struct attempt a = to(tries[i].op, tries[i].to, 443);
		struct capture_verdicts before = counters(b, 0), after;
		struct outcome o = client_try(&b->foreign, &a);
		bool refused = tries[i].error == ENETUNREACH;

		after = counters(b, 0);
		report(b,
			o.error == tries[i].error &&
				after.not_attached - before.not_attached == refused &&
				after.local - before.local == !refused,
			"foreign netns op %d %s: errno %d", tries[i].op, tries[i].to, o.error);
	}
}

/* A connected datagram socket meets no hook; sk_lookup drops, and the second send knows. */
static void check_connected_udp(struct battery *b)
{
	struct attempt a = to(CLIENT_CONNECT_UDP, "203.0.113.7", 443), more = {.op = CLIENT_SEND};
	int first, second;

	(void)client_try(&b->inside, &a);
	first = client_try(&b->inside, &more).error;
	second = client_try(&b->inside, &more).error;
	report(b, first == 0 && second == ECONNREFUSED, "connected UDP: first send %d, second %d",
		first, second);
}

static size_t flows(const struct battery *b)
{
	struct capture_flow_key key, next;
	size_t n = 0;

	for (void *at = NULL; bpf_map_get_next_key(programs_flows_fd(b->sandbox), at, &next) == 0;
		at = &key, n++)
		key = next;
	return n;
}

static void check_flow_removed(struct battery *b)
{
	struct attempt a = to(CLIENT_CONNECT, "203.0.113.7", 443), bye = {.op = CLIENT_CLOSE};
	struct outcome o = client_try(&b->inside, &a);
	const char *why = check_arrival(b, &a, &o, true, true); /* accepted and closed */

	report(b, !why && flows(b) > 0, "a live connection is in the flow map: %zu", flows(b));
	(void)client_try(&b->inside, &bye);
	for (int i = 0; i < 100 && flows(b); i++)
		(void)usleep(10000); /* closing goes through a softirq */
	report(b, flows(b) == 0, "after the close the flow map is empty: %zu", flows(b));
}

static void check_spread(struct battery *b)
{
	unsigned hits[WORLD_SLOTS] = {0};

	for (int i = 0; i < 64; i++) {
		struct attempt a = to(CLIENT_CONNECT, "203.0.113.7", 443);
		int from, fd;

		(void)client_try(&b->inside, &a);
		from = wait_readable(b->w.listeners[0], WORLD_SLOTS);
		fd = from < 0 ? -1 : accept(from, NULL, NULL);
		if (fd >= 0) {
			hits[from == b->w.listeners[0][1]]++;
			(void)close(fd);
		}
	}
	report(b, hits[0] >= 16 && hits[1] >= 16 && hits[0] + hits[1] == 64,
		"64 connections over two listeners: %u %u", hits[0], hits[1]);
}

static int count_event(void *arg, void *data, size_t n)
{
	const struct battery *b = ((void **)arg)[0];
	const struct capture_refusal *r = data;
	unsigned *count = ((void **)arg)[1];

	if (n >= sizeof(*r) && r->netns == b->w.cookie && r->count == 1 && r->dport == 4242 &&
		r->reason == CAPTURE_UDP && r->client.tgid == (uint32_t)b->inside.pid)
		++*count;
	return 0;
}

static void check_budget(struct battery *b)
{
	struct attempt a = to(CLIENT_FLOOD, "203.0.113.7", 4242);
	struct capture_verdicts before = counters(b, b->w.cookie), after;
	struct capture_refusal_key key = {
		.netns = b->w.cookie, .dport = 4242, .proto = IPPROTO_UDP};
	struct capture_refusal r = {.count = 0};
	unsigned events = 0;
	void *arg[] = {b, &events};
	struct ring_buffer *ring =
		ring_buffer__new(programs_events_fd(b->programs), count_event, arg, NULL);

	if (!ring)
		world_die("ring buffer");
	(void)ring_buffer__consume(ring);
	fresh_budget();
	a.repeat = 1000;
	(void)client_try(&b->inside, &a);
	(void)ring_buffer__consume(ring);
	ring_buffer__free(ring);
	after = counters(b, b->w.cookie);
	memcpy(key.dst, a.to.ip, 16);
	(void)bpf_map_lookup_elem(b->refusals, &key, &r);
	/* the flood may reach into further seconds */
	report(b,
		events >= CAPTURE_EVENTS_PER_SECOND && events <= 3 * CAPTURE_EVENTS_PER_SECOND &&
			after.suppressed - before.suppressed == 1000 - events,
		"1000 refusals: %u events, %llu suppressed", events,
		(unsigned long long)(after.suppressed - before.suppressed));
	report(b, after.udp - before.udp == 1000 && r.count == 1000,
		"1000 refusals: count %llu in the record", (unsigned long long)r.count);
}

static void check_readable(struct battery *b)
{
	static const struct {
		const char *pin;
		const char *words[6];
	} dumps[] = {
		{"sandboxes", {"sallyport-bpf.", "\"policy\": \"abababab", "\"active\": 1"}},
		{"verdicts", {"\"metadata\":", "\"suppressed\":"}},
		{"refusals", {"\"comm\": \"bpf-client\"", "\"tgid\":", "\"dport\": 443",
				     "\"error\": 13"}},
		{"flows/sallyport-bpf:", {"\"comm\": \"bpf-client\"", "\"dport\": 443"}},
	};
	struct attempt a = to(CLIENT_CONNECT, "203.0.113.7", 443);
	struct outcome o = client_try(&b->inside, &a);
	static char text[1 << 20];

	(void)check_arrival(b, &a, &o, true, true);
	for (size_t i = 0; i < ARRAY_SIZE(dumps); i++) {
		char command[128];
		size_t n;
		FILE *f;

		(void)snprintf(command, sizeof(command),
			"bpftool map dump pinned " WORLD_PINS "/%s*", dumps[i].pin);
		f = popen(command, "re");
		n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
		text[n] = '\0';
		if (f)
			(void)pclose(f);
		for (size_t k = 0; k < 6 && dumps[i].words[k]; k++)
			report(b, strstr(text, dumps[i].words[k]) != NULL, "bpftool shows %s in %s",
				dumps[i].words[k], dumps[i].pin);
		if (getenv("BATTERY_SHOW"))
			printf("# %s\n%.3000s\n", command, text);
	}
}

/* Instruction counts: a jump here is a change of the compiler's or of ours that wants a look. */
static void check_sizes(struct battery *b)
{
	static const struct {
		enum bpf_attach_type type;
		const char *name;
		unsigned most; /* instructions after the verifier's rewriting */
	} programs[] = {
		{BPF_CGROUP_INET4_CONNECT, "policy_connect4", 700},
		{BPF_CGROUP_INET6_CONNECT, "policy_connect6", 800},
		{BPF_CGROUP_UDP4_SENDMSG, "policy_sendmsg4", 600},
		{BPF_CGROUP_UDP6_SENDMSG, "policy_sendmsg6", 700},
		{BPF_CGROUP_SOCK_OPS, "flows_sockops", 250},
		{BPF_SK_LOOKUP, "steer_lookup", 200},
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		bool netns = programs[i].type == BPF_SK_LOOKUP;
		struct bpf_prog_info info = {.type = 0};
		uint32_t id = 0, n = 1, len = sizeof(info);
		int fd;

		(void)bpf_prog_query(
			netns ? b->w.netns : b->w.cgroup, programs[i].type, 0, NULL, &id, &n);
		fd = bpf_prog_get_fd_by_id(id);
		(void)bpf_obj_get_info_by_fd(fd, &info, &len);
		(void)close(fd);
		report(b,
			n == 1 && info.xlated_prog_len > 0 &&
				info.xlated_prog_len / 8 <= programs[i].most &&
				strncmp(info.name, programs[i].name, 15) == 0,
			"%s: %u instructions of %u, %u verified", programs[i].name,
			info.xlated_prog_len / 8, programs[i].most, info.verified_insns);
	}
}

static struct programs_spec spec_of(const struct world *w)
{
	struct programs_spec spec = {
		.id = w->name, .netns_cookie = w->cookie, .cgroup_fd = w->cgroup};

	memcpy(spec.own4, w->own4.ip, 16);
	memcpy(spec.own6, w->own6.ip, 16);
	return spec;
}

/* A failed attach leaves nothing: the same sandbox attaches right after; a second one of the same
 * name does not. */
static void check_undo(struct battery *b)
{
	struct programs_spec spec = spec_of(&b->w), wrong = spec, dotted = spec;
	struct programs_sandbox *twin = NULL;
	struct fault f = {""};

	wrong.cgroup_fd = b->w.netns;
	report(b, programs_attach(b->programs, &wrong, &f, &twin) < 0 && !twin,
		"attach to what is no cgroup: %s", f.text);
	f.text[0] = '\0';
	dotted.id = "../../x";
	report(b, programs_attach(b->programs, &dotted, &f, &twin) == -EINVAL && !twin,
		"an id with slashes: %s", f.text);
	f.text[0] = '\0';
	need(&f, programs_attach(b->programs, &spec, &f, &b->sandbox), "attach");
	report(b, programs_attach(b->programs, &spec, &f, &twin) == -EEXIST && !twin, "a twin: %s",
		f.text);
	f.text[0] = '\0';
	spec.id = "other";
	report(b, programs_attach(b->programs, &spec, &f, &twin) == -EEXIST && !twin,
		"the same netns: %s", f.text);
}

static void check_bad_openings(struct battery *b)
{
	static const struct capture_opening bad[] = {
		{{0}, 129, 0, 1, 1},
		{{0}, 128, 0, 2, 1},
		{{0}, 128, 0, 0, 1},
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 169, 254, 0, 0}, 112, 1, 80, 80},
	};
	static const uint8_t digest[32];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault f = {""};

		report(b, programs_set_policy(b->sandbox, digest, &bad[i], 1, &f) == -EINVAL,
			"bad opening %zu: %s", i, f.text);
	}
}

/* What a helper that was killed leaves. */
static void leave_stale_pins(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "stale", 4, 4, 1, NULL);

	if (fd < 0 || mkdir(WORLD_PINS "/flows", 0700) < 0 ||
		bpf_obj_pin(fd, WORLD_PINS "/flows/stale") < 0 ||
		bpf_obj_pin(fd, WORLD_PINS "/verdicts") < 0)
		world_die("stale pins");
	(void)close(fd);
}

static void attach(struct battery *b)
{
	struct steer_spec steer = {.netns_fd = b->w.netns,
		.nslots = WORLD_SLOTS,
		.listeners4 = b->w.listeners[0],
		.listeners6 = b->w.listeners[1],
		.udp4 = b->w.dns[0],
		.udp6 = b->w.dns[1]};
	struct fault f = {""};

	memcpy(steer.own4, b->w.own4.ip, 16);
	memcpy(steer.own6, b->w.own6.ip, 16);
	report(b, programs_open("/", &f, &b->programs) == -EINVAL && !b->programs, "no bpffs: %s",
		f.text);
	f.text[0] = '\0';
	leave_stale_pins();
	need(&f, programs_open(WORLD_PINS, &f, &b->programs), "programs_open");
	report(b, access(WORLD_PINS "/flows/stale", F_OK) < 0, "stale pins are gone");
	need(&f, steer_program_open(&f, &b->steer), "steer_program_open");
	need(&f, steer_program_attach(b->steer, &steer, &f, &b->steered), "steer_program_attach");
	check_undo(b);
	b->verdicts = bpf_obj_get(WORLD_PINS "/verdicts");
	b->refusals = bpf_obj_get(WORLD_PINS "/refusals");
}

static void check_detached(struct battery *b)
{
	struct attempt a = to(CLIENT_CONNECT, "203.0.113.7", 443),
		       metadata = to(CLIENT_CONNECT, "169.254.169.254", 80);
	struct capture_verdicts v = {.passed = 0};
	uint32_t n = 1, id = 0;

	programs_detach(b->sandbox);
	b->sandbox = NULL;
	report(b, bpf_map_lookup_elem(b->verdicts, &b->w.cookie, &v) == -ENOENT,
		"after the detach no counters");
	report(b,
		bpf_prog_query(b->w.cgroup, BPF_CGROUP_INET4_CONNECT, 0, NULL, &id, &n) == 0 &&
			n == 0,
		"after the detach no program on the cgroup");
	report(b, client_try(&b->inside, &metadata).error == 0,
		"control: without the programs the same connect passes");
	steer_program_detach(b->steered);
	report(b, client_try(&b->inside, &a).error == ECONNREFUSED,
		"without sk_lookup a sealed netns refuses");
	programs_close(b->programs);
	steer_program_close(b->steer);
	report(b,
		access(WORLD_PINS "/sandboxes", F_OK) < 0 && access(WORLD_PINS "/flows", F_OK) < 0,
		"after the close no pins");
}

int main(void)
{
	static const uint8_t digest[32] = {0xab, 0xab, 0xab, 0xab, 0xab};
	struct battery b = {.passed = 0};
	struct fault f = {""};

	world_enter(&b.w);
	b.inside = client_start(&b.w, true, false);
	b.outside = client_start(&b.w, false, false);
	b.foreign = client_start(&b.w, true, true);
	attach(&b);
	RUN_ROWS(&b, inactive_rows);
	check_outsider(&b, false);
	need(&f, programs_set_policy(b.sandbox, digest, NULL, 0, &f), "programs_set_policy");
	need(&f, programs_activate(b.sandbox, &f), "programs_activate");
	need(&f, steer_program_activate(b.steered, &f), "steer_program_activate");
	RUN_ROWS(&b, active_rows);
	check_outsider(&b, true);
	check_foreign(&b);
	check_connected_udp(&b);
	check_flow_removed(&b);
	check_spread(&b);
	need(&f, programs_set_policy(b.sandbox, digest, openings, ARRAY_SIZE(openings), &f),
		"openings");
	RUN_ROWS(&b, opened_rows);
	check_bad_openings(&b);
	check_budget(&b);
	check_readable(&b);
	check_sizes(&b);
	check_detached(&b);
	client_stop(&b.inside);
	client_stop(&b.outside);
	client_stop(&b.foreign);
	printf("# %u passed, %u failed\n", b.passed, b.failed);
	return b.failed ? 1 : 0;
}
