/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.h – one connection to an upstream, from the name to the verified session, and between uses in the pool.
 *
 * RESOLVE → DIAL → HANDSHAKE → READY ⇄ IDLE → DEAD. In READY it belongs to one exchange or one tunnel, which reads and
 * writes origin->leg itself and is called by `progress`.
 */
#ifndef SALLYPORT_PROXY_ORIGIN_H
#define SALLYPORT_PROXY_ORIGIN_H

#include "model/category.h"
#include "policy/hosts.h"
#include "ring/loop.h"
#include "upstream/dial.h"
#include "upstream/pool.h"

struct leg;
struct lookup;
struct seat;

enum origin_state {
	ORIGIN_RESOLVE,
	ORIGIN_DIAL,
	ORIGIN_HANDSHAKE,
	ORIGIN_READY,
	ORIGIN_IDLE,
	ORIGIN_DEAD
};

struct origin_events {
	/* The connection is there (CATEGORY_NONE), or why not; in the latter case the origin is gone already. */
	void (*ready)(void *user, enum category why, const char *detail);
	/* Something happened on origin->leg. */
	void (*progress)(void *user);
};

struct origin {
	struct pool_item item; /* first: found by the pool */
	struct seat *seat;
	enum origin_state state;
	struct host host;
	struct leg *leg;
	const struct origin_events *events;
	void *user;
	bool relaxed; /* IDLE: its buffers given back */
	bool reset; /* close by RST */
	bool reused; /* came from the pool: the peer may have closed it meanwhile */

	struct lookup *lookup;
	struct addr candidates[LIMIT_ADDRESSES];
	unsigned ncandidates, next;
	struct dial dial;
	int fd; /* between socket() and the leg */
	bool dialling;
	struct timer timer;
	int last_error; /* of the candidates tried */
};

struct origin_want {
	const struct host *host;
	uint16_t port;
	bool tls;
	uint64_t credentials; /* hash of the names that were swapped in */
	bool fresh; /* not from the pool: a retry */
};

/*
 * A connection to that host. From the pool it is in ORIGIN_READY at once and `ready` is not called; a new one says
 * `ready` later, never from inside. NULL when slots or the sandbox's lookups are out.
 */
struct origin *origin_get(struct seat *seat, const struct origin_want *want,
	const struct origin_events *events, void *user);
/* The exchange is over; keep = the connection may be used again. No event comes after this. */
void origin_put(struct origin *o, bool keep);

/* The same, by RST: what was on its way is broken off. */
void origin_break(struct origin *o);

/* ---- for the worker */
void origin_connected(void *worker, union ring_ref ref, int res, uint32_t flags);
/* Drops what the pool has of that seat. */
void origin_forget(struct seat *seat);

#endif
