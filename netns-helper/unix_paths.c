/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unix_paths.c – see unix_paths.h. The kernel program compares the bytes of sun_path, NULs behind
 * them, with the longest prefix that is entered: a path that ends in a slash is entered as it is, and
 * one that does not with its NUL, so that /run/a does not allow /run/ab. #syscalls: bpf
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "netns-helper/unix_paths.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "bpf/capture.h"

/* clang-format off */
static const char *const unix_paths_defaults[] = {
	"/tmp/",
	"/var/tmp/",
	"/dev/shm/",
	"/home/",
	"/root/",
};
/* clang-format on */
static_assert(ARRAY_SIZE(unix_paths_defaults) <= CAPTURE_UNIX_PATHS, "as many as one may give");

const char *const *unix_paths_default(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(unix_paths_defaults);
	return unix_paths_defaults;
}

/* A part of a path that makes it another one than it seems. */
static bool unix_paths_part_odd(const char *part, size_t n)
{
	return n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.');
}

bool unix_paths_valid(const char *path)
{
	size_t n = strlen(path);

	if (path[0] != '/' || n >= CAPTURE_UNIX_PATH)
		return false;
	for (const char *part = path + 1; *part;) {
		size_t length = strcspn(part, "/");

		if (unix_paths_part_odd(part, length))
			return false;
		part += length + (part[length] == '/');
	}
	return true;
}

static void unix_paths_key(uint64_t netns, const char *path, struct capture_unix_key *ret)
{
	size_t n = strlen(path);
	size_t bytes = path[n - 1] == '/' ? n : n + 1;

	*ret = (struct capture_unix_key){.prefixlen = (uint32_t)(64 + 8 * bytes)};
	memcpy(ret->netns, &netns, sizeof(ret->netns));
	memcpy(ret->path, path, n);
}

int unix_paths_open(struct unix_paths *u, int map, uint64_t netns, const char *const *paths,
	size_t n, struct fault *f)
{
	static const uint8_t allowed = 1;
	int r = 0;

	if (n > CAPTURE_UNIX_PATHS)
		return fault_set(f, -E2BIG, "%zu unix paths, at most %d", n, CAPTURE_UNIX_PATHS);
	for (size_t i = 0; i < n; i++)
		if (!unix_paths_valid(paths[i]))
			return fault_set(f, -EINVAL,
				"a unix path must be absolute, of at most %d bytes, without empty, "
				". or .. parts: %s",
				CAPTURE_UNIX_PATH - 1, paths[i]);
	u->keys = calloc(n, sizeof(*u->keys));
	if (!u->keys)
		return fault_set(f, -ENOMEM, "no memory");
	for (size_t i = 0; r == 0 && i < n; i++) {
		unix_paths_key(netns, paths[i], &u->keys[u->n]);
		r = bpf_map_update_elem(map, &u->keys[u->n], &allowed, BPF_ANY);
		u->n += r == 0;
	}
	if (r == 0)
		return 0;
	unix_paths_close(u, map);
	return fault_set(f, r, "cannot enter the unix paths: %s", strerror(-r));
}

void unix_paths_close(struct unix_paths *u, int map)
{
	for (size_t i = 0; i < u->n; i++)
		(void)bpf_map_delete_elem(map, &u->keys[i]); /* a path may have been given twice */
	free(u->keys);
	*u = (struct unix_paths){NULL, 0};
}
