/* SPDX-License-Identifier: Apache-2.0 */
/* process.c – a process outside, used against its will: its sockets, its memory, its system calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/battery/attempt.h"
#include "tests/battery/outsider.h"

static void process_getfd(const struct arena *a)
{
	int process = needs(syscall(SYS_pidfd_open, a->scene->outsider, 0), "pidfd_open");
	struct address to = here4(a);

	throw(needs(syscall(SYS_pidfd_getfd, process, OUTSIDER_HELD_UDP, 0), "pidfd_getfd"), &to,
		a);
}

/* Opens what /proc shows of its descriptor. */
static void process_proc_fd(const struct arena *a)
{
	char path[64];
	int fd;

	(void)snprintf(
		path, sizeof(path), "/proc/%d/fd/%d", (int)a->scene->outsider, OUTSIDER_HELD_UDP);
	fd = needs(open(path, O_RDWR), "/proc/PID/fd");
	push(fd, a);
}

/* Whoever may write there lets it send what he likes. */
static void process_memory(const struct arena *a)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)a->scene->outsider);
	(void)needs(open(path, O_RDWR), "/proc/PID/mem");
	report(SAID_EXPOSED, 0, "its memory is open for writing");
}

#ifdef __x86_64__
/* It waits in poll(): rip stands behind a syscall instruction, which is made to run once more. */
static void process_ptrace(const struct arena *a)
{
	pid_t pid = a->scene->outsider;
	struct user_regs_struct kept, r;
	struct address to = here4(a);
	uint64_t room, words[16] = {0};
	size_t n = strlen(a->token);
	int status;

	(void)needs(ptrace(PTRACE_ATTACH, pid, 0, 0), "PTRACE_ATTACH");
	(void)needs(waitpid(pid, &status, 0), "wait");
	(void)needs(ptrace(PTRACE_GETREGS, pid, 0, &kept), "PTRACE_GETREGS");
	room = (kept.rsp - 4096) & ~15ULL;
	memcpy(words, &to.v4, sizeof(to.v4));
	memcpy(&words[2], a->token, n);
	for (size_t i = 0; i < 16; i++)
		(void)needs(
			ptrace(PTRACE_POKEDATA, pid, room + 8 * i, words[i]), "PTRACE_POKEDATA");
	r = kept;
	r.rip -= 2;
	r.rax = SYS_sendto;
	r.orig_rax = (unsigned long long)-1; /* no restart of the poll() */
	r.rdi = OUTSIDER_HELD_UDP;
	r.rsi = room + 16;
	r.rdx = n;
	r.r10 = 0;
	r.r8 = room;
	r.r9 = sizeof(to.v4);
	(void)needs(ptrace(PTRACE_SETREGS, pid, 0, &r), "PTRACE_SETREGS");
	(void)needs(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), "PTRACE_SINGLESTEP");
	(void)needs(waitpid(pid, &status, 0), "wait");
	(void)needs(ptrace(PTRACE_SETREGS, pid, 0, &kept), "PTRACE_SETREGS");
	(void)needs(ptrace(PTRACE_DETACH, pid, 0, 0), "PTRACE_DETACH");
	sent();
}
#else
static void process_ptrace(const struct arena *a)
{
	(void)a;
	report(SAID_UNSUPPORTED, ENOSYS, "ptrace: written for x86-64");
}
#endif

static const struct attempt process_rows[] = {
	{"pidfd-getfd", "process", process_getfd},
	{"proc-pid-fd", "process", process_proc_fd},
	{"proc-pid-mem", "process", process_memory},
	{"ptrace", "process", process_ptrace, 0, ATTEMPT_SERIAL},
};

const struct attempt_list process_list = ATTEMPTS(process_rows);
