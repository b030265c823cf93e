/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dialler.h – the programs of bpf/dialler.bpf.c on the daemon's own cgroup: where its sockets may go; of two while one takes over from the other. Life: new → for each
 * daemon guard → (they go when the process ends, not when it hangs up) → free.
 */
#ifndef SALLYPORT_NETNS_HELPER_DIALLER_H
#define SALLYPORT_NETNS_HELPER_DIALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct capture_opening;
struct dialler; /* NULL where there is no BPF: then nobody is guarded */
struct fault;
struct loop;
struct programs;
struct proto_dialler;

/* 0, or -errno with the reason. Both are borrowed. remove: the cgroup goes with the process. */
int dialler_new(struct programs *programs, struct loop *loop, bool remove, struct fault *f,
	struct dialler **ret);
/* Takes the programs off. Takes NULL. */
void dialler_free(struct dialler *d);

enum { DIALLER_PROCESSES = 2 }; /* guarded at once */

/*
 * Whether a process that is guarded still lives, another one than this and `other` (0 = none), which is connected: no third
 * may be a daemon until it is gone.
 */
bool dialler_busy(struct dialler *d, pid_t pid, pid_t other);

/*
 * Puts the programs on the cgroup of the process, if that holds nothing else; nothing to do for one that is guarded already.
 * 0, or -errno with the reason: it is not guarded.
 */
int dialler_guard(struct dialler *d, pid_t pid, struct fault *f);

/*
 * What the process said about its resolvers. The first time all that it says holds; from then on, as long as it lives, only
 * entries of port 53 may change: what has taken it over cannot open itself a way. A metadata address only at port 53. 0,
 * -EPROTO for what is not acceptable, another -errno.
 */
int dialler_resolvers(struct dialler *d, pid_t pid, const struct proto_dialler *said);

/* What the policies of all sandboxes open; see dial_openings_replace(). */
int dialler_open(struct dialler *d, struct capture_opening *all, size_t n, struct fault *f);

#endif
