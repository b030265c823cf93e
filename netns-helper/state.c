/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.c – see state.h. Sockets are reached through /proc/self/fd/N, as a path may be longer than
 * sun_path (108). #syscalls: mkdir open flock fchown fchmod statfs mount umount2 socket bind listen
 * connect unlinkat
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "netns-helper/pins.h"
#include "netns-helper/state.h"

#include "base/cleanup.h"

enum { STATE_BACKLOG = 64, STATE_DEPTH = 8, STATE_MODE = 0750, STATE_BPF_MODE = 0700 };

int state_open(const char *path, gid_t group, struct fault *fault, struct state *ret)
{
	_cleanup_close_ int dir = -1;
	char resolved[PATH_MAX];
	bool made = mkdir(path, STATE_MODE) == 0;

	if (!made && errno != EEXIST)
		return fault_set(fault, -errno, "--state: %s: %s", path, strerror(errno));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fault_set(fault, -errno, "--state: %s: %s", path, strerror(errno));
	if (made && (fchown(dir, 0, group) < 0 || fchmod(dir, STATE_MODE) < 0))
		return fault_set(fault, -errno, "--state: %s: %s", path, strerror(errno));
	if (flock(dir, LOCK_EX | LOCK_NB) < 0)
		return fault_set(fault, -EBUSY, "--state: another helper serves in %s", path);
	if (!realpath(path, resolved))
		return fault_set(fault, -errno, "--state: %s: %s", path, strerror(errno));
	memcpy(ret->path, resolved, sizeof(ret->path));
	ret->dir = TAKE_FD(dir);
	ret->made = made;
	ret->mounted = false;
	return 0;
}

static void state_bpf_path(const struct state *s, char ret[PATH_MAX + 8])
{
	(void)snprintf(ret, PATH_MAX + 8, "%s/" STATE_BPF, s->path);
}

int state_mount(struct state *s, struct fault *fault)
{
	char path[PATH_MAX + 8];
	struct statfs fs;

	state_bpf_path(s, path);
	if (mkdir(path, STATE_BPF_MODE) < 0 && errno != EEXIST)
		return fault_set(fault, -errno, "cannot make %s: %s", path, strerror(errno));
	/* The lock is ours, so whoever mounted this is dead. Its pins would not go with the mount
	 * while another mount namespace has a copy of it. */
	while (statfs(path, &fs) == 0 && fs.f_type == BPF_FS_MAGIC) {
		pins_clear_at(path);
		if (umount2(path, MNT_DETACH) < 0)
			return fault_set(fault, -errno, "cannot unmount the old %s: %s", path,
				strerror(errno));
	}
	if (mount("sallyport", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") < 0)
		return fault_set(
			fault, -errno, "cannot mount a bpffs at %s: %s", path, strerror(errno));
	s->mounted = true;
	return 0;
}

static int state_address(int dir, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	return snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", dir, name) <
			       (int)sizeof(ret->sun_path)
		       ? 0
		       : -ENAMETOOLONG;
}

static int state_bind(const struct state *s, const char *name, mode_t mode, gid_t group)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at;
	int r = state_address(s->dir, name, &at);

	if (fd < 0)
		return -errno;
	if (r < 0)
		return r;
	(void)unlinkat(s->dir, name, 0); /* what a dead helper left */
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	if (fchownat(s->dir, name, 0, group, AT_SYMLINK_NOFOLLOW) < 0 ||
		fchmodat(s->dir, name, mode, 0) < 0 || listen(fd, STATE_BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int state_listen(
	const struct state *s, const char *name, mode_t mode, gid_t group, struct fault *fault)
{
	int fd = state_bind(s, name, mode, group);

	if (fd < 0)
		return fault_set(
			fault, fd, "cannot listen at %s/%s: %s", s->path, name, strerror(-fd));
	return fd;
}

/* Empties a directory; neither symbolic links nor mounts are followed, as rmdir of a mount point
 * fails. */
static void state_empty(int dir, int depth)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!entries) {
		cleanup_close(&copy);
		return;
	}
	while ((entry = readdir(entries))) {
		_cleanup_close_ int child = -1;
		struct stat own, st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dir, entry->d_name, 0) == 0 || depth == 0)
			continue;
		child = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child < 0 || fstat(child, &st) < 0 || fstat(dir, &own) < 0 ||
			st.st_dev != own.st_dev)
			continue;
		state_empty(child, depth - 1);
		(void)unlinkat(
			dir, entry->d_name, AT_REMOVEDIR); /* what stays is seen by who looks */
	}
	(void)closedir(entries); /* only read */
}

void state_close(struct state *s, bool all)
{
	char path[PATH_MAX + 8];

	state_bpf_path(s, path);
	if (s->mounted)
		(void)umount2(
			path, MNT_DETACH); /* a reader may still look at a pin; it ends with him */
	s->mounted = false;
	(void)rmdir(path); /* these may never have been made */
	(void)unlinkat(s->dir, STATE_HELPER_SOCK, 0);
	(void)unlinkat(s->dir, STATE_LINK_SOCK, 0);
	if (all)
		state_empty(s->dir, STATE_DEPTH);
	if (all || s->made)
		(void)rmdir(s->path); /* the daemon's files may be in it */
	(void)close(s->dir); /* gives the lock back */
	s->dir = -1;
}

int state_connect(const char *path, const char *name)
{
	_cleanup_close_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	struct sockaddr_un at;
	int r;

	if (dir < 0)
		return -errno;
	r = state_address(dir, name, &at);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return TAKE_FD(fd);
}
