/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uplink.c – see uplink.h.
 *
 * In a sealed namespace there is nothing to leave by. Here there is, and what keeps it shut are a
 * routing order and an nft table inside the namespace. Hence three capabilities are not compatible
 * with it, and a sandbox that may come by one is refused, never degraded:
 *
 *   NET_RAW    packet sockets send frames below nft; raw sockets forge what the table takes for
 *              neighbour discovery
 *   NET_ADMIN  removes the table, the rules and the routes
 *   SYS_ADMIN  enters other network namespaces, and makes the rest reachable
 *
 * The same goes for a namespace that belongs to a user namespace of the sandbox's: whoever is root
 * there holds all of them over it. A user namespace made later inside the sandbox holds nothing over
 * a network namespace that was there before.
 *
 * A declared bounding set is believed: at createRuntime the runtime's own first process still holds
 * everything, and only the bundle's config.json says what will be left. Processes that come into the
 * cgroup after the attach are not looked at.
 *
 * #syscalls: ioctl fstat openat read close, and those of the parts
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/bounding.h"
#include "netns-helper/cgroup.h"
#include "netns-helper/uplink.h"

#include "base/cleanup.h"

/* What is not compatible, in the order in which it is told. */
static const cap_value_t uplink_refused[] = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_SYS_ADMIN};

struct uplink_scan {
	struct fault *fault;
	size_t n; /* processes seen */
};

int uplink_judge(uint64_t capabilities, const char *who, struct fault *fault)
{
	for (size_t i = 0; i < ARRAY_SIZE(uplink_refused); i++) {
		char name[32];

		if (!(capabilities & 1ULL << uplink_refused[i]))
			continue;
		bounding_name((unsigned int)uplink_refused[i], name);
		return fault_set(fault, -EPERM,
			"--mode uplink: %s may come by %s, with which it could send past the "
			"sandbox: start it without (docker, podman: --cap-drop=%s)",
			who, name, name);
	}
	return 0;
}

static int uplink_process(pid_t pid, void *arg)
{
	struct uplink_scan *scan = arg;
	char comm[16] = "", who[64];
	uint64_t set = 0;
	int r;

	if (pid == 0)
		return fault_set(scan->fault, -EPERM,
			"--mode uplink: a process in the cgroup is of a pid namespace that cannot "
			"be "
			"seen from here: its capabilities are unknown (--bounding declares them)");
	r = bounding_of(pid, &set, comm);
	if (r == -ESRCH)
		return 0;
	if (r < 0)
		return fault_set(scan->fault, r,
			"--mode uplink: the capabilities of process %d cannot be read: %s",
			(int)pid, strerror(-r));
	scan->n++;
	(void)snprintf(who, sizeof(who), "process %d (%s)", (int)pid, comm);
	return uplink_judge(set, who, scan->fault);
}

static int uplink_processes(int cgroup_fd, struct fault *fault)
{
	struct uplink_scan scan = {.fault = fault};
	int r = cgroup_each(cgroup_fd, uplink_process, &scan);

	if (r < 0)
		return fault_set(
			fault, r, "--cgroup: its processes cannot be listed: %s", strerror(-r));
	if (scan.n == 0)
		return fault_set(fault, -EPERM,
			"--mode uplink: no process is in the cgroup yet, so that nothing tells its "
			"capabilities: --bounding says what its processes will have (none, or "
			"CAP,CAP...)");
	return 0;
}

static int uplink_owner(int netns_fd, struct fault *fault)
{
	_cleanup_close_ int owner = ioctl(netns_fd, NS_GET_USERNS);
	_cleanup_close_ int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	struct stat theirs, ours;

	if (owner < 0 && errno != EPERM)
		return fault_set(fault, -errno,
			"--netns: the user namespace that owns it cannot be found: %s",
			strerror(errno));
	if (owner >= 0 && (own < 0 || fstat(owner, &theirs) < 0 || fstat(own, &ours) < 0))
		return fault_set(fault, -errno,
			"the helper's own user namespace cannot be read: %s", strerror(errno));
	if (owner < 0 || theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino)
		return fault_set(fault, -EPERM,
			"--mode uplink: the network namespace belongs to another user namespace "
			"than "
			"the helper's, whose root may undo everything in it: use sealed mode, or "
			"no "
			"user namespace (docker, podman: --userns=host)");
	return 0;
}

int uplink_verify(int netns_fd, int cgroup_fd, const uint64_t *bounding, struct fault *fault)
{
	int r = uplink_owner(netns_fd, fault);

	if (r < 0)
		return r;
	return bounding ? uplink_judge(*bounding, "by --bounding the sandbox", fault)
			: uplink_processes(cgroup_fd, fault);
}

int uplink_set_up(bool v6, struct fault *fault, struct uplink *ret)
{
	struct uplink u = {.addresses = {.fd = -1}};
	int r = addresses_open(&u.addresses);

	if (r < 0)
		return fault_set(fault, r, "cannot read the addresses of the network namespace: %s",
			strerror(-r));
	if (u.addresses.cut) {
		uplink_done(&u);
		return fault_set(fault, -E2BIG,
			"--netns: its interfaces have more than %d addresses", CAPTURE_LOCALS);
	}
	r = sysctls_set_up(fault, &u.sysctls);
	if (r == 0)
		r = rules_set_up(v6, fault, &u.rules);
	if (r < 0) {
		uplink_take_back(&u);
		uplink_done(&u);
		return r;
	}
	u.on = true;
	*ret = u;
	return 0;
}

void uplink_take_back(struct uplink *u)
{
	rules_take_back(&u->rules);
	sysctls_take_back(&u->sysctls);
	u->rules = (struct rules){false};
	u->sysctls.n = 0;
	u->sysctls.mld_set = false;
	u->on = false;
}

void uplink_done(struct uplink *u)
{
	addresses_close(&u->addresses);
}
