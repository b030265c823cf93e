/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.bpf.h – the maps that the cgroup programs of all sandboxes share, but for those that sk_lookup has too
 * (judge_maps.bpf.h). Weak, because several files
 * name them and are linked into one object. (A map of maps cannot be weak,
 * libbpf 1.1 cannot compare two: it is in flows.bpf.c, which alone uses it.)
 *
 * Memory: maps are allocated as they fill, except the LRU ones, once: refusals about 0.9 MB,
 * executables 0.4 MB, cgroups 0.7 MB.
 */
#ifndef SALLYPORT_BPF_MAPS_BPF_H
#define SALLYPORT_BPF_MAPS_BPF_H

#include "bpf/judge_maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CAPTURE_REFUSALS);
	__type(key, struct capture_refusal_key);
	__type(value, struct capture_refusal);
} refusals SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CAPTURE_EVENTS_BYTES);
} events SEC(".maps") __weak;

/* The events that a sandbox has had in the running second. */
struct budget {
	__u64 second;
	__u64 used;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURE_SANDBOXES + 2);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct budget);
} budgets SEC(".maps") __weak;

/*
 * The same for account 0, one for each cgroup that the programs are attached to: in namespaces that a sandbox has
 * made it has a budget of its own, and takes none of another's. Storage of the cgroup of the attachment, not of the
 * caller's below it: made and freed by the kernel with the links.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, __u64);
	__type(value, struct budget);
} nested SEC(".maps") __weak;

/* Who connected this socket; written by connect4/6, read by sockops, freed with the socket. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct capture_client);
} clients SEC(".maps") __weak;

/* What unix sockets may connect to; entries of netns 0 are there once. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, (CAPTURE_SANDBOXES + 1) * CAPTURE_UNIX_PATHS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct capture_unix_key);
	__type(value, __u8);
} unix_paths SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_about);
} about SEC(".maps") __weak;

/* Written by the daemon, for people to read. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURE_USES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct capture_use_key);
	__type(value, struct capture_use);
} uses SEC(".maps") __weak;

/* Paths, noted when an executable or a cgroup is first seen. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct capture_exe_key);
	__type(value, struct capture_path);
} executables SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CAPTURE_SANDBOXES * 2);
	__type(key, __u64);
	__type(value, struct capture_path);
} cgroups SEC(".maps") __weak;

#endif
