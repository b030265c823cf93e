/* SPDX-License-Identifier: Apache-2.0 */
/* dial.c – see dial.h. */
#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "upstream/dial.h"

int dial_socket(const struct addr *to)
{
	int one = 1, fd = socket(addr_is_v4(to) ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC,
			     IPPROTO_TCP);

	if (fd < 0)
		return -errno;
	(void)setsockopt(
		fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* slower without, not wrong */
	return fd;
}

void dial_start(
	struct dial *d, struct loop *loop, union ring_ref ref, int fd, const struct addr *to)
{
	struct io_uring_sqe *sqe = loop_sqe(loop, ref);

	d->n = addr_to_sockaddr(to, &d->sa);
	sqe->opcode = IORING_OP_CONNECT;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)&d->sa;
	sqe->off = d->n;
}

bool dial_own(int fd, const struct addr *to)
{
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);
	struct addr own;

	if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0 ||
		addr_from_sockaddr((struct sockaddr *)&sa, n, &own) < 0)
		return true; /* cannot be judged */
	return addr_same_ip(&own, to);
}
