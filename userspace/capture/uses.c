/* SPDX-License-Identifier: Apache-2.0 */
/* uses.c – see uses.h. The control thread alone writes: a read and a write of an entry cannot be torn apart. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "bpf/capture.h"
#include "capture/uses.h"

/* As bpf_ktime_get_ns() has it, which the other maps' times are of. */
static uint64_t uses_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int uses_add(int map, uint64_t netns, const char *credential, const char *host, uint64_t n,
	bool may_be_new)
{
	struct capture_use_key key = {.netns = netns};
	struct capture_use use = {0};
	bool is_new = false;

	(void)snprintf(key.credential, sizeof(key.credential), "%s", credential);
	(void)snprintf(key.host, sizeof(key.host), "%s", host);
	if (bpf_map_lookup_elem(map, &key, &use) < 0) {
		if (errno != ENOENT)
			return -errno;
		if (!may_be_new)
			return -EDQUOT;
		is_new = true;
	}
	use.count += n;
	use.ns = uses_now();
	return bpf_map_update_elem(map, &key, &use, BPF_ANY) < 0 ? -errno : is_new;
}

void uses_prune(int map, bool (*keep)(void *arg, uint64_t netns), void *arg)
{
	struct capture_use_key key, next;
	bool more = bpf_map_get_next_key(map, NULL, &key) == 0;

	while (more) {
		/* the next one first: behind an entry that is gone the walk would begin again */
		more = bpf_map_get_next_key(map, &key, &next) == 0;
		if (!keep(arg, key.netns))
			(void)bpf_map_delete_elem(map, &key); /* a race with nobody */
		key = next;
	}
}
