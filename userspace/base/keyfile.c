/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyfile.c – see keyfile.h. The file is a row of records of fixed size: a name, zeros behind it, the key. A record
 * whose name begins with zero is free, and taken by the next key. Written in place: what a power cut tears is for the
 * reader to notice, who can tell a key from another (tls/ca.c). #syscalls: openat read write lseek ftruncate fsync
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/keyfile.h"

struct keyfile_record {
	char name[KEYFILE_NAME];
	uint8_t key[KEYFILE_KEY];
};
static_assert(sizeof(struct keyfile_record) == KEYFILE_NAME + KEYFILE_KEY, "the file's form");

enum { KEYFILE_AT_ONCE = 42 }; /* records in a page */

/* What one reading of the file found; places are numbers of records, -1 = there is none. */
struct keyfile_view {
	off_t at; /* of the name */
	off_t free; /* the first that is not used, perhaps behind the end */
	off_t before; /* the last that is used, but for the name's own */
	uint8_t key[KEYFILE_KEY];
};

static void keyfile_look(struct keyfile_view *v, const struct keyfile_record *r, off_t place,
	const char name[KEYFILE_NAME])
{
	if (!r->name[0]) {
		v->free = v->free < 0 ? place : v->free;
	} else if (memcmp(r->name, name, KEYFILE_NAME) == 0) {
		v->at = place;
		memcpy(v->key, r->key, KEYFILE_KEY);
	} else {
		v->before = place;
	}
}

static int keyfile_view(int fd, const char name[KEYFILE_NAME], struct keyfile_view *ret)
{
	struct keyfile_record records[KEYFILE_AT_ONCE];
	size_t have = 0;
	off_t place = 0;
	ssize_t n;

	*ret = (struct keyfile_view){.at = -1, .free = -1, .before = -1};
	while ((n = read(fd, (uint8_t *)records + have, sizeof(records) - have)) != 0) {
		size_t whole;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		have += (size_t)n;
		whole = have / sizeof(records[0]);
		for (size_t i = 0; i < whole; i++)
			keyfile_look(ret, &records[i], place++, name);
		have -= whole * sizeof(records[0]);
		memmove(records, &records[whole], have);
	}
	explicit_bzero(records, sizeof(records));
	if (ret->free < 0)
		ret->free = place;
	return n < 0 ? -errno : 0;
}

static int keyfile_write(int fd, off_t place, const struct keyfile_record *record)
{
	if (lseek(fd, place * (off_t)sizeof(*record), SEEK_SET) < 0)
		return -errno;
	if (write(fd, record, sizeof(*record)) != sizeof(*record))
		return errno ? -errno : -EIO;
	return fsync(fd) < 0 ? -errno : 0;
}

/* The name as records have it, and what is known of it; the descriptor, or -errno. */
static int keyfile_open(const char *path, int flags, const char *name, char ret[KEYFILE_NAME],
	struct keyfile_view *view)
{
	_cleanup_close_ int fd = -1;
	size_t n = strlen(name);
	int r;

	if (n == 0 || n >= KEYFILE_NAME)
		return -ENAMETOOLONG;
	memset(ret, 0, KEYFILE_NAME);
	memcpy(ret, name, n + 1);
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = keyfile_view(fd, ret, view);
	return r < 0 ? r : TAKE_FD(fd);
}

int keyfile_find(const char *path, const char *name, uint8_t ret[KEYFILE_KEY])
{
	char padded[KEYFILE_NAME];
	struct keyfile_view view;
	_cleanup_close_ int fd = keyfile_open(path, O_RDONLY, name, padded, &view);

	if (fd < 0)
		return fd;
	if (view.at >= 0)
		memcpy(ret, view.key, KEYFILE_KEY);
	explicit_bzero(view.key, sizeof(view.key));
	return view.at >= 0 ? 0 : -ENOENT;
}

int keyfile_put(const char *path, const char *name, const uint8_t key[KEYFILE_KEY])
{
	struct keyfile_record record;
	struct keyfile_view view;
	_cleanup_close_ int fd = keyfile_open(path, O_RDWR | O_CREAT, name, record.name, &view);
	int r;

	if (fd < 0)
		return fd;
	memcpy(record.key, key, KEYFILE_KEY);
	r = keyfile_write(fd, view.at >= 0 ? view.at : view.free, &record);
	explicit_bzero(&record, sizeof(record));
	explicit_bzero(view.key, sizeof(view.key));
	return r;
}

int keyfile_drop(const char *path, const char *name)
{
	static const struct keyfile_record none;
	char padded[KEYFILE_NAME];
	struct keyfile_view view;
	_cleanup_close_ int fd = keyfile_open(path, O_RDWR, name, padded, &view);
	int r;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	explicit_bzero(view.key, sizeof(view.key));
	if (view.at < 0)
		return 0;
	r = keyfile_write(fd, view.at, &none);
	if (r == 0 && view.at > view.before &&
		ftruncate(fd, (view.before + 1) * (off_t)sizeof(none)) < 0)
		r = -errno;
	return r;
}
