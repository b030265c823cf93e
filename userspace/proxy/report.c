/* SPDX-License-Identifier: Apache-2.0 */
/* report.c – what the registry tells the control socket: see registry.h. Never a value, never a placeholder. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "base/json.h"
#include "control/commands.h"
#include "cred/credset.h"
#include "policy/policy.h"
#include "proxy/registry_internal.h"
#include "proxy/sandbox.h"
#include "proxy/shared.h"
#include "upstream/resolve.h"

static void report_status(void *arg, struct control_status *ret)
{
	struct registry *r = arg;

	*ret = (struct control_status){
		.version = SALLYPORT_VERSION,
		.pid = getpid(),
		.workers = r->shared->nworkers,
		.sandboxes = r->count,
		.uptime_ms = clock_monotonic_ms() - r->began,
		.audit_written = audit_written(r->shared->audit),
		.audit_lost = audit_lost(r->shared->audit),
		.outage = r->waits ? "wait" : "refuse",
#ifdef SALLYPORT_SAN
		.sanitizer = true,
#endif
	};
}

static void report_notes(const struct notes *notes, struct json *j)
{
	for (const struct note *n = notes->first; n; n = n->next)
		control_degraded_write(j, n->feature, n->reason, n->remedy);
}

/* Their own notes say the rest. */
static void report_degraded_sandboxes(const struct registry *r, struct json *j)
{
	const struct sandbox *first = NULL;
	char reason[128];
	unsigned n = 0;

	for (const struct sandbox *s = r->first; s; s = s->next)
		if (s->notes.n > 0) {
			first = first ? first : s;
			n++;
		}
	if (!first)
		return;
	(void)snprintf(reason, sizeof(reason), "%u of %u are degraded, among them %s", n, r->count,
		first->at.id); /* an id is short */
	control_degraded_write(j, "sandboxes", reason, "sallyportctl sandboxes says what and why");
}

/* What sandboxes look up fails then, and is in the audit; this is for who asks why. */
static void report_resolver(const struct resolver *resolver, struct json *j)
{
	uint64_t times;
	int trouble = resolve_trouble(resolver, &times);
	char reason[96] = "there is no name server";

	if (!trouble)
		return;
	if (trouble != -EDESTADDRREQ)
		(void)snprintf(reason, sizeof(reason), "%s (lookups in a row: %" PRIu64 ")",
			trouble == -ETIMEDOUT ? "no name server answers"
					      : "the name servers fail or refuse",
			times);
	control_degraded_write(j, "resolver", reason,
		"name servers that answer here: `resolvers` in the configuration (run: "
		"--resolver), or else those "
		"of /etc/resolv.conf at the start");
}

static void report_degraded(void *arg, struct json *j)
{
	struct registry *r = arg;

	if (!r->linked)
		control_degraded_write(j, "kernel refusals in the audit",
			"the helper is not connected",
			"start sallyport-netns serve with the same --state");
	else if (r->kernel.maps[LINK_USES] >= 0 && !r->kernel.refusals)
		control_degraded_write(j, "kernel refusals in the audit",
			"the kernel's ring buffer cannot be mapped",
			"see the daemon's log; refusals are in the map STATE/bpf/refusals");
	if (r->kernel.uses_untold)
		control_degraded_write(j, "credential uses in the map",
			"the map is full; every use is in the audit",
			"detach sandboxes that are no longer needed");
	report_resolver(r->shared->resolver, j);
	if (audit_trouble(r->shared->audit))
		control_degraded_write(j, "audit",
			strerrordesc_np(-audit_trouble(r->shared->audit)),
			"make room for, or give the daemon's user access to, the audit file and "
			"its directory");
	report_notes(&r->notes, j);
	report_degraded_sandboxes(r, j);
#ifdef SALLYPORT_SAN
	control_degraded_write(j, "hardening",
		"this is a sanitizer build: dumpable, without seccomp filters",
		"use a build without SAN=1 for real credentials");
#endif
}

static unsigned report_credentials(
	const struct sandbox *s, struct control_credential ret[CREDSET_MAX])
{
	unsigned n = s->credentials ? credset_count(s->credentials) : 0;

	for (unsigned i = 0; i < n; i++) {
		const char *cause = credset_cause(s->credentials, i);

		ret[i] = (struct control_credential){
			.name = credset_at(s->credentials, i)->name,
			.env = credset_at(s->credentials, i)->env,
			.state = cause ? "unavailable" : "available",
			.cause = cause,
		};
	}
	return n;
}

static void report_sandbox_degraded(void *arg, struct json *j)
{
	report_notes(arg, j);
}

static void report_sandbox(struct sandbox *s, struct json *j)
{
	struct control_credential credentials[CREDSET_MAX];
	struct control_sandbox c = {
		.id = s->at.id,
		.policy = policy_name(s->policy),
		.mode = "enforce",
		.network = s->at.uplink ? "uplink" : "sealed",
		.lane = s->at.flow_map >= 0 ? "bpf" : "nft",
		.connections = s->connections,
		.open = s->open,
		.requests = s->requests,
		.denied = s->denied,
		.swaps = s->swaps,
		.misdirected = s->misdirected,
		.refusals = s->refusals,
		.tunnels = s->tunnels,
		.tunnels_open = s->tunnels_open,
		.credentials = credentials,
		.ncredentials = report_credentials(s, credentials),
		.is_degraded = s->notes.n > 0,
		.degraded = report_sandbox_degraded,
		.arg = &s->notes,
	};

	memcpy(c.digest, policy_digest(s->policy), sizeof(c.digest));
	control_sandbox_write(j, &c);
}

static unsigned report_sandboxes(void *arg, struct slice id, struct json *j)
{
	struct registry *r = arg;
	unsigned n = 0;

	for (struct sandbox *s = r->first; s; s = s->next) {
		if (id.n && !slice_eq(id, slice_str(s->at.id)))
			continue;
		report_sandbox(s, j);
		n++;
	}
	return n;
}

/* The form of netns-helper/proto.h: it becomes names of files. */
static bool report_id(struct slice id)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";

	if (id.n == 0 || id.n > LIMIT_SANDBOX_ID || !memchr(first, id.p[0], sizeof(first) - 1))
		return false;
	for (size_t i = 1; i < id.n; i++)
		if (!memchr(others, id.p[i], sizeof(others) - 1))
			return false;
	return true;
}

static int report_prepare(void *arg, struct slice id)
{
	char text[LIMIT_SANDBOX_ID + 1];

	if (!report_id(id))
		return -ENOENT;
	(void)snprintf(text, sizeof(text), "%.*s", SLICE_ARG(id)); /* fits */
	return registry_prepare(arg, text);
}

void registry_source(struct registry *r, struct control_source *ret)
{
	*ret = (struct control_source){
		.arg = r,
		.status = report_status,
		.degraded = report_degraded,
		.sandboxes = report_sandboxes,
		.prepare = report_prepare,
	};
}

/* The directory's inode is the cgroup's id, which the helper told us. */
static bool report_attached(const struct registry *r, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	for (struct sandbox *s = r->first; s; s = s->next)
		if (s->at.cgroup == st.st_ino)
			return true;
	return false;
}

bool registry_inside(struct registry *r, uint64_t netns, const char *cgroup)
{
	char path[PATH_MAX];
	size_t root = strlen(r->cgroup_root);
	int n = snprintf(path, sizeof(path), "%s%s", r->cgroup_root, cgroup);

	if (n < 0 || (size_t)n >= sizeof(path))
		return true; /* cannot be judged */
	for (const struct sandbox *s = r->first; s; s = s->next)
		if (s->at.netns == netns)
			return true;
	for (;;) {
		char *slash;

		if (report_attached(r, path))
			return true;
		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) < root || slash == path)
			return false;
		*slash = '\0';
	}
}
