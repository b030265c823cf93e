/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup.h – a sandbox's cgroup (v2): checked, its processes ended, removed; and whether a process
 * is inside.
 *
 * A machine may mount the v2 tree anywhere (hybrid ones at /sys/fs/cgroup/unified): it is looked
 * up, never assumed. Paths here are relative to that mount, as in the "0::" line of
 * /proc/PID/cgroup, without a trailing slash.
 */
#ifndef SALLYPORT_CGROUP_H
#define SALLYPORT_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/fault.h"

enum { CGROUP_PATH = 1024 }; /* a path and its NUL; a longer one is refused */

struct cgroup_path {
	char text[CGROUP_PATH]; /* "/sallyport.1.web" */
};

/* Where the v2 tree is mounted, into ret (PATH_MAX bytes). 0, -ENOENT when it is not mounted,
 * -errno. */
int cgroup_mount(char *ret);

/*
 * 0 when the descriptor is a directory of the v2 tree, not its root, and none that holds the
 * calling process; ret says where. -EINVAL, -ENAMETOOLONG, -errno.
 */
int cgroup_verify(int fd, struct fault *fault, struct cgroup_path *ret);

/* The v2 cgroup of a process. 0, -ESRCH when there is no such process, -ENAMETOOLONG, -errno. */
int cgroup_of(pid_t pid, struct cgroup_path *ret);

/* Whether `path` is `outer` or lies below it; these and the next are texts of struct cgroup_path. */
bool cgroup_inside(const char *path, const char *outer);

/* Sends SIGKILL to every process in it and below (cgroup.kill; where that is missing, one by one).
 * 0 or -errno. */
int cgroup_kill(int fd);

/* Whether that process is the only one in it, and no cgroup is below. False when that cannot be read. */
bool cgroup_alone(int fd, pid_t pid);

/* Whether a process is in it or below; false as well when that cannot be read. */
bool cgroup_populated(int fd);

/*
 * 0 when the path still leads to what fd is; -ENOENT: it was removed; -ESTALE: it was removed and another one made in
 * its place; -errno.
 */
int cgroup_same(int fd, const char *path);

/* Whether its processes are frozen; false as well when that cannot be read. */
bool cgroup_frozen(int fd);

/*
 * Calls `each` for every process in it and below, until one call does not return 0; that is
 * returned. A process of a pid namespace that is not ours has the number 0. 0 or -errno.
 */
int cgroup_each(int fd, int (*each)(pid_t pid, void *arg), void *arg);

/*
 * Removes the directory and the empty ones that the sandbox made below it, if the path still leads
 * to what fd is. 0 (also when it is gone already), -EBUSY while a process is inside, -errno.
 */
int cgroup_remove(int fd, const char *path);

#endif
