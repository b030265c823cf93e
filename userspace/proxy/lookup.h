/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h – a worker asks the control thread for the addresses of a name, or for other records. The answer comes back to the worker's thread,
 * exactly once, unless the asker has cancelled.
 */
#ifndef SALLYPORT_PROXY_LOOKUP_H
#define SALLYPORT_PROXY_LOOKUP_H

#include "base/limits.h"
#include "model/addr.h"
#include "ring/loop.h"

struct dns_records;
struct sandbox;
struct seat;
struct worker;

typedef void (*lookup_done)(void *arg, int err, const struct addr *addrs, unsigned n);
/* records is borrowed for the call, NULL with an error. */
typedef void (*lookup_records_done)(void *arg, int err, const struct dns_records *records);

struct lookup {
	struct mail mail;
	struct lookup *next; /* in the control thread's queue */
	struct seat *seat;
	lookup_done done; /* both NULL: cancelled */
	lookup_records_done records_done;
	void *arg;
	struct dns_records *records; /* of the worker's slots; NULL: addresses are asked for */
	uint16_t type;
	int err; /* as resolve_done has it; -EACCES: the policy resolves no names for this sandbox */
	unsigned n;
	struct addr addrs[LIMIT_ADDRESSES];
	char name[LIMIT_NAME + 1];
};

/* NULL when the worker's slots are out. done is never called from inside. */
struct lookup *lookup_start(struct seat *seat, const char *name, lookup_done done, void *arg);
/* The same for records of a type of dns_records_type(). */
struct lookup *lookup_start_records(
	struct seat *seat, const char *name, uint16_t type, lookup_records_done done, void *arg);
/* In the control thread, of a sandbox that is leaving: its workers have all answers at once, -ECANCELED. */
void lookup_forget(struct sandbox *s);
/* done will not be called. */
void lookup_cancel(struct lookup *l);

#endif
