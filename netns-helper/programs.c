/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.c – see programs.h. Goal: one set of cgroup programs and maps for all sandboxes; what a
 * single one has is in programs_sandbox.c.
 *
 * Owns: the skeleton (programs, maps) and the pins. Loading is all or nothing, except for what only
 * newer kernels have (unix.bpf.c): that is tried first, with a program of two instructions for each
 * such hook, and once more by loading the whole without it. What was left out is a row of
 * programs_missing().
 *
 * Memory is charged to our memory cgroup; RLIMIT_MEMLOCK is not touched (its hint in libbpf's
 * messages misleads). #syscalls: bpf, stat, and those of pins.c
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netns-helper/programs_internal.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "base/log.h"
#include "model/range.h"
#include "bpf/capture.skel.h"

/* The maps that people read, under their own names. */
static const char *const programs_pinned[] = {"about", "sandboxes", "verdicts", "refusals", "uses",
	"executables", "cgroups", "hosts", "heartbeat", "outage"};

static int programs_print(enum libbpf_print_level level, const char *format, va_list ap)
{
	char line[1024];

	if (level != LIBBPF_WARN)
		return 0;
	(void)vsnprintf(line, sizeof(line), format, ap); /* a cut line is good enough here */
	log_debug("%s", line);
	return 0;
}

/* ---- loading
 * ------------------------------------------------------------------------------------------------------
 */

/* Does the kernel have this hook? Asked with the least program that there is. */
static int programs_try_hook(const struct programs_hook *hook)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(
		bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)hook->type);
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "try_hook",
		"Dual BSD/GPL", pass, ARRAY_SIZE(pass), &opts);

	return fd < 0 ? fd : 0;
}

static int programs_try_optional(void)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < PROGRAMS_HOOKS; i++)
		if (programs_hooks[i].optional)
			r = programs_try_hook(&programs_hooks[i]);
	return r;
}

/* Says to libbpf what it cannot know of one program: whether, and for which hook. */
static int programs_prepare(struct programs *p, const struct programs_hook *hook, bool optional)
{
	struct bpf_program *program = bpf_object__find_program_by_name(p->bpf->obj, hook->program);

	if (!program)
		return -ENOENT;
	if (!hook->optional)
		return 0;
	if (!optional)
		return bpf_program__set_autoload(program, false);
	return bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)hook->type);
}

/* Opens and loads the object. On failure p->bpf is NULL. */
static int programs_load_object(struct programs *p, bool optional)
{
	struct stat pidns;
	int r = 0;

	p->bpf = capture_bpf__open();
	if (!p->bpf)
		return -errno;
	if (stat("/proc/self/ns/pid", &pidns) == 0) /* without /proc: the initial one's numbers */
		p->bpf->rodata->record_pidns = (uint32_t)pidns.st_ino;
	for (size_t i = 0; r == 0 && i < PROGRAMS_HOOKS; i++)
		r = programs_prepare(p, &programs_hooks[i], optional);
	if (r == 0)
		r = bpf_map__set_autocreate(p->bpf->maps.flows, false);
	if (r == 0)
		r = capture_bpf__load(p->bpf);
	if (r < 0) {
		capture_bpf__destroy(p->bpf);
		p->bpf = NULL;
	}
	return r;
}

static void programs_note_lack(struct programs *p, int error)
{
	(void)snprintf(p->lack_reason, sizeof(p->lack_reason),
		"the kernel does not take a program for connect() and sendmsg() of unix sockets: "
		"%s",
		strerror(-error));
	p->lack = (struct programs_lack){.feature = "unix-paths",
		.reason = p->lack_reason,
		.remedy =
			"Linux 6.7 or later with CONFIG_CGROUP_BPF; until then give the sandbox a "
			"mount namespace that holds no sockets of the host"};
}

static int programs_number(int program, uint32_t *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int r = bpf_obj_get_info_by_fd(program, &info, &size);

	if (r == 0)
		*ret = info.id;
	return r;
}

static int programs_load(struct programs *p, struct fault *f)
{
	int missing = programs_try_optional();
	int r = missing < 0 ? missing : programs_load_object(p, true);

	if (r < 0) {
		missing = r;
		r = programs_load_object(p, false);
	}
	if (r < 0)
		return fault_set(
			f, r, "the kernel does not take the cgroup programs: %s", strerror(-r));
	if (missing < 0)
		programs_note_lack(p, missing);
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		const struct programs_hook *hook = &programs_hooks[i];

		p->programs[i] = missing < 0 && hook->optional
					 ? -1
					 : bpf_program__fd(bpf_object__find_program_by_name(
						   p->bpf->obj, hook->program));
		r = p->programs[i] < 0 ? 0 : programs_number(p->programs[i], &p->ids[i]);
		if (r < 0)
			return fault_set(f, r, "cannot ask for the number of %s: %s", hook->program,
				strerror(-r));
	}
	return 0;
}

/* ---- filling
 * ------------------------------------------------------------------------------------------------------
 */

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

static int programs_fill_about(struct programs *p, struct fault *f)
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

static int programs_fill_outage(struct programs *p, struct fault *f)
{
	const struct capture_outage outage = {.wait = 1};
	const uint32_t only = 0;
	int r = bpf_map_update_elem(bpf_map__fd(p->bpf->maps.outage), &only, &outage, BPF_ANY);

	return r < 0 ? fault_set(f, r, "cannot fill the map outage: %s", strerror(-r)) : 0;
}

int programs_open_account(struct programs *p, uint64_t netns, bool *ret_verdicts, bool *ret_budgets)
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

/* Account 0: namespaces that are not attached. */
static int programs_fill_unattached(struct programs *p, struct fault *f)
{
	bool verdicts = false, budgets = false;
	int r = programs_open_account(p, 0, &verdicts, &budgets);
	const char *const *paths;
	size_t n;

	if (r < 0)
		return fault_set(f, r, "cannot make the counters: %s", strerror(-r));
	paths = unix_paths_default(&n);
	return unix_paths_open(
		&p->unix_paths, bpf_map__fd(p->bpf->maps.unix_paths), 0, paths, n, f);
}

static int programs_pin(struct programs *p, struct fault *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs_pinned); i++) {
		const char *name = programs_pinned[i];
		struct bpf_map *map = bpf_object__find_map_by_name(p->bpf->obj, name);
		int r = pins_put_map(&p->pins, name, bpf_map__fd(map));

		if (r < 0)
			return fault_set(f, r, "cannot pin the map %s: %s", name, strerror(-r));
	}
	return 0;
}

int programs_open(const char *pins, struct fault *f, struct programs **ret)
{
	struct programs *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return fault_set(f, -ENOMEM, "no memory");
	p->pins.dir = -1;
	(void)libbpf_set_print(programs_print); /* the previous one is libbpf's own */
	r = pins_open(pins, f, &p->pins);
	if (r == 0)
		r = programs_load(p, f);
	if (r == 0)
		r = programs_fill_ranges(p, f);
	if (r == 0)
		r = programs_fill_about(p, f);
	if (r == 0)
		r = programs_fill_outage(p, f);
	if (r == 0)
		r = programs_fill_unattached(p, f);
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
	ret[5] = bpf_map__fd(p->bpf->maps.closed);
}

void programs_judge_fds(const struct programs *p, int ret[PROGRAMS_JUDGE])
{
	ret[0] = bpf_map__fd(p->bpf->maps.sandboxes);
	ret[1] = bpf_map__fd(p->bpf->maps.verdicts);
	ret[2] = bpf_map__fd(p->bpf->maps.ranges);
	ret[3] = bpf_map__fd(p->bpf->maps.hosts);
	ret[4] = bpf_map__fd(p->bpf->maps.openings);
	ret[5] = bpf_map__fd(p->bpf->maps.heartbeat);
	ret[6] = bpf_map__fd(p->bpf->maps.outage);
}

void programs_outage_fds(const struct programs *p, struct programs_outage_fds *ret)
{
	ret->heartbeat = bpf_map__fd(p->bpf->maps.heartbeat);
	ret->outage = bpf_map__fd(p->bpf->maps.outage);
}

const struct pins *programs_pins(const struct programs *p)
{
	return &p->pins;
}

int programs_hold(const struct programs *p, int cgroup_fd, int *ret, int room, struct fault *f)
{
	int n = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < PROGRAMS_HOOKS && n < room; i++) {
		if (p->programs[i] < 0)
			continue;
		r = bpf_link_create(p->programs[i], cgroup_fd,
			(enum bpf_attach_type)programs_hooks[i].type, NULL);
		if (r >= 0)
			ret[n++] = r;
		else
			(void)fault_set(f, r, "cannot attach %s to a cgroup: %s",
				programs_hooks[i].program, strerror(-r));
	}
	while (r < 0 && n > 0)
		cleanup_close(&ret[--n]);
	return r < 0 ? r : n;
}

const struct programs_lack *programs_missing(const struct programs *p, size_t i)
{
	return i == 0 && p->lack.feature ? &p->lack : NULL;
}

void programs_close(struct programs *p)
{
	if (!p)
		return;
	pins_close(&p->pins);
	if (p->bpf)
		unix_paths_close(&p->unix_paths, bpf_map__fd(p->bpf->maps.unix_paths));
	capture_bpf__destroy(p->bpf); /* takes NULL */
	free(p->hosts);
	free(p);
}

/* ---- the host's addresses
 * ------------------------------------------------------------------------------------------------------
 */

static bool programs_among(const uint8_t ip[16], const uint8_t (*all)[16], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(ip, all[i], 16) == 0)
			return true;
	return false;
}

int programs_set_hosts(struct programs *p, const uint8_t (*hosts)[16], size_t n, struct fault *f)
{
	static const uint8_t refused = 1;
	int map = bpf_map__fd(p->bpf->maps.hosts), r = 0;
	uint8_t(*now)[16] = NULL;

	if (n > CAPTURE_HOSTS)
		return fault_set(
			f, -E2BIG, "the host has %zu addresses, at most %d", n, CAPTURE_HOSTS);
	if (n > 0) {
		now = malloc(n * sizeof(*now));
		if (!now)
			return fault_set(f, -ENOMEM, "no memory");
		memcpy(now, hosts, n * sizeof(*now));
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = bpf_map_update_elem(map, now[i], &refused, BPF_ANY);
	if (r < 0) {
		free(now);
		return fault_set(f, r, "cannot enter the host's addresses: %s", strerror(-r));
	}
	for (size_t i = 0; i < p->nhosts; i++)
		if (!programs_among(p->hosts[i], (const uint8_t(*)[16])now, n))
			(void)bpf_map_delete_elem(
				map, p->hosts[i]); /* two may have been the same */
	free(p->hosts);
	p->hosts = now;
	p->nhosts = n;
	return 0;
}
