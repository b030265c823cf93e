/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prober.h – a small process beside the helper that makes processes in sandboxes' cgroups: they enter the sandbox's
 * network namespace, knock at the self-test's place (bpf/probe.h) and say what came of it. Life: zeroed → prober_start
 * → prober_ask … → prober_stop; after its death prober_ask() starts another.
 */
#ifndef SALLYPORT_NETNS_HELPER_PROBER_H
#define SALLYPORT_NETNS_HELPER_PROBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROBER_KNOCKS = 4, /* connect and sendto over IPv4, then over IPv6 */
	PROBER_UNABLE = 100, /* could not even knock */
};

struct prober {
	int fd; /* owned; -1 = there is none */
	pid_t pid;
};

/* What the answering socket says. */
enum prober_kind {
	PROBER_MADE =
		1, /* with the process's pidfd; or value = -errno: none could be made, and that was all */
	PROBER_DONE, /* value: 0 = each knock was refused; 1 + the first that was not; PROBER_UNABLE */
};

struct prober_answer {
	int32_t kind;
	int32_t value;
};

/* 0 or -errno. */
int prober_start(struct prober *p);

/*
 * Asks for a process. 0 and the answering socket (non-blocking, the caller's to close), or -errno. Its end without
 * PROBER_DONE: the process was killed.
 */
int prober_ask(struct prober *p, int cgroup_fd, int netns_fd, bool v6, int *ret_answers);

/* It ends; processes that it has made end by themselves. */
void prober_stop(struct prober *p);

#endif
