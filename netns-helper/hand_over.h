/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hand_over.h – one daemon takes the sandboxes over from another, or from nobody, without a connection lost. */
#ifndef SALLYPORT_HAND_OVER_H
#define SALLYPORT_HAND_OVER_H

#include <stdint.h>

struct daemon_link;
struct daemon_peer;

/* Looks whether the next step is due: to be called whenever a daemon has said something, has come or has gone. */
void hand_over_look(struct daemon_link *link);
/* One that takes over has said so: what it has made is noted. */
void hand_over_begins(struct daemon_peer *new);
/* It accepts nothing any more, and ends within so many seconds. 0, or -EPROTO when that was not to be said. */
int hand_over_draining(struct daemon_peer *old, uint32_t seconds);
/* Deadlines. The milliseconds until the next, -1 = none. */
int hand_over_tick(struct daemon_link *link);
/* A daemon that takes over goes before it has: what it made is removed. */
void hand_over_failed(struct daemon_peer *new);

#endif
