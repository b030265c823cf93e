/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rtnl.c – see rtnl.h. Each request is one message and one acknowledgement, on a socket of its own.
 * #syscalls: socket bind sendto recvmsg close
 */
#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <time.h>

#include <libmnl/libmnl.h>

#include "netns-helper/rtnl.h"

int rtnl_talk(
	struct nlmsghdr *request, int (*each)(const struct nlmsghdr *message, void *arg), void *arg)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	char answer[RTNL_BUFFER];
	unsigned int seq = 1;
	int r = MNL_CB_OK;
	ssize_t n;

	if (!nl)
		return -errno;
	request->nlmsg_seq = seq;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
		mnl_socket_sendto(nl, request, request->nlmsg_len) < 0)
		r = MNL_CB_ERROR;
	while (r == MNL_CB_OK) {
		n = mnl_socket_recvfrom(nl, answer, sizeof(answer));
		if (n < 0)
			r = MNL_CB_ERROR;
		else
			r = mnl_cb_run(
				answer, (size_t)n, seq, mnl_socket_get_portid(nl), each, arg);
	}
	r = r == MNL_CB_ERROR ? -errno : 0;
	(void)mnl_socket_close(nl); /* nothing is pending */
	return r;
}
