/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outsider.c – a process outside that helps whoever asks, as a container's engine or an agent's
 * socket would: in a namespace with a link to the canary, in no sandbox's cgroup.
 *
 *   attempts outsider IP PORT NONCE FOLDER…
 *
 * In each folder it listens on `descriptors` (hands over sockets of its own), `stream`, `dgram` and
 * `seqpacket` (passes the bytes on, as a datagram to IP:PORT: the judge knows a token by its text),
 * the same as abstract names of its own namespace. It holds a UDP socket at a known number for those
 * who take it by force. Says "ready" and ends with its standard input.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/battery/crew.h"
#include "tests/battery/outsider.h"

enum { OUTSIDER_MOST = 256 };

enum outsider_kind { KIND_INPUT, KIND_DOOR, KIND_DESCRIPTORS, KIND_RELAY };

struct outsider {
	struct pollfd polled[OUTSIDER_MOST];
	struct {
		enum outsider_kind kind;
		enum outsider_kind within; /* of a door: what comes in by it */
	} what[OUTSIDER_MOST];
	size_t n;
	struct sockaddr_in canary;
	int out;
};

static void outsider_add(
	struct outsider *o, int fd, enum outsider_kind kind, enum outsider_kind within)
{
	if (o->n == OUTSIDER_MOST) {
		(void)close(fd);
		return;
	}
	o->polled[o->n] = (struct pollfd){fd, POLLIN, 0};
	o->what[o->n].kind = kind;
	o->what[o->n++].within = within;
}

static int outsider_listen(
	struct outsider *o, const struct sockaddr_un *at, socklen_t n, const char *name)
{
	int type = strcmp(name, "stream") == 0  ? SOCK_STREAM
		   : strcmp(name, "dgram") == 0 ? SOCK_DGRAM
						: SOCK_SEQPACKET;
	enum outsider_kind within =
		strcmp(name, "descriptors") == 0 ? KIND_DESCRIPTORS : KIND_RELAY;
	int sock = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0 || bind(sock, (const struct sockaddr *)at, n) < 0 ||
		(type != SOCK_DGRAM && listen(sock, 64) < 0))
		return -errno;
	outsider_add(o, sock, type == SOCK_DGRAM ? KIND_RELAY : KIND_DOOR, within);
	return 0;
}

static const char *const outsider_names[] = {"descriptors", "stream", "dgram", "seqpacket"};

static int outsider_folder(struct outsider *o, const char *folder)
{
	for (size_t i = 0; i < 4; i++) {
		struct sockaddr_un at = {.sun_family = AF_UNIX};
		int r;

		(void)snprintf(
			at.sun_path, sizeof(at.sun_path), "%s/%s", folder, outsider_names[i]);
		r = outsider_listen(o, &at, sizeof(at), outsider_names[i]);
		if (r < 0 || chmod(at.sun_path, 0777) < 0)
			return r < 0 ? r : -errno;
	}
	return 0;
}

static int outsider_abstract(struct outsider *o, const char *nonce)
{
	for (size_t i = 0; i < 4; i++) {
		struct sockaddr_un at = {.sun_family = AF_UNIX};
		int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s-%s", nonce,
			outsider_names[i]);
		int r = outsider_listen(o, &at,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n),
			outsider_names[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A descriptor, or -errno. */
static int outsider_make(const struct outsider_request *q)
{
	struct sockaddr_in to = {AF_INET, htons(q->port), q->ip, {0}};
	bool stream = q->what != OUTSIDER_UDP && q->what != OUTSIDER_CONNECTED;
	int sock;

	if (q->what == OUTSIDER_NETNS)
		return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	sock = socket(AF_INET, stream ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (sock < 0)
		return -errno;
	if (q->what == OUTSIDER_LISTENER && listen(sock, 1) < 0)
		return -errno;
	if ((q->what == OUTSIDER_ESTABLISHED || q->what == OUTSIDER_CONNECTED) &&
		connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return sock;
}

static void outsider_hand(int client, const struct outsider_request *q)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec part = {"", 1};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int fd = outsider_make(q);

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (fd < 0)
		message.msg_controllen = 0;
	(void)sendmsg(client, &message, MSG_NOSIGNAL); /* it may have gone */
	if (fd >= 0)
		(void)close(fd);
}

/* Whether the descriptor goes on being of use. */
static bool outsider_serve(struct outsider *o, size_t i)
{
	int fd = o->polled[i].fd;
	char data[2048];
	ssize_t n;

	if (o->what[i].kind == KIND_DOOR) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (client >= 0)
			outsider_add(o, client, o->what[i].within, 0);
		return true;
	}
	n = recv(fd, data, sizeof(data), 0);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	if (o->what[i].kind == KIND_DESCRIPTORS && n == sizeof(struct outsider_request)) {
		struct outsider_request q;

		memcpy(&q, data, sizeof(q));
		outsider_hand(fd, &q);
	} else if (o->what[i].kind == KIND_RELAY) {
		(void)sendto(o->out, data, (size_t)n, 0, (struct sockaddr *)&o->canary,
			sizeof(o->canary));
	}
	return true;
}

static int outsider_loop(struct outsider *o)
{
	for (;;) {
		if (poll(o->polled, o->n, -1) < 0) {
			if (errno != EINTR)
				return 1;
			continue; /* somebody traced us */
		}
		if (o->polled[0].revents)
			return 0; /* its input has ended */
		for (size_t i = o->n; i-- > 1;) {
			if (!o->polled[i].revents || outsider_serve(o, i))
				continue;
			(void)close(o->polled[i].fd);
			o->n--;
			o->polled[i] = o->polled[o->n];
			o->what[i] = o->what[o->n];
		}
	}
}

int outsider(int argc, char **argv)
{
	static struct outsider o;
	int r = 0;

	if (argc < 4 || inet_pton(AF_INET, argv[0], &o.canary.sin_addr) != 1) {
		(void)fprintf(stderr, "usage: outsider IP PORT NONCE FOLDER...\n");
		return 1;
	}
	o.canary.sin_family = AF_INET;
	o.canary.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
	outsider_add(&o, STDIN_FILENO, KIND_INPUT, KIND_INPUT);
	o.out = socket(AF_INET, SOCK_DGRAM, 0);
	if (o.out < 0 || dup2(o.out, OUTSIDER_HELD_UDP) < 0)
		r = -errno;
	if (r == 0)
		r = outsider_abstract(&o, argv[2]);
	for (int i = 3; i < argc && r == 0; i++)
		r = outsider_folder(&o, argv[i]);
	if (r < 0) {
		(void)fprintf(stderr, "outsider: %s\n", strerror(-r));
		return 1;
	}
	(void)printf("ready\n");
	(void)fflush(stdout);
	return outsider_loop(&o);
}
