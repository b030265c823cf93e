/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.c – see listener.h.
 *
 * The listeners are bound to a loopback address that nobody asks for; sk_lookup, or tproxy, hands them connections to
 * every other one, and getsockname() then is what was asked. Both pass loopback destinations by, except port 53, so
 * another loopback destination means that somebody found the listener's own address.
 */
#include <errno.h>
#include <sys/socket.h>

#include "capture/flows.h"
#include "capture/listener.h"

enum { LISTENER_DNS = 53 };

static bool listener_loopback(const struct addr *a)
{
	static const uint8_t one[16] = {[15] = 1};
	struct addr loop6 = {.port = 0};

	__builtin_memcpy(loop6.ip, one, sizeof(one));
	return (addr_is_v4(a) && a->ip[12] == 127) || addr_same_ip(a, &loop6);
}

int listener_captured(int fd, const struct flows *flows, struct captured *ret)
{
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);
	int r;

	if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
		return -errno;
	r = addr_from_sockaddr((struct sockaddr *)&sa, n, &ret->asked);
	if (r < 0)
		return r;
	/* as getpeername(), also when the client has reset it already; n is that of the family */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &sa, &n) < 0)
		return -errno;
	r = addr_from_sockaddr((struct sockaddr *)&sa, n, &ret->peer);
	if (r < 0)
		return r;
	ret->attributed =
		flows->live >= 0 && flows_find(flows, &ret->peer, &ret->asked, &ret->client) == 0;
	if (listener_loopback(&ret->asked) && ret->asked.port != LISTENER_DNS)
		return -ELOOP;
	return 0;
}
