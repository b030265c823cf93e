/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upkeep.c – see upkeep.h.
 *
 * Self-tests: one at the attach, which may fail it; then each sandbox every TIME_SELFTEST_EVERY, no two beginning within
 * TIME_SELFTEST_GAP, so that a thousand sandboxes take longer and not more. What comes of one:
 *   good       a closed sandbox is opened again, the note goes
 *   bad        closed (attach_close: all but loopback is refused), noted, what can be put back is; asked again every TIME_SELFTEST_AGAIN
 *   unproven   noted; open stays open and closed stays closed, since nothing speaks against it: a frozen or full
 *              cgroup is no sign that a program is missing. `--strict` takes it for a failure at the attach
 *
 * Host addresses: at most UPKEEP_TABLES tables in one turn of the loop, for the sake of everybody else; one that does not
 * take them is noted and tried again.
 */
#include <errno.h>
#include <string.h>

#include "netns-helper/hosts.h"
#include "netns-helper/lane.h"
#include "netns-helper/programs.h"
#include "netns-helper/sandboxes.h"
#include "netns-helper/selftest.h"
#include "netns-helper/upkeep.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

enum { UPKEEP_TABLES = 16, UPKEEP_TABLES_MS = 1000 };

static const char upkeep_hosts_feature[] = "host addresses";
static const char upkeep_proof_feature[] = "self-test";

static int upkeep_sooner(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* ---- the host's addresses */

void upkeep_hosts(struct sandboxes *s, const struct hosts *hosts)
{
	struct fault fault = {""};
	int r = 0;

	if (s->bpf->programs)
		r = programs_set_hosts(s->bpf->programs, hosts->list.ip, hosts->list.n, &fault);
	if (r < 0)
		sandboxes_note(s, "", upkeep_hosts_feature,
			fault.text[0] ? fault.text : strerror(-r),
			"those of before are refused, new ones perhaps not: give the host memory");
	else if (hosts->failed)
		sandboxes_note(s, "", upkeep_hosts_feature, strerror(-hosts->failed),
			"those of before are refused, new ones are not: give the host memory");
	else if (hosts->list.cut)
		sandboxes_note(s, "", upkeep_hosts_feature,
			"the host has more addresses than are kept; the rest is not refused",
			"have at most 1024, or start the helper in a network namespace of its own");
	else
		sandboxes_note(s, "", upkeep_hosts_feature, "", "");
	for (struct sandbox *one = s->first; one; one = one->next)
		one->hosts_due = one->state == SANDBOX_ACTIVE;
	s->hosts_ms = 0;
}

static int upkeep_renew_hosts(struct sandboxes *s, uint64_t now)
{
	unsigned int turns = 0;
	bool failed = false;
	int r;

	if (now < s->hosts_ms)
		return (int)(s->hosts_ms - now);
	for (struct sandbox *one = s->first; one; one = one->next) {
		if (!one->hosts_due || one->state != SANDBOX_ACTIVE)
			continue;
		if (turns++ == UPKEEP_TABLES)
			return 0;
		r = attach_renew_hosts(one->attachment);
		one->hosts_due = r < 0;
		failed |= r < 0;
		sandboxes_note(s, one->attachment->id, upkeep_hosts_feature,
			r < 0 ? strerror(-r) : "",
			"its nft table does not refuse the host's new addresses; is tried again");
	}
	s->hosts_ms = failed ? now + UPKEEP_TABLES_MS : 0;
	return failed ? UPKEEP_TABLES_MS : -1;
}

/* ---- the proof */

static void upkeep_begin(struct sandboxes *s, struct sandbox *sandbox, uint64_t now)
{
	int r = selftest_start(s->loop, s->prober, sandbox->attachment, &sandbox->selftest);

	sandbox->proof_ms = now + (sandbox->closed ? TIME_SELFTEST_AGAIN : TIME_SELFTEST_EVERY);
	s->proof_ms = now + TIME_SELFTEST_GAP;
	if (r < 0)
		sandboxes_note(s, sandbox->attachment->id, upkeep_proof_feature, strerror(-r),
			"give the helper memory");
}

void upkeep_prove(struct sandboxes *s, struct sandbox *sandbox)
{
	sandbox->proving = true;
	upkeep_begin(s, sandbox, clock_monotonic_ms());
	if (!sandbox->selftest)
		sandboxes_attached(
			s, sandbox, -ENOMEM, "its self-test cannot be begun: out of memory");
}

static void upkeep_close(
	struct sandboxes *s, struct sandbox *sandbox, const struct selftest_result *result)
{
	const char *id = sandbox->attachment->id;
	int r = sandbox->closed ? 0 : attach_close(sandbox->attachment);

	if (r < 0)
		(void)log_errno(r, "sandbox %s: cannot be closed in every way", id);
	if (!sandbox->closed)
		log_error("sandbox %s: closed: all but loopback is refused", id);
	sandbox->closed = true;
	sandboxes_note(s, id, upkeep_proof_feature, result->why.text, result->remedy);
	attach_repair(sandbox->attachment);
}

static void upkeep_reopen(struct sandboxes *s, struct sandbox *sandbox)
{
	struct fault fault = {""};
	int r;

	if (sandbox->daemon_failed)
		return; /* closed, until a daemon serves it */
	r = sandbox->closed ? attach_reopen(sandbox->attachment, &fault) : 0;

	if (r < 0) {
		sandboxes_note(s, sandbox->attachment->id, upkeep_proof_feature, fault.text,
			"it holds again and cannot be opened; is tried again");
		return;
	}
	if (sandbox->closed)
		log_info("sandbox %s: opened again", sandbox->attachment->id);
	sandbox->closed = false;
	sandboxes_note(s, sandbox->attachment->id, upkeep_proof_feature, "", "");
}

static void upkeep_judge(
	struct sandboxes *s, struct sandbox *sandbox, const struct selftest_result *result)
{
	bool first = sandbox->proving;

	sandbox->proving = false;
	if (sandbox->state != SANDBOX_ACTIVE)
		return; /* it leaves */
	if (first && (result->outcome == SELFTEST_BAD ||
			     (result->outcome == SELFTEST_UNPROVEN && sandbox->strict))) {
		sandboxes_attached(s, sandbox, -EIO, result->why.text);
		return;
	}
	if (result->outcome == SELFTEST_GOOD)
		upkeep_reopen(s, sandbox);
	else if (result->outcome == SELFTEST_BAD)
		upkeep_close(s, sandbox, result);
	else
		sandboxes_note(s, sandbox->attachment->id, upkeep_proof_feature, result->why.text,
			result->remedy);
	if (sandbox->closed)
		sandbox->proof_ms = clock_monotonic_ms() + TIME_SELFTEST_AGAIN;
	if (first)
		sandboxes_attached(s, sandbox, 0, "");
}

/* One sandbox's self-test: ended, begun, or waited for. The milliseconds until it is to be looked at again. */
static int upkeep_proof(struct sandboxes *s, struct sandbox *sandbox, uint64_t now)
{
	struct selftest_result result;
	uint64_t due;

	if (sandbox->selftest) {
		if (!selftest_over(sandbox->selftest, now, &result))
			return selftest_wait(sandbox->selftest, now);
		selftest_free(sandbox->selftest);
		sandbox->selftest = NULL;
		upkeep_judge(s, sandbox, &result);
	}
	if (sandbox->state != SANDBOX_ACTIVE)
		return -1;
	due = sandbox->proof_ms > s->proof_ms ? sandbox->proof_ms : s->proof_ms;
	if (now < due)
		return (int)(due - now);
	upkeep_begin(s, sandbox, now);
	return 0;
}

void upkeep_stop(struct sandbox *sandbox)
{
	if (sandbox->selftest)
		selftest_stop(sandbox->selftest);
}

int upkeep_tick(struct sandboxes *s, uint64_t now)
{
	int soonest = upkeep_renew_hosts(s, now);

	for (struct sandbox *one = s->first; one; one = one->next)
		soonest = upkeep_sooner(soonest, upkeep_proof(s, one, now));
	return soonest;
}
