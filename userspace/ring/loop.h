/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h – one thread's event loop over one io_uring (io_uring_setup(2): SINGLE_ISSUER, DEFER_TASKRUN): completions
 * dispatched by a packed reference, timers, readiness watches for the control thread, and mail between loops.
 *
 * The life of a loop: loop_new() in any thread; loop_enable() and loop_run() in the thread that owns it from then on;
 * everything else only from that thread, or before loop_enable(). Handlers never free what an operation in flight refers to:
 * they mark, and the owner frees in the `after` hook that runs behind each batch of completions.
 */
#ifndef SALLYPORT_LOOP_H
#define SALLYPORT_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct loop;
struct io_uring_sqe;

/* What a completion belongs to. `op` 0..7 are the loop's own; owners number theirs from LOOP_OP_USER. */
union ring_ref {
	struct {
		uint8_t op;
		uint8_t leg; /* which socket of the object */
		uint16_t gen; /* of the slot: a stale completion is counted and dropped */
		uint32_t slot; /* in the owner's slab */
	};
	uint64_t u64;
};
_Static_assert(sizeof(union ring_ref) == 8, "fits user_data");

enum { LOOP_OP_NONE, LOOP_OP_MAIL, LOOP_OP_WATCH, LOOP_OP_USER = 8, LOOP_OP_MAX = 32 };

/* One completion; res and flags as in io_uring(7). */
typedef void (*loop_handler)(void *owner, union ring_ref ref, int res, uint32_t flags);

struct loop_setup {
	unsigned entries; /* submission queue size */
	const loop_handler *handlers; /* LOOP_OP_MAX of them, NULL where unused */
	void (*after)(void *owner); /* behind each batch; may be NULL */
	void *owner;
};

/* 0 or -errno. The ring is created disabled and enabled by the thread that runs it. */
int loop_new(const struct loop_setup *setup, struct loop **ret);
/*
 * Restricts the ring to what loop.c lists and enables it, in the thread that will run it: the last moment for
 * io_uring_register(2), so a seccomp filter goes behind it. 0 or -errno.
 */
int loop_enable(struct loop *l);
/* Until loop_stop(). Returns 0 or -errno when the ring itself failed. */
int loop_run(struct loop *l);
/* Ends the loop after this round; from its own thread (other threads post mail that does it). */
void loop_stop(struct loop *l);
void loop_free(struct loop *l);

/*
 * From any thread: since when the loop is at work without a pause, in milliseconds of CLOCK_MONOTONIC; 0 while it waits
 * for something to do, which it cannot fail to notice; 1 when it ended by a failure.
 */
uint64_t loop_busy(const struct loop *l);

/* Milliseconds, read once for each batch. */
uint64_t loop_now(const struct loop *l);

/* A submission entry with user_data set; submits what is queued first when the queue is full. Never NULL. */
struct io_uring_sqe *loop_sqe(struct loop *l, union ring_ref ref);

/* ---- provided buffers: the ring's group 0, LIMIT_RECV_CHUNKS of LIMIT_RECV_CHUNK bytes */
int loop_buffers(struct loop *l);
/* The buffer that a completion with IORING_CQE_F_BUFFER names. Valid until loop_buffer_give(). */
const uint8_t *loop_buffer(struct loop *l, uint32_t flags);
void loop_buffer_give(struct loop *l, uint32_t flags);

/* ---- timers: one deadline each, embedded in their owner */
struct timer {
	struct timer *next, *prev; /* NULL when not armed */
	uint64_t due; /* milliseconds on the loop's clock */
	void (*fire)(struct timer *t);
};

/* Arms, or moves, the timer; it fires once, at most TIMER_TICK late. */
void timer_start(struct loop *l, struct timer *t, uint64_t ms);
void timer_stop(struct loop *l, struct timer *t);

/* ---- readiness, for descriptors that are read and written by plain calls (control thread only) */
struct watch {
	int fd;
	uint32_t events; /* POLLIN | POLLOUT wanted */
	void (*ready)(struct watch *w, uint32_t revents); /* may stop any watch, its own too */
	void *arg;
	uint32_t id; /* the loop's; 0 when idle */
};

/* Level-triggered: calls ready while the condition holds. 0, or -ENOSPC. */
int watch_start(struct loop *l, struct watch *w, int fd, uint32_t events);
/* Changes what is wanted. */
void watch_change(struct loop *l, struct watch *w, uint32_t events);
/* After this, ready is not called again; the descriptor may be closed. */
void watch_stop(struct loop *l, struct watch *w);

/* ---- mail: hands a message to another loop. The receiver owns it from delivery on. */
struct mail {
	void (*deliver)(struct mail *m); /* called in the receiving thread */
	struct loop *to; /* set by loop_post() */
};

/*
 * Called in the thread of `from`; both loops must be enabled. Delivery is in order of posting. To itself: a plain call.
 * A message to a loop that has ended is never delivered.
 */
void loop_post(struct loop *from, struct loop *to, struct mail *m);

#endif
