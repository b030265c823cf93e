/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysctls.h – the settings of a network namespace where every address is local and an
 * interface stays. Called inside the namespace (netns_within): /proc/sys/net is that of the thread
 * that opens it.
 */
#ifndef SALLYPORT_SYSCTLS_H
#define SALLYPORT_SYSCTLS_H

#include <linux/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

enum { SYSCTLS_NAMES = 3, SYSCTLS_INTERFACES = 32 };

/* One folder of /proc/sys/net/ipv4/conf, and what its settings were. */
struct sysctls_saved {
	char folder[IFNAMSIZ]; /* all, default, or an interface */
	int values[SYSCTLS_NAMES];
};

struct sysctls {
	struct sysctls_saved saved[SYSCTLS_INTERFACES];
	size_t n;
	bool mld_set;
	int mld; /* what force_mld_version was */
};

/*
 * accept_local=1 (each source is an address of our own now), rp_filter=0 (and none has a way back),
 * arp_ignore=1 (or ARP is answered for every address of the segment), on `all`, on `default` for
 * interfaces to come, and on each interface but lo; IPv6's force_mld_version=1 on `all` (reports of group membership name
 * one group each). On failure what was done is taken back. 0 or -errno.
 */
int sysctls_set_up(struct fault *fault, struct sysctls *ret);

/* Whether all is still as it was set, on interfaces that came later too: 0, or -errno with what is not. */
int sysctls_verify(const struct sysctls *sysctls, struct fault *fault);
/* Sets it again. 0 or -errno. */
int sysctls_repair(const struct sysctls *sysctls);

/* The old values again; an interface that is gone is no failure. */
void sysctls_take_back(const struct sysctls *sysctls);

#endif
