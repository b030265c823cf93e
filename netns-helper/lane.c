/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lane.c – see lane.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "netns-helper/lane.h"
#include "netns-helper/programs.h"
#include "netns-helper/state.h"
#include "netns-helper/steer_program.h"

#include "base/cleanup.h"

const char lane_feature[] = "BPF";
const char lane_remedy[] = "give the helper CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN, and the kernel "
			   "CONFIG_BPF_SYSCALL, "
			   "CONFIG_CGROUP_BPF and CONFIG_DEBUG_INFO_BTF, with no lockdown or "
			   "seccomp filter in the way; "
			   "until then every sandbox is in the nft lane";

static const char *const lane_names[] = {
	[PROTO_LANE_AUTO] = "auto",
	[PROTO_LANE_BPF] = "bpf",
	[PROTO_LANE_NFT] = "nft",
};

enum proto_lane lane_of(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(lane_names); i++)
		if (strcmp(name, lane_names[i]) == 0)
			return (enum proto_lane)i;
	return PROTO_LANE_AUTO;
}

const char *lane_name(enum proto_lane lane)
{
	return lane_names[lane];
}

void lane_load(struct lane_bpf *bpf, struct state *state)
{
	struct fault *missing = &bpf->missing;
	char pins[PATH_MAX + 8];
	int r = state_mount(state, missing);

	(void)snprintf(pins, sizeof(pins), "%s/" STATE_BPF, state->path); /* is as long as that */
	if (r == 0)
		r = programs_open(pins, missing, &bpf->programs);
	if (r == 0)
		r = steer_program_open(bpf->programs, missing, &bpf->steer);
	if (r == 0)
		return;
	(void)fault_set(missing, r, "the BPF programs do not load: %s", strerror(-r));
	lane_unload(bpf);
}

void lane_unload(struct lane_bpf *bpf)
{
	steer_program_close(bpf->steer);
	programs_close(bpf->programs);
	bpf->steer = NULL;
	bpf->programs = NULL;
}

int lane_choose(enum proto_lane asked, bool strict, const struct lane_bpf *bpf, struct fault *fault,
	enum proto_lane *ret)
{
	const char *missing = bpf->missing.text;
	bool none = !bpf->programs;

	if (none && asked == PROTO_LANE_BPF)
		return fault_set(fault, -EOPNOTSUPP,
			"--lane bpf: %.200s; take --lane nft, or give the helper CAP_BPF and "
			"CAP_PERFMON "
			"and the kernel CONFIG_CGROUP_BPF and CONFIG_DEBUG_INFO_BTF",
			missing);
	if (none && asked == PROTO_LANE_AUTO && strict)
		return fault_set(fault, -EOPNOTSUPP,
			"--strict: there is no BPF: %.200s; take --lane nft if that is meant",
			missing);
	*ret = asked != PROTO_LANE_AUTO ? asked : none ? PROTO_LANE_NFT : PROTO_LANE_BPF;
	return 0;
}
