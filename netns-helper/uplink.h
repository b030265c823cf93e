/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uplink.h – what a sandbox that keeps its interfaces needs besides what every sandbox has: that it
 * may have it at all, and the namespace arranged so that nothing but replies to inbound flows leaves
 * by them. Life: verify → (inside the namespace) set_up → take_back → done.
 */
#ifndef SALLYPORT_UPLINK_H
#define SALLYPORT_UPLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "netns-helper/addresses.h"
#include "netns-helper/rules.h"
#include "netns-helper/sysctls.h"

#include "base/fault.h"

struct uplink {
	bool on; /* the rest is in place */
	struct addresses addresses;
	struct sysctls sysctls;
	struct rules rules;
};

/* Whether the capabilities may be had in a sandbox with an uplink: 0, or -EPERM with the first that
 * may not and the remedy. `who` is told as the subject. */
int uplink_judge(uint64_t capabilities, const char *who, struct fault *fault);

/*
 * 0, or -EPERM with the reason: a process of the cgroup may come by NET_RAW, NET_ADMIN or SYS_ADMIN
 * (a declared bounding set, NULL = none, is believed instead), the cgroup is empty and nothing is
 * declared, or the namespace belongs to another user namespace than the caller's.
 */
int uplink_verify(int netns_fd, int cgroup_fd, const uint64_t *bounding, struct fault *fault);

/*
 * Addresses, then settings, then routing rules (v6: in IPv6 too): wants the routes of routes.c and a
 * table that lets nothing out (nft_load, closed). On failure what was done is taken back. 0 or
 * -errno.
 */
int uplink_set_up(bool v6, struct fault *fault, struct uplink *ret);

/* Inside the namespace: rules and settings as they were. May be called at any stage. */
void uplink_take_back(struct uplink *u);

/* Anywhere: what is followed. */
void uplink_done(struct uplink *u);

#endif
