/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h – where a program's executable and a cgroup are: what the kernel side noted in the maps `executables` and `cgroups`
 * of bpf/capture.h when it first saw them.
 */
#ifndef SALLYPORT_CAPTURE_PATHS_H
#define SALLYPORT_CAPTURE_PATHS_H

#include <stdint.h>

#include "bpf/capture.h"

/*
 * The path, or "" when none was noted. One lookup, which does not wait.
 * #syscalls: bpf (BPF_MAP_LOOKUP_ELEM)
 */
void paths_exe(int map, uint32_t dev, uint64_t ino, char ret[CAPTURE_PATH]);
void paths_cgroup(int map, uint64_t id, char ret[CAPTURE_PATH]);

#endif
