/* SPDX-License-Identifier: Apache-2.0 */
/* registry_internal.h – only for registry.c, registry_prepared.c and report.c. */
#ifndef SALLYPORT_PROXY_REGISTRY_INTERNAL_H
#define SALLYPORT_PROXY_REGISTRY_INTERNAL_H

#include <limits.h>

#include "proxy/drain.h"
#include "proxy/kernel.h"
#include "proxy/notes.h"
#include "proxy/prepared.h"
#include "proxy/pulse.h"
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
	bool waits; /* it lets connections wait in an outage */
	bool taking; /* not handed over yet */
	bool greeted; /* … and what there is to take has been offered, or is being */
	bool failed; /* … and will not be */
	bool refused; /* an offer of this helper: somebody attached may be none of ours */
	bool draining; /* another daemon has taken over */
	struct pulse pulse;
	struct drain drain;
	void (*drained_from)(void *arg); /* struct registry_setup's drain */
	void *arg;
	struct sandbox *first;
	struct sandbox *leaving; /* withdrawn, the workers have them still */
	unsigned count;
	struct notes notes; /* of the machine */
	uint64_t began;
	struct timer look, grace, take;
	struct prepared prepared;
};

/* One that is attached; whether one is withdrawn, and the workers have it still. */
struct sandbox *registry_find(const struct registry *r, const char *id);
bool registry_is_leaving(const struct registry *r, const char *id);
/* Those of this id, a new reference; NULL when none is meant for it. */
int registry_credentials(
	struct registry *r, const char *id, struct fault *fault, struct credset **ret);

/* Notes what lies on disk of sandboxes that are neither; removes what was noted and has not been attached in time. */
void registry_prepared_adopt(struct registry *r);
void registry_prepared_expire(struct registry *r);

#endif
