/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse.h – whether all threads live, told to the helper's memory several times a second. On the control thread.
 * Life: zeroed → pulse_start … pulse_stop.
 */
#ifndef SALLYPORT_PROXY_PULSE_H
#define SALLYPORT_PROXY_PULSE_H

#include "capture/heartbeat.h"
#include "ring/loop.h"

struct shared;

enum { PULSE_EVERY = 200 /* milliseconds */ };

struct pulse {
	struct shared *shared;
	struct heartbeat heartbeat;
	struct timer timer;
};

/* In the memory of the helper that is there now; the descriptor changes owner. 0 or -errno. Starts again over. */
int pulse_start(struct pulse *p, struct shared *shared, int fd, unsigned slot);
/* There is nobody to tell any more. */
void pulse_stop(struct pulse *p);
/* … and nobody shall believe that we serve. */
void pulse_die(struct pulse *p);

#endif
