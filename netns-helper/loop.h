/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.h – the helper's event loop: one epoll instance, one callback for each descriptor,
 * level-triggered. */
#ifndef SALLYPORT_NETNS_LOOP_H
#define SALLYPORT_NETNS_LOOP_H

#include <stdint.h>

enum { LOOP_BATCH = 64 };

/* Lives in what it belongs to. fd -1 = not watched. */
struct loop_source {
	int fd; /* borrowed */
	void (*ready)(struct loop_source *source, uint32_t events);
};

struct loop {
	int epoll;
};

/* 0 or -errno. */
int loop_init(struct loop *l);
void loop_done(struct loop *l);

/* Watches source->fd for these EPOLL… events (besides HUP and ERR), or changes them. 0 or -errno.
 */
int loop_watch(struct loop *l, struct loop_source *source, uint32_t events);
int loop_change(struct loop *l, struct loop_source *source, uint32_t events);
/* Before the descriptor is closed. A callback that is due in the running batch still comes: free
 * sources after it. */
void loop_forget(struct loop *l, struct loop_source *source);

/* Waits at most timeout_ms (-1 = no limit), calls what is ready. 0 or -errno. */
int loop_turn(struct loop *l, int timeout_ms);

#endif
