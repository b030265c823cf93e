/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.c – which rule decides. One walk in the order of the document serves requests and
 * connections. A connection knows no method yet: a rule that has methods may still allow, so it
 * counts when it allows and does not when it denies. A DNS question knows no port either: it is
 * asked for the ports where the answer can change.
 *
 * A tunnel rule decides a connection when it is the first that matches host and port. That no
 * earlier rule looks at the methods of requests there is check.c's work, so that the answer does not
 * depend on what a tunnel cannot see.
 */
#include "policy/policy_internal.h"

struct match_question {
	const struct host *host;
	uint16_t port;
	struct slice method; /* empty = any */
};

static bool match_method(const struct policy_rule *r, struct slice method)
{
	if (method.n == 0)
		return r->allow || r->nmethods == 0;
	return lists_methods_match(r->methods, r->nmethods, method);
}

/* The rule that decides, or NULL: the default does. */
static const struct policy_rule *match_first(const struct policy *p, const struct match_question *q)
{
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (lists_ports_match(r->ports, r->nports, q->port) && match_method(r, q->method) &&
			lists_hosts_match(r->hosts, r->nhosts, q->host))
			return r;
	}
	return NULL;
}

static bool match_allows(const struct policy *p, const struct match_question *q)
{
	const struct policy_rule *r = match_first(p, q);

	return r ? r->allow : p->default_allow;
}

/* Whether some rule speaks of that host at that port, with whatever methods. */
static bool match_named(const struct policy *p, const struct host *h, uint16_t port)
{
	for (unsigned i = 0; i < p->nrules; i++)
		if (lists_ports_match(p->rules[i].ports, p->rules[i].nports, port) &&
			lists_hosts_match(p->rules[i].hosts, p->rules[i].nhosts, h))
			return true;
	return false;
}

/* Of an allowed connection. */
static enum verdict_way match_way(
	const struct policy *p, const struct policy_rule *r, const struct subject *s)
{
	if (r)
		return r->tunnel ? VERDICT_TUNNEL : VERDICT_TERMINATE;
	return p->default_pass && !match_named(p, s->host, s->port) ? VERDICT_PASS
								    : VERDICT_TERMINATE;
}

struct verdict policy_decide(const struct policy *p, const struct subject *s)
{
	const struct match_question request = {s->host, s->port, s->method},
				    connection = {s->host, s->port, {0}};
	const struct policy_rule *r = match_first(p, &request);
	struct verdict v = {
		.allow = r ? r->allow : p->default_allow, .rule = r ? r->name : "default"};

	if (s->method.n && r && r->tunnel) {
		v.allow = false;
		v.category = CATEGORY_PROTOCOL_DENIED;
		return v;
	}
	if (v.allow &&
		(slice_ieq(s->method, SLICE("TRACE")) || slice_ieq(s->method, SLICE("TRACK")))) {
		v.allow = false;
		v.rule = "built-in";
	}
	if (v.allow) {
		v.way = s->method.n ? VERDICT_TERMINATE : match_way(p, r, s);
		return v;
	}
	v.alert = r && r->alert;
	v.category = s->method.n && match_allows(p, &connection) ? CATEGORY_METHOD_DENIED
								 : CATEGORY_HOST_DENIED;
	return v;
}

bool policy_judges_methods(const struct policy *p, const struct host *h, uint16_t port)
{
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (r->nmethods && lists_ports_match(r->ports, r->nports, port) &&
			lists_hosts_match(r->hosts, r->nhosts, h))
			return true;
	}
	return false;
}

/* The lowest open port, if there is one, is where a range of an allow rule begins or one of a deny
 * rule has ended. */
bool policy_opens_name(const struct policy *p, const struct host *h)
{
	if (match_allows(p, &(struct match_question){h, 1, {0}}))
		return true;
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (!lists_hosts_match(r->hosts, r->nhosts, h))
			continue;
		for (unsigned k = 0; k < r->nports; k++) {
			uint16_t port = r->allow ? r->ports[k].lo : (uint16_t)(r->ports[k].hi + 1);

			if (port && match_allows(p, &(struct match_question){h, port, {0}}))
				return true;
		}
	}
	return false;
}

bool policy_opens_port(const struct policy *p, uint16_t port)
{
	for (unsigned i = 0; i < p->nrules; i++)
		if (p->rules[i].allow && !p->rules[i].tunnel &&
			lists_ports_match(p->rules[i].ports, p->rules[i].nports, port))
			return true;
	return p->default_allow;
}

/* Whether that rule decides the host at some port: where one of its ranges begins, or behind a range of an earlier rule. */
static bool match_decides(
	const struct policy *p, const struct policy_rule *rule, const struct host *h)
{
	for (const struct policy_rule *r = p->rules; r <= rule; r++) {
		if (!lists_hosts_match(r->hosts, r->nhosts, h))
			continue;
		for (unsigned k = 0; k < r->nports; k++) {
			uint16_t port = r == rule ? r->ports[k].lo : (uint16_t)(r->ports[k].hi + 1);

			if (port && match_first(p, &(struct match_question){h, port, {0}}) == rule)
				return true;
		}
	}
	return false;
}

bool policy_tunnels_name(const struct policy *p, const struct host *h)
{
	for (unsigned i = 0; i < p->nrules; i++)
		if (p->rules[i].tunnel && match_decides(p, &p->rules[i], h))
			return true;
	return false;
}

bool policy_names_exactly(const struct policy *p, const struct host *h)
{
	for (unsigned i = 0; i < p->nrules; i++)
		for (unsigned k = 0; p->rules[i].allow && k < p->rules[i].nhosts; k++)
			if (p->rules[i].hosts[k].kind == HOST_PATTERN_NAME &&
				host_pattern_match(&p->rules[i].hosts[k], h))
				return true;
	return false;
}
