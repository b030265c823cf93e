/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c – see relay.h. Two directions, looked at in turn:
 *
 *	up	the request's body and trailers; its head has been written by exchange.c
 *	down	interim heads, the final head, then the response's body and trailers
 *
 * A body is taken out of one stream and put into the other in pieces that fit its room; a stream whose buffer is full
 * stops the other end. In HTTP/1, when the response is complete before the request is, the rest of the request is not
 * wanted any more, and both connections end with this exchange; in HTTP/2 only the stream does.
 *
 * Behind a 101 both directions are bytes, each until its own end. There an end of the connection does not tell what was
 * whole, so what came before a cut is still delivered; then both are broken off.
 */
#include <errno.h>

#include "proxy/connection.h"
#include "proxy/exchange.h"
#include "proxy/relay.h"
#include "proxy/rewrite_head.h"
#include "proxy/stream.h"
#include "proxy/upgrade.h"
#include "proxy/worker.h"

enum {
	RELAY_PIECE = 512, /* less room than this is waited for */
	RELAY_INTERIM = 32, /* 1xx heads of one response */
};

static int relay_end(struct stream *from, struct stream *to)
{
	struct msg trailers;
	int r = stream_finish(to, stream_trailers(from, &trailers) ? &trailers : NULL);

	stream_end_taken(from);
	return r < 0 ? -EPIPE : STREAM_END;
}

/* STREAM_END: all of the body is written. STREAM_WAIT, or what stream_read() or stream_write() failed with. */
static int relay_body(struct stream *from, struct stream *to, bool *moved)
{
	for (;;) {
		size_t room = stream_room(to);
		struct slice data;
		int r;

		if (room < RELAY_PIECE)
			return stream_broken(to) ? -EPIPE : STREAM_WAIT;
		r = stream_read(from, room, &data);
		if (r == STREAM_END) {
			*moved = true;
			return relay_end(from, to);
		}
		if (r != STREAM_DATA)
			return r;
		if (stream_write(to, data) < 0)
			return -EPIPE;
		stream_consumed(from, data.n);
		*moved = true;
	}
}

/* One side was cut: the other has not got all that came before. */
static bool relay_delivers(const struct exchange *x, struct stream *to, struct relay_outcome *ret)
{
	if (!x->switched || stream_broken(to) || stream_sent(to))
		return false;
	ret->moved = true;
	return true;
}

/* ---- up */

static enum relay_result relay_up(struct exchange *x, struct relay_outcome *ret)
{
	int r;

	if (x->up_done)
		return RELAY_WAIT;
	if (!x->up_ended) {
		r = relay_body(&x->down, &x->up, &ret->moved);
		if (r == -EBADMSG) {
			ret->detail = "the request body is malformed or cut short";
			return RELAY_BAD_BODY;
		}
		if (r == -ECONNRESET)
			return relay_delivers(x, &x->up, ret) ? RELAY_WAIT : RELAY_GONE;
		x->up_ended = r == STREAM_END;
	}
	x->up_done = x->up_ended && stream_sent(&x->up);
	return RELAY_WAIT; /* a broken upstream may still have answered: relay_down() tells */
}

/* ---- down */

static enum relay_result relay_failed(struct relay_outcome *ret, const char *detail)
{
	ret->category = CATEGORY_UPSTREAM_CONNECT;
	ret->detail = detail;
	return RELAY_FAILED;
}

/* The final head. */
static enum relay_result relay_final(
	struct exchange *x, const struct msg *m, struct relay_outcome *ret)
{
	struct msg out;
	int r;

	x->event.status = m->status;
	x->origin_keep = m->keep_alive && !m->doubtful;
	if (!x->up_done || x->c->seat->worker->draining)
		x->down.keep = false;
	x->down_ended = m->framing == FRAMING_NONE;
	rewrite_response_head(m, &out);
	r = stream_send_head(&x->down, &out, x->down_ended);
	x->headed = r == 0 ||
		    stream_is_h1(
			    &x->down); /* HTTP/2 takes a head or nothing: it can still be refused */
	if (r < 0)
		return relay_failed(ret, "the response head cannot be forwarded");
	head_done(&x->head); /* no second try from here on, and no use for what it holds */
	return RELAY_WAIT;
}

/* 101: from here on bytes. */
static enum relay_result relay_switch(
	struct exchange *x, const struct msg *m, struct relay_outcome *ret)
{
	struct msg out;

	rewrite_response_head(m, &out);
	ret->detail = upgrade_accept(&x->upgrade, m, &out);
	if (ret->detail)
		return relay_failed(ret, ret->detail);
	x->event.status = m->status;
	x->headed = x->switched = true;
	x->origin_keep = x->down.keep = false;
	if (stream_send_head(&x->down, &out, false) < 0)
		return relay_failed(ret, "the response head cannot be forwarded");
	head_done(&x->head); /* it may hold a secret, and the connection may last */
	return RELAY_WAIT;
}

/* 1xx: forwarded to clients that know them (RFC 9110 section 15.2). */
static enum relay_result relay_interim(
	struct exchange *x, const struct msg *m, struct relay_outcome *ret)
{
	struct msg out;

	if (m->status == 101)
		return relay_switch(x, m, ret);
	if (++x->interim > RELAY_INTERIM)
		return relay_failed(ret, "too many interim responses");
	rewrite_response_head(m, &out);
	if (stream_send_head(&x->down, &out, false) < 0)
		return relay_failed(ret, "an interim response cannot be forwarded");
	return RELAY_WAIT;
}

/* Of HTTP/2 the upstream has said so; of HTTP/1 it is so if a pooled connection just ended. */
static bool relay_may_repeat(struct exchange *x)
{
	if (x->repeated || !x->bodiless || !stream_untouched(&x->up))
		return false;
	return x->up.session || (x->repeatable && x->upstream.origin->reused);
}

static enum relay_result relay_head(struct exchange *x, struct relay_outcome *ret)
{
	while (!x->headed) {
		const char *why = "";
		struct msg m;
		enum relay_result result;
		int r = stream_head(&x->up, &m, &why);

		if (r == -ECONNRESET && relay_may_repeat(x))
			return RELAY_REPEAT;
		if (r == -ECONNRESET && x->up.session) {
			ret->detail = why;
			return RELAY_RESET;
		}
		if (r < 0)
			return relay_failed(ret, why);
		if (r != STREAM_DATA)
			return RELAY_WAIT;
		result = m.status < 200 ? relay_interim(x, &m, ret) : relay_final(x, &m, ret);
		if (result != RELAY_WAIT)
			return result;
		stream_head_taken(&x->up, &m);
		if (x->switched) {
			stream_h1_raw(&x->up);
			stream_h1_raw(&x->down);
			x->up_ended = x->up_done = false;
		}
		ret->moved = true;
	}
	return RELAY_WAIT;
}

static enum relay_result relay_down(struct exchange *x, struct relay_outcome *ret)
{
	enum relay_result result = relay_head(x, ret);
	int r;

	if (result != RELAY_WAIT || !x->headed)
		return result;
	if (!x->down_ended) {
		r = relay_body(&x->up, &x->down, &ret->moved);
		if (r == -EBADMSG)
			return relay_failed(ret, "the response body is malformed or cut short");
		if (r == -ECONNRESET && relay_delivers(x, &x->down, ret))
			return RELAY_WAIT;
		if (r == -ECONNRESET) {
			ret->detail = "the server broke the response off";
			return RELAY_RESET;
		}
		if (r == -EPIPE)
			return RELAY_GONE;
		x->down_ended = r == STREAM_END;
	}
	if (!x->down_ended || !stream_sent(&x->down) || (x->switched && !x->up_done))
		return RELAY_WAIT;
	return RELAY_DONE;
}

/* The client is gone. */
static enum relay_result relay_rest(struct exchange *x, struct relay_outcome *ret)
{
	enum relay_result r;

	if (!x->switched || stream_broken(&x->up))
		return RELAY_GONE;
	r = relay_up(x, ret);
	return r == RELAY_WAIT && x->up_done ? RELAY_GONE : r;
}

enum relay_result relay_step(struct exchange *x, struct relay_outcome *ret)
{
	enum relay_result r;

	*ret = (struct relay_outcome){0};
	if (stream_broken(&x->down))
		return relay_rest(x, ret);
	r = relay_up(x, ret);
	if (r == RELAY_WAIT)
		r = relay_down(x, ret);
	return r;
}
