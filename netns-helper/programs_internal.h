/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_internal.h – only for programs.c, programs_sandbox.c and what they cut off themselves. */
#ifndef SALLYPORT_NETNS_HELPER_PROGRAMS_INTERNAL_H
#define SALLYPORT_NETNS_HELPER_PROGRAMS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

#include "netns-helper/openings.h"
#include "netns-helper/pins.h"
#include "netns-helper/programs.h"
#include "netns-helper/unix_paths.h"
#include "bpf/capture.h"

struct capture_bpf;

/* What is attached to a sandbox's cgroup. */
struct programs_hook {
	int type; /* enum bpf_attach_type, some of a newer kernel's header */
	const char *program;
	bool sealed; /* only where nothing but lo may carry a packet */
	bool optional; /* where the kernel has it: unix.bpf.c */
};
enum { PROGRAMS_HOOKS = 9 };
enum { PROGRAMS_ON_A_HOOK = 64 }; /* of a cgroup, at most (BPF_CGROUP_MAX_PROGS) */
extern const struct programs_hook programs_hooks[PROGRAMS_HOOKS];

struct programs {
	struct capture_bpf *bpf;
	struct pins pins;
	int programs[PROGRAMS_HOOKS]; /* borrowed from bpf; -1 = this kernel has no such hook */
	uint32_t ids[PROGRAMS_HOOKS]; /* the kernel's numbers of these */
	struct programs_lack lack; /* of the optional programs; no feature: they are there */
	char lack_reason[128]; /* its text */
	uint8_t (*hosts)[16]; /* the keys that are in the map now */
	size_t nhosts;
	struct unix_paths unix_paths; /* of the namespaces that are not attached */
};

struct programs_sandbox {
	struct programs *set;
	struct capture_sandbox entry;
	uint64_t netns;
	int cgroup; /* borrowed: its directory */
	uint32_t attached; /* 1 << hook */
	bool flows, in_flow_maps, in_verdicts, in_budgets, in_sandboxes;
	struct openings openings;
	struct unix_paths unix_paths;
};

/* The counters and the budget of an account; *ret_… say which of them are there, also on failure. */
int programs_open_account(
	struct programs *p, uint64_t netns, bool *ret_verdicts, bool *ret_budgets);

#endif
