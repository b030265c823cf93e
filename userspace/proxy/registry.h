/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h – the control thread's list of sandboxes: follows the helper's offers and withdrawals, chooses credentials,
 * keeps them fresh, records kernel refusals, and answers what the control socket asks.
 */
#ifndef SALLYPORT_PROXY_REGISTRY_H
#define SALLYPORT_PROXY_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

struct addr;
struct audit_event;
struct control_source;
struct credset;
struct daemon_conf;
struct fault;
struct registry;
struct shared;

struct registry_setup {
	struct shared *shared;
	const struct daemon_conf *conf;
	const char *cgroup_root; /* where cgroup v2 is mounted; borrowed */
	const struct addr *resolvers; /* what the daemon asks for names; borrowed */
	unsigned nresolvers;
	struct credset **credentials; /* one for each entry of conf->credentials; borrowed */
	bool take_over; /* from a daemon that serves: nothing is served before it has handed over */
	void (*drain)(void *arg); /* another daemon takes over: the control socket is its own */
	void *arg;
};

/* 0 or -errno. */
int registry_new(const struct registry_setup *setup, struct registry **ret);
/* Connects to the helper and starts the clocks; on the control thread, when the workers run. */
int registry_start(struct registry *r);
/* A worker's event, on the control thread. */
void registry_event(struct registry *r, const struct audit_event *e);
/* n events were dropped before they got here. */
void registry_lose(struct registry *r, uint64_t n);
/* The daemon ends: nobody shall wait for it. */
void registry_leave(struct registry *r);
/* Whether the take-over failed, for which the loop was stopped; why has been logged. */
bool registry_failed(const struct registry *r);
void registry_free(struct registry *r);

/*
 * Makes what a sandbox of that id will have, placeholders too, before it is attached (prepared.h); the id is of the form
 * of netns-helper/proto.h. 0, -EEXIST: it is attached; -EBUSY: too many; -EINVAL: the log says why.
 */
int registry_prepare(struct registry *r, const char *id);

/* For the control socket. */
void registry_source(struct registry *r, struct control_source *ret);
/* Whether the namespace (its cookie) is an attached sandbox's, or the cgroup (as /proc/PID/cgroup has
 * it) lies in one. */
bool registry_inside(struct registry *r, uint64_t netns, const char *cgroup);

#endif
