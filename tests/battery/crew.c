/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew.c – the attempts, run: each in a process of its own, some at a time, each with a deadline.
 *
 *   attempts list                        the table, one JSON object a line
 *   attempts crew CAPS WHO KEY=VALUE…    runs them; WHO is `inside` or `stranger`
 *   attempts outsider …                  the confederate outside, see outsider.c
 *   attempts dial ADDRESS PORT TOKEN     the image that an attempt executes
 *
 * A crew is started in the namespace and the cgroup of the sandbox, before the attach: it becomes
 * CAPS, makes the sockets that are to be older than the attach, says "ready" and waits. On "go" it
 * runs what may run side by side and says "done"; on "serial" the rest, one after the other. After
 * each attempt a line about what it said of itself. It ends with its standard input.
 *
 * An attempt is the leader of a process group, which is killed at the deadline and at the end.
 *
 * #syscalls: whatever the attempts try
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/battery/capset.h"
#include "tests/battery/crew.h"

enum { CREW_MOST = 512, CREW_AT_ONCE = 16, CREW_DEADLINE_MS = 3000, CREW_LONG_MS = 10000 };

static const struct attempt_list *const crew_lists[] = {&forms_list, &methods_list, &fastopen_list,
	&udp_list, &uring_list, &old_list, &cgroups_list, &options_list, &raw_list, &packet_list,
	&families_list, &foreign_list, &passing_list, &process_list, &inbound_list, &controls_list,
	&links_list};

static const char *const crew_said[SAID_COUNT] = {[SAID_NOTHING] = "nothing",
	[SAID_SENT] = "sent",
	[SAID_REFUSED] = "refused",
	[SAID_UNSUPPORTED] = "unsupported",
	[SAID_EXPOSED] = "exposed",
	[SAID_WORKS] = "works",
	[SAID_BROKEN] = "broken"};

struct crew {
	const struct attempt *attempts[CREW_MOST];
	size_t n;
	struct scene scene;
	int fds[CREW_MOST]; /* of prepare() */
	int errors[CREW_MOST]; /* … why there is none */
	pid_t pids[CREW_MOST];
	int64_t deadlines[CREW_MOST];
	struct report *reports; /* shared with the children */
	unsigned int stranger; /* ATTEMPT_STRANGER or 0 */
};

static int64_t crew_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void crew_join(struct crew *c)
{
	for (size_t l = 0; l < sizeof(crew_lists) / sizeof(crew_lists[0]); l++)
		for (size_t i = 0; i < crew_lists[l]->n && c->n < CREW_MOST; i++)
			c->attempts[c->n++] = &crew_lists[l]->rows[i];
}

/* One of its own in the three documentation networks, beside what the world uses of them. */
static struct in_addr crew_address4(size_t i)
{
	static const struct {
		uint32_t first;
		size_t n;
	} rows[] = {{0xcb00713c, 190}, {0xc6336414, 230}, {0xc0000214, CREW_MOST}};
	size_t row = 0;

	for (; i >= rows[row].n; row++)
		i -= rows[row].n;
	return (struct in_addr){htonl(rows[row].first + (uint32_t)i)};
}

static struct arena crew_arena(const struct crew *c, size_t i)
{
	struct arena a = {.scene = &c->scene,
		.attempt = c->attempts[i],
		.arg = c->attempts[i]->arg,
		.fd = c->fds[i],
		.v4 = crew_address4(i)};

	a.port = c->attempts[i]->port ? c->attempts[i]->port : (uint16_t)(c->scene.base + i);
	a.v6 = (struct in6_addr){
		.s6_addr = {0x20, 0x01, 0x0d,
			0xb8, [12] = 0, [13] = 0xbb, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i}};
	(void)snprintf(a.token, sizeof(a.token), "SPBATTERY-%s-%zu.", c->scene.nonce, i);
	return a;
}

static int crew_list(const struct crew *c)
{
	char ip[INET_ADDRSTRLEN];

	for (size_t i = 0; i < c->n; i++) {
		const struct attempt *at = c->attempts[i];
		struct in_addr v4 = crew_address4(i);

		(void)printf("{\"index\": %zu, \"name\": \"%s\", \"kind\": \"%s\", \"port\": %u, "
			     "\"address\": \"%s\", \"flags\": %u}\n",
			i, at->name, at->kind, at->port, inet_ntop(AF_INET, &v4, ip, sizeof(ip)),
			at->flags);
	}
	return 0;
}

static bool crew_wanted(const struct crew *c, size_t i, unsigned int serial)
{
	unsigned int flags = c->attempts[i]->flags;

	if ((flags & ATTEMPT_INSIDE) && !*c->scene.id)
		return false;
	return (flags & ATTEMPT_STRANGER) == c->stranger && (flags & ATTEMPT_SERIAL) == serial;
}

static void crew_prepare(struct crew *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct arena a = crew_arena(c, i);

		if (!crew_wanted(c, i, 0) || !a.attempt->prepare)
			continue;
		c->fds[i] = a.attempt->prepare(&a);
		if (c->fds[i] < 0)
			c->errors[i] = -c->fds[i];
	}
}

/* Those that wait longest are those that a guard lets wait; controls and scripts only need time. */
static int crew_deadline(const struct crew *c, size_t i)
{
	unsigned int patient = ATTEMPT_SERIAL | ATTEMPT_CONTROL;

	return c->scene.patience *
	       (c->attempts[i]->flags & patient ? CREW_LONG_MS : CREW_DEADLINE_MS);
}

static int crew_start(struct crew *c, size_t i, int deadline_ms)
{
	struct arena a = crew_arena(c, i);
	sigset_t none;

	c->pids[i] = fork();
	if (c->pids[i] < 0)
		return -errno;
	if (c->pids[i] > 0) {
		(void)setpgid(
			c->pids[i], c->pids[i]); /* the child does the same: whoever is first */
		c->deadlines[i] = crew_now() + deadline_ms;
		return 0;
	}
	(void)setpgid(0, 0);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	report_to(&c->reports[i]);
	if (c->errors[i])
		report(SAID_UNSUPPORTED, c->errors[i], "before the attach");
	a.attempt->run(&a);
	report(SAID_BROKEN, 0, "came back without a word");
}

static void crew_tell(struct crew *c, size_t i, int status)
{
	const struct report *r = &c->reports[i];
	int said = __atomic_load_n(&r->said, __ATOMIC_ACQUIRE);
	bool crashed = WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL;

	if (said == SAID_NOTHING && crashed) /* as int 0x80 does where there is no 32-bit entry */
		(void)printf(
			"{\"name\": \"%s\", \"said\": \"unsupported\", \"errno\": 0, \"step\": "
			"\"signal %d\"}\n",
			c->attempts[i]->name, WTERMSIG(status));
	else
		(void)printf(
			"{\"name\": \"%s\", \"said\": \"%s\", \"errno\": %d, \"step\": \"%s\"}\n",
			c->attempts[i]->name, crew_said[said], r->error, r->step);
	(void)fflush(stdout);
}

static size_t crew_find(const struct crew *c, pid_t pid)
{
	size_t i = 0;

	while (i < c->n && c->pids[i] != pid)
		i++;
	return i;
}

/* Takes one that ended, or kills what is over its deadline. Whether one ended. */
static bool crew_reap(struct crew *c)
{
	const struct timespec tick = {0, 20 * 1000000};
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG);
	sigset_t set;
	size_t i;

	if (pid > 0) {
		i = crew_find(c, pid);
		if (i == c->n)
			return false;
		(void)kill(-pid, SIGKILL); /* what it left; ESRCH otherwise */
		c->pids[i] = 0;
		crew_tell(c, i, status);
		return true;
	}
	for (i = 0; i < c->n; i++)
		if (c->pids[i] > 0 && crew_now() > c->deadlines[i])
			(void)kill(-c->pids[i], SIGKILL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigtimedwait(&set, NULL, &tick); /* until one ends, or to look at the deadlines */
	return false;
}

static void crew_run(struct crew *c, unsigned int serial)
{
	size_t at_once = serial ? 1 : CREW_AT_ONCE, running = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (!crew_wanted(c, i, serial))
			continue;
		while (running == at_once)
			running -= crew_reap(c);
		if (crew_start(c, i, crew_deadline(c, i)) == 0)
			running++;
	}
	while (running)
		running -= crew_reap(c);
	(void)printf("{\"name\": \"\", \"said\": \"done\", \"errno\": 0, \"step\": \"\"}\n");
	(void)fflush(stdout);
}

static int crew_fail(const char *what, int error)
{
	(void)fprintf(stderr, "attempts: %s: %s\n", what, strerror(error));
	return 1;
}

static int crew_main(struct crew *c, int argc, char **argv)
{
	char line[32];
	sigset_t set;
	int r;

	if (argc < 2 || scene_parse(argc - 2, argv + 2, &c->scene) < 0)
		return crew_fail("usage: crew CAPS WHO KEY=VALUE...", EINVAL);
	c->stranger = strcmp(argv[1], "stranger") == 0 ? ATTEMPT_STRANGER : 0;
	r = capset_become(argv[0]);
	if (r < 0)
		return crew_fail(argv[0], -r);
	c->reports = mmap(NULL, CREW_MOST * sizeof(*c->reports), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->reports == MAP_FAILED)
		return crew_fail("shared memory", errno);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return crew_fail("signals", errno);
	crew_prepare(c);
	(void)printf("{\"name\": \"\", \"said\": \"ready\", \"errno\": 0, \"step\": \"\"}\n");
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		crew_run(c, strcmp(line, "serial\n") == 0 ? ATTEMPT_SERIAL : 0);
	return 0;
}

int main(int argc, char **argv)
{
	static struct crew crew;

	for (size_t i = 0; i < CREW_MOST; i++)
		crew.fds[i] = -1;
	crew_join(&crew);
	if (argc > 1 && strcmp(argv[1], "list") == 0)
		return crew_list(&crew);
	if (argc > 1 && strcmp(argv[1], "crew") == 0)
		return crew_main(&crew, argc - 2, argv + 2);
	if (argc > 1 && strcmp(argv[1], "outsider") == 0)
		return outsider(argc - 2, argv + 2);
	if (argc > 1 && strcmp(argv[1], "dial") == 0)
		return methods_dial(argc - 2, argv + 2);
	return crew_fail("usage: list | crew | outsider | dial", EINVAL);
}
