/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring_restrictions.c – a ring that is made disabled takes a list of permitted operations, which
 * then holds: the daemon's rings cannot do what a seccomp filter would not see (IORING_OP_SOCKET,
 * OPENAT, …).
 */
#include <sys/syscall.h>

#include "probe_uring.h"

/* liburing 2.3 declares these calls and does not export them */
static long registered(int fd, unsigned op, void *arg, unsigned n)
{
	return syscall(__NR_io_uring_register, fd, op, arg, n);
}

int main(void)
{
	struct io_uring_restriction allow[] = {
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP},
		{.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = 0},
	};
	struct io_uring ring;
	unsigned flags;
	int nop, open_;

	probe_begin("uring_restrictions");
	probe_drop();
	probe_ring(&ring, IORING_SETUP_R_DISABLED);
	probe_need(registered(ring.ring_fd, IORING_REGISTER_RESTRICTIONS, allow, 2) == 0,
		"IORING_REGISTER_RESTRICTIONS");
	probe_need(registered(ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) == 0,
		"IORING_REGISTER_ENABLE_RINGS");
	io_uring_prep_nop(io_uring_get_sqe(&ring));
	probe_need(io_uring_submit(&ring) == 1, "io_uring_enter");
	nop = probe_next(&ring, &flags);
	io_uring_prep_openat(io_uring_get_sqe(&ring), -100, "/dev/null", 0, 0);
	probe_need(io_uring_submit(&ring) == 1, "io_uring_enter");
	open_ = probe_next(&ring, &flags);
	if (nop != 0 || open_ != -EACCES)
		probe_missing(
			"a permitted operation gave %d, another %d (not %d)", nop, open_, -EACCES);
	probe_ok();
}
