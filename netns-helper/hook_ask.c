/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_ask.c – see hook_ask.h. #syscalls: socket connect setsockopt sendmsg recvmsg send recv */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "netns-helper/ask.h"
#include "netns-helper/hook_ask.h"

#include "base/cleanup.h"

enum { HOOK_ASK_HEAD = 4096 };

static int hook_ask_patience(int fd)
{
	const struct timeval patience = {.tv_sec = HOOK_ASK_SECONDS};

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
			       setsockopt(
				       fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0
		       ? -errno
		       : 0;
}

static int hook_ask_helper(const char *state, const void *request, size_t size, const int *fds,
	size_t nfds, struct fault *fault)
{
	_cleanup_close_ int sock = ask_connect(state, fault);
	struct proto_reply reply;

	if (sock < 0)
		return sock;
	if (hook_ask_patience(sock) < 0)
		return fault_set(fault, -errno, "helper.sock: %s", strerror(errno));
	return ask(sock, request, size, fds, nfds, &reply, sizeof(reply), NULL, NULL, fault);
}

int hook_ask_attach(const char *state, const struct proto_attach *request, const int fds[3],
	struct fault *fault)
{
	return hook_ask_helper(state, request, sizeof(*request), fds, 3, fault);
}

int hook_ask_release(const char *state, uint64_t owner, struct fault *fault)
{
	const struct proto_release request = {
		.head = {PROTO_RELEASE, PROTO_VERSION}, .owner = owner};

	return hook_ask_helper(state, &request, sizeof(request), NULL, 0, fault);
}

int hook_ask_degraded(const char *state, const struct proto_note *note, struct fault *fault)
{
	return hook_ask_helper(state, note, sizeof(*note), NULL, 0, fault);
}

/* ---- the daemon, by HTTP/1.1 */

static int hook_ask_daemon(const char *state)
{
	_cleanup_close_ int dir = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (dir < 0 || fd < 0 || hook_ask_patience(fd) < 0)
		return -errno;
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d/control.sock", dir);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Sends the request and reads the beginning of the answer, as a text. 0 or -errno. */
static int hook_ask_exchange(int fd, const char *request, char ret[HOOK_ASK_HEAD])
{
	size_t n = strlen(request);

	if (send(fd, request, n, MSG_NOSIGNAL) != (ssize_t)n)
		return -EPIPE;
	for (n = 0; n < HOOK_ASK_HEAD - 1;) {
		ssize_t got = recv(fd, ret + n, HOOK_ASK_HEAD - 1 - n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	ret[n] = '\0';
	return 0;
}

int hook_ask_prepare(const char *state, const char *id, struct fault *fault)
{
	static const struct {
		const char *head, *why;
		int error;
	} answers[] = {
		{"HTTP/1.1 200 ", NULL, 0},
		{"HTTP/1.1 403 ", "cannot be prepared: only root may do this", -EPERM},
		{"HTTP/1.1 409 ", "is attached already: end that container, or take another id",
			-EEXIST},
		{"HTTP/1.1 422 ", "cannot be prepared: sallyportd's log says why", -EINVAL},
		{"HTTP/1.1 503 ",
			"cannot be prepared now: the last of that id is ending, or too many wait",
			-EBUSY},
	};
	_cleanup_close_ int fd = hook_ask_daemon(state);
	char request[256], answer[HOOK_ASK_HEAD];
	int r;

	if (fd < 0)
		return fault_set(fault, -ECOMM,
			"sallyportd does not answer in %s: start it with `scripts/sallyport up`",
			state); /* no strerror(): Podman takes "No such file" for a command of the container's */
	(void)snprintf(request, sizeof(request),
		"PUT /v1/prepared/%s HTTP/1.1\r\nHost: sallyport\r\nConnection: close\r\n\r\n",
		id); /* an id is short */
	r = hook_ask_exchange(fd, request, answer);
	if (r < 0)
		return fault_set(fault, -ECOMM, "sallyportd did not answer: %s", strerror(-r));
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (strncmp(answer, answers[i].head, strlen(answers[i].head)) == 0)
			return answers[i].error ? fault_set(fault, answers[i].error,
							  "sandbox %s %s", id, answers[i].why)
						: 0;
	return fault_set(fault, -EPROTO,
		"sallyportd cannot prepare sandbox %s: is it of another "
		"version?",
		id);
}
