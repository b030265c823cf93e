/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin_users.c – who uses or waits for which connection: getting one (from the pool, one that is being dialled and will
 * be shared if it speaks HTTP/2, or a new one), and putting it back.
 *
 * A connection of HTTP/1 is in the pool while nobody uses it; one of HTTP/2 as long as it lives and others may join.
 */
#include "base/cleanup.h"
#include "base/hash.h"
#include "policy/policy.h"
#include "proxy/leg.h"
#include "proxy/lookup.h"
#include "proxy/origin_internal.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"

/* ---- users */

void origin_join(struct origin *o, struct origin_user *user)
{
	user->origin = o;
	user->told = false;
	user->next = o->users;
	user->link = &o->users;
	if (user->next)
		user->next->link = &user->next;
	o->users = user;
}

void origin_part(struct origin_user *user)
{
	if (user->link) {
		*user->link = user->next;
		if (user->next)
			user->next->link = user->link;
	}
	user->link = NULL;
	user->next = NULL;
	user->origin = NULL;
}

/* Takes one off a list of users that may change while each is told. */
struct origin_user *origin_untold(struct origin_user *u)
{
	while (u && u->told)
		u = u->next;
	return u;
}

void origin_tell_none(struct origin *o)
{
	for (struct origin_user *u = o->users; u; u = u->next)
		u->told = false;
}

/* ---- hosts that were found to speak HTTP/1: nobody waits to share a connection to them */

static uint64_t *origin_h1_place(struct worker *w, const struct pool_key *key, uint64_t *ret)
{
	uint64_t h = hash_add(hash_start(), slice_str(key->host));

	h = hash_add(h, slice_of(&key->port, sizeof(key->port)));
	h = hash_add(h, slice_of(&key->seat, sizeof(key->seat)));
	*ret = h;
	return &w->h1_hosts[h % WORKER_H1_HOSTS];
}

static void origin_h1_note(struct worker *w, const struct pool_key *key)
{
	uint64_t h, *at = origin_h1_place(w, key, &h);

	*at = h;
}

static bool origin_h1_noted(struct worker *w, const struct pool_key *key)
{
	uint64_t h, *at = origin_h1_place(w, key, &h);

	return *at == h;
}

/* ---- getting */

/* A new connection. False when slots or lookups are out. */
static bool origin_begin(struct seat *seat, const struct pool_key *key, const struct host *host,
	struct origin_user *user)
{
	struct worker *w = seat->worker;
	struct origin *o = NULL;

	if (!worker_share_used(w->origins.used, w->origins.max, seat->origins, w->seats.used))
		o = slab_take(&w->origins);
	if (!o)
		return false;
	o->item.key = *key;
	o->seat = seat;
	seat->origins++;
	o->host = *host;
	o->fd = -1;
	o->timer.fire = origin_expired;
	if (!origin_look_up(o)) {
		origin_release(o);
		return false;
	}
	origin_join(o, user);
	return true;
}

/* One connection of HTTP/1 has one user: the others get connections of their own, by what is known now. */
void origin_scatter(struct origin *o)
{
	origin_h1_note(o->seat->worker, &o->item.key);
	while (o->users->next) {
		struct origin_user *u = o->users->next;

		origin_part(u);
		if (!origin_begin(o->seat, &o->item.key, &o->host, u))
			u->events->ready(u, CATEGORY_LIMIT,
				"too many connections or lookups of this sandbox");
	}
}

static void origin_key(struct seat *seat, const struct origin_want *want, struct pool_key *ret)
{
	const char *ca = policy_upstream_ca(seat->sandbox->policy, want->host);

	memset(ret, 0, sizeof(*ret));
	ret->seat = seat;
	ret->trust = sandbox_trust(seat->sandbox, ca);
	ret->credentials = want->credentials;
	ret->port = want->port;
	ret->tls = want->tls;
	ret->version = (uint8_t)want->version;
	memcpy(ret->host, want->host->text, want->host->n);
}

/* Bytes or an end may lie in the buffers of a pooled connection in whose turn nobody has looked yet. */
static bool origin_usable(struct origin *o)
{
	if (o->session.h2)
		return session_takes(&o->session) && !o->leg->ended && !o->leg->broken &&
		       !o->leg->eof;
	return leg_readable(o->leg).n == 0 && !o->leg->ended && !o->leg->broken && !o->leg->eof;
}

/* To where the next one finds it. What falls out at the other end is closed, now or when its users are done. */
void origin_pool(struct origin *o)
{
	struct pool_item *item = pool_put(&o->seat->worker->pool, &o->item);
	struct origin *out = item ? container_of(item, struct origin, item) : NULL;

	if (out && !out->users)
		origin_release(out);
}

/* Nobody uses it. */
void origin_rest(struct origin *o, bool keep)
{
	struct worker *w = o->seat->worker;

	if (o->stepping)
		return;
	if (o->session.h2)
		keep = o->item.next != NULL; /* in the pool */
	if (!keep || o->state == ORIGIN_DEAD || o->seat->leaving || !origin_usable(o)) {
		origin_release(o);
		return;
	}
	if (o->state == ORIGIN_IDLE)
		return;
	o->state = ORIGIN_IDLE;
	o->relaxed = false;
	timer_start(w->loop, &o->timer, TIME_RELAX);
	if (!o->session.h2)
		origin_pool(o);
}

/* A connection of the pool that can be used, or NULL. */
static struct origin *origin_pooled(struct worker *w, const struct pool_key *key)
{
	struct pool_item *item;

	while ((item = pool_take(&w->pool, key))) {
		struct origin *o = container_of(item, struct origin, item);

		if (origin_usable(o)) {
			if (o->session.h2)
				origin_pool(o); /* it stays */
			return o;
		}
		if (!o->users)
			origin_release(o);
	}
	return NULL;
}

/* One that is being dialled, and will take more than one user if it turns out to speak HTTP/2, or NULL. */
static struct origin *origin_dialled(struct worker *w, const struct pool_key *key)
{
	struct pool_item *item;

	if (key->version == ORIGIN_H1 || origin_h1_noted(w, key))
		return NULL;
	item = pool_find(&w->dials, key);
	return item ? container_of(item, struct origin, item) : NULL;
}

bool origin_get(struct seat *seat, const struct origin_want *want, struct origin_user *user)
{
	struct worker *w = seat->worker;
	struct pool_key key;
	struct origin *o;

	origin_key(seat, want, &key);
	o = want->fresh ? NULL : origin_pooled(w, &key);
	if (o) {
		o->reused = true;
		o->state = ORIGIN_READY;
		timer_stop(w->loop, &o->timer);
		origin_join(o, user);
		user->told =
			true; /* by the answer: origin_ready() may be telling the others just now */
		return true;
	}
	o = want->fresh ? NULL : origin_dialled(w, &key);
	if (o) {
		origin_join(o, user);
		return true;
	}
	if (!origin_begin(seat, &key, want->host, user))
		return false;
	if (!want->fresh)
		(void)pool_put(
			&w->dials, &user->origin->item); /* what falls out is dialled alone */
	return true;
}

void origin_put(struct origin_user *user, bool keep)
{
	struct origin *o = user->origin;

	origin_part(user);
	if (o && !o->users)
		origin_rest(o, keep && o->state == ORIGIN_READY);
}

void origin_break(struct origin_user *user)
{
	struct origin *o = user->origin;

	if (o && !o->session.h2 && o->users == user &&
		!user->next) /* else it is being dialled for others as well */
		o->reset = true;
	origin_put(user, false);
}

void origin_shun(struct origin_user *user)
{
	struct origin *o = user->origin;

	if (o && o->state == ORIGIN_READY && o->session.h2)
		pool_remove(&o->seat->worker->pool, &o->item);
}

void origin_forget(struct seat *seat)
{
	struct pool_item *item;

	while ((item = pool_take_seat(&seat->worker->pool, seat))) {
		struct origin *o = container_of(item, struct origin, item);

		if (!o->users)
			origin_release(o);
	}
}
