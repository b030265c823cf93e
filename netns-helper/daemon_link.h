/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_link.h – link.sock: the daemon that serves the sandboxes, which may come, die and come back; and a second one
 * while it takes over (hand_over.h). Life: listen → (accepts by itself) → pump after every change of the sandboxes → done.
 */
#ifndef SALLYPORT_DAEMON_LINK_H
#define SALLYPORT_DAEMON_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "netns-helper/loop.h"
#include "netns-helper/proto.h"

struct daemon_link;
struct dialler;
struct outage;
struct programs;
struct sandboxes;

enum daemon_phase {
	DAEMON_GREETED, /* has had HELLO, has said nothing */
	DAEMON_SERVING,
	DAEMON_CANDIDATE, /* takes over; is offered the sandboxes and serves none yet */
	DAEMON_DRAINING, /* another has taken over: ends what it has begun */
	DAEMON_PHASES
};

/* One connection. Its index is its slot: in the messages, and of its beat. */
struct daemon_peer {
	struct daemon_link *link;
	struct loop_source source; /* fd -1 = nobody */
	enum daemon_phase phase;
	pid_t pid;
	int pidfd; /* owned; -1 = the kernel gave none */
	bool taking; /* it said that it takes over: SERVE is wanted */
	dev_t next_dev; /* of the control socket that it made, if it takes over; */
	ino_t next_ino; /* 0 = there was none */
	bool blocked; /* something is due and the socket is full */
	bool drain_owed; /* DRAINING is awaited, until drain_ms */
	uint64_t drain_ms; /* monotonic; of one that drains: then it is killed */
};

struct daemon_link {
	struct loop *loop; /* borrowed, as the next six */
	struct sandboxes *sandboxes;
	const struct programs *programs;
	struct dialler *dialler;
	struct outage *outage;
	int state; /* the state directory */
	uid_t uid; /* the daemon's; root may connect as well */
	struct loop_source listener; /* its descriptor is owned */
	struct daemon_peer peers[PROTO_DAEMONS];
	int handed; /* pidfd of the last that handed over and hung up, owned; -1 = none */
	uint64_t handed_ms; /* its drain_ms; 0 = it has been killed */
	pid_t handed_pid;
};

/* What the rest of the helper has, for daemon_link_init(); borrowed. */
struct daemon_link_setup {
	struct loop *loop;
	struct sandboxes *sandboxes;
	const struct programs *programs;
	struct dialler *dialler;
	struct outage *outage;
	int state;
	uid_t uid;
};

/* Takes over the listening socket. 0 or -errno. */
int daemon_link_init(struct daemon_link *link, const struct daemon_link_setup *setup, int listener);

/* Sends what is due, as far as the sockets take it. */
void daemon_link_pump(struct daemon_link *link);
/* Deadlines. The milliseconds until the next, -1 = none. */
int daemon_link_tick(struct daemon_link *link);

/* Closes all sockets. With `end` the daemons are asked to terminate, and killed when they do not within 3 s. */
void daemon_link_done(struct daemon_link *link, bool end);

/* ---- for hand_over.c */

static inline unsigned int daemon_peer_slot(const struct daemon_peer *peer)
{
	return (unsigned int)(peer - peer->link->peers);
}

/* The peer in that phase, or NULL. */
struct daemon_peer *daemon_link_in(struct daemon_link *link, enum daemon_phase phase);
/* Changes the phase; what may follow what is a table. */
void daemon_peer_to(struct daemon_peer *peer, enum daemon_phase phase);
/* Ends the connection; the other one is looked at. */
void daemon_link_drop(struct daemon_peer *peer);

#endif
