/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandboxes.c – the life of a sandbox as the helper sees it.
 *
 *   OFFERED ──ACTIVE from the daemon──▶ ACTIVE ──detach, holder gone, stop──▶ LEAVING ──▶ GONE
 *      └──refused, deadline, holder gone────────────────────────────────────────▲
 *
 * ACTIVE is proven by a self-test before the attach is answered, and from time to time (upkeep.c); one that is not
 * proven is closed, or fails the attach.
 *
 * Entering LEAVING ends the processes (when it was held) and takes programs and listeners out at
 * once; then it waits: for the daemon's GONE, since its connections end by resets that need the routes
 * and its copies of the listeners keep the namespace alive, and for the processes, since a cgroup with one inside cannot be removed. Both
 * are given TIME_LEAVING; then the helper goes on without.
 *
 * The daemon may die and come back in every state. An OFFERED or ACTIVE sandbox is offered again on
 * each connection; an ACTIVE one stays active meanwhile: what becomes of its connections is outage.c's
 * question. One that the next daemon refuses is closed until a daemon takes it.
 *
 * While one daemon takes over from another (hand_over.c) both are connected, each with words of its own about each
 * sandbox: an attach is the question of the one that serves, a detach waits for both.
 *
 * Limits: LIMIT_SANDBOXES. Not here: sockets, messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "bpf/capture.h"
#include "netns-helper/containers.h"
#include "netns-helper/dialler.h"
#include "netns-helper/openings.h"
#include "netns-helper/sandboxes.h"
#include "netns-helper/selftest.h"
#include "netns-helper/upkeep.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

enum { SANDBOXES_LEAVING_MS = 5000, SANDBOXES_POLL_MS = 10 };

const char sandboxes_no_daemon[] = "sallyportd is not running: start it with `sallyportd --config "
				   "FILE`, or both with `scripts/sallyport up`";

static const char *const sandboxes_state_names[] = {"offered", "active", "leaving", "gone"};

static_assert(ARRAY_SIZE(sandboxes_state_names) == SANDBOX_GONE + 1, "a name for each state");

/* Which states may follow, as bits. */
static const unsigned int sandboxes_next[] = {
	[SANDBOX_OFFERED] = 1U << SANDBOX_ACTIVE | 1U << SANDBOX_LEAVING,
	[SANDBOX_ACTIVE] = 1U << SANDBOX_LEAVING,
	[SANDBOX_LEAVING] = 1U << SANDBOX_GONE,
	[SANDBOX_GONE] = 0,
};

const char *sandboxes_state_name(enum sandbox_state state)
{
	return sandboxes_state_names[state];
}

static void sandboxes_to(struct sandbox *sandbox, enum sandbox_state state)
{
	assert(sandboxes_next[sandbox->state] & 1U << state);
	log_info("sandbox %s: %s -> %s", sandbox->attachment->id,
		sandboxes_state_names[sandbox->state], sandboxes_state_names[state]);
	sandbox->state = state;
}

static void sandboxes_tell(struct sandbox_listener *listener, int error, const char *text)
{
	struct sandbox_listener told = *listener;

	*listener = (struct sandbox_listener){NULL, NULL};
	if (told.tell)
		told.tell(told.who, error, text);
}

void sandboxes_init(struct sandboxes *s, struct loop *loop, const struct lane_bpf *bpf,
	struct dialler *dialler, const struct hosts_list *hosts, struct prober *prober)
{
	*s = (struct sandboxes){.loop = loop,
		.bpf = bpf,
		.dialler = dialler,
		.hosts = hosts,
		.prober = prober,
		.serving = -1};
}

struct sandbox *sandboxes_find(const struct sandboxes *s, const char *id)
{
	for (struct sandbox *one = s->first; one; one = one->next)
		if (one->state != SANDBOX_GONE && strcmp(one->attachment->id, id) == 0)
			return one;
	return NULL;
}

struct sandbox *sandboxes_after(const struct sandboxes *s, const char *after)
{
	struct sandbox *best = NULL;

	for (struct sandbox *one = s->first; one; one = one->next) {
		if (one->state == SANDBOX_GONE || strcmp(one->attachment->id, after) <= 0)
			continue;
		if (!best || strcmp(one->attachment->id, best->attachment->id) < 0)
			best = one;
	}
	return best;
}

/* One that leaves counts as well: what it takes back at its end would be the new one's. */
static int sandboxes_conflict(const struct sandboxes *s, const struct netns_identity *netns,
	const char *cgroup, struct fault *fault)
{
	for (const struct sandbox *one = s->first; one; one = one->next) {
		const struct attachment *a = one->attachment;
		bool leaves = one->state == SANDBOX_LEAVING;

		if (one->state == SANDBOX_GONE)
			continue;
		if (netns_same(&a->identity, netns))
			return fault_set(fault, leaves ? -EBUSY : -EEXIST,
				leaves ? "--netns: %s is being detached from it: try again when "
					 "that is done"
				       : "--netns: is attached already, as %s: detach that first",
				a->id);
		if (cgroup_inside(a->cgroup, cgroup) || cgroup_inside(cgroup, a->cgroup))
			return fault_set(fault, leaves ? -EBUSY : -EEXIST,
				leaves ? "--cgroup: %s is being detached from it: try again when "
					 "that is done"
				       : "--cgroup: overlaps with that of %s: take one beside it",
				a->id);
	}
	return 0;
}

/* The questions about other sandboxes come before anything is made in the kernel. */
static int sandboxes_admit(
	const struct sandboxes *s, const struct attach_spec *spec, struct fault *fault)
{
	struct netns_identity netns;
	struct cgroup_path cgroup;
	int r;

	if (!attach_id_valid(spec->request->id))
		return fault_set(fault, -EINVAL,
			"--id: wants [a-z0-9][a-z0-9_.-]*, at most %d characters", PROTO_ID - 1);
	if (sandboxes_find(s, spec->request->id))
		return fault_set(fault, -EEXIST,
			"--id: %s is attached already: detach it first, or take another id",
			spec->request->id);
	if (!sandboxes_linked(s))
		return fault_set(fault, -ENOTCONN, "%s", sandboxes_no_daemon);
	if (s->count >= LIMIT_SANDBOXES)
		return fault_set(fault, -ENOSPC, "%d sandboxes are attached, which is the limit",
			LIMIT_SANDBOXES);
	r = netns_verify(spec->netns_fd, fault, &netns);
	if (r == 0)
		r = cgroup_verify(spec->cgroup_fd, fault, &cgroup);
	return r < 0 ? r : sandboxes_conflict(s, &netns, cgroup.text, fault);
}

/* The addresses of an uplink have changed, or may have. */
static void sandboxes_addresses(struct loop_source *source, uint32_t events)
{
	struct sandbox *sandbox = container_of(source, struct sandbox, addresses);
	const struct attachment *a = sandbox->attachment;
	struct fault fault = {""};

	(void)events; /* only readiness is watched */
	if (source->fd < 0)
		return; /* forgotten while this was due */
	if (attach_follow(sandbox->attachment, &fault) == 0 && a->uplink->addresses.cut)
		(void)fault_set(&fault, -E2BIG,
			"its interfaces have more than %d addresses: connections to the others are "
			"captured, and from outside they are refused",
			CAPTURE_LOCALS);
	sandboxes_note(sandbox->all, a->id, "addresses of the uplink", fault.text,
		fault.text[0] ? "take addresses away" : "");
}

static int sandboxes_watch(struct sandboxes *s, struct sandbox *sandbox, struct fault *fault)
{
	int r;

	sandbox->all = s;
	sandbox->addresses = (struct loop_source){-1, sandboxes_addresses};
	if (!sandbox->attachment->uplink)
		return 0;
	sandbox->addresses.fd = sandbox->attachment->uplink->addresses.fd;
	r = loop_watch(s->loop, &sandbox->addresses, EPOLLIN);
	if (r < 0)
		return fault_set(
			fault, r, "cannot watch the addresses of its interfaces: %s", strerror(-r));
	return 0;
}

/* Before the descriptor is closed. */
static void sandboxes_unwatch(struct sandbox *sandbox)
{
	if (sandbox->addresses.fd >= 0)
		loop_forget(sandbox->all->loop, &sandbox->addresses);
	sandbox->addresses.fd = -1;
}

int sandboxes_attach(struct sandboxes *s, const struct attach_spec *spec,
	struct sandbox_listener asked, struct fault *fault, struct sandbox **ret)
{
	struct attach_spec whole = *spec;
	struct sandbox *sandbox;
	int r;

	r = sandboxes_admit(s, spec, fault);
	if (r == 0)
		r = lane_choose((enum proto_lane)spec->request->lane, spec->request->strict, s->bpf,
			fault, &whole.lane);
	if (r < 0)
		return r;
	sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox)
		return fault_set(fault, -ENOMEM, "out of memory");
	whole.daemon = s->daemon;
	whole.programs = s->bpf->programs;
	whole.steer = s->bpf->steer;
	whole.hosts = s->hosts;
	r = attach_begin(&whole, fault, &sandbox->attachment);
	if (r == 0) {
		r = sandboxes_watch(s, sandbox, fault);
		if (r < 0) {
			attach_undo(sandbox->attachment);
			attach_free(sandbox->attachment);
		}
	}
	if (r < 0) {
		free(sandbox);
		return r;
	}
	sandbox->state = SANDBOX_OFFERED;
	sandbox->deadline_ms = clock_monotonic_ms() + PROTO_REPLY_MS;
	sandbox->asked = asked;
	if (s->serving >= 0)
		sandbox->words[s->serving].offer_due = true;
	sandbox->kill = spec->request->hold;
	sandbox->owner = spec->request->owner;
	sandbox->strict = spec->request->strict;
	sandbox->own_cgroup = spec->request->own_cgroup;
	sandbox->next = s->first;
	s->first = sandbox;
	s->count++;
	log_info("sandbox %s: offered in the %s lane%s", sandbox->attachment->id,
		lane_name(sandbox->attachment->lane),
		sandbox->attachment->routes.v6 ? "" : "; its network namespace has no IPv6");
	*ret = sandbox;
	return 0;
}

/* What the daemon's own sockets may reach: what any policy opens. */
static int sandboxes_open(struct sandboxes *s, struct fault *fault)
{
	_cleanup_free_ struct capture_opening *all = NULL;
	size_t n = 0, at = 0;

	for (const struct sandbox *one = s->first; one; one = one->next)
		n += one->nopenings;
	if (n > 0) {
		all = calloc(n, sizeof(*all));
		if (!all)
			return fault_set(fault, -ENOMEM, "out of memory");
	}
	for (const struct sandbox *one = s->first; one; one = one->next) {
		if (one->nopenings > 0)
			memcpy(all + at, one->openings, one->nopenings * sizeof(*all));
		at += one->nopenings;
	}
	return dialler_open(s->dialler, all, n, fault);
}

static int sandboxes_take_openings(struct sandboxes *s, struct sandbox *sandbox,
	const struct proto_active *active, struct fault *fault)
{
	int r;

	if (active->nopenings == 0)
		return 0;
	sandbox->openings = calloc(active->nopenings, sizeof(*sandbox->openings));
	if (!sandbox->openings)
		return fault_set(fault, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < active->nopenings; i++) {
		const struct proto_opening *from = &active->openings[i];
		struct capture_opening *to = &sandbox->openings[i];

		memcpy(to->ip, from->ip, sizeof(to->ip));
		to->prefix = from->prefix;
		to->metadata = from->metadata;
		to->port_lo = from->port_lo;
		to->port_hi = from->port_hi;
	}
	r = openings_check(sandbox->openings, active->nopenings, fault);
	if (r < 0)
		return r;
	sandbox->nopenings = active->nopenings;
	return sandboxes_open(s, fault);
}

static void sandboxes_drop_openings(struct sandboxes *s, struct sandbox *sandbox)
{
	struct fault fault = {""};

	if (sandbox->nopenings == 0)
		return;
	free(TAKE_PTR(sandbox->openings));
	sandbox->nopenings = 0;
	if (sandboxes_open(s, &fault) < 0)
		log_error("what sandbox %s had opened stays open to the daemon: %s",
			sandbox->attachment->id, fault.text);
}

void sandboxes_end(struct sandboxes *s, struct sandbox *sandbox, int error, const char *text,
	struct sandbox_listener ended)
{
	int r;

	if (ended.tell)
		sandbox->asked_end = ended;
	if (sandbox->state == SANDBOX_LEAVING)
		return;
	sandboxes_to(sandbox, SANDBOX_LEAVING);
	sandbox->deadline_ms = clock_monotonic_ms() + SANDBOXES_LEAVING_MS;
	for (size_t i = 0; i < PROTO_DAEMONS; i++) {
		struct sandbox_word *w = &sandbox->words[i];

		w->offer_due = false;
		w->answer_owed = false;
		w->withdraw_due = w->known;
	}
	if (sandbox->kill) {
		r = cgroup_kill(sandbox->attachment->cgroup_fd);
		if (r < 0)
			(void)log_errno(r, "sandbox %s: its processes cannot be ended",
				sandbox->attachment
					->id); /* its network is taken away all the same */
	}
	upkeep_stop(sandbox);
	attach_shut(sandbox->attachment);
	sandboxes_drop_openings(s, sandbox);
	sandboxes_tell(&sandbox->asked, error, text);
}

void sandboxes_forget_listener(struct sandboxes *s, const void *who)
{
	for (struct sandbox *one = s->first; one; one = one->next) {
		if (one->asked.who == who)
			one->asked = (struct sandbox_listener){NULL, NULL};
		if (one->asked_end.who == who)
			one->asked_end = (struct sandbox_listener){NULL, NULL};
		if (one->holder.who == who)
			one->holder = (struct sandbox_listener){NULL, NULL};
	}
}

static void sandboxes_digest_text(const uint8_t digest[32], char ret[65])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 32; i++) {
		ret[2 * i] = digits[digest[i] >> 4];
		ret[2 * i + 1] = digits[digest[i] & 15];
	}
	ret[64] = '\0';
}

static void sandboxes_finish(
	struct sandboxes *s, struct sandbox *sandbox, const struct proto_active *active)
{
	struct fault fault = {""};
	int r;

	r = sandboxes_take_openings(s, sandbox, active, &fault);
	if (r == 0)
		r = attach_finish(sandbox->attachment, active->digest, sandbox->openings,
			sandbox->nopenings, &fault);
	if (r < 0) {
		sandboxes_end(s, sandbox, r, fault.text, (struct sandbox_listener){NULL, NULL});
		return;
	}
	memcpy(sandbox->digest, active->digest, sizeof(sandbox->digest));
	sandboxes_to(sandbox, SANDBOX_ACTIVE);
	for (size_t i = 0; i < PROTO_DAEMONS; i++) /* who takes over has not heard of it */
		sandbox->words[i].offer_due = s->linked[i] && !sandbox->words[i].known;
	upkeep_prove(s, sandbox);
}

void sandboxes_attached(struct sandboxes *s, struct sandbox *sandbox, int error, const char *text)
{
	char digest[65];

	if (error) {
		sandboxes_end(s, sandbox, error, text, (struct sandbox_listener){NULL, NULL});
		return;
	}
	sandboxes_digest_text(sandbox->digest, digest);
	sandboxes_tell(&sandbox->asked, 0, digest);
}

/* Nobody accepts its connections: better refused than left waiting. */
static void sandboxes_unserved(struct sandbox *sandbox, const char *why)
{
	log_error("sandbox %s: the daemon refused it: %s; all but loopback is refused to it",
		sandbox->attachment->id, why);
	if (!sandbox->closed && attach_close(sandbox->attachment) < 0)
		log_error("sandbox %s: cannot be closed in every way", sandbox->attachment->id);
	sandbox->daemon_failed = sandbox->closed = true;
}

static void sandboxes_answered(struct sandboxes *s, struct sandbox *sandbox, unsigned int slot,
	const struct proto_active *active)
{
	const char *why = active->text[0] ? active->text : "the daemon refused the policy";

	if (sandbox->state == SANDBOX_OFFERED && active->error)
		sandboxes_end(s, sandbox, active->error < 0 ? active->error : -active->error, why,
			(struct sandbox_listener){NULL, NULL});
	else if (sandbox->state == SANDBOX_OFFERED)
		sandboxes_finish(s, sandbox, active);
	else if (active->error)
		sandboxes_unserved(sandbox, why);
	else if (s->serving == (int)slot)
		sandboxes_served(sandbox);
}

int sandboxes_active(struct sandboxes *s, unsigned int slot, const struct proto_active *active)
{
	struct sandbox *sandbox;

	if (strnlen(active->id, sizeof(active->id)) == sizeof(active->id) ||
		strnlen(active->text, sizeof(active->text)) == sizeof(active->text) ||
		active->nopenings > PROTO_OPENINGS)
		return -EPROTO;
	sandbox = sandboxes_find(s, active->id);
	if (!sandbox)
		return -EPROTO;
	if (sandbox->state == SANDBOX_LEAVING)
		return 0; /* it answered before it read the withdrawal */
	if (!sandbox->words[slot].answer_owed)
		return -EPROTO;
	sandbox->words[slot].answer_owed = false;
	sandboxes_answered(s, sandbox, slot, active);
	return 0;
}

/* Whether an end is complete. */
static bool sandboxes_left(struct sandbox *sandbox)
{
	const struct attachment *a = sandbox->attachment;

	if (sandboxes_known(sandbox) || sandbox->selftest)
		return false;
	if (sandbox->kill && cgroup_populated(a->cgroup_fd)) {
		(void)cgroup_kill(a->cgroup_fd); /* one may have been forked meanwhile where
						    cgroup.kill is missing */
		return false;
	}
	return !sandbox->own_cgroup || cgroup_remove(a->cgroup_fd, a->cgroup) == 0;
}

/* One sandbox's turn; the milliseconds until its next, -1 = none. */
static int sandboxes_turn(struct sandboxes *s, struct sandbox *sandbox, uint64_t now)
{
	bool late = now >= sandbox->deadline_ms;

	if (sandbox->state == SANDBOX_OFFERED && !late)
		return (int)(sandbox->deadline_ms - now);
	if (sandbox->state == SANDBOX_OFFERED) {
		sandboxes_end(s, sandbox, -ETIMEDOUT,
			sandboxes_linked(s) ? "sallyportd did not answer within 10 seconds"
					    : sandboxes_no_daemon,
			(struct sandbox_listener){NULL, NULL});
		return 0;
	}
	if (sandbox->state != SANDBOX_LEAVING)
		return -1;
	if (!sandboxes_left(sandbox)) {
		if (!late)
			return SANDBOXES_POLL_MS;
		log_warn("sandbox %s: %s did not go within 5 seconds", sandbox->attachment->id,
			sandboxes_known(sandbox) ? "the daemon's copies" : "its processes");
		sandboxes_wait_no_more(s, sandbox);
	}
	sandboxes_unwatch(sandbox);
	attach_undo(sandbox->attachment);
	if (sandbox->attachment->left_closed)
		log_warn("sandbox %s: processes are left in it; a table stays that lets them reach "
			 "nothing but loopback (nft delete table inet sallyport)",
			sandbox->attachment->id);
	sandboxes_to(sandbox, SANDBOX_GONE);
	sandboxes_tell(&sandbox->asked_end, 0, "");
	sandboxes_tell(&sandbox->holder, 0, "");
	return -1;
}

static void sandboxes_reap(struct sandboxes *s)
{
	struct sandbox **link = &s->first;

	while (*link) {
		struct sandbox *one = *link;

		if (one->state != SANDBOX_GONE || one->selftest) {
			link = &one->next;
			continue;
		}
		*link = one->next;
		s->count--;
		attach_free(one->attachment);
		notes_free(&one->notes);
		free(one->openings);
		free(one);
	}
}

void sandboxes_note(struct sandboxes *s, const char *id, const char *feature, const char *reason,
	const char *remedy)
{
	struct sandbox *sandbox = id[0] ? sandboxes_find(s, id) : NULL;
	int r;

	if (id[0] && !sandbox)
		return;
	r = notes_set(sandbox ? &sandbox->notes : &s->notes, feature, reason, remedy);
	if (r < 0)
		(void)log_errno(r, "%s%s%s is degraded and cannot be noted: %s", id,
			id[0] ? ": " : "", feature, reason);
	else if (r > 0 && reason[0])
		log_warn("%s%s%s is degraded: %s; %s", id, id[0] ? ": " : "", feature, reason,
			remedy);
	else if (r > 0)
		log_info("%s%s%s is whole again", id, id[0] ? ": " : "", feature);
}

void sandboxes_done(struct sandboxes *s)
{
	notes_free(&s->notes);
}

int sandboxes_tick(struct sandboxes *s)
{
	uint64_t now = clock_monotonic_ms();
	int soonest = upkeep_tick(s, now), due = containers_tick(s, now);

	if (due >= 0 && (soonest < 0 || due < soonest))
		soonest = due;
	for (struct sandbox *one = s->first; one; one = one->next) {
		int wait = sandboxes_turn(s, one, now);

		if (wait >= 0 && (soonest < 0 || wait < soonest))
			soonest = wait;
	}
	sandboxes_reap(s);
	return soonest;
}

bool sandboxes_hold(const struct sandboxes *s, int sock, pid_t pid)
{
	struct cgroup_path path;
	uint64_t netns;

	if (cgroup_of(pid, &path) < 0)
		return true; /* a process that asked and ended at once must not escape the question */
	if (netns_cookie(sock, &netns) < 0)
		return true;
	for (const struct sandbox *one = s->first; one; one = one->next)
		if (cgroup_inside(path.text, one->attachment->cgroup) ||
			netns == one->attachment->cookie)
			return true;
	return false;
}
