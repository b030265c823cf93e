/* SPDX-License-Identifier: Apache-2.0 */
/* transparent.c – sockets of both families may be bound to addresses that are not here (IP_TRANSPARENT,
 * IPV6_TRANSPARENT), as the listeners of the nft lane and the answers of DNS need. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "probe.h"

int main(void)
{
	struct sockaddr_in at4 = {.sin_family = AF_INET};
	struct sockaddr_in6 at6 = {.sin6_family = AF_INET6};
	int fd, on = 1;

	probe_begin("transparent");
	probe_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	at4.sin_addr.s_addr = inet_addr("203.0.113.7");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	probe_need(setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)) == 0 &&
			   bind(fd, (struct sockaddr *)&at4, sizeof(at4)) == 0,
		"IP_TRANSPARENT");
	if (access("/proc/sys/net/ipv6", F_OK) < 0)
		probe_ok();
	probe_need(inet_pton(AF_INET6, "2001:db8:7::7", &at6.sin6_addr) == 1, "an address");
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	probe_need(setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &on, sizeof(on)) == 0 &&
			   bind(fd, (struct sockaddr *)&at6, sizeof(at6)) == 0,
		"IPV6_TRANSPARENT");
	probe_ok();
}
