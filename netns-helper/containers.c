/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * containers.c – see containers.h. The hook attaches while the container's first process waits in the cgroup, so an
 * empty one is one that everybody has left; a self-test's process shows for a moment and is looked past the next time.
 * #syscalls: openat read close
 */
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>

#include "netns-helper/containers.h"
#include "netns-helper/sandboxes.h"

#include "base/log.h"

enum { CONTAINERS_MS = 1000 };

struct sandbox *containers_find(const struct sandboxes *s, uint64_t owner)
{
	for (struct sandbox *one = s->first; one && owner; one = one->next)
		if (one->owner == owner && one->state != SANDBOX_GONE && !one->asked_end.tell)
			return one;
	return NULL;
}

int containers_tick(struct sandboxes *s, uint64_t now)
{
	bool any = false, due = now >= s->containers_ms;

	for (struct sandbox *one = s->first; one; one = one->next) {
		if (!one->owner || one->state != SANDBOX_ACTIVE || one->proving)
			continue;
		if (!due || cgroup_populated(one->attachment->cgroup_fd)) {
			any = true;
			continue;
		}
		log_info("sandbox %s: its container has ended", one->attachment->id);
		sandboxes_end(s, one, -ECANCELED, "its container has ended",
			(struct sandbox_listener){NULL, NULL});
	}
	if (due)
		s->containers_ms = now + CONTAINERS_MS;
	return any ? (int)(s->containers_ms - now) : -1;
}
