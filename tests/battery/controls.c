/* SPDX-License-Identifier: Apache-2.0 */
/* controls.c – what must go on working in a sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/battery/attempt.h"

static int must(long r, const char *step)
{
	if (r < 0)
		report(SAID_BROKEN, errno, step);
	return (int)r;
}

static void works(void)
{
	report(SAID_WORKS, 0, "");
}

static struct address controls_name(int sock)
{
	struct address name = {.n = sizeof(name.v6)};

	(void)must(getsockname(sock, &name.any, &name.n), "getsockname");
	return name;
}

/* Bytes there and back. */
static void controls_talk(int one, int other)
{
	char data[16];

	(void)must(send(one, "there", 5, MSG_NOSIGNAL), "send");
	(void)must(recv(other, data, sizeof(data), 0) == 5 ? 0 : -1, "recv");
	(void)must(send(other, "back!", 5, MSG_NOSIGNAL), "send back");
	(void)must(recv(one, data, sizeof(data), 0) == 5 ? 0 : -1, "recv back");
	works();
}

static const char *const controls_addresses[] = {
	"127.0.0.1", "::1", "127.9.9.9", "::ffff:127.0.0.1", "192.0.2.1", "2001:db8:53::1"};

/* arg: which address */
static void controls_tcp(const struct arena *a)
{
	struct address here = address_text(controls_addresses[a->arg], 0);
	int server = must(socket(here.any.sa_family, SOCK_STREAM, 0), "socket");
	int client = must(socket(here.any.sa_family, SOCK_STREAM, 0), "socket");

	(void)must(bind(server, &here.any, here.n), "bind");
	(void)must(listen(server, 1), "listen");
	here = controls_name(server);
	(void)must(connect(client, &here.any, here.n), "connect");
	controls_talk(client, must(accept(server, NULL, NULL), "accept"));
}

/* One end connected, the other not. */
static void controls_udp(const struct arena *a)
{
	struct address here = address_text(controls_addresses[a->arg], 0),
		       from = {.n = sizeof(from.v6)};
	int server = must(socket(here.any.sa_family, SOCK_DGRAM, 0), "socket");
	int client = must(socket(here.any.sa_family, SOCK_DGRAM, 0), "socket");
	char data[16];

	(void)must(bind(server, &here.any, here.n), "bind");
	here = controls_name(server);
	(void)must(sendto(client, "there", 5, 0, &here.any, here.n), "sendto");
	(void)must(recvfrom(server, data, sizeof(data), 0, &from.any, &from.n), "recvfrom");
	(void)must(sendto(server, "back!", 5, 0, &from.any, from.n), "sendto, back");
	(void)must(recv(client, data, sizeof(data), 0), "recv, back");
	(void)must(connect(client, &here.any, here.n), "connect");
	(void)must(connect(server, &from.any, from.n), "connect back");
	controls_talk(client, server);
}

/* arg: type, + 256 for an abstract name */
static void controls_unix(const struct arena *a)
{
	struct sockaddr_un here = {.sun_family = AF_UNIX};
	int type = (int)(a->arg & 255), server = must(socket(AF_UNIX, type, 0), "socket");
	int client = must(socket(AF_UNIX, type, 0), "socket");
	char *name = here.sun_path + (a->arg & 256 ? 1 : 0);

	(void)snprintf(name, sizeof(here.sun_path) - 1, "%s/%s.%d", a->scene->scratch,
		a->attempt->name, (int)getpid());
	(void)must(bind(server, (struct sockaddr *)&here, sizeof(here)), "bind");
	if (type != SOCK_DGRAM)
		(void)must(listen(server, 1), "listen");
	(void)must(connect(client, (struct sockaddr *)&here, sizeof(here)), "connect");
	if (type != SOCK_DGRAM)
		controls_talk(client, must(accept(server, NULL, NULL), "accept"));
	(void)must(send(client, "there", 5, 0), "send");
	(void)must(sendto(must(socket(AF_UNIX, type, 0), "socket"), "there", 5, 0,
			   (struct sockaddr *)&here, sizeof(here)),
		"sendto");
	works();
}

static void controls_pair(const struct arena *a)
{
	int ends[2];

	(void)must(socketpair(AF_UNIX, (int)a->arg, 0, ends), "socketpair");
	controls_talk(ends[0], ends[1]);
}

/* Asks for the links, as `ip link` does. */
static void controls_netlink(const struct arena *a)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg body;
	} ask = {{sizeof(ask), RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0}, {AF_UNSPEC}};
	int sock = must(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "socket");
	char data[16384];
	ssize_t n;

	(void)a;
	(void)must(send(sock, &ask, sizeof(ask), 0), "send");
	n = must(recv(sock, data, sizeof(data), 0), "recv");
	if (n < (ssize_t)sizeof(struct nlmsghdr) ||
		((struct nlmsghdr *)(void *)data)->nlmsg_type != RTM_NEWLINK)
		report(SAID_BROKEN, 0, "no link was told");
	works();
}

/* api.test, which the policy allows: an answer with an address, whatever name server is asked. */
static size_t controls_question(uint8_t *out)
{
	static const uint8_t question[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\3api\4test\0\0\1\0\1";

	memcpy(out, question, sizeof(question) - 1);
	return sizeof(question) - 1;
}

static void controls_answer(const uint8_t *data, ssize_t n)
{
	if (n < 12 || data[0] != 0x12 || (data[3] & 15) || !data[7])
		report(SAID_BROKEN, n < 12 ? 0 : data[3] & 15, "no answer to the question");
	works();
}

/* arg: connected? */
static void controls_dns_udp(const struct arena *a)
{
	struct address to = address_text("203.0.113.53", 53);
	int sock = must(socket(AF_INET, SOCK_DGRAM, 0), "socket");
	uint8_t data[512];
	size_t n = controls_question(data);

	if (a->arg)
		(void)must(connect(sock, &to.any, to.n), "connect");
	(void)must(sendto(sock, data, n, 0, a->arg ? NULL : &to.any, a->arg ? 0 : to.n), "sendto");
	controls_answer(data, must(recv(sock, data, sizeof(data), 0), "recv"));
}

static void controls_dns_tcp(const struct arena *a)
{
	struct address to = address_text("203.0.113.53", 53);
	int sock = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	uint8_t data[514] = {0};
	size_t n = controls_question(data + 2);

	(void)a;
	data[1] = (uint8_t)n;
	(void)must(connect(sock, &to.any, to.n), "connect");
	(void)must(send(sock, data, n + 2, MSG_NOSIGNAL), "send");
	(void)must(recv(sock, data, 2, MSG_WAITALL), "recv");
	controls_answer(data, must(recv(sock, data, sizeof(data), 0), "recv"));
}

/* A connect() of a datagram socket sends nothing: libraries sort addresses by it. */
static void controls_sorting(const struct arena *a)
{
	struct address to = here4(a);

	(void)must(
		connect(must(socket(AF_INET, SOCK_DGRAM, 0), "socket"), &to.any, to.n), "connect");
	works();
}

static const struct attempt controls_rows[] = {
	{"lo-tcp4", "control", controls_tcp, 0, ATTEMPT_CONTROL},
	{"lo-tcp6", "control", controls_tcp, 1, ATTEMPT_CONTROL},
	{"lo-tcp-other", "control", controls_tcp, 2, ATTEMPT_CONTROL},
	{"lo-tcp-mapped", "control", controls_tcp, 3, ATTEMPT_CONTROL},
	{"own-tcp4", "control", controls_tcp, 4, ATTEMPT_CONTROL | ATTEMPT_INSIDE},
	{"own-tcp6", "control", controls_tcp, 5, ATTEMPT_CONTROL | ATTEMPT_INSIDE},
	{"lo-udp4", "control", controls_udp, 0, ATTEMPT_CONTROL},
	{"lo-udp6", "control", controls_udp, 1, ATTEMPT_CONTROL},
	{"lo-udp-mapped", "control", controls_udp, 3, ATTEMPT_CONTROL},
	{"own-udp4", "control", controls_udp, 4, ATTEMPT_CONTROL | ATTEMPT_INSIDE},
	{"unix-stream", "control", controls_unix, SOCK_STREAM, ATTEMPT_CONTROL},
	{"unix-dgram", "control", controls_unix, SOCK_DGRAM, ATTEMPT_CONTROL},
	{"unix-seqpacket", "control", controls_unix, SOCK_SEQPACKET, ATTEMPT_CONTROL},
	{"unix-abstract", "control", controls_unix, SOCK_STREAM | 256, ATTEMPT_CONTROL},
	{"unix-abstract-dgram", "control", controls_unix, SOCK_DGRAM | 256, ATTEMPT_CONTROL},
	{"socketpair", "control", controls_pair, SOCK_STREAM, ATTEMPT_CONTROL},
	{"socketpair-dgram", "control", controls_pair, SOCK_DGRAM, ATTEMPT_CONTROL},
	{"rtnetlink-dump", "control", controls_netlink, 0, ATTEMPT_CONTROL},
	{"dns-udp", "control", controls_dns_udp, 0, ATTEMPT_CONTROL | ATTEMPT_INSIDE},
	{"dns-udp-connected", "control", controls_dns_udp, 1, ATTEMPT_CONTROL | ATTEMPT_INSIDE},
	{"dns-tcp", "control", controls_dns_tcp, 0, ATTEMPT_CONTROL | ATTEMPT_INSIDE},
	{"udp-address-sorting", "control", controls_sorting, 0, ATTEMPT_CONTROL},
};

const struct attempt_list controls_list = ATTEMPTS(controls_rows);
