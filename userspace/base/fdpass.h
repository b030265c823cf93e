/* SPDX-License-Identifier: Apache-2.0 */
/* fdpass.h – one message with descriptors over a unix SOCK_SEQPACKET socket (unix(7), SCM_RIGHTS). */
#ifndef SALLYPORT_FDPASS_H
#define SALLYPORT_FDPASS_H

#include <stddef.h>

enum { FDPASS_MAX = 64 };

/* Sends the bytes and copies of the descriptors as one message. 0 or -errno; the descriptors stay the caller's. */
int fdpass_send(int sock, const void *bytes, size_t n, const int *fds, size_t nfds);

/*
 * Receives one message into at most n bytes and *nfds descriptors (close-on-exec, the caller's to close). Returns its
 * length, 0 at the end of the stream, -EAGAIN, -EMSGSIZE when bytes or descriptors were cut off (all received
 * descriptors are closed then), or another -errno. *nfds is set to the count received, 0 on failure. A message without
 * bytes counts as the end; descriptors in it are closed.
 */
long fdpass_recv(int sock, void *bytes, size_t n, int *fds, size_t *nfds);

#endif
