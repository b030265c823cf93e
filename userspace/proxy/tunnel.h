/* SPDX-License-Identifier: Apache-2.0 */
/* tunnel.h – raw bytes between a captured connection and an upstream, in both directions. See tunnel.c for its life. */
#ifndef SALLYPORT_PROXY_TUNNEL_H
#define SALLYPORT_PROXY_TUNNEL_H

#include <stdbool.h>

#include "model/verdict.h"
#include "proxy/origin.h"

struct connection;

/* A part of its connection, zeroed with it. */
struct tunnel {
	struct origin_user upstream; /* while it is dialled and used */
	enum verdict_way way; /* which of the two raw ones; set by tunnel_start() */
	bool ready; /* the upstream is connected */
	bool counted; /* … and the connection is a tunnel: it is among the sandbox's */
	bool judging; /* the client's first bytes have not been looked at: nothing goes up */
	bool half; /* one side has ended: the other has a deadline, however slow */
	bool hurried; /* … but some have come: the rest has a deadline */
};

/*
 * Begins to dial c->host at the port where the client wants to be, without bytes of anybody. Where slots or lookups are out the
 * deadline of the state comes soon, for another try, or the connection is refused. It is in CONNECTION_NEW, where
 * tunnel_spoke() may be asked and tunnel_drop() undoes it, or in CONNECTION_TUNNEL.
 */
void tunnel_dial(struct connection *c);
/* The upstream is connected and has said something, or has ended: what it is does not hang on the client any more. */
bool tunnel_spoke(const struct connection *c);

/*
 * The connection, now in CONNECTION_TUNNEL, is a tunnel to c->host; dials unless tunnel_dial() has. judging: the client's
 * first bytes are still to be looked at.
 */
void tunnel_start(struct connection *c, enum verdict_way way, bool judging);
/* Moves what can move; may end the connection. */
void tunnel_step(struct connection *c);
/* The deadline of CONNECTION_TUNNEL has passed. */
void tunnel_expired(struct connection *c);
/* Lets the upstream go, by RST if the connection ends by one. Nothing when there is none. */
void tunnel_drop(struct connection *c);

#endif
