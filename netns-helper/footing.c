// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * footing.c – see footing.h.
 *
 * Why: the kernel leaves a hook out of its code until the first user comes (static keys), and takes it out again with the
 * last one. Each time it rewrites code that runs and interrupts every processor: 0.3 ms here for each of the nine cgroup
 * hooks and the like for each netfilter hook, which doubled the time that the first attach of a machine took, and that of
 * each one that came while no other was attached. With a user that stays nothing is rewritten.
 *
 * It also is a first proof: what cannot be attached here could not be to a sandbox, and the log says so at the start.
 *
 * The cgroup lies below the helper's own, so no sandbox can hold it (cgroup_verify()), and a service manager removes it
 * with the service's. Nobody is ever in it: the programs never run there, and no sandbox is in their maps for it. In the
 * namespace there is the closed table, with lo down. Links and namespace hang on descriptors and go with the process, also by
 * SIGKILL; the directory does not: it is locked (flock) by who lives, and the next helper in the same cgroup removes those
 * that are not. One that is starting has made its directory and not locked it yet: should that be taken for a dead one's,
 * attaching fails there, and that helper goes without.
 *
 * #syscalls: openat mkdirat flock getdents64 unlinkat setns unshare bpf, and those of nft.c
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/cgroup.h"
#include "netns-helper/footing.h"
#include "netns-helper/netns.h"
#include "netns-helper/nft.h"
#include "netns-helper/programs.h"

#include "base/cleanup.h"

static const char footing_prefix[] = "sallyport-footing-";

enum { FOOTING_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* ---- the cgroup */

static int footing_own_cgroup(void)
{
	char mount[PATH_MAX], path[PATH_MAX + CGROUP_PATH];
	struct cgroup_path own;
	int r = cgroup_of(getpid(), &own), fd;

	if (r == 0)
		r = cgroup_mount(mount);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s%s", mount, own.text); /* is as long as both */
	fd = open(path, FOOTING_DIR);
	return fd < 0 ? -errno : fd;
}

/* Removes one that nobody holds. */
static void footing_sweep_one(int parent, const char *name)
{
	_cleanup_close_ int fd = openat(parent, name, FOOTING_DIR);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(parent, name, AT_REMOVEDIR); /* busy: not one of ours */
}

/* Removes those of helpers that were killed. */
static void footing_sweep(int parent)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!dir)
		cleanup_close(&copy);
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, footing_prefix, sizeof(footing_prefix) - 1) == 0)
			footing_sweep_one(parent, entry->d_name);
	if (dir)
		(void)closedir(dir); /* only read */
}

/* Ours is told from others' by our process number; theirs in another pid namespace may be the same. */
static int footing_make_cgroup(struct footing *f)
{
	int fd, r = -EEXIST;

	for (int i = 0; i < 8 && r == -EEXIST; i++) {
		(void)snprintf(f->name, sizeof(f->name), "%s%d.%d", footing_prefix, getpid(), i);
		r = mkdirat(f->parent, f->name, S_IRWXU) < 0 ? -errno : 0;
	}
	if (r < 0) {
		f->name[0] = 0;
		return r;
	}
	fd = openat(f->parent, f->name, FOOTING_DIR);
	if (fd < 0)
		return -errno;
	f->cgroup = fd;
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

static int footing_attach(struct footing *f, const struct programs *programs, struct fault *fault)
{
	int r = footing_own_cgroup();

	if (r >= 0) {
		f->parent = r;
		footing_sweep(f->parent);
		r = footing_make_cgroup(f);
	}
	if (r < 0)
		return fault_set(
			fault, r, "no cgroup can be made below the helper's own: %s", strerror(-r));
	r = programs_hold(programs, f->cgroup, f->links, FOOTING_LINKS, fault);
	if (r < 0)
		return r;
	f->nlinks = r;
	return 0;
}

/* ---- the namespace */

/* Runs in the namespace. */
static int footing_table(void *arg)
{
	const struct nft_spec table = {
		.mode = PROTO_SEALED, .lane = PROTO_LANE_NFT, .closed = true, .fault = arg};

	return nft_load(&table);
}

static int footing_filter(struct footing *f, struct fault *fault)
{
	int r = netns_new();

	if (r >= 0) {
		f->netns = r;
		r = netns_within(f->netns, footing_table, fault);
	}
	return r < 0 ? fault_set(fault, r, "no nft table can be loaded in a namespace: %s",
			       strerror(-r))
		     : 0;
}

int footing_open(struct footing *f, const struct programs *programs, struct fault *fault)
{
	int r = footing_filter(f, fault);

	if (r == 0 && programs)
		r = footing_attach(f, programs, fault);
	if (r < 0)
		footing_close(f);
	return r;
}

static void footing_drop(int *fd)
{
	cleanup_close(fd);
	*fd = -1;
}

void footing_close(struct footing *f)
{
	while (f->nlinks > 0)
		footing_drop(&f->links[--f->nlinks]);
	if (f->name[0])
		(void)unlinkat(f->parent, f->name, AT_REMOVEDIR); /* else the next helper's sweep */
	f->name[0] = 0;
	footing_drop(&f->cgroup);
	footing_drop(&f->parent);
	footing_drop(&f->netns);
}
