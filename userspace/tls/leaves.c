/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaves.c – see leaves.h. Owns: the entries and the leaf of each.
 *
 * An entry is in three places: a chain of the hash table, the list of use (first = most recently
 * used), or the list of the free ones. All are made at the start, so a full cache is a full list
 * and nothing is allocated later but the leaf itself (50 us with its signature; an entry saves
 * that).
 *
 *	free --get()--> in use, first of the list --…--> last of it --get() of another name--> free
 *
 * A worker's own: leaves are minted once for each worker and not once for all, which costs 50 us a
 * name and saves every lock. The keys come from peers, who may choose names that collide: the cost
 * of that is a walk over at most `max` entries for a peer that pays a handshake for each, so FNV
 * will do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "model/addr.h"
#include "tls/leaves.h"
#include "tls/mint.h"

struct entry {
	struct entry *newer, *older; /* list of use; `older` also links the free ones */
	struct entry *chain;
	struct leaf *leaf;
	uint64_t owner;
	uint64_t hash;
	uint8_t name_n;
	bool is_ip; /* a name that looks like an address is not that address */
	uint8_t name[LIMIT_NAME];
};

struct leaves {
	unsigned max, count, buckets; /* buckets: a power of two */
	uint64_t minted;
	struct entry *newest, *oldest, *free;
	struct entry **table;
	struct entry *entries;
};

int leaves_new(unsigned max, struct leaves **ret)
{
	struct leaves *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->max = max;
	for (c->buckets = 16; c->buckets < max; c->buckets *= 2)
		;
	c->table = calloc(c->buckets, sizeof(*c->table));
	c->entries = calloc(max, sizeof(*c->entries));
	if (!c->table || !c->entries) {
		leaves_free(c);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < max; i++) {
		c->entries[i].older = c->free;
		c->free = &c->entries[i];
	}
	*ret = c;
	return 0;
}

void leaves_free(struct leaves *c)
{
	if (!c)
		return;
	for (struct entry *e = c->newest; e; e = e->older)
		mint_leaf_free(e->leaf);
	free(c->table);
	free(c->entries);
	free(c);
}

static void leaves_unlink(struct leaves *c, struct entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
	e->newer = e->older = NULL;
}

static void leaves_link(struct leaves *c, struct entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static struct entry **leaves_bucket(struct leaves *c, uint64_t hash)
{
	return &c->table[(hash ^ hash >> 32) & (c->buckets - 1)];
}

static void leaves_drop(struct leaves *c, struct entry *e)
{
	struct entry **at = leaves_bucket(c, e->hash);

	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	leaves_unlink(c, e);
	mint_leaf_free(e->leaf);
	*e = (struct entry){.older = c->free};
	c->free = e;
	c->count--;
}

static struct entry *leaves_find(
	struct leaves *c, uint64_t hash, uint64_t owner, struct slice name, bool is_ip)
{
	for (struct entry *e = *leaves_bucket(c, hash); e; e = e->chain)
		if (e->hash == hash && e->owner == owner && e->is_ip == is_ip &&
			slice_eq(slice_of(e->name, e->name_n), name))
			return e;
	return NULL;
}

static bool leaves_good(const struct leaf *leaf, int64_t now)
{
	int64_t from = mint_leaf_not_before(leaf), to = mint_leaf_not_after(leaf);

	return now >= from && to - now >= (to - from) / 10;
}

/* A fresh leaf for an entry that exists: the old one stays if there is no memory for another and it
 * still holds. */
static int leaves_renew(
	struct leaves *c, struct entry *e, struct ca *ca, const struct addr *ip, int64_t now)
{
	struct leaf *leaf;
	int r = mint_leaf(ca, slice_of(e->name, e->name_n), ip, now, &leaf);

	if (r < 0)
		return now <= mint_leaf_not_after(e->leaf) && now >= mint_leaf_not_before(e->leaf)
			       ? 0
			       : r;
	c->minted++;
	mint_leaf_free(e->leaf);
	e->leaf = leaf;
	return 0;
}

static int leaves_add(struct leaves *c, struct ca *ca, uint64_t hash, uint64_t owner,
	struct slice name, const struct addr *ip, int64_t now, struct entry **ret)
{
	struct leaf *leaf;
	struct entry *e;
	int r = mint_leaf(ca, name, ip, now, &leaf); /* which judges the name's length, too */

	if (r < 0)
		return r;
	c->minted++;
	if (!c->free)
		leaves_drop(c, c->oldest);
	e = c->free;
	c->free = e->older;
	*e = (struct entry){.leaf = leaf,
		.owner = owner,
		.hash = hash,
		.name_n = (uint8_t)name.n,
		.is_ip = ip != NULL};
	memcpy(e->name, name.p, name.n);
	e->chain = *leaves_bucket(c, hash);
	*leaves_bucket(c, hash) = e;
	leaves_link(c, e);
	c->count++;
	*ret = e;
	return 0;
}

int leaves_get(struct leaves *c, struct ca *ca, uint64_t owner, struct slice name,
	const struct addr *ip, int64_t now, struct leaf **ret)
{
	uint64_t hash = hash_add(hash_add(hash_start(), slice_of(&owner, sizeof(owner))), name);
	struct entry *e = leaves_find(c, hash, owner, name, ip != NULL);
	int r = 0;

	if (!e) {
		r = leaves_add(c, ca, hash, owner, name, ip, now, &e);
	} else {
		leaves_unlink(c, e);
		leaves_link(c, e);
		if (!leaves_good(e->leaf, now))
			r = leaves_renew(c, e, ca, ip, now);
	}
	if (r == 0)
		*ret = e->leaf;
	return r;
}

void leaves_forget(struct leaves *c, uint64_t owner)
{
	for (struct entry *e = c->newest, *older; e; e = older) {
		older = e->older;
		if (e->owner == owner)
			leaves_drop(c, e);
	}
}

unsigned leaves_count(const struct leaves *c)
{
	return c->count;
}

uint64_t leaves_minted(const struct leaves *c)
{
	return c->minted;
}
