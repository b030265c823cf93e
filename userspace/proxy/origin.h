/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.h – one connection to an upstream, from the name to the verified session, and between uses in the pool.
 *
 * RESOLVE → DIAL → HANDSHAKE → READY ⇄ IDLE → DEAD. In READY it has users: of HTTP/1, and for raw bytes, exactly one, which
 * reads and writes origin->leg itself; of HTTP/2 as many as its session takes streams. Users are told by `progress`.
 */
#ifndef SALLYPORT_PROXY_ORIGIN_H
#define SALLYPORT_PROXY_ORIGIN_H

#include "model/category.h"
#include "policy/hosts.h"
#include "proxy/session.h"
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

struct origin;
struct origin_user;

struct origin_events {
	/* The connection is there (CATEGORY_NONE), or why not; in the latter case user->origin is NULL. */
	void (*ready)(struct origin_user *user, enum category why, const char *detail);
	/* Something happened on origin->leg, or on the user's stream. */
	void (*progress)(struct origin_user *user);
};

/* Who waits for a connection or has one: a part of an exchange or a tunnel, zeroed with it. */
struct origin_user {
	struct origin *origin; /* NULL = none */
	const struct origin_events *events;
	struct origin_user *next, **link;
	bool told;
};

/* Which version of HTTP a connection may carry. */
enum origin_version {
	ORIGIN_ANY, /* as ALPN says */
	ORIGIN_H1, /* also where no HTTP is spoken */
	ORIGIN_H2C, /* HTTP/2 by prior knowledge, in plain text */
};

struct origin {
	struct pool_item item; /* first: found by the pool */
	struct seat *seat;
	enum origin_state state;
	struct host host;
	struct leg *leg;
	struct session session; /* session.h2 = HTTP/2 is spoken */
	struct origin_user *users;
	bool relaxed; /* IDLE: its buffers given back */
	bool reset; /* close by RST */
	bool reused; /* came from the pool: the peer may have closed it meanwhile */
	bool stepping; /* in session_step(): is not given back */
	bool severed; /* HTTP/2: the session is over, and its users know */

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
	enum origin_version version;
	uint64_t credentials; /* hash of the names that were swapped in */
	bool fresh; /* not from the pool, nor shared: a retry, a tunnel */
};

/*
 * A connection to that host for that user, whose events are set. From the pool it is in ORIGIN_READY at once and `ready`
 * is not called; a new one, or one that others wait for as well, says `ready` later, never from inside. False when slots
 * or the sandbox's lookups are out.
 */
bool origin_get(struct seat *seat, const struct origin_want *want, struct origin_user *user);
/* The user needs it no more; keep = the connection may be used again. No event comes after this. No-op when it has none. */
void origin_put(struct origin_user *user, bool keep);

/* The same where something was broken off: HTTP/1 and raw bytes end by RST. */
void origin_break(struct origin_user *user);

/* HTTP/2: nobody joins that connection any more; who has it keeps it. */
void origin_shun(struct origin_user *user);

/* ---- for the worker */
void origin_connected(void *worker, union ring_ref ref, int res, uint32_t flags);
/* Drops what the pool has of that seat. */
void origin_forget(struct seat *seat);

#endif
