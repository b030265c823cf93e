/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c – what a policy says that its author may not have meant.
 *
 * Rules that never decide, since one earlier rule matches everything that they match: with another
 * action that is an error of the load, with the same a warning. Two earlier rules that cover a third
 * only together are not found.
 *
 * Tunnels behind a rule with methods or paths for the same host and port: whether that rule matches is
 * known when a request has been read, which nobody does in a tunnel. An error of the load. An earlier
 * rule without them takes its hosts whole, a later one gets what the tunnel leaves: both are the order
 * of the document, and fine.
 *
 * Addresses that a rule allows and that stay refused, since no entry of private: lifts the refusal
 * or since nothing does: a warning. A range that is refused only in part is left alone.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "policy/policy_internal.h"

static bool check_hosts_cover(const struct policy_rule *a, const struct policy_rule *b)
{
	for (unsigned i = 0; i < b->nhosts; i++) {
		bool covered = false;

		for (unsigned k = 0; k < a->nhosts && !covered; k++)
			covered = host_pattern_covers(&a->hosts[k], &b->hosts[i]);
		if (!covered)
			return false;
	}
	return true;
}

/* Ranges that touch were joined, so one range of b lies in one of a or is not covered. */
static bool check_ports_cover(const struct policy_rule *a, const struct policy_rule *b)
{
	for (unsigned i = 0; i < b->nports; i++) {
		bool covered = false;

		for (unsigned k = 0; k < a->nports && !covered; k++)
			covered = a->ports[k].lo <= b->ports[i].lo &&
				  a->ports[k].hi >= b->ports[i].hi;
		if (!covered)
			return false;
	}
	return true;
}

static bool check_methods_cover(const struct policy_rule *a, const struct policy_rule *b)
{
	if (a->nmethods == 0)
		return true;
	for (unsigned i = 0; i < b->nmethods; i++)
		if (!lists_methods_match(a->methods, a->nmethods, slice_str(b->methods[i])))
			return false;
	return b->nmethods > 0;
}

/* As a reads them: what b reads more broadly, since it denies, is what its author wrote before it. */
static bool check_paths_cover(const struct policy_rule *a, const struct policy_rule *b)
{
	if (a->npaths == 0)
		return true;
	for (unsigned i = 0; i < b->npaths; i++) {
		bool covered = false;

		for (unsigned k = 0; k < a->npaths && !covered; k++)
			covered = path_pattern_covers(&a->paths[k], &b->paths[i], !a->allow);
		if (!covered)
			return false;
	}
	return b->npaths > 0;
}

static bool check_covers(const struct policy_rule *a, const struct policy_rule *b)
{
	return check_ports_cover(a, b) && check_methods_cover(a, b) && check_hosts_cover(a, b) &&
	       check_paths_cover(a, b);
}

static bool check_ports_meet(const struct policy_rule *a, const struct policy_rule *b)
{
	for (unsigned i = 0; i < a->nports; i++)
		for (unsigned k = 0; k < b->nports; k++)
			if (a->ports[i].lo <= b->ports[k].hi && b->ports[k].lo <= a->ports[i].hi)
				return true;
	return false;
}

static bool check_hosts_meet(const struct policy_rule *a, const struct policy_rule *b)
{
	for (unsigned i = 0; i < a->nhosts; i++)
		for (unsigned k = 0; k < b->nhosts; k++)
			if (host_pattern_overlaps(&a->hosts[i], &b->hosts[k]))
				return true;
	return false;
}

/* The first earlier rule that may or may not match where the tunnel b would, or NULL. */
static const struct policy_rule *check_undecidable(
	const struct policy *p, const struct policy_rule *b)
{
	for (const struct policy_rule *a = p->rules; b->tunnel && a < b; a++)
		if (policy_looks(a) && check_ports_meet(a, b) && check_hosts_meet(a, b))
			return a;
	return NULL;
}

static const char *check_action(const struct policy_rule *r)
{
	return r->tunnel ? "tunnel" : r->allow ? "allow" : "deny";
}

static bool check_same_action(const struct policy_rule *a, const struct policy_rule *b)
{
	return a->allow == b->allow && a->tunnel == b->tunnel;
}

/* Whether an earlier rule denies, or tunnels, everything that rule `at` allows of the pattern. */
static bool check_denied_before(
	const struct policy *p, unsigned at, const struct host_pattern *pattern)
{
	for (unsigned i = 0; i < at; i++) {
		const struct policy_rule *r = &p->rules[i];

		if ((r->allow && !r->tunnel) || policy_looks(r) ||
			!check_ports_cover(r, &p->rules[at]))
			continue;
		for (unsigned k = 0; k < r->nhosts; k++)
			if (host_pattern_covers(&r->hosts[k], pattern))
				return true;
	}
	return false;
}

bool policy_opens_pattern(const struct policy *p, const struct host_pattern *pattern)
{
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];

		for (unsigned k = 0; r->allow && !r->tunnel && k < r->nhosts; k++)
			if (host_pattern_overlaps(&r->hosts[k], pattern) &&
				!check_denied_before(p, i, pattern))
				return true;
	}
	return p->default_allow;
}

const char *policy_tunnels_pattern(
	const struct policy *p, const struct host_pattern *pattern, uint16_t port)
{
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (!r->tunnel || (port && !lists_ports_match(r->ports, r->nports, port)))
			continue;
		for (unsigned k = 0; k < r->nhosts; k++)
			if (host_pattern_overlaps(&r->hosts[k], pattern) &&
				!check_denied_before(p, i, pattern))
				return r->name;
	}
	return NULL;
}

int policy_shadows(const struct policy *p, struct fault *fault,
	void (*warn)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 1; i < p->nrules; i++) {
		const struct policy_rule *b = &p->rules[i], *a = p->rules;
		const struct policy_rule *looks = check_undecidable(p, b);
		struct fault line = {{0}};

		while (a < b && !check_covers(a, b))
			a++;
		if (a == b && looks)
			return conf_fault(p->doc, b->at, fault,
				"rule `%s` tunnels hosts and ports where rule `%s` in line %u "
				"looks at %s, which a tunnel does not show; give them different "
				"hosts or ports, or put the tunnel first",
				b->name, looks->name, looks->at->line,
				looks->nmethods ? "methods" : "paths");
		if (a == b || (check_same_action(a, b) && !warn))
			continue;
		if (!check_same_action(a, b))
			return conf_fault(p->doc, b->at, fault,
				"rule `%s` never decides: rule `%s` in line %u matches all of it "
				"first and says "
				"%s; put the narrower rule first",
				b->name, a->name, a->at->line, check_action(a));
		(void)conf_fault(p->doc, b->at, &line,
			"rule `%s` never decides: rule `%s` in line %u matches all of it first, "
			"with the same action",
			b->name, a->name, a->at->line);
		warn(arg, line.text);
	}
	return 0;
}

/* "metadata" etc., as the manual calls them. */
static const char *const check_classes[] = {
	[RANGE_PUBLIC] = "public",
	[RANGE_LOOPBACK] = "loopback",
	[RANGE_PRIVATE] = "private",
	[RANGE_LINK_LOCAL] = "link-local",
	[RANGE_METADATA] = "metadata",
	[RANGE_CGNAT] = "carrier-grade NAT",
	[RANGE_MULTICAST] = "multicast",
	[RANGE_RESERVED] = "reserved",
	[RANGE_BENCHMARK] = "benchmark",
	[RANGE_HOST] = "host",
};
_Static_assert(ARRAY_SIZE(check_classes) == RANGE_COUNT, "a word for each class");

static void check_address(const struct policy *p, const struct policy_rule *rule,
	const struct host_pattern *pattern, const struct conf_node *at,
	void (*warn)(void *arg, const char *text), void *arg)
{
	enum range_class c = private_class(&pattern->net, pattern->prefix);
	bool colon = slice_find(at->text, ':') < at->text.n;
	struct fault line = {{0}};

	if (c == RANGE_PUBLIC || private_lifts_some(p, rule, pattern, c))
		return;
	if (private_never(c))
		(void)conf_fault(p->doc, at, &line,
			"rule `%s` allows %.*s in vain: %s addresses cannot be opened; remove it",
			rule->name, SLICE_ARG(at->text), check_classes[c]);
	else
		(void)conf_fault(p->doc, at, &line,
			"rule `%s` allows %.*s in vain: %s addresses stay refused; to open it, add "
			"to `private:` - {cidr: %s%.*s%s%s}",
			rule->name, SLICE_ARG(at->text), check_classes[c], colon ? "\"" : "",
			SLICE_ARG(at->text), colon ? "\"" : "",
			c == RANGE_METADATA ? ", metadata: true" : "");
	warn(arg, line.text);
}

static void check_addresses(
	const struct policy *p, void (*warn)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 0; i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];
		const struct conf_node *at = conf_get(r->at, "hosts")->first;

		for (unsigned k = 0; r->allow && k < r->nhosts; k++, at = at->next)
			if (r->hosts[k].kind == HOST_PATTERN_NET)
				check_address(p, r, &r->hosts[k], at, warn, arg);
	}
}

/* Under dns: off no name is resolved, so what a rule opens of names cannot be dialled. */
static void check_names_off(
	const struct policy *p, void (*warn)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 0; p->dns == POLICY_DNS_OFF && i < p->nrules; i++) {
		const struct policy_rule *r = &p->rules[i];
		struct fault line = {{0}};
		unsigned k = 0;

		while (k < r->nhosts && r->hosts[k].kind == HOST_PATTERN_NET)
			k++;
		if (!r->allow || k == r->nhosts)
			continue;
		(void)conf_fault(p->doc, r->at, &line,
			"rule `%s` opens names, and with `dns: off` no name is resolved: "
			"connections "
			"to them are refused dns-failure; write addresses, or another `dns`",
			r->name);
		warn(arg, line.text);
	}
}

void policy_check(const struct policy *p, void (*warn)(void *arg, const char *text), void *arg)
{
	struct fault line = {{0}};

	(void)policy_shadows(p, &line, warn, arg); /* a different action was an error of the load */
	check_addresses(p, warn, arg);
	check_names_off(p, warn, arg);
}
