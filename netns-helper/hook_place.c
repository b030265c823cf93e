/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_place.c – see hook_place.h. Everything is opened below one descriptor of /proc/PID, so that it is of one process;
 * that it is the right one holds as the runtime, its parent, waits for us and reaps nothing.
 * #syscalls: openat fstat read
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/cgroup.h"
#include "netns-helper/hook_place.h"

#include "base/cleanup.h"

static const char hook_place_alone[] =
	"let the runtime make one for each container (linux.cgroupsPath; with Podman neither "
	"--cgroups=disabled nor --cgroups=no-conmon)";

/* A namespace of the process, which must not be ours. A descriptor, or -errno with the reason. */
static int hook_place_namespace(int proc, const char *name, const char *shared, struct fault *fault)
{
	char path[32];
	_cleanup_close_ int fd = -1;
	struct stat theirs, ours;

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name); /* a name is short */
	if (stat(path, &ours) < 0)
		return fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	fd = openat(proc, path + strlen("/proc/self/"), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &theirs) < 0)
		return fault_set(
			fault, -ESRCH, "the container's process is gone: %s", strerror(errno));
	if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)
		return fault_set(fault, -EINVAL, "%s", shared);
	return TAKE_FD(fd);
}

static int hook_place_cgroup(pid_t pid, struct fault *fault)
{
	char mount[PATH_MAX], full[PATH_MAX + CGROUP_PATH];
	_cleanup_close_ int fd = -1;
	struct cgroup_path path;
	int r = cgroup_of(pid, &path);

	if (r < 0)
		return fault_set(fault, r,
			r == -ESRCH ? "the container's process is gone"
				    : "the container's process has no cgroup v2");
	r = cgroup_mount(mount);
	if (r < 0)
		return fault_set(fault, r,
			"the cgroup v2 tree is not mounted where the runtime is: mount -t cgroup2 "
			"none DIR");
	if (strcmp(path.text, "/") == 0)
		return fault_set(fault, -EINVAL,
			"the container's cgroup is /, in which everybody is: %s", hook_place_alone);
	if (strstr(path.text, "/../") || strncmp(path.text, "/..", 3) == 0)
		return fault_set(fault, -EINVAL,
			"the container's cgroup lies outside of the runtime's cgroup namespace: "
			"start the runtime in that of the machine");
	(void)snprintf(full, sizeof(full), "%s%s", mount, path.text); /* fits */
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_set(
			fault, -errno, "the container's cgroup %s: %s", path.text, strerror(errno));
	if (!cgroup_alone(fd, pid))
		return fault_set(fault, -EINVAL,
			"the container's cgroup %s holds more than the container: %s", path.text,
			hook_place_alone);
	return TAKE_FD(fd);
}

int hook_place_find(pid_t pid, struct fault *fault, struct hook_place *ret)
{
	_cleanup_close_ int proc = -1;
	char path[32];

	*ret = (struct hook_place){-1, -1, -1};
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid); /* fits */
	if (pid > 0)
		proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return fault_set(fault, -ESRCH,
			"the container's process (pid %d) is gone: start "
			"the container again",
			(int)pid);
	ret->netns = hook_place_namespace(proc, "net",
		"the container shares the network of the runtime, which is never attached: give it "
		"one of its own (--network none)",
		fault);
	if (ret->netns < 0)
		return ret->netns;
	ret->mounts = hook_place_namespace(
		proc, "mnt", "the container has no mount namespace of its own", fault);
	if (ret->mounts < 0)
		return ret->mounts;
	ret->cgroup = hook_place_cgroup(pid, fault);
	return ret->cgroup < 0 ? ret->cgroup : 0;
}

void hook_place_done(struct hook_place *p)
{
	cleanup_close(&p->netns);
	cleanup_close(&p->mounts);
	cleanup_close(&p->cgroup);
	*p = (struct hook_place){-1, -1, -1};
}
