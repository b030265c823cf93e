/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h – who opened a captured connection: the kernel's record under the connection's 4-tuple (bpf/capture.h). */
#ifndef SALLYPORT_CAPTURE_FLOWS_H
#define SALLYPORT_CAPTURE_FLOWS_H

#include <stdint.h>

#include "model/addr.h"

struct capture_client;

/*
 * Looks the record up in the sandbox's flow map: `client` is the address of the program's socket, `asked` where it
 * connected to. 0; -ENOENT when there is none (the socket is not of the sandbox's cgroup); another -errno.
 * #syscalls: bpf (BPF_MAP_LOOKUP_ELEM only)
 */
int flows_find(
	int map, const struct addr *client, const struct addr *asked, struct capture_client *ret);

#endif
