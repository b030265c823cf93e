/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pins.c – see pins.h. A thousand sandboxes' flow maps and links would be two thousand descriptors
 * of this process, and would end with it: pinned, they need none and outlive it. A pin is a file: it
 * takes a kilobyte.
 *
 * A pin that is removed gives its link up some time later, on a kernel worker. So a link is first
 * detached by name (BPF_LINK_DETACH), which is done when the call returns; what still holds the
 * link then holds something that is attached to nothing.
 *
 * bpf(BPF_OBJ_PIN) takes a path, not a directory and a name: /proc/self/fd/N makes it independent
 * of mounts. #syscalls: bpf, open, openat, mkdirat, unlinkat, getdents64, fstatfs
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "netns-helper/leftovers.h"
#include "netns-helper/pins.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "bpf/capture.h"

#ifndef BPF_FS_MAGIC
#define BPF_FS_MAGIC 0xcafe4a11
#endif

#define PINS_FLOWS "flows"
#define PINS_LINKS "links"

enum { PINS_NAME = CAPTURE_ID + 64, PINS_PATH = PINS_NAME + 32, PINS_MODE = 0700, PINS_DEPTH = 2 };

/* "FOLDER/ID", or with a hook "FOLDER/ID/HOOK". An id was measured by programs_attach(). */
static void pins_name(const char *folder, const char *id, const char *hook, char ret[PINS_NAME])
{
	(void)snprintf(ret, PINS_NAME, "%s/%s%s%s", folder, id, hook ? "/" : "", hook ? hook : "");
	for (char *c = ret; *c; c++)
		if (*c == '.')
			*c = ':';
}

static int pins_put(int dir, const char *name, int fd)
{
	char path[PINS_PATH];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name); /* fits */
	return bpf_obj_pin(fd, path);
}

static int pins_get(int dir, const char *name)
{
	char path[PINS_PATH];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name); /* fits */
	return bpf_obj_get(path);
}

static void pins_drop(int dir, const char *name, bool link)
{
	_cleanup_close_ int fd = link ? pins_get(dir, name) : -1;

	if (fd >= 0)
		(void)bpf_link_detach(fd); /* its cgroup or netns may be gone already */
	(void)unlinkat(dir, name, 0); /* it may never have been there */
}

/* Empties a directory of ours; names with dots are bpffs's own. Files below the first level are links, or maps, which
 * are not attached to anything. */
static void pins_clear(int dir, unsigned depth)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;

	if (!entries) {
		cleanup_close(&copy);
		return;
	}
	while ((e = readdir(entries))) {
		_cleanup_close_ int child = -1;

		if (strchr(e->d_name, '.'))
			continue;
		child = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child < 0) {
			pins_drop(dir, e->d_name, depth > 0);
			continue;
		}
		if (depth < PINS_DEPTH)
			pins_clear(child, depth + 1);
		(void)unlinkat(dir, e->d_name, AT_REMOVEDIR); /* what stays is seen by who looks */
	}
	(void)closedir(entries); /* only read */
}

void pins_clear_at(const char *path)
{
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	leftovers_detach(dir);
	pins_clear(dir, 0);
}

int pins_open(const char *path, struct fault *f, struct pins *ret)
{
	static const char *const folders[] = {PINS_FLOWS, PINS_LINKS};
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (dir < 0 || fstatfs(dir, &fs) < 0)
		return fault_set(f, -errno, "cannot open %s: %s", path, strerror(errno));
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC)
		return fault_set(f, -EINVAL,
			"%s is not on a bpf file system (mount -t bpf none %s)", path, path);
	leftovers_detach(dir);
	pins_clear(dir, 0);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (mkdirat(dir, folders[i], PINS_MODE) < 0)
			return fault_set(f, -errno, "cannot make %s/%s: %s", path, folders[i],
				strerror(errno));
	ret->dir = TAKE_FD(dir);
	return 0;
}

void pins_close(struct pins *p)
{
	if (p->dir < 0)
		return;
	pins_clear(p->dir, 0);
	(void)close(p->dir); /* only read */
	p->dir = -1;
}

int pins_put_map(const struct pins *p, const char *name, int fd)
{
	return pins_put(p->dir, name, fd);
}

int pins_put_flows(const struct pins *p, const char *id, int fd)
{
	char name[PINS_NAME];

	pins_name(PINS_FLOWS, id, NULL, name);
	return pins_put(p->dir, name, fd);
}

int pins_put_link(const struct pins *p, const char *id, const char *hook, int fd)
{
	char name[PINS_NAME];

	pins_name(PINS_LINKS, id, NULL, name);
	if (hook && mkdirat(p->dir, name, PINS_MODE) < 0 && errno != EEXIST)
		return -errno;
	pins_name(PINS_LINKS, id, hook, name);
	return pins_put(p->dir, name, fd);
}

int pins_open_flows(const struct pins *p, const char *id)
{
	char name[PINS_NAME];

	pins_name(PINS_FLOWS, id, NULL, name);
	return pins_get(p->dir, name);
}

int pins_open_link(const struct pins *p, const char *id, const char *hook)
{
	char name[PINS_NAME];

	pins_name(PINS_LINKS, id, hook, name);
	return pins_get(p->dir, name);
}

void pins_drop_flows(const struct pins *p, const char *id)
{
	char name[PINS_NAME];

	pins_name(PINS_FLOWS, id, NULL, name);
	pins_drop(p->dir, name, false);
}

void pins_drop_link(const struct pins *p, const char *id, const char *hook)
{
	char name[PINS_NAME];

	pins_name(PINS_LINKS, id, hook, name);
	pins_drop(p->dir, name, true);
	if (!hook)
		return;
	pins_name(PINS_LINKS, id, NULL, name);
	(void)unlinkat(p->dir, name, AT_REMOVEDIR); /* fails until its last link has gone */
}
