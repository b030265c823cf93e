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
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "netns-helper/cgroup.h"
#include "netns-helper/leftovers.h"
#include "netns-helper/programs_internal.h"
#include "base/cleanup.h"
#include "base/fault.h"
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

/* ---- one cgroup */

/*
 * Whether the helper that loaded these programs holds its maps still, or its pins do. No program uses the map `about`,
 * so that is gone with them; what was loaded at once has one BTF.
 */
static bool leftovers_held(uint32_t btf)
{
	uint32_t id = 0;

	while (bpf_map_get_next_id(id, &id) == 0) {
		_cleanup_close_ int map = bpf_map_get_fd_by_id(id);
		struct bpf_map_info info = {0};
		uint32_t size = sizeof(info);

		if (map >= 0 && bpf_obj_get_info_by_fd(map, &info, &size) == 0 &&
			info.btf_id == btf && strcmp(info.name, "about") == 0)
			return true;
	}
	return false;
}

/* Whether it is one of ours: by its name, of which the kernel keeps 15 bytes. */
static bool leftovers_is_ours(const struct bpf_prog_info *info, const char *name)
{
	return info->btf_id != 0 && strncmp(info->name, name, sizeof(info->name) - 1) == 0;
}

static int leftovers_clear_hook(int cgroup, const struct programs_hook *hook, struct fault *f)
{
	enum bpf_attach_type type = (enum bpf_attach_type)hook->type;
	uint32_t ids[PROGRAMS_ON_A_HOOK], n = PROGRAMS_ON_A_HOOK;

	if (bpf_prog_query(cgroup, type, 0, NULL, ids, &n) < 0)
		return 0; /* not a hook of this kernel */
	for (uint32_t i = 0; i < n; i++) {
		_cleanup_close_ int program = bpf_prog_get_fd_by_id(ids[i]);
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (program < 0 || bpf_obj_get_info_by_fd(program, &info, &size) < 0 ||
			!leftovers_is_ours(&info, hook->program))
			continue;
		if (leftovers_held(info.btf_id))
			return fault_set(f, -EBUSY,
				"the cgroup has the program %s (number %u) of another helper: "
				"detach it there, or "
				"give this sandbox a cgroup of its own",
				info.name, ids[i]);
		(void)bpf_prog_detach2(program, cgroup, type); /* or it went meanwhile */
	}
	return 0;
}

int leftovers_clear(int cgroup, struct fault *f)
{
	for (size_t i = 0; i < PROGRAMS_HOOKS; i++) {
		int r = leftovers_clear_hook(cgroup, &programs_hooks[i], f);

		if (r < 0)
			return r;
	}
	return 0;
}
