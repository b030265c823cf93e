/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.c – see timer.h. A slot is a circular list with the slot's own head as sentinel. A bit in `occupied` may be
 * set for a slot that has become empty (stopping does not look back); it is cleared when the slot is next passed.
 */
#include <stddef.h>

#include "ring/timer.h"

static void timer_list_init(struct timer *head)
{
	head->next = head->prev = head;
}

static void timer_link(struct timer *head, struct timer *t)
{
	t->prev = head->prev;
	t->next = head;
	head->prev->next = t;
	head->prev = t;
}

void timer_wheel_init(struct timer_wheel *w, uint64_t now)
{
	*w = (struct timer_wheel){.tick = now / TIMER_TICK};
	for (int i = 0; i < TIMER_SLOTS; i++)
		timer_list_init(&w->slots[i]);
}

void timer_wheel_stop(struct timer *t)
{
	if (!t->next)
		return;
	t->prev->next = t->next;
	t->next->prev = t->prev;
	t->next = t->prev = NULL;
}

void timer_wheel_start(struct timer_wheel *w, struct timer *t, uint64_t due)
{
	uint64_t tick = (due + TIMER_TICK - 1) / TIMER_TICK;
	unsigned slot;

	timer_wheel_stop(t);
	if (tick <= w->tick)
		tick = w->tick + 1; /* the current slot has been passed already */
	t->due = due;
	slot = tick % TIMER_SLOTS;
	timer_link(&w->slots[slot], t);
	w->occupied[slot / 64] |= 1ULL << (slot % 64);
}

/* Takes the due timers of one slot to the list `ready`. */
static void timer_collect(struct timer_wheel *w, unsigned slot, uint64_t now, struct timer *ready)
{
	struct timer *head = &w->slots[slot], *t = head->next;

	while (t != head) {
		struct timer *next = t->next;

		if (t->due <= now) {
			timer_wheel_stop(t);
			timer_link(ready, t);
		}
		t = next;
	}
	if (head->next == head)
		w->occupied[slot / 64] &= ~(1ULL << (slot % 64));
}

void timer_wheel_advance(struct timer_wheel *w, uint64_t now)
{
	uint64_t tick = now / TIMER_TICK, first = w->tick + 1;
	struct timer ready;

	if (tick <= w->tick)
		return;
	if (tick - w->tick > TIMER_SLOTS)
		first = tick - TIMER_SLOTS + 1;
	timer_list_init(&ready);
	for (uint64_t i = first; i <= tick; i++) {
		unsigned slot = i % TIMER_SLOTS;

		if (w->occupied[slot / 64] >> (slot % 64) & 1)
			timer_collect(w, slot, now, &ready);
	}
	w->tick = tick;
	while (ready.next != &ready) {
		struct timer *t = ready.next;

		timer_wheel_stop(t);
		t->fire(t);
	}
}

int64_t timer_wheel_wait(const struct timer_wheel *w, uint64_t now)
{
	for (unsigned i = 1; i <= TIMER_SLOTS; i++) {
		uint64_t tick = w->tick + i;
		unsigned slot = tick % TIMER_SLOTS;

		if (slot % 64 == 0 && !w->occupied[slot / 64]) {
			i += 63;
			continue;
		}
		if (w->occupied[slot / 64] >> (slot % 64) & 1)
			return tick * TIMER_TICK > now ? (int64_t)(tick * TIMER_TICK - now) : 0;
	}
	return -1;
}
