/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_bundle.h – a container's config.json (runtime-spec), as far as the hook looks into it. */
#ifndef SALLYPORT_HOOK_BUNDLE_H
#define SALLYPORT_HOOK_BUNDLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

struct json_t;

struct hook_bundle {
	struct json_t *config; /* owned; the next three lead into it, NULL = not there */
	struct json_t *annotations;
	struct json_t *environment; /* an array */
	struct json_t *seccomp;
	char root[PATH_MAX]; /* of its file system, absolute */
	uint64_t bounding; /* capabilities that its processes may come by, 1 << CAP_... */
	bool network; /* it has a network namespace of its own, or joins one */
};

/* Reads DIRECTORY/config.json. 0, or -errno with the reason. hook_bundle_done() at the end in any case. */
int hook_bundle_load(const char *directory, struct fault *fault, struct hook_bundle *ret);
/* The same of a document, which is taken over; a relative root is one of the directory. */
int hook_bundle_take(
	struct json_t *config, const char *directory, struct fault *fault, struct hook_bundle *ret);
void hook_bundle_done(struct hook_bundle *b);

/* The value of that variable of the container's process, or NULL; the last counts. */
const char *hook_bundle_variable(const struct hook_bundle *b, const char *name);

#endif
