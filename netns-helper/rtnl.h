/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rtnl.h – one request to NETLINK_ROUTE in the calling thread's network namespace. */
#ifndef SALLYPORT_RTNL_H
#define SALLYPORT_RTNL_H

#include <stddef.h>

struct nlmsghdr;

enum {
	RTNL_BUFFER = 8192, /* of a request, and of each answer */
};

/*
 * Sends one request (its sequence number is set here) and calls `each`, a callback of libmnl, on
 * every message of the answer until the acknowledgement or the end of the dump. 0 or -errno.
 */
int rtnl_talk(struct nlmsghdr *request, int (*each)(const struct nlmsghdr *message, void *arg),
	void *arg);

#endif
