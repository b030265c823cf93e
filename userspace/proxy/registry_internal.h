/* SPDX-License-Identifier: Apache-2.0 */
/* registry_internal.h – only for registry.c and report.c. */
#ifndef SALLYPORT_PROXY_REGISTRY_INTERNAL_H
#define SALLYPORT_PROXY_REGISTRY_INTERNAL_H

#include <limits.h>

#include "proxy/kernel.h"
#include "proxy/notes.h"
#include "proxy/prepared.h"
#include "proxy/registry.h"
#include "ring/loop.h"

struct link;
struct sandbox;

struct registry {
	struct shared *shared;
	const struct daemon_conf *conf;
	struct credset **credentials;
	char link_path[PATH_MAX];
	const char *cgroup_root; /* where cgroup v2 is mounted */
	struct proto_dialler dialler; /* what the helper is told first */
	struct link *link;
	struct kernel kernel;
	bool linked; /* the helper is there */
	struct sandbox *first;
	unsigned count;
	struct notes notes; /* of the machine */
	uint64_t began;
	struct timer look, grace;
	struct prepared prepared;
};

#endif
