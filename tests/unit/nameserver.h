/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nameserver.h – a real name server for the tests of upstream/: a thread that answers UDP and TCP on 127.0.0.1, where
 * the first label of the name says how. server_start → server_stop. Included behind cmocka.h.
 */
#ifndef SALLYPORT_TEST_NAMESERVER_H
#define SALLYPORT_TEST_NAMESERVER_H

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/addr.h"

enum { A = 1, CNAME = 5, TXT = 16, AAAA = 28, PACKET = 2048 };

struct server {
	int udp, tcp, wake[2];
	struct addr at;
	pthread_t thread;
	atomic_uint udp_queries, tcp_queries;
};

struct answer {
	uint8_t p[PACKET];
	size_t n;
};

static void put(struct answer *a, const void *p, size_t n)
{
	memcpy(a->p + a->n, p, n);
	a->n += n;
}

/* One record; its owner is a pointer to the question, or the bytes of a name. */
static void put_record(struct answer *a, const char *owner, size_t owner_n, unsigned type,
	const void *data, size_t n)
{
	const uint8_t middle[] = {0, (uint8_t)type, 0, 1, 0, 0, 0, 30, 0, (uint8_t)n};

	put(a, owner, owner_n);
	put(a, middle, sizeof(middle));
	put(a, data, n);
	a->p[7]++;
}

#define POINTER "\xc0\x0c", 2

static void put_addresses(
	struct answer *a, unsigned type, const char *owner, size_t owner_n, unsigned count)
{
	for (unsigned i = 1; i <= count; i++) {
		const uint8_t v4[] = {203, 0, 113, (uint8_t)i};
		const uint8_t v6[16] = {0x20, 1, 0xd, 0xb8, [15] = (uint8_t)i};

		put_record(a, owner, owner_n, type, type == A ? v4 : v6, type == A ? 4 : 16);
	}
}

/* Writes the answer to the query, n = 0 for silence. */
static void server_answer(const uint8_t *query, size_t n, bool tcp, struct answer *a)
{
	char label[64] = {0};
	size_t end = 12;
	unsigned type;

	a->n = 0;
	if (n < 17 || query[12] > 63)
		return;
	memcpy(label, query + 13, query[12]);
	while (end < n && query[end])
		end += 1 + query[end];
	type = query[end + 2];
	put(a, query, end + 5);
	memcpy(a->p + 2, "\x81\x80\0\1\0\0\0\0\0\0", 10);

#define IS(word) (strcasecmp(label, word) == 0)
	if (IS("a") && type == A)
		put_addresses(a, A, POINTER, 2);
	else if (IS("aaaa") && type == AAAA)
		put_addresses(a, AAAA, POINTER, 2);
	else if (IS("both"))
		put_addresses(a, type, POINTER, 2);
	else if (IS("many"))
		put_addresses(a, type, POINTER, 12);
	else if (IS("cname")) {
		put_record(a, POINTER, CNAME, "\1x\4test\0", 8);
		put_record(a, "\1x\4test\0", 8, CNAME, "\1y\4test\0", 8);
		put_addresses(a, type, "\1y\4test\0", 8, 1);
	} else if (IS("text")) {
		put_record(a, POINTER, CNAME, "\1x\4test\0", 8);
		put_record(a, "\1x\4test\0", 8, type, "\2hi", 3);
	} else if (IS("dangling"))
		put_record(a, POINTER, CNAME, "\1x\4test\0", 8);
	else if (IS("nx"))
		a->p[3] |= 3;
	else if (IS("half") && type == A)
		a->p[3] |= 3;
	else if (IS("servfail"))
		a->p[3] |= 2;
	else if (IS("refused"))
		a->p[3] |= 5;
	else if (IS("fail6")) {
		if (type == A)
			put_addresses(a, A, POINTER, 1);
		else
			a->p[3] |= 2;
	} else if (IS("silent"))
		a->n = 0;
	else if (IS("slow6") && type == AAAA)
		a->n = 0;
	else if (IS("slow6"))
		put_addresses(a, A, POINTER, 1);
	else if (IS("tc") && !tcp)
		a->p[2] |= 2;
	else if (IS("tc"))
		put_addresses(a, type, POINTER, 1);
	else if (IS("garbage"))
		memset(a->p + 3, 0xff, a->n - 3);
	else if (IS("cut")) {
		put_addresses(a, type, POINTER, 1);
		a->n -= 3;
	} else if (IS("loop")) {
		const char self[] = {(char)0xc0, (char)a->n, 0};

		put_record(a, self, 2, type, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", type == A ? 4 : 16);
	} else if (IS("odd"))
		put_record(a, POINTER, type, "\1\2\3", 3);
#undef IS
}

/* One query of a connection. Whether the connection goes on: the resolver keeps it as long as anything is asked. */
static bool server_tcp(struct server *s, int fd)
{
	uint8_t query[PACKET], head[2];
	struct answer a;
	size_t n;

	if (recv(fd, head, 2, MSG_WAITALL) != 2)
		return false;
	n = (size_t)head[0] << 8 | head[1];
	if (n > sizeof(query) || recv(fd, query, n, MSG_WAITALL) != (ssize_t)n)
		return false;
	s->tcp_queries++;
	server_answer(query, n, true, &a);
	head[0] = (uint8_t)(a.n >> 8);
	head[1] = (uint8_t)a.n;
	(void)send(fd, head, 2, MSG_NOSIGNAL | MSG_MORE);
	(void)send(fd, a.p, a.n, MSG_NOSIGNAL);
	return true;
}

static void server_udp(struct server *s)
{
	struct sockaddr_storage from;
	socklen_t from_n = sizeof(from);
	uint8_t query[PACKET];
	struct answer a;
	ssize_t n = recvfrom(s->udp, query, sizeof(query), 0, (struct sockaddr *)&from, &from_n);

	s->udp_queries++;
	server_answer(query, n > 0 ? (size_t)n : 0, false, &a);
	if (a.n)
		(void)sendto(s->udp, a.p, a.n, 0, (struct sockaddr *)&from, from_n);
}

static void *server_run(void *arg)
{
	struct server *s = arg;
	int connection = -1;

	for (;;) {
		struct pollfd fds[] = {{s->udp, POLLIN, 0},
			{connection < 0 ? s->tcp : connection, POLLIN, 0}, {s->wake[0], POLLIN, 0}};

		(void)poll(fds, 3, -1);
		if (fds[2].revents)
			break;
		if (fds[0].revents)
			server_udp(s);
		if (fds[1].revents && connection < 0)
			connection = accept(s->tcp, NULL, NULL);
		else if (fds[1].revents && !server_tcp(s, connection)) {
			(void)close(connection);
			connection = -1;
		}
	}
	if (connection >= 0)
		(void)close(connection);
	return NULL;
}

static void server_start(struct server *s)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(in);

	s->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	s->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->udp, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(getsockname(s->udp, (struct sockaddr *)&in, &n), 0);
	assert_int_equal(bind(s->tcp, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(s->tcp, 8), 0);
	assert_int_equal(addr_from_sockaddr((struct sockaddr *)&in, n, &s->at), 0);
	assert_int_equal(pipe(s->wake), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static void server_stop(struct server *s)
{
	assert_int_equal(write(s->wake[1], "", 1), 1);
	pthread_join(s->thread, NULL);
	(void)close(s->udp);
	(void)close(s->tcp);
	(void)close(s->wake[0]);
	(void)close(s->wake[1]);
}

#endif
