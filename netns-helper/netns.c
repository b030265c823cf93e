/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netns.c – see netns.h. #syscalls: openat setns unshare ioctl fstat getsockopt */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/netns.h"

#include "base/cleanup.h"
#include "base/log.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static const char netns_own[] = "/proc/self/ns/net";

int netns_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int netns_return(int own)
{
	if (setns(own, CLONE_NEWNET) < 0) {
		log_errno(-errno, "cannot return to the own network namespace");
		_exit(1);
	}
	return 0;
}

int netns_new(void)
{
	_cleanup_close_ int own = netns_open(netns_own);
	int fd;

	if (own < 0)
		return own;
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = netns_open(netns_own);
	(void)netns_return(own); /* does not come back without having succeeded */
	return fd;
}

static int netns_identify(int fd, struct netns_identity *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct netns_identity){st.st_dev, st.st_ino};
	return 0;
}

bool netns_same(const struct netns_identity *a, const struct netns_identity *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

int netns_verify(int fd, struct fault *fault, struct netns_identity *ret)
{
	_cleanup_close_ int own = netns_open(netns_own);
	struct netns_identity mine = {0}, theirs = {0};
	int r;

	if (own < 0)
		return fault_set(fault, own, "cannot open %s", netns_own);
	if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET)
		return fault_set(fault, -EINVAL,
			"--netns: not a network namespace: give /run/netns/NAME, "
			"/proc/PID/ns/net, or `new`");
	r = netns_identify(fd, &theirs);
	if (r == 0)
		r = netns_identify(own, &mine);
	if (r < 0)
		return fault_set(fault, r, "--netns: cannot be identified");
	if (netns_same(&mine, &theirs))
		return fault_set(fault, -EINVAL,
			"--netns: is the helper's own network namespace, in which the host is: "
			"make another "
			"(ip netns add NAME), or give `new`");
	*ret = theirs;
	return 0;
}

int netns_within(int fd, int (*work)(void *arg), void *arg)
{
	_cleanup_close_ int own = netns_open(netns_own);
	int r;

	if (own < 0)
		return own;
	if (setns(fd, CLONE_NEWNET) < 0)
		return -errno;
	r = work(arg);
	(void)netns_return(own); /* does not come back without having succeeded */
	return r;
}

int netns_cookie(int sock, uint64_t *ret)
{
	uint64_t cookie;
	socklen_t n = sizeof(cookie);

	if (getsockopt(sock, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &n) < 0)
		return -errno;
	*ret = cookie;
	return 0;
}
