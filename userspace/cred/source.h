/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h – reading a file that holds credentials: only if nobody else could have written it or
 * can read it. A path may go through symbolic links (mounted secrets are); what is checked is the
 * file that was opened.
 */
#ifndef SALLYPORT_CRED_SOURCE_H
#define SALLYPORT_CRED_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/fault.h"

struct buf;

/* Who may own such a file: the owner, and its group is root's or that one; the mode is 0640 or
 * stricter. */
struct source_trust {
	uid_t owner; /* 0, but for tests */
	gid_t group; /* the daemon's */
};

/* Tells one state of a file from the next. All zero = never read. */
struct source_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
};

bool source_mark_same(const struct source_mark *a, const struct source_mark *b);

/* The file's mark now. 0 or -errno. */
int source_mark(const char *path, struct source_mark *ret);

/*
 * Appends the file's bytes to ret (at most its room; a byte more is -EFBIG). The fault names the
 * file and, where that helps, the chown or chmod to run; owners are looked up by name for it, which
 * a thread behind a filter may not do: NULL = no words. -EACCES (we may not read it), -ENOENT,
 * -EPERM (owner, group or mode), -EINVAL (not a regular file), -EAGAIN (it changed meanwhile), or
 * another -errno.
 */
int source_read(const char *path, const struct source_trust *trust, struct fault *fault,
	struct buf *ret, struct source_mark *ret_mark);

/* The same for an inherited descriptor, whose opener has judged it. `name` is used in messages. */
int source_read_fd(int fd, const char *name, struct fault *fault, struct buf *ret);

#endif
