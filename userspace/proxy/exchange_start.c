/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_start.c – a request from its head to the upstream: decide ▸ swap ▸ rewrite ▸ connect. The head is judged, swapped
 * and rewritten as a whole before an upstream is even looked for: nothing is sent by halves.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "cred/credset.h"
#include "http/h2_stream.h"
#include "policy/policy.h"
#include "proxy/connection.h"
#include "proxy/decide.h"
#include "proxy/exchange_internal.h"
#include "proxy/explicit.h"
#include "proxy/leg.h"
#include "proxy/record.h"
#include "proxy/refuse.h"
#include "proxy/rewrite_head.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"
#include "rewrite/swap.h"

enum {
	EXCHANGE_WAIT = TIME_DNS + TIME_CONNECT + TIME_HANDSHAKE +
			5000, /* each part has a shorter time of its own */
};

/* ---- a connection */

/* More waited for that connection than it takes. */
static void exchange_elsewhere(struct exchange *x)
{
	stream_done(&x->up);
	origin_shun(&x->upstream);
	origin_put(&x->upstream, false);
	exchange_connect(x, false);
}

/* The upstream is there: the head goes out. */
static void exchange_connected(struct exchange *x)
{
	struct origin *o = x->upstream.origin;
	int r;

	if (x->grpc && !o->session.h2) {
		exchange_fail(x, CATEGORY_UPSTREAM_CONNECT,
			"gRPC needs HTTP/2, and the server does not speak it");
		return;
	}
	if (o->session.h2)
		stream_h2_client(&x->up, &o->session, x, x->head_request);
	else
		stream_h1_client(&x->up, o->leg, x->head_request);
	x->state = EXCHANGE_RELAY;
	x->up_ended = x->bodiless;
	x->up_done = false;
	exchange_deadline(x, x->grpc ? TIME_BODY : TIME_UPLOAD);
	r = stream_send_head(&x->up, &x->head.msg, x->bodiless);
	stream_flush(&x->up);
	if (r == -EAGAIN)
		exchange_elsewhere(x);
	else if (r == -EINVAL)
		exchange_refuse_plain(x, CATEGORY_BAD_REQUEST, "the head cannot be forwarded");
	else if (r < 0)
		exchange_fail(x, CATEGORY_UPSTREAM_CONNECT, "the request could not be written");
	else
		stream_wake(&x->down); /* a body may be there already */
}

static void exchange_ready(struct origin_user *user, enum category why, const char *detail)
{
	struct exchange *x = container_of(user, struct exchange, upstream);
	struct connection *c = x->c;

	if (c->state == CONNECTION_DEAD)
		return; /* ended earlier in this batch: connection_reap() lets go of what there is */
	if (why == CATEGORY_NONE)
		exchange_connected(x);
	else
		exchange_fail(x, why, detail);
	connection_look(c);
}

static void exchange_progress(struct origin_user *user)
{
	exchange_moved(container_of(user, struct exchange, upstream));
}

static const struct origin_events exchange_events = {
	.ready = exchange_ready, .progress = exchange_progress};

static enum origin_version exchange_version(const struct exchange *x)
{
	bool h2 = !stream_is_h1(&x->down);

	if (!x->c->tls)
		return h2 ? ORIGIN_H2C : ORIGIN_H1;
	return x->upgrade.n ? ORIGIN_H1 : ORIGIN_ANY;
}

void exchange_connect(struct exchange *x, bool fresh)
{
	struct origin_want want = {
		.host = &x->host,
		.port = x->port,
		.tls = x->c->tls,
		.version = exchange_version(x),
		.credentials = x->credentials_key,
		.fresh = fresh,
	};

	x->upstream.events = &exchange_events;
	x->state = EXCHANGE_UPSTREAM;
	exchange_deadline(x, EXCHANGE_WAIT);
	if (!origin_get(x->c->seat, &want, &x->upstream))
		exchange_refuse_plain(
			x, CATEGORY_LIMIT, "too many connections or lookups of this sandbox");
	else if (x->upstream.origin->state == ORIGIN_READY)
		exchange_connected(x);
}

/* ---- the head */

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

/* Another protocol than WebSocket is not read: what comes back would not be searched. */
static bool exchange_may_upgrade(struct exchange *x, const struct swap_plan *plan)
{
	if (!plan->nuses || !x->upgrade.n || x->upgrade.websocket)
		return true;
	exchange_refuse(x, &(struct exchange_refusal){.category = CATEGORY_PROTOCOL_DENIED,
				   .credential = plan->uses[0].credential,
				   .why = "a request that upgrades to another protocol than "
					  "WebSocket may not carry a credential"});
	return false;
}

/* Swaps and rewrites the judged head into x->head. False: refused. */
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
	struct rewritten rewritten;
	struct swap_plan plan;
	struct buf values;
	int r;

	buf_init(&values, SWAP_VALUES);
	if (!exchange_swap(x, &swap, &values, &plan) || !exchange_may_upgrade(x, &plan)) {
		buf_done(&values);
		return false;
	}
	rewrite_request_head(&(struct rewrite_request){.msg = m,
				     .path = d->path,
				     .host = &x->host,
				     .port = x->port,
				     .tls = c->tls,
				     .judges_methods = policy_judges_methods(
					     seat->sandbox->policy, &x->host, x->port),
				     .judges_paths = policy_judges_paths(
					     seat->sandbox->policy, &x->host, x->port),
				     .upgrade = slice_of(x->upgrade.offered, x->upgrade.n),
				     .plan = &plan,
				     .swap = &swap,
				     .values = &values},
		&rewritten);
	r = head_keep(&x->head, &rewritten.msg);
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

static bool exchange_is_grpc(const struct msg *m)
{
	const struct field *type = msg_find(m, SLICE("content-type"));

	return type && slice_ieq(slice_first(type->value, 16), SLICE("application/grpc"));
}

/* What of the head is needed later, or in a refusal. */
static void exchange_keep(struct exchange *x, const struct msg *m)
{
	const struct field *agent = msg_find(m, SLICE("user-agent"));

	x->head_request = x->down.to_head = slice_eq(m->method, SLICE("HEAD"));
	x->wants_plain = agent && refuse_wants_plain(agent->value);
	x->bodiless = m->framing == FRAMING_NONE;
	x->repeatable = x->bodiless && exchange_safe(m->method);
	x->grpc = !stream_is_h1(&x->down) && exchange_is_grpc(m);
	if (stream_is_h1(&x->down))
		upgrade_offer(m, &x->upgrade);
	record_request_start(x);
	audit_text(x->event.method, sizeof(x->event.method), m->method);
	audit_path(&x->event, m->target);
}

void exchange_start(struct exchange *x, const struct msg *m)
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
	if (!stream_is_h1(&x->down)) /* what is needed of it is kept */
		h2_stream_head_take(x->down.h2);
	exchange_connect(x, false);
}
