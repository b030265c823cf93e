/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel.c – raw bytes both ways (`action: tunnel`, and what `default_tls: pass` passes).
 *
 * Owns: the upstream's origin and with it the other leg; the client's leg is the connection's.
 *
 *	dial ─▶ ready: bytes move as they come ─▶ one side has ended: its FIN is forwarded ─▶ both have: over
 *
 * The dial begins at once and hangs on nobody's bytes, so servers that speak first are heard. It goes through origin.c
 * like every other: one resolution, every candidate judged, the judged address dialled. An origin of a tunnel is never
 * taken from the pool and never put there.
 *
 * Bytes are not copied from leg to leg: leg_forward() exchanges the buffer of one that is full with one of the other that
 * is empty, and only when that has nothing in flight. Each leg receives at most TUNNEL_WINDOW that has not been
 * forwarded, so that a direction never holds more than 64 KiB, and a peer that does not read stops the other one.
 *
 * Ends: FIN of either side is forwarded behind its last byte; when both have been forwarded, both sockets are closed. RST,
 * or any other break, becomes RST on the other side, behind the bytes that came before it. The sandbox's leaving, and a
 * decision that is not the same any more (connection_review()), reset both. An established tunnel may be silent for ever:
 * TCP keep-alive finds an upstream that is gone. A half-closed one that moves nothing for TIME_TUNNEL_HALF ends.
 *
 * Judging: a TLS client in a tunnel that a rule knows by name at port 443 must show that name (first.c). Until its first
 * bytes have been looked at none goes up; what comes down passes, so a server that speaks first is heard there too.
 * Where the upstream of a connection that is passed through speaks first, the client's first bytes are looked at in the
 * same way: if they would be terminated, or are HTTP, it is too late for that, and the connection is refused.
 *
 * #syscalls: setsockopt
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "audit/event.h"
#include "proxy/connection.h"
#include "proxy/decide.h"
#include "proxy/first.h"
#include "proxy/leg.h"
#include "proxy/origin.h"
#include "proxy/sandbox.h"
#include "proxy/tunnel.h"
#include "proxy/worker.h"

enum {
	TUNNEL_WINDOW =
		LIMIT_RX / 2, /* received and not forwarded; as much again may be in flight */
	TUNNEL_AGAIN = 50, /* milliseconds until lookups that were out are asked for again */
};

/* ---- dialling */

static void tunnel_keep_alive(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEP_ALIVE_IDLE},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEP_ALIVE_EVERY},
		{IPPROTO_TCP, TCP_KEEPCNT, KEEP_ALIVE_TRIES},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			sizeof(options[i].value)); /* without it a dead upstream is found later */
}

static struct connection *tunnel_of(struct origin_user *user)
{
	return container_of(user, struct connection, tunnel.upstream);
}

static void tunnel_ready(struct origin_user *user, enum category why, const char *detail)
{
	struct connection *c = tunnel_of(user);
	struct tunnel *t = &c->tunnel;

	if (c->state == CONNECTION_DEAD)
		return; /* ended earlier in this batch: connection_reap() lets go of what there is */
	if (why == CATEGORY_NONE) {
		t->ready = true;
		tunnel_keep_alive(t->upstream.origin->leg->fd);
		leg_window(t->upstream.origin->leg, TUNNEL_WINDOW);
	} else {
		connection_refuse(c, why, detail);
	}
	connection_step(c);
}

static void tunnel_progress(struct origin_user *user)
{
	connection_step(tunnel_of(user));
}

static const struct origin_events tunnel_events = {
	.ready = tunnel_ready, .progress = tunnel_progress};

/* Many of a sandbox that begin at once wait for their turn at the resolver. */
void tunnel_dial(struct connection *c)
{
	struct origin_want want = {
		.host = &c->host, .port = c->to.port, .version = ORIGIN_H1, .fresh = true};

	c->tunnel.upstream.events = &tunnel_events;
	if (origin_get(c->seat, &want, &c->tunnel.upstream))
		return;
	if (loop_now(c->seat->worker->loop) - c->began > TIME_DNS)
		connection_refuse(
			c, CATEGORY_LIMIT, "too many connections or lookups of this sandbox");
	else
		connection_deadline(c, TUNNEL_AGAIN);
}

void tunnel_drop(struct connection *c)
{
	struct tunnel *t = &c->tunnel;

	if (t->counted)
		sandbox_count(&c->seat->sandbox->tunnels_open, -1);
	t->ready = t->counted = false;
	if (c->reset)
		origin_break(&t->upstream);
	else
		origin_put(&t->upstream, false);
}

bool tunnel_spoke(const struct connection *c)
{
	struct leg *server = c->tunnel.ready ? c->tunnel.upstream.origin->leg : NULL;

	return server && (leg_readable(server).n || server->ended || server->broken);
}

/* ---- judging */

/* Why the client's first bytes cannot go up, or NULL. */
static const char *tunnel_objection(
	const struct connection *c, const struct first *f, enum category *ret)
{
	struct verdict v;

	*ret = CATEGORY_HOST_MISMATCH;
	if (c->tunnel.way == VERDICT_TUNNEL)
		return first_mismatch(f, &c->host);
	if (f->kind == SNIFF_TLS && f->has_name) {
		v = decide_connection(
			c->seat->sandbox->policy, c->seat->credentials, &f->name, c->to.port);
		return v.allow && v.way == VERDICT_PASS
			       ? NULL
			       : "TLS to a host that is not passed through, behind a greeting of "
				 "the server";
	}
	*ret = CATEGORY_PROTOCOL_DENIED;
	return f->kind == SNIFF_HTTP1 || f->kind == SNIFF_H2_PREFACE
		       ? "HTTP behind a greeting of the server"
		       : NULL;
}

/* True when the client's bytes may go up. May refuse the connection. */
static bool tunnel_judge(struct connection *c)
{
	struct tunnel *t = &c->tunnel;
	struct slice in = leg_readable(c->leg);
	enum category category;
	struct first first;
	const char *why;
	int r = first_read(in, &first);

	if (r == 0 && !c->leg->ended && !c->leg->broken) {
		if (in.n && !t->hurried) {
			t->hurried = true;
			connection_deadline(c, TIME_SNIFF);
		}
		return false;
	}
	if (r < 0) {
		connection_refuse(c, CATEGORY_BAD_REQUEST, "malformed ClientHello");
		return false;
	}
	if (r > 0 && first.kind == SNIFF_TLS)
		c->protocols |= AUDIT_PROTOCOL_TLS;
	why = r > 0 ? tunnel_objection(c, &first, &category) : NULL;
	if (why) {
		connection_refuse(c, category, why);
		return false;
	}
	t->judging = t->hurried = false;
	return true;
}

/* ---- moving */

/* One side has ended; the other one has not, or not been told all of it. */
static bool tunnel_half(const struct connection *c)
{
	const struct leg *client = c->leg, *server = c->tunnel.upstream.origin->leg;

	return client->shut || server->shut || client->broken || server->broken;
}

/* One direction. True when something has moved, be it the end. */
static bool tunnel_pump(struct leg *from, struct leg *to)
{
	bool moved = leg_forward(from, to) > 0;

	if (!from->ended || to->shut || leg_readable(from).n)
		return moved;
	leg_shut(to);
	return true;
}

/* One is broken: the other is told behind the bytes that came before. */
static bool tunnel_broken(const struct connection *c)
{
	struct leg *client = c->leg, *server = c->tunnel.upstream.origin->leg;

	if (client->broken)
		return server->broken || (!leg_readable(client).n && leg_drained(server));
	return server->broken && !leg_readable(server).n && leg_drained(client);
}

static void tunnel_move(struct connection *c)
{
	struct tunnel *t = &c->tunnel;
	struct leg *client = c->leg, *server = t->upstream.origin->leg;
	bool moved = false;

	if (!t->judging || tunnel_judge(c))
		moved = tunnel_pump(client, server);
	if (c->state != CONNECTION_TUNNEL)
		return;
	moved |= tunnel_pump(server, client);
	leg_flush(server);
	leg_flush(client);
	if (tunnel_broken(c)) {
		connection_break(c);
	} else if (client->fin_sent && server->fin_sent) {
		connection_over(c);
	} else if (tunnel_half(c) && (moved || !t->half)) {
		t->half = true;
		connection_deadline(c, TIME_TUNNEL_HALF);
	} else if (moved && !t->hurried) {
		connection_deadline(c, TIME_RELAX);
	}
}

void tunnel_start(struct connection *c, enum verdict_way way, bool judging)
{
	c->tunnel.way = way;
	c->tunnel.judging = judging;
	if (!c->tunnel.upstream.origin)
		tunnel_dial(c);
}

void tunnel_step(struct connection *c)
{
	struct tunnel *t = &c->tunnel;

	if (!t->ready) {
		if (c->leg->broken)
			connection_break(c); /* nobody waits for the upstream any more */
		return;
	}
	if (!t->counted) {
		t->counted = true;
		sandbox_count(&c->seat->sandbox->tunnels, 1);
		sandbox_count(&c->seat->sandbox->tunnels_open, 1);
	}
	if (!t->judging)
		leg_window(c->leg, TUNNEL_WINDOW);
	tunnel_move(c);
}

void tunnel_expired(struct connection *c)
{
	struct tunnel *t = &c->tunnel;

	if (!t->upstream.origin) {
		tunnel_dial(c);
	} else if (t->hurried) {
		connection_refuse(
			c, CATEGORY_PROTOCOL_DENIED, "the first bytes did not arrive in time");
	} else if (t->half) {
		c->reason = "half-closed and silent";
		connection_break(c);
	} else if (t->ready) {
		leg_relax(c->leg);
		leg_relax(t->upstream.origin->leg);
	}
}
