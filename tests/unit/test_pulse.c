/* SPDX-License-Identifier: Apache-2.0 */
/* test_pulse.c – the beat moves while all threads live, idle ones too, and stops where one of them began to hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/capture.h"
#include "proxy/pulse.h"
#include "proxy/shared.h"
#include "proxy/worker.h"

enum { HANG = 700 /* milliseconds */ };

static struct shared shared;
static struct worker workers[2];
static pthread_t threads[2];
static struct mail orders[3]; /* one for the hang, one for the end of each worker */
static struct timer clock_timer;
static const volatile struct capture_heartbeat *beats;
static struct pulse pulse;

static int test_memory(void)
{
	int fd = memfd_create("beats", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CAPTURE_BEATS * sizeof(*beats)), 0);
	beats = mmap(NULL, CAPTURE_BEATS * sizeof(*beats), PROT_READ, MAP_SHARED, fd, 0);
	assert_true(beats != MAP_FAILED);
	return fd;
}

static void *run(void *arg)
{
	struct worker *w = arg;

	assert_int_equal(loop_enable(w->loop), 0);
	(void)loop_run(w->loop);
	return NULL;
}

static void stop_fire(struct timer *t)
{
	(void)t;
	loop_stop(shared.control);
}

/* The control thread, for a while. */
static void turn(unsigned ms)
{
	clock_timer.fire = stop_fire;
	timer_start(shared.control, &clock_timer, ms);
	assert_int_equal(loop_run(shared.control), 0);
}

static void hang_deliver(struct mail *m)
{
	(void)m;
	(void)usleep(HANG * 1000);
}

static void end0_deliver(struct mail *m)
{
	(void)m;
	loop_stop(workers[0].loop);
}

static void end1_deliver(struct mail *m)
{
	(void)m;
	loop_stop(workers[1].loop);
}

static uint64_t age(unsigned slot)
{
	return clock_monotonic_ms() - beats[slot].ns / 1000000;
}

static void test_beat(void **state)
{
	const struct loop_setup setup = {.entries = 8};
	uint64_t stood;

	(void)state;
	assert_int_equal(loop_new(&setup, &shared.control), 0);
	assert_int_equal(loop_enable(shared.control), 0);
	shared.nworkers = 2;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(loop_new(&setup, &workers[i].loop), 0);
		shared.workers[i] = &workers[i];
		assert_int_equal(pthread_create(&threads[i], NULL, run, &workers[i]), 0);
	}
	assert_int_equal(pulse_start(&pulse, &shared, test_memory(), 1), 0);
	assert_true(beats[1].ns != 0);
	assert_int_equal(beats[0].ns, 0);
	turn(2 * PULSE_EVERY);
	assert_in_range(age(1), 0, 3 * PULSE_EVERY); /* idle workers are alive */

	orders[0].deliver = hang_deliver;
	loop_post(shared.control, workers[1].loop, &orders[0]);
	turn(HANG - 100);
	stood = beats[1].ns;
	assert_true(loop_busy(workers[1].loop) != 0);
	assert_true(loop_busy(workers[0].loop) == 0);
	assert_in_range(age(1), HANG - 300, 10 * HANG); /* it stands where the worker began */
	turn(HANG + 2 * PULSE_EVERY);
	assert_true(beats[1].ns > stood);
	assert_in_range(age(1), 0, 3 * PULSE_EVERY);

	pulse_die(&pulse);
	assert_int_equal(beats[1].ns, 0);
	turn(2 * PULSE_EVERY);
	assert_int_equal(beats[1].ns, 0);

	orders[1].deliver = end0_deliver;
	orders[2].deliver = end1_deliver;
	for (unsigned i = 0; i < 2; i++)
		loop_post(shared.control, workers[i].loop, &orders[1 + i]);
	turn(50); /* sends them */
	for (unsigned i = 0; i < 2; i++) {
		(void)pthread_join(threads[i], NULL);
		loop_free(workers[i].loop);
	}
	loop_free(shared.control);
}

static void test_bad_slot(void **state)
{
	struct heartbeat h = {0};

	(void)state;
	assert_int_equal(heartbeat_open(&h, test_memory(), CAPTURE_BEATS), -EINVAL);
	assert_null(h.memory);
	heartbeat_put(&h, 1); /* to nobody */
	assert_int_equal(beats[0].ns, 0);
	heartbeat_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beat),
		cmocka_unit_test(test_bad_slot),
	};

	return cmocka_run_group_tests_name("pulse", tests, NULL, NULL);
}
