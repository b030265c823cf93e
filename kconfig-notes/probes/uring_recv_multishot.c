/* SPDX-License-Identifier: Apache-2.0 */
/* uring_recv_multishot.c – one receive posts many completions, each with a buffer out of a ring of
 * provided buffers. */
#include "probe_uring.h"

enum { BUFFERS = 4, SIZE = 64, GROUP = 7 };

int main(void)
{
	static char memory[BUFFERS][SIZE];
	struct io_uring_buf_reg reg = {.ring_entries = BUFFERS, .bgid = GROUP};
	struct io_uring_buf_ring *buffers = NULL;
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	unsigned flags = 0;
	int pair[2];

	probe_begin("uring_recv_multishot");
	probe_drop();
	probe_ring(&ring, 0);
	probe_need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	probe_need(
		posix_memalign((void **)&buffers, 4096, BUFFERS * sizeof(struct io_uring_buf)) == 0,
		"memory");
	reg.ring_addr = (unsigned long)buffers;
	probe_need(io_uring_register_buf_ring(&ring, &reg, 0) == 0, "IORING_REGISTER_PBUF_RING");
	io_uring_buf_ring_init(buffers);
	for (int i = 0; i < BUFFERS; i++)
		io_uring_buf_ring_add(buffers, memory[i], SIZE, (unsigned short)i,
			io_uring_buf_ring_mask(BUFFERS), i);
	io_uring_buf_ring_advance(buffers, BUFFERS);
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_recv_multishot(sqe, pair[0], NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	probe_need(io_uring_submit(&ring) == 1, "io_uring_enter");
	for (int i = 0; i < 2; i++) {
		probe_need(write(pair[1], "hello", 5) == 5, "write");
		if (probe_next(&ring, &flags) != 5)
			probe_missing("completion %d did not bring 5 bytes", i + 1);
		if (!(flags & IORING_CQE_F_BUFFER) || !(flags & IORING_CQE_F_MORE))
			probe_missing(
				"completion %d has flags %x: no buffer, or the last", i + 1, flags);
		if (memcmp(memory[flags >> IORING_CQE_BUFFER_SHIFT], "hello", 5) != 0)
			probe_missing("the bytes are not in the buffer that was named");
	}
	probe_ok();
}
