/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic.c – see synthetic.h.
 *
 * Owns: one table, the tables that it has outgrown, and the entries. Entries are only ever added, so readers need no
 * lock: an entry is written, then its number goes into the two indexes by a release store; a reader that sees the number
 * sees the entry. A table that is full to half of its indexes is copied into one of four times the size, which is
 * published the same way; the old one stays until the end, since somebody may be in it (together they are a third of
 * the last). With SYNTHETIC_MAX names of usual length that is about 350 KiB; with none, nothing; with ten, one; with a hundred, ten.
 *
 * The first address is found by chance, so what was learnt in one sandbox, or in an earlier life of it (an image, a
 * checkpoint, a file with addresses in it), most likely stands for nothing in another, rather than for another name; nor
 * does the order in which addresses are given say who asked for what before. Left out: the first and the last of the
 * range, which some stacks take for the network and its broadcast address, and the address that refused names share.
 *
 * The keys are a sandbox's own, so it can crowd its own index: the walk is at most the table, a few microseconds.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "dns/answers.h"
#include "model/addr.h"
#include "model/range.h"
#include "proxy/sandbox.h"
#include "proxy/synthetic.h"

enum {
	SYNTHETIC_FIRST = 16, /* entries of the first table */
	SYNTHETIC_GROWTH = 4,
};

/* Numbers of entries begin at 1; 0 is an empty place of an index. Indexes have twice the places. */
struct synthetic_table {
	struct synthetic_table *outgrown;
	unsigned capacity, n; /* n: the control thread's */
	_Atomic uint16_t *by_name, *by_address;
	struct synthetic_entry *entries[];
};
static_assert(SYNTHETIC_MAX < UINT16_MAX, "a number for every entry");

static uint32_t synthetic_v4(const struct addr *a)
{
	uint32_t v4;

	memcpy(&v4, a->ip + 12, sizeof(v4));
	return ntohl(v4);
}

static struct addr synthetic_addr(uint32_t v4)
{
	struct addr a = {.ip = {[10] = 0xff, [11] = 0xff}};

	v4 = htonl(v4);
	memcpy(a.ip + 12, &v4, sizeof(v4));
	return a;
}

/* Open on the sandbox's side and refused on the dialler's: that is what the range is for. */
bool synthetic_pool(const struct addr *a)
{
	return addr_is_v4(a) && range_sandbox(a) == RANGE_PUBLIC &&
	       range_dialler(a) == RANGE_BENCHMARK;
}

/* ---- reading */

static unsigned synthetic_place(
	const struct synthetic *s, const struct synthetic_table *t, struct slice key)
{
	uint64_t h = hash_add(hash_start() ^ s->seed, key);

	return (unsigned)(h >> 32 ^ h) & (2 * t->capacity - 1);
}

static unsigned synthetic_place_of(
	const struct synthetic *s, const struct synthetic_table *t, uint32_t v4)
{
	return synthetic_place(s, t, slice_of(&v4, sizeof(v4)));
}

/* The entry of the index from that place on for which the key holds, or NULL. */
static struct synthetic_entry *synthetic_by_name(
	const struct synthetic *s, const struct synthetic_table *t, struct slice name)
{
	for (unsigned i = synthetic_place(s, t, name);; i = (i + 1) & (2 * t->capacity - 1)) {
		uint16_t number = atomic_load_explicit(&t->by_name[i], memory_order_acquire);
		struct synthetic_entry *e;

		if (number == 0)
			return NULL;
		e = t->entries[number - 1];
		if (slice_eq(slice_of(e->text, e->n), name))
			return e;
	}
}

static struct synthetic_entry *synthetic_by_address(
	const struct synthetic *s, const struct synthetic_table *t, uint32_t v4)
{
	for (unsigned i = synthetic_place_of(s, t, v4);; i = (i + 1) & (2 * t->capacity - 1)) {
		uint16_t number = atomic_load_explicit(&t->by_address[i], memory_order_acquire);

		if (number == 0)
			return NULL;
		if (t->entries[number - 1]->v4 == v4)
			return t->entries[number - 1];
	}
}

static struct synthetic_table *synthetic_table(const struct synthetic *s)
{
	return atomic_load_explicit(&s->table, memory_order_acquire);
}

static bool synthetic_settled(const struct synthetic_entry *e)
{
	return e && atomic_load_explicit(&e->settled, memory_order_acquire);
}

bool synthetic_find(const struct synthetic *s, const struct addr *a, struct host *ret)
{
	const struct synthetic_table *t = synthetic_table(s);
	const struct synthetic_entry *e;

	if (!t || !addr_is_v4(a))
		return false;
	e = synthetic_by_address(s, t, synthetic_v4(a));
	if (!synthetic_settled(e))
		return false;
	*ret = (struct host){.n = e->n};
	memcpy(ret->text, e->text, e->n + 1U);
	return true;
}

bool synthetic_host(const struct sandbox *s, const struct addr *a, struct host *ret)
{
	return synthetic_find(&s->synthetic, a, ret);
}

bool synthetic_address(const struct synthetic *s, const struct host *h, struct addr *ret)
{
	const struct synthetic_table *t = synthetic_table(s);
	const struct synthetic_entry *e =
		t ? synthetic_by_name(s, t, slice_of(h->text, h->n)) : NULL;

	if (!synthetic_settled(e))
		return false;
	*ret = synthetic_addr(e->v4);
	return true;
}

/* ---- writing */

unsigned synthetic_count(const struct synthetic *s)
{
	const struct synthetic_table *t = synthetic_table(s);

	return t ? t->n : 0;
}

struct synthetic_entry *synthetic_entry(const struct synthetic *s, struct slice name)
{
	const struct synthetic_table *t = synthetic_table(s);

	return t ? synthetic_by_name(s, t, name) : NULL;
}

static void synthetic_index(_Atomic uint16_t *index, unsigned place, unsigned mask, uint16_t number)
{
	while (atomic_load_explicit(&index[place], memory_order_relaxed))
		place = (place + 1) & mask;
	atomic_store_explicit(&index[place], number, memory_order_release);
}

/* The table has room. */
static void synthetic_put(
	const struct synthetic *s, struct synthetic_table *t, struct synthetic_entry *e)
{
	unsigned mask = 2 * t->capacity - 1;

	t->entries[t->n++] = e;
	synthetic_index(
		t->by_name, synthetic_place(s, t, slice_of(e->text, e->n)), mask, (uint16_t)t->n);
	synthetic_index(t->by_address, synthetic_place_of(s, t, e->v4), mask, (uint16_t)t->n);
}

/* A table with room for one more. Returns it, or NULL: no memory. */
static struct synthetic_table *synthetic_table_new(
	const struct synthetic *s, struct synthetic_table *old)
{
	unsigned capacity = old ? old->capacity * SYNTHETIC_GROWTH : SYNTHETIC_FIRST;
	struct synthetic_table *t = calloc(
		1, sizeof(*t) + capacity * (sizeof(t->entries[0]) + 2 * 2 * sizeof(*t->by_name)));

	if (!t)
		return NULL;
	t->capacity = capacity;
	t->by_name = (_Atomic uint16_t *)&t->entries[capacity];
	t->by_address = t->by_name + 2 * (size_t)capacity;
	t->outgrown = old;
	for (unsigned i = 0; old && i < old->n; i++)
		synthetic_put(s, t, old->entries[i]);
	return t;
}

static struct synthetic_entry *synthetic_entry_new(struct slice name, uint32_t v4)
{
	struct synthetic_entry *e = malloc(sizeof(*e) + name.n + 1);

	if (!e)
		return NULL;
	e->v4 = v4;
	e->n = (uint8_t)name.n;
	atomic_init(&e->settled, false);
	memcpy(e->text, name.p, name.n);
	e->text[name.n] = 0;
	return e;
}

static bool synthetic_left_out(uint32_t v4)
{
	const struct addr a = synthetic_addr(v4), shared = dns_shared();

	return !synthetic_pool(&a) || addr_same_ip(&a, &shared);
}

int synthetic_add(struct synthetic *s, struct slice name, uint32_t v4, struct synthetic_entry **ret)
{
	struct synthetic_table *t = synthetic_table(s), *next = t;
	struct synthetic_entry *e;

	if (synthetic_left_out(v4) || name.n == 0 || name.n > LIMIT_NAME)
		return -ERANGE;
	if (t && (synthetic_by_name(s, t, name) || synthetic_by_address(s, t, v4)))
		return -EEXIST;
	if (t && t->n == SYNTHETIC_MAX)
		return -ENOSPC;
	if (!t || t->n == t->capacity)
		next = synthetic_table_new(s, t);
	e = next ? synthetic_entry_new(name, v4) : NULL;
	if (!e) {
		if (next != t)
			free(next);
		return -ENOMEM;
	}
	synthetic_put(s, next, e);
	if (next != t)
		atomic_store_explicit(&s->table, next, memory_order_release);
	*ret = e;
	return 0;
}

int synthetic_give(struct synthetic *s, const struct synthetic_range *range, struct slice name,
	uint32_t random, struct synthetic_entry **ret)
{
	uint32_t n = range->last - range->first - 1; /* without both ends */

	if (synthetic_entry(s, name))
		return -EEXIST;
	if (range->last < range->first + 2)
		return -ENOSPC;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t v4 = range->first + 1 + (random % n + k) % n;
		int r = synthetic_left_out(v4) ? -EEXIST : synthetic_add(s, name, v4, ret);

		if (r != -EEXIST)
			return r;
	}
	return -ENOSPC;
}

void synthetic_settle(struct synthetic_entry *e)
{
	atomic_store_explicit(&e->settled, true, memory_order_release);
}

void synthetic_done(struct synthetic *s)
{
	struct synthetic_table *t = synthetic_table(s);

	for (unsigned i = 0; t && i < t->n; i++)
		free(t->entries[i]);
	while (t) {
		struct synthetic_table *outgrown = t->outgrown;

		free(t);
		t = outgrown;
	}
	atomic_store_explicit(&s->table, NULL, memory_order_relaxed);
}
