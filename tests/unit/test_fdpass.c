/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fdpass.c – messages with descriptors over a socket pair. After every failure, and after the
 * tests as a whole, no descriptor is left over.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdpass.h"

enum { FD_PROBE = 512 };

static unsigned open_count(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < FD_PROBE; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void pair(int ret[2])
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret), 0);
}

static void pair_close(int s[2])
{
	(void)close(s[0]);
	(void)close(s[1]);
}

/* n copies of one end of a pipe; the caller closes them. */
static void copies(int from, int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = fcntl(from, F_DUPFD_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
	}
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(close(fds[i]), 0);
}

static void test_bytes_only(void **state)
{
	int s[2], fds[4];
	size_t n = 4;
	char got[16];

	(void)state;
	pair(s);
	assert_int_equal(fdpass_recv(s[1], got, sizeof(got), fds, &n), -EAGAIN);
	assert_int_equal(n, 0);
	assert_int_equal(fdpass_send(s[0], "hello", 5, NULL, 0), 0);
	n = 4;
	assert_int_equal(fdpass_recv(s[1], got, sizeof(got), fds, &n), 5);
	assert_int_equal(n, 0);
	assert_memory_equal(got, "hello", 5);
	assert_int_equal(fdpass_send(s[0], got, sizeof(got), NULL, 0), 0);
	assert_int_equal(fdpass_recv(s[1], got, sizeof(got), fds, &n), (long)sizeof(got));
	(void)close(s[0]);
	assert_int_equal(fdpass_recv(s[1], got, sizeof(got), fds, &n), 0);
	(void)close(s[1]);
}

static void test_descriptors(void **state)
{
	int s[2], p[2], sent[FDPASS_MAX], fds[FDPASS_MAX];
	unsigned before = open_count();
	size_t n = FDPASS_MAX;
	char got[4], c;

	(void)state;
	pair(s);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	copies(p[1], sent, FDPASS_MAX);
	assert_int_equal(fdpass_send(s[0], "all", 3, sent, FDPASS_MAX), 0);
	assert_int_equal(fdpass_send(s[0], "all", 3, sent, FDPASS_MAX + 1), -EINVAL);
	close_all(sent, FDPASS_MAX);
	assert_int_equal(fdpass_recv(s[1], got, sizeof(got), fds, &n), 3);
	assert_int_equal(n, FDPASS_MAX);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(write(fds[i], "x", 1), 1);
		assert_int_equal(read(p[0], &c, 1), 1);
	}
	close_all(fds, n);
	pair_close(p);
	pair_close(s);
	assert_int_equal(open_count(), before);
}

/* Too many descriptors or bytes for the receiver: refused whole, nothing kept open. */
static void test_cut_off(void **state)
{
	static const struct {
		size_t nsent, room, bytes;
	} rows[] = {{3, 2, 4}, {1, 0, 4}, {FDPASS_MAX, 1, 4}, {2, 4, 2}, {0, 4, 2}};
	unsigned before = open_count();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int s[2], sent[FDPASS_MAX], fds[FDPASS_MAX];
		size_t n = rows[i].room;
		unsigned now;
		char got[4];

		pair(s);
		copies(s[0], sent, rows[i].nsent);
		assert_int_equal(fdpass_send(s[0], "four", 4, sent, rows[i].nsent), 0);
		close_all(sent, rows[i].nsent);
		now = open_count();
		assert_int_equal(fdpass_recv(s[1], got, rows[i].bytes, fds, &n), -EMSGSIZE);
		assert_int_equal(n, 0);
		assert_int_equal(open_count(), now);
		pair_close(s);
	}
	assert_int_equal(open_count(), before);
}

/* An empty message is told as the end; descriptors that came with it must not be lost in that. */
static void test_empty_message(void **state)
{
	unsigned before = open_count();
	int s[2], fds[4];
	size_t n = 4;
	char got[4];

	(void)state;
	pair(s);
	assert_int_equal(fdpass_send(s[0], "", 0, s, 2), 0);
	assert_int_equal(fdpass_recv(s[1], got, sizeof(got), fds, &n), 0);
	assert_int_equal(n, 0);
	pair_close(s);
	assert_int_equal(open_count(), before);
}

static void test_peer_gone(void **state)
{
	int s[2];

	(void)state;
	pair(s);
	(void)close(s[1]);
	assert_int_equal(fdpass_send(s[0], "x", 1, NULL, 0), -EPIPE); /* and no SIGPIPE */
	(void)close(s[0]);
	assert_int_equal(fdpass_send(-1, "x", 1, NULL, 0), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_only),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_empty_message),
		cmocka_unit_test(test_peer_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
