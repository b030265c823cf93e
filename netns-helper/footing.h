/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * footing.h – the kernel's hooks, kept in use as long as the helper lives: the programs on a cgroup of its own in which
 * nobody ever is, the nft table in a network namespace of its own. Life: FOOTING_NONE → footing_open → footing_close.
 */
#ifndef SALLYPORT_NETNS_HELPER_FOOTING_H
#define SALLYPORT_NETNS_HELPER_FOOTING_H

#include "base/fault.h"

struct programs;

enum { FOOTING_LINKS = 16, FOOTING_NAME = 40 };

struct footing {
	int parent; /* owned: the helper's own cgroup; this and the next two: -1 = none */
	int cgroup; /* owned, locked: in there */
	int netns; /* owned */
	char name[FOOTING_NAME]; /* of the cgroup's directory; empty: none was made */
	int links[FOOTING_LINKS]; /* owned, of no pin: gone with the process */
	int nlinks;
};

#define FOOTING_NONE ((struct footing){.parent = -1, .cgroup = -1, .netns = -1})

/*
 * Makes both; programs: NULL = there is no BPF, the table alone. 0, or -errno with the reason in *fault and nothing kept:
 * the first sandbox of the machine is then attached some milliseconds more slowly, and that is all.
 */
int footing_open(struct footing *f, const struct programs *programs, struct fault *fault);

/* Takes both away. May be called at any stage, and twice. */
void footing_close(struct footing *f);

#endif
