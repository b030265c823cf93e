/* SPDX-License-Identifier: Apache-2.0 */
/* test_journal.c – the ring between a worker and the control thread: order, places that are kept, losses that are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "audit/event.h"
#include "base/cleanup.h"
#include "proxy/journal.h"

/* The reader's side: events carry a running number in bytes_up, and 1 in bytes_down when they had a place. */
struct reader {
	unsigned held;
	struct journal j;
	struct loop *loop; /* to be stopped by the last event; NULL in tests of one thread */
	uint64_t events, reserved, lost, told; /* told: calls of lost */
	uint64_t next; /* the lowest number that may come */
	bool disordered, torn;
};

static void reader_read(void *arg, const struct audit_event *e)
{
	struct reader *r = arg;

	r->disordered |= e->bytes_up < r->next;
	r->next = e->bytes_up + 1;
	r->torn |= e->duration_ms != ~e->bytes_up; /* the record's ends belong together */
	r->events++;
	r->reserved += e->bytes_down;
	if (r->loop && e->kind == AUDIT_NOTICE)
		loop_stop(r->loop);
}

static void reader_lost(void *arg, uint64_t n)
{
	struct reader *r = arg;

	r->lost += n;
	r->told++;
}

static void reader_init(struct reader *r, struct loop *from, struct loop *to)
{
	*r = (struct reader){.j = {.read = reader_read, .lost = reader_lost, .arg = r}};
	assert_int_equal(journal_init(&r->j, from, to), 0);
}

static void write_event(struct reader *r, enum audit_kind kind, uint64_t number, bool reserved)
{
	struct audit_event e = {
		.kind = kind,
		.bytes_up = number,
		.bytes_down = reserved,
		.duration_ms = ~number,
	};

	journal_write(&r->j, &e, reserved ? &r->held : NULL);
	memset(&e, 0xee, sizeof(e)); /* it was copied */
}

static struct loop *new_loop(void)
{
	const struct loop_setup setup = {.entries = 64};
	struct loop *l;

	assert_int_equal(loop_new(&setup, &l), 0);
	return l;
}

/* ---- one thread: the bell rings in a loop that never runs, and the test drains */

static struct loop *idle_from, *idle_to;

static int set_up(void **state)
{
	(void)state;
	idle_from = new_loop();
	idle_to = new_loop();
	return loop_enable(idle_from) < 0 || loop_enable(idle_to) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	loop_free(idle_from);
	loop_free(idle_to);
	return 0;
}

static void test_order(void **state)
{
	uint64_t number = 0;
	struct reader r;

	(void)state;
	reader_init(&r, idle_from, idle_to);
	journal_drain(&r.j);
	assert_int_equal(r.events, 0);
	for (unsigned round = 1; round < JOURNAL_SIZE;
		round += 17) { /* many times round the ring */
		for (unsigned i = 0; i < round; i++)
			write_event(&r, AUDIT_REQUEST, number++, false);
		journal_drain(&r.j);
		assert_int_equal(r.events, number);
		assert_int_equal(r.next, number);
	}
	assert_false(r.disordered || r.torn);
	assert_int_equal(r.told, 0);
	journal_done(&r.j);
}

static void test_full(void **state)
{
	struct reader r;

	(void)state;
	reader_init(&r, idle_from, idle_to);
	for (unsigned i = 0; i < JOURNAL_SIZE + 5; i++)
		write_event(&r, AUDIT_REQUEST, i, false);
	assert_false(journal_reserve(&r.j, &r.held));
	journal_drain(&r.j);
	assert_int_equal(r.events, JOURNAL_SIZE);
	assert_int_equal(r.next, JOURNAL_SIZE); /* the newest are refused */
	assert_int_equal(r.lost, 5);
	assert_int_equal(r.told, 1);
	journal_drain(&r.j);
	assert_int_equal(r.told, 1); /* told once */
	write_event(&r, AUDIT_REQUEST, 1000, false);
	journal_drain(&r.j);
	assert_int_equal(r.events, JOURNAL_SIZE + 1);
	assert_int_equal(r.lost, 5);
	journal_done(&r.j);
}

/* A place that is kept is nobody else's, however full the ring. */
static void test_reservation(void **state)
{
	enum { KEPT = 3 };
	struct reader r;
	unsigned other = 0;

	(void)state;
	reader_init(&r, idle_from, idle_to);
	for (unsigned i = 0; i < KEPT; i++)
		assert_true(journal_reserve(&r.j, &r.held));
	for (unsigned i = 0; i < JOURNAL_SIZE; i++)
		write_event(&r, AUDIT_REQUEST, i, false);
	assert_false(journal_reserve(&r.j, &r.held));
	journal_release(&r.j, &r.held); /* given back: one more fits, and only one */
	write_event(&r, AUDIT_REQUEST, 2 * JOURNAL_SIZE, false);
	write_event(&r, AUDIT_REQUEST, 2 * JOURNAL_SIZE + 1, false);
	for (unsigned i = 1; i < KEPT; i++)
		write_event(&r, AUDIT_REQUEST, 3 * JOURNAL_SIZE + i, true);
	journal_drain(&r.j);
	assert_int_equal(r.events, JOURNAL_SIZE);
	assert_int_equal(r.reserved, KEPT - 1);
	assert_int_equal(r.lost, KEPT + 1);
	assert_false(r.disordered || r.torn);
	/* a sandbox has its share, all of them together JOURNAL_KEPT, and events that wait for nobody the rest */
	assert_int_equal(r.held, 0);
	for (unsigned i = 0; i < JOURNAL_SHARE; i++)
		assert_true(journal_reserve(&r.j, &r.held));
	assert_false(journal_reserve(&r.j, &r.held));
	for (unsigned i = JOURNAL_SHARE; i < JOURNAL_KEPT; i++) {
		if (i % JOURNAL_SHARE == 0)
			other = 0;
		assert_true(journal_reserve(&r.j, &other));
	}
	other = 0;
	assert_false(journal_reserve(&r.j, &other));
	write_event(&r, AUDIT_REQUEST, 4 * JOURNAL_SIZE, false);
	journal_drain(&r.j);
	assert_int_equal(r.lost, KEPT + 1);
	journal_done(&r.j);
}

/* Within one loop the bell is a plain call. */
static void test_same_loop(void **state)
{
	struct reader r;

	(void)state;
	reader_init(&r, idle_to, idle_to);
	for (unsigned i = 0; i < 3 * JOURNAL_SIZE; i++) {
		write_event(&r, AUDIT_REQUEST, i, false);
		assert_int_equal(r.events, i + 1);
	}
	assert_int_equal(r.told, 0);
	journal_done(&r.j);
}

/* ---- two threads: bursts that are now and then longer than the ring */

enum { BURSTS = 120, LONGEST = 2 * JOURNAL_SIZE };

struct writer {
	struct timer timer;
	struct loop *loop;
	struct reader *reader;
	unsigned burst;
	uint64_t written, reserved;
};

static void writer_burst(struct timer *t)
{
	struct writer *w = container_of(t, struct writer, timer);
	unsigned n = w->burst % 8 ? w->burst % 8 * 10 : LONGEST;

	for (unsigned i = 0; i < n; i++) {
		bool kept = i % 3 == 0 && journal_reserve(&w->reader->j, &w->reader->held);

		write_event(w->reader, AUDIT_REQUEST, w->written++, kept);
		w->reserved += kept;
	}
	if (++w->burst < BURSTS) {
		timer_start(w->loop, t, 1);
		return;
	}
	if (!journal_reserve(&w->reader->j,
		    &w->reader->held)) { /* the last one must arrive: when there is room */
		w->burst--;
		timer_start(w->loop, t, 1);
		return;
	}
	write_event(w->reader, AUDIT_NOTICE, w->written++, true);
	w->reserved++;
	loop_stop(w->loop);
}

static void *run(void *loop)
{
	return (void *)(intptr_t)(loop_enable(loop) < 0 || loop_run(loop) < 0);
}

static void test_two_threads(void **state)
{
	struct loop *from = new_loop(), *to = new_loop();
	struct writer w = {.loop = from, .timer = {.fire = writer_burst}};
	struct reader r;
	pthread_t threads[2];
	void *failed[2];

	(void)state;
	reader_init(&r, from, to);
	r.loop = to;
	w.reader = &r;
	timer_start(from, &w.timer, 30);
	assert_int_equal(pthread_create(&threads[0], NULL, run, to), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, run, from), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[1 - i], &failed[i]), 0);
	assert_true(!failed[0] && !failed[1]);
	journal_drain(&r.j); /* what was lost behind the last look */
	assert_int_equal(r.events + r.lost, w.written);
	assert_int_equal(r.reserved, w.reserved);
	assert_int_equal(r.next, w.written);
	assert_false(r.disordered || r.torn);
	journal_done(&r.j);
	loop_free(from);
	loop_free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_reservation),
		cmocka_unit_test(test_same_loop),
		cmocka_unit_test(test_two_threads),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
