/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.c – the audit file, see audit.h.
 *
 * Owns: one descriptor, opened for appending, and a buffer for one line. Every line goes out by one
 * write(2); what the disk took of a line that it could not take whole is cut off again, so that a
 * reader only ever sees whole lines.
 *
 * Lost events are told before the next line that can be written: order and the hole are both
 * visible in the file.
 *
 * Not synced to the disk: a record that survives the daemon is what is promised, not one that
 * survives the machine.
 *
 * While one daemon takes over from another, both append lines, each by one write(2); only the one that serves rotates.
 *
 * #syscalls: write ftruncate lseek fstat rename openat newfstatat close
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/event.h"
#include "base/cleanup.h"

struct audit {
	int fd;
	char *path;
	uint64_t size; /* of the file now */
	uint64_t limit; /* rotate beyond this; 0 never */
	uint64_t rotate_at; /* limit, or more after a rotation that failed */
	uint64_t written, lost;
	uint64_t told; /* of lost */
	int trouble_write, trouble_rotate;
	struct buf line;
	void (*find)(void *arg, const struct audit_client *client, struct audit_paths *ret);
	void *find_arg;
};

static int audit_open_file(const char *path, uint64_t *ret_size)
{
	_cleanup_close_ int fd = open(path,
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK,
		0640);
	struct stat st;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno; /* a fifo that nobody reads */
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_size = (uint64_t)st.st_size;
	return TAKE_FD(fd);
}

int audit_open(const char *path, uint64_t size, struct audit **ret)
{
	struct audit *a = calloc(1, sizeof(*a));
	int r = -ENOMEM;

	if (!a)
		return r;
	a->fd = -1;
	a->limit = a->rotate_at = size;
	buf_init(&a->line, AUDIT_LINE);
	a->path = strdup(path);
	if (a->path)
		r = audit_open_file(path, &a->size);
	if (r < 0) {
		audit_close(a);
		return r;
	}
	a->fd = r;
	*ret = a;
	return 0;
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	cleanup_close(&a->fd);
	buf_done(&a->line);
	free(a->path);
	free(a);
}

void audit_share(struct audit *a)
{
	a->limit = 0;
}

int audit_reopen(struct audit *a)
{
	uint64_t size;
	int fd = audit_open_file(a->path, &size);

	if (fd < 0)
		return fd;
	cleanup_close(&a->fd);
	a->fd = fd;
	a->size = size;
	a->rotate_at = a->limit;
	return 0;
}

/* PATH.from becomes PATH.to; from 0 is PATH itself. A file that is not there is no failure. */
static int audit_shift(const struct audit *a, unsigned from, unsigned to)
{
	_cleanup_free_ char *old = NULL, *new = NULL;

	if (from == 0)
		old = strdup(a->path);
	else if (asprintf(&old, "%s.%u", a->path, from) < 0)
		old = NULL;
	if (asprintf(&new, "%s.%u", a->path, to) < 0)
		new = NULL;
	if (!old || !new)
		return -ENOMEM;
	return rename(old, new) < 0 && errno != ENOENT ? -errno : 0;
}

/* The oldest falls off the end by being renamed over. On failure writing goes on in the file that
 * is open. */
static void audit_rotate(struct audit *a)
{
	int r = 0;

	for (unsigned to = AUDIT_KEPT; to > 0 && r == 0; to--)
		r = audit_shift(a, to - 1, to);
	if (r == 0)
		r = audit_reopen(a);
	a->trouble_rotate = r;
	if (r < 0)
		a->rotate_at = a->size + a->limit; /* not with every line again */
}

/*
 * Takes back the n bytes of a line that the disk had no room for the rest of, unless another daemon (while one takes over
 * from the other) has written behind them.
 */
static void audit_cut(struct audit *a, ssize_t n)
{
	off_t end = lseek(a->fd, 0, SEEK_CUR); /* behind what this descriptor appended last */
	struct stat st;

	if (end >= n && fstat(a->fd, &st) == 0 && st.st_size == end &&
		ftruncate(a->fd, end - n) == 0)
		return;
	a->size += (uint64_t)n; /* its start stays */
}

/* Appends one line to the file. */
static int audit_put(struct audit *a, const struct audit_event *e)
{
	struct audit_paths paths = {"", ""};
	struct slice line;
	ssize_t n;
	int r;

	if (a->find && e->client.attributed)
		a->find(a->find_arg, &e->client, &paths);
	r = audit_event_json(e, &paths, &a->line);
	if (r < 0)
		return r;
	line = buf_slice(&a->line);
	if (a->limit && a->size && a->size + line.n > a->rotate_at)
		audit_rotate(a);
	do
		n = write(a->fd, line.p, line.n);
	while (n < 0 && errno == EINTR);
	r = n == (ssize_t)line.n ? 0 : n < 0 ? -errno : -ENOSPC;
	if (r == 0)
		a->size += line.n;
	else if (n > 0)
		audit_cut(a, n);
	buf_consume(&a->line, line.n);
	return r;
}

static int audit_tell_lost(struct audit *a)
{
	struct audit_event e = {.kind = AUDIT_NOTICE, .lost = a->lost - a->told};
	int r;

	if (e.lost == 0)
		return 0;
	clock_wall_text(e.time);
	audit_text(e.reason, sizeof(e.reason), SLICE("events-lost"));
	r = audit_put(a, &e);
	if (r == 0)
		a->told += e.lost;
	return r;
}

int audit_write(struct audit *a, const struct audit_event *e)
{
	int r = audit_tell_lost(a);

	if (r == 0)
		r = audit_put(a, e);
	a->trouble_write = r;
	if (r < 0)
		a->lost++;
	else
		a->written++;
	return r;
}

void audit_paths_by(struct audit *a,
	void (*find)(void *arg, const struct audit_client *client, struct audit_paths *ret),
	void *arg)
{
	a->find = find;
	a->find_arg = arg;
}

void audit_lose(struct audit *a, uint64_t n)
{
	a->lost += n;
}

uint64_t audit_written(const struct audit *a)
{
	return a->written;
}

uint64_t audit_lost(const struct audit *a)
{
	return a->lost;
}

int audit_trouble(const struct audit *a)
{
	return a->trouble_write ? a->trouble_write : a->trouble_rotate;
}
