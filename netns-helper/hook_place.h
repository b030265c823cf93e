/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_place.h – where a container's first process is, while the runtime keeps it waiting: what is attached of it. */
#ifndef SALLYPORT_HOOK_PLACE_H
#define SALLYPORT_HOOK_PLACE_H

#include <sys/types.h>

#include "base/fault.h"

struct hook_place {
	int netns, mounts, cgroup; /* owned: namespaces, and the cgroup's directory */
};

/*
 * 0, or -errno with the reason: -ESRCH it is gone; -EINVAL: it shares the network or the mounts with us, or its cgroup
 * with anybody. hook_place_done() at the end in any case.
 */
int hook_place_find(pid_t pid, struct fault *fault, struct hook_place *ret);
void hook_place_done(struct hook_place *p);

#endif
