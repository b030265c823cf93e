/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.h – a hashed wheel of deadlines: constant time to arm, move and stop, no allocation, no clock of its own.
 * Times are milliseconds on the caller's clock. Deadlines beyond one revolution stay in their slot and are looked at
 * once a revolution.
 */
#ifndef SALLYPORT_TIMER_H
#define SALLYPORT_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/loop.h"

enum { TIMER_TICK = 16, TIMER_SLOTS = 512, TIMER_WORDS = TIMER_SLOTS / 64 };

struct timer_wheel {
	struct timer slots[TIMER_SLOTS]; /* list heads */
	uint64_t occupied[TIMER_WORDS]; /* a bit for each slot that may hold timers */
	uint64_t tick; /* the last tick that was looked at */
};

void timer_wheel_init(struct timer_wheel *w, uint64_t now);
void timer_wheel_start(struct timer_wheel *w, struct timer *t, uint64_t due);
void timer_wheel_stop(struct timer *t);

/* Fires what is due. Callbacks may start and stop any timer. */
void timer_wheel_advance(struct timer_wheel *w, uint64_t now);

/* Milliseconds until the wheel must be looked at again, or -1 when it is empty. Never later than the next deadline. */
int64_t timer_wheel_wait(const struct timer_wheel *w, uint64_t now);

#endif
