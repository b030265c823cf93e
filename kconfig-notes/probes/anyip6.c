/* SPDX-License-Identifier: Apache-2.0 */
/* anyip6.c – a local default route on lo makes every IPv6 address local. Without it sandboxes have
 * IPv4 alone. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "probe.h"

int main(void)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6};
	socklen_t n = sizeof(at);
	int us, client;

	probe_begin("anyip6");
	probe_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	if (access("/proc/sys/net/ipv6", F_OK) < 0)
		probe_skipped("the kernel has no IPv6");
	if (system("ip link set lo up && ip addr add 2001:db8:53::1/128 dev lo nodad && ip -6 "
		   "route add local default dev lo src 2001:db8:53::1 table local") != 0)
		probe_skipped("the AnyIP route (ip -6 route add local default dev lo)");
	us = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	probe_need(us >= 0 && bind(us, (struct sockaddr *)&at, sizeof(at)) == 0 &&
			   listen(us, 1) == 0 && getsockname(us, (struct sockaddr *)&at, &n) == 0,
		"a listener");
	client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	probe_need(inet_pton(AF_INET6, "2001:db8:7::7", &at.sin6_addr) == 1 &&
			   connect(client, (struct sockaddr *)&at, sizeof(at)) == 0,
		"connect() to an address of the world");
	probe_ok();
}
