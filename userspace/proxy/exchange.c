/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.c – one request and its response, HTTP/1.1 on both sides.
 *
 * Owns: the rewritten heads, the state of both bodies, a connection to the upstream while it needs one, its record.
 *
 *	begin: parse ▸ decide ▸ swap ▸ rewrite ─▶ UPSTREAM (waits for a connection) ─▶ RELAY (both bodies) ─▶ end
 *
 * The head is judged, swapped and rewritten as a whole before an upstream is even looked for: nothing is sent by halves.
 * Bodies pass in pieces that fit the other leg's room, which is all the back-pressure there is. Until a byte of a final
 * response has been written, every failure becomes a refusal that names its category; afterwards the connection breaks
 * off, so that a cut response cannot be taken for a whole one.
 *
 * A request is sent a second time only when it is safe, has no body, went out on a pooled connection, and that one ended
 * without a byte (RFC 9110 section 9.2.2).
 *
 * Given back in exchange_end() and exchange_abort() only.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "cred/credset.h"
#include "http/fields.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "policy/policy.h"
#include "proxy/connection.h"
#include "proxy/decide.h"
#include "proxy/exchange.h"
#include "proxy/explicit.h"
#include "proxy/leg.h"
#include "proxy/origin.h"
#include "proxy/record.h"
#include "proxy/refuse.h"
#include "proxy/relay.h"
#include "proxy/rewrite_head.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"
#include "rewrite/swap.h"

enum {
	EXCHANGE_HEAD = 2 * LIMIT_HEAD + SWAP_VALUES, /* a head and what was put in */
	EXCHANGE_WAIT = TIME_DNS + TIME_CONNECT + TIME_HANDSHAKE +
			5000, /* each part has a shorter time of its own */
};

/* ---- the end */

static void exchange_free(struct exchange *x, bool keep_origin)
{
	struct seat *seat = x->c->seat;
	struct worker *w = seat->worker;

	if (x->origin)
		origin_put(TAKE_PTR(x->origin), keep_origin);
	if (x->reserved)
		journal_release(&w->journal, &seat->reserved);
	credset_unref(x->credentials);
	buf_done(&x->up.head);
	buf_done(&x->down.head);
	slab_give(&w->exchanges, x);
}

/* The response, or the refusal, is written as a whole. */
static void exchange_end(struct exchange *x, bool keep, bool keep_origin)
{
	struct connection *c = x->c;

	record_request(x);
	exchange_free(x, keep_origin);
	connection_exchanged(c, keep);
}

void exchange_abort(struct exchange *x)
{
	if (x->event.category == CATEGORY_NONE)
		audit_text(x->event.reason, sizeof(x->event.reason), SLICE("broken off"));
	record_request(x);
	exchange_free(x, false);
}

/* ---- refusals */

struct exchange_refusal {
	enum category category;
	const char *why; /* for the client */
	const char *rule; /* NULL = none spoke */
	const char *credential; /* NULL = not about one */
	const char *reason; /* for the record, NULL = none */
};

static void exchange_refuse(struct exchange *x, const struct exchange_refusal *why)
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
	};
	struct buf out;

	x->event.decision = AUDIT_DENY;
	x->event.category = why->category;
	x->event.status = (uint16_t)category_status(why->category);
	if (why->rule)
		audit_text(x->event.rule, sizeof(x->event.rule), slice_str(why->rule));
	if (why->reason)
		audit_text(x->event.reason, sizeof(x->event.reason), slice_str(why->reason));
	sandbox_count(&c->seat->sandbox->denied, 1);

	buf_init(&out, 16384);
	if (x->down.sent < buf_used(&x->down.head) /* in the middle of an interim head */ ||
		refuse_write(&r, &out) < 0 || buf_used(&out) > leg_room(c->leg) ||
		leg_write(c->leg, buf_slice(&out)) < 0) {
		buf_done(&out);
		connection_break(c);
		return;
	}
	buf_done(&out);
	exchange_end(x, false, false);
}

static void exchange_refuse_plain(struct exchange *x, enum category category, const char *why)
{
	exchange_refuse(
		x, &(struct exchange_refusal){.category = category, .why = why, .reason = why});
}

/* The upstream's fault, or a limit of ours. */
static void exchange_fail(struct exchange *x, enum category category, const char *detail)
{
	if (x->down.headed) { /* the client has a part of the response */
		audit_text(x->event.reason, sizeof(x->event.reason), slice_str(detail));
		connection_break(x->c);
		return;
	}
	exchange_refuse_plain(x, category, detail);
}

static struct exchange *exchange_new(struct connection *c)
{
	struct worker *w = c->seat->worker;
	struct exchange *x = slab_take(&w->exchanges);

	if (!x)
		return NULL;
	x->c = c;
	x->began = loop_now(w->loop);
	x->up_before = c->leg->bytes_in;
	x->down_before = c->leg->bytes_out;
	buf_init(&x->up.head, EXCHANGE_HEAD);
	buf_init(&x->down.head, EXCHANGE_HEAD);
	if (c->tls)
		x->host = c->host;
	connection_exchange(c, x);
	return x;
}

void exchange_refuse_head(struct connection *c, const char *why)
{
	struct exchange *x = exchange_new(c);

	if (!x) {
		connection_break(c);
		return;
	}
	record_request_start(x);
	exchange_refuse_plain(x, CATEGORY_BAD_REQUEST, why);
}

/* ---- from the head to the upstream */

static void exchange_ready(void *user, enum category why, const char *detail);
static void exchange_progress(void *user);
static const struct origin_events exchange_events = {
	.ready = exchange_ready, .progress = exchange_progress};

static bool exchange_connect(struct exchange *x, bool fresh)
{
	struct origin_want want = {
		.host = &x->host,
		.port = x->port,
		.tls = x->c->tls,
		.credentials = x->credentials_key,
		.fresh = fresh,
	};

	x->origin = origin_get(x->c->seat, &want, &exchange_events, x);
	if (!x->origin)
		return false;
	x->state = x->origin->state == ORIGIN_READY ? EXCHANGE_RELAY : EXCHANGE_UPSTREAM;
	connection_deadline(x->c, x->state == EXCHANGE_RELAY ? TIME_UPLOAD : EXCHANGE_WAIT);
	return true;
}

static void exchange_ready(void *user, enum category why, const char *detail)
{
	struct exchange *x = user;
	struct connection *c = x->c;

	if (why != CATEGORY_NONE)
		x->origin = NULL;
	if (c->state == CONNECTION_DEAD)
		return; /* ended earlier in this batch: connection_reap() lets go of what there is */
	if (why == CATEGORY_NONE) {
		x->state = EXCHANGE_RELAY;
		connection_deadline(c, TIME_UPLOAD);
	} else {
		exchange_fail(x, why, detail);
	}
	connection_step(c);
}

static void exchange_progress(void *user)
{
	connection_step(((struct exchange *)user)->c);
}

/* Writes down what the swap did. */
static void exchange_uses(struct exchange *x, const struct swap_plan *plan)
{
	struct sandbox *sb = x->c->seat->sandbox;
	uint64_t key = hash_start();

	for (unsigned i = 0; i < plan->nuses; i++) {
		audit_use(&x->event, plan->uses[i].credential,
			cred_position_name(plan->uses[i].position), plan->uses[i].count);
		key = hash_add(key, slice_str(plan->uses[i].credential));
	}
	x->credentials_key = plan->nuses ? key : 0;
	x->event.misdirected = plan->misdirected_total;
	sandbox_count(&sb->swaps, plan->nuses);
	sandbox_count(&sb->misdirected, plan->misdirected_total);
}

/* Puts the credentials in. False when the request must not go on: it has been refused. */
static bool exchange_swap(struct exchange *x, const struct swap_request *request,
	struct buf *values, struct swap_plan *plan)
{
	struct exchange_refusal no = {.category = CATEGORY_CREDENTIAL_UNAVAILABLE};

	*plan = (struct swap_plan){.result = SWAP_NONE};
	if (request->set && swap_judge(request, values, plan) < 0) {
		no.why = "out of memory";
		exchange_refuse(x, &no);
		return false;
	}
	exchange_uses(x, plan);
	no.credential = plan->credential;
	switch (plan->result) {
	case SWAP_UNAVAILABLE:
		no.why = no.reason = plan->cause;
		exchange_refuse(x, &no);
		return false;
	case SWAP_REFUSED:
		no.category = CATEGORY_HOST_DENIED;
		no.why = no.reason =
			"this credential is not for this host or this place in a request";
		exchange_refuse(x, &no);
		return false;
	default:
		break;
	}
	if (plan->nuses && !journal_reserve(&x->c->seat->worker->journal, &x->c->seat->reserved)) {
		no.credential = plan->uses[0].credential;
		no.why = no.reason = "its use cannot be recorded now";
		exchange_refuse(x, &no);
		return false;
	}
	x->reserved = plan->nuses > 0;
	return true;
}

/* Swaps and rewrites the judged head into x->up.head. False: refused. */
static bool exchange_rewrite(struct exchange *x, const struct msg *m, const struct decision *d)
{
	struct connection *c = x->c;
	struct seat *seat = c->seat;
	struct swap_request swap = {
		.msg = m,
		.host = &x->host,
		.over_tls = c->tls,
		.set = seat->credentials,
		.placeholders = seat->sandbox->placeholders,
	};
	struct swap_plan plan;
	struct buf values;
	int r;

	buf_init(&values, SWAP_VALUES);
	if (!exchange_swap(x, &swap, &values, &plan)) {
		buf_done(&values);
		return false;
	}
	r = rewrite_request_head(&(struct rewrite_request){.msg = m,
					 .path = d->path,
					 .host = &x->host,
					 .port = x->port,
					 .tls = c->tls,
					 .judges_methods = policy_judges_methods(
						 seat->sandbox->policy, &x->host, x->port),
					 .plan = &plan,
					 .swap = &swap,
					 .values = &values},
		&x->up.head);
	buf_done(&values);
	if (r < 0) {
		exchange_refuse_plain(x, CATEGORY_BAD_REQUEST, "the head cannot be forwarded");
		return false;
	}
	x->credentials = seat->credentials ? credset_ref(seat->credentials) : NULL;
	return true;
}

static bool exchange_safe(struct slice method)
{
	return slice_eq(method, SLICE("GET")) || slice_eq(method, SLICE("HEAD")) ||
	       slice_eq(method, SLICE("OPTIONS"));
}

/* What of the head is needed later, or in a refusal. */
static void exchange_keep(struct exchange *x, const struct msg *m)
{
	const struct field *agent = msg_find(m, SLICE("user-agent"));

	x->head_request = slice_eq(m->method, SLICE("HEAD"));
	x->client_10 = m->minor == 0;
	x->client_keep = m->keep_alive;
	x->wants_plain = agent && refuse_wants_plain(agent->value);
	x->repeatable = m->framing == FRAMING_NONE && exchange_safe(m->method);
	x->up.headed = true;
	x->up.chunked = m->framing == FRAMING_CHUNKED;
	h1_body_init(&x->up.body, m->framing, m->length);
	record_request_start(x);
	audit_text(x->event.method, sizeof(x->event.method), m->method);
	audit_path(&x->event, m->target);
}

static void exchange_start(struct exchange *x, const struct msg *m)
{
	struct connection *c = x->c;
	struct decide_facts facts = explicit_facts(c);
	struct decision d;

	exchange_keep(x, m);
	decide_request(&facts, m, &d);
	explicit_judged(x, &d);
	if (d.host_known)
		x->host = d.host;
	if (!c->tls)
		c->host = x->host;
	audit_text(x->event.host, sizeof(x->event.host), slice_of(x->host.text, x->host.n));
	x->port = d.port;
	connection_judged(c, &d.verdict);
	if (!d.verdict.allow) {
		exchange_refuse(x, &(struct exchange_refusal){.category = d.verdict.category,
					   .why = d.why,
					   .rule = d.verdict.rule});
		return;
	}
	audit_text(x->event.rule, sizeof(x->event.rule), slice_str(d.verdict.rule));
	if (!exchange_rewrite(x, m, &d))
		return;
	if (!exchange_connect(x, false))
		exchange_refuse_plain(
			x, CATEGORY_LIMIT, "too many connections or lookups of this sandbox");
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
	sandbox_count(&c->seat->sandbox->requests, 1);
	exchange_start(x, &m);
	leg_consume(c->leg, used);
}

/* ---- RELAY */

static uint64_t exchange_patience(const struct exchange *x)
{
	if (!x->up.done)
		return TIME_UPLOAD;
	return x->down.headed ? TIME_BODY : TIME_RESPONSE_HEAD;
}

void exchange_step(struct exchange *x)
{
	struct connection *c = x->c;
	struct relay_outcome out;

	if (c->leg->broken) {
		connection_break(c);
		return;
	}
	if (x->state == EXCHANGE_UPSTREAM)
		return;
	switch (relay_step(x, &out)) {
	case RELAY_WAIT:
		if (out.moved)
			connection_deadline(c, exchange_patience(x));
		return;
	case RELAY_DONE:
		exchange_end(x, x->client_keep && x->up.done, x->origin_keep && x->up.done);
		return;
	case RELAY_REPEAT:
		origin_put(TAKE_PTR(x->origin), false);
		x->repeatable = false;
		x->up.sent = 0;
		x->up.done = false;
		h1_body_init(&x->up.body, FRAMING_NONE, 0);
		if (!exchange_connect(x, true))
			exchange_refuse_plain(x, CATEGORY_LIMIT,
				"too many connections or lookups of this sandbox");
		return;
	case RELAY_FAILED:
		exchange_fail(x, out.category, out.detail);
		return;
	case RELAY_BAD_BODY:
		exchange_fail(x, CATEGORY_BAD_REQUEST, out.detail);
		return;
	case RELAY_GONE:
		connection_break(c);
		return;
	}
}

void exchange_expired(struct exchange *x)
{
	struct connection *c = x->c;

	if (x->state == EXCHANGE_RELAY && !x->up.done)
		exchange_fail(x, CATEGORY_BAD_REQUEST, "the request body did not arrive in time");
	else
		exchange_fail(x, CATEGORY_UPSTREAM_TIMEOUT, "the server did not answer in time");
	connection_step(c);
}
