/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c – see worker.h.
 *
 * A batch: completions are dispatched by the table below (bytes come and go, connections are accepted, connects end);
 * then every leg in which something happened is looked at once; then what is dead is freed.
 *
 * A seat goes through: taken (listeners armed) → leaving (accepts cancelled, connections ended) → empty → given back,
 * upon which the control thread is told.
 *
 * When another daemon takes over, the worker drains: no seat accepts, connections end at the next occasion (connection.c),
 * seats stay until the daemon ends.
 */
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cred/credset.h"
#include "dns/records.h"
#include "harden/seccomp.h"
#include "proxy/connection.h"
#include "proxy/exchange.h"
#include "proxy/leg.h"
#include "proxy/lookup.h"
#include "proxy/names.h"
#include "proxy/origin.h"
#include "proxy/sandbox.h"
#include "proxy/shared.h"
#include "proxy/worker.h"
#include "tls/client.h"
#include "tls/leaves.h"
#include "tls/server.h"

enum {
	WORKER_ENTRIES = 1024,
	WORKER_LEGS = 16384,
	WORKER_CONNECTIONS = 8192,
	WORKER_EXCHANGES = 16384,
	WORKER_LOOKUPS = 16384,
	WORKER_QUERIES = 16384,
	WORKER_RECORDS =
		256, /* answers of other types than addresses, 12 KiB each while asked for */
	WORKER_REARM =
		100, /* milliseconds until accepting is tried again when descriptors were out */
};

/* ---- accepting */

static union ring_ref worker_accept_ref(struct seat *seat, unsigned listener)
{
	return (union ring_ref){.op = WORKER_OP_ACCEPT,
		.leg = (uint8_t)listener,
		.gen = slab_generation(seat),
		.slot = slab_slot(seat)};
}

/* Listener numbers: slot, and LIMIT_SLOTS + slot in the second series. */
static int worker_listener(struct seat *seat, unsigned listener)
{
	return seat->sandbox->at.tcp[listener / LIMIT_SLOTS][listener % LIMIT_SLOTS];
}

static void worker_accept(struct seat *seat, unsigned listener)
{
	struct io_uring_sqe *sqe = loop_sqe(seat->worker->loop, worker_accept_ref(seat, listener));

	sqe->opcode = IORING_OP_ACCEPT;
	sqe->fd = worker_listener(seat, listener);
	sqe->accept_flags = SOCK_CLOEXEC;
	sqe->ioprio = IORING_ACCEPT_MULTISHOT;
	seat->accepting |= 1u << listener;
}

/* The listeners that are this worker's: slot i belongs to worker i mod n. */
static void worker_accept_all(struct seat *seat)
{
	struct worker *w = seat->worker;

	for (unsigned family = 0; family < seat->sandbox->at.families; family++)
		for (unsigned i = w->index; i < seat->sandbox->at.nslots; i += w->shared->nworkers)
			if (!(seat->accepting & 1u << (family * LIMIT_SLOTS + i)))
				worker_accept(seat, family * LIMIT_SLOTS + i);
}

/* What the kernel has accepted already still comes. */
static void worker_accept_none(struct seat *seat)
{
	for (unsigned i = 0; i < 2 * LIMIT_SLOTS; i++) {
		struct io_uring_sqe *sqe;

		if (!(seat->accepting & 1u << i))
			continue;
		sqe = loop_sqe(seat->worker->loop, (union ring_ref){.op = LOOP_OP_NONE});
		sqe->opcode = IORING_OP_ASYNC_CANCEL;
		sqe->fd = -1;
		sqe->addr = worker_accept_ref(seat, i).u64;
	}
}

static void worker_rearm(struct timer *t)
{
	struct seat *seat = container_of(t, struct seat, rearm);

	if (!seat->leaving && !seat->worker->draining)
		worker_accept_all(seat);
}

static void worker_accepted(void *owner, union ring_ref ref, int res, uint32_t flags)
{
	struct worker *w = owner;
	struct seat *seat = slab_find(&w->seats, ref.slot, ref.gen);

	if (!seat) {
		if (res >= 0)
			(void)close(res);
		return;
	}
	if (!(flags & IORING_CQE_F_MORE))
		seat->accepting &= ~(1u << ref.leg);
	if (res >= 0) {
		if (seat->leaving)
			(void)close(res);
		else
			connection_accept(seat, res);
	}
	if (seat->leaving)
		worker_seat_check(seat);
	else if (!w->draining && !(seat->accepting & 1u << ref.leg))
		timer_start(w->loop, &seat->rearm, res >= 0 ? 0 : WORKER_REARM);
}

/* ---- seats */

static struct seat *worker_seat_of(struct worker *w, const struct sandbox *sb)
{
	for (uint32_t i = 0; i < w->seats.made; i++) {
		struct seat *seat = slab_at(&w->seats, i);

		if (seat && seat->sandbox == sb)
			return seat;
	}
	return NULL;
}

static void worker_seat_clients(struct seat *seat)
{
	struct sandbox *sb = seat->sandbox;

	for (unsigned i = 0; i < sb->ntrusts && seat->nclients < SEAT_CLIENTS; i++) {
		struct tls_client *client;

		if (tls_client_new(sb->trusts[i].trust, &client) < 0)
			continue; /* worker_tls_client() then says that there is none */
		seat->clients[seat->nclients].ca = sb->trusts[i].file;
		seat->clients[seat->nclients++].client = client;
	}
}

struct tls_client *worker_tls_client(struct seat *seat, const char *ca)
{
	if (!ca)
		return seat->worker->tls_client;
	for (unsigned i = 0; i < seat->nclients; i++)
		if (strcmp(seat->clients[i].ca, ca) == 0)
			return seat->clients[i].client;
	return NULL;
}

void worker_seat_take(struct worker *w, struct sandbox *sb)
{
	struct seat *seat = slab_take(&w->seats);

	if (!seat) {
		log_error("worker %u has no seat left for %s", w->index, sb->at.id);
		return;
	}
	seat->worker = w;
	seat->sandbox = sb;
	seat->credentials = sb->credentials ? credset_ref(sb->credentials) : NULL;
	seat->rearm.fire = worker_rearm;
	worker_seat_clients(seat);
	if (w->draining)
		return; /* it is another daemon's by now */
	if (sb->serial % w->shared->nworkers == w->index)
		seat->names = names_start(seat);
	worker_accept_all(seat);
}

void worker_seat_check(struct seat *seat)
{
	struct worker *w = seat->worker;
	struct sandbox *sb = seat->sandbox;

	if (!seat->leaving || seat->accepting || seat->connections || seat->lookups ||
		seat->origins || seat->queries || seat->namings || seat->names || seat->legs)
		return;
	timer_stop(w->loop, &seat->rearm);
	credset_unref(seat->credentials);
	for (unsigned i = 0; i < seat->nclients; i++)
		tls_client_free(seat->clients[i].client);
	slab_give(&w->seats, seat);
	sandbox_left(w, sb);
}

void worker_seat_leave(struct worker *w, struct sandbox *sb)
{
	struct seat *seat = worker_seat_of(w, sb);

	if (!seat) {
		sandbox_left(w, sb);
		return;
	}
	seat->leaving = true;
	seat->lookups++; /* it stays until the end of this function, which may be its own end */
	worker_accept_none(seat);
	for (uint32_t i = 0; i < w->connections.made; i++) {
		struct connection *c = slab_at(&w->connections, i);

		if (c && c->seat == seat)
			connection_abort(c);
	}
	leaves_forget(w->leaves, sb->serial);
	if (seat->names)
		names_stop(seat->names);
	origin_forget(seat);
	seat->lookups--;
	worker_seat_check(seat); /* a worker without a slot has nothing to wait for */
}

void worker_seat_refresh(struct worker *w, struct sandbox *sb, struct credset *set)
{
	struct seat *seat = worker_seat_of(w, sb);

	if (!seat) {
		credset_unref(set);
		return;
	}
	credset_unref(seat->credentials);
	seat->credentials = set;
	for (uint32_t i = 0; i < w->connections.made; i++) {
		struct connection *c = slab_at(&w->connections, i);

		if (c && c->seat == seat)
			connection_review(c);
	}
}

/* ---- the thread */

static const loop_handler worker_handlers[LOOP_OP_MAX] = {
	[LEG_OP_RECV] = leg_recv_done,
	[LEG_OP_SEND] = leg_send_done,
	[WORKER_OP_ACCEPT] = worker_accepted,
	[WORKER_OP_CONNECT] = origin_connected,
	[WORKER_OP_NAMES] = names_received,
};

/* In the control thread. */
static void worker_ended(struct mail *m)
{
	struct shared *shared = container_of(m, struct worker, end)->shared;

	if (--shared->running == 0)
		loop_stop(shared->control);
}

/*
 * Behind each batch of a worker that drains: says when its last accept is cancelled, and when its last connection and
 * question are over.
 */
static void worker_drained(struct worker *w)
{
	if (!w->draining || w->emptied)
		return;
	if (!w->stopped) {
		for (uint32_t i = 0; i < w->seats.made; i++) {
			const struct seat *seat = slab_at(&w->seats, i);

			if (seat && (seat->accepting || seat->names))
				return;
		}
		w->stopped = true;
		loop_post(w->loop, w->shared->control, &w->stop);
	}
	if (w->connections.used || w->queries.used)
		return;
	w->emptied = true;
	loop_post(w->loop, w->shared->control, &w->empty);
}

static void worker_after(void *owner)
{
	struct worker *w = owner;

	do {
		leg_progress(w);
		connection_reap(w);
	} while (w->dirty || w->dead);
	leg_reap(w);
	worker_drained(w);
	if (w->ending && !w->seats.used) {
		w->ending = false;
		w->end.deliver = worker_ended;
		loop_post(w->loop, w->shared->control, &w->end);
		loop_stop(w->loop);
	}
}

static int worker_slabs(struct worker *w)
{
	int r = slab_init(&w->legs, sizeof(struct leg), WORKER_LEGS);

	r = r ? r : slab_init(&w->connections, sizeof(struct connection), WORKER_CONNECTIONS);
	r = r ? r : slab_init(&w->exchanges, sizeof(struct exchange), WORKER_EXCHANGES);
	r = r ? r : slab_init(&w->origins, sizeof(struct origin), WORKER_CONNECTIONS);
	r = r ? r : slab_init(&w->seats, sizeof(struct seat), LIMIT_SANDBOXES);
	r = r ? r : slab_init(&w->lookups, sizeof(struct lookup), WORKER_LOOKUPS);
	r = r ? r : slab_init(&w->records, sizeof(struct dns_records), WORKER_RECORDS);
	return r ? r : slab_init(&w->queries, NAMES_QUERY, WORKER_QUERIES);
}

int worker_new(struct shared *shared, unsigned index, struct worker **ret)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct loop_setup setup = {.entries = WORKER_ENTRIES,
		.handlers = worker_handlers,
		.after = worker_after,
		.owner = w};
	int r;

	if (!w)
		return -ENOMEM;
	w->shared = shared;
	w->index = index;
	pool_init(&w->pool);
	pool_init(&w->dials);
	r = worker_slabs(w);
	r = r ? r : loop_new(&setup, &w->loop);
	r = r ? r : loop_buffers(w->loop);
	r = r ? r : tls_server_new(&w->tls_server);
	r = r ? r : tls_client_new(shared->trust, &w->tls_client);
	r = r ? r : leaves_new(LIMIT_LEAVES, &w->leaves);
	r = r ? r : journal_init(&w->journal, w->loop, shared->control);
	if (r < 0) {
		worker_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void *worker_main(void *worker)
{
	struct worker *w = worker;
	char name[16];
	int r;

	(void)snprintf(name, sizeof(name), "worker-%u", w->index);
	(void)pthread_setname_np(pthread_self(), name); /* for people only */
	r = loop_enable(w->loop);
	r = r ? r : seccomp_worker();
	atomic_store(&w->ready, r < 0 ? r : 1);
	if (r == 0)
		r = loop_run(w->loop);
	if (r < 0)
		(void)log_errno(r, "worker %u", w->index);
	return NULL;
}

/* In the worker: every seat is asked to leave; worker_after() ends the loop when none is left. */
static void worker_end_deliver(struct mail *m)
{
	struct worker *w = container_of(m, struct worker, end);

	w->ending = true;
	for (uint32_t i = 0; i < w->seats.made; i++) {
		struct seat *seat = slab_at(&w->seats, i);

		if (seat && !seat->leaving)
			worker_seat_leave(w, seat->sandbox);
	}
}

void worker_end(struct worker *w)
{
	w->end.deliver = worker_end_deliver;
	w->shared->running++;
	loop_post(w->shared->control, w->loop, &w->end);
}

/* In the worker. The mail goes back as it came, by worker_drained(). */
static void worker_drain_deliver(struct mail *m)
{
	struct worker *w = container_of(m, struct worker, stop);

	w->stop.deliver = w->said_stopped;
	w->draining = true;
	for (uint32_t i = 0; i < w->seats.made; i++) {
		struct seat *seat = slab_at(&w->seats, i);

		if (!seat || seat->leaving)
			continue;
		worker_accept_none(seat);
		if (seat->names)
			names_stop(seat->names);
	}
	for (uint32_t i = 0; i < w->connections.made; i++) {
		struct connection *c = slab_at(&w->connections, i);

		if (c)
			connection_drain(c);
	}
}

void worker_drain(struct worker *w, void (*stopped)(struct mail *m), void (*empty)(struct mail *m))
{
	w->said_stopped = stopped;
	w->empty.deliver = empty;
	w->stop.deliver = worker_drain_deliver;
	loop_post(w->shared->control, w->loop, &w->stop);
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	loop_free(w->loop);
	tls_server_free(w->tls_server);
	if (w->tls_client)
		tls_client_free(w->tls_client);
	if (w->leaves)
		leaves_free(w->leaves);
	journal_done(&w->journal);
	slab_done(&w->legs);
	slab_done(&w->connections);
	slab_done(&w->exchanges);
	slab_done(&w->origins);
	slab_done(&w->seats);
	slab_done(&w->lookups);
	slab_done(&w->queries);
	slab_done(&w->records);
	free(w);
}
