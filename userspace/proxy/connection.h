/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h – one captured connection from accept to reap. See connection.c for its life. */
#ifndef SALLYPORT_PROXY_CONNECTION_H
#define SALLYPORT_PROXY_CONNECTION_H

#include "capture/listener.h"
#include "model/verdict.h"
#include "policy/hosts.h"
#include "proxy/session.h"
#include "proxy/decide.h"
#include "proxy/tunnel.h"
#include "ring/loop.h"

struct exchange;
struct leg;
struct names_query;
struct seat;
struct worker;

enum connection_state {
	CONNECTION_NEW, /* accepted, nothing known of its bytes */
	CONNECTION_HANDSHAKE, /* TLS with the sandbox's program */
	CONNECTION_HEAD, /* waiting for a request head */
	CONNECTION_EXCHANGE, /* one request and its response */
	CONNECTION_STREAMS, /* HTTP/2: as many as there are */
	CONNECTION_DNS, /* questions over TCP */
	CONNECTION_TUNNEL, /* raw bytes to and from an upstream */
	CONNECTION_DRAIN, /* our last byte is on its way; what still comes is read and dropped */
	CONNECTION_DEAD, /* nothing more happens; reaped at the end of the batch */
	CONNECTION_STATES
};

/* What a connection of HTTP/2 waits for. */
enum connection_waits {
	CONNECTION_WAITS_NOTHING, /* idle */
	CONNECTION_WAITS_HEAD, /* the rest of a head */
	CONNECTION_WAITS_EXCHANGES, /* no deadline but theirs */
};

/* Where the client wants to be: what it connected to, or the target of its CONNECT. */
struct destination {
	struct host
		host; /* the name that it gave, or that the address stands for, else the address */
	uint16_t port;
	bool connect; /* it gave it by CONNECT */
	bool nowhere; /* an address of the pool that stands for no name */
};

struct connection {
	struct seat *seat;
	struct connection *next_dead;
	enum connection_state state;
	struct leg *leg;
	struct exchange
		*exchanges; /* one in CONNECTION_EXCHANGE, any number in CONNECTION_STREAMS */
	struct session session; /* CONNECTION_STREAMS */
	enum connection_waits waits; /* CONNECTION_STREAMS: what the deadline is for */
	bool closing; /* CONNECTION_STREAMS: ends with the last exchange */
	struct timer timer; /* the deadline of the state */
	struct captured who;
	struct destination to;
	enum decide_talk talk;
	uint64_t began; /* loop_now() */
	bool tls;
	bool reset; /* end by RST */
	bool lingering; /* DRAIN: all is sent */
	bool relaxed; /* HEAD, STREAMS: idle, its buffers given back */
	bool head_begun; /* bytes of the next head have come: its deadline runs */
	bool passing; /* NEW: raw bytes pass here, unless the first ones name another host */
	bool hurried; /* NEW: the first bytes have begun to come: the rest has a deadline */
	struct host
		host; /* of the TLS session, of the tunnel, or of the last judged request; text empty before */
	size_t scan; /* h1_request_parse()'s */
	unsigned requests;
	struct tunnel tunnel; /* CONNECTION_TUNNEL, and NEW where the server may speak first */
	struct names_query *query; /* CONNECTION_DNS: the question that is being resolved */

	/* the record: what was decided of the connection (TLS by its name, plain text by its first request) */
	uint8_t protocols;
	enum category category;
	const char *rule; /* borrowed from the policy or constant */
	const char *reason; /* constant, NULL = none */
};

/* HTTP/2 is spoken from here on. */
void connection_streams(struct connection *c);
/* From an accept; takes the descriptor over. */
void connection_accept(struct seat *seat, int fd);
/* The seat is leaving: ends at once. */
void connection_abort(struct connection *c);
/*
 * The credentials, or the policy, are others: a tunnel that would not be one any more is reset. Other connections are
 * judged again with their next request.
 */
void connection_review(struct connection *c);
/* The worker drains: one that is idle ends soon, the others behind what they are at. */
void connection_drain(struct connection *c);
/* Frees what is dead. Called behind each batch. */
void connection_reap(struct worker *w);

/* ---- for the exchange and the tunnel */
/* Looks at what there is to do, until nothing moves. */
void connection_step(struct connection *c);
/* Looks at it at the end of this batch, or now: what an exchange has written is sent. */
void connection_look(struct connection *c);
/* HTTP/1: a head has come: its exchange is the connection's until connection_exchanged(). */
void connection_exchange(struct connection *c);
/* The exchange is over and freed; keep = another request may follow, otherwise our end is shut and drained. */
void connection_exchanged(struct connection *c, bool keep);
/* Our last byte is written: sends it, announces the end, drains. */
void connection_finish(struct connection *c);
/* All is told and both sides have said that they are at their end. */
void connection_over(struct connection *c);
/* Refused where no HTTP can tell it: RST, and the reason on record, a constant. */
void connection_refuse(struct connection *c, enum category category, const char *reason);
/* Ends without telling more: the response broke off. */
void connection_break(struct connection *c);
/* The decision about the connection, for the record: the first one counts. */
void connection_judged(struct connection *c, const struct verdict *v);
/* Moves the deadline of the state. */
void connection_deadline(struct connection *c, uint64_t ms);

#endif
