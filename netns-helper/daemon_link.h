/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_link.h – link.sock: the one daemon that serves the sandboxes, which may come, die and come
 * back. Life: listen → (accepts by itself) → pump after every change of the sandboxes → done.
 */
#ifndef SALLYPORT_DAEMON_LINK_H
#define SALLYPORT_DAEMON_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "netns-helper/loop.h"

struct dialler;
struct programs;
struct sandboxes;

struct daemon_link {
	struct loop *loop; /* borrowed, as the next */
	struct sandboxes *sandboxes;
	struct loop_source listener; /* its descriptor is owned, as those below */
	struct loop_source peer; /* fd -1 = no daemon */
	int pidfd; /* of the daemon; -1 = none, or the kernel gave none */
	const struct programs *programs; /* borrowed, as the next */
	struct dialler *dialler;
	bool dialler_said; /* on this connection */
	uid_t uid; /* the daemon's; root may connect as well */
	bool blocked; /* something is due and the socket is full */
};

/* Takes over the listening socket. 0 or -errno. */
int daemon_link_init(struct daemon_link *link, struct loop *loop, struct sandboxes *sandboxes,
	int listener, const struct programs *programs, struct dialler *dialler, uid_t uid);

/* Sends what is due, as far as the socket takes it. */
void daemon_link_pump(struct daemon_link *link);

/* Closes both sockets. With `end` the daemon is asked to terminate, and is killed when it does not
 * within 3 s. */
void daemon_link_done(struct daemon_link *link, bool end);

#endif
