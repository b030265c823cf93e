/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.c – what the programs leave for people to look at: counters, events, dumps, sizes. See
 * battery.h. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "tests/bpf/battery.h"

enum { INSPECT_UNIX_CONNECT = 49, INSPECT_UNIX_SENDMSG = 50 }; /* Linux 6.7 */

struct capture_verdicts battery_counters(const struct battery *b, uint64_t account)
{
	struct capture_verdicts v = {.passed = 0};

	(void)bpf_map_lookup_elem(b->verdicts, &account, &v); /* absent after the detach: zeroes */
	return v;
}

void battery_fresh_second(void)
{
	struct timespec now, until;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	until = (struct timespec){.tv_sec = now.tv_sec + 1};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
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

void battery_check_budget(struct battery *b)
{
	struct attempt a = {.op = CLIENT_FLOOD, .repeat = 1000};
	struct capture_verdicts before = battery_counters(b, b->w.cookie), after;
	struct capture_refusal_key key = {
		.netns = b->w.cookie, .dport = 4242, .proto = IPPROTO_UDP};
	struct capture_refusal r = {.count = 0};
	unsigned events = 0, most = CAPTURE_EVENTS_PER_SECOND;
	struct timespec begun, ended;
	void *arg[] = {b, &events};
	struct ring_buffer *ring;
	int maps[PROGRAMS_SHARED];

	programs_shared_fds(b->programs, maps);
	ring = ring_buffer__new(maps[0], count_event, arg, NULL);
	if (!ring || addr_parse(SLICE("203.0.113.7"), &a.to) < 0)
		world_die("ring buffer");
	a.to.port = 4242;
	(void)ring_buffer__consume(ring);
	battery_fresh_second();
	(void)clock_gettime(CLOCK_MONOTONIC, &begun);
	(void)client_try(&b->inside, &a);
	(void)clock_gettime(CLOCK_MONOTONIC, &ended);
	(void)ring_buffer__consume(ring);
	ring_buffer__free(ring);
	after = battery_counters(b, b->w.cookie);
	memcpy(key.dst, a.to.ip, 16);
	(void)bpf_map_lookup_elem(b->refusals, &key, &r);
	/* on a busy machine the flood reaches into further seconds; else it is the budget, to the event */
	most *= (unsigned)(ended.tv_sec - begun.tv_sec) + 1;
	battery_report(b,
		events >= CAPTURE_EVENTS_PER_SECOND && events <= most &&
			after.suppressed - before.suppressed == 1000 - events,
		"1000 refusals: %u events, %llu suppressed", events,
		(unsigned long long)(after.suppressed - before.suppressed));
	battery_report(b, after.udp - before.udp == 1000 && r.count == 1000,
		"1000 refusals: count %llu in the record", (unsigned long long)r.count);
}

void battery_check_readable(struct battery *b)
{
	static const struct {
		const char *pin;
		const char *words[6];
	} dumps[] = {
		{"sandboxes", {"sallyport-bpf.", "\"policy\": \"abababab", "\"active\": 1"}},
		{"about", {"\"abi\": 3"}},
		{"verdicts", {"\"metadata\":", "\"suppressed\":", "\"lost\":"}},
		{"refusals", {"\"comm\": \"bpf-client\"", "\"tgid\":", "\"dport\": 443",
				     "\"error\": 13"}},
		{"hosts", {"\"value\": 1"}},
		{"executables", {"/tests/bpf/battery"}},
		{"cgroups", {"sallyport-bpf."}},
		{"flows/sallyport-bpf:", {"\"comm\": \"bpf-client\"", "\"dport\": 443"}},
	};
	static char text[1 << 20];

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
			battery_report(b, strstr(text, dumps[i].words[k]) != NULL,
				"bpftool shows %s in %s", dumps[i].words[k], dumps[i].pin);
		if (getenv("BATTERY_SHOW"))
			printf("# %s\n%.3000s\n", command, text);
	}
}

/* Instruction counts: a jump here is a change of the compiler's or of ours that wants a look. */
void battery_check_sizes(struct battery *b)
{
	static const struct {
		int type; /* enum bpf_attach_type */
		const char *name;
		unsigned most; /* instructions after the verifier's rewriting */
	} programs[] = {
		{BPF_CGROUP_INET4_CONNECT, "policy_connect4", 1750},
		{BPF_CGROUP_INET6_CONNECT, "policy_connect6", 1900},
		{BPF_CGROUP_UDP4_SENDMSG, "policy_sendmsg4", 1750},
		{BPF_CGROUP_UDP6_SENDMSG, "policy_sendmsg6", 1900},
		{BPF_CGROUP_INET_SOCK_CREATE, "create_socket", 1200},
		{BPF_CGROUP_SOCK_OPS, "flows_sockops", 250},
		{BPF_CGROUP_INET_EGRESS, "egress_packet", 150},
		{INSPECT_UNIX_CONNECT, "unix_connect", 1500},
		{INSPECT_UNIX_SENDMSG, "unix_sendmsg", 1500},
		{BPF_SK_LOOKUP, "steer_lookup", 503},
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		bool netns = programs[i].type == BPF_SK_LOOKUP;
		struct bpf_prog_info info = {.type = 0};
		uint32_t id = 0, n = 1, len = sizeof(info);
		int fd;

		if (programs[i].type >= INSPECT_UNIX_CONNECT && programs_missing(b->programs, 0))
			continue;
		(void)bpf_prog_query(netns ? b->w.netns : b->w.cgroup,
			(enum bpf_attach_type)programs[i].type, 0, NULL, &id, &n);
		fd = bpf_prog_get_fd_by_id(id);
		(void)bpf_obj_get_info_by_fd(fd, &info, &len);
		(void)close(fd);
		battery_report(b,
			n == 1 && info.xlated_prog_len > 0 &&
				info.xlated_prog_len / 8 <= programs[i].most &&
				strncmp(info.name, programs[i].name, 15) == 0,
			"%s: %u instructions of %u, %u verified", programs[i].name,
			info.xlated_prog_len / 8, programs[i].most, info.verified_insns);
	}
}
