/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.h – what a program in a sandbox sees of the file system, in a mount namespace of its own. */
#ifndef SALLYPORT_VIEW_H
#define SALLYPORT_VIEW_H

#include <limits.h>
#include <stdbool.h>

#include "netns-helper/proto.h"

#include "base/fault.h"
#include "base/slice.h"

#define VIEW_TRUST  "trust" /* where in the state directory the trust directory appears */
#define VIEW_CA     "ca.pem" /* in the trust directory, or in the state directory */
#define VIEW_BUNDLE "bundle.pem" /* likewise */

enum { VIEW_PATH = PATH_MAX + 32 };

struct view_spec {
	const char *state; /* hidden, but for what is put there */
	struct slice ca; /* the sandbox's CA as PEM; empty = none, and no bundle is made */
	const char *trust; /* appears as STATE/trust, read-only; NULL = none */
	const char (*search)[PROTO_NAME]; /* PROTO_SEARCH domains for resolv.conf */
	const char *const *hide; /* files that are covered by /dev/null */
	size_t nhide;
	const char *const *share; /* what the command sees of /tmp and the like (scratch.h) */
	size_t nshare;
	const char *directory; /* the current one, which is shared too; NULL = none */
};

/*
 * In a new mount and pid namespace: makes /tmp and the like its own, hides state directories, sockets
 * that lead outside and the files to hide, makes STATE/ca.pem and STATE/bundle.pem (the system's bundle and the CA) and
 * covers the system's bundles with the latter, or with that of the trust directory, puts
 * resolv.conf in place, mounts a /proc of its own, makes /sys and the cgroup tree read-only. 0 or
 * -errno.
 */
int view_set_up(const struct view_spec *spec, struct fault *fault);

/* Inside: the path of VIEW_CA or VIEW_BUNDLE, in the trust directory before the one made here.
 * Whether there is one. */
bool view_find(const char *state, const char *name, char ret[VIEW_PATH]);

#endif
