/* SPDX-License-Identifier: Apache-2.0 */
/* fdpass.c – see fdpass.h. #syscalls: sendmsg recvmsg close */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fdpass.h"

union fdpass_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

int fdpass_send(int sock, const void *bytes, size_t n, const int *fds, size_t nfds)
{
	union fdpass_control control = {0};
	struct iovec iov = {(void *)bytes, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (nfds > FDPASS_MAX)
		return -EINVAL;
	if (nfds) {
		struct cmsghdr *c;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		sent = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == n ? 0 : -EMSGSIZE;
}

long fdpass_recv(int sock, void *bytes, size_t n, int *fds, size_t *nfds)
{
	union fdpass_control control = {0};
	struct iovec iov = {bytes, n};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	size_t max = *nfds, got = 0;
	int cut;
	ssize_t r;

	*nfds = 0;
	do
		r = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	cut = m.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		size_t count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (got < max && !cut) {
				fds[got++] = fd;
			} else {
				(void)close(fd);
				cut = 1;
			}
		}
	}
	if (cut ||
		r == 0) { /* an empty message reads as the end, where nobody looks for descriptors */
		while (got)
			(void)close(fds[--got]);
		return cut ? -EMSGSIZE : 0;
	}
	*nfds = got;
	return r;
}
