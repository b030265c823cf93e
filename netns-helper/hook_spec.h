/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_spec.h – what is added to a container's config.json before the runtime reads it: variables, hooks. */
#ifndef SALLYPORT_HOOK_SPEC_H
#define SALLYPORT_HOOK_SPEC_H

#include <stddef.h>

#include "base/fault.h"

#define HOOK_SPEC_REFUSED "sallyport.refused"

enum { HOOK_SPEC_ID = 64 }; /* digits of the ids that engines make */

struct handout;
struct hook_bundle;
struct json_t;

/* The id that an engine gave the container, by its cgroup's path: there is no other place for it. Its 64 digits and NUL
 * into ret; 0, or -ENOENT with the reason. */
int hook_spec_container(
	const struct hook_bundle *b, struct fault *fault, char ret[HOOK_SPEC_ID + 1]);

/* Puts the handout's variables into the environment, in place of what was there, and those by which programs find the
 * CA. 0, or -errno with the reason. */
int hook_spec_environment(
	struct json_t *config, const struct handout *handout, struct fault *fault);

/* Adds this program as createRuntime and poststop hook, once; conf is the path of its configuration or NULL. As above. */
int hook_spec_hooks(struct json_t *config, const char *conf, struct fault *fault);

/* Notes that the container must not start, and why: the annotation HOOK_SPEC_REFUSED. 0, or -errno with the reason. */
int hook_spec_refuse(struct json_t *config, const char *why, struct fault *fault);
/* 0, or -EPERM with what was noted. */
int hook_spec_refused(const struct hook_bundle *b, struct fault *fault);

/* What of those variables the container lacks, as words, "" for nothing. */
void hook_spec_lacks(
	const struct hook_bundle *b, const struct handout *handout, char *ret, size_t size);

#endif
