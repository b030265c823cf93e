/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.c – see origin.h.
 *
 * Owns: the lookup, the socket until a leg has it, the leg, one timer. One resolution a dial; every candidate is judged
 * by the policy before the first is dialled, and one that it refuses refuses the dial: a name that answers with both
 * kinds of address is being rebound or is none of the sandbox's business. The judged address is the one dialled.
 * Candidates are tried in order; TIME_CONNECT bounds them together.
 *
 * An origin is given back to its slab only when no connect is in flight (the kernel reads origin->dial).
 */
#include <errno.h>
#include <liburing.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "model/range.h"
#include "policy/policy.h"
#include "proxy/exchange.h"
#include "proxy/leg.h"
#include "proxy/lookup.h"
#include "proxy/origin_internal.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"
#include "tls/client.h"
#include "tls/engine.h"

static void origin_dial(struct origin *o);

static union ring_ref origin_ref(const struct origin *o)
{
	return (union ring_ref){
		.op = WORKER_OP_CONNECT, .gen = slab_generation(o), .slot = slab_slot(o)};
}

static void origin_cancel(struct origin *o)
{
	struct io_uring_sqe *sqe =
		loop_sqe(o->seat->worker->loop, (union ring_ref){.op = LOOP_OP_NONE});

	sqe->opcode = IORING_OP_ASYNC_CANCEL;
	sqe->fd = -1;
	sqe->addr = origin_ref(o).u64;
}

/* Frees unless the kernel still reads the address; then origin_connected() does. */
void origin_release(struct origin *o)
{
	struct worker *w = o->seat->worker;
	struct seat *seat = o->seat;

	if (o->stepping)
		return; /* origin_streams() does, behind the step */
	pool_remove(o->state < ORIGIN_READY ? &w->dials : &w->pool, &o->item);
	o->state = ORIGIN_DEAD;
	timer_stop(w->loop, &o->timer);
	if (o->lookup)
		lookup_cancel(TAKE_PTR(o->lookup));
	session_done(&o->session);
	if (o->leg)
		leg_close(TAKE_PTR(o->leg), o->reset);
	if (o->dialling) {
		origin_cancel(o); /* the completion of the connect frees */
		return;
	}
	if (o->fd >= 0)
		(void)close(TAKE_FD(o->fd));
	slab_give(&w->origins, o);
	seat->origins--;
	worker_seat_check(seat);
}

static void origin_fail(struct origin *o, enum category why, const char *detail)
{
	struct origin_user *users = o->users;

	if (users)
		users->link = &users;
	for (struct origin_user *u = users; u; u = u->next)
		u->origin = NULL;
	o->users = NULL;
	origin_release(o);
	while (users) {
		struct origin_user *u = users;

		origin_part(u);
		u->events->ready(u, why, detail);
	}
}

static const struct session_events origin_session_events = {.moved = exchange_moved};

static bool origin_speaks_h2(const struct origin *o)
{
	if (!o->leg->tls)
		return o->item.key.version == ORIGIN_H2C;
	return slice_eq(tls_engine_alpn(o->leg->tls), SLICE("h2"));
}

static void origin_ready(struct origin *o)
{
	struct worker *w = o->seat->worker;
	struct origin_user *u;

	pool_remove(&w->dials, &o->item);
	o->state = ORIGIN_READY;
	timer_stop(w->loop, &o->timer);
	if (origin_speaks_h2(o)) {
		if (session_start(&o->session, false, o->leg, &origin_session_events, o) < 0) {
			origin_fail(o, CATEGORY_LIMIT, "out of memory");
			return;
		}
		origin_pool(o);
		leg_mark(o->leg); /* its preface goes out */
	} else if (o->users && o->users->next) {
		origin_scatter(o);
	}
	origin_tell_none(o);
	o->stepping = true;
	while ((u = origin_untold(o->users))) {
		u->told = true;
		u->events->ready(u, CATEGORY_NONE, "");
	}
	o->stepping = false;
	if (!o->users)
		origin_rest(o, false);
}

static void origin_shake(struct origin *o)
{
	int r = leg_handshake(o->leg);

	if (r < 0) {
		/* the reason is a constant of the engine's module: it outlives the engine */
		const char *reason = tls_engine_reason(o->leg->tls);

		origin_fail(o, CATEGORY_UPSTREAM_TLS, reason);
	} else if (r > 0) {
		origin_ready(o);
	} else if (o->leg->broken) {
		origin_fail(o, CATEGORY_UPSTREAM_TLS, "connection closed during the handshake");
	}
}

/* HTTP/2, in use or not. */
static void origin_streams(struct origin *o)
{
	struct origin_user *u;
	bool alive;

	o->stepping = true;
	alive = session_step(&o->session);
	if (!alive && !o->severed) {
		o->severed = true;
		pool_remove(&o->seat->worker->pool, &o->item);
		origin_tell_none(o);
		while ((u = origin_untold(o->users))) {
			u->told = true;
			u->events->progress(u);
		}
	}
	o->stepping = false;
	if (!o->users)
		origin_rest(o, true);
}

static void origin_progress(struct leg *l)
{
	struct origin *o = l->owner;

	switch (o->state) {
	case ORIGIN_HANDSHAKE:
		origin_shake(o);
		return;
	case ORIGIN_READY:
		if (o->session.h2)
			origin_streams(o);
		else
			o->users->events->progress(o->users);
		return;
	case ORIGIN_IDLE:
		/* of HTTP/1: an idle upstream that says anything, or goes, is of no use any more */
		if (o->session.h2)
			origin_streams(o);
		else if (leg_readable(l).n || l->ended || l->broken)
			origin_release(o);
		return;
	default:
		return;
	}
}

void origin_expired(struct timer *t)
{
	struct origin *o = container_of(t, struct origin, timer);

	switch (o->state) {
	case ORIGIN_RESOLVE:
		origin_fail(o, CATEGORY_DNS_TIMEOUT, "no answer in time");
		return;
	case ORIGIN_DIAL:
		origin_fail(o, CATEGORY_UPSTREAM_TIMEOUT, "connect timed out");
		return;
	case ORIGIN_HANDSHAKE:
		origin_fail(o, CATEGORY_UPSTREAM_TIMEOUT, "TLS handshake timed out");
		return;
	case ORIGIN_IDLE:
		if (!o->relaxed) {
			o->relaxed = true;
			if (o->session.h2)
				session_relax(&o->session);
			leg_relax(o->leg);
			timer_start(o->seat->worker->loop, &o->timer, TIME_POOL_IDLE - TIME_RELAX);
			return;
		}
		origin_release(o);
		return;
	default:
		origin_release(o);
	}
}

/* ---- dialling */

static void origin_secure(struct origin *o)
{
	const char *ca = policy_upstream_ca(o->seat->sandbox->policy, &o->host);
	struct tls_client *client = worker_tls_client(o->seat, ca);
	struct tls_engine *tls;

	if (!client ||
		tls_client_engine(client, &o->leg->rx, &o->leg->tx,
			slice_of(o->host.text, o->host.n), o->host.is_ip ? &o->host.ip : NULL,
			o->item.key.version == ORIGIN_ANY, &tls) < 0) {
		origin_fail(o, CATEGORY_UPSTREAM_TLS, "no TLS context");
		return;
	}
	leg_secure(o->leg, tls);
	o->state = ORIGIN_HANDSHAKE;
	timer_start(o->seat->worker->loop, &o->timer, TIME_HANDSHAKE);
	origin_shake(o);
}

/*
 * An address of this host is none of the sandbox's business, public or not: here, because only the kernel knows them all
 * at each moment. No byte has been sent. What an entry of private: lifts is left alone.
 */
static bool origin_ours(const struct origin *o)
{
	const struct addr *to = &o->candidates[o->next - 1];

	return range_dialler(to) == RANGE_PUBLIC && dial_own(o->fd, to) &&
	       !policy_lifts_own(o->seat->sandbox->policy, &o->host, to);
}

void origin_connected(void *worker, union ring_ref ref, int res, uint32_t flags)
{
	struct worker *w = worker;
	struct origin *o = slab_find(&w->origins, ref.slot, ref.gen);

	(void)flags;
	if (!o)
		return;
	o->dialling = false;
	if (o->state == ORIGIN_DEAD) {
		origin_release(o);
		return;
	}
	if (res < 0) {
		(void)close(TAKE_FD(o->fd));
		o->last_error = res;
		origin_dial(o);
		return;
	}
	if (origin_ours(o)) {
		origin_fail(o, CATEGORY_PRIVATE_ADDRESS,
			"the name resolves to an address of this host");
		return;
	}
	o->leg = leg_open(o->seat, o->fd, o, origin_progress);
	if (!o->leg) {
		origin_fail(o, CATEGORY_LIMIT, "too many connections");
		return;
	}
	o->fd = -1;
	if (o->item.key.tls)
		origin_secure(o);
	else
		origin_ready(o);
}

static void origin_dial(struct origin *o)
{
	struct worker *w = o->seat->worker;

	while (o->next < o->ncandidates) {
		const struct addr *to = &o->candidates[o->next++];
		int fd = dial_socket(to);

		if (fd < 0) {
			o->last_error = fd;
			continue;
		}
		o->fd = fd;
		o->dialling = true;
		dial_start(&o->dial, w->loop, origin_ref(o), fd, to);
		return;
	}
	if (o->last_error == -EACCES) /* bpf/dialler.bpf.c: an address of this host is no class */
		origin_fail(o, CATEGORY_PRIVATE_ADDRESS,
			"the name resolves to an address that must not be dialled");
	else
		origin_fail(o, CATEGORY_UPSTREAM_CONNECT, strerrordesc_np(-o->last_error));
}

/* The dialler's check: every candidate, before any is used. */
static void origin_judge(struct origin *o)
{
	for (unsigned i = 0; i < o->ncandidates; i++) {
		enum category why;

		o->candidates[i].port = o->item.key.port;
		why = policy_address(o->seat->sandbox->policy, &o->host, &o->candidates[i]);
		if (why != CATEGORY_NONE) {
			origin_fail(o, why, "the name resolves to an address that is refused");
			return;
		}
	}
	o->state = ORIGIN_DIAL;
	timer_start(o->seat->worker->loop, &o->timer, TIME_CONNECT);
	origin_dial(o);
}

static void origin_resolved(void *arg, int err, const struct addr *addrs, unsigned n)
{
	struct origin *o = arg;

	o->lookup = NULL;
	if (err == -ETIMEDOUT) {
		origin_fail(o, CATEGORY_DNS_TIMEOUT, "no answer in time");
	} else if (err == -EAGAIN) {
		origin_fail(o, CATEGORY_LIMIT, "too many lookups");
	} else if (err == -EACCES) {
		origin_fail(o, CATEGORY_DNS_FAILURE,
			"the policy says dns: off, so no name is resolved");
	} else if (err < 0 || n == 0) {
		origin_fail(o, CATEGORY_DNS_FAILURE,
			err == -ENOENT ? "no such name" : "no usable answer");
	} else {
		memcpy(o->candidates, addrs, n * sizeof(*addrs));
		o->ncandidates = n;
		origin_judge(o);
	}
}

/* A literal needs no lookup; it goes through the same judgement, and as late. */
static void origin_literal(struct timer *t)
{
	struct origin *o = container_of(t, struct origin, timer);

	o->timer.fire = origin_expired;
	o->candidates[0] = o->host.ip;
	o->ncandidates = 1;
	origin_judge(o);
}

bool origin_look_up(struct origin *o)
{
	struct worker *w = o->seat->worker;

	o->state = ORIGIN_RESOLVE;
	if (o->host.is_ip) {
		o->timer.fire = origin_literal;
		timer_start(w->loop, &o->timer, 0);
		return true;
	}
	o->lookup = lookup_start(o->seat, o->host.text, origin_resolved, o);
	timer_start(
		w->loop, &o->timer, TIME_DNS + 1000); /* the resolver's own deadline comes first */
	return o->lookup != NULL;
}
