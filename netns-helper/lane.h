/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lane.h – by what a sandbox is captured: BPF (cgroup programs and sk_lookup), or nft alone (tproxy),
 * where BPF is not to be had or not wanted.
 */
#ifndef SALLYPORT_LANE_H
#define SALLYPORT_LANE_H

#include <stdbool.h>

#include "netns-helper/proto.h"

#include "base/fault.h"

struct programs;
struct state;
struct steer_program;

/* All that is BPF, or nothing. */
struct lane_bpf {
	struct programs *programs; /* owned; this and the next: both or neither */
	struct steer_program *steer;
	struct fault missing; /* why there is none, in the kernel's words */
};

/* Mounts the bpffs and loads. What fails is told in `missing`: the helper goes on without BPF. */
void lane_load(struct lane_bpf *bpf, struct state *state);
/* Every sandbox must be detached. */
void lane_unload(struct lane_bpf *bpf);

extern const char lane_feature[]; /* as what a helper without BPF is degraded */
extern const char lane_remedy[]; /* … and what to do about it */

/* The value of --lane. PROTO_LANE_AUTO for NULL and for what is no lane. */
enum proto_lane lane_of(const char *name);
const char *lane_name(enum proto_lane lane);

/*
 * Chooses: AUTO is BPF where it is there and nft elsewhere, which under `strict` is a failure, as BPF
 * is that lacks a hook. Never AUTO in *ret. 0 or -errno with the reason and the remedy in *fault.
 */
int lane_choose(enum proto_lane asked, bool strict, const struct lane_bpf *bpf, struct fault *fault,
	enum proto_lane *ret);

#endif
