/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.c – one request and its response, whatever version of HTTP carries them on either side (stream.h).
 *
 * Owns: both streams, the rewritten head, a share in a connection to the upstream, one timer, its record.
 *
 *	HEAD: decide ▸ swap ▸ rewrite ─▶ UPSTREAM (waits for a connection) ─▶ RELAY (both directions) ─▶ end
 *
 * Until a byte of a final response has been written, every failure becomes a refusal that names its category; afterwards
 * the response is broken off, so that a cut one cannot be taken for a whole one. In HTTP/1 an exchange that breaks off
 * takes its connection along; in HTTP/2 its stream alone.
 *
 * A request without a body is sent a second time when the upstream says that it has not acted on it (RFC 9113 section
 * 8.7), or when it is safe, went out on a pooled connection, and that one ended without a byte (RFC 9110 section 9.2.2).
 *
 * Given back in exchange_end() and exchange_abort() only.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cred/credset.h"
#include "http/h1_head.h"
#include "http/h2_session.h"
#include "http/h2_stream.h"
#include "policy/policy.h"
#include "proxy/connection.h"
#include "proxy/exchange_internal.h"
#include "proxy/explicit.h"
#include "proxy/leg.h"
#include "proxy/record.h"
#include "proxy/refuse.h"
#include "proxy/relay.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"

static bool exchange_is_h1(const struct exchange *x)
{
	return stream_is_h1(&x->down);
}

void exchange_deadline(struct exchange *x, uint64_t ms)
{
	if (x->c->state != CONNECTION_DEAD)
		timer_start(x->c->seat->worker->loop, &x->timer, ms);
}

/* ---- the end */

/* The upstream is let go already. */
static void exchange_free(struct exchange *x)
{
	struct connection *c = x->c;
	struct seat *seat = c->seat;
	struct worker *w = seat->worker;

	timer_stop(w->loop, &x->timer);
	stream_done(&x->down);
	if (x->reserved)
		journal_release(&w->journal, &seat->reserved);
	credset_unref(x->credentials);
	head_done(&x->head);
	if (x->prev)
		x->prev->next = x->next;
	else
		c->exchanges = x->next;
	if (x->next)
		x->next->prev = x->prev;
	slab_give(&w->exchanges, x);
	seat->exchanges--;
}

/* The response, or the refusal, is written as a whole. */
static void exchange_end(struct exchange *x, bool keep_origin)
{
	struct connection *c = x->c;
	bool h1 = exchange_is_h1(x), keep = x->down.keep && x->up_done;

	record_request(x);
	stream_done(&x->up);
	origin_put(&x->upstream, keep_origin);
	exchange_free(x);
	if (h1)
		connection_exchanged(c, keep);
	else
		leg_mark(c->leg);
}

/* Behind a 101 in TLS: FIN without a close_notify says that it was cut, and leaves what is on its way to arrive. */
static bool exchange_cuts(const struct exchange *x)
{
	return x->switched && x->c->tls;
}

void exchange_abort(struct exchange *x)
{
	if (x->event.category == CATEGORY_NONE && !x->event.reason[0])
		audit_text(x->event.reason, sizeof(x->event.reason), SLICE("broken off"));
	record_request(x);
	stream_done(&x->up);
	if (exchange_cuts(x))
		origin_put(&x->upstream, false);
	else
		origin_break(&x->upstream);
	exchange_free(x);
}

/* The client cannot be told more: code is that of HTTP/2. */
static void exchange_break(struct exchange *x, uint32_t code)
{
	if (exchange_is_h1(x)) { /* connection_reap() aborts it */
		if (exchange_cuts(x))
			connection_over(x->c);
		else
			connection_break(x->c);
		return;
	}
	stream_reset(&x->down, code);
	exchange_abort(x);
}

/* ---- refusals */

/* Writes the answer. -EPIPE: it cannot be told. */
static int exchange_tell(struct exchange *x, const struct refusal *r)
{
	struct refused refused;
	int e = refuse_make(r, &refused);
	bool end = !buf_used(&refused.body);

	x->down.keep = false;
	e = e ? e : stream_send_head(&x->down, &refused.msg, end);
	if (!e && !end && buf_used(&refused.body) <= stream_room(&x->down))
		e = stream_write(&x->down, buf_slice(&refused.body));
	else if (!end)
		e = -EPIPE;
	e = e || end ? e : stream_finish(&x->down, NULL);
	refuse_done(&refused);
	return e;
}

void exchange_refuse(struct exchange *x, const struct exchange_refusal *why)
{
	struct connection *c = x->c;
	struct refusal r = {
		.category = why->category,
		.why = why->why,
		.host = x->host.text,
		.rule = why->rule ? why->rule : "",
		.policy = policy_name(c->seat->sandbox->policy),
		.name = why->credential,
		.head = x->head_request,
		.plain = x->wants_plain,
		.grpc = x->grpc,
		.h2 = !exchange_is_h1(x),
	};

	x->event.decision = AUDIT_DENY;
	x->event.category = why->category;
	x->event.status = (uint16_t)category_status(why->category);
	if (why->rule)
		audit_text(x->event.rule, sizeof(x->event.rule), slice_str(why->rule));
	if (why->reason)
		audit_text(x->event.reason, sizeof(x->event.reason), slice_str(why->reason));
	sandbox_count(&c->seat->sandbox->denied, 1);
	if (exchange_tell(x, &r) < 0)
		exchange_break(x, H2_INTERNAL_ERROR);
	else if (exchange_is_h1(x) && !stream_sent(&x->down)) /* in the middle of an interim head */
		connection_break(c);
	else
		exchange_end(x, false);
}

void exchange_refuse_plain(struct exchange *x, enum category category, const char *why)
{
	exchange_refuse(
		x, &(struct exchange_refusal){.category = category, .why = why, .reason = why});
}

void exchange_fail(struct exchange *x, enum category category, const char *detail)
{
	if (x->headed) { /* the client has a part of the response */
		audit_text(x->event.reason, sizeof(x->event.reason), slice_str(detail));
		exchange_break(x, H2_INTERNAL_ERROR);
		return;
	}
	exchange_refuse_plain(x, category, detail);
}

/* ---- the beginning */

static void exchange_expired(struct timer *t)
{
	struct exchange *x = container_of(t, struct exchange, timer);
	struct connection *c = x->c;

	if (c->state == CONNECTION_DEAD)
		return;
	if (!x->headed)
		origin_shun(
			&x->upstream); /* it may be dead, without a word: others need not find out one by one */
	if (x->switched)
		exchange_fail(x, CATEGORY_UPSTREAM_TIMEOUT,
			"one side had ended, and the other stood still");
	else if (x->state == EXCHANGE_RELAY && !x->up_done)
		exchange_fail(x, CATEGORY_BAD_REQUEST, "the request body did not arrive in time");
	else
		exchange_fail(x, CATEGORY_UPSTREAM_TIMEOUT, "the server did not answer in time");
	connection_look(c);
}

static struct exchange *exchange_new(struct connection *c)
{
	struct worker *w = c->seat->worker;
	struct exchange *x = NULL;

	if (!worker_share_used(
		    w->exchanges.used, w->exchanges.max, c->seat->exchanges, w->seats.used))
		x = slab_take(&w->exchanges);
	if (!x)
		return NULL;
	x->c = c;
	x->began = loop_now(w->loop);
	x->timer.fire = exchange_expired;
	x->up_before = c->leg->bytes_in;
	x->down_before = c->leg->bytes_out;
	head_init(&x->head);
	if (c->tls)
		x->host = c->host;
	x->next = c->exchanges;
	if (x->next)
		x->next->prev = x;
	c->exchanges = x;
	c->requests++;
	c->seat->exchanges++;
	return x;
}

void exchange_refuse_head(struct connection *c, const char *why)
{
	struct exchange *x = exchange_new(c);

	if (!x) {
		connection_break(c);
		return;
	}
	stream_h1_server(&x->down, c->leg, &(struct msg){.minor = 1});
	connection_exchange(c);
	record_request_start(x);
	exchange_refuse_plain(x, CATEGORY_BAD_REQUEST, why);
}

void exchange_begin(struct connection *c)
{
	struct exchange *x;
	const char *why;
	struct msg m;
	size_t used;
	int r = h1_request_parse(leg_readable(c->leg), &c->scan, &m, &used, &why);

	if (r == 0)
		return;
	if (r < 0) {
		exchange_refuse_head(c, why);
		return;
	}
	if (explicit_connect(c, &m, used))
		return;
	x = exchange_new(c);
	if (!x) {
		connection_break(c);
		return;
	}
	stream_h1_server(&x->down, c->leg, &m);
	connection_exchange(c);
	sandbox_count(&c->seat->sandbox->requests, 1);
	exchange_start(x, &m);
	leg_consume(c->leg, used);
}

/* What streams hold is bounded by their number: what is over that may be asked again (RFC 9113 section 8.7). */
void exchange_open(struct connection *c, struct h2_stream *h2)
{
	struct exchange *x = c->seat->exchanges < LIMIT_EXCHANGES ? exchange_new(c) : NULL;

	if (!x) {
		record_limit_request(c);
		h2_stream_reset(h2, H2_REFUSED_STREAM);
		h2_stream_forget(h2);
		return;
	}
	sandbox_count(&c->seat->sandbox->requests, 1);
	stream_h2_server(&x->down, &c->session, h2, x);
}

/* ---- RELAY */

static uint64_t exchange_patience(const struct exchange *x)
{
	if (x->headed || x->grpc)
		return TIME_BODY;
	return x->up_done ? TIME_RESPONSE_HEAD : TIME_UPLOAD;
}

/*
 * Bytes of another protocol may be silent for ever; when one side has ended, the other has a deadline, and when one was
 * cut, what we still have to send.
 */
static void exchange_moved_on(struct exchange *x)
{
	if (!x->switched)
		exchange_deadline(x, exchange_patience(x));
	else if (stream_broken(&x->up) || stream_broken(&x->down))
		exchange_deadline(x, TIME_UPLOAD);
	else if (x->up_ended || x->down_ended)
		exchange_deadline(x, TIME_TUNNEL_HALF);
	else
		timer_stop(x->c->seat->worker->loop, &x->timer);
}

static void exchange_repeat(struct exchange *x)
{
	stream_done(&x->up);
	origin_put(&x->upstream, false);
	x->repeated = true;
	exchange_connect(x, true);
}

/* The upstream said by which code it ends the stream, and the client's version has it too. */
static bool exchange_passes_reset(const struct exchange *x)
{
	return !exchange_is_h1(x) && x->up.code && x->up.code != H2_GONE;
}

/* We cannot send its body a second time; the client can, and needs to know that it may (RFC 9113 section 8.7). */
static bool exchange_client_repeats(struct exchange *x)
{
	return !exchange_is_h1(x) && !x->headed && !x->bodiless && stream_untouched(&x->up);
}

static void exchange_relay(struct exchange *x)
{
	struct relay_outcome out;

	switch (relay_step(x, &out)) {
	case RELAY_WAIT:
		if (out.moved)
			exchange_moved_on(x);
		stream_flush(&x->up);
		return;
	case RELAY_DONE:
		exchange_end(x, x->origin_keep && x->up_done);
		return;
	case RELAY_REPEAT:
		exchange_repeat(x);
		return;
	case RELAY_RESET:
		if (exchange_passes_reset(x)) {
			audit_text(x->event.reason, sizeof(x->event.reason), slice_str(out.detail));
			exchange_break(x, x->up.code);
		} else if (exchange_client_repeats(x)) {
			audit_text(x->event.reason, sizeof(x->event.reason), slice_str(out.detail));
			exchange_break(x, H2_REFUSED_STREAM);
		} else {
			exchange_fail(x, CATEGORY_UPSTREAM_CONNECT, out.detail);
		}
		return;
	case RELAY_FAILED:
		exchange_fail(x, out.category, out.detail);
		return;
	case RELAY_BAD_BODY:
		exchange_fail(x, CATEGORY_BAD_REQUEST, out.detail);
		return;
	case RELAY_GONE:
		exchange_break(x, H2_CANCEL);
		return;
	}
}

void exchange_step(struct exchange *x)
{
	struct connection *c = x->c;

	if (exchange_is_h1(x) && c->leg->broken && !x->switched) {
		connection_break(c);
		return;
	}
	if (x->state == EXCHANGE_HEAD) {
		const struct msg *m = h2_stream_head(x->down.h2);

		if (m)
			exchange_start(x, m); /* may be the end of x */
		return;
	}
	if (x->state == EXCHANGE_UPSTREAM && !stream_broken(&x->down))
		return;
	exchange_relay(x);
}

void exchange_moved(void *exchange)
{
	struct exchange *x = exchange;
	struct connection *c = x->c;

	if (c->state == CONNECTION_DEAD)
		return;
	if (exchange_is_h1(x)) {
		connection_step(c);
		return;
	}
	exchange_step(x);
	leg_mark(c->leg);
}
