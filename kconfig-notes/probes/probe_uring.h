/* SPDX-License-Identifier: Apache-2.0 */
/* probe_uring.h – a ring as a worker of the daemon has it, made by a process without privileges. */
#ifndef SALLYPORT_PROBE_URING_H
#define SALLYPORT_PROBE_URING_H

#include <liburing.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "probe.h"

static inline void probe_drop(void)
{
	probe_need(geteuid() != 0 || (setresgid(65534, 65534, 65534) == 0 &&
					     setresuid(65534, 65534, 65534) == 0),
		"dropping privileges");
	probe_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
}

static inline void probe_ring(struct io_uring *ring, unsigned extra)
{
	int r = io_uring_queue_init(
		8, ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | extra);

	errno = -r;
	probe_need(r == 0, "io_uring_setup(SINGLE_ISSUER | DEFER_TASKRUN)");
}

/* The result of the next completion; its flags in *ret_flags. Waits up to two seconds. */
static inline int probe_next(struct io_uring *ring, unsigned *ret_flags)
{
	struct __kernel_timespec limit = {.tv_sec = 2};
	struct io_uring_cqe *cqe = NULL;
	int r = io_uring_wait_cqe_timeout(ring, &cqe, &limit);

	if (r < 0)
		return r;
	r = cqe->res;
	*ret_flags = cqe->flags;
	io_uring_cqe_seen(ring, cqe);
	return r;
}

#endif
