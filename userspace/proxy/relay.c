/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c – see relay.h. Two directions, looked at in turn:
 *
 *	up	rewritten head, then the request body
 *	down	interim heads, the final head, then the response body
 *
 * A body is taken out of its framing and put into ours in pieces that fit the other leg's room; a leg whose buffer is
 * full stops its peer. Behind a chunked body comes its trailer section, which goes on as a whole where the body goes out
 * in chunks again, and is checked and dropped where it does not.
 *
 * When the response is complete before the request body is, the rest of the request is not wanted
 * any more, and both connections end with this exchange.
 */
#include <errno.h>

#include "http/fields.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "proxy/connection.h"
#include "proxy/exchange.h"
#include "proxy/leg.h"
#include "proxy/origin.h"
#include "proxy/relay.h"
#include "proxy/rewrite_head.h"
#include "proxy/worker.h"

enum {
	RELAY_FRAME = 64, /* chunk framing around one piece, and the last chunk */
	RELAY_PIECE = 512, /* less room than this is waited for */
	RELAY_TRAILERS =
		H1_BODY_TRAILER_MAX + LIMIT_FIELDS +
		RELAY_FRAME, /* the same for trailers: we write a space behind each colon */
	RELAY_INTERIM = 32, /* 1xx heads of one response */
};

/* Writes what is there of the head. True when all of it has been written. */
static bool relay_head(struct exchange_side *s, struct leg *to, bool *moved)
{
	struct slice left = slice_skip(buf_slice(&s->head), s->sent);

	if (!left.n)
		return true;
	left = slice_first(left, leg_room(to));
	if (!left.n || leg_write(to, left) < 0)
		return false;
	*moved = true;
	s->sent += left.n;
	return s->sent == buf_used(&s->head);
}

static int relay_piece(const struct exchange_side *s, struct leg *to, struct slice data)
{
	uint8_t size[H1_CHUNK_HEAD_MAX];
	int r;

	if (!s->chunked)
		return leg_write(to, data);
	r = leg_write(to, slice_of(size, h1_write_chunk_head(size, data.n)));
	r = r ? r : leg_write(to, data);
	return r ? r : leg_write(to, H1_CHUNK_TAIL);
}

static int relay_finish(struct exchange_side *s, struct leg *to)
{
	s->done = true;
	return s->chunked ? leg_write(to, H1_LAST_CHUNK) : 0;
}

static int relay_write_trailers(struct leg *to, const struct msg *trailers)
{
	struct buf out;
	int r;

	buf_init(&out, RELAY_TRAILERS);
	r = h1_write_trailers(&out, trailers);
	r = r ? r : leg_write(to, buf_slice(&out));
	buf_done(&out);
	return r;
}

/* The data has ended: the section behind it. Answers like relay_body(). */
static int relay_trailers(struct exchange_side *s, struct leg *from, struct leg *to, bool *moved)
{
	const char *why;
	struct msg m;
	size_t used;
	int r;

	if (leg_room(to) < RELAY_TRAILERS)
		return to->broken ? -EPIPE : 0;
	r = h1_trailers_parse(leg_readable(from), &s->scan, &m, &used, &why);
	if (r == 0)
		return from->ended || from->broken ? -EBADMSG : 0;
	if (r < 0)
		return -EBADMSG;
	if (s->chunked && s->trailers && m.nfields) {
		s->done = true;
		r = relay_write_trailers(to, &m);
	} else {
		r = relay_finish(s, to);
	}
	leg_consume(from, used);
	*moved = true;
	return r < 0 ? -EPIPE : 1;
}

/* 1 the body is written to its end, 0 not yet, -EBADMSG it is malformed, -EPIPE the other leg is broken. */
static int relay_body(struct exchange_side *s, struct leg *from, struct leg *to, bool *moved)
{
	while (!s->done) {
		size_t room = leg_room(to), used;
		struct slice data;
		int r;

		if (room < RELAY_PIECE)
			return to->broken ? -EPIPE : 0;
		r = h1_body_next(&s->body, slice_first(leg_readable(from), room - RELAY_FRAME),
			&used, &data);
		if (r < 0)
			return r;
		if (data.n && relay_piece(s, to, data) < 0)
			return -EPIPE;
		leg_consume(from, used);
		*moved |= used > 0;
		if (r == 1)
			return relay_finish(s, to) < 0 ? -EPIPE : 1;
		if (r == 2)
			return relay_trailers(s, from, to, moved);
		if (!used)
			return 0;
	}
	return 1;
}

/* ---- up */

static enum relay_result relay_up(struct exchange *x, struct relay_outcome *ret)
{
	struct leg *client = x->c->leg, *origin = x->origin->leg;
	int r;

	if (x->up.done || !relay_head(&x->up, origin, &ret->moved))
		return RELAY_WAIT;
	r = relay_body(&x->up, client, origin, &ret->moved);
	if (r == -EBADMSG) {
		ret->detail = "the request body is malformed";
		return RELAY_BAD_BODY;
	}
	if (r == 0 && leg_over(client)) {
		ret->detail = "the request body is cut short";
		return client->broken ? RELAY_GONE : RELAY_BAD_BODY;
	}
	return RELAY_WAIT; /* a broken origin may still have answered: relay_down() tells */
}

/* ---- down */

static int relay_failed(struct relay_outcome *ret, const char *detail)
{
	ret->category = CATEGORY_UPSTREAM_CONNECT;
	ret->detail = detail;
	return RELAY_FAILED;
}

/* The final head: decides the framing towards the client. */
static int relay_final(struct exchange *x, const struct msg *m, struct relay_outcome *ret)
{
	bool open_ended = m->framing == FRAMING_CHUNKED || m->framing == FRAMING_CLOSE;

	x->event.status = m->status;
	x->origin_keep = m->keep_alive && !m->doubtful;
	x->down.chunked = open_ended && !x->client_10;
	x->down.trailers = !fields_connection_names(m);
	x->down_close = open_ended && x->client_10;
	if (!x->up.done || x->down_close || x->c->seat->worker->draining)
		x->client_keep = false;
	h1_body_init(&x->down.body, m->framing, m->length);
	x->down.headed = true;
	if (rewrite_response_head(&(struct rewrite_response){.msg = m,
					  .chunked = x->down.chunked,
					  .close = !x->client_keep,
					  .client_10 = x->client_10},
		    &x->down.head) < 0)
		return relay_failed(ret, "the response head cannot be forwarded");
	buf_done(&x->up.head); /* no second try from here on, and no use for what it holds */
	return RELAY_WAIT;
}

/* 1xx: forwarded to clients that know them (RFC 9110 section 15.2). */
static int relay_interim(struct exchange *x, const struct msg *m, struct relay_outcome *ret)
{
	if (m->status == 101)
		return relay_failed(ret, "the server switched protocols without being asked");
	if (++x->interim > RELAY_INTERIM)
		return relay_failed(ret, "too many interim responses");
	if (!x->client_10 &&
		rewrite_response_head(&(struct rewrite_response){.msg = m}, &x->down.head) < 0)
		return relay_failed(ret, "an interim response cannot be forwarded");
	return RELAY_WAIT;
}

static int relay_response_head(struct exchange *x, struct relay_outcome *ret)
{
	struct leg *origin = x->origin->leg;

	while (!x->down.headed) {
		struct slice in = leg_readable(origin);
		const char *why;
		struct msg m;
		size_t used;
		int r = in.n ? h1_response_parse(
				       in, &x->down.scan, x->head_request, &m, &used, &why)
			     : 0;

		if (r < 0)
			return relay_failed(ret, why);
		if (r == 0) {
			if (!origin->ended && !origin->broken)
				return RELAY_WAIT;
			if (!in.n && !x->interim && x->origin->reused && x->repeatable)
				return RELAY_REPEAT;
			return relay_failed(ret, "the server closed the connection before its "
						 "response was complete");
		}
		r = m.status < 200 ? relay_interim(x, &m, ret) : relay_final(x, &m, ret);
		if (r != RELAY_WAIT)
			return r;
		leg_consume(origin, used);
		ret->moved = true;
	}
	return RELAY_WAIT;
}

static enum relay_result relay_down(struct exchange *x, struct relay_outcome *ret)
{
	struct leg *client = x->c->leg, *origin = x->origin->leg;
	int r = relay_response_head(x, ret);

	if (r != RELAY_WAIT)
		return (enum relay_result)r;
	if (!relay_head(&x->down, client, &ret->moved))
		return client->broken ? RELAY_GONE : RELAY_WAIT;
	if (!x->down.headed)
		return RELAY_WAIT;
	r = relay_body(&x->down, origin, client, &ret->moved);
	if (r == 0 && leg_over(origin)) {
		if (origin->broken || h1_body_eof(&x->down.body) < 0)
			r = -EBADMSG;
		else
			r = relay_finish(&x->down, client) < 0 ? -EPIPE : 1;
	}
	if (r == -EBADMSG)
		return (enum relay_result)relay_failed(
			ret, "the response body is malformed or cut short");
	if (r == -EPIPE)
		return RELAY_GONE;
	return r == 1 ? RELAY_DONE : RELAY_WAIT;
}

enum relay_result relay_step(struct exchange *x, struct relay_outcome *ret)
{
	struct leg *origin = x->origin->leg;
	enum relay_result r;

	*ret = (struct relay_outcome){0};
	if (x->c->leg->broken)
		return RELAY_GONE;
	r = relay_up(x, ret);
	if (r == RELAY_WAIT)
		r = relay_down(x, ret);
	leg_flush(origin);
	return r;
}
