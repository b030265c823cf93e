/* SPDX-License-Identifier: Apache-2.0 */
/* uring.c – the same asked of the kernel through io_uring: no system call that a hook could be on. */
#include <errno.h>
#include <liburing.h>
#include <string.h>
#include <unistd.h>

#include "tests/battery/attempt.h"

enum { URING_SQPOLL = 1, URING_ASYNC = 2, URING_V6 = 4 };

static struct io_uring *uring_start(const struct arena *a)
{
	static struct io_uring ring;
	struct io_uring_params p = {
		.flags = a->arg & URING_SQPOLL ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 1000};

	needs_code(-io_uring_queue_init_params(8, &ring, &p), "io_uring_setup");
	return &ring;
}

/* Submits and waits for one; its result, an errno turned negative. */
static int uring_do(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int r;

	needs_code(io_uring_submit(ring) < 0 ? EIO : 0, "io_uring_enter");
	needs_code(-io_uring_wait_cqe(ring, &cqe), "io_uring_enter");
	r = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return r;
}

/* A negative result: "unknown operation" is not a refusal. */
static int uring_tries(int r, const char *step)
{
	errno = r < 0 ? -r : 0;
	return r == -EINVAL ? needs(-1, step) : tries(r < 0 ? -1 : r, step);
}

static struct io_uring_sqe *uring_next(struct io_uring *ring, const struct arena *a)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	memset(sqe, 0, sizeof(*sqe));
	if (a->arg & URING_ASYNC)
		sqe->flags |= IOSQE_ASYNC;
	return sqe;
}

static struct address uring_to(const struct arena *a)
{
	return a->arg & URING_V6 ? here6(a) : here4(a);
}

static void uring_send(struct io_uring *ring, int sock, const struct arena *a)
{
	struct io_uring_sqe *sqe = uring_next(ring, a);

	io_uring_prep_send(sqe, sock, a->token, strlen(a->token), MSG_NOSIGNAL);
	(void)uring_tries(uring_do(ring), "send");
	sent();
}

static void uring_connect(const struct arena *a)
{
	struct io_uring *ring = uring_start(a);
	struct address to = uring_to(a);
	int sock = tcp(to.any.sa_family);
	struct io_uring_sqe *sqe = uring_next(ring, a);

	io_uring_prep_connect(sqe, sock, &to.any, to.n);
	if (a->arg & URING_ASYNC)
		sqe->flags |= IOSQE_ASYNC;
	(void)uring_tries(uring_do(ring), "connect");
	uring_send(ring, sock, a);
}

/* The socket too is made by the ring: socket(2) is never called. */
static void uring_socket(const struct arena *a)
{
	struct io_uring *ring = uring_start(a);
	struct address to = uring_to(a);
	struct io_uring_sqe *sqe = uring_next(ring, a);
	int sock;

	io_uring_prep_socket(sqe, to.any.sa_family, SOCK_STREAM, 0, 0);
	sock = uring_tries(uring_do(ring), "socket");
	sqe = uring_next(ring, a);
	io_uring_prep_connect(sqe, sock, &to.any, to.n);
	(void)uring_tries(uring_do(ring), "connect");
	uring_send(ring, sock, a);
}

/* Socket → connect → send, linked, on a direct descriptor that no process table holds. */
static void uring_linked(const struct arena *a)
{
	struct io_uring *ring = uring_start(a);
	struct address to = uring_to(a);
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	int none[1] = {-1};

	needs_code(-io_uring_register_files(ring, none, 1), "direct descriptors");
	sqe = uring_next(ring, a);
	io_uring_prep_socket_direct(sqe, AF_INET, SOCK_STREAM, 0, 0, 0);
	sqe->flags |= IOSQE_IO_LINK;
	sqe = uring_next(ring, a);
	io_uring_prep_connect(sqe, 0, &to.any, to.n);
	sqe->flags |= IOSQE_IO_LINK | IOSQE_FIXED_FILE;
	sqe = uring_next(ring, a);
	io_uring_prep_send(sqe, 0, a->token, strlen(a->token), MSG_NOSIGNAL);
	sqe->flags |= IOSQE_FIXED_FILE;
	needs_code(io_uring_submit(ring) < 0 ? EIO : 0, "io_uring_enter");
	for (int i = 0; i < 3; i++) {
		int r;

		needs_code(-io_uring_wait_cqe(ring, &cqe), "io_uring_enter");
		r = cqe->res;
		io_uring_cqe_seen(ring, cqe);
		(void)uring_tries(r, i == 0 ? "socket" : i == 1 ? "connect" : "send");
	}
	sent();
}

/* SENDMSG with MSG_FASTOPEN: a connect by sending. */
static void uring_fastopen(const struct arena *a)
{
	struct io_uring *ring = uring_start(a);
	struct address to = uring_to(a);
	struct iovec part = {(char *)a->token, strlen(a->token)};
	struct msghdr message = {
		.msg_name = &to.any, .msg_namelen = to.n, .msg_iov = &part, .msg_iovlen = 1};
	struct io_uring_sqe *sqe = uring_next(ring, a);

	io_uring_prep_sendmsg(sqe, tcp(to.any.sa_family), &message, MSG_FASTOPEN | MSG_NOSIGNAL);
	(void)uring_tries(uring_do(ring), "sendmsg");
	sent();
}

static void uring_sendmsg(const struct arena *a)
{
	struct io_uring *ring = uring_start(a);
	struct address to = uring_to(a);
	struct iovec part = {(char *)a->token, strlen(a->token)};
	struct msghdr message = {
		.msg_name = &to.any, .msg_namelen = to.n, .msg_iov = &part, .msg_iovlen = 1};
	struct io_uring_sqe *sqe = uring_next(ring, a);

	io_uring_prep_sendmsg(sqe, udp(to.any.sa_family), &message, 0);
	(void)uring_tries(uring_do(ring), "sendmsg");
	sent();
}

static void uring_sendmsg_zc(const struct arena *a)
{
	struct io_uring *ring = uring_start(a);
	struct address to = uring_to(a);
	struct iovec part = {(char *)a->token, strlen(a->token)};
	struct msghdr message = {
		.msg_name = &to.any, .msg_namelen = to.n, .msg_iov = &part, .msg_iovlen = 1};
	struct io_uring_sqe *sqe = uring_next(ring, a);

	io_uring_prep_sendmsg(sqe, udp(to.any.sa_family), &message, 0);
	sqe->opcode = IORING_OP_SENDMSG_ZC;
	(void)uring_tries(uring_do(ring), "sendmsg_zc");
	sent();
}

/* SEND and SEND_ZC with an address: addr2 and addr_len of the entry. */
static void uring_addressed(const struct arena *a, uint8_t opcode)
{
	struct io_uring *ring = uring_start(a);
	struct address to = uring_to(a);
	struct io_uring_sqe *sqe = uring_next(ring, a);

	io_uring_prep_send(sqe, udp(to.any.sa_family), a->token, strlen(a->token), 0);
	sqe->opcode = opcode;
	sqe->addr2 = (uint64_t)(uintptr_t)&to.any;
	sqe->addr_len = (uint16_t)to.n;
	(void)uring_tries(uring_do(ring), "send with an address");
	sent();
}

static void uring_send_to(const struct arena *a)
{
	uring_addressed(a, IORING_OP_SEND);
}

static void uring_send_zc(const struct arena *a)
{
	uring_addressed(a, IORING_OP_SEND_ZC);
}

static const struct attempt uring_rows[] = {
	{"uring-connect", "io_uring", uring_connect},
	{"uring-connect6", "io_uring", uring_connect, URING_V6},
	{"uring-connect-async", "io_uring", uring_connect, URING_ASYNC},
	{"uring-connect-sqpoll", "io_uring", uring_connect, URING_SQPOLL},
	{"uring-socket-connect", "io_uring", uring_socket},
	{"uring-socket-connect-sqpoll", "io_uring", uring_socket, URING_SQPOLL},
	{"uring-linked-direct", "io_uring", uring_linked},
	{"uring-linked-direct-sqpoll", "io_uring", uring_linked, URING_SQPOLL},
	{"uring-tfo", "io_uring", uring_fastopen},
	{"uring-sendmsg", "io_uring", uring_sendmsg},
	{"uring-sendmsg6", "io_uring", uring_sendmsg, URING_V6},
	{"uring-sendmsg-sqpoll", "io_uring", uring_sendmsg, URING_SQPOLL},
	{"uring-sendmsg-async", "io_uring", uring_sendmsg, URING_ASYNC},
	{"uring-sendmsg-zc", "io_uring", uring_sendmsg_zc},
	{"uring-send-addressed", "io_uring", uring_send_to},
	{"uring-send-zc", "io_uring", uring_send_zc},
	{"uring-send-zc-sqpoll", "io_uring", uring_send_zc, URING_SQPOLL},
};

const struct attempt_list uring_list = ATTEMPTS(uring_rows);
