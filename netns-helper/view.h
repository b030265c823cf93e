/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.h – what a program in a sandbox sees of the file system, in a mount namespace of its own. */
#ifndef SALLYPORT_VIEW_H
#define SALLYPORT_VIEW_H

#include "netns-helper/proto.h"

#include "base/fault.h"

#define VIEW_TRUST "trust" /* where in the state directory the trust directory appears */

struct view_spec {
	const char *state; /* hidden, but for the trust directory */
	const char *trust; /* appears as STATE/trust, read-only; NULL = none */
	const char (*search)[PROTO_NAME]; /* PROTO_SEARCH domains for resolv.conf */
};

/*
 * In a new mount and pid namespace: hides state directories and sockets that lead outside, puts
 * resolv.conf and trust/bundle.pem in place, mounts a /proc of its own, makes /sys and the cgroup
 * tree read-only. 0 or -errno.
 */
int view_set_up(const struct view_spec *spec, struct fault *fault);

#endif
