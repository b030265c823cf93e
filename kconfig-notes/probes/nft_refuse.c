/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_refuse.c – an inet table refuses on INPUT of lo by an interval set: TCP by a reset, connected
 * UDP by port unreachable, both at once. (In OUTPUT a UDP sender would get EPERM.)
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "probe.h"

static int try(int type)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(443)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	to.sin_addr.s_addr = inet_addr("10.1.2.3");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return errno;
	if (send(fd, "x", 1, MSG_NOSIGNAL) < 0 || poll(&p, 1, 2000) != 1)
		return errno ? errno : ETIMEDOUT;
	return recv(fd, &to, sizeof(to), 0) < 0 ? errno : 0;
}

int main(void)
{
	static const char rules[] =
		"table inet probe { set refused { type ipv4_addr; flags interval; elements = { "
		"10.0.0.0/8 } }\n"
		"chain input { type filter hook input priority mangle; policy accept;\n"
		"ip daddr @refused meta l4proto tcp reject with tcp reset\n"
		"ip daddr @refused reject with icmpx type port-unreachable\n"
		"}\n}\n";
	FILE *nft;
	int tcp, udp;

	probe_begin("nft_refuse");
	probe_enter_anyip();
	nft = popen("nft -f -", "we");
	probe_need(nft && fwrite(rules, 1, sizeof(rules) - 1, nft) == sizeof(rules) - 1, "nft");
	if (pclose(nft) != 0)
		probe_missing("the kernel does not take the table");
	tcp = try(SOCK_STREAM);
	errno = 0;
	udp = try(SOCK_DGRAM);
	if (tcp != ECONNREFUSED || udp != ECONNREFUSED)
		probe_missing(
			"TCP: errno %d, UDP: errno %d, both should be %d", tcp, udp, ECONNREFUSED);
	probe_ok();
}
