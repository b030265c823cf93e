/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dial_openings.c – see dial_openings.h. Sandboxes of one kind have the same policy: sorting brings the same openings
 * together, and what is left is few. As in openings.c each prefix carries the ports of every opening that covers it.
 * #syscalls: bpf
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "netns-helper/dial_openings.h"
#include "netns-helper/openings.h"
#include "base/fault.h"
#include "bpf/capture.h"

static int dial_openings_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct capture_opening)); /* it has no padding */
}

/* Sorts; how many different ones are left at the beginning. */
static size_t dial_openings_distinct(struct capture_opening *all, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(all, n, sizeof(*all), dial_openings_compare);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || dial_openings_compare(&all[kept - 1], &all[i]) != 0)
			all[kept++] = all[i];
	return kept;
}

static bool dial_openings_has(const struct capture_opened *v, const struct capture_opening *o)
{
	for (unsigned i = 0; i < v->n; i++)
		if (v->ports[i].lo == o->port_lo && v->ports[i].hi == o->port_hi &&
			v->ports[i].metadata == o->metadata)
			return true;
	return false;
}

static int dial_openings_add(struct dial_openings *to, int map, const struct capture_opening *all,
	size_t n, size_t which)
{
	struct capture_range_key key = {.prefixlen = all[which].prefix};
	struct capture_opened value = {0};

	memcpy(key.ip, all[which].ip, sizeof(key.ip));
	for (size_t i = 0; i < n; i++) {
		if (!openings_covers(&all[i], &all[which]) || dial_openings_has(&value, &all[i]))
			continue;
		if (value.n == CAPTURE_OPENINGS)
			return -E2BIG;
		value.ports[value.n++] = (struct capture_ports){
			.lo = all[i].port_lo, .hi = all[i].port_hi, .metadata = all[i].metadata};
	}
	to->keys[to->n++] = key;
	return bpf_map_update_elem(map, &key, &value, BPF_ANY);
}

/* Removes those of `old` that `new` has not. */
static void dial_openings_drop(
	const struct dial_openings *old, const struct dial_openings *new, int map)
{
	for (size_t i = 0; i < old->n; i++) {
		size_t at = 0;

		while (at < new->n &&
			memcmp(&new->keys[at], &old->keys[i], sizeof(old->keys[i])) != 0)
			at++;
		if (at == new->n) /* two openings may share a key: it is gone then */
			(void)bpf_map_delete_elem(map, &old->keys[i]);
	}
}

int dial_openings_replace(
	struct dial_openings *o, int map, struct capture_opening *all, size_t n, struct fault *f)
{
	size_t kept = dial_openings_distinct(all, n);
	struct dial_openings new = {0};
	int r = 0;

	if (kept > CAPTURE_DIAL_OPENINGS)
		r = -E2BIG;
	if (r == 0 && kept > 0) {
		new.keys = calloc(kept, sizeof(*new.keys));
		r = new.keys ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < kept; i++)
		r = dial_openings_add(&new, map, all, kept, i);
	if (r < 0) {
		dial_openings_drop(&new, o, map);
		free(new.keys);
		return fault_set(f, r,
			"the openings of all policies together do not fit the table of the "
			"daemon's connections: %s",
			strerror(-r));
	}
	dial_openings_drop(o, &new, map);
	free(o->keys);
	*o = new;
	return 0;
}

void dial_openings_close(struct dial_openings *o, int map)
{
	static const struct dial_openings none;

	dial_openings_drop(o, &none, map);
	free(o->keys);
	*o = (struct dial_openings){0};
}
