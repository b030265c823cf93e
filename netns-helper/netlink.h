/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netlink.h – one question to the kernel by netlink that is answered with a list. In the calling thread's namespace. */
#ifndef SALLYPORT_NETNS_HELPER_NETLINK_H
#define SALLYPORT_NETNS_HELPER_NETLINK_H

#include <libmnl/libmnl.h>

/*
 * Sends the request on that bus (NETLINK_…) as a dump and gives each answer to `each`. 0 or -errno; -EINTR: the list
 * changed while it was told.
 */
int netlink_dump(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg);

#endif
