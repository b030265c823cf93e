/* SPDX-License-Identifier: GPL-2.0-or-later */
/* document.c – see document.h. #syscalls: memfd_create fstat pread read write fcntl openat */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/document.h"

#include "base/cleanup.h"
#include "base/limits.h"

int document_new(const char *name, const void *bytes, size_t n)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const char *p = bytes;

	if (fd < 0)
		return -errno;
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Reads to the end, by position when the descriptor is somebody else's, whose offset is not ours to
 * move. */
static int document_take(int fd, bool by_position, char **ret, size_t *ret_n)
{
	_cleanup_free_ char *bytes = malloc(LIMIT_DOCUMENT + 1);
	size_t n = 0;

	if (!bytes)
		return -ENOMEM;
	while (n <= LIMIT_DOCUMENT) {
		ssize_t got = by_position ? pread(fd, bytes + n, LIMIT_DOCUMENT + 1 - n, (off_t)n)
					  : read(fd, bytes + n, LIMIT_DOCUMENT + 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0) {
			char *fitting = realloc(bytes, n ? n : 1);

			*ret = fitting ? fitting : bytes; /* shrinking failed: it is only larger */
			*ret_n = n;
			bytes = NULL;
			return 0;
		}
		n += (size_t)got;
	}
	return -EMSGSIZE;
}

int document_text(int fd, char **ret, size_t *ret_n)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return document_take(fd, true, ret, ret_n);
}

int document_read(const char *name, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	size_t n;
	int r;

	if (fd < 0)
		return -errno;
	r = document_take(fd, false, &bytes, &n);
	return r < 0 ? r : document_new(name, bytes, n);
}
