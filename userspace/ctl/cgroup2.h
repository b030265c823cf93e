/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup2.h – where the cgroup v2 tree is mounted, beside v1 or alone. */
#ifndef SALLYPORT_CTL_CGROUP2_H
#define SALLYPORT_CTL_CGROUP2_H

#include <stddef.h>
#include <sys/types.h>

/* The mount point, in n bytes. 0, -ENOENT when there is none, another -errno. */
int cgroup2_mount(char *ret, size_t n);

/* The path of a process below the mount point, `/…`, in n bytes. 0 or -errno. */
int cgroup2_of(pid_t pid, char *ret, size_t n);

#endif
