/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat.h – the daemon's sign of life: a number in memory that the kernel's programs and the helper read
 * (bpf/capture.h, struct capture_heartbeat). One thread writes.
 */
#ifndef SALLYPORT_CAPTURE_HEARTBEAT_H
#define SALLYPORT_CAPTURE_HEARTBEAT_H

#include <stdint.h>

struct heartbeat {
	void *memory; /* NULL: there is none, and nothing is written */
	unsigned slot;
};

/* Maps the helper's memory (a map of BPF's, or plain); the descriptor changes owner. 0 or -errno. */
int heartbeat_open(struct heartbeat *h, int fd, unsigned slot);
/* All threads were alive at that time, milliseconds of CLOCK_MONOTONIC; 0 = it is over. A store. */
void heartbeat_put(struct heartbeat *h, uint64_t ms);
void heartbeat_close(struct heartbeat *h);

#endif
