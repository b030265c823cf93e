/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addresses.c – see addresses.h. The socket that is followed only says that something happened, and
 * also says so when it lost messages: the list is always read anew, by a request of its own.
 * #syscalls: socket bind recvfrom close, and those of netlink.c
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

#include "netns-helper/addresses.h"
#include "netns-helper/netlink.h"

#include "base/cleanup.h"

enum { ADDRESSES_LO = 1 };

static int addresses_each(const struct nlmsghdr *message, void *arg)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct ifaddrmsg *head = mnl_nlmsg_get_payload(message);
	const uint8_t *address = NULL, *local = NULL;
	struct addresses *a = arg;
	const struct nlattr *attr;

	if (head->ifa_index == ADDRESSES_LO ||
		(head->ifa_family != AF_INET && head->ifa_family != AF_INET6))
		return MNL_CB_OK;
	mnl_attr_for_each(attr, message, sizeof(*head))
	{
		if (mnl_attr_get_payload_len(attr) != (head->ifa_family == AF_INET ? 4 : 16))
			continue;
		if (mnl_attr_get_type(attr) ==
			IFA_LOCAL) /* where both are, the other is the peer's */
			local = mnl_attr_get_payload(attr);
		else if (mnl_attr_get_type(attr) == IFA_ADDRESS)
			address = mnl_attr_get_payload(attr);
	}
	address = local ? local : address;
	if (!address)
		return MNL_CB_OK;
	if (a->n == CAPTURE_LOCALS) {
		a->cut = true;
		return MNL_CB_OK;
	}
	if (head->ifa_family == AF_INET) {
		memcpy(a->list[a->n], mapped, sizeof(mapped));
		memcpy(a->list[a->n] + sizeof(mapped), address, 4);
	} else {
		memcpy(a->list[a->n], address, 16);
	}
	a->n++;
	return MNL_CB_OK;
}

int addresses_read(struct addresses *a)
{
	char bytes[NETLINK_REQUEST];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct addresses now = {.fd = a->fd};
	struct ifaddrmsg *head;
	bool same;
	int r;

	request->nlmsg_type = RTM_GETADDR;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->ifa_family = AF_UNSPEC;
	r = netlink_talk(NETLINK_ROUTE, request, addresses_each, &now);
	if (r < 0)
		return r;
	same = now.n == a->n && now.cut == a->cut &&
	       memcmp(now.list, a->list, sizeof(now.list)) == 0;
	*a = now;
	return same ? 0 : 1;
}

int addresses_open(struct addresses *ret)
{
	const struct sockaddr_nl groups = {
		.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	_cleanup_close_ int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	struct addresses a = {.fd = -1};
	int r;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&groups, sizeof(groups)) < 0)
		return -errno;
	r = addresses_read(&a);
	if (r < 0)
		return r;
	a.fd = TAKE_FD(fd);
	*ret = a;
	return 0;
}

bool addresses_changed(struct addresses *a)
{
	char bytes[NETLINK_REQUEST];
	bool any = false;
	ssize_t n;

	do {
		n = recv(a->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
		any = any || n >= 0 || errno == ENOBUFS;
	} while (n >= 0 || errno == EINTR || errno == ENOBUFS);
	return any;
}

void addresses_close(struct addresses *a)
{
	cleanup_close(&a->fd);
	a->fd = -1;
}
