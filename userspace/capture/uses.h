/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uses.h – what the daemon has put into requests, for people to read with bpftool: the map `uses` of bpf/capture.h, which only
 * the daemon writes.
 */
#ifndef SALLYPORT_CAPTURE_USES_H
#define SALLYPORT_CAPTURE_USES_H

#include <stdbool.h>
#include <stdint.h>

/* In a host's place: those of the sandbox that have no pair of their own. No host has such a name. */
#define USES_OTHERS "(others)"

/*
 * Counts n uses of the credential for that host; texts are cut to the key's size. 0, or 1 where the pair is a new one;
 * -EDQUOT where it would be and may not, -E2BIG when the map is full, or another -errno.
 * #syscalls: bpf (BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM) clock_gettime
 */
int uses_add(int map, uint64_t netns, const char *credential, const char *host, uint64_t n,
	bool may_be_new);

/*
 * Removes the entries of the namespaces that keep() does not want.
 * #syscalls: bpf (BPF_MAP_GET_NEXT_KEY, BPF_MAP_DELETE_ELEM)
 */
void uses_prune(int map, bool (*keep)(void *arg, uint64_t netns), void *arg);

#endif
