/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch.h – the directories in which anybody may make files and sockets: a sandbox has its own, but for what is
 * shared. Life: scratch_open → scratch_mount → scratch_directory … → scratch_close.
 */
#ifndef SALLYPORT_SCRATCH_H
#define SALLYPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

enum { SCRATCH_ROWS = 4 };

struct scratch_share {
	const char *path; /* borrowed */
	int tree; /* a copy of its mount, which is nowhere yet; -1 = its scratch directory stays whole */
	bool folder;
};

struct scratch {
	int was[SCRATCH_ROWS]; /* the machine's directories; -1 = there is none, or it stays */
	struct scratch_share *shares;
	size_t n;
};

/* Whether the path is one of the directories, or lies in one. */
bool scratch_holds(const char *path);
/* Whether it is one. */
bool scratch_is(const char *path);

/* Takes hold of what is shared, and of `directory` (NULL = none) unless it is a scratch directory itself or in none,
 * before anything covers them. 0 or -errno. */
int scratch_open(struct scratch *s, const char *const *shares, size_t n, const char *directory,
	struct fault *fault);

/* In a mount namespace of its own: mounts the directories and what is shared in them. 0 or -errno. */
int scratch_mount(struct scratch *s, struct fault *fault);

/* Makes a directory that the machine has if it lies in one of ours, with what it lies in. 0 or -errno. */
int scratch_directory(const struct scratch *s, const char *path);

void scratch_close(struct scratch *s);

#endif
