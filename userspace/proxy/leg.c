/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leg.c – see leg.h.
 *
 * Receiving: one multishot receive into the ring's shared chunks; each chunk is copied to rx and given back at once, so
 * that no peer can hold the shared chunks. A multishot receive by itself knows no back-pressure, and cancelling it comes
 * too late: while it is requeued a cancel does not find it, and it goes on for another 32 chunks (seen on 6.18, as lost
 * uploads). So each is armed for as many bytes as rx has room for (sqe->optlen, Linux 6.16) and ends by itself; where the
 * kernel does not know the limit it answers EINVAL, and the worker goes over to single receives.
 *
 * Sending: tx fills while out is in flight; they change places when out is empty. So the engine and the owner always
 * write to memory that the kernel does not hold.
 *
 * #syscalls: shutdown setsockopt
 *
 * Closing: cancel what is in flight, close the descriptor when nothing is, give the slot back. Only leg_reap() frees.
 */
#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "proxy/leg.h"
#include "proxy/worker.h"
#include "tls/engine.h"

enum {
	LEG_READ = 16384, /* one TLS record's plain text */
	LEG_SPARE =
		LIMIT_RECV_CHUNK, /* rx: the last chunk; tx: record overhead, an alert, close_notify */
	LEG_MAX = LIMIT_RX + LEG_SPARE, /* one size, since leg_forward() exchanges them */
};
static_assert((int)LIMIT_RX == (int)LIMIT_TX, "buffers that can be exchanged");

static union ring_ref leg_ref(const struct leg *l, uint8_t op)
{
	return (union ring_ref){.op = op, .gen = slab_generation(l), .slot = slab_slot(l)};
}

static struct leg *leg_of(struct worker *w, union ring_ref ref)
{
	return slab_find(&w->legs, ref.slot, ref.gen);
}

void leg_mark(struct leg *l)
{
	if (l->dirty || l->closed)
		return;
	l->dirty = true;
	l->next_dirty = l->worker->dirty;
	l->worker->dirty = l;
}

static void leg_arm(struct leg *l)
{
	struct io_uring_sqe *sqe;

	if (l->receiving || l->eof || l->broken || l->closed ||
		buf_used(&l->rx) > l->window - LIMIT_RECV_CHUNK)
		return;
	sqe = loop_sqe(l->worker->loop, leg_ref(l, LEG_OP_RECV));
	sqe->opcode = IORING_OP_RECV;
	sqe->fd = l->fd;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = 0;
	if (!l->worker->single_receives) {
		sqe->ioprio = IORING_RECV_MULTISHOT;
		sqe->file_index =
			(uint32_t)(l->window -
				   buf_used(&l->rx)); /* optlen, which liburing 2.3 does not name */
	}
	l->receiving = true;
	l->inflight++;
}

static void leg_cancel(struct leg *l, uint8_t op)
{
	struct io_uring_sqe *sqe = loop_sqe(l->worker->loop, (union ring_ref){.op = LOOP_OP_NONE});

	sqe->opcode = IORING_OP_ASYNC_CANCEL;
	sqe->fd = -1;
	sqe->addr = leg_ref(l, op).u64;
}

struct leg *leg_open(struct seat *seat, int fd, void *owner, void (*progress)(struct leg *l))
{
	struct worker *w = seat->worker;
	struct leg *l = slab_take(&w->legs);

	if (!l)
		return NULL;
	l->worker = w;
	l->seat = seat;
	seat->legs++;
	l->owner = owner;
	l->progress = progress;
	l->fd = fd;
	l->window = LIMIT_RX;
	buf_init(&l->rx, LEG_MAX);
	buf_init(&l->plain, LIMIT_RX);
	buf_init(&l->tx, LEG_MAX);
	buf_init(&l->out, LEG_MAX);
	leg_arm(l);
	return l;
}

void leg_secure(struct leg *l, struct tls_engine *tls)
{
	l->tls = tls;
	if (l->eof)
		tls_engine_eof(tls);
}

int leg_handshake(struct leg *l)
{
	int r = tls_engine_handshake(l->tls);

	leg_flush(l);
	if (r < 0) /* the alert stays in tx: the leg can still send */
		l->eof = l->ended = true;
	return r;
}

/*
 * Moves what can be read from rx through the engine to plain. Also when the leg is broken: what came before a reset is
 * often the reason for it, an answer to a request whose body nobody wanted to have (RFC 9112 section 9.6).
 */
static void leg_unseal(struct leg *l)
{
	while (!l->ended) {
		size_t room = buf_room(&l->plain);
		uint8_t *to;
		long n;

		if (room == 0)
			return;
		if (room > LEG_READ)
			room = LEG_READ;
		to = buf_reserve(&l->plain, room);
		if (!to) {
			l->broken = true;
			return;
		}
		n = tls_engine_read(l->tls, to, room);
		if (n > 0)
			buf_commit(&l->plain, (size_t)n);
		else if (n == 0)
			l->ended = true;
		else if (n == -EAGAIN)
			return;
		else {
			l->broken = true;
			return;
		}
	}
}

struct slice leg_readable(struct leg *l)
{
	if (!l->tls)
		return buf_slice(&l->rx);
	leg_unseal(l);
	leg_arm(l); /* unsealing made room, and the owner may want more before it consumes any */
	return buf_slice(&l->plain);
}

void leg_consume(struct leg *l, size_t n)
{
	buf_consume(l->tls ? &l->plain : &l->rx, n);
	l->bytes_in += n;
	leg_arm(l);
}

bool leg_over(struct leg *l)
{
	return leg_readable(l).n == 0 && (l->ended || l->broken);
}

size_t leg_room(const struct leg *l)
{
	size_t room = buf_room(&l->tx);

	return room > LEG_SPARE ? room - LEG_SPARE : 0;
}

int leg_write(struct leg *l, struct slice s)
{
	if (l->broken || l->shut)
		return -EPIPE;
	l->bytes_out += s.n;
	if (!l->tls) {
		if (buf_append(&l->tx, s) == 0)
			return 0;
		l->broken = true;
		return -EPIPE;
	}
	while (s.n) {
		long n = tls_engine_write(l->tls, s);

		if (n <= 0) {
			l->broken = true;
			return -EPIPE;
		}
		s = slice_skip(s, (size_t)n);
	}
	return 0;
}

size_t leg_forward(struct leg *from, struct leg *to)
{
	size_t n = buf_used(&from->rx);
	struct buf empty = to->tx;

	if (!n || to->broken || to->shut || !leg_drained(to))
		return 0;
	to->tx = from->rx;
	from->rx = empty;
	from->bytes_in += n;
	to->bytes_out += n;
	leg_arm(from);
	leg_flush(to);
	return n;
}

void leg_window(struct leg *l, size_t n)
{
	l->window = n;
}

static void leg_send(struct leg *l)
{
	struct slice s = buf_slice(&l->out);
	struct io_uring_sqe *sqe = loop_sqe(l->worker->loop, leg_ref(l, LEG_OP_SEND));

	sqe->opcode = IORING_OP_SEND;
	sqe->fd = l->fd;
	sqe->addr = (uintptr_t)s.p;
	sqe->len = (uint32_t)s.n;
	sqe->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
	l->out.lent = true;
	l->sending = true;
	l->inflight++;
}

/*
 * A plain call: the ring's shutdown is handed to a kernel thread that looks the descriptor's number up only then, when
 * it may be another connection's already (seen on 6.18, as connections that ended with a stranger).
 */
static void leg_send_fin(struct leg *l)
{
	if (!l->shut || l->fin_sent || !leg_drained(l))
		return;
	l->fin_sent = true;
	(void)shutdown(l->fd, SHUT_WR); /* the peer may be gone */
}

void leg_flush(struct leg *l)
{
	if (l->sending || l->closed)
		return;
	if (!buf_used(&l->out) && buf_used(&l->tx)) {
		struct buf empty = l->out;

		l->out = l->tx;
		l->tx = empty;
	}
	if (buf_used(&l->out))
		leg_send(l);
	else
		leg_send_fin(l);
}

void leg_shut(struct leg *l)
{
	if (l->shut)
		return;
	if (l->tls && !l->broken)
		(void)tls_engine_close(
			l->tls); /* LEG_SPARE keeps room for it; a failed session has nothing to close */
	l->shut = true;
	leg_flush(l);
}

bool leg_drained(const struct leg *l)
{
	return l->broken || (!l->sending && !buf_used(&l->out) && !buf_used(&l->tx));
}

void leg_relax(struct leg *l)
{
	buf_relax(&l->rx);
	buf_relax(&l->plain);
	buf_relax(&l->tx);
	buf_relax(&l->out);
}

void leg_close(struct leg *l, bool reset)
{
	if (!l || l->closed)
		return;
	l->closed = true;
	l->reset = reset;
	if (l->receiving)
		leg_cancel(l, LEG_OP_RECV);
	if (l->sending)
		leg_cancel(l, LEG_OP_SEND);
	l->next_dying = l->worker->dying;
	l->worker->dying = l;
}

/* ---- completions */

static void leg_received(struct leg *l, int res, uint32_t flags)
{
	if (res > 0) {
		struct slice s = slice_of(loop_buffer(l->worker->loop, flags), (size_t)res);

		if (!l->closed && buf_append(&l->rx, s) < 0)
			l->broken = true; /* no memory */
		return;
	}
	if (res == 0) {
		l->eof = true;
		if (l->tls)
			tls_engine_eof(l->tls);
		else
			l->ended = true;
	} else if (res == -EINVAL && !l->worker->single_receives) {
		l->worker->single_receives = true;
	} else if (res != -ENOBUFS && res != -ECANCELED && res != -EINTR) {
		l->eof = l->broken = true;
	}
}

void leg_recv_done(void *worker, union ring_ref ref, int res, uint32_t flags)
{
	struct worker *w = worker;
	struct leg *l = leg_of(w, ref);

	if (l)
		leg_received(l, res, flags);
	if (flags & IORING_CQE_F_BUFFER)
		loop_buffer_give(w->loop, flags);
	if (!l)
		return;
	if (!(flags & IORING_CQE_F_MORE)) {
		l->receiving = false;
		l->inflight--;
		leg_arm(l); /* only if there is room: otherwise leg_consume() does */
	}
	leg_mark(l);
}

void leg_send_done(void *worker, union ring_ref ref, int res, uint32_t flags)
{
	struct leg *l = leg_of(worker, ref);

	(void)flags;
	if (!l)
		return;
	l->inflight--;
	l->sending = l->out.lent = false;
	if (res > 0) {
		buf_consume(&l->out, (size_t)res);
		leg_flush(l);
	} else if (!l->closed) {
		l->broken = true;
	}
	leg_mark(l);
}

/* ---- reaping */

static void leg_free(struct leg *l)
{
	struct linger hard = {.l_onoff = 1, .l_linger = 0};
	struct seat *seat = l->seat;
	struct io_uring_sqe *sqe;

	if (l->reset)
		(void)setsockopt(
			l->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* worst case a FIN */
	sqe = loop_sqe(l->worker->loop, (union ring_ref){.op = LOOP_OP_NONE});
	sqe->opcode = IORING_OP_CLOSE;
	sqe->fd = l->fd;
	tls_engine_free(l->tls);
	buf_done(&l->rx);
	buf_done(&l->plain);
	buf_done(&l->tx);
	buf_done(&l->out);
	slab_give(&l->worker->legs, l);
	seat->legs--;
	worker_seat_check(
		seat); /* behind the close: whoever hears that the seat is empty finds its peers told */
}

void leg_progress(struct worker *w)
{
	while (w->dirty) {
		struct leg *l = w->dirty;

		w->dirty = l->next_dirty;
		l->dirty = false;
		if (!l->closed)
			l->progress(l);
	}
}

void leg_reap(struct worker *w)
{
	for (struct leg **at = &w->dying; *at;) {
		struct leg *l = *at;

		if (l->inflight || l->dirty) {
			at = &l->next_dying;
			continue;
		}
		*at = l->next_dying;
		leg_free(l);
	}
}
