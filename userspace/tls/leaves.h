/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaves.h – a bounded cache of minted leaves, keyed by (owner, name), least recently used out. One
 * for each worker, so there is no lock. Owners never share a leaf, whatever the name.
 */
#ifndef SALLYPORT_TLS_LEAVES_H
#define SALLYPORT_TLS_LEAVES_H

#include <stdint.h>

#include "base/slice.h"

struct addr;
struct ca;
struct leaf;
struct leaves;

/* An empty cache for at most `max` leaves (LIMIT_LEAVES). 0, -ENOMEM. */
int leaves_new(unsigned max, struct leaves **ret);
void leaves_free(struct leaves *cache);

/*
 * The owner's leaf for `name` (see mint_leaf() for name, ip, now), minted when there is none, or
 * when less than a tenth of its life is left, or when the clock stands before its start. `owner` is
 * a number that is never used again for another CA. *ret is borrowed, valid until the next call on
 * this cache; engines that were given it keep what they need. 0 or what mint_leaf() says.
 */
int leaves_get(struct leaves *cache, struct ca *ca, uint64_t owner, struct slice name,
	const struct addr *ip, int64_t now, struct leaf **ret);

/* Drops all leaves of an owner: its sandbox is gone. */
void leaves_forget(struct leaves *cache, uint64_t owner);

unsigned leaves_count(const struct leaves *cache);
/* How many leaves were minted since the cache was made: for the counters. */
uint64_t leaves_minted(const struct leaves *cache);

#endif
