/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h – one request and its response. See exchange.c for its life. */
#ifndef SALLYPORT_PROXY_EXCHANGE_H
#define SALLYPORT_PROXY_EXCHANGE_H

#include "audit/event.h"
#include "base/buf.h"
#include "http/h1_body.h"
#include "model/msg.h"
#include "policy/hosts.h"

struct connection;
struct credset;
struct origin;

enum exchange_state {
	EXCHANGE_UPSTREAM, /* the head is rewritten; waiting for a connection to the upstream */
	EXCHANGE_RELAY, /* both bodies move */
};

/* One direction of the relay. */
struct exchange_side {
	struct buf
		head; /* rewritten; the request's may hold a secret, and is kept until there is a response */
	size_t sent; /* bytes of it that were written to the leg */
	size_t scan; /* the parsers': of the head, then of the trailers */
	struct h1_body body; /* taken out of its framing */
	bool headed; /* the head is complete in `head` */
	bool chunked; /* put into chunks on the way out */
	bool trailers; /* those that come are forwarded */
	bool done; /* the last byte of the body has been written */
};

struct exchange {
	struct connection *c;
	enum exchange_state state;
	struct origin *origin;
	struct credset *credentials; /* the snapshot that the swap was judged by */
	struct exchange_side up, down;

	struct host host;
	uint16_t port;
	uint64_t credentials_key;
	bool head_request;
	bool client_10; /* HTTP/1.0: no chunks, no interim heads */
	bool wants_plain; /* shows text bodies to people */
	bool client_keep; /* the client lets the connection live */
	bool down_close; /* the end of the response is the end of the connection */
	bool origin_keep;
	bool repeatable; /* safe and without a body: may be sent again on another connection */
	bool reserved; /* holds a place in the journal */
	unsigned interim; /* 1xx heads so far */
	uint64_t began;
	uint64_t up_before, down_before; /* the client leg's counters when it began */
	struct audit_event event;
};

/* The client leg has bytes of a head: parses, judges, rewrites and starts, or refuses. Nothing when it is incomplete. */
void exchange_begin(struct connection *c);
/* Answers a head that will not be complete, and ends the connection. */
void exchange_refuse_head(struct connection *c, const char *why);
/* Moves what can move. May end the exchange (connection_exchanged(), connection_break()). */
void exchange_step(struct exchange *x);
/* The deadline of the exchange has passed. */
void exchange_expired(struct exchange *x);
/* The connection is dead: lets everything go. */
void exchange_abort(struct exchange *x);

#endif
