/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.h – what the kernel holds for one sandbox: made in steps, undone in reverse. No messages,
 * no waiting. Life: attach_begin → (the daemon says that the policy is active) attach_finish →
 * attach_undo → attach_free.
 */
#ifndef SALLYPORT_ATTACH_H
#define SALLYPORT_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "netns-helper/cgroup.h"
#include "netns-helper/listeners.h"
#include "netns-helper/netns.h"
#include "netns-helper/proto.h"
#include "netns-helper/routes.h"
#include "netns-helper/uplink.h"

#include "base/fault.h"

struct capture_opening;
struct hosts_list;
struct programs;
struct programs_sandbox;
struct steer_netns;
struct steer_program;

struct attachment {
	char id[PROTO_ID];
	char (*search)[PROTO_NAME]; /* owned, nsearch of them */
	size_t nsearch;
	struct netns_identity identity;
	char *cgroup; /* owned: the text of its struct cgroup_path */
	uint64_t cgroup_id; /* its inode */
	uint64_t cookie;
	enum proto_mode mode;
	uint8_t own4[4], own6[16];
	enum proto_lane lane; /* never AUTO */
	uint32_t inbound; /* conntrack's mark of what came in by an uplink: this attachment's own */
	struct routes routes;
	struct uplink *uplink; /* owned; NULL but in uplink mode */
	struct listeners listeners;
	int netns_fd; /* owned; -1 after attach_undo() */
	int cgroup_fd; /* owned until attach_free() */
	char *policy; /* the document, npolicy bytes; owned until attach_free() */
	size_t npolicy;
	const struct hosts_list *hosts; /* borrowed, followed live */
	struct programs_sandbox *programs; /* this and the next: NULL in the nft lane */
	struct steer_netns *steer;
	struct programs
		*account; /* where its counters still are, after attach_shut(); NULL = nowhere */
	bool resolver; /* the container runtime has its own at 127.0.0.11 */
	struct capture_opening
		*openings; /* owned: what the policy lifts, for a table that is loaded again */
	size_t nopenings;
	bool inside; /* routes and listeners are in place */
	bool nft; /* the table is loaded */
	bool outage; /* nft lane: the table refuses, as no daemon serves */
	bool active; /* has been: attach_finish() succeeded */
	bool left_closed; /* by attach_undo(): see there */
};

struct attach_spec {
	const struct proto_attach *request;
	enum proto_lane lane; /* never AUTO */
	int netns_fd; /* this and the next are copied, the caller's to close */
	int cgroup_fd;
	int policy_fd; /* copied by content */
	pid_t daemon; /* must not be in the cgroup */
	struct programs *programs;
	struct steer_program *steer;
	const struct hosts_list *hosts; /* outlives the attachment */
};

/* Whether the text is a sandbox's id: [a-z0-9][a-z0-9_.-]{0,62} and a NUL within the array. */
bool attach_id_valid(const char id[PROTO_ID]);

/*
 * Verifies and makes everything that precedes the offer: nothing gets through yet. 0, or -errno
 * with the reason in *fault and nothing left behind.
 */
int attach_begin(const struct attach_spec *spec, struct fault *fault, struct attachment **ret);

/*
 * The policy is active: openings, nft table, then the programs begin to let through. 0, or -errno
 * with the reason; the caller undoes.
 */
int attach_finish(struct attachment *a, const uint8_t digest[32],
	const struct capture_opening *openings, size_t nopenings, struct fault *fault);

/*
 * Refuses everything but loopback from now on, until attach_reopen(): what it is captured by is not proven to hold.
 * 0 or -errno of what could not be done; the rest is done all the same.
 */
int attach_close(struct attachment *a);
/* Puts back what somebody has taken away of programs, table and settings, closed. What cannot be put back is seen by the next self-test. */
void attach_repair(struct attachment *a);
/* As attach_finish() left it. 0, or -errno with the reason. */
int attach_reopen(struct attachment *a, struct fault *fault);

/* In the nft lane: whether the table is to refuse what is for the daemon. 0 or -errno; nothing has changed then. */
int attach_set_outage(struct attachment *a, bool refuses);
/* The host's addresses are others than when the table was loaded. 0 or -errno; nothing has changed then. */
int attach_renew_hosts(struct attachment *a);

/*
 * Takes the programs out and closes the listeners: nothing new is let in or captured. Addresses and routes stay, so that
 * the ends of the connections that the daemon now breaks off still reach their peers, and so do the counters, which it
 * has not told to the end. May be called again.
 */
void attach_shut(struct attachment *a);
/*
 * Takes everything out of the kernel, in reverse. May be called at any stage, and twice. One thing
 * stays of a sandbox in uplink mode that was active and in which processes are left: a table that
 * lets nothing through but loopback, or they would have the interfaces to themselves.
 */
void attach_undo(struct attachment *a);

/* In uplink mode, when a->uplink.addresses.fd is readable: an address came or went. 0 or -errno. */
int attach_follow(struct attachment *a, struct fault *fault);

/* The search domains as messages have them; all of ret is written. */
void attach_put_search(const struct attachment *a, char ret[PROTO_SEARCH][PROTO_NAME]);

/* After attach_undo(). NULL is allowed. */
void attach_free(struct attachment *a);

#endif
