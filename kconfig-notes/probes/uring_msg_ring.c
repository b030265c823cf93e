/* SPDX-License-Identifier: Apache-2.0 */
/* uring_msg_ring.c – one ring posts a completion into the ring of another thread. */
#include <pthread.h>
#include <stdatomic.h>

#include "probe_uring.h"

static atomic_int target = -1;
static int got = -1;

static void *receive(void *arg)
{
	struct io_uring ring;
	unsigned flags;

	(void)arg;
	probe_ring(&ring, 0);
	atomic_store(&target, ring.ring_fd);
	got = probe_next(&ring, &flags);
	return NULL;
}

int main(void)
{
	struct io_uring ring;
	unsigned flags;
	pthread_t thread;
	int fd, r;

	probe_begin("uring_msg_ring");
	probe_drop();
	probe_ring(&ring, 0);
	probe_need(pthread_create(&thread, NULL, receive, NULL) == 0, "a thread");
	while ((fd = atomic_load(&target)) < 0)
		(void)sched_yield();
	io_uring_prep_msg_ring(io_uring_get_sqe(&ring), fd, 42, 7, 0);
	probe_need(io_uring_submit(&ring) == 1, "io_uring_enter");
	r = probe_next(&ring, &flags);
	(void)pthread_join(thread, NULL);
	if (r != 0 || got != 42)
		probe_missing("MSG_RING gave %d, the other ring got %d", r, got);
	probe_ok();
}
