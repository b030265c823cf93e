/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic.h – the synthetic addresses of one sandbox: an address that stands for a name (policy document, "DNS").
 *
 * One address for each name and one name for each address, as long as the sandbox is attached; never used again for
 * another. Kept in memory here; naming.c gives new ones and keeps them on disk, before anybody is told. A name that is
 * not on disk yet is in the table and is not seen: it is not settled.
 *
 * The control thread writes. Every function that takes a const struct synthetic or sandbox may be called by any thread
 * that holds the sandbox (a worker with its seat): they neither lock nor call the kernel.
 */
#ifndef SALLYPORT_PROXY_SYNTHETIC_H
#define SALLYPORT_PROXY_SYNTHETIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "policy/hosts.h"

struct addr;
struct sandbox;
struct synthetic_table;

enum { SYNTHETIC_MAX = 4096 }; /* names of one sandbox */

/* Where new addresses are taken from, both ends included, in host byte order. */
struct synthetic_range {
	uint32_t first, last;
};

/* A name and its address. Neither changes, nor is it freed before the table is. */
struct synthetic_entry {
	uint32_t v4; /* host byte order */
	_Atomic bool settled; /* it is on disk: it may be told */
	uint8_t n; /* length of text */
	char text[]; /* canonical, with a NUL */
};

struct synthetic {
	_Atomic(struct synthetic_table *) table; /* NULL before the first name */
	uint64_t seed; /* of the hashes */
};

/* Frees all names. No thread may look at them any more. */
void synthetic_done(struct synthetic *s);

/* The name that a synthetic address of this sandbox stands for. Any thread. False: it is none. */
bool synthetic_host(const struct sandbox *s, const struct addr *a, struct host *ret);
/* Whether the address lies where synthetic addresses are. Without a name it is refused; it is never dialled. */
bool synthetic_pool(const struct addr *a);

/* The same as synthetic_host(), without the sandbox around. */
bool synthetic_find(const struct synthetic *s, const struct addr *a, struct host *ret);
/* The address of that name, with port 0. False: it has none yet. */
bool synthetic_address(const struct synthetic *s, const struct host *h, struct addr *ret);
/* Names that are settled or on their way. */
unsigned synthetic_count(const struct synthetic *s);

/* ---- for the control thread, which alone writes */

/* The entry of that name, settled or not, or NULL. Borrowed. */
struct synthetic_entry *synthetic_entry(const struct synthetic *s, struct slice name);
/*
 * Adds a name with that address; it is not settled. 0 and *ret; -EEXIST: the name or the address is in the table;
 * -ERANGE: no address of the pool, or one that is left out; -ENOSPC: SYNTHETIC_MAX names; -ENOMEM.
 */
int synthetic_add(
	struct synthetic *s, struct slice name, uint32_t v4, struct synthetic_entry **ret);
/*
 * Adds a name with an address of the range that no name has: the first from a random one on. `random` is a number that
 * the sandbox cannot guess. As synthetic_add(), -ENOSPC also when the range has none left.
 */
int synthetic_give(struct synthetic *s, const struct synthetic_range *range, struct slice name,
	uint32_t random, struct synthetic_entry **ret);
/* It is on disk: from now on it is seen. */
void synthetic_settle(struct synthetic_entry *e);

#endif
