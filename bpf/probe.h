/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe.h – where the helper's self-test knocks (netns-helper/selftest.c). The cgroup programs and sk_lookup know the
 * place: there they refuse and count whatever else is the case, active or not, opened or not, and raise no event, so
 * that the figures of the real refusals stay what programs did. It is a metadata address at a port at which nothing
 * is: a sandbox that knocks there itself is refused like everywhere at that address, and has its knocks counted.
 */
#ifndef SALLYPORT_BPF_PROBE_H
#define SALLYPORT_BPF_PROBE_H

#include "bpf/ranges.h"

#define PROBE_ADDRESS4 "169.254.169.254"
#define PROBE_ADDRESS6 "fd00:ec2::254"
enum { PROBE_PORT = 1 };

/* Whether this is that place: four words in network order, IPv4 v4-mapped; the port in host order. */
static inline __attribute__((always_inline)) int probe_is(
	const unsigned int w[4], unsigned int port)
{
	if (port != PROBE_PORT)
		return 0;
	if (w[0] == 0 && w[1] == 0 && w[2] == RANGE_BE32(0xffffu))
		return w[3] == RANGE_BE32(0xa9fea9feu);
	return w[0] == RANGE_BE32(0xfd000ec2u) && w[1] == 0 && w[2] == 0 &&
	       w[3] == RANGE_BE32(0x254u);
}

#endif
