/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passing.c – unix sockets that lead outside: descriptors and relays of a confederate (outsider.c),
 * asked for by every spelling of a path. Two folders: `closed` is under no prefix that a sandbox's
 * unix sockets may be under, `open` is (/tmp of the machine, which a runtime does not show).
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/battery/attempt.h"
#include "tests/battery/outsider.h"

/* How the path is spelt. */
enum passing_way {
	WAY_CLOSED,
	WAY_OPEN,
	WAY_SYMLINK,
	WAY_FOLDER_SYMLINK,
	WAY_RELATIVE,
	WAY_DOTS,
	WAY_DOTS_FROM_OPEN,
	WAY_SLASHES,
	WAY_SLASHES_FROM_OPEN,
	WAY_PROC_ROOT,
	WAY_PROC_CWD,
	WAY_HARD_LINK,
	WAY_BIND,
	WAY_USER_BIND,
	WAY_CHROOT,
	WAY_USER_CHROOT,
	WAY_ABSTRACT,
	WAY_DESCRIPTOR
};

#define ARG(what, way) ((long)(what) << 8 | (way))

static void passing_put(
	struct sockaddr_un *to, const char *format, const char *first, const char *last)
{
	int n = snprintf(to->sun_path, sizeof(to->sun_path), format, first, last);

	needs_code(n < 0 || (size_t)n >= sizeof(to->sun_path) ? ENAMETOOLONG : 0, "the path");
}

/* A name of this attempt's own in the scratch folder. */
static const char *passing_own(const struct arena *a)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", a->scene->scratch, a->attempt->name);
	(void)unlink(path);
	(void)rmdir(path);
	return path;
}

/* In a user namespace of one's own both this and chroot() need no capability before. */
static void passing_bind(const char *at, const char *what, bool user)
{
	int file = needs(open(at, O_CREAT | O_WRONLY, 0644), "a mount point");

	(void)close(file);
	(void)needs(unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)), "a mount namespace");
	(void)needs(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	(void)needs(mount(what, at, NULL, MS_BIND, NULL), "bind mount");
}

/* The outsider's socket of that name, spelt that way. */
static struct sockaddr_un passing_path(
	const struct arena *a, enum passing_way way, const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *closed = a->scene->closed, *own = passing_own(a);
	char real[256];

	(void)snprintf(real, sizeof(real), "%s/%s", closed, name);
	switch (way) {
	case WAY_CLOSED:
		passing_put(&to, "%s/%s", closed, name);
		break;
	case WAY_OPEN:
		passing_put(&to, "%s/%s", a->scene->open, name);
		break;
	case WAY_SYMLINK:
		(void)needs(symlink(real, own), "symlink");
		passing_put(&to, "%s%s", own, "");
		break;
	case WAY_FOLDER_SYMLINK:
		(void)needs(symlink(closed, own), "symlink");
		passing_put(&to, "%s/%s", own, name);
		break;
	case WAY_RELATIVE:
		(void)needs(chdir(closed), "chdir");
		passing_put(&to, "%s%s", name, "");
		break;
	case WAY_DOTS:
		(void)needs(chdir(closed), "chdir");
		passing_put(&to, "./%s%s", name, "");
		break;
	case WAY_DOTS_FROM_OPEN:
		passing_put(&to, "/tmp/..%s/%s", closed, name);
		break;
	case WAY_SLASHES:
		passing_put(&to, "//%s/%s", closed, name);
		break;
	case WAY_SLASHES_FROM_OPEN:
		passing_put(&to, "/tmp//..%s//%s", closed, name);
		break;
	case WAY_PROC_ROOT:
		passing_put(&to, "/proc/self/root%s/%s", closed, name);
		break;
	case WAY_PROC_CWD:
		(void)needs(chdir(closed), "chdir");
		passing_put(&to, "/proc/self/cwd/%s%s", name, "");
		break;
	case WAY_HARD_LINK:
		(void)needs(link(real, own), "link");
		passing_put(&to, "%s%s", own, "");
		break;
	case WAY_BIND:
	case WAY_USER_BIND:
		passing_bind(own, real, way == WAY_USER_BIND);
		passing_put(&to, "%s%s", own, "");
		break;
	case WAY_CHROOT: /* from there the closed folder is one of the open names */
	case WAY_USER_CHROOT:
		if (way == WAY_USER_CHROOT)
			(void)needs(unshare(CLONE_NEWUSER), "a user namespace");
		(void)needs(chroot(closed), "chroot");
		passing_put(&to, "/tmp/%s%s", name, "");
		break;
	case WAY_ABSTRACT:
		(void)snprintf(
			to.sun_path + 1, sizeof(to.sun_path) - 1, "%s-%s", a->scene->nonce, name);
		break;
	case WAY_DESCRIPTOR:
		(void)snprintf(real, sizeof(real), "/proc/self/fd/%d",
			needs(open(closed, O_PATH | O_DIRECTORY), "the folder"));
		passing_put(&to, "%s/%s", real, name);
		break;
	}
	return to;
}

static socklen_t passing_length(const struct sockaddr_un *to)
{
	size_t n = to->sun_path[0] ? strlen(to->sun_path) + 1 : 1 + strlen(to->sun_path + 1);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static int passing_connect(const struct arena *a, int type, const char *name)
{
	struct sockaddr_un to = passing_path(a, (enum passing_way)(a->arg & 255), name);
	int sock = tries(socket(AF_UNIX, type, 0), "socket");

	(void)tries(connect(sock, (struct sockaddr *)&to, passing_length(&to)), "connect");
	return sock;
}

/* What the confederate hands over for that request. */
static int passing_receive(int sock, char what, const struct arena *a)
{
	struct outsider_request request = {.what = what, .ip = a->v4, .port = a->port};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int fd;

	(void)tries(send(sock, &request, sizeof(request), MSG_NOSIGNAL), "the request");
	(void)tries(recvmsg(sock, &message, 0), "the descriptor");
	if (message.msg_controllen < sizeof(struct cmsghdr))
		report(SAID_BROKEN, 0, "no descriptor");
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* arg: what << 8 | way */
static void passing_descriptor(const struct arena *a)
{
	char what = (char)(a->arg >> 8);
	int fd = passing_receive(passing_connect(a, SOCK_SEQPACKET, "descriptors"), what, a);
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct address to = here4(a);

	switch (what) {
	case OUTSIDER_TCP:
		dial(fd, &to, a);
	case OUTSIDER_UDP:
		throw(fd, &to, a);
	case OUTSIDER_LISTENER: /* taken back, it connects */
		(void)tries(connect(fd, &none, sizeof(none)), "connect to AF_UNSPEC");
		dial(fd, &to, a);
	case OUTSIDER_NETNS:
		(void)needs(setns(fd, CLONE_NEWNET), "setns");
		dial(tcp(AF_INET), &to, a);
	default:
		push(fd, a);
	}
}

/* arg: type << 8 | way; the confederate passes on what it reads */
static void passing_relay(const struct arena *a)
{
	int type = (int)(a->arg >> 8);
	const char *name = type == SOCK_STREAM  ? "stream"
			   : type == SOCK_DGRAM ? "dgram"
						: "seqpacket";

	push(passing_connect(a, type, name), a);
}

/* Not connected: the path is in the message. */
static void passing_sendto(const struct arena *a)
{
	struct sockaddr_un to = passing_path(a, (enum passing_way)(a->arg & 255), "dgram");
	int sock = tries(socket(AF_UNIX, SOCK_DGRAM, 0), "socket");

	(void)tries(sendto(sock, a->token, strlen(a->token), 0, (struct sockaddr *)&to,
			    passing_length(&to)),
		"sendto");
	sent();
}

static void passing_ring(const struct arena *a)
{
	struct sockaddr_un to = passing_path(a, WAY_CLOSED, "stream");
	int sock = tries(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	struct io_uring ring;
	struct io_uring_cqe *cqe;

	needs_code(-io_uring_queue_init(2, &ring, 0), "io_uring_setup");
	io_uring_prep_connect(
		io_uring_get_sqe(&ring), sock, (struct sockaddr *)&to, passing_length(&to));
	needs_code(io_uring_submit(&ring) < 0 ? EIO : 0, "io_uring_enter");
	needs_code(-io_uring_wait_cqe(&ring, &cqe), "io_uring_enter");
	errno = cqe->res < 0 ? -cqe->res : 0;
	(void)tries(cqe->res < 0 ? -1 : 0, "connect");
	push(sock, a);
}

/* In a namespace of its own, where the list of the sandbox does not hold but the default one. */
static void passing_nested(const struct arena *a)
{
	(void)needs(unshare(CLONE_NEWNET), "a namespace");
	push(passing_connect(a, SOCK_STREAM, "stream"), a);
}

/* The helper's own socket, by which it can be told to let go. arg: way; state is under an open prefix */
static void passing_helper(const struct arena *a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct {
		uint32_t op, version;
		char id[64];
	} request = {2, 2, ""}; /* PROTO_DETACH */
	int sock = tries(socket(AF_UNIX, SOCK_SEQPACKET, 0), "socket");
	char reply[1024];
	ssize_t n;

	passing_put(&to, "%s/%s", a->scene->state, "helper.sock");
	(void)snprintf(request.id, sizeof(request.id), "%s", a->scene->id);
	(void)tries(connect(sock, (struct sockaddr *)&to, passing_length(&to)), "connect");
	(void)tries(send(sock, &request, sizeof(request), MSG_NOSIGNAL), "send");
	n = tries(recv(sock, reply, sizeof(reply), 0), "recv");
	errno = n < 12 ? ECONNRESET : (int)-(*(int32_t *)(void *)(reply + 8));
	if (errno)
		(void)tries(-1, "detach");
	report(SAID_EXPOSED, 0, "the helper detached the sandbox");
}

/* The daemon's socket: whoever is served there commands it. */
static void passing_control(const struct arena *a)
{
	static const char request[] = "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int sock = tries(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	char reply[256];
	ssize_t n;

	passing_put(&to, "%s/%s", a->scene->state, "control.sock");
	(void)tries(connect(sock, (struct sockaddr *)&to, passing_length(&to)), "connect");
	(void)tries(send(sock, request, sizeof(request) - 1, MSG_NOSIGNAL), "send");
	n = tries(recv(sock, reply, sizeof(reply) - 1, 0), "recv");
	reply[n] = '\0';
	if (n == 0 || !strstr(reply, " 200 "))
		report(SAID_REFUSED, 0, n ? "another status" : "closed");
	report(SAID_EXPOSED, 0, "the daemon serves it");
}

static const struct attempt passing_rows[] = {
	{"passed-tcp", "passing", passing_descriptor, ARG(OUTSIDER_TCP, WAY_CLOSED)},
	{"passed-udp", "passing", passing_descriptor, ARG(OUTSIDER_UDP, WAY_CLOSED)},
	{"passed-established", "passing", passing_descriptor,
		ARG(OUTSIDER_ESTABLISHED, WAY_CLOSED)},
	{"passed-udp-connected", "passing", passing_descriptor,
		ARG(OUTSIDER_CONNECTED, WAY_CLOSED)},
	{"passed-listener", "passing", passing_descriptor, ARG(OUTSIDER_LISTENER, WAY_CLOSED)},
	{"passed-netns", "passing", passing_descriptor, ARG(OUTSIDER_NETNS, WAY_CLOSED)},
	{"passed-tcp-open", "passing", passing_descriptor, ARG(OUTSIDER_TCP, WAY_OPEN)},
	{"passed-udp-open", "passing", passing_descriptor, ARG(OUTSIDER_UDP, WAY_OPEN)},
	{"passed-established-open", "passing", passing_descriptor,
		ARG(OUTSIDER_ESTABLISHED, WAY_OPEN)},
	{"passed-tcp-abstract", "passing", passing_descriptor, ARG(OUTSIDER_TCP, WAY_ABSTRACT)},
	{"passed-tcp-symlink", "passing", passing_descriptor, ARG(OUTSIDER_TCP, WAY_SYMLINK)},
	{"relay-stream", "unix", passing_relay, ARG(SOCK_STREAM, WAY_CLOSED)},
	{"relay-dgram", "unix", passing_relay, ARG(SOCK_DGRAM, WAY_CLOSED)},
	{"relay-seqpacket", "unix", passing_relay, ARG(SOCK_SEQPACKET, WAY_CLOSED)},
	{"relay-dgram-sendto", "unix", passing_sendto, WAY_CLOSED},
	{"relay-stream-open", "unix", passing_relay, ARG(SOCK_STREAM, WAY_OPEN)},
	{"relay-dgram-open", "unix", passing_sendto, WAY_OPEN},
	{"relay-abstract", "unix", passing_relay, ARG(SOCK_STREAM, WAY_ABSTRACT)},
	{"relay-symlink", "unix", passing_relay, ARG(SOCK_STREAM, WAY_SYMLINK)},
	{"relay-symlink-sendto", "unix", passing_sendto, WAY_SYMLINK},
	{"relay-folder-symlink", "unix", passing_relay, ARG(SOCK_STREAM, WAY_FOLDER_SYMLINK)},
	{"relay-relative", "unix", passing_relay, ARG(SOCK_STREAM, WAY_RELATIVE)},
	{"relay-relative-sendto", "unix", passing_sendto, WAY_RELATIVE},
	{"relay-dot", "unix", passing_relay, ARG(SOCK_STREAM, WAY_DOTS)},
	{"relay-dot-dot", "unix", passing_relay, ARG(SOCK_STREAM, WAY_DOTS_FROM_OPEN)},
	{"relay-slashes", "unix", passing_relay, ARG(SOCK_STREAM, WAY_SLASHES)},
	{"relay-slashes-dot-dot", "unix", passing_relay, ARG(SOCK_STREAM, WAY_SLASHES_FROM_OPEN)},
	{"relay-proc-root", "unix", passing_relay, ARG(SOCK_STREAM, WAY_PROC_ROOT)},
	{"relay-proc-cwd", "unix", passing_relay, ARG(SOCK_STREAM, WAY_PROC_CWD)},
	{"relay-proc-fd", "unix", passing_relay, ARG(SOCK_STREAM, WAY_DESCRIPTOR)},
	{"relay-hard-link", "unix", passing_relay, ARG(SOCK_STREAM, WAY_HARD_LINK)},
	{"relay-bind-mount", "unix", passing_relay, ARG(SOCK_STREAM, WAY_BIND)},
	{"relay-chroot", "unix", passing_relay, ARG(SOCK_STREAM, WAY_CHROOT)},
	{"relay-user-chroot", "unix", passing_relay, ARG(SOCK_STREAM, WAY_USER_CHROOT)},
	{"relay-user-bind-mount", "unix", passing_relay, ARG(SOCK_STREAM, WAY_USER_BIND)},
	{"relay-nested-netns", "unix", passing_nested, WAY_CLOSED},
	{"relay-uring", "unix", passing_ring},
	{"stranger-relay", "unix", passing_relay, ARG(SOCK_STREAM, WAY_CLOSED), ATTEMPT_STRANGER},
	{"daemon-control", "helper", passing_control, 0, ATTEMPT_INSIDE},
	{"stranger-daemon-control", "helper", passing_control, 0,
		ATTEMPT_INSIDE | ATTEMPT_STRANGER},
	{"helper-detach", "helper", passing_helper, 0, ATTEMPT_INSIDE},
	{"stranger-helper-detach", "helper", passing_helper, 0, ATTEMPT_INSIDE | ATTEMPT_STRANGER},
};

const struct attempt_list passing_list = ATTEMPTS(passing_rows);
