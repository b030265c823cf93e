/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs_sandbox.c – see programs.h. Goal: the entries and programs that make a netns and a cgroup
 * one sandbox. Owns for each: a flow map, held by its pin alone, and the programs on the cgroup, held
 * by that: both need no descriptor and outlive this process. Links would do the same, each with a pin and a file of
 * bpffs: a kilobyte for each of the nine. Without them what a dead helper leaves is found by the cgroup's id in the
 * sandbox's entry (leftovers.c), so the entry is there as long as a program is.
 *
 * Attach: flow map → its pin → flow_maps, verdicts, budgets, unix paths, sandboxes (inactive) →
 * programs. So a program that runs always finds the sandbox whole. Detach: the sandbox's entry is made inactive
 * (from then on the programs refuse), programs, the entry, the rest. Both undo paths are one
 * function: programs_detach() takes a sandbox at any stage. #syscalls: bpf, and those of pins.c
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netns-helper/programs_internal.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "bpf/capture.skel.h"

static_assert(PROGRAMS_HOOKS <= 32, "a bit of struct programs_sandbox.attached for each");

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
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(shape),
		.btf_fd = (uint32_t)bpf_object__btf_fd(s->set->bpf->obj),
		.btf_key_type_id = bpf_map__btf_key_type_id(shape),
		.btf_value_type_id = bpf_map__btf_value_type_id(shape));
	_cleanup_close_ int map =
		bpf_map_create(bpf_map__type(shape), "flows", bpf_map__key_size(shape),
			bpf_map__value_size(shape), bpf_map__max_entries(shape), &opts);
	int r;

	if (map < 0)
		return fault_set(f, map, "cannot make the flow map: %s", strerror(-map));
	r = pins_put_flows(&s->set->pins, s->entry.id, map);
	if (r < 0)
		return fault_set(
			f, r, "cannot pin the flow map of %s: %s", s->entry.id, strerror(-r));
	s->flows = true;
	r = bpf_map_update_elem(
		bpf_map__fd(s->set->bpf->maps.flow_maps), &s->netns, &map, BPF_NOEXIST);
	if (r < 0)
		return fault_set(
			f, r, "cannot enter the flow map of %s: %s", s->entry.id, strerror(-r));
	s->in_flow_maps = true;
	return 0;
}

/* Writes the sandbox's entry as it is in s. */
static int programs_enter(struct programs_sandbox *s, uint64_t flags)
{
	return bpf_map_update_elem(
		bpf_map__fd(s->set->bpf->maps.sandboxes), &s->netns, &s->entry, flags);
}

/* Replaces the entry; on failure it stays as it was. */
static int programs_change(struct programs_sandbox *s, const struct capture_sandbox *to)
{
	const struct capture_sandbox was = s->entry;
	int r;

	s->entry = *to;
	r = programs_enter(s, BPF_EXIST);
	if (r < 0)
		s->entry = was;
	return r;
}

static int programs_make_entries(
	struct programs_sandbox *s, const struct programs_spec *spec, struct fault *f)
{
	int map = bpf_map__fd(s->set->bpf->maps.unix_paths);
	int r = programs_open_account(s->set, s->netns, &s->in_verdicts, &s->in_budgets);

	if (r == 0 && spec->nunix_paths > 0) {
		r = unix_paths_open(
			&s->unix_paths, map, s->netns, spec->unix_paths, spec->nunix_paths, f);
		s->entry.unix_paths = 1;
	}
	if (r == 0)
		r = programs_enter(s, BPF_NOEXIST);
	if (r < 0)
		return fault_set(
			f, r, "cannot enter the sandbox %s: %s", s->entry.id, strerror(-r));
	s->in_sandboxes = true;
	return 0;
}

static int programs_put(struct programs_sandbox *s, size_t hook)
{
	int r = bpf_prog_attach(s->set->programs[hook], s->cgroup,
		(enum bpf_attach_type)programs_hooks[hook].type, BPF_F_ALLOW_MULTI);

	if (r == 0)
		s->attached |= 1U << hook;
	return r;
}

static int programs_put_all(struct programs_sandbox *s, struct fault *f)
{
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		int r;

		if (s->set->programs[i] < 0 ||
			(programs_hooks[i].sealed && s->entry.mode != CAPTURE_SEALED))
			continue;
		r = programs_put(s, i);
		if (r < 0)
			return fault_set(f, r, "cannot attach %s to the cgroup of %s: %s",
				programs_hooks[i].program, s->entry.id, strerror(-r));
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
	s->cgroup = spec->cgroup_fd;
	memcpy(s->entry.id, spec->id, strlen(spec->id) + 1); /* measured by programs_id_ok */
	memcpy(s->entry.own4, spec->own4, sizeof(s->entry.own4));
	memcpy(s->entry.own6, spec->own6, sizeof(s->entry.own6));
	s->entry.cgroup = spec->cgroup_id;
	s->entry.mode = spec->mode;
	s->entry.resolver = spec->resolver;
	r = programs_make_flows(s, f);
	if (r == 0)
		r = programs_make_entries(s, spec, f);
	if (r == 0)
		r = programs_put_all(s, f);
	if (r < 0) {
		programs_detach(s);
		return r;
	}
	*ret = s;
	return 0;
}

const char *const *programs_default_unix_paths(size_t *ret_n)
{
	return unix_paths_default(ret_n);
}

int programs_open_flows(const struct programs_sandbox *s)
{
	return pins_open_flows(&s->set->pins, s->entry.id);
}

int programs_set_policy(struct programs_sandbox *s, const uint8_t digest[32],
	const struct capture_opening *openings, size_t n, struct fault *f)
{
	int map = bpf_map__fd(s->set->bpf->maps.openings);
	struct capture_sandbox entry = s->entry;
	int r = openings_replace(&s->openings, map, s->netns, openings, n, f);

	if (r < 0)
		return r;
	static_assert(sizeof(entry.policy) > 64, "hex and a NUL");
	for (size_t i = 0; i < 32; i++)
		(void)snprintf(entry.policy + 2 * i, 3, "%02x", digest[i]);
	r = programs_change(s, &entry);
	if (r == 0)
		return 0;
	openings_close(&s->openings, map);
	return fault_set(f, r, "cannot note the policy of %s: %s", s->entry.id, strerror(-r));
}

int programs_set_locals(
	struct programs_sandbox *s, const uint8_t (*locals)[16], size_t n, struct fault *f)
{
	struct capture_sandbox entry = s->entry;
	int r;

	if (n > CAPTURE_LOCALS)
		return fault_set(f, -E2BIG, "the uplink of %s has %zu addresses, at most %d",
			s->entry.id, n, CAPTURE_LOCALS);
	memset(entry.locals, 0, sizeof(entry.locals));
	if (n > 0)
		memcpy(entry.locals, locals, n * sizeof(*locals));
	r = programs_change(s, &entry);
	return r < 0 ? fault_set(f, r, "cannot enter the addresses of the uplink of %s: %s",
			       s->entry.id, strerror(-r))
		     : 0;
}

int programs_activate(struct programs_sandbox *s, struct fault *f)
{
	struct capture_sandbox entry = s->entry;
	int r;

	entry.active = 1;
	r = programs_change(s, &entry);
	return r < 0 ? fault_set(f, r, "cannot activate the sandbox %s: %s", s->entry.id,
			       strerror(-r))
		     : 0;
}

int programs_deactivate(struct programs_sandbox *s)
{
	struct capture_sandbox entry = s->entry;

	entry.active = 0;
	return programs_change(s, &entry);
}

static bool programs_is_there(const struct programs_sandbox *s, size_t hook)
{
	uint32_t ids[PROGRAMS_ON_A_HOOK], n = PROGRAMS_ON_A_HOOK;

	if (bpf_prog_query(s->cgroup, (enum bpf_attach_type)programs_hooks[hook].type, 0, NULL, ids,
		    &n) < 0)
		return false; /* the cgroup was removed */
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] == s->set->ids[hook])
			return true;
	return false;
}

int programs_verify(const struct programs_sandbox *s, struct fault *f)
{
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++)
		if (s->attached & 1U << i && !programs_is_there(s, i))
			return fault_set(f, -ENOENT,
				"the program %s is not attached to its cgroup any more",
				programs_hooks[i].program);
	return 0;
}

int programs_repair(struct programs_sandbox *s)
{
	int first = 0;

	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		int r = s->attached & 1U << i && !programs_is_there(s, i) ? programs_put(s, i) : 0;

		if (first == 0)
			first = r;
	}
	return first;
}

int programs_counters(const struct programs_sandbox *s, struct capture_verdicts *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->set->bpf->maps.verdicts), &s->netns, ret);
}

struct programs *programs_leave_account(struct programs_sandbox *s)
{
	if (!s || !s->in_verdicts)
		return NULL;
	s->in_verdicts = false;
	return s->set;
}

void programs_forget_account(struct programs *p, uint64_t netns)
{
	if (p)
		(void)bpf_map_delete_elem(bpf_map__fd(p->bpf->maps.verdicts), &netns);
}

void programs_detach(struct programs_sandbox *s)
{
	const struct capture_bpf *bpf;
	const struct pins *pins;

	if (!s)
		return;
	bpf = s->set->bpf;
	pins = &s->set->pins;
	if (s->in_sandboxes)
		(void)programs_deactivate(s); /* it is there, and room for it */
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++)
		if (s->attached & 1U << i)
			(void)bpf_prog_detach2(s->set->programs[i], s->cgroup,
				(enum bpf_attach_type)programs_hooks[i]
					.type); /* or it went with the cgroup */
	if (s->in_sandboxes)
		(void)bpf_map_delete_elem(bpf_map__fd(bpf->maps.sandboxes), &s->netns);
	openings_close(&s->openings, bpf_map__fd(bpf->maps.openings));
	unix_paths_close(&s->unix_paths, bpf_map__fd(bpf->maps.unix_paths));
	if (s->in_budgets)
		(void)bpf_map_delete_elem(bpf_map__fd(bpf->maps.budgets), &s->netns);
	if (s->in_verdicts)
		(void)bpf_map_delete_elem(bpf_map__fd(bpf->maps.verdicts), &s->netns);
	if (s->in_flow_maps)
		(void)bpf_map_delete_elem(bpf_map__fd(bpf->maps.flow_maps), &s->netns);
	if (s->flows)
		pins_drop_flows(pins, s->entry.id);
	free(s);
}
