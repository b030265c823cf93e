/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c – see journal.h. The reader empties the ring for each ring of the bell and only then lets it be rung again;
 * an event that is written in between rings for itself, so none is left behind.
 */
#include <errno.h>
#include <stdlib.h>

#include "audit/event.h"
#include "base/cleanup.h"
#include "proxy/journal.h"

void journal_drain(struct journal *j)
{
	uint32_t head = atomic_load_explicit(&j->head, memory_order_relaxed);
	uint64_t dropped;

	/* an exchange, not a store: it reads what the writer's wrote, and so sees the events before it */
	(void)atomic_exchange(&j->ringing, false);
	while (head != atomic_load_explicit(&j->tail, memory_order_acquire)) {
		j->read(j->arg, &j->events[head % JOURNAL_SIZE]);
		atomic_store_explicit(&j->head, ++head, memory_order_release);
	}
	dropped = atomic_exchange(&j->dropped, 0);
	if (dropped)
		j->lost(j->arg, dropped);
}

static void journal_deliver(struct mail *m)
{
	journal_drain(container_of(m, struct journal, bell));
}

int journal_init(struct journal *j, struct loop *from, struct loop *to)
{
	j->bell.deliver = journal_deliver;
	j->from = from;
	j->to = to;
	j->events = calloc(JOURNAL_SIZE, sizeof(*j->events));
	return j->events ? 0 : -ENOMEM;
}

void journal_done(struct journal *j)
{
	free(j->events);
	j->events = NULL;
}

static uint32_t journal_used(struct journal *j)
{
	return atomic_load_explicit(&j->tail, memory_order_relaxed) -
	       atomic_load_explicit(&j->head, memory_order_acquire);
}

bool journal_reserve(struct journal *j, unsigned *held)
{
	if (*held >= JOURNAL_SHARE || j->reserved >= JOURNAL_KEPT ||
		journal_used(j) + j->reserved >= JOURNAL_SIZE)
		return false;
	j->reserved++;
	++*held;
	return true;
}

void journal_release(struct journal *j, unsigned *held)
{
	j->reserved--;
	--*held;
}

static void journal_ring(struct journal *j)
{
	if (!atomic_exchange(&j->ringing, true))
		loop_post(j->from, j->to, &j->bell);
}

void journal_write(struct journal *j, const struct audit_event *e, unsigned *held)
{
	uint32_t tail = atomic_load_explicit(&j->tail, memory_order_relaxed);

	if (!held && journal_used(j) + j->reserved >= JOURNAL_SIZE) {
		atomic_fetch_add(&j->dropped, 1);
	} else {
		if (held)
			journal_release(j, held);
		j->events[tail % JOURNAL_SIZE] = *e;
		atomic_store_explicit(&j->tail, tail + 1, memory_order_release);
	}
	journal_ring(j);
}
