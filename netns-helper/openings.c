/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * openings.c – see openings.h. A lookup finds the most specific prefix only, so each prefix carries
 * the ports of every opening that covers it: 10.0.0.0/8 port 5432 stays open inside 10.1.0.0/16
 * port 80. #syscalls: bpf
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "netns-helper/openings.h"
#include "base/fault.h"

bool openings_covers(const struct capture_opening *wide, const struct capture_opening *narrow)
{
	unsigned bytes = wide->prefix / 8, bits = wide->prefix % 8;

	if (wide->prefix > narrow->prefix || memcmp(wide->ip, narrow->ip, bytes) != 0)
		return false;
	return bits == 0 ||
	       ((wide->ip[bytes] ^ narrow->ip[bytes]) & (uint8_t)(0xff00 >> bits)) == 0;
}

static int openings_check_one(const struct capture_opening *o, struct fault *f)
{
	if (o->prefix > 128 || o->port_lo == 0 || o->port_lo > o->port_hi)
		return fault_set(f, -EINVAL, "an opening with prefix %u and ports %u to %u",
			o->prefix, o->port_lo, o->port_hi);
	if (o->metadata && o->prefix != 128)
		return fault_set(
			f, -EINVAL, "an opening for metadata must name one address, not a range");
	return 0;
}

int openings_check(const struct capture_opening *all, size_t n, struct fault *f)
{
	int r = 0;

	if (n > CAPTURE_OPENINGS)
		return fault_set(f, -E2BIG, "%zu openings, at most %d", n, CAPTURE_OPENINGS);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = openings_check_one(&all[i], f);
	return r;
}

static int openings_add(struct openings *o, int map, uint64_t netns,
	const struct capture_opening *all, size_t n, size_t which)
{
	struct capture_opening_key key = {.prefixlen = 64u + all[which].prefix};
	struct capture_opened value = {0};
	int r;

	memcpy(key.netns, &netns, sizeof(key.netns));
	memcpy(key.ip, all[which].ip, sizeof(key.ip));
	for (size_t i = 0; i < n; i++)
		if (openings_covers(&all[i], &all[which]))
			value.ports[value.n++] = (struct capture_ports){.lo = all[i].port_lo,
				.hi = all[i].port_hi,
				.metadata = all[i].metadata};
	r = bpf_map_update_elem(map, &key, &value, BPF_ANY);
	if (r == 0)
		o->keys[o->n++] = key;
	return r;
}

int openings_replace(struct openings *o, int map, uint64_t netns, const struct capture_opening *all,
	size_t n, struct fault *f)
{
	int r = openings_check(all, n, f);

	if (r < 0)
		return r;
	openings_close(o, map);
	if (n == 0)
		return 0;
	o->keys = calloc(n, sizeof(*o->keys));
	if (!o->keys)
		return fault_set(f, -ENOMEM, "no memory");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = openings_add(o, map, netns, all, n, i);
	if (r < 0)
		openings_close(o, map);
	return r < 0 ? fault_set(f, r, "cannot open what the policy opens: %s", strerror(-r)) : 0;
}

void openings_close(struct openings *o, int map)
{
	for (size_t i = 0; i < o->n; i++)
		(void)bpf_map_delete_elem(map, &o->keys[i]); /* two openings may share a key */
	free(o->keys);
	*o = (struct openings){NULL, 0};
}
