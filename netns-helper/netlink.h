/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netlink.h – one request to the kernel by netlink, on a socket of its own. In the calling thread's network namespace. */
#ifndef SALLYPORT_NETNS_HELPER_NETLINK_H
#define SALLYPORT_NETNS_HELPER_NETLINK_H

#include <libmnl/libmnl.h>

enum { NETLINK_REQUEST = 8192 /* room for a request */ };

/*
 * Sends one request on that bus (NETLINK_…; its sequence number is set here) and gives every message of the answer to
 * `each` (NULL = none is expected) until the acknowledgement or the end of the list. 0 or -errno.
 */
int netlink_talk(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg);

/* The same for a request that is answered with a list. -EINTR: the list changed while it was told. */
int netlink_dump(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg);

#endif
