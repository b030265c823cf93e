/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c – see kernel.h.
 *
 * The ring buffer is older than we: what it holds when we start is of sandboxes that have not been offered yet. It is kept for
 * them, as many as the ring has room for, and written without a sandbox when nobody comes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "audit/audit.h"
#include "audit/event.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "bpf/capture.h"
#include "capture/paths.h"
#include "capture/refusals.h"
#include "capture/uses.h"
#include "proxy/kernel.h"
#include "proxy/refusal.h"
#include "proxy/sandbox.h"
#include "proxy/shared.h"

enum {
	KERNEL_PATIENCE =
		3000, /* milliseconds: for the offer of a sandbox whose refusals are kept */
	KERNEL_EARLY = CAPTURE_EVENTS_BYTES / sizeof(struct capture_refusal),
};

struct kernel_early {
	struct capture_unix_refusal what;
	uint64_t since; /* milliseconds */
	char time[CLOCK_TEXT];
};

static struct sandbox *kernel_sandbox(const struct kernel *k, uint64_t netns)
{
	for (struct sandbox *s = *k->sandboxes; s; s = s->next)
		if (s->at.netns == netns)
			return s;
	return NULL;
}

/* ---- refusals */

static void kernel_write(struct kernel *k, struct sandbox *s, const struct kernel_early *r)
{
	struct audit_event e;

	refusal_event(&r->what, &e);
	audit_text(e.time, sizeof(e.time), slice_str(r->time));
	if (s) {
		audit_text(e.sandbox, sizeof(e.sandbox), slice_str(s->at.id));
		s->refusals++;
	}
	(void)audit_write(k->audit, &e); /* a lost line is counted there */
}

static struct kernel_early *kernel_early_new(void)
{
	return calloc(KERNEL_EARLY, sizeof(struct kernel_early));
}

/* False: there is no room. */
static bool kernel_keep_early(struct kernel *k, const struct kernel_early *r)
{
	k->early = k->early ? k->early : kernel_early_new();
	if (!k->early || k->nearly == KERNEL_EARLY)
		return false;
	k->early[k->nearly++] = *r;
	return true;
}

/* Writes those of the sandbox, and those that are older than that; the others stay in their order. */
static void kernel_write_early(struct kernel *k, struct sandbox *s, uint64_t before)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < k->nearly; i++) {
		struct kernel_early *r = &k->early[i];

		if (s && r->what.refusal.netns == s->at.netns)
			kernel_write(k, s, r);
		else if (r->since < before)
			kernel_write(k, NULL, r);
		else
			k->early[kept++] = *r;
	}
	k->nearly = kept;
	if (!kept)
		free(TAKE_PTR(k->early));
}

static void kernel_refused(void *arg, const struct capture_unix_refusal *what)
{
	const struct capture_refusal *refusal = &what->refusal;
	struct kernel *k = arg;
	struct sandbox *s = kernel_sandbox(k, refusal->netns);
	struct kernel_early r = {.what = *what, .since = clock_monotonic_ms()};
	bool nobodys = refusal->reason == CAPTURE_NOT_ATTACHED || refusal->netns == CAPTURE_DIALLER;

	clock_wall_text(r.time);
	if (s || nobodys || !kernel_keep_early(k, &r))
		kernel_write(k, s, &r);
}

void kernel_joined(struct kernel *k, struct sandbox *s)
{
	kernel_write_early(k, s, 0);
	k->counted = false;
}

static void kernel_tell_losses(
	struct kernel *k, uint64_t netns, const char *id, const char *rule, struct losses *told)
{
	struct audit_event e = {.kind = AUDIT_LOSSES};
	struct losses now;

	if (losses_read(k->maps[LINK_VERDICTS], netns, &now) < 0 ||
		memcmp(&now, told, sizeof(now)) == 0)
		return;
	*told = now;
	clock_wall_text(e.time);
	audit_text(e.sandbox, sizeof(e.sandbox), slice_str(id));
	audit_text(e.rule, sizeof(e.rule), slice_str(rule));
	e.suppressed = now.suppressed;
	e.lost = now.lost;
	(void)audit_write(k->audit, &e); /* a lost line is counted there */
}

void kernel_leaves(struct kernel *k, struct sandbox *s)
{
	if (!k->refusals)
		return;
	refusals_drain(k->refusals);
	kernel_tell_losses(k, s->at.netns, s->at.id, "kernel", &s->losses);
}

void kernel_look(struct kernel *k)
{
	kernel_write_early(k, NULL, clock_monotonic_ms() - KERNEL_PATIENCE);
	if (!k->refusals)
		return;
	kernel_tell_losses(k, 0, "", "kernel", &k->foreign);
	kernel_tell_losses(k, CAPTURE_DIALLER, "", "dialler", &k->dialler);
	for (struct sandbox *s = *k->sandboxes; s; s = s->next)
		kernel_tell_losses(k, s->at.netns, s->at.id, "kernel", &s->losses);
}

/* ---- life */

int kernel_init(struct kernel *k, struct shared *shared, struct sandbox *const *sandboxes)
{
	*k = (struct kernel){.loop = shared->control,
		.shared = shared,
		.audit = shared->audit,
		.sandboxes = sandboxes};
	for (int i = 0; i < LINK_MAPS; i++)
		k->maps[i] = -1;
	/* what workers look at must be a number that stays; until there is a map, nothing is found */
	shared->closed = eventfd(0, EFD_CLOEXEC);
	return shared->closed < 0 ? -errno : 0;
}

void kernel_lost(struct kernel *k)
{
	refusals_free(TAKE_PTR(k->refusals));
}

static void kernel_close(struct kernel *k)
{
	kernel_lost(k);
	kernel_write_early(k, NULL, UINT64_MAX);
	for (int i = 0; i < LINK_MAPS; i++)
		if (k->maps[i] >= 0)
			(void)close(TAKE_FD(k->maps[i]));
	k->foreign = k->dialler = (struct losses){0, 0};
	k->counted = false;
	for (struct sandbox *s = *k->sandboxes; s; s = s->next)
		s->losses = (struct losses){0, 0};
}

void kernel_hello(struct kernel *k, const int maps[LINK_MAPS])
{
	kernel_close(k);
	if (!maps)
		return;
	memcpy(k->maps, maps, sizeof(k->maps));
	if (dup3(k->maps[LINK_CLOSED], k->shared->closed, O_CLOEXEC) < 0)
		(void)log_errno(-errno, "clients that end at once will be unattributed");
}

void kernel_drain(struct kernel *k)
{
	k->draining = true;
	refusals_drain(k->refusals);
	kernel_lost(k);
}

void kernel_serve(struct kernel *k)
{
	int e;

	if (k->maps[LINK_EVENTS] < 0)
		return;
	e = refusals_new(k->loop, TAKE_FD(k->maps[LINK_EVENTS]), kernel_refused, k, &k->refusals);
	if (e < 0)
		(void)log_errno(e,
			"kernel refusals cannot be read: they are in the maps, not in the audit");
}

void kernel_done(struct kernel *k)
{
	if (!k->loop)
		return;
	kernel_close(k);
	if (k->shared->closed >= 0)
		(void)close(TAKE_FD(k->shared->closed));
}

/*
 * ---- uses and paths
 *
 * All sandboxes share the pairs, and one can have as many as it finds hosts for. So it may have a new pair while it has
 * fewer than half of those that are free: who is alone has a third of the map, there is always something left for who
 * comes later, and the more there are the less has each. What is beyond is counted for USES_OTHERS.
 */

static bool kernel_keep(void *arg, uint64_t netns)
{
	return kernel_sandbox(arg, netns) != NULL;
}

void kernel_prune(struct kernel *k)
{
	if (k->maps[LINK_USES] >= 0 && !k->draining)
		uses_prune(k->maps[LINK_USES], kernel_keep, k);
	k->counted = false;
}

static bool kernel_count_pair(void *arg, uint64_t netns)
{
	struct kernel *k = arg;
	struct sandbox *s = kernel_sandbox(k, netns);

	k->pairs++;
	if (s)
		s->pairs++;
	return true;
}

/* Anew when sandboxes came or went: pairs go with them, and may be there of a daemon before us. */
static void kernel_count_pairs(struct kernel *k)
{
	k->pairs = 0;
	for (struct sandbox *s = *k->sandboxes; s; s = s->next)
		s->pairs = 0;
	uses_prune(k->maps[LINK_USES], kernel_count_pair, k);
	k->counted = true;
}

static void kernel_note_use(
	struct kernel *k, struct sandbox *s, const struct audit_use *u, const char *host)
{
	bool room = k->pairs < CAPTURE_USES && s->pairs < (CAPTURE_USES - k->pairs) / 2;
	int map = k->maps[LINK_USES], r;

	r = uses_add(map, s->at.netns, u->credential, host, u->count, room);
	if (r == -EDQUOT)
		r = uses_add(map, s->at.netns, u->credential, USES_OTHERS, u->count, true);
	if (r < 0) {
		k->uses_untold += u->count;
		return;
	}
	s->pairs += (unsigned)r;
	k->pairs += (unsigned)r;
}

void kernel_note_uses(struct kernel *k, const struct audit_event *e)
{
	struct sandbox *s = *k->sandboxes;

	if (k->maps[LINK_USES] < 0 || !e->nuses)
		return;
	if (!k->counted)
		kernel_count_pairs(k);
	while (s && strcmp(s->at.id, e->sandbox) != 0)
		s = s->next;
	for (unsigned i = 0; s && i < e->nuses && i < AUDIT_USES; i++)
		kernel_note_use(k, s, &e->uses[i], e->host);
}

void kernel_paths(void *kernel, const struct audit_client *client, struct audit_paths *ret)
{
	const struct kernel *k = kernel;

	static_assert(sizeof(ret->exe) == CAPTURE_PATH, "one size of paths");
	if (k->maps[LINK_EXECUTABLES] >= 0 && client->exe_ino)
		paths_exe(k->maps[LINK_EXECUTABLES], client->exe_dev, client->exe_ino, ret->exe);
	if (k->maps[LINK_CGROUPS] >= 0 && client->cgroup)
		paths_cgroup(k->maps[LINK_CGROUPS], client->cgroup, ret->cgroup);
}
