/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ip_rules.c – a rule by mark, placed ahead of the local table, chooses another routing table, in
 * both families where there is IPv6.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "probe.h"

#define RULES(family)                                                                              \
	"ip " family " rule add pref 1 lookup local && ip " family                                 \
	" rule del pref 0 lookup local && ip " family                                              \
	" rule add pref 0 fwmark 0x5a11 lookup 99 && ip " family                                   \
	" route add prohibit default table 99"

/* The errno of a datagram socket's connect(), which only looks up a route. */
static int route(int family, uint32_t mark)
{
	struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
	const void *to = family == AF_INET ? (const void *)&to4 : &to6;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

	to4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to6.sin6_addr = in6addr_loopback;
	probe_need(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) == 0,
		"SO_MARK");
	r = connect(fd, to, family == AF_INET ? sizeof(to4) : sizeof(to6)) < 0 ? errno : 0;
	(void)close(fd);
	return r;
}

static void family(int which, const char *rules, const char *name)
{
	int plain, marked;

	probe_need(system(rules) == 0, name);
	plain = route(which, 0);
	marked = route(which, 0x5a11);
	if (plain != 0 || marked != EACCES)
		probe_missing("%s: without the mark errno %d (not 0), with it %d (not %d)", name,
			plain, marked, EACCES);
}

int main(void)
{
	probe_begin("ip_rules");
	probe_enter_anyip();
	family(AF_INET, RULES("-4"), "IPv4 rules (ip rule)");
	if (access("/proc/sys/net/ipv6", F_OK) == 0)
		family(AF_INET6, RULES("-6"), "IPv6 rules (ip -6 rule)");
	probe_ok();
}
