/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts.c – see hosts.h. What rtnetlink says is only that something changed: everything is then read
 * anew, by another socket, so that a change that was lost (ENOBUFS) needs no path of its own.
 * A burst of changes is one reading. A reading that fails leaves the list as it was and is told to
 * `changed` by h->failed.
 *
 * Left out are the loopback addresses, which mean the sandbox itself when they are asked for inside,
 * and fe80::/10: refused as a class, and each veth of a container host has one.
 *
 * #syscalls: socket bind setsockopt sendto recvmsg close
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "netns-helper/hosts.h"
#include "netns-helper/netlink.h"

#include "base/cleanup.h"

enum { HOSTS_BUFFER = 32768, HOSTS_RCVBUF = 1 << 20, HOSTS_TRIES = 8 };

static const uint8_t hosts_mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool hosts_wanted(const uint8_t ip[16])
{
	static const uint8_t loopback6[16] = {[15] = 1};

	if (memcmp(ip, hosts_mapped, sizeof(hosts_mapped)) == 0)
		return ip[12] != 127;
	return memcmp(ip, loopback6, sizeof(loopback6)) != 0 &&
	       !(ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80);
}

static void hosts_add(struct hosts_list *list, const uint8_t ip[16])
{
	size_t at = 0;
	int order = 1;

	while (at < list->n && (order = memcmp(ip, list->ip[at], 16)) > 0)
		at++;
	if (at < list->n && order == 0)
		return;
	if (list->n == CAPTURE_HOSTS) {
		list->cut = true;
		return;
	}
	memmove(list->ip[at + 1], list->ip[at], (list->n - at) * sizeof(list->ip[0]));
	memcpy(list->ip[at], ip, sizeof(list->ip[0]));
	list->n++;
}

/* Of a point-to-point link IFA_ADDRESS is the other end's; without IFA_LOCAL it is our own. */
static int hosts_each(const struct nlmsghdr *message, void *arg)
{
	const struct ifaddrmsg *address = mnl_nlmsg_get_payload(message);
	const struct nlattr *attr, *own = NULL;
	uint8_t ip[16];

	if (message->nlmsg_type != RTM_NEWADDR)
		return MNL_CB_OK;
	mnl_attr_for_each(attr, message, sizeof(*address))
	{
		if (mnl_attr_get_type(attr) == IFA_LOCAL ||
			(mnl_attr_get_type(attr) == IFA_ADDRESS && !own))
			own = attr;
	}
	if (own && address->ifa_family == AF_INET && mnl_attr_get_payload_len(own) == 4) {
		memcpy(ip, hosts_mapped, sizeof(hosts_mapped));
		memcpy(ip + sizeof(hosts_mapped), mnl_attr_get_payload(own), 4);
	} else if (own && address->ifa_family == AF_INET6 && mnl_attr_get_payload_len(own) == 16) {
		memcpy(ip, mnl_attr_get_payload(own), sizeof(ip));
	} else {
		return MNL_CB_OK;
	}
	if (hosts_wanted(ip))
		hosts_add(arg, ip);
	return MNL_CB_OK;
}

static int hosts_dump(struct hosts_list *list)
{
	char bytes[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct ifaddrmsg *address;

	request->nlmsg_type = RTM_GETADDR;
	address = mnl_nlmsg_put_extra_header(request, sizeof(*address));
	address->ifa_family = AF_UNSPEC;
	return netlink_dump(NETLINK_ROUTE, request, hosts_each, list);
}

/* The kernel flags a dump that was overtaken by a change: once more. */
static int hosts_read(struct hosts_list *list)
{
	int r = -EINTR;

	for (int tries = 0; r == -EINTR && tries < HOSTS_TRIES; tries++) {
		*list = (struct hosts_list){.n = 0};
		r = hosts_dump(list);
	}
	return r;
}

static void hosts_renew(struct hosts *h)
{
	struct hosts_list *now = malloc(sizeof(*now));
	int r = now ? hosts_read(now) : -ENOMEM;
	bool news = r != h->failed;

	h->failed = r;
	if (r == 0 && (now->n != h->list.n || now->cut != h->list.cut ||
			      memcmp(now->ip, h->list.ip, now->n * sizeof(now->ip[0])) != 0)) {
		h->list = *now;
		news = true;
	}
	free(now);
	if (news)
		h->changed(h);
}

static void hosts_ready(struct loop_source *source, uint32_t events)
{
	struct hosts *h = container_of(source, struct hosts, source);
	char bytes[HOSTS_BUFFER];

	(void)events; /* only readiness is watched; what was lost is read anew as well */
	while (recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0 || errno == ENOBUFS)
		continue;
	hosts_renew(h);
}

int hosts_open(struct hosts *h, struct loop *loop, void (*changed)(struct hosts *hosts),
	struct fault *fault)
{
	const int room = HOSTS_RCVBUF;
	int r;

	*h = (struct hosts){.loop = loop, .source = {-1, hosts_ready}, .changed = changed};
	h->events = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!h->events)
		return fault_set(fault, -errno, "no rtnetlink: %s", strerror(errno));
	h->source.fd = mnl_socket_get_fd(h->events);
	/* what does not fit is told as ENOBUFS, and read anew */
	(void)setsockopt(h->source.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	r = mnl_socket_bind(
		    h->events, RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, MNL_SOCKET_AUTOPID) < 0
		    ? -errno
		    : loop_watch(loop, &h->source, EPOLLIN);
	if (r == 0)
		r = hosts_read(&h->list); /* after the watch: nothing is missed in between */
	if (r < 0) {
		hosts_close(h);
		return fault_set(fault, r, "cannot read the host's addresses: %s", strerror(-r));
	}
	return 0;
}

void hosts_close(struct hosts *h)
{
	if (!h->events)
		return;
	loop_forget(h->loop, &h->source);
	(void)mnl_socket_close(h->events); /* nothing is pending */
	h->events = NULL;
	h->source.fd = -1;
}
