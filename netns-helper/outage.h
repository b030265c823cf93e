/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outage.h – the dead-man switch: whether a daemon serves, told to the kernel. Life: open → begins, ends … ; tick →
 * close.
 */
#ifndef SALLYPORT_OUTAGE_H
#define SALLYPORT_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct capture_heartbeat;
struct fault;
struct programs;
struct sandboxes;

struct outage {
	int heartbeat; /* CAPTURE_BEATS struct capture_heartbeat that daemons map; owned without BPF */
	bool owned;
	int map; /* borrowed: bpf/outage.bpf.h's; -1 = there is no BPF */
	const struct capture_heartbeat *beats; /* our mapping of it */
	bool wait; /* nothing is refused */
	bool down; /* no daemon is connected that serves */
	bool late; /* the one that serves hangs */
	bool swept; /* what the dead one had not accepted has been reset */
	unsigned int slot; /* of the one that serves */
	uint64_t since_ms; /* of `down`, monotonic */
	uint64_t look_ms; /* when the beat is looked at next, monotonic */
};

/* Begins as an outage. programs may be NULL: the heartbeat is then in plain memory. 0, or -errno with the reason. */
int outage_open(struct outage *o, const struct programs *programs, bool wait, struct fault *f);
void outage_close(struct outage *o);

/* The daemon that served is gone. */
void outage_begins(struct outage *o);
/* The one of that slot serves everything that is active. */
void outage_ends(struct outage *o, unsigned int slot);

/* Looks at the beat, brings the tables of the nft lane up to date, resets what has waited too long. The milliseconds
 * until the next time, -1 = none. */
int outage_tick(struct outage *o, struct sandboxes *s);

#endif
