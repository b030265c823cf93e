/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse.c – see pulse.h. A worker is not woken to prove that it lives: its loop says when it went to work, and a loop that
 * waits for work is woken by the kernel (loop_busy()). So an idle daemon has one thread that wakes, and a worker that
 * hangs in the midst of something stops the beat at the moment in which it began it; as does this thread, by not
 * writing.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "proxy/pulse.h"
#include "proxy/shared.h"
#include "proxy/worker.h"

/* Until when all of them are known to have been alive. */
static uint64_t pulse_alive(const struct pulse *p)
{
	uint64_t oldest = clock_monotonic_ms();

	for (unsigned i = 0; i < p->shared->nworkers; i++) {
		uint64_t busy = loop_busy(p->shared->workers[i]->loop);

		if (busy && busy < oldest)
			oldest = busy;
	}
	return oldest;
}

static void pulse_fire(struct timer *t)
{
	struct pulse *p = container_of(t, struct pulse, timer);

	heartbeat_put(&p->heartbeat, pulse_alive(p));
	timer_start(p->shared->control, t, PULSE_EVERY);
}

int pulse_start(struct pulse *p, struct shared *shared, int fd, unsigned slot)
{
	int r;

	pulse_stop(p);
	p->shared = shared;
	p->timer.fire = pulse_fire;
	r = heartbeat_open(&p->heartbeat, fd, slot);
	if (r == 0)
		pulse_fire(&p->timer);
	return r;
}

void pulse_stop(struct pulse *p)
{
	if (p->shared)
		timer_stop(p->shared->control, &p->timer);
	heartbeat_close(&p->heartbeat);
}

void pulse_die(struct pulse *p)
{
	heartbeat_put(&p->heartbeat, 0);
	pulse_stop(p);
}
