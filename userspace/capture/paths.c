/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c – see paths.h. */
#include <bpf/bpf.h>
#include <string.h>

#include "capture/paths.h"

static void paths_find(int map, const void *key, char ret[CAPTURE_PATH])
{
	struct capture_path found;

	ret[0] = '\0';
	if (bpf_map_lookup_elem(map, key, &found) < 0)
		return;
	memcpy(ret, found.text, CAPTURE_PATH);
	ret[CAPTURE_PATH - 1] = '\0';
}

void paths_exe(int map, uint32_t dev, uint64_t ino, char ret[CAPTURE_PATH])
{
	struct capture_exe_key key = {.ino = ino, .dev = dev};

	paths_find(map, &key, ret);
}

void paths_cgroup(int map, uint64_t id, char ret[CAPTURE_PATH])
{
	paths_find(map, &id, ret);
}
