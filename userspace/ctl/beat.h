/* SPDX-License-Identifier: Apache-2.0 */
/* beat.h – whether the daemon that serves a state directory is alive, as the kernel sees it: by the maps under STATE/bpf. */
#ifndef SALLYPORT_CTL_BEAT_H
#define SALLYPORT_CTL_BEAT_H

#include <stdbool.h>
#include <stdint.h>

struct beat {
	bool down; /* the helper says that no daemon serves */
	bool late; /* the daemon's sign of life is too old */
	bool waits; /* meanwhile connections wait; else they are refused */
	uint64_t age_ms; /* of the sign of life, or since when it is down */
};

/* 0; -ENOENT where the maps are not there (nothing runs, or without BPF), -EPERM for who may not read them, or another -errno. */
int beat_read(const char *state, struct beat *ret);

#endif
