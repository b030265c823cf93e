/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dialler.c – see dialler.h.
 *
 * At most two processes are guarded: the daemon, and the one that takes over from it. Each has exceptions of its own
 * (its resolvers), which are in one map: while there are two, both may reach what either has said.
 *
 * A process is known by a pidfd, not by its connection: a daemon that somebody has taken over may hang up, and must not be
 * rid of the programs by that, nor be asked for its resolvers again as if it were new.
 *
 * The links are pinned as those of the sandboxes are (links/_dialler and links/_dialler2, which are no sandbox's ids): they hold while the helper
 * is away. The next one takes them off when it clears its pins, and puts them on when the daemon has come to it.
 *
 * Owns: the pidfds, the cgroups' descriptors, the pins, the entries of the two maps. #syscalls: pidfd_open poll openat bpf, those of pins.c
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netns-helper/cgroup.h"
#include "netns-helper/dial_openings.h"
#include "netns-helper/dialler.h"
#include "netns-helper/loop.h"
#include "netns-helper/programs_internal.h"
#include "netns-helper/proto.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "base/log.h"
#include "model/addr.h"
#include "model/range.h"
#include "bpf/capture.skel.h"

enum { DIALLER_PORT_DNS = 53 };

static const struct {
	enum bpf_attach_type type;
	const char *program;
} dialler_hooks[] = {
	{BPF_CGROUP_INET4_CONNECT, "dialler_connect4"},
	{BPF_CGROUP_INET6_CONNECT, "dialler_connect6"},
	{BPF_CGROUP_UDP4_SENDMSG, "dialler_sendmsg4"},
	{BPF_CGROUP_UDP6_SENDMSG, "dialler_sendmsg6"},
};
enum { DIALLER_HOOKS = ARRAY_SIZE(dialler_hooks) };

static const char *const dialler_pins[] = {"_dialler", "_dialler2"}; /* no ids of sandboxes */

static_assert(ARRAY_SIZE(dialler_pins) == DIALLER_PROCESSES, "a name for each");
static_assert(2 * (int)PROTO_RESOLVERS <= (int)CAPTURE_DIAL_EXCEPTIONS, "the map holds them");

/* One process. */
struct dialler_guard {
	struct dialler *dialler;
	const char *pins; /* the name under which its links are pinned */
	struct loop_source process; /* its pidfd, owned; -1 = none is guarded */
	pid_t pid;
	bool guarded; /* the programs are on its cgroup */
	int cgroup; /* owned: its directory, and where that is */
	struct cgroup_path path;
	bool said; /* it has told its resolvers */
	struct capture_dial_key exceptions[CAPTURE_DIAL_EXCEPTIONS];
	size_t nexceptions;
};

struct dialler {
	struct programs *programs;
	struct loop *loop;
	bool remove; /* a process's cgroup goes with it */
	struct dialler_guard guards[DIALLER_PROCESSES];
	struct dial_openings openings;
};

/* ---- resolvers */

static bool dialler_has(
	const struct capture_dial_key *all, size_t n, const struct capture_dial_key *key)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(&all[i], key, sizeof(*key)) == 0)
			return true;
	return false;
}

/* Whether all entries of `some` at other ports than 53 are in `all`. */
static bool dialler_within(const struct capture_dial_key *some, size_t n,
	const struct capture_dial_key *all, size_t nall)
{
	for (size_t i = 0; i < n; i++)
		if (some[i].port != DIALLER_PORT_DNS && !dialler_has(all, nall, &some[i]))
			return false;
	return true;
}

static bool dialler_acceptable(
	const struct dialler_guard *g, const struct capture_dial_key *new, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct addr at = {.port = new[i].port};

		memcpy(at.ip, new[i].ip, sizeof(at.ip));
		if (new[i].port == 0)
			return false;
		if (new[i].port != DIALLER_PORT_DNS && range_dialler(&at) == RANGE_METADATA)
			return false;
	}
	return !g->said || (dialler_within(new, n, g->exceptions, g->nexceptions) &&
				   dialler_within(g->exceptions, g->nexceptions, new, n));
}

/* Whether another process has the exception as well: the map is one for all. */
static bool dialler_shared(const struct dialler_guard *g, const struct capture_dial_key *key)
{
	for (size_t i = 0; i < DIALLER_PROCESSES; i++) {
		const struct dialler_guard *other = &g->dialler->guards[i];

		if (other != g && dialler_has(other->exceptions, other->nexceptions, key))
			return true;
	}
	return false;
}

/* The new ones first: what stays is never away. */
static int dialler_except(struct dialler_guard *g, const struct capture_dial_key *new, size_t n)
{
	int map = bpf_map__fd(g->dialler->programs->bpf->maps.dial_exceptions), r = 0;
	const uint8_t yes = 1;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = bpf_map_update_elem(map, &new[i], &yes, BPF_ANY);
	for (size_t i = 0; r == 0 && i < g->nexceptions; i++)
		if (!dialler_has(new, n, &g->exceptions[i]) &&
			!dialler_shared(g, &g->exceptions[i]))
			(void)bpf_map_delete_elem(map, &g->exceptions[i]);
	if (r < 0)
		return r;
	if (n > 0)
		memcpy(g->exceptions, new, n * sizeof(*new));
	g->nexceptions = n;
	return 0;
}

static struct dialler_guard *dialler_find(struct dialler *d, pid_t pid)
{
	for (size_t i = 0; i < DIALLER_PROCESSES; i++)
		if (d->guards[i].guarded && d->guards[i].pid == pid)
			return &d->guards[i];
	return NULL;
}

int dialler_resolvers(struct dialler *d, pid_t pid, const struct proto_dialler *said)
{
	struct capture_dial_key new[PROTO_RESOLVERS] = {0};
	static const struct dialler_guard none;
	struct dialler_guard *g;
	int r;

	if (said->n > PROTO_RESOLVERS)
		return -EPROTO;
	if (!d)
		return 0;
	for (uint32_t i = 0; i < said->n; i++) {
		memcpy(new[i].ip, said->resolvers[i].ip, sizeof(new[i].ip));
		new[i].port = said->resolvers[i].port;
	}
	g = dialler_find(d, pid);
	if (!dialler_acceptable(g ? g : &none, new, said->n))
		return -EPROTO;
	if (!g)
		return 0; /* there is nothing that it would be excepted from */
	r = dialler_except(g, new, said->n);
	g->said = r == 0;
	return r;
}

int dialler_open(struct dialler *d, struct capture_opening *all, size_t n, struct fault *f)
{
	return d ? dial_openings_replace(&d->openings,
			   bpf_map__fd(d->programs->bpf->maps.dial_openings), all, n, f)
		 : 0;
}

/* ---- the process */

static void dialler_release(struct dialler_guard *g)
{
	struct dialler *d = g->dialler;

	for (size_t i = 0; g->guarded && i < DIALLER_HOOKS; i++)
		pins_drop_link(&d->programs->pins, g->pins, dialler_hooks[i].program);
	g->guarded = false;
	(void)dialler_except(g, NULL, 0); /* removing cannot fail */
	g->said = false;
	if (g->process.fd < 0)
		return; /* none was guarded */
	loop_forget(d->loop, &g->process);
	(void)close(g->process.fd); /* nothing is pending */
	g->process.fd = -1;
	if (d->remove)
		(void)cgroup_remove(g->cgroup, g->path.text); /* not while somebody is in it */
	(void)close(TAKE_FD(g->cgroup)); /* only looked at */
}

static void dialler_ended(struct loop_source *source, uint32_t events)
{
	struct dialler_guard *g = container_of(source, struct dialler_guard, process);

	(void)events; /* a pidfd tells the end only */
	if (source->fd >= 0)
		dialler_release(g);
}

/* Ends may not have been noticed yet. */
static void dialler_look(struct dialler *d)
{
	for (size_t i = 0; i < DIALLER_PROCESSES; i++) {
		struct dialler_guard *g = &d->guards[i];
		struct pollfd ended = {.fd = g->process.fd, .events = POLLIN};

		if (g->process.fd >= 0 && poll(&ended, 1, 0) > 0)
			dialler_release(g);
	}
}

bool dialler_busy(struct dialler *d, pid_t pid, pid_t other)
{
	if (!d)
		return false;
	dialler_look(d);
	for (size_t i = 0; i < DIALLER_PROCESSES; i++)
		if (d->guards[i].guarded && d->guards[i].pid != pid && d->guards[i].pid != other)
			return true;
	return false;
}

static int dialler_watch(struct dialler_guard *g, pid_t pid)
{
	int r;

	g->process.fd = pidfd_open(pid, 0);
	if (g->process.fd < 0)
		return -errno;
	g->pid = pid;
	r = loop_watch(g->dialler->loop, &g->process, EPOLLIN);
	if (r < 0) {
		(void)close(g->process.fd); /* nothing is pending */
		g->process.fd = -1;
	}
	return r;
}

/* The directory of the process's cgroup, if the programs may go there. */
static int dialler_cgroup(pid_t pid, struct cgroup_path *ret, struct fault *f)
{
	struct cgroup_path own;
	char mount[PATH_MAX], full[2 * PATH_MAX];
	_cleanup_close_ int fd = -1;

	if (cgroup_of(pid, ret) < 0 || cgroup_of(getpid(), &own) < 0 || cgroup_mount(mount) < 0)
		return fault_set(f, -ENOENT, "its cgroup (v2) cannot be found");
	if (cgroup_inside(own.text, ret->text)) /* also of the root */
		return fault_set(f, -EBUSY, "the helper is in its cgroup %s", ret->text);
	(void)snprintf(full, sizeof(full), "%s%s", mount, ret->text);
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_set(
			f, -errno, "cannot open its cgroup %s: %s", ret->text, strerror(errno));
	if (!cgroup_alone(fd, pid))
		return fault_set(f, -EBUSY, "other processes share its cgroup %s", ret->text);
	return TAKE_FD(fd);
}

static int dialler_link(struct dialler_guard *g, size_t hook)
{
	struct programs *programs = g->dialler->programs;
	struct bpf_program *program =
		bpf_object__find_program_by_name(programs->bpf->obj, dialler_hooks[hook].program);
	_cleanup_close_ int link = bpf_link_create(
		bpf_program__fd(program), g->cgroup, dialler_hooks[hook].type, NULL);

	if (link < 0)
		return link;
	return pins_put_link(&programs->pins, g->pins, dialler_hooks[hook].program, link);
}

static int dialler_begin(struct dialler_guard *g, pid_t pid, struct fault *f)
{
	int r = dialler_cgroup(pid, &g->path, f);

	if (r < 0)
		return r;
	g->cgroup = r;
	r = dialler_watch(g, pid);
	if (r < 0) {
		(void)close(TAKE_FD(g->cgroup)); /* only looked at */
		return fault_set(f, r, "cannot watch the process: %s", strerror(-r));
	}
	g->guarded = true; /* in part, from here on */
	for (size_t i = 0; r == 0 && i < DIALLER_HOOKS; i++)
		r = dialler_link(g, i);
	if (r == 0)
		return 0;
	dialler_release(g);
	return fault_set(f, r, "the kernel does not take the programs there: %s", strerror(-r));
}

int dialler_guard(struct dialler *d, pid_t pid, struct fault *f)
{
	if (!d)
		return fault_set(f, -EOPNOTSUPP, "the helper has no BPF");
	dialler_look(d);
	if (dialler_find(d, pid))
		return 0;
	for (size_t i = 0; i < DIALLER_PROCESSES; i++)
		if (!d->guards[i].guarded)
			return dialler_begin(&d->guards[i], pid, f);
	return fault_set(f, -EBUSY, "two other daemons are guarded");
}

/* ---- life */

int dialler_new(struct programs *programs, struct loop *loop, bool remove, struct fault *f,
	struct dialler **ret)
{
	struct dialler *d = calloc(1, sizeof(*d));
	bool verdicts, budgets;
	int r;

	if (!d)
		return fault_set(f, -ENOMEM, "no memory");
	*d = (struct dialler){.programs = programs, .loop = loop, .remove = remove};
	for (size_t i = 0; i < DIALLER_PROCESSES; i++)
		d->guards[i] = (struct dialler_guard){.dialler = d,
			.pins = dialler_pins[i],
			.process = {-1, dialler_ended},
			.cgroup = -1};
	r = programs_open_account(programs, CAPTURE_DIALLER, &verdicts, &budgets);
	r = r ? r
	      : pins_put_map(&programs->pins, "dial_exceptions",
			bpf_map__fd(programs->bpf->maps.dial_exceptions));
	r = r ? r
	      : pins_put_map(&programs->pins, "dial_openings",
			bpf_map__fd(programs->bpf->maps.dial_openings));
	if (r < 0) {
		free(d);
		return fault_set(f, r, "cannot make the dialler's maps: %s", strerror(-r));
	}
	*ret = d;
	return 0;
}

void dialler_free(struct dialler *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < DIALLER_PROCESSES; i++)
		dialler_release(&d->guards[i]);
	dial_openings_close(&d->openings, bpf_map__fd(d->programs->bpf->maps.dial_openings));
	free(d);
}
