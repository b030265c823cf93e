/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs_sandbox.c – see programs.h. Goal: the entries and links that make a netns and a cgroup
 * one sandbox. Owns for each: a flow map and cgroup links, held by their pins alone, so that they
 * need no descriptor and outlive this process.
 *
 * Attach: flow map → its pin → flow_maps, verdicts, budgets, unix paths, sandboxes (inactive) →
 * links. So a program that runs always finds the sandbox whole. Detach: the sandbox's entry first
 * (from then on the programs refuse: an unknown netns), links, the rest. Both undo paths are one
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

static_assert(PROGRAMS_HOOKS <= 32, "a bit of struct programs_sandbox.links for each");

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

static int programs_link(struct programs_sandbox *s, size_t hook, int cgroup_fd)
{
	const struct programs_hook *h = &programs_hooks[hook];
	_cleanup_close_ int link = bpf_link_create(
		s->set->programs[hook], cgroup_fd, (enum bpf_attach_type)h->type, NULL);
	int r;

	if (link < 0)
		return link;
	r = pins_put_link(&s->set->pins, s->entry.id, h->program, link);
	if (r == 0)
		s->links |= 1U << hook;
	return r;
}

static int programs_link_all(struct programs_sandbox *s, int cgroup_fd, struct fault *f)
{
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		int r;

		if (s->set->programs[i] < 0 ||
			(programs_hooks[i].sealed && s->entry.mode != CAPTURE_SEALED))
			continue;
		r = programs_link(s, i, cgroup_fd);
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
	memcpy(s->entry.id, spec->id, strlen(spec->id) + 1); /* measured by programs_id_ok */
	memcpy(s->entry.own4, spec->own4, sizeof(s->entry.own4));
	memcpy(s->entry.own6, spec->own6, sizeof(s->entry.own6));
	s->entry.mode = spec->mode;
	s->entry.resolver = spec->resolver;
	r = programs_make_flows(s, f);
	if (r == 0)
		r = programs_make_entries(s, spec, f);
	if (r == 0)
		r = programs_link_all(s, spec->cgroup_fd, f);
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

static int programs_verify_link(const struct programs_sandbox *s, size_t hook, uint64_t cgroup_id)
{
	_cleanup_close_ int link =
		pins_open_link(&s->set->pins, s->entry.id, programs_hooks[hook].program);
	struct bpf_link_info info = {0};
	uint32_t n = sizeof(info);

	if (link < 0)
		return link;
	if (bpf_obj_get_info_by_fd(link, &info, &n) < 0)
		return -errno;
	/* of a link that was detached the id is 0 */
	return info.type == BPF_LINK_TYPE_CGROUP && info.cgroup.cgroup_id == cgroup_id ? 0
										       : -ENOENT;
}

int programs_verify(const struct programs_sandbox *s, uint64_t cgroup_id, struct fault *f)
{
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		int r = s->links & 1U << i ? programs_verify_link(s, i, cgroup_id) : 0;

		if (r < 0)
			return fault_set(f, r,
				"the program %s is not attached to its cgroup any more",
				programs_hooks[i].program);
	}
	return 0;
}

int programs_repair(struct programs_sandbox *s, int cgroup_fd, uint64_t cgroup_id)
{
	int first = 0;

	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		int r;

		if (!(s->links & 1U << i) || programs_verify_link(s, i, cgroup_id) == 0)
			continue;
		pins_drop_link(&s->set->pins, s->entry.id, programs_hooks[i].program);
		r = programs_link(s, i, cgroup_fd);
		if (r < 0 && first == 0)
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
		(void)bpf_map_delete_elem(bpf_map__fd(bpf->maps.sandboxes), &s->netns);
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++)
		if (s->links & 1U << i)
			pins_drop_link(pins, s->entry.id, programs_hooks[i].program);
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
