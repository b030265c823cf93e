/* SPDX-License-Identifier: Apache-2.0 */
/* uring_setup.c – SINGLE_ISSUER and DEFER_TASKRUN, without privileges, and a no-op through the
 * ring. */
#include "probe_uring.h"

int main(void)
{
	struct io_uring ring;
	unsigned flags;

	probe_begin("uring_setup");
	probe_drop();
	probe_ring(&ring, 0);
	io_uring_prep_nop(io_uring_get_sqe(&ring));
	probe_need(io_uring_submit(&ring) == 1, "io_uring_enter");
	if (probe_next(&ring, &flags) != 0)
		probe_missing("a no-op did not complete");
	probe_ok();
}
