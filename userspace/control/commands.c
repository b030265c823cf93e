/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c – see commands.h: the table, and a function a call. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "control/commands.h"

static unsigned control_get_status(
	const void *source, const struct control_request *request, struct json *j)
{
	const struct control_source *s = source;
	struct control_status status = {0};

	(void)request;
	s->status(s->arg, &status);
	json_open(j, NULL, '{');
	json_text(j, "version", status.version);
	json_number(j, "pid", status.pid);
	json_number(j, "workers", status.workers);
	json_number(j, "sandboxes", status.sandboxes);
	json_number(j, "uptime_ms", (int64_t)status.uptime_ms);
	json_text(j, "outage", status.outage);
	json_bool(j, "sanitizer", status.sanitizer);
	json_open(j, "audit", '{');
	json_number(j, "written", (int64_t)status.audit_written);
	json_number(j, "lost", (int64_t)status.audit_lost);
	json_close(j, '}');
	json_open(j, "degraded", '[');
	s->degraded(s->arg, j);
	json_close(j, ']');
	json_close(j, '}');
	return 200;
}

static unsigned control_get_sandboxes(
	const void *source, const struct control_request *request, struct json *j)
{
	const struct control_source *s = source;

	(void)request;
	json_open(j, NULL, '{');
	json_open(j, "sandboxes", '[');
	(void)s->sandboxes(s->arg, SLICE(""), j); /* none is an answer too */
	json_close(j, ']');
	json_close(j, '}');
	return 200;
}

static unsigned control_get_sandbox(
	const void *source, const struct control_request *request, struct json *j)
{
	const struct control_source *s = source;

	return s->sandboxes(s->arg, request->item, j) ? 200 : 404;
}

static unsigned control_put_prepared(
	const void *source, const struct control_request *request, struct json *j)
{
	const struct control_source *s = source;
	int r = s->prepare(s->arg, request->item);

	if (r < 0)
		return r == -ENOENT ? 404 : r == -EEXIST ? 409 : r == -EBUSY ? 503 : 422;
	json_open(j, NULL, '{');
	json_bool(j, "prepared", true);
	json_close(j, '}');
	return 200;
}

const struct control_route control_routes[] = {
	{"GET", "/v1/status", control_get_status, "version, workers, sandboxes, degraded features",
		false},
	{"GET", "/v1/sandboxes", control_get_sandboxes, "every attached sandbox", false},
	{"GET", "/v1/sandboxes/{id}", control_get_sandbox, "one sandbox", false},
	{"PUT", "/v1/prepared/{id}", control_put_prepared,
		"makes what a container needs before it is attached", true},
};
const unsigned control_nroutes = ARRAY_SIZE(control_routes);

void control_degraded_write(
	struct json *j, const char *feature, const char *reason, const char *remedy)
{
	json_open(j, NULL, '{');
	json_text(j, "feature", feature);
	json_text(j, "reason", reason);
	json_text(j, "remedy", remedy);
	json_close(j, '}');
}

static void control_credential_write(struct json *j, const struct control_credential *c)
{
	json_open(j, NULL, '{');
	json_text(j, "name", c->name);
	json_text(j, "state", c->state);
	if (c->cause)
		json_text(j, "cause", c->cause);
	if (c->env)
		json_text(j, "env", c->env);
	json_close(j, '}');
}

void control_sandbox_write(struct json *j, const struct control_sandbox *s)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{"connections", s->connections},
		{"open", s->open},
		{"requests", s->requests},
		{"denied", s->denied},
		{"swaps", s->swaps},
		{"misdirected", s->misdirected},
		{"refusals", s->refusals},
		{"tunnels", s->tunnels},
		{"tunnels_open", s->tunnels_open},
	};
	char digest[2 * sizeof(s->digest) + 1];

	for (size_t i = 0; i < sizeof(s->digest); i++)
		(void)snprintf(digest + 2 * i, 3, "%02x", s->digest[i]);
	json_open(j, NULL, '{');
	json_text(j, "id", s->id);
	json_text(j, "policy", s->policy);
	json_text(j, "digest", digest);
	json_text(j, "mode", s->mode);
	json_text(j, "state", s->is_degraded ? "degraded" : "active");
	json_text(j, "network", s->network);
	json_text(j, "lane", s->lane);
	json_open(j, "counters", '{');
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		json_number(j, counters[i].name, (int64_t)counters[i].value);
	json_close(j, '}');
	json_open(j, "degraded", '[');
	s->degraded(s->arg, j);
	json_close(j, ']');
	json_open(j, "credentials", '[');
	for (unsigned i = 0; i < s->ncredentials; i++)
		control_credential_write(j, &s->credentials[i]);
	json_close(j, ']');
	json_close(j, '}');
}
