/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop.c – the loop: timers in order, watches level-triggered, mail both ways between threads, restrictions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ring/loop.h"
#include "ring/timer.h"

/* ---- timers, on a clock of our own */

static unsigned fired[8], nfired;

struct test_timer {
	struct timer t;
	unsigned id;
};

static void test_fire(struct timer *t)
{
	fired[nfired++] = container_of(t, struct test_timer, t)->id;
}

static void test_wheel(void **state)
{
	struct timer_wheel w;
	struct test_timer t[5] = {0};

	(void)state;
	nfired = 0;
	timer_wheel_init(&w, 1000);
	assert_int_equal(timer_wheel_wait(&w, 1000), -1);
	for (unsigned i = 0; i < 5; i++) {
		t[i].id = i;
		t[i].t.fire = test_fire;
	}
	timer_wheel_start(&w, &t[0].t, 1000 + 20);
	timer_wheel_start(&w, &t[1].t, 1000 + 20000); /* beyond one revolution */
	timer_wheel_start(&w, &t[2].t, 1000 + 300);
	timer_wheel_start(&w, &t[3].t, 1000 + 5);
	timer_wheel_start(&w, &t[4].t, 1000 + 40);
	timer_wheel_stop(&t[4].t);
	assert_in_range(timer_wheel_wait(&w, 1000), 1, TIMER_TICK);
	timer_wheel_advance(&w, 1004);
	assert_int_equal(nfired, 0);
	timer_wheel_advance(&w, 1000 + 60);
	assert_int_equal(nfired, 2);
	timer_wheel_advance(&w, 1000 + 400);
	assert_int_equal(nfired, 3);
	assert_int_equal(fired[2], 2);
	timer_wheel_advance(&w, 1000 + 19000);
	assert_int_equal(nfired, 3);
	timer_wheel_advance(&w, 1000 + 20100);
	assert_int_equal(nfired, 4);
	assert_int_equal(fired[3], 1);
	assert_null(t[1].t.next);
}

/* ---- mail: two loops bounce a message COUNT times */

enum { COUNT = 1000 };

struct ball {
	struct mail mail;
	struct loop *here, *there; /* the receiver and the other one, when it is delivered */
	unsigned left;
};

/* The last bounce stops its own loop and sends the ball once more, which stops the other. */
static void ball_deliver(struct mail *m)
{
	struct ball *b = container_of(m, struct ball, mail);
	struct loop *here = b->here, *there = b->there;

	if (b->left == 0)
		loop_stop(here);
	else
		b->left--;
	b->here = there;
	b->there = here;
	if (there)
		loop_post(here, there, m);
}

static void *run_loop(void *arg)
{
	assert_int_equal(loop_enable(arg), 0);
	(void)loop_run(arg);
	return NULL;
}

static struct ball ball;
static struct timer kick;

static void kick_fire(struct timer *t)
{
	(void)t;
	loop_post(ball.there, ball.here, &ball.mail);
}

static void test_mail(void **state)
{
	struct loop_setup setup = {.entries = 8};
	struct loop *a, *b;
	pthread_t thread;

	(void)state;
	assert_int_equal(loop_new(&setup, &a), 0);
	assert_int_equal(loop_new(&setup, &b), 0);
	ball = (struct ball){.mail.deliver = ball_deliver, .here = b, .there = a, .left = COUNT};
	kick.fire = kick_fire;
	timer_start(a, &kick, 50); /* by then the other loop is enabled */
	assert_int_equal(pthread_create(&thread, NULL, run_loop, b), 0);
	assert_int_equal(loop_enable(a), 0);
	assert_int_equal(loop_run(a), 0);
	assert_int_equal(ball.left, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	loop_free(a);
	loop_free(b);
}

/* ---- watches */

static struct loop *watch_loop;
static unsigned watch_calls;

static void pipe_ready(struct watch *w, uint32_t revents)
{
	char c;

	assert_true(revents & POLLIN);
	/* one byte a call: level-triggered means that we are called for each of the three */
	assert_int_equal(read(w->fd, &c, 1), 1);
	if (++watch_calls == 3) {
		watch_stop(watch_loop, w);
		loop_stop(watch_loop);
	}
}

static void test_watch(void **state)
{
	struct loop_setup setup = {.entries = 8};
	struct watch w = {.ready = pipe_ready};
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], "abc", 3), 3);
	assert_int_equal(loop_new(&setup, &watch_loop), 0);
	assert_int_equal(watch_start(watch_loop, &w, p[0], POLLIN), 0);
	assert_int_equal(loop_enable(watch_loop), 0);
	assert_int_equal(loop_run(watch_loop), 0);
	assert_int_equal(watch_calls, 3);
	assert_int_equal(w.id, 0);
	loop_free(watch_loop);
	close(p[0]);
	close(p[1]);
}

/* ---- restrictions: an operation that is not listed is refused by the kernel */

static int openat_result, nop_result;
static struct loop *restricted;

static void result_handler(void *owner, union ring_ref ref, int res, uint32_t flags)
{
	(void)owner;
	(void)flags;
	if (ref.leg == 1)
		openat_result = res;
	else
		nop_result = res;
	if (openat_result != 1 && nop_result != 1)
		loop_stop(restricted);
}

static void test_restrictions(void **state)
{
	loop_handler handlers[LOOP_OP_MAX] = {[LOOP_OP_USER] = result_handler};
	struct loop_setup setup = {.entries = 8, .handlers = handlers};
	struct io_uring_sqe *sqe;

	(void)state;
	openat_result = nop_result = 1;
	assert_int_equal(loop_new(&setup, &restricted), 0);
	assert_int_equal(loop_enable(restricted), 0);
	sqe = loop_sqe(restricted, (union ring_ref){.op = LOOP_OP_USER, .leg = 0});
	sqe->opcode = IORING_OP_NOP;
	sqe = loop_sqe(restricted, (union ring_ref){.op = LOOP_OP_USER, .leg = 1});
	sqe->opcode = IORING_OP_OPENAT;
	sqe->fd = -100;
	sqe->addr = (uintptr_t) "/dev/null";
	assert_int_equal(loop_run(restricted), 0);
	assert_int_equal(nop_result, 0);
	assert_int_equal(openat_result, -EACCES);
	loop_free(restricted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wheel),
		cmocka_unit_test(test_mail),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_restrictions),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
