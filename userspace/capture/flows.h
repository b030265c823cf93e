/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h – who opened a captured connection: the kernel's record under the connection's 4-tuple (bpf/capture.h). */
#ifndef SALLYPORT_CAPTURE_FLOWS_H
#define SALLYPORT_CAPTURE_FLOWS_H

#include <stdint.h>

#include "model/addr.h"

struct capture_client;

/* Where the records of one sandbox are; -1: there is no such map. */
struct flows {
	int live; /* its own map */
	int closed; /* the map of all, for clients that are gone already */
	uint64_t netns; /* the sandbox's key there */
};

/*
 * Looks the record up: `client` is the address of the program's socket, `asked` where it connected to. 0; -ENOENT when there
 * is none (the socket is not of the sandbox's cgroup); another -errno.
 * #syscalls: bpf (BPF_MAP_LOOKUP_ELEM, BPF_MAP_LOOKUP_AND_DELETE_ELEM) clock_gettime
 */
int flows_find(const struct flows *flows, const struct addr *client, const struct addr *asked,
	struct capture_client *ret);

#endif
