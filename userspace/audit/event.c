/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c – events to JSON lines, see event.h. Pure: the time is a field of the event.
 *
 * A line begins with v, time, kind, sandbox; then who, where to, what was decided, what came of it.
 * A member without a value is left out, so that a reader never has to tell "" from "not known".
 * Which members a kind has is a table.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/event.h"
#include "base/cleanup.h"
#include "base/json.h"

static const char *const event_kinds[] = {
#define X(name, wire) [AUDIT_##name] = wire,
	AUDIT_KINDS(X)
#undef X
};
_Static_assert(ARRAY_SIZE(event_kinds) == AUDIT_KIND_COUNT, "every kind has its name");

static const char *const event_protocols[] = {
#define X(name, wire) [AUDIT_PROTOCOL_INDEX_##name] = wire,
	AUDIT_PROTOCOLS(X)
#undef X
};
_Static_assert(ARRAY_SIZE(event_protocols) == AUDIT_PROTOCOL_COUNT, "every protocol has its name");

static const char *const event_decisions[] = {[AUDIT_ALLOW] = "allow",
	[AUDIT_DENY] = "deny",
	[AUDIT_TUNNEL] = "tunnel",
	[AUDIT_PASS] = "pass"};
_Static_assert(ARRAY_SIZE(event_decisions) == AUDIT_DECISION_COUNT, "every decision has its name");

/* ---- filling */

void audit_text(char *to, size_t size, struct slice text)
{
	size_t n = text.n < size - 1 ? text.n : size - 1;

	/* a NUL would end the text early and hide the rest: it stands as a space */
	for (size_t i = 0; i < n; i++)
		to[i] = text.p[i] ? (char)text.p[i] : ' ';
	to[n] = 0;
}

/* Appends as much of s as fits. */
static void event_path_add(struct audit_event *e, size_t *at, struct slice s)
{
	size_t room = sizeof(e->path) - 1 - *at;

	if (s.n > room)
		e->path_cut = true;
	audit_text(e->path + *at, room + 1, s);
	*at += s.n < room ? s.n : room;
}

/*
 * One piece of the query, "name=value" or a value without a name. A piece without '=' is hidden
 * whole: it may be the secret of a URL that has nothing else.
 */
static void event_path_piece(struct audit_event *e, size_t *at, struct slice piece)
{
	size_t name = slice_find(piece, '=');

	if (name < piece.n)
		event_path_add(e, at, slice_first(piece, name + 1));
	if (piece.n)
		event_path_add(e, at, SLICE("***"));
}

void audit_path(struct audit_event *e, struct slice target)
{
	size_t query = slice_find(target, '?'), at = 0;
	struct slice rest = slice_skip(target, query + 1);

	e->path[0] = 0;
	e->path_cut = false;
	event_path_add(e, &at, slice_first(target, query + 1));
	while (rest.n) {
		size_t n = slice_find(rest, '&'), semicolon = slice_find(rest, ';');

		if (semicolon < n)
			n = semicolon;
		event_path_piece(e, &at, slice_first(rest, n));
		rest = slice_skip(rest, n);
		event_path_add(e, &at, slice_first(rest, 1));
		rest = slice_skip(rest, 1);
	}
}

void audit_use(struct audit_event *e, const char *credential, const char *position, uint32_t n)
{
	struct audit_use *u;

	for (unsigned i = 0; i < e->nuses; i++) {
		u = &e->uses[i];
		if (strncmp(u->credential, credential, AUDIT_NAME - 1) == 0 &&
			strncmp(u->position, position, sizeof(u->position) - 1) == 0) {
			u->count += n;
			return;
		}
	}
	if (e->nuses == AUDIT_USES) {
		u = &e->uses[AUDIT_USES - 1];
		audit_text(u->credential, sizeof(u->credential), SLICE("(others)"));
		u->position[0] = 0;
		u->count += n;
		return;
	}
	u = &e->uses[e->nuses++];
	audit_text(u->credential, sizeof(u->credential), slice_str(credential));
	audit_text(u->position, sizeof(u->position), slice_str(position));
	u->count = n;
}

/* ---- writing: one function a group of members */

/* The text up to its NUL, or the whole array. Left out when it is empty. */
static void event_text(struct json *j, const char *key, const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	if (n)
		json_slice(j, key, slice_of(text, n));
}
#define EVENT_TEXT(j, key, array) event_text(j, key, array, sizeof(array))

static void event_who(const struct audit_event *e, const struct audit_paths *paths, struct json *j)
{
	const struct audit_client *c = &e->client;
	char device[32];

	if (!c->attributed) {
		json_text(j, "client", "unattributed");
		return;
	}
	json_open(j, "client", '{');
	json_number(j, "pid", c->tgid);
	json_number(j, "tid", c->pid);
	json_number(j, "start_ns", (int64_t)c->start_ns);
	json_slice(j, "comm", slice_of(c->comm, strnlen(c->comm, sizeof(c->comm))));
	if (c->exe_ino) { /* a kernel thread has none */
		(void)snprintf(
			device, sizeof(device), "%u:%u", c->exe_dev >> 20, c->exe_dev & 0xfffff);
		json_open(j, "exe", '{');
		EVENT_TEXT(j, "path", paths->exe);
		json_text(j, "dev", device);
		json_number(j, "ino", (int64_t)c->exe_ino);
		json_close(j, '}');
	}
	json_number(j, "uid", c->uid);
	json_number(j, "cgroup", (int64_t)c->cgroup);
	EVENT_TEXT(j, "cgroup_path", paths->cgroup);
	json_close(j, '}');
}

static void event_where(const struct audit_event *e, struct json *j)
{
	static const struct addr nowhere;
	char text[ADDR_TEXT];

	if (memcmp(&e->asked, &nowhere, sizeof(nowhere)) != 0) {
		if (e->asked.port)
			addr_port_text(&e->asked, text);
		else
			addr_text(&e->asked, text);
		json_text(j, "asked", text);
	}
	EVENT_TEXT(j, "target", e->target);
	EVENT_TEXT(j, "host", e->host);
	if (e->protocols) {
		json_open(j, "protocols", '[');
		for (unsigned i = 0; i < AUDIT_PROTOCOL_COUNT; i++)
			if (e->protocols & 1 << i)
				json_text(j, NULL, event_protocols[i]);
		json_close(j, ']');
	}
}

static void event_request(const struct audit_event *e, struct json *j)
{
	EVENT_TEXT(j, "method", e->method);
	EVENT_TEXT(j, "path", e->path);
	if (e->path_cut)
		json_bool(j, "path_cut", true);
}

static void event_decided(const struct audit_event *e, struct json *j)
{
	json_text(j, "decision",
		event_decisions[e->decision < AUDIT_DECISION_COUNT ? e->decision : AUDIT_DENY]);
	EVENT_TEXT(j, "rule", e->rule);
	if (e->category != CATEGORY_NONE)
		json_text(j, "category", category_name(e->category));
	EVENT_TEXT(j, "reason", e->reason);
}

static void event_refused(const struct audit_event *e, struct json *j)
{
	const char *name = strerrorname_np(e->error < 0 ? -e->error : e->error);

	if (e->error && name)
		json_text(j, "error", name);
	EVENT_TEXT(j, "socket", e->socket);
	EVENT_TEXT(j, "path", e->path);
	json_number(j, "count", e->count ? (int64_t)e->count : 1);
}

static void event_answered(const struct audit_event *e, struct json *j)
{
	if (e->status)
		json_number(j, "status", e->status);
	json_open(j, "uses", '[');
	for (unsigned i = 0; i < e->nuses && i < AUDIT_USES; i++) {
		const struct audit_use *u = &e->uses[i];

		json_open(j, NULL, '{');
		EVENT_TEXT(j, "credential", u->credential);
		EVENT_TEXT(j, "position", u->position);
		json_number(j, "count", u->count);
		json_close(j, '}');
	}
	json_close(j, ']');
	if (e->misdirected)
		json_number(j, "misdirected", e->misdirected);
}

static void event_measured(const struct audit_event *e, struct json *j)
{
	json_number(j, "bytes_up", (int64_t)e->bytes_up);
	json_number(j, "bytes_down", (int64_t)e->bytes_down);
	json_number(j, "duration_ms", (int64_t)e->duration_ms);
}

static void event_noticed(const struct audit_event *e, struct json *j)
{
	EVENT_TEXT(j, "reason", e->reason);
	if (e->lost)
		json_number(j, "lost", (int64_t)e->lost);
}

/* Both numbers are totals: a line that is told twice, after a restart, says nothing wrong. */
static void event_losses(const struct audit_event *e, struct json *j)
{
	EVENT_TEXT(j, "rule", e->rule);
	json_number(j, "suppressed", (int64_t)e->suppressed);
	json_number(j, "lost", (int64_t)e->lost);
}

typedef void (*event_part)(const struct audit_event *e, struct json *j);

enum { EVENT_PARTS = 5 };

static const event_part event_parts[AUDIT_KIND_COUNT][EVENT_PARTS] = {
	[AUDIT_CONNECTION] = {event_where, event_decided, event_measured},
	[AUDIT_REQUEST] = {event_where, event_request, event_decided, event_answered,
		event_measured},
	[AUDIT_REFUSAL] = {event_where, event_decided, event_refused},
	[AUDIT_NOTICE] = {event_noticed},
	[AUDIT_LOSSES] = {event_losses},
};

/* Kinds that say who did it, before the other parts. */
static const bool event_somebodys[AUDIT_KIND_COUNT] = {
	[AUDIT_CONNECTION] = true, [AUDIT_REQUEST] = true, [AUDIT_REFUSAL] = true};

int audit_event_json(const struct audit_event *e, const struct audit_paths *paths, struct buf *out)
{
	static const struct audit_paths none;
	size_t before = buf_used(out);
	struct json j;
	int r;

	if ((unsigned)e->kind >= AUDIT_KIND_COUNT)
		return -EINVAL;
	json_start(&j, out);
	json_open(&j, NULL, '{');
	json_number(&j, "v", AUDIT_VERSION);
	EVENT_TEXT(&j, "time", e->time);
	json_text(&j, "kind", event_kinds[e->kind]);
	EVENT_TEXT(&j, "sandbox", e->sandbox);
	if (event_somebodys[e->kind])
		event_who(e, paths ? paths : &none, &j);
	for (unsigned i = 0; i < EVENT_PARTS && event_parts[e->kind][i]; i++)
		event_parts[e->kind][i](e, &j);
	json_close(&j, '}');
	r = json_end(&j);
	if (r == 0)
		r = buf_append(out, SLICE("\n"));
	if (r < 0)
		out->end = out->start + before; /* half a line is none */
	return r;
}
