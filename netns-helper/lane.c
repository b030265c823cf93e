/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lane.c – see lane.h. */
#include <errno.h>
#include <string.h>

#include "netns-helper/lane.h"

#include "base/cleanup.h"

const char lane_feature[] = "BPF";
const char lane_remedy[] =
	"every sandbox is in the nft lane, without attribution and errnos; wants CAP_BPF, "
	"CAP_PERFMON and CAP_SYS_ADMIN, CONFIG_BPF_SYSCALL, CONFIG_CGROUP_BPF and "
	"CONFIG_DEBUG_INFO_BTF, and no lockdown or seccomp filter in the way";

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

int lane_choose(enum proto_lane asked, bool strict, const struct lane_bpf *bpf, struct fault *fault,
	enum proto_lane *ret)
{
	const char *missing = bpf->missing.text;

	if (missing[0] && asked == PROTO_LANE_BPF)
		return fault_set(fault, -EOPNOTSUPP,
			"--lane bpf: %.200s; take --lane nft, or give the helper CAP_BPF and "
			"CAP_PERFMON "
			"and the kernel CONFIG_CGROUP_BPF and CONFIG_DEBUG_INFO_BTF",
			missing);
	if (missing[0] && asked == PROTO_LANE_AUTO && strict)
		return fault_set(fault, -EOPNOTSUPP,
			"--strict: there is no BPF: %.200s; take --lane nft if that is meant",
			missing);
	*ret = asked != PROTO_LANE_AUTO ? asked : missing[0] ? PROTO_LANE_NFT : PROTO_LANE_BPF;
	return 0;
}
