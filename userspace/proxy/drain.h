/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h – the end of a daemon from which another has taken over: workers accept nothing, what is under way ends by
 * itself or with the time, then the control thread's loop is stopped. On the control thread. Life: zeroed → drain_start.
 */
#ifndef SALLYPORT_PROXY_DRAIN_H
#define SALLYPORT_PROXY_DRAIN_H

#include "ring/loop.h"

struct shared;

struct drain {
	struct shared *shared;
	struct timer late;
	unsigned stopped, empty; /* workers that have said so */
	void (*accepts_nothing)(
		void *arg); /* called once, when the last worker accepts nothing any more */
	void *arg;
};

/* The workers' seats take no connection from now on; the loop is stopped after at most so many seconds. */
void drain_start(struct drain *d, struct shared *shared, uint64_t seconds,
	void (*accepts_nothing)(void *arg), void *arg);
void drain_stop(struct drain *d);

#endif
