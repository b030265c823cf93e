/* SPDX-License-Identifier: Apache-2.0 */
/* losses.h – refusals that the kernel counted and sent no event of: two counters of the map `verdicts` of bpf/capture.h. */
#ifndef SALLYPORT_CAPTURE_LOSSES_H
#define SALLYPORT_CAPTURE_LOSSES_H

#include <stdint.h>

struct losses {
	uint64_t suppressed; /* the sandbox was over its budget */
	uint64_t lost; /* the ring buffer was full */
};

/*
 * Since the namespace was attached; 0 is the account of those that are not. 0, -ENOENT when there is no such account.
 * #syscalls: bpf (BPF_MAP_LOOKUP_ELEM)
 */
int losses_read(int map, uint64_t netns, struct losses *ret);

#endif
