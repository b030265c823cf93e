/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h – idle upstream connections of one worker, most recently used first, found by all that makes them equal. The
 * items belong to whoever puts them in; the pool only links them.
 */
#ifndef SALLYPORT_UPSTREAM_POOL_H
#define SALLYPORT_UPSTREAM_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

/* Two requests may share a connection only when all of this is the same. */
struct pool_key {
	const void *seat; /* the sandbox: never shared between two */
	const void *trust; /* the set of roots that the peer was verified with */
	uint64_t credentials; /* hash of the names of the credentials that were put in; 0 = none */
	uint16_t port;
	bool tls;
	uint8_t version; /* the owner's, of HTTP */
	char host[LIMIT_NAME + 1];
};

struct pool_item {
	struct pool_key key;
	struct pool_item *next, *prev; /* NULL while not in the pool */
};

struct pool {
	struct pool_item head; /* sentinel */
	unsigned count;
};

void pool_init(struct pool *p);
/* Puts an idle item in. Returns the least recently used one, taken out, when there are more than LIMIT_POOL_IDLE. */
struct pool_item *pool_put(struct pool *p, struct pool_item *item);
/* One with that key, which stays; or NULL. */
struct pool_item *pool_find(const struct pool *p, const struct pool_key *key);
/* Takes one with that key out, or returns NULL. */
struct pool_item *pool_take(struct pool *p, const struct pool_key *key);
/* Takes any of that seat out, or returns NULL. */
struct pool_item *pool_take_seat(struct pool *p, const void *seat);
/* Takes this one out; no-op when it is not in. */
void pool_remove(struct pool *p, struct pool_item *item);

#endif
