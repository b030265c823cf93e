/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c – see attempt.h: reports, addresses, and the steps that attempts share. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/battery/attempt.h"

static struct report *report_slot; /* of this process: shared memory that the crew reads */

void report_to(struct report *slot)
{
	report_slot = slot;
}

void report(enum attempt_said said, int error, const char *step)
{
	report_slot->error = error;
	(void)snprintf(report_slot->step, sizeof(report_slot->step), "%s", step);
	__atomic_store_n(&report_slot->said, said, __ATOMIC_RELEASE);
	_exit(0);
}

int needs(long r, const char *step)
{
	if (r < 0)
		report(SAID_UNSUPPORTED, errno, step);
	return (int)r;
}

int tries(long r, const char *step)
{
	if (r < 0)
		report(SAID_REFUSED, errno, step);
	return (int)r;
}

void needs_code(int error, const char *step)
{
	if (error)
		report(SAID_UNSUPPORTED, error, step);
}

void sent(void)
{
	report(SAID_SENT, 0, "");
}

/* ---- addresses ---- */

struct address address4(struct in_addr ip, uint16_t port)
{
	return (struct address){
		.v4 = {AF_INET, htons(port), ip, {0}}, .n = sizeof(struct sockaddr_in)};
}

struct address address6(struct in6_addr ip, uint16_t port)
{
	return (struct address){
		.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = ip},
		.n = sizeof(struct sockaddr_in6)};
}

struct address address_text(const char *text, uint16_t port)
{
	char plain[64];
	const char *scope = strchr(text, '%');
	struct in6_addr v6;
	struct in_addr v4;
	struct address to;

	(void)snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(text, "%"), text);
	if (inet_pton(AF_INET, plain, &v4) == 1)
		return address4(v4, port);
	if (inet_pton(AF_INET6, plain, &v6) != 1)
		report(SAID_BROKEN, EINVAL, text);
	to = address6(v6, port);
	if (scope)
		to.v6.sin6_scope_id = if_nametoindex(scope + 1);
	return to;
}

struct in6_addr mapped6(struct in_addr ip)
{
	struct in6_addr out = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(&out.s6_addr[12], &ip, 4);
	return out;
}

struct address address_form(enum form form, struct in_addr ip, uint16_t port)
{
	/* the bytes of the form, and where in it the IPv4 address stands */
	static const struct {
		uint8_t bytes[16], at, inverted;
	} rows[] = {
		[FORM_MAPPED] = {{[10] = 0xff, [11] = 0xff}, 12, 0},
		[FORM_NAT64] = {{0x00, 0x64, 0xff, 0x9b}, 12, 0},
		[FORM_NAT64_LOCAL] = {{0x00, 0x64, 0xff, 0x9b, 0, 1}, 12, 0},
		[FORM_6TO4] = {{0x20, 0x02, [15] = 1}, 2, 0},
		[FORM_TEREDO] = {{0x20, 0x01, 0, 0, 198, 51, 100, 1, [10] = 0xee, [11] = 0xee}, 12,
			0xff},
		[FORM_ISATAP] = {{0x20, 0x01, 0x0d, 0xb8, [10] = 0x5e, [11] = 0xfe}, 12, 0},
		[FORM_ISATAP_GLOBAL] = {{0x20, 0x01, 0x0d, 0xb8, [8] = 2, [10] = 0x5e, [11] = 0xfe},
			12, 0},
		[FORM_COMPATIBLE] = {{0}, 12, 0},
		[FORM_TRANSLATED] = {{[8] = 0xff, [9] = 0xff}, 12, 0},
	};
	uint8_t raw[4];
	struct in6_addr out;

	if (form == FORM_V4)
		return address4(ip, port);
	memcpy(raw, &ip, 4);
	memcpy(out.s6_addr, rows[form].bytes, 16);
	for (int i = 0; i < 4; i++)
		out.s6_addr[rows[form].at + i] = raw[i] ^ rows[form].inverted;
	return address6(out, port);
}

struct address here4(const struct arena *a)
{
	return address4(a->v4, a->port);
}

struct address here6(const struct arena *a)
{
	return address6(a->v6, a->port);
}

/* ---- steps ---- */

int tcp(int family)
{
	return tries(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
}

int udp(int family)
{
	return tries(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
}

void push(int sock, const struct arena *a)
{
	(void)tries(send(sock, a->token, strlen(a->token), MSG_NOSIGNAL), "send");
	sent();
}

void dial(int sock, const struct address *to, const struct arena *a)
{
	(void)tries(connect(sock, &to->any, to->n), "connect");
	push(sock, a);
}

void throw(int sock, const struct address *to, const struct arena *a)
{
	(void)tries(
		sendto(sock, a->token, strlen(a->token), MSG_NOSIGNAL, &to->any, to->n), "sendto");
	sent();
}

void throw_with(
	int sock, const struct address *to, const void *control, size_t n, const struct arena *a)
{
	struct iovec part = {(char *)a->token, strlen(a->token)};
	struct msghdr message = {.msg_name = (void *)&to->any,
		.msg_namelen = to->n,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = (void *)control,
		.msg_controllen = n};

	(void)tries(sendmsg(sock, &message, MSG_NOSIGNAL), "sendmsg");
	sent();
}

void option(int sock, int level, int name, const void *value, socklen_t n, const char *step)
{
	(void)needs(setsockopt(sock, level, name, value, n), step);
}

void option_int(int sock, int level, int name, int value, const char *step)
{
	option(sock, level, name, &value, sizeof(value), step);
}

int device_index(const struct arena *a)
{
	int index = (int)if_nametoindex(a->scene->device);

	if (!index)
		report(SAID_UNSUPPORTED, ENODEV, "the link");
	return index;
}

pid_t fork_tied(void)
{
	pid_t child = fork();

	if (child == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* its parent is alive at a fork */
	return child;
}

void child_ends(pid_t child)
{
	int status;

	(void)needs(child, "fork");
	(void)waitpid(child, &status, 0); /* a child of ours: only a signal could end it early */
}

void child_reports(pid_t child)
{
	child_ends(child);
	if (__atomic_load_n(&report_slot->said, __ATOMIC_ACQUIRE) == SAID_NOTHING)
		report(SAID_BROKEN, 0, "the child said nothing");
	_exit(0);
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	(void)close(fd);
	return r;
}
