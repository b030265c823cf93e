/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c – one captured connection from accept to reap.
 *
 * Owns: the client leg, its exchange, one timer. Moves only forward, but for HEAD ⇄ EXCHANGE:
 *
 *	NEW ──▶ HANDSHAKE ──▶ HEAD ⇄ EXCHANGE ──▶ DRAIN ──▶ DEAD
 *	 └────────────────────▶┘ (plain HTTP)      (any state may go to DEAD)
 *	 ├─▶ DNS (port 53)
 *	 └─▶ TUNNEL (raw bytes)
 *
 * The host of raw bytes is the name that the asked address stands for (synthetic.h), else that address. Where a tunnel
 * rule is the first to match it, NEW is over at once and the tunnel is dialled without waiting for a byte. A ClientHello
 * whose name a rule tunnels, at an address that says nothing, becomes a tunnel to that name as well.
 * Where raw bytes are passed through (default: allow), the client has TIME_FIRST to say what it is, since a hello is
 * dialled by its name; then the address is dialled, and who speaks first decides: the server, and these are raw bytes
 * for good; the client, and its bytes are looked at as ever.
 *
 * Each state has a deadline; there is no timer that lets anything through. A refusal that has no HTTP to be told by ends
 * the connection by RST, at once. DRAIN reads on for TIME_LINGER after our last byte, so that the refusal of an upload
 * is not destroyed by the reset that unread bytes cause (RFC 9112 section 9.6).
 *
 * Freed only in connection_reap(), when it is DEAD. The leg outlives it while the kernel holds its buffers.
 * Not here: what may leave (decide.c), what travels (exchange.c), sockets (leg.c).
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
#include "proxy/decide.h"
#include "proxy/exchange.h"
#include "proxy/first.h"
#include "proxy/leg.h"
#include "proxy/names.h"
#include "proxy/record.h"
#include "proxy/sandbox.h"
#include "proxy/synthetic.h"
#include "proxy/worker.h"
#include "tls/engine.h"
#include "tls/leaves.h"
#include "tls/server.h"

enum { CONNECTION_TLS_PORT = 443 };

#define TO(state) (1u << CONNECTION_##state)
static const uint16_t connection_next[] = {
	[CONNECTION_NEW] = TO(HANDSHAKE) | TO(HEAD) | TO(DNS) | TO(TUNNEL) | TO(DRAIN) | TO(DEAD),
	[CONNECTION_HANDSHAKE] = TO(HEAD) | TO(DRAIN) | TO(DEAD),
	[CONNECTION_HEAD] = TO(EXCHANGE) | TO(DRAIN) | TO(DEAD),
	[CONNECTION_EXCHANGE] = TO(HEAD) | TO(DRAIN) | TO(DEAD),
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

static void connection_to(struct connection *c, enum connection_state state)
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

/* The host of raw bytes. True when our DNS gave that address to a name. */
static bool connection_raw_host(const struct connection *c, struct host *ret)
{
	if (synthetic_host(c->seat->sandbox, &c->who.asked, ret))
		return true;
	host_of_addr(&c->who.asked, ret);
	return false;
}

static struct verdict connection_decide(const struct connection *c, const struct host *h)
{
	return decide_connection(
		c->seat->sandbox->policy, c->seat->credentials, h, c->who.asked.port);
}

/*
 * Nothing can be allowed there: the port is in no rule, or the address is one that stands for refused names or for none.
 * Who waits for the server to speak first is told at once. Not at the ports of HTTP, where clients speak first and some
 * read their trust store before they do (GnuTLS): those are told in words.
 */
static bool connection_closed(const struct connection *c)
{
	uint16_t port = c->who.asked.port;
	struct host raw;

	if (port == 80 || port == 443)
		return false;
	return !policy_opens_port(c->seat->sandbox->policy, port) ||
	       (synthetic_pool(&c->who.asked) && !connection_raw_host(c, &raw));
}

static void connection_relax(struct connection *c)
{
	c->relaxed = true;
	leg_relax(c->leg);
	connection_deadline(c, TIME_IDLE - TIME_RELAX);
}

/* What the connection is has not been told in time. */
static void connection_unsaid(struct connection *c)
{
	if (!c->passing || c->hurried) {
		connection_refuse(c,
			connection_closed(c) ? CATEGORY_HOST_DENIED : CATEGORY_PROTOCOL_DENIED,
			"silence");
		return;
	}
	(void)connection_raw_host(c, &c->host);
	if (!tunnel_dial(c))
		connection_refuse(
			c, CATEGORY_LIMIT, "too many connections or lookups of this sandbox");
}

static void connection_expired(struct timer *t)
{
	struct connection *c = container_of(t, struct connection, timer);

	switch (c->state) {
	case CONNECTION_NEW:
		connection_unsaid(c);
		return;
	case CONNECTION_TUNNEL:
		tunnel_expired(c);
		return;
	case CONNECTION_HEAD:
		if (c->head_begun)
			exchange_refuse_head(c, "the head did not arrive in time");
		else if (c->relaxed)
			connection_finish(c);
		else
			connection_relax(c);
		return;
	case CONNECTION_EXCHANGE:
		exchange_expired(c->exchange);
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

/* ---- NEW: what is it? */

static void connection_tunnel(struct connection *c, enum verdict_way way, bool judging)
{
	connection_to(c, CONNECTION_TUNNEL);
	tunnel_start(c, way, judging);
}

/* From the destination alone: a tunnel at once, or how long to wait for bytes. */
static void connection_route(struct connection *c)
{
	struct host raw;
	bool named = connection_raw_host(c, &raw);
	struct verdict v = connection_decide(c, &raw);

	if (v.way == VERDICT_TUNNEL) {
		c->host = raw;
		connection_judged(c, &v);
		connection_tunnel(c, v.way, named && c->who.asked.port == CONNECTION_TLS_PORT);
	} else if (v.way == VERDICT_PASS && (named || !synthetic_pool(&c->who.asked))) {
		c->passing = true;
		connection_deadline(c, TIME_FIRST);
	} else if (connection_closed(c)) {
		connection_deadline(c, TIME_CLOSED);
	}
}

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
		connection_route(c);
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

/* Sends one alert in the clear and ends. */
static void connection_alert(struct connection *c, enum tls_alert alert, enum category category,
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

/* Raw bytes to that host. What was dialled while the client was silent is of use if it is the same. */
static void connection_go_raw(struct connection *c, enum verdict_way way, const struct host *to)
{
	if (c->tunnel.origin && !host_same(&c->host, to))
		tunnel_drop(c);
	c->host = *to;
	connection_tunnel(c, way, false);
}

static void connection_hello(struct connection *c, const struct first *first)
{
	struct verdict verdict;
	struct tls_engine *tls;
	struct host host;

	if (first->has_name)
		host = first->name;
	else
		(void)connection_raw_host(c, &host);
	verdict = connection_decide(c, &host);
	connection_judged(c, &verdict);
	if (verdict.way != VERDICT_TERMINATE) {
		c->protocols |= AUDIT_PROTOCOL_TLS;
		connection_go_raw(c, verdict.way, &host);
		return;
	}
	tunnel_drop(c);
	c->host = host;
	if (!verdict.allow && verdict.alert) {
		connection_alert(c, TLS_ALERT_ACCESS_DENIED, verdict.category, verdict.rule, NULL);
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

/* Bytes that are neither TLS nor HTTP. */
static void connection_other(struct connection *c, const char *what)
{
	struct verdict verdict;
	struct host host;

	if (!c->passing) {
		connection_refuse(c, CATEGORY_PROTOCOL_DENIED, what);
		return;
	}
	(void)connection_raw_host(c, &host);
	verdict = connection_decide(c, &host);
	connection_judged(c, &verdict);
	connection_go_raw(c, VERDICT_PASS, &host);
}

/* What there is says nothing yet. */
static void connection_unclear(struct connection *c)
{
	bool over = leg_over(c->leg) || c->leg->eof, some = leg_readable(c->leg).n > 0;

	if (over && c->passing && !c->leg->broken) { /* a client that only listens */
		connection_other(c, "");
	} else if (over) {
		connection_to(c, CONNECTION_DEAD);
	} else if (some && c->passing && !c->hurried) {
		c->hurried = true;
		connection_deadline(c, TIME_SNIFF);
	} else if (!some && tunnel_spoke(c)) {
		struct verdict verdict = connection_decide(c, &c->host);

		connection_judged(c, &verdict);
		connection_tunnel(c, VERDICT_PASS, true);
	}
}

static void connection_sniff(struct connection *c)
{
	struct first first;
	int r = first_read(leg_readable(c->leg), &first);

	if (r == 0) {
		connection_unclear(c);
		return;
	}
	if (r < 0) {
		connection_alert(c,
			r == -EINVAL ? TLS_ALERT_UNRECOGNIZED_NAME : TLS_ALERT_DECODE_ERROR,
			CATEGORY_BAD_REQUEST, "built-in",
			r == -EINVAL ? "malformed SNI" : "malformed ClientHello");
		return;
	}
	switch (first.kind) {
	case SNIFF_TLS:
		connection_hello(c, &first);
		return;
	case SNIFF_HTTP1:
		tunnel_drop(c);
		c->host = (struct host){0};
		c->protocols |= AUDIT_PROTOCOL_HTTP1;
		connection_to(c, CONNECTION_HEAD);
		return;
	case SNIFF_H2_PREFACE:
		connection_refuse(c, CATEGORY_PROTOCOL_DENIED, "h2 by prior knowledge");
		return;
	case SNIFF_SSLV2:
		connection_other(c, "SSLv2 hello");
		return;
	case SNIFF_OTHER:
		connection_other(c, "neither TLS nor HTTP");
		return;
	}
}

static void connection_shake(struct connection *c)
{
	int r = leg_handshake(c->leg);

	if (r > 0) {
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

void connection_exchange(struct connection *c, struct exchange *x)
{
	c->exchange = x;
	c->requests++;
	connection_to(c, CONNECTION_EXCHANGE);
}

void connection_exchanged(struct connection *c, bool keep)
{
	c->exchange = NULL;
	c->scan = 0;
	c->head_begun = c->relaxed = false;
	if (keep && !c->seat->leaving)
		connection_to(c, CONNECTION_HEAD);
	else
		connection_finish(c);
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
			connection_sniff(c);
			break;
		case CONNECTION_HANDSHAKE:
			connection_shake(c);
			break;
		case CONNECTION_HEAD:
			connection_head(c);
			break;
		case CONNECTION_EXCHANGE:
			exchange_step(c->exchange);
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
	v = connection_decide(c, &c->host);
	if (v.allow && v.way == c->tunnel.way)
		return;
	c->reason = "a rule or a credential for this host has come or gone";
	connection_break(c);
}

void connection_reap(struct worker *w)
{
	while (w->dead) {
		struct connection *c = w->dead;
		struct seat *seat = c->seat;

		w->dead = c->next_dead;
		if (c->exchange)
			exchange_abort(TAKE_PTR(c->exchange));
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
