/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c – see registry.h. Everything runs in the control thread.
 *
 * offer → sandbox_new → seated at the workers → ACTIVE to the helper, which then lets traffic in;
 * withdraw → workers leave → files removed → GONE to the helper.
 *
 * When the helper comes back it offers again what it still has. A sandbox that we have already keeps its connections and is
 * just confirmed; one that is not offered within REGISTRY_GRACE is gone with the old helper and is dropped.
 * When the helper is away and the state directory as well, this instance is over.
 *
 * A daemon that takes over makes its sandboxes from what the one that serves has on disk, confirms them, and seats and
 * writes nothing until the helper says that it serves. Whatever goes wrong before that ends it; the other goes on. The
 * one from which is taken accepts nothing more, gives up what has one reader or writer (the kernel's events, rotation, the control
 * socket), and ends when it is empty (drain.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf/daemon_conf.h"
#include "control/link.h"
#include "cred/credset.h"
#include "policy/policy.h"
#include "proxy/naming.h"
#include "proxy/registry_internal.h"
#include "proxy/sandbox.h"
#include "proxy/shared.h"

enum { REGISTRY_GRACE = 3000 /* milliseconds for a new helper to offer what it has */ };

struct sandbox *registry_find(const struct registry *r, const char *id)
{
	for (struct sandbox *s = r->first; s; s = s->next)
		if (strcmp(s->at.id, id) == 0)
			return s;
	return NULL;
}

static void registry_take_out(struct sandbox **at, const struct sandbox *s)
{
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
}

/* The sandbox ends: no new one of its id before it is gone, since what it keeps on disk goes with it. */
static void registry_end(struct registry *r, struct sandbox *s)
{
	registry_take_out(&r->first, s);
	r->count--;
	s->next = r->leaving;
	r->leaving = s;
	if (s->seated)
		sandbox_unseat(s);
	else
		s->gone(s);
}

bool registry_is_leaving(const struct registry *r, const char *id)
{
	for (const struct sandbox *s = r->leaving; s; s = s->next)
		if (strcmp(s->at.id, id) == 0)
			return true;
	return false;
}

/* ---- offers */

static void registry_fail(struct registry *r, const char *why)
{
	if (!r->failed)
		log_error("cannot take over: %s; the daemon that serves goes on", why);
	r->failed = true;
	loop_stop(r->shared->control);
}

static void registry_refuse(struct registry *r, const char *id, int error, const char *text)
{
	struct proto_active a = {
		.head = {.op = PROTO_ACTIVE, .version = PROTO_VERSION}, .error = error};

	(void)snprintf(a.id, sizeof(a.id), "%s", id);
	(void)snprintf(a.text, sizeof(a.text), "%s", text);
	link_active(r->link, &a);
	r->refused = true;
	if (r->taking)
		registry_fail(r, "a sandbox is refused");
}

static void registry_confirm(struct registry *r, const struct sandbox *s)
{
	struct proto_active a = {.head = {.op = PROTO_ACTIVE, .version = PROTO_VERSION}};
	struct policy_opening openings[PROTO_OPENINGS];
	unsigned n = policy_openings(s->policy, openings, PROTO_OPENINGS);

	if (n > PROTO_OPENINGS) {
		registry_refuse(r, s->at.id, -E2BIG,
			"the policy's private: has more entries than the kernel's table holds");
		return;
	}
	(void)snprintf(a.id, sizeof(a.id), "%s", s->at.id);
	memcpy(a.digest, policy_digest(s->policy), sizeof(a.digest));
	a.nopenings = n;
	for (unsigned i = 0; i < n; i++) {
		memcpy(a.openings[i].ip, openings[i].ip, sizeof(a.openings[i].ip));
		a.openings[i].prefix = openings[i].prefix;
		a.openings[i].metadata = openings[i].metadata;
		a.openings[i].port_lo = openings[i].port_lo;
		a.openings[i].port_hi = openings[i].port_hi;
	}
	link_active(r->link, &a);
}

/* The credentials of all entries whose patterns name the sandbox. 0 and *ret (NULL: none), or -errno. */
int registry_credentials(
	struct registry *r, const char *id, struct fault *fault, struct credset **ret)
{
	struct credset *parts[CREDSET_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < r->conf->ncredentials && n < CREDSET_MAX; i++)
		if (daemon_conf_covers(&r->conf->credentials[i], id))
			parts[n++] = r->credentials[i];
	*ret = NULL;
	return n ? credset_merge(parts, n, fault, ret) : 0;
}

static int registry_read(int fd, struct buf *ret)
{
	struct stat st;
	uint8_t *to;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < 0 || st.st_size > LIMIT_DOCUMENT)
		return -EFBIG;
	to = buf_reserve(ret, (size_t)st.st_size + 1);
	if (!to)
		return -ENOMEM;
	if (pread(fd, to, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	buf_commit(ret, (size_t)st.st_size);
	return 0;
}

static void registry_fill_offer(
	struct sandbox_offer *to, const struct proto_offer *from, const int *fds)
{
	*to = (struct sandbox_offer){.netns = from->netns,
		.cgroup = from->cgroup,
		.nslots = from->nslots,
		.families = proto_families(from),
		.uplink = from->mode == PROTO_UPLINK,
		.flow_map = -1,
		.dns = {-1, -1}};
	fds++; /* the policy is read by who called */
	if (from->lane == PROTO_LANE_BPF)
		to->flow_map = *fds++;
	for (unsigned i = 0; i < to->families; i++)
		to->dns[i] = *fds++;
	for (unsigned i = 0; i < to->families; i++, fds += from->nslots)
		memcpy(to->tcp[i], fds, from->nslots * sizeof(int));
	memcpy(to->id, from->id, sizeof(to->id));
	to->search = from->search;
	while (to->nsearch < PROTO_SEARCH && from->search[to->nsearch][0])
		to->nsearch++;
}

/* The workers have left. */
static void registry_gone(struct sandbox *s)
{
	struct registry *r = s->gone_arg;

	registry_take_out(&r->leaving, s);
	sandbox_forget(s->at.id, r->conf->state);
	log_info("sandbox %s is detached", s->at.id);
	if (!s->stale)
		link_gone(r->link, s->at.id);
	kernel_prune(&r->kernel);
	sandbox_free(s);
}

static int registry_add(
	struct registry *r, const struct proto_offer *offer, const int *fds, struct fault *fault)
{
	struct sandbox_home home = {.state = r->conf->state,
		.shared = r->shared,
		.others = r->first,
		.borrowed = r->taking};
	struct sandbox_offer at;
	struct sandbox *s;
	struct buf policy;
	int e;

	buf_init(&policy, LIMIT_DOCUMENT + 1);
	registry_fill_offer(&at, offer, fds);
	e = registry_credentials(r, offer->id, fault, &home.credentials);
	e = e ? e : registry_read(fds[0], &policy);
	e = e ? e : sandbox_new(&home, &at, buf_slice(&policy), fault, &s);
	if (e == 0)
		prepared_drop(&r->prepared, offer->id);
	buf_done(&policy);
	credset_unref(home.credentials);
	if (e < 0)
		return fault_set(fault, e, "%s", strerrordesc_np(-e));
	(void)close(fds[0]); /* the document is read */
	s->gone = registry_gone;
	s->gone_arg = r;
	s->next = r->first;
	r->first = s;
	r->count++;
	kernel_joined(&r->kernel, s);
	if (!r->taking)
		sandbox_seat(s);
	registry_confirm(r, s);
	log_info("sandbox %s is attached, policy %s", s->at.id, policy_name(s->policy));
	return 0;
}

static void registry_offer(void *arg, const struct proto_offer *offer, const int *fds, size_t nfds)
{
	struct registry *r = arg;
	struct sandbox *s = registry_find(r, offer->id);
	struct fault fault = {0};
	int e = 0;

	if (s && s->at.netns == offer->netns && s->stale) {
		s->stale =
			false; /* the same one, from a helper that came back; its sockets are the ones we have */
		registry_confirm(r, s);
	} else if (s) {
		e = -EEXIST;
		(void)fault_set(&fault, e, "a sandbox of that id is attached");
	} else if (registry_is_leaving(r, offer->id)) {
		e = -EBUSY;
		(void)fault_set(
			&fault, e, "the last sandbox of that id is not gone yet: try again");
	} else {
		e = registry_add(r, offer, fds, &fault);
		if (e == 0)
			return;
	}
	if (e < 0) {
		log_warn("sandbox %s is refused: %s", offer->id, fault.text);
		registry_refuse(r, offer->id, e, fault.text);
	}
	for (size_t i = 0; i < nfds; i++)
		(void)close(fds[i]);
}

static void registry_withdraw(void *arg, const char *id)
{
	struct registry *r = arg;
	struct sandbox *s = registry_find(r, id);

	if (!s) {
		link_gone(r->link, id);
		return;
	}
	kernel_leaves(&r->kernel, s);
	registry_end(r, s);
}

/* A sandbox that is not here was refused by us, or is withdrawn. */
static void registry_note(void *arg, const struct proto_note *note)
{
	struct registry *r = arg;
	struct sandbox *s = note->id[0] ? registry_find(r, note->id) : NULL;
	struct notes *notes = s ? &s->notes : note->id[0] ? NULL : &r->notes;
	int e = notes ? notes_set(notes, note->feature, note->reason, note->remedy) : 0;

	if (e < 0)
		(void)log_errno(e, "%s is degraded, which cannot be kept", note->feature);
}

/* Another helper tells its own. */
static void registry_forget_notes(struct registry *r)
{
	notes_done(&r->notes);
	for (struct sandbox *s = r->first; s; s = s->next)
		notes_done(&s->notes);
}

static void registry_hello(
	void *arg, const struct proto_hello *hello, int heartbeat, const int maps[LINK_MAPS])
{
	struct registry *r = arg;
	int e;

	r->linked = r->greeted = true;
	r->refused = false;
	r->waits = hello->wait;
	r->dialler.take_over = r->taking;
	link_dialler(r->link, &r->dialler);
	if (hello->occupied && !r->taking)
		log_warn("another sallyportd serves: --take-over takes over from it");
	registry_forget_notes(r);
	kernel_hello(&r->kernel, maps);
	if (!r->taking)
		kernel_serve(&r->kernel);
	e = pulse_start(&r->pulse, r->shared, heartbeat, hello->slot);
	if (e < 0)
		(void)log_errno(e, "no sign of life can be given: connections may be refused");
	timer_start(r->shared->control, &r->grace, REGISTRY_GRACE);
	log_info("the helper is connected%s",
		maps ? "" : "; it has no BPF: neither attribution nor the kernel's refusals");
}

/* ---- taking over, and being taken over from */

static void registry_serve(void *arg)
{
	struct registry *r = arg;

	if (!r->taking)
		return;
	r->taking = false;
	timer_stop(r->shared->control, &r->take);
	(void)audit_reopen(
		r->shared->audit); /* it may have been rotated; else what is open is it */
	kernel_serve(&r->kernel);
	for (struct sandbox *s = r->first; s; s = s->next) {
		struct fault fault = {0};

		if (naming_renew(s, r->conf->state, &fault) < 0 ||
			sandbox_keep(s, r->conf->state, &fault) < 0)
			log_error("sandbox %s: %s", s->at.id, fault.text);
		sandbox_seat(s);
	}
	timer_start(r->shared->control, &r->grace, REGISTRY_GRACE);
	log_info("took over %u sandboxes", r->count);
}

static void registry_late(struct timer *t)
{
	struct registry *r = container_of(t, struct registry, take);

	registry_fail(r, r->linked ? "the other daemon does not hand over"
				   : "the helper is not there, or busy with another take-over: "
				     "see its log");
}

static void registry_accepts_nothing(void *arg)
{
	struct registry *r = arg;

	link_draining(r->link, (uint32_t)r->conf->drain);
}

static void registry_drain(void *arg)
{
	struct registry *r = arg;

	if (r->taking || r->draining)
		return;
	r->draining = true;
	log_info("another daemon takes over: what is under way has %llu s to end",
		(unsigned long long)r->conf->drain);
	audit_share(r->shared->audit);
	kernel_drain(&r->kernel);
	r->drained_from(r->arg);
	drain_start(&r->drain, r->shared, r->conf->drain, registry_accepts_nothing, r);
}

/* Without its state directory this instance is over. */
static void registry_over(struct registry *r)
{
	if (access(r->conf->state, F_OK) == 0)
		return;
	log_info("the helper and the state directory are gone: ending");
	loop_stop(r->shared->control);
}

static void registry_lost(void *arg)
{
	struct registry *r = arg;

	for (struct sandbox *s = r->first; s; s = s->next)
		s->stale = true;
	timer_stop(r->shared->control, &r->grace);
	r->linked = false;
	kernel_lost(&r->kernel);
	pulse_stop(&r->pulse);
	if (r->draining) {
		link_close(r->link); /* the next helper has no use for us */
		return;
	}
	if (r->taking && r->greeted) {
		registry_fail(r, "the helper hung up: see its log");
		return;
	}
	if (r->taking)
		return; /* it is busy: tried again, until registry_late() */
	log_warn("the helper is gone; waiting for it to come back");
	registry_over(r);
}

/* What the helper that came back did not offer again is gone. */
static void registry_grace(struct timer *t)
{
	struct registry *r = container_of(t, struct registry, grace);
	struct sandbox *s = r->first;

	while (s) {
		struct sandbox *next = s->next;

		if (s->stale)
			registry_end(r, s);
		s = next;
	}
	kernel_prune(&r->kernel);
	registry_prepared_adopt(r);
}

static const struct link_events registry_events = {
	.hello = registry_hello,
	.offer = registry_offer,
	.withdraw = registry_withdraw,
	.note = registry_note,
	.serve = registry_serve,
	.drain = registry_drain,
	.lost = registry_lost,
};

/* ---- the clock: credential files */

static void registry_look(struct timer *t)
{
	struct registry *r = container_of(t, struct registry, look);

	if (!r->linked) /* no helper: is there still anything to wait for? */
		registry_over(r);
	kernel_look(&r->kernel);
	registry_prepared_expire(r);
	for (struct sandbox *s = r->first; s; s = s->next) {
		struct credset *next;

		if (s->credentials && credset_refresh(s->credentials, &next) > 0) {
			log_info("credentials of sandbox %s have changed", s->at.id);
			sandbox_refresh(s, next);
		}
	}
	timer_start(r->shared->control, t, TIME_SOURCE_CHECK);
}

/* ---- life */

static void registry_set_dialler(struct registry *r, const struct registry_setup *setup)
{
	r->dialler.head = (struct proto_head){.op = PROTO_DIALLER, .version = PROTO_VERSION};
	for (unsigned i = 0; i < setup->nresolvers && i < PROTO_RESOLVERS; i++) {
		struct proto_resolver *to = &r->dialler.resolvers[r->dialler.n++];

		memcpy(to->ip, setup->resolvers[i].ip, sizeof(to->ip));
		to->port = setup->resolvers[i].port;
	}
}

int registry_new(const struct registry_setup *setup, struct registry **ret)
{
	struct registry *r = calloc(1, sizeof(*r));
	int e, n;

	if (!r)
		return -ENOMEM;
	r->shared = setup->shared;
	r->conf = setup->conf;
	r->credentials = setup->credentials;
	r->cgroup_root = setup->cgroup_root;
	r->taking = setup->take_over;
	r->drained_from = setup->drain;
	r->arg = setup->arg;
	r->began = clock_monotonic_ms();
	e = kernel_init(&r->kernel, r->shared, &r->first);
	if (e < 0) {
		free(r);
		return e;
	}
	audit_paths_by(r->shared->audit, kernel_paths, &r->kernel);
	registry_set_dialler(r, setup);
	r->look.fire = registry_look;
	r->grace.fire = registry_grace;
	r->take.fire = registry_late;
	n = snprintf(r->link_path, sizeof(r->link_path), "%s/link.sock", setup->conf->state);
	if (n < 0 || (size_t)n >= sizeof(r->link_path)) {
		registry_free(r);
		return -ENAMETOOLONG;
	}
	*ret = r;
	return 0;
}

void registry_event(struct registry *r, const struct audit_event *e)
{
	kernel_note_uses(&r->kernel, e);
	(void)audit_write(r->shared->audit, e); /* a lost line is counted there */
}

void registry_lose(struct registry *r, uint64_t n)
{
	audit_lose(r->shared->audit, n);
}

int registry_start(struct registry *r)
{
	timer_start(r->shared->control, &r->look, TIME_SOURCE_CHECK);
	if (r->taking)
		timer_start(r->shared->control, &r->take, TIME_TAKE_OVER);
	return link_new(r->shared->control, r->link_path, &registry_events, r, &r->link);
}

void registry_leave(struct registry *r)
{
	if (!r)
		return;
	if (r->draining)
		pulse_stop(
			&r->pulse); /* it may still count, until the helper has read that we drain */
	else
		pulse_die(&r->pulse);
	link_close(r->link);
}

bool registry_failed(const struct registry *r)
{
	return r->failed;
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	drain_stop(&r->drain);
	pulse_stop(&r->pulse);
	link_free(r->link);
	audit_paths_by(r->shared->audit, NULL, NULL);
	kernel_done(&r->kernel);
	while (r->first) {
		struct sandbox *s = r->first;

		r->first = s->next;
		sandbox_free(s);
	}
	notes_done(&r->notes);
	free(r);
}
