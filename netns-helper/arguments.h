/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arguments.h – the command line of sallyport-netns, by one typed table. */
#ifndef SALLYPORT_ARGUMENTS_H
#define SALLYPORT_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "netns-helper/proto.h"

enum { ARGUMENTS_LIST = 256 };

/* An option that may come several times. */
struct arguments_list {
	const char *items[ARGUMENTS_LIST];
	size_t n;
};

/* Borrowed from argv. What was not given is NULL, false, empty or the default of the table. */
struct arguments {
	const char *state, *daemon_user, *id, *netns, *cgroup, *policy, *mode, *bounding, *lane,
		*user, *trust, *outage;
	bool private, hold, own_cgroup, strict, daemon;
	struct arguments_list search, unix_paths, env, hide, share;
	char **rest; /* after --; NULL-terminated */
};

enum arguments_command {
	ARGUMENTS_SERVE = 1,
	ARGUMENTS_ATTACH = 2,
	ARGUMENTS_DETACH = 4,
	ARGUMENTS_LIST_ALL = 8,
	ARGUMENTS_ENTER = 16,
	ARGUMENTS_HELP = 32,
};

/*
 * Reads [--state DIR] COMMAND [OPTION…] [-- WORD…]. The command (--help and -h are ARGUMENTS_HELP), or -EINVAL after having said on
 * standard error which option was wrong and why.
 */
int arguments_parse(int argc, char **argv, struct arguments *ret);

/* Whether `serve` was told --outage wait. */
bool arguments_wait(const struct arguments *a);

/* Prints what there is to standard output. */
void arguments_help(void);

#endif
