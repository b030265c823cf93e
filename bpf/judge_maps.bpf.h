/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * judge_maps.bpf.h – the maps by which an attempt is judged, shared by all programs: those on cgroups
 * (maps.bpf.h) and sk_lookup's. Weak for the same reason as there. Allocated as they fill.
 */
#ifndef SALLYPORT_BPF_JUDGE_MAPS_BPF_H
#define SALLYPORT_BPF_JUDGE_MAPS_BPF_H

#include "bpf/capture.h"
#include "bpf/ranges.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURE_SANDBOXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct capture_sandbox);
} sandboxes SEC(".maps") __weak;

/* Two more than there are sandboxes: key 0 counts for the namespaces that are not attached, and
 * CAPTURE_DIALLER for the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURE_SANDBOXES + 2);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct capture_verdicts);
} verdicts SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 256);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct capture_range_key);
	__type(value, struct capture_range);
} ranges SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, CAPTURE_SANDBOXES *CAPTURE_OPENINGS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct capture_opening_key);
	__type(value, struct capture_opened);
} openings SEC(".maps") __weak;

/* 16 bytes of an address of the host → 1. */
struct host_address {
	__u8 ip[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURE_HOSTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct host_address);
	__type(value, __u8);
} hosts SEC(".maps") __weak;

#endif
