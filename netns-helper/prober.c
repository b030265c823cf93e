/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prober.c – see prober.h.
 *
 * Why a process of its own: a socket belongs to the cgroup of who made it, so a process must be made in the sandbox's
 * cgroup (clone3, CLONE_INTO_CGROUP), and quickly, for an attach waits for it. A copy of the address space costs
 * milliseconds where processes are slow to make; sharing it (CLONE_VM) a tenth. But who shares the helper's memory dies
 * with it: a sandbox that is out of memory at that moment would have the helper killed. Here it kills this process,
 * which nobody misses: the next question starts another.
 *
 * The made process has a stack out of a few that are here, and shares everything in memory, errno too: it makes system
 * calls without libc's help, and nothing else. Its descriptors are a copy of the few that are open here. It may be
 * frozen or killed at any time; its stack is free again when the kernel has cleared `busy` at its end.
 *
 * #syscalls: socketpair fork prctl close_range recvmsg sendmsg clone3 openat getdents64 exit_group; of what is made:
 * setns socket setsockopt connect sendto write exit
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/probe.h"
#include "netns-helper/prober.h"

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/limits.h"

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

enum {
	PROBER_SOCKET = 3, /* its only descriptor between questions */
	PROBER_FDS = 3, /* of a question: the cgroup, the namespace, where to answer */
	PROBER_DEPTH = 4, /* levels below that are tried when one takes no process itself */
	PROBER_TRIES = 64, /* … and cgroups in all */
	PROBER_STACKS = 64, /* processes at once */
	PROBER_STACK = 16384,
};

struct prober_question {
	int32_t v6;
	int32_t pad;
};

/* What a made process knows. */
struct prober_task {
	pid_t busy; /* not 0: it lives; cleared by the kernel */
	int netns, answer;
	bool v6;
	struct sockaddr_in place4;
	struct sockaddr_in6 place6;
	char stack[PROBER_STACK] __attribute__((aligned(16)));
};

/* ---- the made process: no libc, no TLS */

#define PROBER_BARE __attribute__((no_sanitize("address", "undefined")))

PROBER_BARE static long prober_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

PROBER_BARE static bool prober_knock(const struct prober_task *t, int family, int type)
{
	static const struct timeval limit = {.tv_sec = TIME_SELFTEST_KNOCK / 1000};
	long place = family == AF_INET ? (long)&t->place4 : (long)&t->place6;
	long n = family == AF_INET ? sizeof(t->place4) : sizeof(t->place6);
	long fd = prober_call(SYS_socket, family, type, 0, 0, 0, 0);

	if (fd < 0)
		return false;
	(void)prober_call(
		SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&limit, sizeof(limit), 0);
	if (type == SOCK_STREAM)
		return prober_call(SYS_connect, fd, place, n, 0, 0, 0) == -ECONNREFUSED;
	return prober_call(SYS_sendto, fd, place, 0, 0, place, n) == -ECONNREFUSED;
}

PROBER_BARE static int prober_knocks(const struct prober_task *t)
{
	if (prober_call(SYS_setns, t->netns, CLONE_NEWNET, 0, 0, 0, 0) < 0)
		return PROBER_UNABLE;
	if (!prober_knock(t, AF_INET, SOCK_STREAM))
		return 1;
	if (!prober_knock(t, AF_INET, SOCK_DGRAM))
		return 2;
	if (t->v6 && !prober_knock(t, AF_INET6, SOCK_STREAM))
		return 3;
	return t->v6 && !prober_knock(t, AF_INET6, SOCK_DGRAM) ? 4 : 0;
}

PROBER_BARE static void prober_run(const struct prober_task *t)
{
	struct prober_answer answer = {PROBER_DONE, prober_knocks(t)};

	(void)prober_call(
		SYS_write, t->answer, (long)&answer, sizeof(answer), 0, 0, 0); /* or nobody hears */
	for (;;)
		(void)prober_call(SYS_exit, 0, 0, 0, 0, 0, 0); /* does not come back */
}

/* clone3 on another stack, where `run` goes on: its pid, or -errno. */
PROBER_BARE static long prober_clone3(const struct clone_args *args,
	void (*run)(const struct prober_task *t), const struct prober_task *task)
{
	register void *to __asm__("r12") = (void *)run;
	register const void *with __asm__("r13") = task;
	long r;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(r)
			 : "0"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(to), "r"(with)
			 : "rcx", "r11", "memory");
	return r;
}

/* ---- the process that makes them */

static struct prober_task *prober_free_task(void)
{
	static struct prober_task tasks[PROBER_STACKS];

	for (size_t i = 0; i < PROBER_STACKS; i++)
		if (!*(volatile pid_t *)&tasks[i].busy)
			return &tasks[i];
	return NULL;
}

static long prober_make(struct prober_task *t, int cgroup, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_PIDFD | CLONE_CHILD_CLEARTID | CLONE_INTO_CGROUP,
		.pidfd = (uintptr_t)ret_pidfd,
		.child_tid = (uintptr_t)&t->busy,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)t->stack,
		.stack_size = sizeof(t->stack),
		.cgroup = (uint64_t)cgroup,
	};
	long r;

	t->busy = 1;
	r = prober_clone3(&args, prober_run, t);
	if (r < 0)
		t->busy = 0;
	return r;
}

/*
 * A cgroup that has given controllers to those below takes no process itself: one of those does, and
 * inherits. A sandbox may have made any number of them: so many are tried, since others wait.
 */
static long prober_make_below(
	struct prober_task *t, int cgroup, int depth, int *tries, int *ret_pidfd)
{
	long r = --*tries < 0 ? -EBUSY : prober_make(t, cgroup, ret_pidfd);
	const struct dirent *entry;
	DIR *dir;
	int copy;

	if (r != -EBUSY || depth == PROBER_DEPTH)
		return r;
	copy = openat(cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir)
		cleanup_close(&copy);
	while (dir && r == -EBUSY && *tries > 0 && (entry = readdir(dir))) {
		_cleanup_close_ int below = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		below = openat(
			cgroup, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (below >= 0)
			r = prober_make_below(t, below, depth + 1, tries, ret_pidfd);
	}
	if (dir)
		(void)closedir(dir); /* only read */
	return r;
}

static void prober_answer(const struct prober_question *q, const int fds[PROBER_FDS])
{
	struct prober_answer answer = {PROBER_MADE, 0};
	struct prober_task *t = prober_free_task();
	_cleanup_close_ int pidfd = -1;
	int tries = PROBER_TRIES;
	long r = -EAGAIN;

	if (t) {
		t->netns = fds[1];
		t->answer = fds[2];
		t->v6 = q->v6;
		t->place4 =
			(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PROBE_PORT)};
		t->place6 = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = htons(PROBE_PORT)};
		(void)inet_pton(AF_INET, PROBE_ADDRESS4, &t->place4.sin_addr); /* these two parse */
		(void)inet_pton(AF_INET6, PROBE_ADDRESS6, &t->place6.sin6_addr);
		r = prober_make_below(t, fds[0], 0, &tries, &pidfd);
	}
	answer.value = r < 0 ? (int32_t)r : 0;
	(void)fdpass_send(
		fds[2], &answer, sizeof(answer), &pidfd, r < 0 ? 0 : 1); /* or nobody hears */
}

static _Noreturn void prober_serve(pid_t helper)
{
	(void)prctl(
		PR_SET_NAME, "sallyport-probe"); /* for who looks at ps; what is made has it too */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != helper ||
		signal(SIGCHLD, SIG_IGN) == SIG_ERR) /* what is made is not waited for */
		_exit(1);
	for (;;) {
		struct prober_question q;
		int fds[PROBER_FDS];
		size_t nfds = PROBER_FDS;
		long n = fdpass_recv(PROBER_SOCKET, &q, sizeof(q), fds, &nfds);

		if (n == 0)
			_exit(0);
		if (n == sizeof(q) && nfds == PROBER_FDS)
			prober_answer(&q, fds);
		while (nfds)
			(void)close(fds[--nfds]); /* copies */
	}
}

/* ---- the helper's side */

int prober_start(struct prober *p)
{
	pid_t helper = getpid(), child;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		if (dup2(pair[1], PROBER_SOCKET) < 0 || close_range(PROBER_SOCKET + 1, ~0U, 0) < 0)
			_exit(1);
		prober_serve(helper);
	}
	r = child < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
	(void)close(pair[1]); /* the other's */
	*p = (struct prober){pair[0], child};
	if (r < 0)
		prober_stop(p);
	return r;
}

int prober_ask(struct prober *p, int cgroup_fd, int netns_fd, bool v6, int *ret_answers)
{
	const struct prober_question q = {.v6 = v6};
	int pair[2], fds[PROBER_FDS], r = -EPIPE;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	fds[0] = cgroup_fd;
	fds[1] = netns_fd;
	fds[2] = pair[1];
	if (p->fd >= 0)
		r = fdpass_send(p->fd, &q, sizeof(q), fds, PROBER_FDS);
	if (r == -EPIPE || r == -ECONNRESET) { /* it has died */
		prober_stop(p);
		r = prober_start(p);
		if (r == 0)
			r = fdpass_send(p->fd, &q, sizeof(q), fds, PROBER_FDS);
	}
	(void)close(pair[1]); /* the other has a copy */
	if (r < 0)
		(void)close(pair[0]); /* nothing will come */
	else
		*ret_answers = pair[0];
	return r;
}

void prober_stop(struct prober *p)
{
	cleanup_close(&p->fd); /* at which it ends */
	if (p->fd >= 0 && p->pid > 0)
		(void)waitpid(p->pid, NULL, 0); /* nobody else waits for it */
	*p = (struct prober){.fd = -1};
}
