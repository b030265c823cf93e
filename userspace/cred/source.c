/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c – see source.h. Everything is judged on the descriptor that was opened, never on the
 * path, so that nothing can be exchanged between the look and the read; a file that changed while
 * it was read is read again later. #syscalls: openat newfstatat fstat read close
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cred/source.h"

enum { SOURCE_STEP = 4096, SOURCE_NAME = 64 };

static void source_mark_of(const struct stat *st, struct source_mark *ret)
{
	*ret = (struct source_mark){st->st_dev, st->st_ino, st->st_size, st->st_mtim, st->st_ctim};
}

static bool source_time_same(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool source_mark_same(const struct source_mark *a, const struct source_mark *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       source_time_same(a->mtime, b->mtime) && source_time_same(a->ctime, b->ctime);
}

int source_mark(const char *path, struct source_mark *ret)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	source_mark_of(&st, ret);
	return 0;
}

static const char *source_user(uid_t uid, char ret[SOURCE_NAME])
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		(void)snprintf(ret, SOURCE_NAME, "%s", pw->pw_name);
	else
		(void)snprintf(ret, SOURCE_NAME, "%u", uid);
	return ret;
}

static const char *source_group(gid_t gid, char ret[SOURCE_NAME])
{
	const struct group *gr = getgrgid(gid);

	if (gr)
		(void)snprintf(ret, SOURCE_NAME, "%s", gr->gr_name);
	else
		(void)snprintf(ret, SOURCE_NAME, "%u", gid);
	return ret;
}

static int source_stranger(const char *path, const struct stat *st,
	const struct source_trust *trust, struct fault *fault)
{
	char owner[SOURCE_NAME], group[SOURCE_NAME], is[SOURCE_NAME], of[SOURCE_NAME];

	(void)source_user(trust->owner, owner);
	(void)source_group(trust->group, group);
	return fault_set(fault, -EPERM,
		"%s: belongs to %s:%s, but a file with credentials must belong to %s and to group "
		"root or %s (chown %s:%s %s)",
		path, source_user(st->st_uid, is), source_group(st->st_gid, of), owner, group,
		owner, group, path);
}

static int source_judge(const char *path, const struct stat *st, const struct source_trust *trust,
	struct fault *fault)
{
	if (!S_ISREG(st->st_mode))
		return fault_set(fault, -EINVAL, "%s: not a regular file", path);
	if (st->st_uid != trust->owner || (st->st_gid != 0 && st->st_gid != trust->group))
		return fault ? source_stranger(path, st, trust, fault) : -EPERM;
	if (st->st_mode & 07777 & ~0640)
		return fault_set(fault, -EPERM,
			"%s: mode %04o, but others could read or change it (chmod 0640 %s)", path,
			st->st_mode & 07777, path);
	return 0;
}

static int source_take(int fd, const char *name, struct fault *fault, struct buf *ret)
{
	for (;;) {
		size_t room = buf_room(ret), step = room < SOURCE_STEP ? room : SOURCE_STEP;
		uint8_t spare, *to = step ? buf_reserve(ret, step) : &spare;
		ssize_t n;

		if (!to)
			return -ENOMEM;
		n = read(fd, to, step ? step : 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_set(
				fault, -errno, "%s: cannot be read: %s", name, strerror(errno));
		if (n == 0)
			return 0;
		if (step == 0)
			return fault_set(fault, -EFBIG, "%s: too large", name);
		buf_commit(ret, (size_t)n);
	}
}

int source_read(const char *path, const struct source_trust *trust, struct fault *fault,
	struct buf *ret, struct source_mark *ret_mark)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct source_mark before, after;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_set(fault, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	r = source_judge(path, &st, trust, fault);
	if (r < 0)
		return r;
	source_mark_of(&st, &before);
	r = source_take(fd, path, fault, ret);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	source_mark_of(&st, &after);
	if (!source_mark_same(&before, &after))
		return fault_set(fault, -EAGAIN, "%s: changed while it was read", path);
	*ret_mark = after;
	return 0;
}

int source_read_fd(int fd, const char *name, struct fault *fault, struct buf *ret)
{
	return source_take(fd, name, fault, ret);
}
