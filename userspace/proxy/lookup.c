/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c – see lookup.h. A lookup travels worker → control → worker as one mail; the slot is the worker's, and is given
 * back only in its thread. While it travels only the side that holds it looks at it, but for `done`, which is the
 * worker's alone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proxy/lookup.h"
#include "proxy/shared.h"
#include "proxy/worker.h"
#include "upstream/resolve.h"

/* Back in the worker's thread. */
static void lookup_return(struct mail *m)
{
	struct lookup *l = container_of(m, struct lookup, mail);
	struct seat *seat = l->seat;

	seat->lookups--;
	if (l->done)
		l->done(l->arg, l->err, l->addrs, l->n);
	slab_give(&seat->worker->lookups, l);
	worker_seat_check(seat);
}

/* In the control thread: the resolver has an answer. */
static void lookup_resolved(void *arg, int err, const struct addr *addrs, unsigned n)
{
	struct lookup *l = arg;

	l->err = err;
	l->n = n < LIMIT_ADDRESSES ? n : LIMIT_ADDRESSES;
	if (l->n)
		memcpy(l->addrs, addrs, l->n * sizeof(*addrs));
	l->mail.deliver = lookup_return;
	loop_post(l->seat->worker->shared->control, l->seat->worker->loop, &l->mail);
}

/* In the control thread: the question has arrived. */
static void lookup_ask(struct mail *m)
{
	struct lookup *l = container_of(m, struct lookup, mail);
	int r = resolve_lookup(l->seat->worker->shared->resolver, l->name, lookup_resolved, l);

	if (r < 0)
		lookup_resolved(l, r, NULL, 0);
}

struct lookup *lookup_start(struct seat *seat, const char *name, lookup_done done, void *arg)
{
	struct worker *w = seat->worker;
	struct lookup *l;

	if (seat->lookups >= LIMIT_LOOKUPS_SANDBOX)
		return NULL;
	l = slab_take(&w->lookups);
	if (!l)
		return NULL;
	l->seat = seat;
	l->done = done;
	l->arg = arg;
	l->mail.deliver = lookup_ask;
	(void)snprintf(l->name, sizeof(l->name), "%s", name); /* both hold LIMIT_NAME characters */
	seat->lookups++;
	loop_post(w->loop, w->shared->control, &l->mail);
	return l;
}

void lookup_cancel(struct lookup *l)
{
	l->done = NULL;
}
