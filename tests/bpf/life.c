/* SPDX-License-Identifier: Apache-2.0 */
/* life.c – attach, switch off and on, detach, attach otherwise; what a failed or a dead one leaves.
 * See battery.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "netns-helper/pins.h"
#include "tests/bpf/battery.h"

struct programs_spec battery_spec(const struct world *w)
{
	struct programs_spec spec = {
		.id = w->name, .netns_cookie = w->cookie, .cgroup_fd = w->cgroup, .resolver = true};

	memcpy(spec.own4, w->own4.ip, 16);
	memcpy(spec.own6, w->own6.ip, 16);
	return spec;
}

/* A failed attach leaves nothing: the same sandbox attaches right after; a second one of the same
 * name does not. */
static void life_check_undo(struct battery *b)
{
	struct programs_spec spec = battery_spec(&b->w), wrong = spec, dotted = spec;
	struct programs_sandbox *twin = NULL;
	struct fault f = {""};

	wrong.cgroup_fd = b->w.netns;
	battery_report(b, programs_attach(b->programs, &wrong, &f, &twin) < 0 && !twin,
		"attach to what is no cgroup: %s", f.text);
	f.text[0] = '\0';
	dotted.id = "../../x";
	battery_report(b, programs_attach(b->programs, &dotted, &f, &twin) == -EINVAL && !twin,
		"an id with slashes: %s", f.text);
	f.text[0] = '\0';
	battery_need(&f, programs_attach(b->programs, &spec, &f, &b->sandbox), "attach");
	b->flows = programs_open_flows(b->sandbox);
	battery_report(b, programs_attach(b->programs, &spec, &f, &twin) == -EEXIST && !twin,
		"a twin: %s", f.text);
	f.text[0] = '\0';
	spec.id = "other";
	battery_report(b, programs_attach(b->programs, &spec, &f, &twin) == -EEXIST && !twin,
		"the same netns: %s", f.text);
}

void battery_check_openings(struct battery *b)
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

		battery_report(b,
			programs_set_policy(b->sandbox, digest, &bad[i], 1, &f) == -EINVAL,
			"bad opening %zu: %s", i, f.text);
	}
}

/* What a helper that was killed leaves. */
static void life_leave_stale_pins(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "stale", 4, 4, 1, NULL);

	if (fd < 0 || mkdir(WORLD_PINS "/flows", 0700) < 0 ||
		bpf_obj_pin(fd, WORLD_PINS "/flows/stale") < 0 ||
		bpf_obj_pin(fd, WORLD_PINS "/verdicts") < 0)
		world_die("stale pins");
	(void)close(fd);
}

static struct steer_spec life_steer(const struct battery *b)
{
	struct steer_spec steer = {.id = b->w.name,
		.pins = programs_pins(b->programs),
		.netns_fd = b->w.netns,
		.nslots = WORLD_SLOTS,
		.listeners = b->w.listeners,
		.udp = b->w.dns};

	memcpy(steer.own4, b->w.own4.ip, 16);
	memcpy(steer.own6, b->w.own6.ip, 16);
	return steer;
}

void battery_attach(struct battery *b)
{
	struct steer_spec steer;
	struct fault f = {""};

	battery_report(b, programs_open("/", &f, &b->programs) == -EINVAL && !b->programs,
		"no bpffs: %s", f.text);
	f.text[0] = '\0';
	life_leave_stale_pins();
	battery_need(&f, programs_open(WORLD_PINS, &f, &b->programs), "programs_open");
	battery_report(b, access(WORLD_PINS "/flows/stale", F_OK) < 0, "stale pins are gone");
	steer = life_steer(b);
	steer.resolver = true;
	battery_need(&f, steer_program_open(b->programs, &f, &b->steer), "steer_program_open");
	battery_need(&f, steer_program_attach(b->steer, &steer, &f, &b->steered),
		"steer_program_attach");
	life_check_undo(b);
	b->verdicts = bpf_obj_get(WORLD_PINS "/verdicts");
	b->refusals = bpf_obj_get(WORLD_PINS "/refusals");
}

void battery_activate(struct battery *b)
{
	struct fault f = {""};

	battery_need(&f, programs_activate(b->sandbox, &f), "programs_activate");
	battery_need(&f, steer_program_activate(b->steered, &f), "steer_program_activate");
}

static void life_set_hosts(struct battery *b, const char *const *texts, size_t n)
{
	uint8_t hosts[8][16];
	struct fault f = {""};

	for (size_t i = 0; i < n; i++) {
		struct attempt a = battery_to(CLIENT_CONNECT, texts[i], 1);

		memcpy(hosts[i], a.to.ip, 16);
	}
	battery_need(&f, programs_set_hosts(b->programs, (const uint8_t(*)[16])hosts, n, &f),
		"programs_set_hosts");
}

void battery_check_hosts(struct battery *b)
{
	static const char *const before[] = {"203.0.113.7", "203.0.113.99"};
	static const char *const now[] = {"203.0.113.99", "2001:db8:7::99", "10.77.0.1",
		"192.0.2.1", "169.254.169.254", "203.0.113.99"};
	struct attempt a = battery_to(CLIENT_CONNECT, "203.0.113.7", 443);
	struct fault f = {""};
	struct capture_client c;

	life_set_hosts(b, before, ARRAY_SIZE(before));
	battery_report(
		b, client_try(&b->inside, &a).error == EACCES, "an address becomes the host's");
	life_set_hosts(b, now, ARRAY_SIZE(now));
	battery_report(b, client_try(&b->inside, &a).error == 0 && battery_arrival(b, &c),
		"an address is the host's no more");
	battery_report(b, programs_set_hosts(b->programs, NULL, CAPTURE_HOSTS + 1, &f) == -E2BIG,
		"too many: %s", f.text);
}

static uint64_t life_dropped(const struct battery *b)
{
	uint64_t n = 0;

	(void)steer_program_dropped(b->steered, &n);
	return n;
}

void battery_check_switch(struct battery *b)
{
	struct attempt a = battery_to(CLIENT_CONNECT, "203.0.113.7", 443),
		       local = battery_to(CLIENT_CONNECT, "127.0.0.11", WORLD_SERVER_PORT);
	struct capture_verdicts old = battery_counters(b, b->w.cookie), new = old;
	uint64_t dropped = life_dropped(b);
	int inside, outside;

	battery_report(b,
		programs_deactivate(b->sandbox) == 0 && steer_program_deactivate(b->steered) == 0,
		"switched off");
	inside = client_try(&b->inside, &a).error;
	outside = client_try(&b->outside, &a).error;
	(void)programs_counters(b->sandbox, &new);
	battery_report(b,
		inside == ENETUNREACH && outside == ECONNREFUSED &&
			new.inactive == old.inactive + 1,
		"switched off: errno %d inside, %d outside", inside, outside);
	battery_report(b, life_dropped(b) == dropped + 1, "switched off: one drop");
	battery_activate(b);
	battery_report(b, life_dropped(b) == dropped + 1, "switching on keeps the drops");
	dropped = life_dropped(b);
	battery_report(b,
		client_try(&b->outside, &local).error == ECONNREFUSED &&
			life_dropped(b) == dropped + 1,
		"127.0.0.11 of a runtime, from outside the cgroup: dropped");
}

static bool life_attached(const struct battery *b, enum bpf_attach_type type)
{
	uint32_t n = 1, id = 0;

	return bpf_prog_query(b->w.cgroup, type, 0, NULL, &id, &n) == 0 && n == 1;
}

/* As an uplink without a runtime's resolver, and with unix paths of its own. */
static void life_attach_otherwise(struct battery *b)
{
	static const char *const paths[] = {BATTERY_CANARY, "/run/sallyport/"};
	static const char *const odd[] = {"relative", "/a//b", "/a/../b", "/a/.", ""};
	static const uint8_t digest[32];
	struct programs_spec spec = battery_spec(&b->w), wrong;
	struct steer_spec steer = life_steer(b);
	struct fault f = {""};

	spec.mode = CAPTURE_UPLINK;
	spec.resolver = false;
	spec.unix_paths = paths;
	spec.nunix_paths = ARRAY_SIZE(paths);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		struct programs_sandbox *none = NULL;
		struct fault why = {""};

		wrong = spec;
		wrong.unix_paths = &odd[i];
		wrong.nunix_paths = 1;
		battery_report(b,
			programs_attach(b->programs, &wrong, &why, &none) == -EINVAL && !none,
			"an odd unix path: %s", why.text);
	}
	battery_need(
		&f, programs_attach(b->programs, &spec, &f, &b->sandbox), "attach as an uplink");
	battery_need(&f, steer_program_attach(b->steer, &steer, &f, &b->steered), "steer again");
	battery_need(&f, programs_set_policy(b->sandbox, digest, NULL, 0, &f), "set_policy");
	battery_activate(b);
}

static void life_check_locals(struct battery *b)
{
	struct attempt a = battery_to(CLIENT_CONNECT, "198.51.100.1", WORLD_SERVER_PORT),
		       v6 = battery_to(CLIENT_CONNECT, "2001:db8:6::1", WORLD_SERVER_PORT),
		       resolver = battery_to(CLIENT_CONNECT, "127.0.0.11", WORLD_SERVER_PORT);
	struct capture_verdicts old = battery_counters(b, b->w.cookie), new;
	uint8_t locals[2][16];
	struct fault f = {""};
	int error, fd;

	memcpy(locals[0], a.to.ip, 16);
	memcpy(locals[1], v6.to.ip, 16);
	battery_need(
		&f, programs_set_locals(b->sandbox, (const uint8_t(*)[16])locals, 2, &f), "locals");
	battery_need(&f, steer_program_set_locals(b->steered, (const uint8_t(*)[16])locals, 2, &f),
		"locals");
	error = client_try(&b->inside, &a).error;
	fd = error == 0 ? battery_accept_own(b) : -1;
	new = battery_counters(b, b->w.cookie);
	battery_report(b, error == 0 && fd >= 0 && new.local == old.local + 1,
		"the uplink's IPv4 address is the sandbox's: errno %d", error);
	cleanup_close(&fd);
	error = client_try(&b->inside, &v6).error;
	fd = error == 0 ? battery_accept_own(b) : -1;
	battery_report(b, error == 0 && fd >= 0,
		"the uplink's IPv6 address is the sandbox's: errno %d", error);
	cleanup_close(&fd);
	error = client_try(&b->inside, &resolver).error;
	fd = error == 0 ? battery_accept_own(b) : -1;
	battery_report(b, error == 0 && fd >= 0,
		"control: 127.0.0.11 without a runtime's resolver is loopback: errno %d", error);
	cleanup_close(&fd);
	battery_report(b, programs_set_locals(b->sandbox, NULL, CAPTURE_LOCALS + 1, &f) == -E2BIG,
		"too many locals: %s", f.text);
	(void)programs_set_locals(b->sandbox, NULL, 0, &f);
	(void)steer_program_set_locals(b->steered, NULL, 0, &f);
	error = client_try(&b->inside, &a).error;
	new = battery_counters(b, b->w.cookie);
	battery_report(b, error == 0 && new.passed == old.passed + 1,
		"an address that the uplink has lost is as any other: errno %d", error);
}

static unsigned life_links(void)
{
	char line[256];
	unsigned n = 0;
	FILE *f = popen("find " WORLD_PINS "/links -type f", "re");

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		(void)pclose(f);
	return n;
}

void battery_check_detached(struct battery *b)
{
	struct attempt a = battery_to(CLIENT_CONNECT, "203.0.113.7", 443),
		       metadata = battery_to(CLIENT_CONNECT, "169.254.169.254", 80);
	struct capture_verdicts v = {.passed = 0};
	bool sealed = life_attached(b, BPF_CGROUP_INET_EGRESS);

	battery_report(b, life_links() >= 8, "each link has its pin: %u", life_links());
	programs_detach(b->sandbox);
	b->sandbox = NULL;
	battery_report(b, bpf_map_lookup_elem(b->verdicts, &b->w.cookie, &v) == -ENOENT,
		"after the detach no counters");
	battery_report(b,
		sealed && !life_attached(b, BPF_CGROUP_INET4_CONNECT) &&
			!life_attached(b, BPF_CGROUP_INET_EGRESS) &&
			!life_attached(b, BPF_CGROUP_INET_SOCK_CREATE),
		"after the detach no program on the cgroup");
	battery_report(b, client_try(&b->inside, &metadata).error == 0,
		"control: without the programs the same connect passes");
	steer_program_detach(b->steered);
	battery_report(b, client_try(&b->inside, &a).error == ECONNREFUSED,
		"without sk_lookup a sealed netns refuses");
	battery_report(b, life_links() == 0, "after the detach no links: %u", life_links());
	life_attach_otherwise(b);
	battery_report(b,
		life_attached(b, BPF_CGROUP_INET4_CONNECT) &&
			!life_attached(b, BPF_CGROUP_INET_EGRESS),
		"an uplink has no egress program");
	battery_check_egress(b, false);
	life_check_locals(b);
	battery_check_own_unix(b);
	/* as if we had died: what is attached goes with the pins */
	battery_report(b,
		pins_open(WORLD_PINS, &(struct fault){""}, &(struct pins){-1}) == 0 &&
			!life_attached(b, BPF_CGROUP_INET4_CONNECT),
		"who comes after a dead helper detaches what it left");
	programs_detach(b->sandbox);
	steer_program_detach(b->steered);
	programs_close(b->programs);
	steer_program_close(b->steer);
	battery_report(b,
		access(WORLD_PINS "/sandboxes", F_OK) < 0 && access(WORLD_PINS "/flows", F_OK) < 0,
		"after the close no pins");
}
