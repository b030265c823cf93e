/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connects.c – what a connect() costs: the clock of the bench, with no interpreter in the loop.
 *
 *   connects failing   ROUNDS CALLS BLOCK PACED EVENTS ARM ARM…
 *   connects succeeding ROUNDS CALLS ARM ARM
 *
 * An arm is one way to connect, a single argument of words:
 *   ERRNO ADDRESS PORT PLACES [LISTENERS]
 *   PLACES     NETNS.CGROUP+NETNS.CGROUP… open descriptors: where its sockets are made, in turn
 *   LISTENERS  FD+FD… where its connections arrive; accepted here, outside the time that is taken
 *
 * failing: every call must end with ERRNO. A call takes about as long as reading the clock twice,
 * so blocks of BLOCK calls are timed, the arms one after the other within each block. PACED: each
 * round begins in a new second of the monotonic clock, in which every place has its event budget
 * again. EVENTS: the ring buffer of refusals, emptied by a thread as the daemon does; -1 = none.
 * Output: a line "ROUND ARM NANOSECONDS", those of one call, for each block.
 *
 * succeeding: two arms, one call of each at a time, in changing order. Both ends are reset
 * afterwards, so that no port waits. Output: a line "ROUND FIRST SECOND", nanoseconds, for each pair.
 *
 * Whose hooks see a socket is settled when it is made (its cgroup, its namespace), so the sockets
 * are made over there and connected from here. They are left where they were found: a process of
 * one thread moves itself, so the thread for the events is started last.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

enum {
	CONNECTS_PLACES = 128,
	CONNECTS_LISTENERS = 16,
	CONNECTS_ARMS = 4,
	CONNECTS_BATCH = 1000, /* sockets of one arm that are open at once */
	CONNECTS_ACCEPT_MS = 2000,
	CONNECTS_LOOK_MS = 20,
};

struct connects_arm {
	int error; /* 0, or the errno that every call must give */
	struct sockaddr_storage to;
	socklen_t to_size;
	int netns[CONNECTS_PLACES], cgroups[CONNECTS_PLACES];
	unsigned int nplaces;
	struct pollfd listeners[CONNECTS_LISTENERS];
	unsigned int nlisteners;
	int sockets[CONNECTS_BATCH];
};

static struct connects_arm connects_arms[CONNECTS_ARMS];
static unsigned int connects_narms;

static void connects_die(const char *what)
{
	(void)fprintf(stderr, "connects: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t connects_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- arms */

static void connects_target(struct connects_arm *arm, const char *address, unsigned long port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&arm->to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&arm->to;

	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		arm->to_size = sizeof(*v4);
	} else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		arm->to_size = sizeof(*v6);
	} else {
		errno = EINVAL;
		connects_die(address);
	}
}

static void connects_places(struct connects_arm *arm, char *text)
{
	for (char *rest, *one = strtok_r(text, "+", &rest); one; one = strtok_r(NULL, "+", &rest)) {
		unsigned int i = arm->nplaces++;

		errno = EINVAL;
		if (i == CONNECTS_PLACES ||
			sscanf(one, "%d.%d", &arm->netns[i], &arm->cgroups[i]) != 2)
			connects_die("places");
	}
}

static void connects_listeners(struct connects_arm *arm, char *text)
{
	for (char *rest, *one = strtok_r(text, "+", &rest); one; one = strtok_r(NULL, "+", &rest)) {
		errno = EINVAL;
		if (arm->nlisteners == CONNECTS_LISTENERS)
			connects_die("listeners");
		arm->listeners[arm->nlisteners++] =
			(struct pollfd){.fd = atoi(one), .events = POLLIN};
	}
}

static void connects_arm(char *text)
{
	struct connects_arm *arm = &connects_arms[connects_narms++];
	char *words[5] = {NULL}, *rest;
	unsigned int n = 0;

	for (char *one = strtok_r(text, " ", &rest); one && n < 5; one = strtok_r(NULL, " ", &rest))
		words[n++] = one;
	errno = EINVAL;
	if (n < 4)
		connects_die("an arm has four words or five");
	arm->error = atoi(words[0]);
	connects_target(arm, words[1], strtoul(words[2], NULL, 10));
	connects_places(arm, words[3]);
	if (words[4])
		connects_listeners(arm, words[4]);
}

/* ---- sockets made elsewhere */

static void connects_join(int netns, int cgroup)
{
	int procs = openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (procs < 0 || write(procs, "0", 1) != 1)
		connects_die("cgroup.procs");
	(void)close(procs); /* written */
	if (setns(netns, CLONE_NEWNET) < 0)
		connects_die("setns");
}

/* n sockets, at place after place. */
static void connects_make(struct connects_arm *arm, unsigned int n)
{
	const struct linger reset = {.l_onoff = 1};

	for (unsigned int i = 0; i < n; i++) {
		if (i < arm->nplaces)
			connects_join(arm->netns[i], arm->cgroups[i]);
		arm->sockets[i] = socket(arm->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (arm->sockets[i] < 0)
			connects_die("socket");
		if (setsockopt(arm->sockets[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
			connects_die("SO_LINGER");
	}
}

/* ---- failing */

static void *connects_drain(void *ring)
{
	int r = 0;

	while (r >= 0 || r == -EINTR) {
		r = ring_buffer__poll(ring, CONNECTS_LOOK_MS);
		(void)ring_buffer__consume(ring); /* what came without waking anybody */
	}
	return NULL;
}

static int connects_ignore(void *arg, void *data, size_t n)
{
	(void)arg; /* the events are read to make room, not to be looked at */
	(void)data;
	(void)n;
	return 0;
}

static void connects_empty(int events)
{
	struct ring_buffer *ring = ring_buffer__new(events, connects_ignore, NULL, NULL);
	pthread_t thread;

	if (!ring || pthread_create(&thread, NULL, connects_drain, ring) != 0)
		connects_die("the events");
}

static int64_t connects_block(const struct connects_arm *arm, unsigned int place, unsigned int n)
{
	const struct sockaddr *to = (const struct sockaddr *)&arm->to;
	int fd = arm->sockets[place], wrong = 0;
	int64_t began = connects_now();

	for (unsigned int i = 0; i < n; i++)
		wrong |= connect(fd, to, arm->to_size) == 0 || errno != arm->error;
	if (wrong)
		connects_die("a connect() that ended otherwise");
	return connects_now() - began;
}

static void connects_next_second(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at); /* cannot fail for this clock */
	at = (struct timespec){.tv_sec = at.tv_sec + 1};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void connects_failing(
	unsigned int rounds, unsigned int calls, unsigned int block, bool paced)
{
	for (unsigned int round = 0; round < rounds; round++) {
		if (paced)
			connects_next_second();
		for (unsigned int b = 0; b < calls / block; b++)
			for (unsigned int a = 0; a < connects_narms; a++) {
				const struct connects_arm *arm =
					&connects_arms[(a + b) % connects_narms];
				int64_t took = connects_block(arm, b % arm->nplaces, block);

				(void)printf("%u %u %.1f\n", round, (a + b) % connects_narms,
					(double)took / block);
			}
	}
}

/* ---- succeeding */

static void connects_accept(struct connects_arm *arm)
{
	const struct linger reset = {.l_onoff = 1};
	int fd = -1;

	if (poll(arm->listeners, arm->nlisteners, CONNECTS_ACCEPT_MS) <= 0)
		connects_die("nothing arrived at the listeners");
	for (unsigned int i = 0; i < arm->nlisteners; i++)
		if (arm->listeners[i].revents & POLLIN)
			fd = accept4(arm->listeners[i].fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
		connects_die("accept");
	(void)close(fd); /* resets */
}

static int64_t connects_one(struct connects_arm *arm, unsigned int i)
{
	int64_t began = connects_now(), ended;
	int r = connect(arm->sockets[i], (const struct sockaddr *)&arm->to, arm->to_size);

	ended = connects_now();
	if (r < 0)
		connects_die("connect");
	connects_accept(arm);
	(void)close(arm->sockets[i]); /* was reset */
	return ended - began;
}

static void connects_succeeding(unsigned int rounds, unsigned int calls)
{
	int64_t took[2];

	for (unsigned int round = 0; round < rounds; round++)
		for (unsigned int i = 0; i < calls; i++) {
			unsigned int at = i % CONNECTS_BATCH;
			unsigned int left = calls - i;

			for (unsigned int a = 0; at == 0 && a < 2; a++)
				connects_make(&connects_arms[a],
					left < CONNECTS_BATCH ? left : CONNECTS_BATCH);
			for (unsigned int a = 0; a < 2; a++) {
				unsigned int arm = (a + i) % 2;

				took[arm] = connects_one(&connects_arms[arm], at);
			}
			(void)printf(
				"%u %lld %lld\n", round, (long long)took[0], (long long)took[1]);
		}
}

/* ---- */

int main(int argc, char **argv)
{
	bool failing = argc > 1 && strcmp(argv[1], "failing") == 0;
	int first = failing ? 7 : 4;
	unsigned int rounds, calls;

	if (argc < first + 2 || argc > first + CONNECTS_ARMS ||
		(!failing && (strcmp(argv[1], "succeeding") != 0 || argc != first + 2))) {
		(void)fprintf(stderr,
			"usage: connects failing ROUNDS CALLS BLOCK PACED EVENTS ARM ARM…\n"
			"       connects succeeding ROUNDS CALLS ARM ARM\n");
		return 2;
	}
	rounds = (unsigned int)strtoul(argv[2], NULL, 10);
	calls = (unsigned int)strtoul(argv[3], NULL, 10);
	for (int i = first; i < argc; i++)
		connects_arm(argv[i]);
	if (!failing) {
		connects_succeeding(rounds, calls);
		return 0;
	}
	for (unsigned int a = 0; a < connects_narms; a++)
		connects_make(&connects_arms[a], connects_arms[a].nplaces);
	if (atoi(argv[6]) >= 0)
		connects_empty(atoi(argv[6]));
	connects_failing(
		rounds, calls, (unsigned int)strtoul(argv[4], NULL, 10), atoi(argv[5]) != 0);
	return 0;
}
