/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * outage.bpf.h – the dead-man switch: is there a daemon for what would go to it? Two maps, both of one
 * page: the daemons' signs of life, which they store themselves, and what the helper says. Neither
 * alone is believed: a daemon that was killed is noticed by the helper at once, one that hangs by its
 * beat, also while the helper is away.
 *
 * CLOCK_MONOTONIC stands still while the machine is suspended: nothing is late after that.
 */
#ifndef SALLYPORT_BPF_OUTAGE_BPF_H
#define SALLYPORT_BPF_OUTAGE_BPF_H

#include "bpf/capture.h"

enum { OUTAGE_MMAPABLE = 1024 }; /* BPF_F_MMAPABLE, an enum of the kernel's that has no name */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_BEATS);
	__uint(map_flags, OUTAGE_MMAPABLE);
	__type(key, __u32);
	__type(value, struct capture_heartbeat);
} heartbeat SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_outage);
} outage SEC(".maps") __weak;

/* Whether what is for the daemon is to be refused now. */
static __always_inline bool outage_refuses(void)
{
	const __u32 only = 0;
	const struct capture_outage *o = bpf_map_lookup_elem(&outage, &only);
	const struct capture_heartbeat *beat;
	__u32 slot;

	if (!o || o->wait)
		return false;
	if (o->down)
		return true;
	slot = o->slot;
	beat = bpf_map_lookup_elem(&heartbeat, &slot);
	return !beat || bpf_ktime_get_ns() > beat->ns + CAPTURE_BEAT_LATE_MS * 1000000ULL;
}

#endif
