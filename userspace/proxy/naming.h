/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.h – a worker asks the control thread for the synthetic address of a name that has none yet. The answer comes
 * back to the worker's thread, exactly once, and not before the address is on disk.
 */
#ifndef SALLYPORT_PROXY_NAMING_H
#define SALLYPORT_PROXY_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/addr.h"
#include "ring/loop.h"

struct fault;
struct host;
struct sandbox;
struct seat;
struct synthetic_entry;

/* One question, embedded in its owner, who keeps it (and the host) until done() is called. */
struct naming {
	struct mail mail;
	struct naming *next; /* the control thread's */
	struct seat *seat;
	const struct host *host;
	struct synthetic_entry *entry; /* the control thread's */
	/* in the worker; err is 0 with the address, -E2BIG: the sandbox has all the names that it may have, another
	 * -errno: it could not be kept */
	void (*done)(struct naming *n);
	int err;
	struct addr addr;
};

/* What of one sandbox is to be kept; the control thread's. Zeroed: nothing. */
struct namings {
	struct naming *first, *last; /* waiting for their turn */
	struct naming *flight; /* written, the disk has not said that it has them */
	int fd, dir; /* while there is a flight: the file; its directory, when the file is new, or -1 */
	bool dir_next; /* the directory is still to be synced */
	size_t size; /* bytes of the file that are whole lines, known to us */
	size_t grows; /* bytes of the flight that may be behind them */
	unsigned lines, more; /* the same in lines */
	bool told; /* that it cannot be kept has been logged */
	struct timer again; /* another daemon has the file locked */
	unsigned tries; /* that the flight has had to depart; 0: it does not wait for that */
	bool owed; /* what the other has kept is not read yet */
};

/* done is never called from inside. -EAGAIN when the sandbox has too many waiting on this worker; done is not called then. */
int naming_start(struct seat *seat, struct naming *n, const struct host *host,
	void (*done)(struct naming *n));

/* ---- in the control thread */

/*
 * Reads what was kept of the sandbox, if anything; while another daemon is writing it this is done later. Never waits.
 * 0; otherwise -errno with the fault set.
 */
int naming_load(struct sandbox *s, const char *state, struct fault *fault);
/* The same again, behind naming_load(): what another daemon has kept meanwhile. */
int naming_renew(struct sandbox *s, const char *state, struct fault *fault);
/* The sandbox is freed. */
void naming_end(struct sandbox *s);
/* The sandbox is withdrawn for good: removes the file. */
void naming_forget(const char *id, const char *state);

/* The completion of an fsync: a handler of the control thread's loop. */
enum { NAMING_OP = LOOP_OP_USER + 5 };
void naming_synced(void *owner, union ring_ref ref, int res, uint32_t flags);

#endif
