/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h – one thread of the data path: its ring, its slabs, its TLS contexts, its pool of upstream connections, and a
 * seat for each sandbox. Workers share nothing with each other; with the control thread they share only mail.
 */
#ifndef SALLYPORT_PROXY_WORKER_H
#define SALLYPORT_PROXY_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slab.h"
#include "proxy/journal.h"
#include "ring/loop.h"
#include "upstream/pool.h"

struct connection;
struct credset;
struct leaves;
struct leg;
struct names;
struct policy;
struct sandbox;
struct shared;
struct tls_client;
struct tls_server;

enum {
	WORKER_OP_ACCEPT = LOOP_OP_USER + 2,
	WORKER_OP_CONNECT,
	WORKER_OP_NAMES,
};

enum { SEAT_CLIENTS = 8, WORKER_H1_HOSTS = 256 };

/* A sandbox as one worker sees it. Lives from SEAT_TAKE to the moment when nothing of it is left. */
struct seat {
	struct worker *worker;
	struct sandbox *sandbox;
	struct credset *credentials; /* this worker's reference to the current snapshot */
	struct names *names; /* the DNS sockets, on one worker only */
	uint32_t accepting; /* listeners with an accept in flight, bits */
	unsigned connections;
	unsigned exchanges;
	unsigned lookups;
	unsigned origins;
	unsigned queries;
	unsigned namings; /* names whose address is being made */
	unsigned legs; /* closed ones too, until their descriptor is */
	unsigned reserved; /* places kept in the journal */
	bool leaving;
	uint64_t limit_told; /* when a limit was last recorded */
	struct timer rearm; /* accepts that ended are armed again */
	struct {
		const char *ca; /* borrowed from the policy */
		struct tls_client *client;
	} clients[SEAT_CLIENTS];
	unsigned nclients;
};

struct worker {
	struct loop *loop;
	struct shared *shared;
	unsigned index;
	struct slab legs, connections, exchanges, origins, seats, lookups, queries, records;
	struct leg *dirty, *dying;
	struct connection *dead;
	struct tls_server *tls_server;
	struct tls_client *tls_client; /* with the default roots, for every sandbox */
	struct leaves *leaves;
	struct pool pool; /* connections to upstreams that can be used */
	struct pool dials; /* … that are being made, and can be shared */
	uint64_t h1_hosts[WORKER_H1_HOSTS]; /* hashes */
	struct journal journal;
	bool single_receives; /* the kernel cannot bound a multishot receive */
	struct mail end; /* there and back */
	bool ending;
	struct mail stop, empty; /* there and back, and back */
	bool draining; /* accepts nothing; what is under way goes on */
	bool stopped,
		emptied; /* … and that has been said: nothing is accepted, nothing is under way */
	void (*said_stopped)(struct mail *m);
	_Atomic int ready; /* 1 once the loop is enabled and hardened, or -errno */
};

/* 0 or -errno. The loop exists afterwards, but nothing runs. */
int worker_new(struct shared *shared, unsigned index, struct worker **ret);
/* The thread: pthread_create()'s function. Returns when the daemon ends. */
void *worker_main(void *worker);
/*
 * From the control thread, whose loop must run on: ends all connections, then the thread. The last worker at its end
 * stops the control thread's loop.
 */
void worker_end(struct worker *w);
void worker_free(struct worker *w);
/*
 * From the control thread: accepts nothing any more, and lets what is under way go on, idle connections but for a moment.
 * Both are called there: stopped when nothing is accepted any more, empty when nothing is under way.
 */
void worker_drain(struct worker *w, void (*stopped)(struct mail *m), void (*empty)(struct mail *m));

/* In the worker's thread, by mail from the control thread (sandbox.c). */
void worker_seat_take(struct worker *w, struct sandbox *sb);
void worker_seat_leave(struct worker *w, struct sandbox *sb);
void worker_seat_refresh(struct worker *w, struct sandbox *sb, struct credset *set);

/*
 * Whether a sandbox that has `own` connections (exchanges, origins) gets no further one from a worker on which `used` of `max` slots are taken
 * and `seats` sandboxes are served: only when less than an eighth is free, and it has its equal part. What is left then is
 * for those who have less.
 */
static inline bool worker_share_used(uint32_t used, uint32_t max, uint32_t own, uint32_t seats)
{
	return used >= max - max / 8 && seats > 1 && own >= max / seats;
}

/* Something of the seat is gone: when it was the last of a leaving seat, the control thread is told. */
void worker_seat_check(struct seat *seat);

/* The TLS client context for that CA file (as policy_upstream_ca() gave it), for NULL that of the default roots; NULL when there is none. */
struct tls_client *worker_tls_client(struct seat *seat, const char *ca);

#endif
