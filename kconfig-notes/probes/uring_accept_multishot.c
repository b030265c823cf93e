/* SPDX-License-Identifier: Apache-2.0 */
/* uring_accept_multishot.c – one accept posts a completion for each connection. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "probe_uring.h"

int main(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof(at);
	struct io_uring ring;
	unsigned flags = 0;
	int us;

	probe_begin("uring_accept_multishot");
	probe_enter_loopback();
	us = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	probe_need(bind(us, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(us, 8) == 0 &&
			   getsockname(us, (struct sockaddr *)&at, &n) == 0,
		"a listener");
	probe_drop();
	probe_ring(&ring, 0);
	io_uring_prep_multishot_accept(io_uring_get_sqe(&ring), us, NULL, NULL, 0);
	probe_need(io_uring_submit(&ring) == 1, "io_uring_enter");
	for (int i = 0; i < 2; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

		probe_need(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
		r = probe_next(&ring, &flags);
		if (r < 0 || !(flags & IORING_CQE_F_MORE))
			probe_missing("completion %d: result %d, flags %x", i + 1, r, flags);
	}
	probe_ok();
}
