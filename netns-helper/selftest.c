/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * selftest.c – see selftest.h. Programs may be attached and yet not be asked: the cgroup was removed and made again,
 * somebody detached a link or flushed a table. So knocks are made at a place of our own (bpf/probe.h), and both are
 * wanted: the refusal, which alone says little since a broken sandbox refuses too, and a counter that moved.
 *
 *   is it there     the path leads to the same cgroup; each program's link is attached to it; sk_lookup's to the netns;
 *                   with an uplink, its settings are those of the attach (uid 0 of the sandbox owns /proc/sys/net)
 *   from inside     a child that is made in the cgroup (a socket's cgroup is its maker's) and enters the netns:
 *                   connect and sendto, both families. Each is ECONNREFUSED; the programs' counter moves for each.
 *   from outside    connect by sockets of the helper's own cgroup, made in the netns: the table's counter moves, and
 *                   in the BPF lane sk_lookup's
 * In the nft lane there is nothing on the cgroup: no child.
 *
 * The child is made by prober.c. The cgroup may be frozen, killed, out of memory or out of processes at any time: the
 * child is watched by its pidfd in the loop and killed after TIME_SELFTEST; what it could not do proves nothing.
 *
 * The counters are the sandbox's own too: a program that knocks at the place at the same time moves them. It moves
 * them through the very programs in question, so it cannot make a missing one look present for itself.
 *
 * #syscalls: setns socket connect getsockopt recvmsg pidfd_send_signal close, and those of the parts
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

#include "bpf/capture.h"
#include "bpf/probe.h"
#include "netns-helper/attach.h"
#include "netns-helper/loop.h"
#include "netns-helper/netns.h"
#include "netns-helper/nft.h"
#include "netns-helper/prober.h"
#include "netns-helper/programs.h"
#include "netns-helper/selftest.h"
#include "netns-helper/steer_program.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/limits.h"

/* What the child does, in this order. */
static const char *const selftest_knocks[PROBER_KNOCKS] = {
	"connect() over IPv4", "sendto() over IPv4", "connect() over IPv6", "sendto() over IPv6"};
enum { SELFTEST_KNOCKS4 = 2 }; /* of each family */

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
	struct loop_source answers; /* of the child; -1 = none is asked, or it has said all */
	struct loop_source child; /* its pidfd; -1 = it is not there yet, or no more */
	bool asked; /* a child */
	int refused; /* none could be made: -errno */
	int status; /* what it said at its end; -1 = nothing */
	bool late; /* it was killed at the deadline */
	bool stopped; /* nobody wants to know any more */
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

static const char selftest_readonly[] =
	"mended by itself; keep /proc/sys read-only for the sandbox's processes, as runtimes do";

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

struct selftest_settings {
	const struct sysctls *sysctls;
	struct fault *why;
};

/* Runs in the namespace. */
static int selftest_look_at_settings(void *arg)
{
	const struct selftest_settings *s = arg;

	return sysctls_verify(s->sysctls, s->why);
}

static void selftest_look(struct selftest *t)
{
	const struct attachment *a = t->a;
	struct fault *why = &t->early.why;
	int r = cgroup_same(a->cgroup_fd, a->cgroup);

	if (r == -ENOENT || r == -ESTALE) {
		(void)fault_set(why, r, "its cgroup %s was removed%s", a->cgroup,
			r == -ESTALE ? ", and another one made in its place" : "");
		/* in the nft lane nothing hangs on the cgroup */
		selftest_set(t, a->lane == PROTO_LANE_BPF ? SELFTEST_BAD : SELFTEST_UNPROVEN,
			selftest_attach_again);
		return;
	}
	if (a->lane == PROTO_LANE_BPF &&
		(programs_verify(a->programs, why) < 0 ||
			steer_program_verify(a->steer, a->identity.ino, why) < 0))
		selftest_set(t, SELFTEST_BAD, selftest_nobody_else);
	if (a->uplink && a->uplink->on && t->early.outcome != SELFTEST_BAD) {
		struct selftest_settings settings = {&a->uplink->sysctls, why};

		if (netns_within(a->netns_fd, selftest_look_at_settings, &settings) < 0)
			selftest_set(t, SELFTEST_BAD, selftest_readonly);
	}
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
	ret->probes = verdicts.probe;
	ret->dropped = verdicts.dropped;
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

static void selftest_close(struct selftest *t, struct loop_source *source)
{
	if (source->fd < 0)
		return;
	loop_forget(t->loop, source);
	cleanup_close(&source->fd);
	source->fd = -1;
}

/* The child's answers that have come so far, in any order. */
static void selftest_hear(struct selftest *t)
{
	struct prober_answer answer;
	long n = -EAGAIN;

	while (t->answers.fd >= 0) {
		int pidfd = -1;
		size_t nfds = 1;

		n = fdpass_recv(t->answers.fd, &answer, sizeof(answer), &pidfd, &nfds);
		if (n == -EAGAIN)
			return;
		if (n != sizeof(answer)) {
			selftest_close(t, &t->answers); /* that was all */
			return;
		}
		if (answer.kind == PROBER_DONE)
			t->status = answer.value;
		else if (answer.value < 0)
			t->refused = answer.value;
		if (!nfds)
			continue;
		t->child.fd = pidfd;
		if (loop_watch(t->loop, &t->child, EPOLLIN) < 0)
			selftest_close(t, &t->child); /* its end is then told by the answers' */
	}
}

static void selftest_answered(struct loop_source *source, uint32_t events)
{
	(void)events; /* only readiness is watched */
	selftest_hear(container_of(source, struct selftest, answers));
}

static void selftest_ended(struct loop_source *source, uint32_t events)
{
	struct selftest *t = container_of(source, struct selftest, child);

	(void)events; /* a pidfd is readable when its process has ended */
	selftest_hear(t);
	selftest_close(t, source);
}

static void selftest_from_inside(struct selftest *t, struct prober *prober)
{
	struct fault *why = &t->early.why;
	int r;

	if (cgroup_frozen(t->a->cgroup_fd)) {
		(void)fault_set(why, -EAGAIN, "%s", selftest_frozen);
		selftest_set(t, SELFTEST_UNPROVEN, selftest_thaw);
		return;
	}
	r = prober_ask(prober, t->a->cgroup_fd, t->a->netns_fd, t->families == 2, &t->answers.fd);
	t->asked = r == 0;
	if (r == 0)
		r = loop_watch(t->loop, &t->answers, EPOLLIN);
	if (r < 0) {
		cleanup_close(&t->answers.fd);
		t->answers.fd = -1;
		t->asked = false;
		(void)fault_set(why, r, "no process can be asked for: %s", strerror(-r));
		selftest_set(t, SELFTEST_UNPROVEN, "see the limits of the helper");
	}
}

static void selftest_outside_answered(struct loop_source *source, uint32_t events)
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

int selftest_start(
	struct loop *loop, struct prober *prober, struct attachment *a, struct selftest **ret)
{
	struct selftest *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->loop = loop;
	t->a = a;
	t->families = a->routes.v6 ? 2 : 1;
	t->deadline_ms = clock_monotonic_ms() + TIME_SELFTEST;
	t->status = -1;
	t->answers = (struct loop_source){-1, selftest_answered};
	t->child = (struct loop_source){-1, selftest_ended};
	for (size_t i = 0; i < ARRAY_SIZE(t->outside); i++)
		t->outside[i].source = (struct loop_source){-1, selftest_outside_answered};
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
		selftest_from_inside(t, prober);
	return 0;
}

static bool selftest_running(const struct selftest *t)
{
	return t->answers.fd >= 0 || t->child.fd >= 0 || t->outside[0].source.fd >= 0 ||
	       t->outside[1].source.fd >= 0;
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

/* No child could be made. */
static int selftest_judge_refused(const struct selftest *t, struct selftest_result *ret)
{
	bool gone = t->refused == -ENODEV || t->refused == -ENOENT;

	ret->outcome = gone ? SELFTEST_BAD : SELFTEST_UNPROVEN;
	ret->remedy = gone ? selftest_attach_again : selftest_limits;
	return gone ? fault_set(&ret->why, t->refused, "its cgroup %s was removed", t->a->cgroup)
		    : fault_set(&ret->why, t->refused, "no process can be made in its cgroup: %s",
			      strerror(-t->refused));
}

/* What the child's end says: 0, or -errno with the result. */
static int selftest_judge_child(const struct selftest *t, struct selftest_result *ret)
{
	struct fault *why = &ret->why;

	if (t->refused)
		return selftest_judge_refused(t, ret);
	if (t->status == 0)
		return 0;
	if (t->status > 0 && t->status <= PROBER_KNOCKS)
		return fault_set(why, -EIO, "a %s from its cgroup that must be refused was not",
			selftest_knocks[t->status - 1]);
	ret->outcome = SELFTEST_UNPROVEN;
	ret->remedy = selftest_limits;
	if (t->status > 0)
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
	if (t->a->lane == PROTO_LANE_BPF && t->asked && now.probes < t->before.probes + inside)
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
	if (t->asked && selftest_judge_child(t, ret) < 0)
		return;
	ret->outcome = selftest_judge_counts(t, &ret->why) == 0 ? SELFTEST_GOOD : SELFTEST_BAD;
}

bool selftest_over(struct selftest *t, uint64_t now_ms, struct selftest_result *ret)
{
	if (selftest_running(t) && now_ms >= t->deadline_ms) {
		selftest_kill(t);
		t->late = true;
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
