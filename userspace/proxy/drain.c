/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c – see drain.h. What a worker does to drain is in worker.c and connection.c; here they are counted. What is
 * still open when the time is up is broken off by the ordinary end of the daemon, which follows.
 */
#include "base/cleanup.h"
#include "base/log.h"
#include "proxy/drain.h"
#include "proxy/shared.h"
#include "proxy/worker.h"

static void drain_stopped(struct mail *m)
{
	struct drain *d = container_of(m, struct worker, stop)->shared->drain;

	if (++d->stopped == d->shared->nworkers)
		d->accepts_nothing(d->arg);
}

static void drain_empty(struct mail *m)
{
	struct drain *d = container_of(m, struct worker, empty)->shared->drain;

	if (++d->empty < d->shared->nworkers)
		return;
	log_info("all that was under way has ended");
	loop_stop(d->shared->control);
}

static void drain_late(struct timer *t)
{
	struct drain *d = container_of(t, struct drain, late);

	log_warn("the time to drain is up: what is open is broken off");
	loop_stop(d->shared->control);
}

void drain_start(struct drain *d, struct shared *shared, uint64_t seconds,
	void (*accepts_nothing)(void *arg), void *arg)
{
	*d = (struct drain){.shared = shared,
		.late.fire = drain_late,
		.accepts_nothing = accepts_nothing,
		.arg = arg};
	shared->drain = d;
	timer_start(shared->control, &d->late, seconds * 1000);
	for (unsigned i = 0; i < shared->nworkers; i++)
		worker_drain(shared->workers[i], drain_stopped, drain_empty);
}

void drain_stop(struct drain *d)
{
	if (d->shared)
		timer_stop(d->shared->control, &d->late);
}
