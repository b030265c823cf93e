/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch.c – see scratch.h. In the machine's /tmp are the sockets of agents, tmux and X servers; a socket there is the
 * user's own and so is the sandbox, and /tmp/ is an allowed prefix. So the sandbox gets an empty one. The four are
 * directories of one tmpfs, which is bounded by half the machine's memory together; it is charged to whoever writes,
 * and ends with the mount namespace.
 *
 * The tmpfs is first mounted on one of the four, where its directories are made; each is then copied as a mount of its
 * own and moved to its place. What is shared is copied before that, and is put where it was: what it lies in is made
 * anew, empty, with owner and mode as outside, so that nobody reaches more than there. A share that is a scratch
 * directory, or holds one, leaves that as it is.
 *
 * /run/user is no place where a program that we start makes things (XDG_RUNTIME_DIR is not passed on): not writable.
 *
 * #syscalls: openat openat2 newfstatat mount umount2 open_tree move_mount mkdir chmod lchown
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns-helper/scratch.h"

#include "base/cleanup.h"

static const struct {
	const char *path;
	mode_t mode;
} scratch_rows[] = {
	{"/tmp", 01777},
	{"/var/tmp", 01777},
	{"/dev/shm", 01777},
	{"/run/user", 0755},
};
static_assert(ARRAY_SIZE(scratch_rows) == SCRATCH_ROWS, "one descriptor for each");

static const char scratch_options[] = "mode=0755,size=50%";

/* Whether `inner` is the directory or lies in it; either may end in slashes. */
static bool scratch_within(const char *directory, const char *inner)
{
	size_t n = strlen(directory);

	while (n && directory[n - 1] == '/')
		n--;
	return strncmp(directory, inner, n) == 0 && (inner[n] == '\0' || inner[n] == '/');
}

static size_t scratch_row(const char *path)
{
	size_t i = 0;

	while (i < SCRATCH_ROWS && !scratch_within(scratch_rows[i].path, path))
		i++;
	return i;
}

bool scratch_holds(const char *path)
{
	return scratch_row(path) < SCRATCH_ROWS;
}

bool scratch_is(const char *path)
{
	size_t i = scratch_row(path);

	return i < SCRATCH_ROWS && scratch_within(path, scratch_rows[i].path);
}

/* Whether a part of the path is `..`, or it is relative: its text would not say where it leads. */
static bool scratch_odd(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return path[0] != '/';
}

/*
 * By its text alone: no part below the directory may be a link. Whoever made one there, another user or an earlier
 * sandbox, would say what is shared, and a path of /tmp/ is one whose sockets may be connected to. A descriptor, or
 * -errno; -ELOOP: a link.
 */
static int scratch_find(const char *path)
{
	const char *directory = scratch_rows[scratch_row(path)].path, *below;
	_cleanup_close_ int outer = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	int fd;

	if (outer < 0)
		return -errno;
	below = path + strlen(directory);
	below += strspn(below, "/");
	fd = (int)syscall(SYS_openat2, outer, below, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

static int scratch_take(struct scratch *s, const char *path)
{
	struct scratch_share *share = &s->shares[s->n];
	struct stat st;

	*share = (struct scratch_share){.path = path, .tree = -1};
	if (!scratch_is(path)) {
		_cleanup_close_ int at = scratch_find(path);

		if (at < 0)
			return at;
		share->tree = open_tree(
			at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
		if (share->tree < 0)
			return -errno;
	}
	s->n++;
	if (share->tree >= 0 && fstatat(share->tree, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	share->folder = share->tree >= 0 && S_ISDIR(st.st_mode);
	return 0;
}

/* The machine's directories, but for those that stay. */
static int scratch_hold(struct scratch *s)
{
	for (size_t i = 0; i < SCRATCH_ROWS; i++) {
		bool stays = false;

		for (size_t j = 0; j < s->n; j++)
			stays |= scratch_within(s->shares[j].path, scratch_rows[i].path);
		if (stays)
			continue;
		s->was[i] = open(scratch_rows[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (s->was[i] < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

int scratch_open(struct scratch *s, const char *const *shares, size_t n, const char *directory,
	struct fault *fault)
{
	int r = 0;

	*s = (struct scratch){.was = {-1, -1, -1, -1}, .shares = calloc(n + 1, sizeof(*s->shares))};
	if (!s->shares)
		return fault_set(fault, -ENOMEM, "no memory");
	for (size_t i = 0; i < n && r == 0; i++) {
		if (scratch_odd(shares[i]) || !scratch_holds(shares[i]))
			r = fault_set(fault, -EINVAL,
				"--share: %s: wants an absolute path in /tmp, /var/tmp, /dev/shm "
				"or "
				"/run/user, without .. parts; what is elsewhere is seen anyway",
				shares[i]);
		else
			r = scratch_take(s, shares[i]);
		if (r < 0 && !fault->text[0])
			(void)fault_set(fault, r, "--share: %s: %s", shares[i],
				r == -ELOOP ? "a symbolic link leads there: name the place itself"
					    : strerror(-r));
	}
	/* it may have been removed, and is then not to be had inside either */
	if (r == 0 && directory && scratch_holds(directory) && !scratch_is(directory))
		(void)scratch_take(s, directory);
	if (r == 0)
		r = scratch_hold(s);
	if (r < 0 && !fault->text[0])
		(void)fault_set(fault, r, "cannot open the directories for temporary files: %s",
			strerror(-r));
	if (r < 0)
		scratch_close(s);
	return r;
}

/* One directory on the way to something that is shared, as it is outside. */
static int scratch_copy(int was, const char *path, const char *below)
{
	struct stat st;

	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	if (fstatat(was, below, &st, 0) < 0 || lchown(path, st.st_uid, st.st_gid) < 0 ||
		chmod(path, st.st_mode & 07777) < 0)
		return -errno;
	return 0;
}

/* The directories above a path. */
static int scratch_above(int was, size_t row, const char *path)
{
	size_t n = strlen(scratch_rows[row].path);
	char part[PATH_MAX];
	int r = 0;

	for (const char *at = path + n + 1; r == 0 && (at = strchr(at, '/')) && at[1]; at++) {
		if (snprintf(part, sizeof(part), "%.*s", (int)(at - path), path) >=
			(int)sizeof(part))
			return -ENAMETOOLONG;
		r = scratch_copy(was, part, part + n + 1);
	}
	return r;
}

/* Whether it lies in what has been placed, so is there with it: nothing is made in directories of the machine's. */
static bool scratch_placed(const struct scratch *s, const struct scratch_share *share)
{
	for (const struct scratch_share *one = s->shares; one < share; one++)
		if (one->tree >= 0 && scratch_within(one->path, share->path))
			return true;
	return false;
}

static int scratch_place(const struct scratch *s, const struct scratch_share *share)
{
	size_t row = scratch_row(share->path);
	int r;

	if (share->tree < 0 || s->was[row] < 0 || scratch_placed(s, share))
		return 0; /* is there already */
	r = scratch_above(s->was[row], row, share->path);
	if (r < 0)
		return r;
	if (share->folder ? mkdir(share->path, 0755) : mknod(share->path, S_IFREG | 0644, 0))
		if (errno != EEXIST)
			return -errno;
	return move_mount(share->tree, "", AT_FDCWD, share->path, MOVE_MOUNT_F_EMPTY_PATH) < 0
		       ? -errno
		       : 0;
}

int scratch_directory(const struct scratch *s, const char *path)
{
	size_t row = scratch_row(path);
	int r;

	if (row == SCRATCH_ROWS || s->was[row] < 0 || scratch_is(path))
		return 0;
	r = scratch_above(s->was[row], row, path);
	return r < 0 ? r
		     : scratch_copy(s->was[row], path, path + strlen(scratch_rows[row].path) + 1);
}

/* Makes a directory of the tmpfs at `stage`, as a mount that is nowhere yet. A descriptor, or -errno. */
static int scratch_new(const char *stage, size_t row)
{
	char path[64];
	int tree;

	(void)snprintf(path, sizeof(path), "%s/%zu", stage, row);
	if (mkdir(path, 0700) < 0 || chmod(path, scratch_rows[row].mode) < 0)
		return -errno;
	tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return tree < 0 ? -errno : tree;
}

static int scratch_cover(const int trees[SCRATCH_ROWS])
{
	for (size_t i = 0; i < SCRATCH_ROWS; i++)
		if (trees[i] >= 0 && move_mount(trees[i], "", AT_FDCWD, scratch_rows[i].path,
					     MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -errno;
	return 0;
}

static int scratch_directories(const struct scratch *s)
{
	int trees[SCRATCH_ROWS] = {-1, -1, -1, -1}, r = 0;
	size_t first = 0;

	while (first < SCRATCH_ROWS && s->was[first] < 0)
		first++;
	if (first == SCRATCH_ROWS)
		return 0;
	if (mount("sallyport", scratch_rows[first].path, "tmpfs", MS_NOSUID | MS_NODEV,
		    scratch_options) < 0)
		return -errno;
	for (size_t i = first; i < SCRATCH_ROWS && r == 0; i++) {
		trees[i] = s->was[i] >= 0 ? scratch_new(scratch_rows[first].path, i) : -1;
		r = s->was[i] >= 0 && trees[i] < 0 ? trees[i] : 0;
	}
	if (umount2(scratch_rows[first].path, 0) < 0 && r == 0)
		r = -errno;
	if (r == 0)
		r = scratch_cover(trees);
	for (size_t i = 0; i < SCRATCH_ROWS; i++)
		cleanup_close(&trees[i]);
	return r;
}

int scratch_mount(struct scratch *s, struct fault *fault)
{
	int r = scratch_directories(s);

	if (r < 0)
		return fault_set(fault, r, "cannot make a /tmp for the sandbox: %s", strerror(-r));
	for (size_t i = 0; i < s->n; i++) {
		r = scratch_place(s, &s->shares[i]);
		if (r < 0)
			return fault_set(fault, r, "cannot share %s with the sandbox: %s",
				s->shares[i].path, strerror(-r));
	}
	return 0;
}

void scratch_close(struct scratch *s)
{
	for (size_t i = 0; i < s->n; i++)
		cleanup_close(&s->shares[i].tree);
	for (size_t i = 0; i < SCRATCH_ROWS; i++)
		cleanup_close(&s->was[i]);
	free(s->shares);
	*s = (struct scratch){.was = {-1, -1, -1, -1}};
}
