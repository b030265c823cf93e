/* SPDX-License-Identifier: Apache-2.0 */
/* fastopen.c – payload in the SYN, and MPTCP: connects that are no connect(). */
#include <errno.h>
#include <linux/tcp.h>
#include <string.h>

#include "tests/battery/attempt.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* arg: family, and MPTCP where FASTOPEN_MPTCP is set */
enum { FASTOPEN_MPTCP = 1024 };

static struct address fastopen_to(const struct arena *a)
{
	return (a->arg & ~FASTOPEN_MPTCP) == AF_INET ? here4(a) : here6(a);
}

static int fastopen_socket(const struct arena *a)
{
	int protocol = a->arg & FASTOPEN_MPTCP ? IPPROTO_MPTCP : 0;
	int family = (int)(a->arg & ~FASTOPEN_MPTCP);

	return protocol ? needs(socket(family, SOCK_STREAM, protocol), "socket of MPTCP")
			: tcp(family);
}

static void fastopen_sendto(const struct arena *a)
{
	struct address to = fastopen_to(a);
	int sock = fastopen_socket(a);
	ssize_t n = sendto(
		sock, a->token, strlen(a->token), MSG_FASTOPEN | MSG_NOSIGNAL, &to.any, to.n);

	if (n < 0 && errno == EOPNOTSUPP && a->arg & FASTOPEN_MPTCP) /* before Linux 6.2 */
		(void)needs(n, "sendto");
	(void)tries(n, "sendto");
	sent();
}

static struct msghdr fastopen_message(const struct arena *a, struct address *to, struct iovec *part)
{
	*part = (struct iovec){(char *)a->token, strlen(a->token)};
	return (struct msghdr){
		.msg_name = &to->any, .msg_namelen = to->n, .msg_iov = part, .msg_iovlen = 1};
}

static void fastopen_sendmsg(const struct arena *a)
{
	struct address to = fastopen_to(a);
	struct iovec part;
	struct msghdr message = fastopen_message(a, &to, &part);

	(void)tries(sendmsg(fastopen_socket(a), &message, MSG_FASTOPEN | MSG_NOSIGNAL), "sendmsg");
	sent();
}

static void fastopen_sendmmsg(const struct arena *a)
{
	struct address to = fastopen_to(a);
	struct iovec part;
	struct mmsghdr message = {.msg_hdr = fastopen_message(a, &to, &part)};

	(void)tries(
		sendmmsg(fastopen_socket(a), &message, 1, MSG_FASTOPEN | MSG_NOSIGNAL), "sendmmsg");
	sent();
}

static void fastopen_connect(const struct arena *a)
{
	struct address to = fastopen_to(a);
	int sock = fastopen_socket(a);

	option_int(sock, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1, "TCP_FASTOPEN_CONNECT");
	dial(sock, &to, a);
}

/* Without a cookie. */
static void fastopen_no_cookie(const struct arena *a)
{
	struct address to = fastopen_to(a);
	int sock = fastopen_socket(a);

	option_int(sock, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1, "TCP_FASTOPEN_NO_COOKIE");
	(void)tries(sendto(sock, a->token, strlen(a->token), MSG_FASTOPEN | MSG_NOSIGNAL, &to.any,
			    to.n),
		"sendto");
	sent();
}

/* In the mapped form. */
static void fastopen_mapped(const struct arena *a)
{
	struct address to = address_form(FORM_MAPPED, a->v4, a->port);

	(void)tries(sendto(tcp(AF_INET6), a->token, strlen(a->token), MSG_FASTOPEN | MSG_NOSIGNAL,
			    &to.any, to.n),
		"sendto");
	sent();
}

static void fastopen_metadata(const struct arena *a)
{
	struct address to = address_text("169.254.169.254", a->port);

	(void)tries(sendto(tcp(AF_INET), a->token, strlen(a->token), MSG_FASTOPEN | MSG_NOSIGNAL,
			    &to.any, to.n),
		"sendto");
	sent();
}

static void fastopen_plain(const struct arena *a)
{
	struct address to = fastopen_to(a);

	dial(fastopen_socket(a), &to, a);
}

static const struct attempt fastopen_rows[] = {
	{"tfo-sendto", "fast open", fastopen_sendto, AF_INET},
	{"tfo-sendto6", "fast open", fastopen_sendto, AF_INET6},
	{"tfo-sendmsg", "fast open", fastopen_sendmsg, AF_INET},
	{"tfo-sendmsg6", "fast open", fastopen_sendmsg, AF_INET6},
	{"tfo-sendmmsg", "fast open", fastopen_sendmmsg, AF_INET},
	{"tfo-connect", "fast open", fastopen_connect, AF_INET},
	{"tfo-connect6", "fast open", fastopen_connect, AF_INET6},
	{"tfo-no-cookie", "fast open", fastopen_no_cookie, AF_INET},
	{"tfo-mapped", "fast open", fastopen_mapped},
	{"tfo-metadata", "fast open", fastopen_metadata},
	{"mptcp", "mptcp", fastopen_plain, AF_INET | FASTOPEN_MPTCP},
	{"mptcp6", "mptcp", fastopen_plain, AF_INET6 | FASTOPEN_MPTCP},
	{"mptcp-tfo", "mptcp", fastopen_sendto, AF_INET | FASTOPEN_MPTCP},
	{"mptcp-tfo-connect", "mptcp", fastopen_connect, AF_INET | FASTOPEN_MPTCP},
};

const struct attempt_list fastopen_list = ATTEMPTS(fastopen_rows);
