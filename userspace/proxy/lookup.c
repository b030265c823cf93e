/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c – see lookup.h. A lookup travels worker → control → worker as one mail; the slot is the worker's, and is given
 * back only in its thread. While it travels only the side that holds it looks at it, but for `done`, which is the
 * worker's alone.
 *
 * The resolver has LIMIT_LOOKUPS places. While they last a sandbox may take LIMIT_LOOKUPS_ALONE of them; once others
 * wait, a place that becomes free goes to the first in the queue whose sandbox holds fewer than its share of
 * LIMIT_LOOKUPS_SANDBOX, or else simply to the first. On its worker a sandbox may wait for LIMIT_LOOKUPS_SEAT answers:
 * the slots are everybody's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dns/records.h"
#include "policy/policy.h"
#include "proxy/lookup.h"
#include "proxy/sandbox.h"
#include "proxy/shared.h"
#include "proxy/worker.h"
#include "upstream/resolve.h"

/* Back in the worker's thread. */
static void lookup_return(struct mail *m)
{
	struct lookup *l = container_of(m, struct lookup, mail);
	struct seat *seat = l->seat;

	if (l->done)
		l->done(l->arg, l->err, l->addrs, l->n);
	if (l->records_done)
		l->records_done(l->arg, l->err, l->err ? NULL : l->records);
	if (l->records)
		slab_give(&seat->worker->records, l->records);
	slab_give(&seat->worker->lookups, l);
	seat->lookups--; /* only now: what `done` lets go may have been the last of the seat but for this */
	worker_seat_check(seat);
}

/* ---- in the control thread */

static struct lookup_queue *lookup_queue_of(struct lookup *l)
{
	return &l->seat->worker->shared->lookups;
}

static void lookup_enqueue(struct lookup_queue *q, struct lookup *l)
{
	l->next = NULL;
	*(q->last ? &q->last->next : &q->first) = l;
	q->last = l;
}

/* Takes out whose turn it is. */
static struct lookup *lookup_dequeue(struct lookup_queue *q)
{
	struct lookup **at = &q->first, **turn = &q->first, *before = NULL, *l;

	for (struct lookup *previous = NULL; *at; previous = *at, at = &(*at)->next)
		if ((*at)->seat->sandbox->lookups < LIMIT_LOOKUPS_SANDBOX) {
			turn = at;
			before = previous;
			break;
		}
	l = *turn;
	if (!l)
		return NULL;
	*turn = l->next;
	if (q->last == l)
		q->last = before;
	return l;
}

static void lookup_resolved(void *arg, int err, const struct addr *addrs, unsigned n);

/* Back to the worker with the answer. */
static void lookup_give(struct lookup *l, int err, const struct addr *addrs, unsigned n)
{
	l->err = err;
	l->n = n < LIMIT_ADDRESSES ? n : LIMIT_ADDRESSES;
	if (l->n)
		memcpy(l->addrs, addrs, l->n * sizeof(*addrs));
	l->mail.deliver = lookup_return;
	loop_post(l->seat->worker->shared->control, l->seat->worker->loop, &l->mail);
}

static void lookup_found(void *arg, int err)
{
	lookup_resolved(arg, err, NULL, 0);
}

static int lookup_resolve(struct resolver *resolver, struct lookup *l)
{
	if (l->records)
		return resolve_records(resolver, l->name, l->type, l->records, lookup_found, l);
	return resolve_lookup(resolver, l->name, lookup_resolved, l);
}

enum lookup_place { LOOKUP_NO_ROOM, LOOKUP_TAKEN, LOOKUP_ANSWERED };

/* LOOKUP_NO_ROOM: the lookup is the caller's still. LOOKUP_ANSWERED: it took no place. */
static enum lookup_place lookup_try(struct lookup *l)
{
	struct shared *shared = l->seat->worker->shared;
	int r;

	if (shared->ending || l->seat->sandbox->leaving) {
		lookup_give(l, -ECANCELED, NULL, 0);
		return LOOKUP_ANSWERED;
	}
	if (policy_dns(l->seat->sandbox->policy) == POLICY_DNS_OFF) {
		lookup_give(l, -EACCES, NULL, 0);
		return LOOKUP_ANSWERED;
	}
	if (l->seat->sandbox->lookups >= LIMIT_LOOKUPS_ALONE)
		return LOOKUP_NO_ROOM; /* comes back from the queue when one of its own is answered */
	r = lookup_resolve(shared->resolver, l);
	if (r == -EAGAIN)
		return LOOKUP_NO_ROOM;
	if (r < 0) {
		lookup_give(l, r, NULL, 0);
		return LOOKUP_ANSWERED;
	}
	l->seat->sandbox->lookups++;
	return LOOKUP_TAKEN;
}

/* The resolver has an answer: back to the worker, and a place is free. */
static void lookup_resolved(void *arg, int err, const struct addr *addrs, unsigned n)
{
	struct lookup *l = arg, *next;
	struct lookup_queue *q = lookup_queue_of(l);
	enum lookup_place place = LOOKUP_ANSWERED;

	l->seat->sandbox->lookups--;
	lookup_give(l, err, addrs, n);
	while (place == LOOKUP_ANSWERED && (next = lookup_dequeue(q))) {
		place = lookup_try(next);
		if (place == LOOKUP_NO_ROOM)
			lookup_enqueue(q, next);
	}
}

static bool lookup_is_of(const void *lookup, const void *sandbox)
{
	return ((const struct lookup *)lookup)->seat->sandbox == sandbox;
}

void lookup_forget(struct sandbox *s)
{
	struct lookup_queue *q = &s->shared->lookups;
	struct lookup **at = &q->first;

	q->last = NULL;
	while (*at) {
		struct lookup *l = *at;

		if (l->seat->sandbox == s) {
			*at = l->next;
			lookup_give(l, -ECANCELED, NULL, 0);
		} else {
			q->last = l;
			at = &l->next;
		}
	}
	resolve_cancel_of(s->shared->resolver, lookup_is_of, s);
}

static void lookup_ask(struct mail *m)
{
	struct lookup *l = container_of(m, struct lookup, mail);

	if (lookup_try(l) == LOOKUP_NO_ROOM)
		lookup_enqueue(lookup_queue_of(l), l);
}

/* ---- in the worker */

static struct lookup *lookup_take(struct seat *seat, const char *name, void *arg)
{
	struct lookup *l =
		seat->lookups < LIMIT_LOOKUPS_SEAT ? slab_take(&seat->worker->lookups) : NULL;

	if (!l)
		return NULL;
	l->seat = seat;
	l->arg = arg;
	l->mail.deliver = lookup_ask;
	(void)snprintf(l->name, sizeof(l->name), "%s", name); /* both hold LIMIT_NAME characters */
	return l;
}

static struct lookup *lookup_send(struct lookup *l)
{
	struct worker *w = l->seat->worker;

	l->seat->lookups++;
	loop_post(w->loop, w->shared->control, &l->mail);
	return l;
}

struct lookup *lookup_start(struct seat *seat, const char *name, lookup_done done, void *arg)
{
	struct lookup *l = lookup_take(seat, name, arg);

	if (!l)
		return NULL;
	l->done = done;
	return lookup_send(l);
}

struct lookup *lookup_start_records(
	struct seat *seat, const char *name, uint16_t type, lookup_records_done done, void *arg)
{
	struct worker *w = seat->worker;
	struct lookup *l = lookup_take(seat, name, arg);

	if (!l)
		return NULL;
	l->records = slab_take(&w->records);
	if (!l->records) {
		slab_give(&w->lookups, l);
		return NULL;
	}
	l->records_done = done;
	l->type = type;
	return lookup_send(l);
}

void lookup_cancel(struct lookup *l)
{
	l->done = NULL;
	l->records_done = NULL;
}
