/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h – the helper's part of the state directory: the lock that makes it the only helper there,
 * its sockets, the bpffs. Life: open → mount → listen → close.
 */
#ifndef SALLYPORT_STATE_H
#define SALLYPORT_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/fault.h"

#define STATE_DEFAULT     "/run/sallyport"
#define STATE_HELPER_SOCK "helper.sock"
#define STATE_LINK_SOCK   "link.sock"
#define STATE_BPF         "bpf"

struct state {
	char path[PATH_MAX]; /* absolute, resolved */
	int dir; /* owned; holds the lock */
	bool made; /* the directory is ours, and goes when it is empty */
	bool mounted; /* the bpffs is ours */
};

/* Makes the directory if need be (0750 root:group), locks it. -EBUSY: another helper serves there.
 * 0 or -errno. */
int state_open(const char *path, gid_t group, struct fault *fault, struct state *ret);

/* Mounts a bpffs of its own at STATE/bpf, in place of one that a dead helper left. 0 or -errno. */
int state_mount(struct state *s, struct fault *fault);

/* A listening SOCK_SEQPACKET socket of that name in the directory. A descriptor, or -errno. */
int state_listen(
	const struct state *s, const char *name, mode_t mode, gid_t group, struct fault *fault);

/* Removes the sockets and the mount; with `all` the directory and everything in it. */
void state_close(struct state *s, bool all);

/* Connects to a socket in a state directory. A descriptor, or -errno. */
int state_connect(const char *path, const char *name);

#endif
