/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign.h – what somebody else has in a network namespace that is about to become a sandbox, and
 * that would be a way around us: sockets of processes outside the sandbox, packet filter tables, routing
 * rules; in uplink mode also sockets below the table, whoever has them, and links, programs and filters of some kinds. Called inside the namespace (netns_within), before anything of ours is there.
 */
#ifndef SALLYPORT_NETNS_HELPER_FOREIGN_H
#define SALLYPORT_NETNS_HELPER_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "netns-helper/cgroup.h"

#include "base/fault.h"

struct foreign_spec {
	const char *cgroup; /* the sandbox's path */
	uint64_t cgroup_id; /* its inode */
	bool uplink; /* there are interfaces: what goes past the table does get out */
};

/*
 * 0 when there is nothing but what a container runtime's own resolver at 127.0.0.11 has (Docker's: two
 * sockets, a nat table); *ret_resolver says whether it is there. -EBUSY names what it found, whose it is
 * and the remedy; -errno when that cannot be found out.
 */
int foreign_verify(const struct foreign_spec *spec, struct fault *fault, bool *ret_resolver);

#endif
