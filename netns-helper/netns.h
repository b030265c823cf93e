/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netns.h – a network namespace: opened, checked, entered for a moment, told apart. */
#ifndef SALLYPORT_NETNS_H
#define SALLYPORT_NETNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

/* What tells two namespaces apart, whichever path or descriptor leads to them. */
struct netns_identity {
	dev_t dev;
	ino_t ino;
};

/* Opens the namespace at the path. A descriptor, or -errno. */
int netns_open(const char *path);

/* Makes a new, empty one, in which nobody is; it lives as long as the descriptor. A descriptor, or
 * -errno. */
int netns_new(void);

/* 0 when the descriptor is a network namespace and not the caller's own; ret tells which. -EINVAL,
 * -errno. */
int netns_verify(int fd, struct fault *fault, struct netns_identity *ret);

bool netns_same(const struct netns_identity *a, const struct netns_identity *b);

/*
 * Calls work() inside the namespace and comes back; sockets made there stay there. Returns what
 * work() returned or -errno of the entry. The process must have one thread. If the way back is
 * barred the process ends: it would go on acting in a sandbox's network.
 */
int netns_within(int fd, int (*work)(void *arg), void *arg);

/* The cookie of the namespace that the socket is in (SO_NETNS_COOKIE, Linux 5.14). 0 or -errno. */
int netns_cookie(int sock, uint64_t *ret);

#endif
