/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup2.c – see cgroup2.h, proc(5), cgroups(7). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/cgroup2.h"

int cgroup2_mount(char *ret, size_t n)
{
	char line[1024], where[512], kind[64];
	FILE *mounts = fopen("/proc/mounts", "re");
	int r = -ENOENT;

	if (!mounts)
		return -errno;
	while (r == -ENOENT && fgets(line, sizeof(line), mounts)) {
		if (sscanf(line, "%*s %511s %63s", where, kind) != 2 ||
			strcmp(kind, "cgroup2") != 0)
			continue;
		r = (size_t)snprintf(ret, n, "%s", where) < n ? 0 : -ENAMETOOLONG;
	}
	(void)fclose(mounts);
	return r;
}

int cgroup2_of(pid_t pid, char *ret, size_t n)
{
	char line[1024], path[64];
	FILE *file;
	int r = -ENOENT;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (r == -ENOENT && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0::", 3) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		r = (size_t)snprintf(ret, n, "%s", line + 3) < n ? 0 : -ENAMETOOLONG;
	}
	(void)fclose(file);
	return r;
}
