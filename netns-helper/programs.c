/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.c – see programs.h. Goal: one set of cgroup programs and maps for all sandboxes, and for
 * each sandbox the entries and links that make it one.
 *
 * Owns: the skeleton (programs, maps), the pins under `pins`, and for each sandbox five cgroup
 * links and a flow map, held by descriptor. A link that is not pinned dies with this process; a
 * sealed netns then answers connections with ECONNREFUSED, since its sk_lookup program is gone as
 * well: it fails closed.
 *
 * Attach: flow map → its pin → flow_maps, verdicts, budgets, sandboxes (inactive) → links. So a
 * program that runs always finds the sandbox whole. Detach: the sandbox's entry first (from then on
 * the programs refuse: an unknown netns), links, the rest. Both undo paths are one function:
 * programs_detach() takes a sandbox at any stage, and programs_close() a half-opened set.
 *
 * Memory is charged to our memory cgroup; RLIMIT_MEMLOCK is not touched (its hint in libbpf's
 * messages misleads). #syscalls: bpf, openat, unlinkat, mkdirat, statfs
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netns-helper/programs.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "base/log.h"
#include "model/range.h"
#include "bpf/capture.h"
#include "bpf/capture.skel.h"

#ifndef BPF_FS_MAGIC
#define BPF_FS_MAGIC 0xcafe4a11
#endif

/* The maps that people read, under their own names. */
static const char *const programs_pins[] = {
	"about", "sandboxes", "verdicts", "refusals", "uses", "executables", "cgroups"};
#define PROGRAMS_FLOWS "flows"

/* What is attached to a sandbox's cgroup. */
static const struct programs_hook {
	enum bpf_attach_type type;
	const char *program;
} programs_hooks[] = {
	{BPF_CGROUP_INET4_CONNECT, "policy_connect4"},
	{BPF_CGROUP_INET6_CONNECT, "policy_connect6"},
	{BPF_CGROUP_UDP4_SENDMSG, "policy_sendmsg4"},
	{BPF_CGROUP_UDP6_SENDMSG, "policy_sendmsg6"},
	{BPF_CGROUP_SOCK_OPS, "flows_sockops"},
};
enum { PROGRAMS_HOOKS = ARRAY_SIZE(programs_hooks) };

struct programs {
	struct capture_bpf *bpf;
	int pins; /* directory on the bpffs; -1 = not opened */
	int programs[PROGRAMS_HOOKS]; /* borrowed from bpf */
};

struct programs_sandbox {
	struct programs *set;
	struct capture_sandbox entry;
	uint64_t netns;
	int links[PROGRAMS_HOOKS]; /* -1 = not attached */
	int flows; /* the inner map; -1 = none */
	bool pinned, in_flow_maps, in_verdicts, in_budgets, in_sandboxes;
	struct capture_opening_key
		openings[CAPTURE_OPENINGS]; /* the keys that are in the map now */
	size_t nopenings;
};

static int programs_print(enum libbpf_print_level level, const char *format, va_list ap)
{
	char line[1024];

	if (level != LIBBPF_WARN)
		return 0;
	(void)vsnprintf(line, sizeof(line), format, ap); /* a cut line is good enough here */
	log_debug("%s", line);
	return 0;
}

/* ---- opening
 * ------------------------------------------------------------------------------------------------------
 */

static int programs_pin_path(const struct programs *p, const char *name, char ret[64])
{
	/* bpf(BPF_OBJ_PIN) takes a path, not a directory and a name; the descriptor makes it
	 * independent of mounts */
	int n = snprintf(ret, 64, "/proc/self/fd/%d/%s", p->pins, name);

	return n < 64 ? 0 : -ENAMETOOLONG;
}

/* bpffs keeps names with dots for itself; an id has no colon. */
static void programs_flow_name(const char *id, char ret[CAPTURE_ID + sizeof(PROGRAMS_FLOWS)])
{
	(void)snprintf(ret, CAPTURE_ID + sizeof(PROGRAMS_FLOWS), PROGRAMS_FLOWS "/%s",
		id); /* id was measured */
	for (char *c = ret; *c; c++)
		if (*c == '.')
			*c = ':';
}

/* Removes every pin: at close our own, at open those of a helper that was killed. */
static void programs_unpin(const struct programs *p)
{
	struct dirent *e;
	DIR *d;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(programs_pins); i++)
		(void)unlinkat(p->pins, programs_pins[i], 0); /* mostly it is not there */
	fd = openat(p->pins, PROGRAMS_FLOWS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	d = fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			(void)unlinkat(fd, e->d_name, 0);
	(void)closedir(d);
	(void)unlinkat(p->pins, PROGRAMS_FLOWS, AT_REMOVEDIR);
}

static int programs_open_pins(struct programs *p, const char *pins, struct fault *f)
{
	struct statfs fs;

	p->pins = open(pins, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->pins < 0 || fstatfs(p->pins, &fs) < 0)
		return fault_set(f, -errno, "cannot open %s: %s", pins, strerror(errno));
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC)
		return fault_set(f, -EINVAL,
			"%s is not on a bpf file system (mount -t bpf none %s)", pins, pins);
	programs_unpin(p);
	if (mkdirat(p->pins, PROGRAMS_FLOWS, 0700) < 0)
		return fault_set(
			f, -errno, "cannot make %s/" PROGRAMS_FLOWS ": %s", pins, strerror(errno));
	return 0;
}

static int programs_pin(struct programs *p, struct fault *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs_pins); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(p->bpf->obj, programs_pins[i]);
		char path[64];
		int r = programs_pin_path(p, programs_pins[i], path);

		if (r == 0)
			r = bpf_obj_pin(bpf_map__fd(map), path);
		if (r < 0)
			return fault_set(
				f, r, "cannot pin the map %s: %s", programs_pins[i], strerror(-r));
	}
	return 0;
}

static int programs_fill_ranges(struct programs *p, struct fault *f)
{
	int fd = bpf_map__fd(p->bpf->maps.ranges), r = 0;
	const struct range_row *rows;
	size_t n;

	rows = range_rows(&n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct capture_range_key key = {.prefixlen = rows[i].prefix};
		struct capture_range value = {.sandbox = rows[i].class[RANGE_SANDBOX],
			.dialler = rows[i].class[RANGE_DIALLER]};

		memcpy(key.ip, rows[i].ip, sizeof(key.ip));
		r = bpf_map_update_elem(fd, &key, &value, BPF_NOEXIST);
	}
	if (r == 0)
		r = bpf_map_freeze(fd);
	return r < 0 ? fault_set(f, r, "cannot fill the address classes: %s", strerror(-r)) : 0;
}

static int programs_load(struct programs *p, struct fault *f)
{
	struct stat pidns;
	int r;

	p->bpf = capture_bpf__open();
	if (!p->bpf)
		return fault_set(f, -errno, "cannot read the cgroup programs: %s", strerror(errno));
	if (stat("/proc/self/ns/pid", &pidns) == 0) /* without /proc: the initial one's numbers */
		p->bpf->rodata->policy_pidns = (uint32_t)pidns.st_ino;
	r = bpf_map__set_autocreate(p->bpf->maps.flows, false);
	if (r == 0)
		r = capture_bpf__load(p->bpf);
	if (r < 0)
		return fault_set(
			f, r, "the kernel does not take the cgroup programs: %s", strerror(-r));
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		struct bpf_program *prog =
			bpf_object__find_program_by_name(p->bpf->obj, programs_hooks[i].program);

		p->programs[i] = prog ? bpf_program__fd(prog) : -ENOENT;
		if (p->programs[i] < 0)
			return fault_set(
				f, p->programs[i], "no program %s", programs_hooks[i].program);
	}
	return 0;
}

static int programs_say_about(struct programs *p, struct fault *f)
{
	const struct capture_about about = {.abi = CAPTURE_ABI,
		.sandboxes = CAPTURE_SANDBOXES,
		.events_per_second = CAPTURE_EVENTS_PER_SECOND};
	const uint32_t zero = 0;
	int fd = bpf_map__fd(p->bpf->maps.about);
	int r = bpf_map_update_elem(fd, &zero, &about, BPF_ANY);

	if (r == 0)
		r = bpf_map_freeze(fd);
	return r < 0 ? fault_set(f, r, "cannot fill the map about: %s", strerror(-r)) : 0;
}

/* Account 0: namespaces that are not attached. */
static int programs_open_account(
	struct programs *p, uint64_t netns, bool *ret_verdicts, bool *ret_budgets)
{
	static const struct capture_verdicts none;
	static const uint64_t budget[2];
	int r;

	static_assert(sizeof(none) % 8 == 0, "counters");
	r = bpf_map_update_elem(bpf_map__fd(p->bpf->maps.verdicts), &netns, &none, BPF_NOEXIST);
	if (r < 0)
		return r;
	*ret_verdicts = true;
	r = bpf_map_update_elem(bpf_map__fd(p->bpf->maps.budgets), &netns, budget, BPF_NOEXIST);
	if (r < 0)
		return r;
	*ret_budgets = true;
	return 0;
}

int programs_open(const char *pins, struct fault *f, struct programs **ret)
{
	struct programs *p = calloc(1, sizeof(*p));
	bool verdicts, budgets;
	int r;

	if (!p)
		return fault_set(f, -ENOMEM, "no memory");
	p->pins = -1;
	(void)libbpf_set_print(programs_print); /* the previous one is libbpf's own */
	r = programs_open_pins(p, pins, f);
	if (r == 0)
		r = programs_load(p, f);
	if (r == 0)
		r = programs_fill_ranges(p, f);
	if (r == 0)
		r = programs_say_about(p, f);
	if (r == 0) {
		r = programs_open_account(p, 0, &verdicts, &budgets);
		if (r < 0)
			fault_set(f, r, "cannot make the counters: %s", strerror(-r));
	}
	if (r == 0)
		r = programs_pin(p, f);
	if (r < 0) {
		programs_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

void programs_shared_fds(const struct programs *p, int ret[PROGRAMS_SHARED])
{
	ret[0] = bpf_map__fd(p->bpf->maps.events);
	ret[1] = bpf_map__fd(p->bpf->maps.executables);
	ret[2] = bpf_map__fd(p->bpf->maps.cgroups);
	ret[3] = bpf_map__fd(p->bpf->maps.uses);
	ret[4] = bpf_map__fd(p->bpf->maps.verdicts);
}

void programs_close(struct programs *p)
{
	if (!p)
		return;
	if (p->pins >= 0) {
		programs_unpin(p);
		(void)close(p->pins);
	}
	capture_bpf__destroy(p->bpf); /* takes NULL */
	free(p);
}

/* ---- a sandbox
 * ----------------------------------------------------------------------------------------------------
 */

static bool programs_id_ok(const char *id)
{
	static const char ok[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t n = strlen(id);

	return n > 0 && n < CAPTURE_ID && strspn(id, ok) == n;
}

static int programs_make_flows(struct programs_sandbox *s, struct fault *f)
{
	const struct bpf_map *shape = s->set->bpf->maps.flows;
	char name[CAPTURE_ID + sizeof(PROGRAMS_FLOWS)], path[128];
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(shape),
		.btf_fd = (uint32_t)bpf_object__btf_fd(s->set->bpf->obj),
		.btf_key_type_id = bpf_map__btf_key_type_id(shape),
		.btf_value_type_id = bpf_map__btf_value_type_id(shape));
	int r;

	s->flows = bpf_map_create(BPF_MAP_TYPE_HASH, PROGRAMS_FLOWS, bpf_map__key_size(shape),
		bpf_map__value_size(shape), bpf_map__max_entries(shape), &opts);
	if (s->flows < 0)
		return fault_set(f, s->flows, "cannot make the flow map: %s", strerror(-s->flows));
	programs_flow_name(s->entry.id, name);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", s->set->pins,
		name); /* fits: an id is short */
	r = bpf_obj_pin(s->flows, path);
	if (r < 0)
		return fault_set(
			f, r, "cannot pin the flow map of %s: %s", s->entry.id, strerror(-r));
	s->pinned = true;
	r = bpf_map_update_elem(
		bpf_map__fd(s->set->bpf->maps.flow_maps), &s->netns, &s->flows, BPF_NOEXIST);
	if (r < 0)
		return fault_set(
			f, r, "cannot enter the flow map of %s: %s", s->entry.id, strerror(-r));
	s->in_flow_maps = true;
	return 0;
}

static int programs_enter(struct programs_sandbox *s, uint64_t flags)
{
	return bpf_map_update_elem(
		bpf_map__fd(s->set->bpf->maps.sandboxes), &s->netns, &s->entry, flags);
}

static int programs_make_entries(struct programs_sandbox *s, struct fault *f)
{
	int r = programs_open_account(s->set, s->netns, &s->in_verdicts, &s->in_budgets);

	if (r == 0)
		r = programs_enter(s, BPF_NOEXIST);
	if (r < 0)
		return fault_set(
			f, r, "cannot enter the sandbox %s: %s", s->entry.id, strerror(-r));
	s->in_sandboxes = true;
	return 0;
}

static int programs_link(struct programs_sandbox *s, int cgroup_fd, struct fault *f)
{
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		int r = bpf_link_create(
			s->set->programs[i], cgroup_fd, programs_hooks[i].type, NULL);

		if (r < 0)
			return fault_set(f, r, "cannot attach %s to the cgroup of %s: %s",
				programs_hooks[i].program, s->entry.id, strerror(-r));
		s->links[i] = r;
	}
	return 0;
}

int programs_attach(struct programs *p, const struct programs_spec *spec, struct fault *f,
	struct programs_sandbox **ret)
{
	struct programs_sandbox *s;
	int r;

	if (!programs_id_ok(spec->id) || spec->netns_cookie == 0)
		return fault_set(f, -EINVAL, "not an id of a sandbox, or no netns cookie");
	s = calloc(1, sizeof(*s));
	if (!s)
		return fault_set(f, -ENOMEM, "no memory");
	s->set = p;
	s->netns = spec->netns_cookie;
	s->flows = -1;
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++)
		s->links[i] = -1;
	memcpy(s->entry.id, spec->id, strlen(spec->id) + 1); /* measured by programs_id_ok */
	memcpy(s->entry.own4, spec->own4, sizeof(s->entry.own4));
	memcpy(s->entry.own6, spec->own6, sizeof(s->entry.own6));
	s->entry.mode = spec->mode;
	r = programs_make_flows(s, f);
	if (r == 0)
		r = programs_make_entries(s, f);
	if (r == 0)
		r = programs_link(s, spec->cgroup_fd, f);
	if (r < 0) {
		programs_detach(s);
		return r;
	}
	*ret = s;
	return 0;
}

int programs_flows_fd(const struct programs_sandbox *s)
{
	return s->flows;
}

int programs_activate(struct programs_sandbox *s, struct fault *f)
{
	int r;

	s->entry.active = 1;
	r = programs_enter(s, BPF_EXIST);
	if (r < 0) {
		s->entry.active = 0;
		return fault_set(
			f, r, "cannot activate the sandbox %s: %s", s->entry.id, strerror(-r));
	}
	return 0;
}

static void programs_close_openings(struct programs_sandbox *s)
{
	for (size_t i = 0; i < s->nopenings; i++)
		(void)bpf_map_delete_elem(bpf_map__fd(s->set->bpf->maps.openings), &s->openings[i]);
	s->nopenings = 0;
}

void programs_detach(struct programs_sandbox *s)
{
	char name[CAPTURE_ID + sizeof(PROGRAMS_FLOWS)];

	if (!s)
		return;
	if (s->in_sandboxes)
		(void)bpf_map_delete_elem(bpf_map__fd(s->set->bpf->maps.sandboxes), &s->netns);
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++)
		if (s->links[i] >= 0)
			(void)close(s->links[i]);
	programs_close_openings(s);
	if (s->in_budgets)
		(void)bpf_map_delete_elem(bpf_map__fd(s->set->bpf->maps.budgets), &s->netns);
	if (s->in_verdicts)
		(void)bpf_map_delete_elem(bpf_map__fd(s->set->bpf->maps.verdicts), &s->netns);
	if (s->in_flow_maps)
		(void)bpf_map_delete_elem(bpf_map__fd(s->set->bpf->maps.flow_maps), &s->netns);
	if (s->pinned) {
		programs_flow_name(s->entry.id, name);
		(void)unlinkat(s->set->pins, name, 0);
	}
	if (s->flows >= 0)
		(void)close(s->flows);
	free(s);
}

/* ---- openings
 * -----------------------------------------------------------------------------------------------------
 */

static bool programs_covers(
	const struct capture_opening *wide, const struct capture_opening *narrow)
{
	unsigned bytes = wide->prefix / 8, bits = wide->prefix % 8;

	if (wide->prefix > narrow->prefix || memcmp(wide->ip, narrow->ip, bytes) != 0)
		return false;
	return bits == 0 ||
	       ((wide->ip[bytes] ^ narrow->ip[bytes]) & (uint8_t)(0xff00 >> bits)) == 0;
}

static int programs_check_opening(const struct capture_opening *o, struct fault *f)
{
	if (o->prefix > 128 || o->port_lo == 0 || o->port_lo > o->port_hi)
		return fault_set(f, -EINVAL, "an opening with prefix %u and ports %u to %u",
			o->prefix, o->port_lo, o->port_hi);
	if (o->metadata && o->prefix != 128)
		return fault_set(
			f, -EINVAL, "an opening for metadata must name one address, not a range");
	return 0;
}

/*
 * A lookup finds the most specific prefix only, so each prefix carries the ports of every opening
 * that covers it: 10.0.0.0/8 port 5432 stays open inside 10.1.0.0/16 port 80.
 */
static int programs_add_opening(
	struct programs_sandbox *s, const struct capture_opening *all, size_t n, size_t which)
{
	struct capture_opening_key key = {.prefixlen = 64u + all[which].prefix};
	struct capture_opened value = {0};
	int r;

	memcpy(key.netns, &s->netns, sizeof(key.netns));
	memcpy(key.ip, all[which].ip, sizeof(key.ip));
	for (size_t i = 0; i < n; i++)
		if (programs_covers(&all[i], &all[which]))
			value.ports[value.n++] = (struct capture_ports){.lo = all[i].port_lo,
				.hi = all[i].port_hi,
				.metadata = all[i].metadata};
	r = bpf_map_update_elem(bpf_map__fd(s->set->bpf->maps.openings), &key, &value, BPF_ANY);
	if (r == 0)
		s->openings[s->nopenings++] = key;
	return r;
}

int programs_set_policy(struct programs_sandbox *s, const uint8_t digest[32],
	const struct capture_opening *openings, size_t n, struct fault *f)
{
	char text[65];
	int r = 0;

	if (n > CAPTURE_OPENINGS)
		return fault_set(f, -E2BIG, "%zu openings, at most %d", n, CAPTURE_OPENINGS);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = programs_check_opening(&openings[i], f);
	if (r < 0)
		return r;
	programs_close_openings(s);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = programs_add_opening(s, openings, n, i);
	for (size_t i = 0; i < 32; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
	if (r == 0) {
		memcpy(s->entry.policy, text, sizeof(text));
		r = programs_enter(s, BPF_EXIST);
	}
	if (r < 0) {
		programs_close_openings(s);
		return fault_set(f, r, "cannot open what the policy of %s opens: %s", s->entry.id,
			strerror(-r));
	}
	return 0;
}
