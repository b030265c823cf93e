/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_state.h – the container's state as an OCI runtime gives it to hooks (runtime-spec, "State"). */
#ifndef SALLYPORT_HOOK_STATE_H
#define SALLYPORT_HOOK_STATE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

enum { HOOK_STATE_ID = 1025 }; /* a container's id and NUL: runtimes allow 1024 */

struct json_t;

struct hook_state {
	char id[HOOK_STATE_ID];
	char bundle[PATH_MAX]; /* absolute */
	pid_t pid; /* of its first process, 0 = none was told */
	uint64_t
		owner; /* one number for a container from its creation to its end, and for no other; not 0 */
};

/* 0, or -EBADMSG or -ENOMEM with the reason. */
int hook_state_take(struct json_t *document, struct fault *fault, struct hook_state *ret);

#endif
