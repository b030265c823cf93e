/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peers.h – who asks at helper.sock: each connection and what it waits for. Life: open → (accepts by itself) → reap
 * after every turn of the loop → stop → close. */
#ifndef SALLYPORT_PEERS_H
#define SALLYPORT_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include "netns-helper/loop.h"

struct peer;
struct sandboxes;

struct peers {
	struct loop *loop; /* borrowed, as the next */
	struct sandboxes *sandboxes;
	struct loop_source listener; /* its descriptor is owned; -1 = none */
	struct peer *first;
	size_t n;
	bool held; /* a sandbox has been held */
};

/* Takes over the listening socket, also on failure. 0 or -errno. */
int peers_open(struct peers *peers, struct loop *loop, struct sandboxes *sandboxes, int listener);
/* Frees those whose connection has ended. */
void peers_reap(struct peers *peers);
/* Accepts nobody any more; those that are there stay. */
void peers_stop(struct peers *peers);
/* Ends every connection: what was held ends with it. */
void peers_close(struct peers *peers);

#endif
