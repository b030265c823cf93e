/* SPDX-License-Identifier: Apache-2.0 */
/* addr.c – see addr.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "model/addr.h"

static const uint8_t addr_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool addr_is_v4(const struct addr *a)
{
	return memcmp(a->ip, addr_mapped, sizeof(addr_mapped)) == 0;
}

bool addr_same_ip(const struct addr *a, const struct addr *b)
{
	return memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static void addr_set_v4(struct addr *a, const void *four)
{
	memcpy(a->ip, addr_mapped, sizeof(addr_mapped));
	memcpy(a->ip + 12, four, 4);
}

int addr_from_sockaddr(const struct sockaddr *sa, socklen_t n, struct addr *ret)
{
	if (n >= sizeof(struct sockaddr_in) && sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

		addr_set_v4(ret, &in->sin_addr);
		ret->port = ntohs(in->sin_port);
		return 0;
	}
	if (n >= sizeof(struct sockaddr_in6) && sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)sa;

		memcpy(ret->ip, &in->sin6_addr, 16);
		ret->port = ntohs(in->sin6_port);
		return 0;
	}
	return -EAFNOSUPPORT;
}

socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (addr_is_v4(a)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret;

		in->sin_family = AF_INET;
		in->sin_port = htons(a->port);
		memcpy(&in->sin_addr, a->ip + 12, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(a->port);
	memcpy(&in6->sin6_addr, a->ip, 16);
	return sizeof(*in6);
}

int addr_parse(struct slice text, struct addr *ret)
{
	char z[INET6_ADDRSTRLEN];
	struct addr a = {0};

	if (text.n == 0 || text.n >= sizeof(z) || memchr(text.p, '\0', text.n))
		return -EINVAL;
	memcpy(z, text.p, text.n);
	z[text.n] = '\0';
	if (memchr(z, ':', text.n)) {
		if (inet_pton(AF_INET6, z, a.ip) != 1)
			return -EINVAL;
	} else {
		uint8_t four[4];

		/* glibc's inet_pton takes four decimal parts and refuses leading zeros */
		if (inet_pton(AF_INET, z, four) != 1)
			return -EINVAL;
		addr_set_v4(&a, four);
	}
	*ret = a;
	return 0;
}

void addr_text(const struct addr *a, char ret[ADDR_TEXT])
{
	const char *done = addr_is_v4(a) ? inet_ntop(AF_INET, a->ip + 12, ret, ADDR_TEXT)
					 : inet_ntop(AF_INET6, a->ip, ret, ADDR_TEXT);

	if (!done)
		ret[0] = '\0'; /* cannot be: the buffer holds the longest form */
}

void addr_port_text(const struct addr *a, char ret[ADDR_TEXT])
{
	char ip[ADDR_TEXT];

	addr_text(a, ip);
	(void)snprintf(ret, ADDR_TEXT, addr_is_v4(a) ? "%.45s:%u" : "[%.45s]:%u", ip, a->port);
}
