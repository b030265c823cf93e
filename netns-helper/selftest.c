/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * selftest.c – see selftest.h. Programs may be attached and yet not be asked: the cgroup was removed and made again,
 * somebody detached a link or flushed a table. So knocks are made at a place of our own (bpf/probe.h), and both are
 * wanted: the refusal, which alone says little since a broken sandbox refuses too, and a counter that moved.
 *
 *   is it there     the path leads to the same cgroup; each program's link is attached to it; sk_lookup's to the netns
 *   from inside     a child that is cloned into the cgroup (a socket's cgroup is its maker's) and enters the netns:
 *                   connect and sendto, both families. Each is ECONNREFUSED; the programs' counter moves for each.
 *   from outside    connect by sockets of the helper's own cgroup, made in the netns: the table's counter moves, and
 *                   in the BPF lane sk_lookup's
 * In the nft lane there is nothing on the cgroup: no child.
 *
 * The child is a clone without exec: setns, close_range, socket, connect, sendto, exit, nothing that allocates. It
 * shares the table of descriptors until it has entered, and then takes a copy of the first three alone, so that no
 * listener lives in it. The cgroup may be frozen, killed, out of memory or out of processes at any time: the child is
 * watched by its pidfd in the loop and killed after TIME_SELFTEST; what it could not do proves nothing.
 *
 * The counters are the sandbox's own too: a program that knocks at the place at the same time moves them. It moves
 * them through the very programs in question, so it cannot make a missing one look present for itself.
 *
 * #syscalls: clone3 setns close_range socket connect sendto setsockopt prctl waitid pidfd_send_signal, those of the
 * loop, bpf and netlink
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/capture.h"
#include "bpf/probe.h"
#include "netns-helper/attach.h"
#include "netns-helper/loop.h"
#include "netns-helper/netns.h"
#include "netns-helper/nft.h"
#include "netns-helper/programs.h"
#include "netns-helper/selftest.h"
#include "netns-helper/steer_program.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

enum {
	SELFTEST_DEPTH =
		4, /* cgroups below the sandbox's that are tried when it takes no process itself */
	SELFTEST_KEPT = 3, /* descriptors of the child */
	SELFTEST_UNABLE = 100, /* the child's exit status: it could not knock */
};

/* What the child does, in this order; it exits with 1 + the first that was not refused, or 0. */
static const struct selftest_knock {
	int family, type;
	const char *what;
} selftest_knocks[] = {
	{AF_INET, SOCK_STREAM, "connect() over IPv4"},
	{AF_INET, SOCK_DGRAM, "sendto() over IPv4"},
	{AF_INET6, SOCK_STREAM, "connect() over IPv6"},
	{AF_INET6, SOCK_DGRAM, "sendto() over IPv6"},
};
enum { SELFTEST_KNOCKS4 = 2 }; /* the first of IPv6 */

struct selftest_counts {
	uint64_t probes; /* of the cgroup programs */
	uint64_t dropped; /* of sk_lookup */
	uint64_t table; /* of nft */
};

/* A socket out of the cgroup. */
struct selftest_outside {
	struct loop_source source; /* its connect() is under way; -1 = it is not */
	int error; /* what came of it */
};

struct selftest {
	struct loop *loop;
	struct attachment *a;
	uint64_t deadline_ms;
	struct loop_source child; /* its pidfd; -1 = there is none, or it has ended */
	bool late; /* the child was killed at the deadline */
	bool stopped; /* nobody wants to know any more */
	siginfo_t end; /* of the child; si_pid 0 = there was none */
	struct selftest_outside outside[2]; /* IPv4, IPv6 */
	bool blind; /* not even those could be made */
	size_t families; /* 1, or 2 with IPv6 */
	struct selftest_counts before;
	struct selftest_result early; /* known without knocking: BAD or UNPROVEN */
};

static const char selftest_attach_again[] =
	"detach the sandbox and attach it again, with the cgroup that its processes are in";
static const char selftest_nobody_else[] =
	"find out who changed it; mended by itself when it is as before, else detach and attach";

static const char selftest_frozen[] = "its cgroup is frozen";
static const char selftest_thaw[] = "thaw it: echo 0 > cgroup.freeze";
static const char selftest_limits[] = "see the cgroup's limits: pids.max, memory.max, cpu.max";

static void selftest_set(struct selftest *t, enum selftest_outcome outcome, const char *remedy)
{
	if (t->early.outcome == SELFTEST_BAD || t->early.outcome == outcome)
		return;
	t->early.outcome = outcome;
	t->early.remedy = remedy;
}

/* ---- is it there */

static void selftest_look(struct selftest *t)
{
	const struct attachment *a = t->a;
	struct fault *why = &t->early.why;
	int r = cgroup_same(a->cgroup_fd, &a->cgroup);

	if (r == -ENOENT || r == -ESTALE) {
		(void)fault_set(why, r, "its cgroup %s was removed%s", a->cgroup.text,
			r == -ESTALE ? ", and another one made in its place" : "");
		/* in the nft lane nothing hangs on the cgroup */
		selftest_set(t, a->lane == PROTO_LANE_BPF ? SELFTEST_BAD : SELFTEST_UNPROVEN,
			selftest_attach_again);
		return;
	}
	if (a->lane == PROTO_LANE_BPF &&
		(programs_verify(a->programs, a->cgroup_id, why) < 0 ||
			steer_program_verify(a->steer, a->identity.ino, why) < 0))
		selftest_set(t, SELFTEST_BAD, selftest_nobody_else);
}

/* Runs in the namespace. */
static int selftest_count_table(void *arg)
{
	return nft_probe_count(arg);
}

static int selftest_count(
	const struct attachment *a, struct selftest_counts *ret, struct fault *why)
{
	struct capture_verdicts verdicts = {0};
	int r = netns_within(a->netns_fd, selftest_count_table, &ret->table);

	if (r < 0)
		return fault_set(
			why, r, "its nft table is gone or cannot be read: %s", strerror(-r));
	if (a->lane == PROTO_LANE_NFT)
		return 0;
	r = programs_counters(a->programs, &verdicts);
	if (r == 0)
		r = steer_program_dropped(a->steer, &ret->dropped);
	ret->probes = verdicts.probe;
	return r < 0 ? fault_set(why, r, "its counters cannot be read: %s", strerror(-r)) : 0;
}

/* ---- the knocks */

static socklen_t selftest_place(int family, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		v4->sin_port = htons(PROBE_PORT);
		(void)inet_pton(family, PROBE_ADDRESS4, &v4->sin_addr); /* parses */
		return sizeof(*v4);
	}
	v6->sin6_port = htons(PROBE_PORT);
	(void)inet_pton(family, PROBE_ADDRESS6, &v6->sin6_addr); /* parses */
	return sizeof(*v6);
}

/* In the child: one knock; whether it was refused. */
static bool selftest_knock(const struct selftest_knock *k)
{
	const struct timeval limit = {.tv_sec = TIME_SELFTEST_KNOCK / 1000};
	struct sockaddr_storage place;
	socklen_t n = selftest_place(k->family, &place);
	int fd = socket(k->family, k->type | SOCK_CLOEXEC, 0);
	long r;

	if (fd < 0)
		_exit(SELFTEST_UNABLE);
	(void)setsockopt(
		fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* else the deadline */
	r = k->type == SOCK_STREAM ? connect(fd, (struct sockaddr *)&place, n)
				   : sendto(fd, "", 0, 0, (struct sockaddr *)&place, n);
	return r < 0 && errno == ECONNREFUSED;
}

static _Noreturn void selftest_child(const struct selftest *t)
{
	size_t n = t->families == 2 ? ARRAY_SIZE(selftest_knocks) : SELFTEST_KNOCKS4;

	(void)prctl(PR_SET_NAME, "sallyport-probe"); /* for who looks at ps */
	if (setns(t->a->netns_fd, CLONE_NEWNET) < 0 ||
		close_range(SELFTEST_KEPT, ~0U, CLOSE_RANGE_UNSHARE) < 0)
		_exit(SELFTEST_UNABLE);
	for (size_t i = 0; i < n; i++)
		if (!selftest_knock(&selftest_knocks[i]))
			_exit((int)i + 1);
	_exit(0);
}

static int selftest_clone(struct selftest *t, int cgroup)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_FILES | CLONE_INTO_CGROUP,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup,
	};
	long r = syscall(SYS_clone3, &args, sizeof(args));

	if (r == 0)
		selftest_child(t);
	return r < 0 ? -errno : pidfd;
}

/* A cgroup that has given controllers to those below takes no process itself: one of those does, and inherits. */
static int selftest_clone_below(struct selftest *t, int cgroup, int depth)
{
	int r = selftest_clone(t, cgroup), copy;
	const struct dirent *entry;
	DIR *dir;

	if (r != -EBUSY || depth == SELFTEST_DEPTH)
		return r;
	copy = openat(cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = copy < 0 ? NULL : fdopendir(copy);
	while (dir && r == -EBUSY && (entry = readdir(dir))) {
		_cleanup_close_ int below = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		below = openat(
			cgroup, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (below >= 0)
			r = selftest_clone_below(t, below, depth + 1);
	}
	if (dir)
		(void)closedir(dir); /* only read */
	return r;
}

static void selftest_ended(struct loop_source *source, uint32_t events)
{
	struct selftest *t = container_of(source, struct selftest, child);

	(void)events; /* a pidfd is readable when its process has ended */
	if (waitid((idtype_t)P_PIDFD, (id_t)source->fd, &t->end, WEXITED | WNOHANG) < 0)
		t->end = (siginfo_t){.si_code = CLD_KILLED, .si_pid = -1};
	if (!t->end.si_pid)
		return;
	loop_forget(t->loop, source);
	cleanup_close(&source->fd);
	source->fd = -1;
}

static void selftest_from_inside(struct selftest *t)
{
	struct fault *why = &t->early.why;
	int r;

	if (cgroup_frozen(t->a->cgroup_fd)) {
		(void)fault_set(why, -EAGAIN, "%s", selftest_frozen);
		selftest_set(t, SELFTEST_UNPROVEN, selftest_thaw);
		return;
	}
	r = selftest_clone_below(t, t->a->cgroup_fd, 0);
	if (r == -ENODEV || r == -ENOENT) {
		(void)fault_set(why, r, "its cgroup %s was removed", t->a->cgroup.text);
		selftest_set(t, SELFTEST_BAD, selftest_attach_again);
	} else if (r < 0) {
		(void)fault_set(why, r, "no process can be made in its cgroup: %s", strerror(-r));
		selftest_set(t, SELFTEST_UNPROVEN, selftest_limits);
	}
	if (r < 0)
		return;
	t->child = (struct loop_source){r, selftest_ended};
	if (loop_watch(t->loop, &t->child, EPOLLIN) < 0) {
		/* cannot be watched: ends by itself or is killed, and is waited for at the deadline */
		(void)fault_set(why, -ENOMEM, "its self-test cannot be watched");
		selftest_set(t, SELFTEST_UNPROVEN, "give the helper memory");
	}
}

static void selftest_answered(struct loop_source *source, uint32_t events)
{
	struct selftest_outside *o = container_of(source, struct selftest_outside, source);
	socklen_t n = sizeof(o->error);

	(void)events; /* writable or an error: either is the answer */
	if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &o->error, &n) < 0)
		o->error = errno;
	cleanup_close(&source->fd); /* the loop forgets what is closed: nobody has a copy */
	source->fd = -1;
}

/* Runs in the namespace. On loopback the answer is mostly there when connect() returns. */
static int selftest_outside_one(struct selftest *t, size_t i)
{
	int family = i == 0 ? AF_INET : AF_INET6;
	struct sockaddr_storage place;
	socklen_t n = selftest_place(family, &place);
	_cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&place, n) == 0)
		return 0; /* it was let in: the error stays 0 */
	t->outside[i].error = errno;
	if (errno != EINPROGRESS)
		return 0;
	t->outside[i].source.fd = fd;
	r = loop_watch(t->loop, &t->outside[i].source, EPOLLOUT);
	if (r < 0)
		t->outside[i].source.fd = -1;
	else
		fd = -1;
	return r;
}

/* Runs in the namespace. */
static int selftest_outside(void *arg)
{
	struct selftest *t = arg;
	int r = 0;

	for (size_t i = 0; i < t->families && r == 0; i++)
		r = selftest_outside_one(t, i);
	return r;
}

static void selftest_from_outside(struct selftest *t)
{
	int r = netns_within(t->a->netns_fd, selftest_outside, t);

	if (r < 0) {
		(void)fault_set(&t->early.why, r, "no socket can be made in its namespace: %s",
			strerror(-r));
		selftest_set(t, SELFTEST_UNPROVEN, "see the limits of the helper");
		t->blind = true;
	}
}

/* ---- from beginning to end */

int selftest_start(struct loop *loop, struct attachment *a, struct selftest **ret)
{
	struct selftest *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->loop = loop;
	t->a = a;
	t->families = a->routes.v6 ? 2 : 1;
	t->deadline_ms = clock_monotonic_ms() + TIME_SELFTEST;
	t->child.fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(t->outside); i++)
		t->outside[i].source = (struct loop_source){-1, selftest_answered};
	*ret = t;
	selftest_look(t);
	if (t->early.outcome == SELFTEST_BAD)
		return 0;
	if (selftest_count(a, &t->before, &t->early.why) < 0) {
		selftest_set(t, SELFTEST_BAD, selftest_nobody_else);
		return 0;
	}
	selftest_from_outside(t);
	if (a->lane == PROTO_LANE_BPF)
		selftest_from_inside(t);
	return 0;
}

static bool selftest_running(const struct selftest *t)
{
	return t->child.fd >= 0 || t->outside[0].source.fd >= 0 || t->outside[1].source.fd >= 0;
}

static void selftest_kill(struct selftest *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(t->outside); i++) {
		struct selftest_outside *o = &t->outside[i];

		if (o->source.fd < 0)
			continue;
		cleanup_close(&o->source.fd);
		o->source.fd = -1;
		o->error = ETIMEDOUT;
	}
	if (t->child.fd >= 0)
		(void)pidfd_send_signal(
			t->child.fd, SIGKILL, NULL, 0); /* it may have ended just now */
}

void selftest_stop(struct selftest *t)
{
	selftest_kill(t);
	t->stopped = true;
}

/* What the child's end says: 0, or -errno with the result. Its status is the number of the knock that was not refused. */
static int selftest_judge_child(const struct selftest *t, struct selftest_result *ret)
{
	size_t status = (size_t)t->end.si_status;
	struct fault *why = &ret->why;

	if (t->end.si_code == CLD_EXITED && status == 0)
		return 0;
	if (t->end.si_code == CLD_EXITED && status < SELFTEST_UNABLE)
		return fault_set(why, -EIO, "a %s from its cgroup that must be refused was not",
			selftest_knocks[status - 1].what);
	ret->outcome = SELFTEST_UNPROVEN;
	ret->remedy = selftest_limits;
	if (t->end.si_code == CLD_EXITED)
		return fault_set(why, -EAGAIN, "a process in its cgroup can make no socket");
	if (!t->late)
		return fault_set(why, -EINTR, "a process in its cgroup was killed while it tried");
	if (!cgroup_frozen(t->a->cgroup_fd))
		return fault_set(why, -ETIMEDOUT,
			"a process in its cgroup did not come to run within %d s",
			TIME_SELFTEST / 1000);
	ret->remedy = selftest_thaw;
	return fault_set(why, -EAGAIN, "%s", selftest_frozen);
}

static int selftest_judge_counts(const struct selftest *t, struct fault *why)
{
	size_t inside = t->families * SELFTEST_KNOCKS4, outside = t->families;
	struct selftest_counts now;
	int r = selftest_count(t->a, &now, why);

	if (r < 0)
		return r;
	if (t->a->lane == PROTO_LANE_BPF && t->end.si_pid && now.probes < t->before.probes + inside)
		return fault_set(why, -EIO, "the cgroup programs do not see what its processes do");
	if (now.table < t->before.table + outside)
		return fault_set(why, -EIO, "its nft table does not see what its namespace sends");
	if (t->a->lane == PROTO_LANE_BPF && now.dropped < t->before.dropped + outside)
		return fault_set(why, -EIO, "sk_lookup does not see what its namespace sends");
	return 0;
}

static void selftest_judge(const struct selftest *t, struct selftest_result *ret)
{
	*ret = (struct selftest_result){.outcome = SELFTEST_BAD, .remedy = selftest_nobody_else};
	for (size_t i = 0; i < t->families; i++)
		if (t->outside[i].error != ECONNREFUSED) {
			(void)fault_set(&ret->why, -EIO,
				"a connection in its namespace that must be refused was not: %s",
				t->outside[i].error ? strerror(t->outside[i].error)
						    : "it was let in");
			return;
		}
	if (t->end.si_pid && selftest_judge_child(t, ret) < 0)
		return;
	ret->outcome = selftest_judge_counts(t, &ret->why) == 0 ? SELFTEST_GOOD : SELFTEST_BAD;
}

bool selftest_over(struct selftest *t, uint64_t now_ms, struct selftest_result *ret)
{
	if (selftest_running(t) && now_ms >= t->deadline_ms) {
		selftest_kill(t);
		t->late = true;
		if (t->child.fd >= 0)
			selftest_ended(&t->child, 0); /* also of a child that cannot be watched */
	}
	if (selftest_running(t))
		return false;
	if (t->stopped)
		*ret = (struct selftest_result){
			.outcome = SELFTEST_UNPROVEN}; /* the attachment may be no more */
	else if (t->early.outcome != SELFTEST_BAD && !t->blind)
		selftest_judge(t, ret);
	else
		*ret = t->early;
	if (ret->outcome == SELFTEST_GOOD)
		*ret = t->early; /* GOOD too, unless something could not be tried */
	return true;
}

int selftest_wait(const struct selftest *t, uint64_t now_ms)
{
	if (!selftest_running(t))
		return 0;
	return now_ms < t->deadline_ms ? (int)(t->deadline_ms - now_ms) : TIME_SELFTEST_REAP;
}

void selftest_free(struct selftest *t)
{
	free(t);
}
