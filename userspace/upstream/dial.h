/* SPDX-License-Identifier: Apache-2.0 */
/* dial.h – connects a TCP socket in the daemon's own network namespace, by the ring. What may be dialled is decided before. */
#ifndef SALLYPORT_UPSTREAM_DIAL_H
#define SALLYPORT_UPSTREAM_DIAL_H

#include <stdbool.h>

#include <sys/socket.h>

#include "model/addr.h"
#include "ring/loop.h"

/* The kernel reads the address after the submission: it lives as long as the operation. */
struct dial {
	struct sockaddr_storage sa;
	socklen_t n;
};

/* A new stream socket for the address's family (TCP_NODELAY). A descriptor or -errno. #syscalls: socket setsockopt */
int dial_socket(const struct addr *to);

/* Queues the connect; its completion comes as `ref` with 0 or -errno. */
void dial_start(
	struct dial *d, struct loop *loop, union ring_ref ref, int fd, const struct addr *to);

/* Whether that connected socket's other end is on this host: the kernel then gave it the destination as its source. */
bool dial_own(int fd, const struct addr *to);

#endif
