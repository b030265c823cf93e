/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h – one HTTP/2 connection on a leg: what comes in is told to the streams' owners, what they write goes out. The
 * same towards clients (a connection has one) and upstreams (an origin has one).
 */
#ifndef SALLYPORT_PROXY_SESSION_H
#define SALLYPORT_PROXY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct h2_session;
struct h2_stream;
struct leg;
struct stream;

struct session_events {
	/* Towards clients: a request's head has come. The stream is to be owned by stream_h2_server(), or reset. */
	void (*opened)(void *user, struct h2_stream *h2);
	/* Something has come on a stream, or it can be written to again: the owner looks at it. May let go of it. */
	void (*moved)(void *owner);
};

struct session {
	struct h2_session *h2; /* NULL: there is none */
	struct leg *leg;
	const struct session_events *events;
	void *user;
	struct buf out; /* frames that are not in the leg yet */
	struct stream *changed; /* whose owners are to be told */
	bool over; /* nothing more will come */
	bool gone; /* … since the connection is */
};

/* `server`: towards a client. 0 or -ENOMEM. */
int session_start(struct session *s, bool server, struct leg *leg,
	const struct session_events *events, void *user);
/* Reads what has come, tells it, writes what there is to write. False: it is over and all is written. */
bool session_step(struct session *s);
/* All streams go with it; their owners must have let go. */
void session_done(struct session *s);

/* No new streams: the peer is told, and may go on with those that there are. */
void session_drain(struct session *s);
/* Towards upstreams: one more request may be made. */
bool session_takes(const struct session *s);
/* Streams that are open. */
unsigned session_streams(const struct session *s);
/* It is silent: gives memory back. */
void session_relax(struct session *s);
/* The peer is in the middle of a head: it has a deadline. */
bool session_in_head(const struct session *s);

/* ---- for stream_h2.c */
void session_changed(struct session *s, struct stream *stream);
void session_unchanged(struct session *s, struct stream *stream);

#endif
