/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup.c – see cgroup.h. A path is used only to remove the directory and to compare; everything
 * else goes through the descriptor. #syscalls: openat readlinkat fstatfs fstat read write kill
 * unlinkat
 */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "netns-helper/cgroup.h"

#include "base/cleanup.h"

enum { CGROUP_DEPTH = 16 }; /* directories below a sandbox's own that are cleared away */

/* /proc/self/mountinfo: "ID PARENT MAJ:MIN ROOT MOUNTPOINT OPTIONS [TAG…] - TYPE SOURCE SUPER",
 * proc(5). */
int cgroup_mount(char *ret)
{
	char line[2 * PATH_MAX + 512];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	int r = -ENOENT;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		char root[PATH_MAX], point[PATH_MAX];
		const char *type = strstr(line, " - ");

		if (!type || strncmp(type, " - cgroup2 ", 11) != 0)
			continue;
		if (sscanf(line, "%*d %*d %*s %4095s %4095s", root, point) != 2)
			continue;
		if (strcmp(root, "/") != 0)
			continue;
		memcpy(ret, point, strlen(point) + 1);
		r = 0;
		break;
	}
	(void)fclose(f); /* only read */
	return r;
}

static int cgroup_set(struct cgroup_path *ret, const char *path)
{
	if (strlen(path) >= sizeof(ret->text))
		return -ENAMETOOLONG;
	memcpy(ret->text, path, strlen(path) + 1);
	return 0;
}

int cgroup_of(pid_t pid, struct cgroup_path *ret)
{
	char name[64], line[PATH_MAX + 2];
	FILE *f;
	int r = -ENOENT;

	(void)snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::", 3) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		r = cgroup_set(ret, line + 3);
	}
	(void)fclose(f); /* only read */
	return r;
}

bool cgroup_inside(const char *path, const char *outer)
{
	size_t n = strlen(outer);

	if (strcmp(outer, "/") == 0)
		return true;
	return strncmp(path, outer, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

int cgroup_verify(int fd, struct fault *fault, struct cgroup_path *ret)
{
	char link[64], mount[PATH_MAX], full[PATH_MAX];
	struct cgroup_path path = {""}, own;
	struct statfs fs;
	struct stat st;
	size_t skip;
	ssize_t n;
	int r;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return fault_set(fault, -errno, "--cgroup: cannot be examined");
	r = cgroup_mount(mount);
	if (r < 0)
		return fault_set(fault, r,
			"the cgroup v2 tree is not mounted here: mount -t cgroup2 none DIR");
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return fault_set(fault, -EINVAL,
			"--cgroup: not a directory of the cgroup v2 tree: mkdir one below %s",
			mount);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, full, sizeof(full) - 1);
	if (n < 0)
		return fault_set(fault, -errno, "--cgroup: has no path");
	full[n] = '\0';
	skip = strlen(mount);
	if (strncmp(full, mount, skip) != 0 || (full[skip] != '/' && full[skip] != '\0'))
		return fault_set(
			fault, -EINVAL, "--cgroup: lies outside %s: mkdir one below it", mount);
	if (strcmp(full + skip, "") == 0 || strcmp(full + skip, "/") == 0)
		return fault_set(fault, -EINVAL,
			"--cgroup: is the root of the cgroup v2 tree, in which everybody is: mkdir "
			"one below %s",
			mount);
	r = cgroup_set(&path, full + skip);
	if (r < 0)
		return fault_set(fault, r, "--cgroup: its path is longer than %d characters",
			CGROUP_PATH - 1);
	if (cgroup_same(fd, path.text) < 0)
		return fault_set(fault, -ENOENT,
			"--cgroup: was removed meanwhile: make it again and start the sandbox in "
			"it");
	r = cgroup_of(getpid(), &own);
	if (r < 0)
		return fault_set(fault, r, "the helper's own cgroup cannot be read");
	if (cgroup_inside(own.text, path.text))
		return fault_set(fault, -EINVAL,
			"--cgroup: the helper itself is inside: take one that holds the sandbox "
			"alone");
	*ret = path;
	return 0;
}

static int cgroup_each_of(int fd, const char *file, int (*each)(pid_t pid, void *arg), void *arg)
{
	_cleanup_close_ int procs = openat(fd, file, O_RDONLY | O_CLOEXEC);
	FILE *f;
	int pid, n, r = 0;

	if (procs < 0)
		return -errno;
	f = fdopen(procs, "r");
	if (!f)
		return -errno;
	procs = -1;
	errno = 0;
	while (r == 0 && (n = fscanf(f, "%d", &pid)) == 1)
		r = each(pid, arg);
	if (r == 0 && errno)
		r = -errno;
	(void)fclose(f); /* only read */
	return r;
}

static int cgroup_kill_one(pid_t pid, void *arg)
{
	(void)arg; /* none is wanted */
	if (pid > 0)
		(void)kill(pid, SIGKILL); /* it may have ended by itself */
	return 0;
}

int cgroup_kill(int fd)
{
	_cleanup_close_ int all = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (all < 0)
		return errno == ENOENT ? cgroup_each_of(fd, "cgroup.procs", cgroup_kill_one, NULL)
				       : -errno;
	return write(all, "1", 1) == 1 ? 0 : -errno;
}

/* Reads a control file; the length or -errno. */
static ssize_t cgroup_read(int fd, const char *name, char *ret, size_t size)
{
	_cleanup_close_ int file = openat(fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (file < 0)
		return -errno;
	n = read(file, ret, size - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return n;
}

bool cgroup_alone(int fd, pid_t pid)
{
	char procs[64], stat[256], wanted[32];

	if (cgroup_read(fd, "cgroup.procs", procs, sizeof(procs)) < 0 ||
		cgroup_read(fd, "cgroup.stat", stat, sizeof(stat)) < 0)
		return false;
	(void)snprintf(wanted, sizeof(wanted), "%d\n", (int)pid);
	return strcmp(procs, wanted) == 0 && strncmp(stat, "nr_descendants 0\n", 17) == 0;
}

static bool cgroup_event(int fd, const char *event)
{
	char text[256];

	return cgroup_read(fd, "cgroup.events", text, sizeof(text)) >= 0 && strstr(text, event);
}

bool cgroup_populated(int fd)
{
	return cgroup_event(fd, "populated 1");
}

bool cgroup_frozen(int fd)
{
	return cgroup_event(fd, "frozen 1");
}

static int cgroup_each_below(int fd, int depth, int (*each)(pid_t pid, void *arg), void *arg)
{
	int copy, r = cgroup_each_of(fd, "cgroup.procs", each, arg);
	const struct dirent *entry;
	DIR *dir;

	if (r == -EOPNOTSUPP) /* a threaded one does not tell processes */
		r = cgroup_each_of(fd, "cgroup.threads", each, arg);
	if (r != 0)
		return r;
	if (depth == 0)
		return -ELOOP;
	copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir) {
		r = -errno;
		cleanup_close(&copy);
		return r;
	}
	while (r == 0 && (entry = readdir(dir))) {
		_cleanup_close_ int child = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (child >= 0)
			r = cgroup_each_below(child, depth - 1, each, arg);
		else if (errno != ENOENT)
			r = -errno;
	}
	(void)closedir(dir); /* only read */
	return r;
}

int cgroup_each(int fd, int (*each)(pid_t pid, void *arg), void *arg)
{
	return cgroup_each_below(fd, CGROUP_DEPTH, each, arg);
}

/* A sandbox that may write its cgroup may have made others below: an empty cgroup holds only
 * control files. */
static int cgroup_remove_below(int fd, int depth)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	DIR *dir;
	int r = 0;

	if (copy < 0)
		return -errno;
	dir = fdopendir(copy);
	if (!dir) {
		r = -errno;
		(void)close(copy); /* only read */
		return r;
	}
	while ((entry = readdir(dir))) {
		_cleanup_close_ int child = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (child >= 0 && depth > 0)
			(void)cgroup_remove_below(child, depth - 1); /* the next line tells */
		if (unlinkat(fd, entry->d_name, AT_REMOVEDIR) < 0)
			r = -errno;
	}
	(void)closedir(dir); /* only read */
	return r;
}

/* The path as others see it, and whether it leads to fd: as cgroup_same(). */
static int cgroup_find(int fd, const char *path, char ret[2 * PATH_MAX])
{
	struct stat by_fd, by_path;
	char mount[PATH_MAX];
	int r = cgroup_mount(mount);

	if (r < 0)
		return r == -ENOENT ? -ENODEV : r;
	(void)snprintf(ret, 2 * PATH_MAX, "%s%s", mount, path); /* fits */
	if (fstat(fd, &by_fd) < 0 || stat(ret, &by_path) < 0)
		return -errno;
	return by_fd.st_ino != by_path.st_ino || by_fd.st_dev != by_path.st_dev ? -ESTALE : 0;
}

int cgroup_same(int fd, const char *path)
{
	char full[2 * PATH_MAX];

	return cgroup_find(fd, path, full);
}

int cgroup_remove(int fd, const char *path)
{
	char full[2 * PATH_MAX];
	int r = cgroup_find(fd, path, full);

	if (r < 0)
		return r == -ENOENT || r == -ESTALE
			       ? 0
			       : r; /* gone, or another one by that name: not ours */
	(void)cgroup_remove_below(fd, CGROUP_DEPTH); /* rmdir tells whether something is left */
	return rmdir(full) < 0 ? -errno : 0;
}
