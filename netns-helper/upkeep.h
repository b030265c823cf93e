/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upkeep.h – what is kept right while sandboxes run: the host's addresses in each, and the proof that each is still
 * held. Called by sandboxes.c, and by serve.c when the host's addresses change.
 */
#ifndef SALLYPORT_NETNS_HELPER_UPKEEP_H
#define SALLYPORT_NETNS_HELPER_UPKEEP_H

#include <stdint.h>

struct hosts;
struct sandbox;
struct sandboxes;

/* The host's addresses are others, or cannot be read: the programs have them at once, the tables by upkeep_tick(). */
void upkeep_hosts(struct sandboxes *s, const struct hosts *hosts);

/*
 * A sandbox has become active. Its first self-test begins; whoever asked for the attach is told when it has ended, since
 * a failure fails the attach.
 */
void upkeep_prove(struct sandboxes *s, struct sandbox *sandbox);

/* What is due; the milliseconds until the next, -1 = nothing. */
int upkeep_tick(struct sandboxes *s, uint64_t now);

/* The sandbox leaves: a self-test that runs is ended. sandbox->selftest is NULL when it has. */
void upkeep_stop(struct sandbox *sandbox);

#endif
