/* SPDX-License-Identifier: Apache-2.0 */
/* file.c – see file.h. #syscalls: openat read write fsync fchmod renameat unlink mkdir stat */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

int file_read(const char *path, struct buf *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (;;) {
		size_t room = buf_room(ret);
		uint8_t *to = room ? buf_reserve(ret, room < 4096 ? room : 4096) : NULL;
		uint8_t over;
		ssize_t n;

		if (room && !to)
			return -ENOMEM;
		n = to ? read(fd, to, room < 4096 ? room : 4096) : read(fd, &over, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (!to)
			return -EFBIG;
		buf_commit(ret, (size_t)n);
	}
}

static int file_write_all(int fd, struct slice s)
{
	while (s.n) {
		ssize_t n = write(fd, s.p, s.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		s = slice_skip(s, (size_t)n);
	}
	return 0;
}

static int file_sync_directory(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	_cleanup_close_ int fd = -1;

	if (strlen(path) >= sizeof(dir))
		return -ENAMETOOLONG;
	strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (!slash)
		strcpy(dir, ".");
	else if (slash != dir)
		*slash = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

int file_replace(const char *path, mode_t mode, struct slice bytes)
{
	char temporary[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int n = snprintf(temporary, sizeof(temporary), "%s.new", path), r;

	if (n < 0 || (size_t)n >= sizeof(temporary))
		return -ENAMETOOLONG;
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, mode) < 0 ? -errno
				 : file_write_all(fd, bytes); /* the umask does not decide */
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlink(temporary);
		return r;
	}
	return file_sync_directory(path);
}

int file_mkdir(const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return 0;
	if (errno != EEXIST || stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}
