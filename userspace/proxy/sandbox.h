/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h – one attached namespace, as the control thread owns it. Workers read it through their seats.
 *
 * Life: made from an offer of the helper (policy read, credentials chosen, CA and placeholders loaded or made and
 * persisted), seated at every worker, then active; on withdrawal each worker empties its seat and says so, and with the
 * last one the descriptors are closed. What workers read (all but the counters and the orders) never changes while
 * they have it.
 */
#ifndef SALLYPORT_PROXY_SANDBOX_H
#define SALLYPORT_PROXY_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/limits.h"
#include "base/slice.h"
#include "capture/flows.h"
#include "capture/losses.h"
#include "proxy/naming.h"
#include "proxy/notes.h"
#include "proxy/synthetic.h"
#include "ring/loop.h"

struct ca;
struct credset;
struct placeholders;
struct policy;
struct sandbox;
struct shared;
struct tls_trust;
struct worker;

enum { SANDBOX_TRUSTS = 8 };

/* What the helper hands over. The descriptors change owner only when sandbox_new() succeeds. */
struct sandbox_offer {
	char id[LIMIT_SANDBOX_ID + 1];
	uint64_t netns; /* cookie */
	uint64_t cgroup; /* id, the inode of its directory */
	unsigned nslots;
	unsigned families; /* series of sockets: 1, or 2 where each family has its own */
	bool uplink; /* the namespace has an interface of its own */
	int flow_map; /* -1 in the nft lane, where connections are not attributed */
	int dns[2]; /* the second is -1 in one series */
	int tcp[2][LIMIT_SLOTS];
	const char (*search)[LIMIT_NAME + 1]; /* copied by sandbox_new() */
	unsigned nsearch;
};

/* One message to one worker and back. */
struct sandbox_order {
	struct mail mail;
	struct sandbox *sandbox;
	struct worker *worker;
	struct credset *
		set; /* REFRESH: the set that the worker was given last; compared only after that */
	bool out; /* on its way or being worked on */
};

struct sandbox {
	struct sandbox *next; /* the registry's list */
	uint64_t serial; /* never used twice: owner of cached leaves */
	struct sandbox_offer at;
	struct shared *shared;
	struct policy *policy;
	struct credset *credentials; /* the control thread's reference to the latest */
	struct placeholders *placeholders;
	struct ca *ca;
	struct synthetic synthetic; /* its names' addresses */
	struct {
		const char *file; /* borrowed from the policy */
		struct tls_trust *trust;
	} trusts[SANDBOX_TRUSTS];
	unsigned ntrusts;

	bool leaving; /* sandbox_unseat() was called: no order follows */
	unsigned seated; /* workers that have it */
	bool stale; /* not offered again since the helper came back */
	void (*gone)(struct sandbox
			*s); /* the last worker has left; the control thread frees it there */
	void *gone_arg;

	/* counters: any thread, relaxed */
	_Atomic uint64_t connections, open, requests, denied, swaps, misdirected;
	_Atomic uint64_t tunnels, tunnels_open; /* established ones, passed through or by a rule */
	uint64_t refusals; /* of the kernel; control thread, as the next four */
	struct losses losses; /* those that were told */
	unsigned pairs; /* of credential and host, in the map of uses */
	struct notes notes;
	struct namings namings; /* names that get an address; control thread */
	unsigned lookups; /* at the resolver; control thread */

	/* what goes to each worker, one behind the other */
	struct {
		struct sandbox_order take, leave, refresh;
	} orders[];
};

/* Where sandbox_new() finds and keeps what belongs to a sandbox. */
struct sandbox_home {
	const char *state; /* directory */
	struct shared *shared;
	struct credset *credentials; /* those that cover this id; a reference is taken */
	const struct sandbox *others; /* the registry's list */
	bool borrowed; /* another daemon still serves it: what is there is read, nothing is made or written */
};

/*
 * Makes the sandbox from an offer and its policy document. 0 and *ret; otherwise a negative errno with the fault set,
 * and the descriptors stay the caller's.
 */
int sandbox_new(const struct sandbox_home *home, const struct sandbox_offer *offer,
	struct slice policy, struct fault *fault, struct sandbox **ret);
/* Writes what a sandbox that was made from what is borrowed keeps there. 0, or -errno with the fault set. */
int sandbox_keep(struct sandbox *s, const char *state, struct fault *fault);
/*
 * Makes what sandbox_new() keeps on disk and would find there: CA, placeholders, handout. 0, or a negative errno with
 * the fault set; what was made so far stays then.
 */
int sandbox_prepare(const struct sandbox_home *home, const char *id, struct fault *fault);
/* Removes what those keep on disk: the sandbox is withdrawn for good. */
void sandbox_forget(const char *id, const char *state);
/* Closes and frees; not before the workers are gone from it. */
void sandbox_free(struct sandbox *s);

/* Posts it to every worker. */
void sandbox_seat(struct sandbox *s);
/* Takes it from every worker; gone() is called when the last has left. */
void sandbox_unseat(struct sandbox *s);
/* A new snapshot of its credentials for every worker. Takes the reference. */
void sandbox_refresh(struct sandbox *s, struct credset *set);

/* Where the records of its connections are. */
struct flows sandbox_flows(const struct sandbox *s);

/* The trust for that CA file, the default roots for NULL. Borrowed. */
struct tls_trust *sandbox_trust(const struct sandbox *s, const char *file);

static inline void sandbox_count(_Atomic uint64_t *counter, int64_t by)
{
	atomic_fetch_add_explicit(counter, (uint64_t)by, memory_order_relaxed);
}

/* In the worker: the order has been carried out. */
void sandbox_left(struct worker *w, struct sandbox *s);

#endif
