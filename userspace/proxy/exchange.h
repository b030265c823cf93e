/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h – one request and its response. See exchange.c for its life. */
#ifndef SALLYPORT_PROXY_EXCHANGE_H
#define SALLYPORT_PROXY_EXCHANGE_H

#include "audit/event.h"
#include "policy/hosts.h"
#include "proxy/head.h"
#include "proxy/origin.h"
#include "proxy/stream.h"
#include "proxy/upgrade.h"

struct connection;
struct credset;

enum exchange_state {
	EXCHANGE_HEAD, /* the head is there and has not been looked at */
	EXCHANGE_UPSTREAM, /* the head is rewritten; waiting for a connection to the upstream */
	EXCHANGE_RELAY, /* both directions move */
};

struct exchange {
	struct connection *c;
	struct exchange *next, *prev; /* of the connection's */
	enum exchange_state state;
	struct timer timer; /* the deadline of the state */
	struct stream down, up; /* towards the client, and the upstream */
	struct origin_user upstream;
	struct credset *credentials; /* the snapshot that the swap was judged by */
	struct head
		head; /* the rewritten request; may hold a secret, and is kept until there is a response */
	struct upgrade upgrade; /* what the request offers */

	struct host host;
	uint16_t port;
	uint64_t credentials_key;
	bool head_request;
	bool grpc; /* of HTTP/2: needs it all the way */
	bool wants_plain; /* shows text bodies to people */
	bool origin_keep;
	bool bodiless; /* can be sent again */
	bool repeatable; /* … even if something may have come of the first try */
	bool repeated;
	bool reserved; /* holds a place in the journal */
	bool up_ended, up_done; /* the request is read, written to its end */
	bool headed; /* the final head is written */
	bool down_ended; /* the response is read to its end */
	bool switched; /* 101: bytes both ways */
	unsigned interim; /* 1xx heads so far */
	uint64_t began;
	uint64_t up_before, down_before; /* HTTP/1: the client leg's counters when it began */
	struct audit_event event;
};

/* The client leg has bytes of a head: parses, judges, rewrites and starts, or refuses. Nothing when it is incomplete. */
void exchange_begin(struct connection *c);
/* Answers a head that will not be complete, and ends the connection. */
void exchange_refuse_head(struct connection *c, const char *why);
/* A request's head has come on the connection's session; it is looked at with the next step. */
void exchange_open(struct connection *c, struct h2_stream *h2);
/* Moves what can move. May end the exchange (connection_exchanged(), connection_break()). */
void exchange_step(struct exchange *x);
/* session_events.moved */
void exchange_moved(void *exchange);
/* The connection is dead: lets everything go. */
void exchange_abort(struct exchange *x);

#endif
