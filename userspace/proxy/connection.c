/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c – one captured connection from accept to reap.
 *
 * Owns: the client leg, its exchanges, with HTTP/2 the session, one timer. Moves only forward, but for HEAD ⇄ EXCHANGE, and
 * for a first request that is CONNECT, from which HEAD goes back to NEW, once (explicit.c):
 *
 *	NEW ──▶ HANDSHAKE ──▶ HEAD ⇄ EXCHANGE ──▶ DRAIN ──▶ DEAD
 *	 └────────────────────▶┤ (plain HTTP)        │      (any state may go to DEAD)
 *	                       └▶ STREAMS (HTTP/2) ──┘
 *	 ├─▶ DNS (port 53)
 *	 └─▶ TUNNEL (raw bytes)
 *
 * Each state has a deadline; there is no timer that lets anything through. A refusal that has no HTTP to be told by ends
 * the connection by RST, at once. DRAIN reads on for TIME_LINGER after our last byte, so that the refusal of an upload
 * is not destroyed by the reset that unread bytes cause (RFC 9112 section 9.6).
 *
 * Freed only in connection_reap(), when it is DEAD. The leg outlives it while the kernel holds its buffers.
 * Not here: what the first bytes are (opening.c), what may leave (decide.c), what travels (exchange.c), sockets (leg.c).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/cleanup.h"
#include "policy/policy.h"
#include "proxy/connection.h"
#include "proxy/connection_internal.h"
#include "proxy/exchange.h"
#include "proxy/leg.h"
#include "proxy/names.h"
#include "proxy/opening.h"
#include "proxy/record.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"
#include "tls/engine.h"
#include "tls/leaves.h"
#include "tls/server.h"

#define TO(state) (1u << CONNECTION_##state)
static const uint16_t connection_next[] = {
	[CONNECTION_NEW] = TO(HANDSHAKE) | TO(HEAD) | TO(STREAMS) | TO(DNS) | TO(TUNNEL) |
			   TO(DRAIN) | TO(DEAD),
	[CONNECTION_HANDSHAKE] = TO(HEAD) | TO(STREAMS) | TO(DRAIN) | TO(DEAD),
	[CONNECTION_HEAD] = TO(NEW) | TO(EXCHANGE) | TO(DRAIN) | TO(DEAD),
	[CONNECTION_EXCHANGE] = TO(HEAD) | TO(DRAIN) | TO(DEAD),
	[CONNECTION_STREAMS] = TO(DRAIN) | TO(DEAD),
	[CONNECTION_DNS] = TO(DRAIN) | TO(DEAD),
	[CONNECTION_TUNNEL] = TO(DEAD),
	[CONNECTION_DRAIN] = TO(DEAD),
	[CONNECTION_DEAD] = 0,
};
static_assert(ARRAY_SIZE(connection_next) == CONNECTION_STATES, "successors of every state");

/* How long a state may last; 0 = its owner sets the time. */
static const uint32_t connection_time[] = {
	[CONNECTION_NEW] = TIME_SNIFF,
	[CONNECTION_HANDSHAKE] = TIME_HANDSHAKE,
	[CONNECTION_HEAD] = TIME_RELAX, /* then the rest of TIME_IDLE */
	[CONNECTION_EXCHANGE] = 0,
	[CONNECTION_STREAMS] = TIME_RELAX, /* then the rest of TIME_IDLE */
	[CONNECTION_DNS] = TIME_IDLE,
	[CONNECTION_TUNNEL] = 0,
	[CONNECTION_DRAIN] = TIME_UPLOAD, /* TIME_LINGER once all is sent */
	[CONNECTION_DEAD] = 0,
};
static_assert(ARRAY_SIZE(connection_time) == CONNECTION_STATES, "a time for every state");

void connection_deadline(struct connection *c, uint64_t ms)
{
	if (c->state == CONNECTION_DEAD)
		return; /* it is freed at the end of the batch: no timer may outlive that */
	timer_start(c->seat->worker->loop, &c->timer, ms);
}

void connection_to(struct connection *c, enum connection_state state)
{
	assert(connection_next[c->state] & 1u << state);
	c->state = state;
	timer_stop(c->seat->worker->loop, &c->timer);
	if (connection_time[state])
		connection_deadline(c, connection_time[state]);
	if (state == CONNECTION_DEAD) {
		c->next_dead = c->seat->worker->dead;
		c->seat->worker->dead = c;
	}
}

void connection_judged(struct connection *c, const struct verdict *v)
{
	if (c->rule)
		return;
	c->rule = v->rule;
	c->category = v->category;
}

/* The first refusal is the one on record. */
static void connection_note(
	struct connection *c, enum category category, const char *rule, const char *reason)
{
	if (c->category != CATEGORY_NONE)
		return;
	c->category = category;
	c->rule = rule;
	c->reason = reason;
}

void connection_break(struct connection *c)
{
	if (c->state == CONNECTION_DEAD)
		return;
	c->reset = true;
	connection_to(c, CONNECTION_DEAD);
}

void connection_over(struct connection *c)
{
	connection_to(c, CONNECTION_DEAD);
}

void connection_refuse(struct connection *c, enum category category, const char *reason)
{
	if (c->state == CONNECTION_DEAD)
		return;
	connection_note(c, category,
		c->rule      ? c->rule
		: c->passing ? "default"
			     : "built-in",
		reason);
	sandbox_count(&c->seat->sandbox->denied, 1);
	connection_break(c);
}

void connection_finish(struct connection *c)
{
	leg_shut(c->leg);
	connection_to(c, CONNECTION_DRAIN);
}

static void connection_relax(struct connection *c)
{
	c->relaxed = true;
	if (c->session.h2)
		session_relax(&c->session);
	leg_relax(c->leg);
	connection_deadline(c, TIME_IDLE - TIME_RELAX);
}

/* The session is told that it ends: what has been asked goes on, nothing new is taken. */
static void connection_close_streams(struct connection *c)
{
	c->closing = true;
	session_drain(&c->session);
}

/* It was idle: what the client has not read of finished responses, or of the GOAWAY, has a deadline too. */
static void connection_quit_streams(struct connection *c)
{
	connection_close_streams(c);
	connection_deadline(c, TIME_UPLOAD);
}

static void connection_streams_expired(struct connection *c)
{
	switch (c->waits) {
	case CONNECTION_WAITS_NOTHING:
		if (!c->relaxed && !c->seat->worker->draining)
			connection_relax(c);
		else if (!c->closing)
			connection_quit_streams(c);
		else
			connection_finish(c);
		return;
	case CONNECTION_WAITS_EXCHANGES:
		return;
	default:
		connection_break(c); /* a head that does not come in time */
	}
}

static void connection_expired(struct timer *t)
{
	struct connection *c = container_of(t, struct connection, timer);

	switch (c->state) {
	case CONNECTION_NEW:
		opening_expired(c);
		return;
	case CONNECTION_TUNNEL:
		tunnel_expired(c);
		return;
	case CONNECTION_HEAD:
		if (c->head_begun)
			exchange_refuse_head(c, "the head did not arrive in time");
		else if (c->relaxed || c->seat->worker->draining)
			connection_finish(c);
		else
			connection_relax(c);
		return;
	case CONNECTION_STREAMS:
		connection_streams_expired(c);
		return;
	case CONNECTION_DNS:
		if (c->seat->worker->draining && !c->query)
			connection_finish(c);
		else
			connection_break(c);
		return;
	case CONNECTION_DRAIN:
		connection_to(c, CONNECTION_DEAD);
		return;
	default:
		connection_break(c);
	}
}

static void connection_progress(struct leg *l)
{
	connection_step(l->owner);
}

/* ---- NEW: opening.c says what it is */

static void connection_begin(struct connection *c)
{
	struct captured *who = &c->who;
	struct flows flows = sandbox_flows(c->seat->sandbox);
	int r = listener_captured(c->leg->fd, &flows, who);

	if (r == -ELOOP) {
		connection_refuse(c, CATEGORY_PROTOCOL_DENIED, "connected to our own listener");
	} else if (r < 0) {
		connection_break(c);
	} else if (who->asked.port == NAMES_PORT) {
		c->protocols |= AUDIT_PROTOCOL_DNS;
		connection_to(c, CONNECTION_DNS);
	} else {
		opening_begin(c);
	}
}

/* One too many: reset, so that the program need not wait to learn it. */
static void connection_turn_away(struct seat *seat, int fd, const char *what)
{
	struct linger hard = {.l_onoff = 1, .l_linger = 0};

	record_limit(seat, fd, what);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* worst case a FIN */
	(void)close(fd);
}

void connection_accept(struct seat *seat, int fd)
{
	struct worker *w = seat->worker;
	struct connection *c;
	uint64_t limit = policy_limit_connections(seat->sandbox->policy);

	if (limit && atomic_load_explicit(&seat->sandbox->open, memory_order_relaxed) >= limit) {
		connection_turn_away(seat, fd, "connections");
		return;
	}
	if (worker_share_used(
		    w->connections.used, w->connections.max, seat->connections, w->seats.used)) {
		connection_turn_away(seat, fd, "connections of all sandboxes: it has its share");
		return;
	}
	c = slab_take(&w->connections);
	if (!c) {
		connection_turn_away(seat, fd, "connections of all sandboxes");
		return;
	}
	c->seat = seat;
	c->began = loop_now(w->loop);
	c->protocols = AUDIT_PROTOCOL_TCP;
	c->timer.fire = connection_expired;
	c->leg = leg_open(seat, fd, c, connection_progress);
	if (!c->leg) {
		slab_give(&w->connections, c);
		(void)close(fd);
		return;
	}
	seat->connections++;
	sandbox_count(&seat->sandbox->connections, 1);
	sandbox_count(&seat->sandbox->open, 1);
	connection_deadline(c, connection_time[CONNECTION_NEW]);
	connection_begin(c);
}

/* ---- the TLS session with the sandbox's program */

static struct leaf *connection_choose(void *arg, struct slice sni)
{
	struct connection *c = arg;
	struct sandbox *sb = c->seat->sandbox;
	struct leaf *leaf;

	(void)sni; /* judged already, from the same bytes, in connection_hello() */
	if (leaves_get(c->seat->worker->leaves, sb->ca, sb->serial,
		    slice_of(c->host.text, c->host.n), c->host.is_ip ? &c->host.ip : NULL,
		    time(NULL), &leaf) < 0)
		return NULL;
	return leaf;
}

void connection_alert(struct connection *c, enum tls_alert alert, enum category category,
	const char *rule, const char *reason)
{
	connection_note(c, category, rule, reason);
	sandbox_count(&c->seat->sandbox->denied, 1);
	if (tls_engine_refuse(&c->leg->tx, alert) < 0) {
		connection_break(c);
		return;
	}
	connection_finish(c);
}

void connection_terminate(struct connection *c, const struct verdict *v)
{
	struct tls_engine *tls;

	if (!v->allow && v->alert) {
		connection_alert(c, TLS_ALERT_ACCESS_DENIED, v->category, v->rule, NULL);
		return;
	}
	if (tls_server_engine(c->seat->worker->tls_server, &c->leg->rx, &c->leg->tx,
		    connection_choose, c, &tls) < 0) {
		connection_break(c);
		return;
	}
	leg_secure(c->leg, tls);
	c->tls = true;
	c->protocols |= AUDIT_PROTOCOL_TLS;
	connection_to(c, CONNECTION_HANDSHAKE);
}

static void connection_shake(struct connection *c)
{
	int r = leg_handshake(c->leg);

	if (r > 0 && slice_eq(tls_engine_alpn(c->leg->tls), SLICE("h2"))) {
		connection_streams(c);
	} else if (r > 0) {
		c->protocols |= AUDIT_PROTOCOL_HTTP1;
		connection_to(c, CONNECTION_HEAD);
	} else if (r < 0) {
		if (!c->reason)
			c->reason = tls_engine_reason(c->leg->tls);
		connection_finish(c);
	} else if (c->leg->broken || c->leg->eof) {
		connection_to(c, CONNECTION_DEAD);
	}
}

/* ---- HTTP */

static void connection_head(struct connection *c)
{
	struct slice in = leg_readable(c->leg);

	if (in.n && !c->head_begun) {
		c->head_begun = true;
		connection_deadline(c, TIME_REQUEST_HEAD);
	}
	if (in.n)
		exchange_begin(c);
	if (c->state == CONNECTION_HEAD && leg_over(c->leg))
		connection_finish(c);
	else if (c->state == CONNECTION_HEAD && (c->leg->ended || c->leg->broken))
		connection_break(c); /* the end came within a head */
}

void connection_exchange(struct connection *c)
{
	connection_to(c, CONNECTION_EXCHANGE);
}

void connection_exchanged(struct connection *c, bool keep)
{
	c->scan = 0;
	c->head_begun = c->relaxed = false;
	if (keep && !c->seat->leaving)
		connection_to(c, CONNECTION_HEAD);
	else
		connection_finish(c);
}

/* ---- HTTP/2 */

static void connection_opened(void *user, struct h2_stream *h2)
{
	exchange_open(user, h2);
}

static const struct session_events connection_session_events = {
	.opened = connection_opened, .moved = exchange_moved};

void connection_streams(struct connection *c)
{
	c->protocols |= AUDIT_PROTOCOL_HTTP2;
	if (session_start(&c->session, true, c->leg, &connection_session_events, c) < 0) {
		connection_break(c);
		return;
	}
	connection_to(c, CONNECTION_STREAMS);
	if (c->seat->worker->draining)
		connection_close_streams(c);
}

/* Starts the deadline of what is waited for now. */
static void connection_streams_wait(struct connection *c)
{
	enum connection_waits waits = session_in_head(&c->session) ? CONNECTION_WAITS_HEAD
				      : c->exchanges               ? CONNECTION_WAITS_EXCHANGES
								   : CONNECTION_WAITS_NOTHING;

	if (waits == c->waits)
		return;
	c->waits = waits;
	c->relaxed = false;
	if (waits == CONNECTION_WAITS_EXCHANGES)
		timer_stop(c->seat->worker->loop, &c->timer);
	else
		connection_deadline(
			c, waits == CONNECTION_WAITS_NOTHING ? TIME_RELAX : TIME_REQUEST_HEAD);
}

static void connection_streams_step(struct connection *c)
{
	bool alive = session_step(&c->session);

	if (c->state != CONNECTION_STREAMS)
		return;
	if (!alive && (c->leg->broken || c->exchanges))
		connection_break(c);
	else if (!alive || (c->closing && !c->exchanges && !session_streams(&c->session) &&
				   leg_drained(c->leg)))
		connection_finish(c);
	else
		connection_streams_wait(c);
}

void connection_look(struct connection *c)
{
	if (c->state == CONNECTION_STREAMS)
		leg_mark(c->leg);
	else if (c->state != CONNECTION_DEAD)
		connection_step(c);
}

/* Reads and drops, until the peer closes or the time is up. */
static void connection_drop(struct connection *c)
{
	struct slice in = leg_readable(c->leg);

	if (in.n)
		leg_consume(c->leg, in.n);
	if (!leg_drained(c->leg))
		return;
	if (c->leg->eof || c->leg->broken || c->leg->ended) {
		connection_to(c, CONNECTION_DEAD);
	} else if (!c->lingering) {
		c->lingering = true;
		connection_deadline(c, TIME_LINGER);
	}
}

void connection_step(struct connection *c)
{
	enum connection_state before;

	do {
		before = c->state;
		switch (c->state) {
		case CONNECTION_NEW:
			opening_step(c);
			break;
		case CONNECTION_HANDSHAKE:
			connection_shake(c);
			break;
		case CONNECTION_HEAD:
			connection_head(c);
			break;
		case CONNECTION_EXCHANGE:
			exchange_step(c->exchanges);
			break;
		case CONNECTION_STREAMS:
			connection_streams_step(c);
			break;
		case CONNECTION_DNS:
			names_stream_step(c);
			break;
		case CONNECTION_TUNNEL:
			tunnel_step(c);
			break;
		case CONNECTION_DRAIN:
			connection_drop(c);
			break;
		default:
			return;
		}
	} while (c->state != before);
	leg_flush(c->leg);
}

/* ---- the end */

void connection_abort(struct connection *c)
{
	if (c->state != CONNECTION_DEAD)
		connection_break(c);
}

void connection_review(struct connection *c)
{
	struct verdict v;

	if (c->state != CONNECTION_TUNNEL)
		return;
	v = opening_judge(c, &c->host);
	if (v.allow && v.way == c->tunnel.way)
		return;
	c->reason = "a rule or a credential for this host has come or gone";
	connection_break(c);
}

/*
 * A client that has just had a response may be about to ask again: it is told `connection: close` with that one
 * (relay.c), or has TIME_RELAX to ask.
 */
void connection_drain(struct connection *c)
{
	bool idle = c->state == CONNECTION_HEAD && !c->head_begun;

	if (idle || (c->state == CONNECTION_DNS && !c->query))
		connection_deadline(c, TIME_RELAX);
	if (c->state == CONNECTION_STREAMS && !c->closing)
		connection_close_streams(c);
}

void connection_reap(struct worker *w)
{
	while (w->dead) {
		struct connection *c = w->dead;
		struct seat *seat = c->seat;

		w->dead = c->next_dead;
		while (c->exchanges)
			exchange_abort(c->exchanges);
		session_done(&c->session);
		if (c->query)
			names_stream_forget(c);
		record_connection(c);
		tunnel_drop(c);
		leg_close(TAKE_PTR(c->leg), c->reset);
		slab_give(&w->connections, c);
		seat->connections--;
		sandbox_count(&seat->sandbox->open, -1);
		worker_seat_check(seat);
	}
}
