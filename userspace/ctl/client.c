/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c – see client.h. The daemon closes after the answer (we ask for that), so the end of the
 * stream is the end of the answer; Content-Length tells whether it is whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "ctl/client.h"

enum { CLIENT_STEP = 4096, CLIENT_SECONDS = 10 };

static int client_refused(const char *where, int error, struct fault *fault)
{
	switch (error) {
	case ENOENT:
	case ECONNREFUSED:
		return fault_set(fault, -error,
			"sallyportd is not running (%s: %s); start it with `sallyport up`, or name "
			"its directory with "
			"--state",
			where, strerror(error));
	case EACCES:
	case EPERM:
		return fault_set(fault, -error,
			"%s: %s; be root or a member of the group sallyport", where,
			strerror(error));
	default:
		return fault_set(fault, -error, "%s: %s", where, strerror(error));
	}
}

static int client_connect(const char *state, struct fault *fault)
{
	const struct timeval patience = {.tv_sec = CLIENT_SECONDS};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(to.sun_path, sizeof(to.sun_path), "%s/control.sock", state);

	if (fd < 0)
		return fault_set(fault, -errno, "no socket: %s", strerror(errno));
	if (n < 0 || (size_t)n >= sizeof(to.sun_path))
		return fault_set(
			fault, -ENAMETOOLONG, "the path of the state directory is too long");
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return client_refused(to.sun_path, errno, fault);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return fault_set(fault, -errno, "%s", strerror(errno));
	return TAKE_FD(fd);
}

static int client_ask(int fd, const char *path)
{
	char request[512];
	int n = snprintf(request, sizeof(request),
		"GET %s HTTP/1.1\r\nHost: sallyport\r\nAccept: application/json\r\nConnection: "
		"close\r\n\r\n",
		path);

	if (n < 0 || (size_t)n >= sizeof(request))
		return -ENAMETOOLONG;
	return send(fd, request, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -EPIPE;
}

static int client_receive(int fd, struct buf *in)
{
	for (;;) {
		uint8_t *to = buf_reserve(in, CLIENT_STEP);
		ssize_t n;

		if (!to)
			return -EMSGSIZE;
		n = recv(fd, to, CLIENT_STEP, 0);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_commit(in, (size_t)n);
	}
}

/* The value of Content-Length in the head, or -1. */
static long client_length(struct slice head)
{
	static const struct slice name = {(const uint8_t *)"content-length:", 15};

	while (head.n) {
		size_t end = slice_find(head, '\n');

		if (slice_ieq(slice_first(head, name.n), name)) {
			char digits[16] = "";
			struct slice value = slice_trim(slice_skip(slice_first(head, end), name.n));

			(void)snprintf(digits, sizeof(digits), "%.*s",
				(int)(value.n < 15 ? value.n : 15), (const char *)value.p);
			return strtol(digits, NULL, 10);
		}
		head = slice_skip(head, end + 1);
	}
	return -1;
}

/* Drops the head and returns the status. */
static int client_split(struct buf *in)
{
	struct slice all = buf_slice(in);
	const uint8_t *end = all.n ? memmem(all.p, all.n, "\r\n\r\n", 4) : NULL;
	size_t head = end ? (size_t)(end - all.p) + 4 : 0;
	long length;
	int status;

	if (!end || all.n < 12 || memcmp(all.p, "HTTP/1.1 ", 9) != 0)
		return -EPROTO;
	status = (all.p[9] - '0') * 100 + (all.p[10] - '0') * 10 + (all.p[11] - '0');
	length = client_length(slice_first(all, head));
	if (status < 200 || status > 599 || (length >= 0 && (size_t)length != all.n - head))
		return -EPROTO;
	buf_consume(in, head);
	return status;
}

int client_get(const char *state, const char *path, struct fault *fault, struct buf *ret)
{
	_cleanup_close_ int fd = client_connect(state, fault);
	int r;

	if (fd < 0)
		return fd;
	r = client_ask(fd, path);
	if (r == 0)
		r = client_receive(fd, ret);
	if (r == 0)
		r = client_split(ret);
	if (r == -EAGAIN)
		return fault_set(fault, r, "sallyportd does not answer (%d s)", CLIENT_SECONDS);
	if (r < 0)
		return fault_set(fault, r, "sallyportd gave no good answer: %s", strerror(-r));
	return r;
}
