/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c – see loop.h.
 *
 * Owns: one ring, its provided buffers, the timer wheel, the table of watches. A round: submit and wait for one
 * completion or the next deadline; dispatch all completions by ref.op; fire timers; call `after`.
 *
 * The ring is made disabled, restricted to the operations listed below (IORING_REGISTER_RESTRICTIONS: a seccomp filter
 * cannot see what a ring does, so the ring itself must refuse it) and enabled by the thread that runs it.
 *
 * Mail travels as IORING_OP_MSG_RING: the receiver's completion carries the message's address, so nothing is locked
 * and nothing allocated. A message that the receiver's queue cannot take is posted again.
 *
 * Watches are one-shot polls that are armed again after each call, which makes them level-triggered.
 *
 * #syscalls: io_uring_setup io_uring_register mmap munmap (before the filter) io_uring_enter
 */
#include <errno.h>
#include <liburing.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "ring/loop.h"
#include "ring/timer.h"

enum { LOOP_WATCHES = 256, LOOP_BATCH = 256, LOOP_GROUP = 0, LOOP_OP_POSTED = 3, LOOP_FAILED = 1 };

struct loop {
	struct io_uring ring;
	const loop_handler *handlers;
	void (*after)(void *owner);
	void *owner;
	uint64_t now;
	_Atomic uint64_t busy; /* see loop_busy() */
	bool stop;
	struct timer_wheel timers;

	struct {
		struct watch *watch;
		uint16_t gen;
		bool armed;
	} watches[LOOP_WATCHES];

	struct io_uring_buf_ring *buffers;
	uint8_t *buffer_bytes;
};

static const uint8_t loop_ops[] = {
	IORING_OP_NOP,
	IORING_OP_POLL_ADD,
	IORING_OP_POLL_REMOVE,
	IORING_OP_ASYNC_CANCEL,
	IORING_OP_MSG_RING,
	IORING_OP_ACCEPT,
	IORING_OP_CONNECT,
	IORING_OP_RECV,
	IORING_OP_SEND,
	IORING_OP_RECVMSG,
	IORING_OP_SENDMSG,
	IORING_OP_CLOSE,
	IORING_OP_FSYNC,
};

static int loop_register(struct loop *l, unsigned op, void *arg, unsigned n)
{
	return syscall(__NR_io_uring_register, l->ring.ring_fd, op, arg, n) < 0 ? -errno : 0;
}

/* liburing 2.3 declares io_uring_register_restrictions() without exporting it: the plain call. */
static int loop_restrict(struct loop *l)
{
	struct io_uring_restriction rows[ARRAY_SIZE(loop_ops) + 2] = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(loop_ops); i++) {
		rows[n].opcode = IORING_RESTRICTION_SQE_OP;
		rows[n++].sqe_op = loop_ops[i];
	}
	rows[n].opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED;
	rows[n++].sqe_flags = IOSQE_BUFFER_SELECT | IOSQE_CQE_SKIP_SUCCESS;
	rows[n].opcode = IORING_RESTRICTION_REGISTER_OP;
	rows[n++].register_op = IORING_REGISTER_ENABLE_RINGS;
	return loop_register(l, IORING_REGISTER_RESTRICTIONS, rows, n);
}

int loop_new(const struct loop_setup *setup, struct loop **ret)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			 IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
		.cq_entries = setup->entries * 4,
	};
	struct loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = io_uring_queue_init_params(setup->entries, &l->ring, &p);
	if (r < 0) {
		free(l);
		return r;
	}
	l->handlers = setup->handlers;
	l->after = setup->after;
	l->owner = setup->owner;
	l->now = clock_monotonic_ms();
	timer_wheel_init(&l->timers, l->now);
	*ret = l;
	return 0;
}

int loop_buffers(struct loop *l)
{
	struct io_uring_buf_reg reg = {.ring_entries = LIMIT_RECV_CHUNKS, .bgid = LOOP_GROUP};
	size_t ring_size = LIMIT_RECV_CHUNKS * sizeof(struct io_uring_buf);
	size_t size = (size_t)LIMIT_RECV_CHUNKS * LIMIT_RECV_CHUNK;
	void *memory = mmap(
		NULL, ring_size + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (memory == MAP_FAILED)
		return -ENOMEM;
	reg.ring_addr = (uintptr_t)memory;
	r = io_uring_register_buf_ring(&l->ring, &reg, 0);
	if (r < 0) {
		(void)munmap(memory, ring_size + size);
		return r;
	}
	l->buffers = memory;
	l->buffer_bytes = (uint8_t *)memory + ring_size;
	io_uring_buf_ring_init(l->buffers);
	for (unsigned i = 0; i < LIMIT_RECV_CHUNKS; i++)
		io_uring_buf_ring_add(l->buffers, l->buffer_bytes + (size_t)i * LIMIT_RECV_CHUNK,
			LIMIT_RECV_CHUNK, (unsigned short)i,
			io_uring_buf_ring_mask(LIMIT_RECV_CHUNKS), (int)i);
	io_uring_buf_ring_advance(l->buffers, LIMIT_RECV_CHUNKS);
	return 0;
}

const uint8_t *loop_buffer(struct loop *l, uint32_t flags)
{
	return l->buffer_bytes + (size_t)(flags >> IORING_CQE_BUFFER_SHIFT) * LIMIT_RECV_CHUNK;
}

void loop_buffer_give(struct loop *l, uint32_t flags)
{
	unsigned short id = (unsigned short)(flags >> IORING_CQE_BUFFER_SHIFT);

	io_uring_buf_ring_add(l->buffers, l->buffer_bytes + (size_t)id * LIMIT_RECV_CHUNK,
		LIMIT_RECV_CHUNK, id, io_uring_buf_ring_mask(LIMIT_RECV_CHUNKS), 0);
	io_uring_buf_ring_advance(l->buffers, 1);
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	io_uring_queue_exit(&l->ring);
	if (l->buffers) {
		explicit_bzero(l->buffer_bytes, (size_t)LIMIT_RECV_CHUNKS * LIMIT_RECV_CHUNK);
		(void)munmap(l->buffers,
			LIMIT_RECV_CHUNKS * (sizeof(struct io_uring_buf) + LIMIT_RECV_CHUNK));
	}
	free(l);
}

uint64_t loop_now(const struct loop *l)
{
	return l->now;
}

uint64_t loop_busy(const struct loop *l)
{
	return atomic_load_explicit(&l->busy, memory_order_relaxed);
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

struct io_uring_sqe *loop_sqe(struct loop *l, union ring_ref ref)
{
	struct io_uring_sqe *sqe;

	while (!(sqe = io_uring_get_sqe(&l->ring)))
		(void)io_uring_submit(
			&l->ring); /* the kernel consumes the queue at once; -EBUSY and -EAGAIN pass */
	memset(sqe, 0, sizeof(*sqe));
	sqe->user_data = ref.u64;
	return sqe;
}

/* ---- timers */

void timer_start(struct loop *l, struct timer *t, uint64_t ms)
{
	timer_wheel_start(&l->timers, t, l->now + ms);
}

void timer_stop(struct loop *l, struct timer *t)
{
	(void)l;
	timer_wheel_stop(t);
}

/* ---- watches */

static union ring_ref watch_ref(const struct loop *l, uint32_t slot)
{
	return (union ring_ref){.op = LOOP_OP_WATCH, .gen = l->watches[slot].gen, .slot = slot};
}

static void watch_arm(struct loop *l, struct watch *w)
{
	uint32_t slot = w->id - 1;
	struct io_uring_sqe *sqe;

	if (l->watches[slot].armed || !w->events)
		return;
	sqe = loop_sqe(l, watch_ref(l, slot));
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->fd = w->fd;
	sqe->poll32_events = w->events;
	l->watches[slot].armed = true;
}

/* The poll in flight, if any, becomes stale: its completion no longer matches the generation. */
static void watch_disarm(struct loop *l, struct watch *w)
{
	uint32_t slot = w->id - 1;

	if (l->watches[slot].armed) {
		struct io_uring_sqe *sqe = loop_sqe(l, (union ring_ref){.op = LOOP_OP_NONE});

		sqe->opcode = IORING_OP_POLL_REMOVE;
		sqe->fd = -1;
		sqe->addr = watch_ref(l, slot).u64;
		l->watches[slot].armed = false;
	}
	l->watches[slot].gen++;
}

int watch_start(struct loop *l, struct watch *w, int fd, uint32_t events)
{
	for (uint32_t i = 0; i < LOOP_WATCHES; i++) {
		if (l->watches[i].watch)
			continue;
		l->watches[i].watch = w;
		w->fd = fd;
		w->events = events;
		w->id = i + 1;
		watch_arm(l, w);
		return 0;
	}
	return -ENOSPC;
}

void watch_change(struct loop *l, struct watch *w, uint32_t events)
{
	if (!w->id || w->events == events)
		return;
	watch_disarm(l, w);
	w->events = events;
	watch_arm(l, w);
}

void watch_stop(struct loop *l, struct watch *w)
{
	if (!w->id)
		return;
	watch_disarm(l, w);
	l->watches[w->id - 1].watch = NULL;
	w->id = 0;
}

static void watch_complete(struct loop *l, union ring_ref ref, int res)
{
	struct watch *w;

	if (ref.slot >= LOOP_WATCHES || l->watches[ref.slot].gen != ref.gen)
		return;
	w = l->watches[ref.slot].watch;
	l->watches[ref.slot].armed = false;
	if (!w)
		return;
	w->ready(w, res < 0 ? POLLERR : (uint32_t)res);
	if (l->watches[ref.slot].watch == w && l->watches[ref.slot].gen == ref.gen)
		watch_arm(l, w);
}

/* ---- mail. User space addresses have 47 bits, so the op fits below a shifted pointer. */

static union ring_ref mail_ref(const struct mail *m, uint8_t op)
{
	return (union ring_ref){.u64 = (uint64_t)(uintptr_t)m << 8 | op};
}

static struct mail *mail_of(union ring_ref ref)
{
	return (struct mail *)(uintptr_t)(ref.u64 >> 8);
}

static void mail_send(struct loop *from, struct mail *m)
{
	struct io_uring_sqe *sqe = loop_sqe(from, mail_ref(m, LOOP_OP_POSTED));

	sqe->opcode = IORING_OP_MSG_RING;
	sqe->fd = m->to->ring.ring_fd;
	sqe->off = mail_ref(m, LOOP_OP_MAIL).u64;
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
}

/* Only failures complete here. A full queue at the receiver is met by trying again; a ring that is gone by silence. */
static void mail_failed(struct loop *l, struct mail *m, int res)
{
	if (res == -EOVERFLOW || res == -EAGAIN || res == -ENOMEM)
		mail_send(l, m);
}

void loop_post(struct loop *from, struct loop *to, struct mail *m)
{
	if (from == to) {
		m->deliver(m);
		return;
	}
	m->to = to;
	mail_send(from, m);
}

/* ---- the round */

static void loop_dispatch(struct loop *l, union ring_ref ref, int res, uint32_t flags)
{
	switch (ref.op) {
	case LOOP_OP_NONE:
		return;
	case LOOP_OP_MAIL:
		mail_of(ref)->deliver(mail_of(ref));
		return;
	case LOOP_OP_POSTED:
		mail_failed(l, mail_of(ref), res);
		return;
	case LOOP_OP_WATCH:
		watch_complete(l, ref, res);
		return;
	default:
		if (ref.op < LOOP_OP_MAX && l->handlers && l->handlers[ref.op])
			l->handlers[ref.op](l->owner, ref, res, flags);
	}
}

static unsigned loop_reap(struct loop *l)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&l->ring, head, cqe)
	{
		loop_dispatch(l, (union ring_ref){.u64 = cqe->user_data}, cqe->res, cqe->flags);
		if (++n == LOOP_BATCH)
			break;
	}
	io_uring_cq_advance(&l->ring, n);
	return n;
}

int loop_enable(struct loop *l)
{
	int r = loop_restrict(l);

	return r < 0 ? r : loop_register(l, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

int loop_run(struct loop *l)
{
	int r;

	while (!l->stop) {
		int64_t wait = timer_wheel_wait(&l->timers, l->now);
		struct __kernel_timespec ts = {
			.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000};
		struct io_uring_cqe *cqe;

		atomic_store_explicit(&l->busy, 0, memory_order_relaxed);
		r = io_uring_submit_and_wait_timeout(
			&l->ring, &cqe, 1, wait < 0 ? NULL : &ts, NULL);
		if (r < 0 && r != -ETIME && r != -EINTR && r != -EBUSY && r != -EAGAIN) {
			atomic_store_explicit(&l->busy, LOOP_FAILED, memory_order_relaxed);
			return r;
		}
		l->now = clock_monotonic_ms();
		atomic_store_explicit(&l->busy, l->now, memory_order_relaxed);
		while (loop_reap(l) == LOOP_BATCH)
			if (l->after)
				l->after(l->owner);
		timer_wheel_advance(&l->timers, l->now);
		if (l->after)
			l->after(l->owner);
	}
	l->stop = false; /* it may be run again */
	(void)io_uring_submit(&l->ring); /* what the last round queued, mail above all */
	return 0;
}
