/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.c – which rule decides. One walk in the order of the document serves requests and
 * connections. A connection knows no method and no path yet: a rule that looks at one may still allow,
 * so it counts when it allows and does not when it denies. A DNS question knows no port either: it is
 * asked for the ports where the answer can change.
 *
 * A tunnel rule decides a connection when it is the first that matches host and port. That no
 * earlier rule looks at the requests there is check.c's work, so that the answer does not depend on
 * what a tunnel cannot see.
 *
 * What is ambiguous is denied: a rule that denies reads a path broadly, one that allows as it is written
 * (policy/paths.h), and where a rule has paths, those that servers disagree on are refused before it is
 * asked.
 */
#include "policy/policy_internal.h"

struct match_question {
	const struct host *host;
	uint16_t port;
	struct slice method, path; /* empty = any */
};

static bool match_method(const struct policy_rule *r, struct slice method)
{
	if (method.n == 0)
		return r->allow || r->nmethods == 0;
	return lists_methods_match(r->methods, r->nmethods, method);
}

static bool match_path(const struct policy_rule *r, struct slice path)
{
	if (path.n == 0)
		return r->allow || r->npaths == 0;
	return lists_paths_match(r->paths, r->npaths, path, !r->allow);
}

/* Whether the rule speaks of that host at that port, of whatever requests. */
static bool match_names(const struct policy_rule *r, const struct host *h, uint16_t port)
{
	return lists_ports_match(r->ports, r->nports, port) &&
	       lists_hosts_match(r->hosts, r->nhosts, h);
}

/* The rule that decides, or NULL: the default does. */
static const struct policy_rule *match_first(const struct policy *p, const struct match_question *q)
{
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (match_method(r, q->method) && match_names(r, q->host, q->port) &&
			match_path(r, q->path))
			return r;
	}
	return NULL;
}

static bool match_allows(const struct policy *p, const struct match_question *q)
{
	const struct policy_rule *r = match_first(p, q);

	return r ? r->allow : p->default_allow;
}

static bool match_named(const struct policy *p, const struct host *h, uint16_t port)
{
	for (unsigned i = 0; i < p->nrules; i++)
		if (match_names(&p->rules[i], h, port))
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

/* Of a request that is denied to a host and port where another one could pass. */
static enum category match_category(const struct policy *p, const struct subject *s)
{
	return s->path.n && match_allows(
				    p, &(struct match_question){s->host, s->port, s->method, {0}})
		       ? CATEGORY_PATH_DENIED
		       : CATEGORY_METHOD_DENIED;
}

static bool match_traces(struct slice method)
{
	return slice_ieq(method, SLICE("TRACE")) || slice_ieq(method, SLICE("TRACK"));
}

static struct verdict match_deny(enum category category, const struct policy_rule *r)
{
	return (struct verdict){
		.category = category, .rule = r ? r->name : "default", .alert = r && r->alert};
}

static struct verdict match_never(enum category category)
{
	return (struct verdict){.category = category, .rule = "built-in"};
}

struct verdict policy_decide(const struct policy *p, const struct subject *s)
{
	const struct match_question connection = {s->host, s->port, {0}, {0}};
	struct match_question request = {s->host, s->port, s->method, s->path};
	bool seen = s->method.n || s->path.n, trace = match_traces(s->method),
	     bad = s->path.n && policy_judges_paths(p, s->host, s->port) && path_fault(s->path);
	const struct policy_rule *r;

	if (bad)
		request.path.n = 0; /* no rule may read it */
	r = match_first(p, &request);
	if (seen && r && r->tunnel)
		return match_deny(CATEGORY_PROTOCOL_DENIED, r);
	if (!match_allows(p, &connection))
		return match_deny(CATEGORY_HOST_DENIED, r);
	if (bad)
		return match_never(CATEGORY_BAD_REQUEST);
	if (r ? !r->allow : !p->default_allow)
		return match_deny(trace ? CATEGORY_METHOD_DENIED : match_category(p, s), r);
	if (trace)
		return match_never(CATEGORY_METHOD_DENIED);
	return (struct verdict){.allow = true,
		.rule = r ? r->name : "default",
		.way = seen ? VERDICT_TERMINATE : match_way(p, r, s)};
}

bool policy_judges_methods(const struct policy *p, const struct host *h, uint16_t port)
{
	for (unsigned i = 0; i < p->nrules; i++)
		if (p->rules[i].nmethods && match_names(&p->rules[i], h, port))
			return true;
	return false;
}

bool policy_judges_paths(const struct policy *p, const struct host *h, uint16_t port)
{
	for (unsigned i = 0; i < p->nrules; i++)
		if (p->rules[i].npaths && match_names(&p->rules[i], h, port))
			return true;
	return false;
}

/* The lowest open port, if there is one, is where a range of an allow rule begins or one of a deny
 * rule has ended. */
bool policy_opens_name(const struct policy *p, const struct host *h)
{
	if (match_allows(p, &(struct match_question){h, 1, {0}, {0}}))
		return true;
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (!lists_hosts_match(r->hosts, r->nhosts, h))
			continue;
		for (unsigned k = 0; k < r->nports; k++) {
			uint16_t port = r->allow ? r->ports[k].lo : (uint16_t)(r->ports[k].hi + 1);

			if (port && match_allows(p, &(struct match_question){h, port, {0}, {0}}))
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

			if (port &&
				match_first(p, &(struct match_question){h, port, {0}, {0}}) == rule)
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
