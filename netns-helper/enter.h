/* SPDX-License-Identifier: GPL-2.0-or-later */
/* enter.h – a command inside a sandbox, and the process outside that waits for it. */
#ifndef SALLYPORT_ENTER_H
#define SALLYPORT_ENTER_H

#include <stddef.h>

#include "netns-helper/proto.h"

enum {
	ENTER_FAILED = 125, /* exit statuses as of env(1): entering failed, cannot be executed, was
			       not found */
	ENTER_CANNOT = 126,
	ENTER_ABSENT = 127,
};

struct enter_spec {
	const char *state; /* the state directory, resolved */
	const char *id; /* the sandbox, whose handout is used */
	int netns_fd; /* borrowed, as the next */
	int cgroup_fd;
	const char (*search)[PROTO_NAME]; /* PROTO_SEARCH domains */
	const char *user; /* NULL: SUDO_USER, or else nobody */
	const char *trust; /* NULL or a directory with files of view.h */
	const char *const *hide; /* files that the command sees empty */
	size_t nhide;
	const char *const *share; /* what of the machine's /tmp and the like it sees, scratch.h */
	size_t nshare;
	const char *const *env; /* "NAME=VALUE", or "NAME" for the caller's value */
	size_t nenv;
	char **command; /* NULL-terminated, not empty */
};

/* Runs the command and returns its exit status, 128 + n when signal n ended it, or ENTER_…. Logs
 * its own failures. */
int enter(const struct enter_spec *spec);

#endif
