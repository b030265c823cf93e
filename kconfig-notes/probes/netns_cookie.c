/* SPDX-License-Identifier: Apache-2.0 */
/* netns_cookie.c – getsockopt(SO_NETNS_COOKIE) names a network namespace, and two have different
 * names. */
#include <stdint.h>
#include <sys/socket.h>

#include "probe.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static uint64_t cookie(void)
{
	uint64_t value = 0;
	socklen_t n = sizeof(value);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	probe_need(fd >= 0, "socket");
	probe_need(getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &value, &n) == 0, "SO_NETNS_COOKIE");
	(void)close(fd);
	return value;
}

int main(void)
{
	uint64_t first;

	probe_begin("netns_cookie");
	first = cookie();
	probe_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	if (first == 0 || cookie() == first)
		probe_missing("the cookie does not tell namespaces apart");
	probe_ok();
}
