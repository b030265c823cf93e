/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leftovers.c – see leftovers.h. The map has the ids of the cgroups, which are the inode numbers of their
 * directories: the tree is walked for these (open_by_handle_at(2) would want a capability for this alone). Nothing is
 * walked when no sandbox was attached, which is every start but one behind a crash.
 *
 * A program is the dead helper's if it was loaded with the BTF that its maps were made with: an object's own, whose
 * number the kernel gives out once. So another instance's programs on the same cgroup stay.
 *
 * #syscalls: bpf openat fstat getdents64
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "netns-helper/cgroup.h"
#include "netns-helper/leftovers.h"
#include "netns-helper/programs_internal.h"
#include "base/cleanup.h"
#include "bpf/capture.h"

enum { LEFTOVERS_DEPTH = 32 }; /* of the cgroup tree */

struct leftovers {
	uint32_t btf; /* of the dead helper's programs */
	uint64_t cgroups[CAPTURE_SANDBOXES]; /* ids */
	size_t n;
};

static void leftovers_read(struct leftovers *l, int pins)
{
	char path[64];
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	uint64_t key, *last = NULL;
	_cleanup_close_ int map = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/sandboxes", pins);
	map = bpf_obj_get(path);
	if (map < 0 || bpf_obj_get_info_by_fd(map, &info, &size) < 0 ||
		info.key_size != sizeof(key) || info.value_size != sizeof(struct capture_sandbox))
		return; /* there is none, or of another version, which had links */
	l->btf = info.btf_id;
	while (l->n < CAPTURE_SANDBOXES && bpf_map_get_next_key(map, last, &key) == 0) {
		struct capture_sandbox sandbox;

		last = &key;
		if (bpf_map_lookup_elem(map, &key, &sandbox) == 0)
			l->cgroups[l->n++] = sandbox.cgroup;
	}
}

static void leftovers_detach_hook(const struct leftovers *l, int cgroup, enum bpf_attach_type type)
{
	uint32_t ids[PROGRAMS_ON_A_HOOK], n = PROGRAMS_ON_A_HOOK;

	if (bpf_prog_query(cgroup, type, 0, NULL, ids, &n) < 0)
		return; /* not a hook of this kernel */
	for (uint32_t i = 0; i < n; i++) {
		_cleanup_close_ int program = bpf_prog_get_fd_by_id(ids[i]);
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (program >= 0 && bpf_obj_get_info_by_fd(program, &info, &size) == 0 &&
			info.btf_id == l->btf)
			(void)bpf_prog_detach2(program, cgroup, type); /* see the header */
	}
}

static bool leftovers_has(const struct leftovers *l, uint64_t cgroup)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->cgroups[i] == cgroup)
			return true;
	return false;
}

static void leftovers_walk(const struct leftovers *l, int dir, int depth)
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

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		child = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (child < 0)
			continue; /* it was removed meanwhile */
		for (size_t i = 0; leftovers_has(l, e->d_ino) && i < PROGRAMS_HOOKS; i++)
			leftovers_detach_hook(
				l, child, (enum bpf_attach_type)programs_hooks[i].type);
		if (depth > 0)
			leftovers_walk(l, child, depth - 1);
	}
	(void)closedir(entries); /* only read */
}

void leftovers_detach(int pins)
{
	struct leftovers l = {.n = 0};
	_cleanup_close_ int root = -1;
	char mount[PATH_MAX];

	leftovers_read(&l, pins);
	if (l.n == 0 || cgroup_mount(mount) < 0)
		return;
	root = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		leftovers_walk(&l, root, LEFTOVERS_DEPTH);
}
