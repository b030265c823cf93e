/* SPDX-License-Identifier: Apache-2.0 */
/* record.c – see record.h. */
#include <stdio.h>
#include <string.h>

#include "proxy/connection.h"
#include "proxy/exchange.h"
#include "proxy/leg.h"
#include "proxy/record.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"

void record_client(struct audit_client *to, const struct capture_client *from)
{
	*to = (struct audit_client){
		.attributed = true,
		.pid = from->pid,
		.tgid = from->tgid,
		.uid = from->uid,
		.start_ns = from->start_ns,
		.cgroup = from->cgroup,
		.exe_ino = from->exe_ino,
		.exe_dev = from->exe_dev,
	};
	memcpy(to->comm, from->comm, sizeof(to->comm));
}

void record_target(struct audit_event *e, const struct host *host, uint16_t port)
{
	bool v6 = host->is_ip && strchr(host->text, ':');

	(void)snprintf(e->target, sizeof(e->target), v6 ? "[%s]:%u" : "%s:%u", host->text, port);
}

static void record_start(struct audit_event *e, enum audit_kind kind, const struct connection *c)
{
	e->kind = kind;
	clock_wall_text(e->time);
	audit_text(e->sandbox, sizeof(e->sandbox), slice_str(c->seat->sandbox->at.id));
	if (c->who.attributed)
		record_client(&e->client, &c->who.client);
	e->asked = c->who.asked;
	if (c->to.connect)
		record_target(e, &c->to.host, c->to.port);
	e->protocols = c->protocols;
}

static enum audit_decision record_decision(const struct connection *c)
{
	if (c->category != CATEGORY_NONE)
		return AUDIT_DENY;
	switch (c->tunnel.way) {
	case VERDICT_TUNNEL:
		return AUDIT_TUNNEL;
	case VERDICT_PASS:
		return AUDIT_PASS;
	default:
		return AUDIT_ALLOW;
	}
}

void record_connection(const struct connection *c)
{
	struct audit_event e = {0};

	record_start(&e, AUDIT_CONNECTION, c);
	audit_text(e.host, sizeof(e.host), slice_of(c->host.text, c->host.n));
	e.decision = record_decision(c);
	e.category = c->category;
	if (c->rule)
		audit_text(e.rule, sizeof(e.rule), slice_str(c->rule));
	if (c->reason)
		audit_text(e.reason, sizeof(e.reason), slice_str(c->reason));
	e.bytes_up = c->leg->bytes_in;
	e.bytes_down = c->leg->bytes_out;
	e.duration_ms = loop_now(c->seat->worker->loop) - c->began;
	journal_write(&c->seat->worker->journal, &e, NULL);
}

void record_request_start(struct exchange *x)
{
	record_start(&x->event, AUDIT_REQUEST, x->c);
	audit_text(x->event.host, sizeof(x->event.host), slice_of(x->host.text, x->host.n));
}

void record_request(struct exchange *x)
{
	struct worker *w = x->c->seat->worker;

	bool h1 = x->down.codec && stream_is_h1(&x->down);

	x->event.bytes_up = h1 ? x->c->leg->bytes_in - x->up_before : x->down.bytes_in;
	x->event.bytes_down = h1 ? x->c->leg->bytes_out - x->down_before : x->down.bytes_out;
	x->event.duration_ms = loop_now(w->loop) - x->began;
	journal_write(&w->journal, &x->event, x->reserved ? &x->c->seat->reserved : NULL);
	x->reserved = false;
}

/* Counts it. Whether it is to be told, and the event then as far as it does not depend on what was too many. */
static bool record_limit_start(struct seat *seat, const char *what, struct audit_event *e)
{
	uint64_t now = loop_now(seat->worker->loop);

	sandbox_count(&seat->sandbox->denied, 1);
	if (seat->limit_told && now - seat->limit_told < TIME_LIMIT_TOLD)
		return false;
	seat->limit_told = now;
	*e = (struct audit_event){
		.kind = AUDIT_CONNECTION, .category = CATEGORY_LIMIT, .decision = AUDIT_DENY};
	clock_wall_text(e->time);
	audit_text(e->sandbox, sizeof(e->sandbox), slice_str(seat->sandbox->at.id));
	audit_text(e->reason, sizeof(e->reason), slice_str(what));
	audit_text(e->rule, sizeof(e->rule), SLICE("limits"));
	return true;
}

void record_limit(struct seat *seat, int fd, const char *what)
{
	struct flows flows = sandbox_flows(seat->sandbox);
	struct captured who;
	struct audit_event e;

	if (!record_limit_start(seat, what, &e))
		return;
	e.protocols = AUDIT_PROTOCOL_TCP;
	if (listener_captured(fd, &flows, &who) == 0) {
		e.asked = who.asked;
		if (who.attributed)
			record_client(&e.client, &who.client);
	}
	journal_write(&seat->worker->journal, &e, NULL);
}

void record_limit_request(const struct connection *c)
{
	struct audit_event e;

	if (!record_limit_start(c->seat, "requests at once", &e))
		return;
	e.protocols = c->protocols;
	e.asked = c->who.asked;
	if (c->who.attributed)
		record_client(&e.client, &c->who.client);
	journal_write(&c->seat->worker->journal, &e, NULL);
}

void record_limit_name(struct seat *seat, const struct host *host, bool tcp)
{
	struct audit_event e;

	if (!record_limit_start(seat, "names with an address of their own", &e))
		return;
	e.protocols = AUDIT_PROTOCOL_DNS | (tcp ? AUDIT_PROTOCOL_TCP : AUDIT_PROTOCOL_UDP);
	audit_text(e.host, sizeof(e.host), slice_of(host->text, host->n));
	journal_write(&seat->worker->journal, &e, NULL);
}
