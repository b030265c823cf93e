/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netlink.c – see netlink.h. #syscalls: socket bind sendto recvmsg close */
#include <errno.h>
#include <sys/socket.h>

#include "netns-helper/netlink.h"

enum { NETLINK_ANSWER = 32768 };

int netlink_talk(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg)
{
	struct mnl_socket *nl = mnl_socket_open2(bus, SOCK_CLOEXEC);
	char answer[NETLINK_ANSWER];
	const unsigned int seq = 1;
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
		r = n < 0 ? MNL_CB_ERROR
			  : mnl_cb_run(
				    answer, (size_t)n, seq, mnl_socket_get_portid(nl), each, arg);
	}
	r = r == MNL_CB_ERROR ? -errno : 0;
	(void)mnl_socket_close(nl); /* nothing is pending */
	return r;
}

int netlink_dump(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg)
{
	request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
	return netlink_talk(bus, request, each, arg);
}
