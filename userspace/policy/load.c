/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c – the key tables of sallyport-policy(5) and how each map becomes a struct. A key of the
 * contract that is not built yet has a row of CONF_TYPE_LATER: it is refused with its place, never
 * ignored.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "conf/table.h"
#include "model/range.h"
#include "policy/policy_internal.h"

enum { POLICY_VERSION = 1 };

/* ---- the document ---- */

struct policy_raw {
	uint64_t version;
	const char *name;
	int mode, fallback, tls, dns; /* fallback: 1 = allow; tls: 0 = absent */
	const struct conf_node *rules, *privates, *limits, *upstream;
};

static const struct conf_word policy_modes[] = {{"enforce", 0}, {"observe", 1, true}, {0}};
static const struct conf_word policy_actions_default[] = {{"deny", 0}, {"allow", 1}, {0}};
static const struct conf_word policy_tls[] = {{"terminate", 1}, {"pass", 2}, {0}};
static const struct conf_word policy_dns_words[] = {{"checked", POLICY_DNS_CHECKED},
	{"synthetic", POLICY_DNS_SYNTHETIC}, {"off", POLICY_DNS_OFF}, {0}};

#define KEY(member) offsetof(struct policy_raw, member)
static const struct conf_key policy_keys[] = {
	{"version", CONF_TYPE_NUMBER, true, KEY(version), .min = POLICY_VERSION,
		.max = POLICY_VERSION, .help = "of the format"},
	{"name", CONF_TYPE_TEXT, false, KEY(name), .help = "for status and audit"},
	{"mode", CONF_TYPE_WORD, false, KEY(mode), policy_modes,
		.help = "whether decisions are carried out"},
	{"default", CONF_TYPE_WORD, false, KEY(fallback), policy_actions_default,
		.help = "what happens when no rule matches"},
	{"default_tls", CONF_TYPE_WORD, false, KEY(tls), policy_tls,
		.help = "TLS to hosts that nothing names, under default: allow"},
	{"dns", CONF_TYPE_WORD, false, KEY(dns), policy_dns_words,
		.help = "how names are answered"},
	{"rules", CONF_TYPE_NODE, false, KEY(rules),
		.help = "in order; the first that matches decides"},
	{"private", CONF_TYPE_NODE, false, KEY(privates),
		.help = "addresses that are not public, opened"},
	{"claims", CONF_TYPE_LATER},
	{"limits", CONF_TYPE_MAP, false, KEY(limits), .help = "of the sandbox"},
	{"upstream", CONF_TYPE_NODE, false, KEY(upstream), .help = "how servers are reached"},
};
#undef KEY
static const struct conf_table policy_table = {"the policy", policy_keys, ARRAY_SIZE(policy_keys)};

/* ---- a rule ---- */

struct policy_rule_raw {
	const char *name;
	const struct conf_node *hosts, *ports, *methods, *paths;
	int action, deny; /* action: POLICY_…; deny: 0 = absent, 2 = alert */
};

enum { POLICY_DENY, POLICY_ALLOW, POLICY_TUNNEL };

static const struct conf_word policy_actions[] = {{"allow", POLICY_ALLOW}, {"deny", POLICY_DENY},
	{"tunnel", POLICY_TUNNEL}, {"ask", 3, true}, {0}};
static const struct conf_word policy_denials[] = {{"http", 1}, {"alert", 2}, {0}};

#define KEY(member) offsetof(struct policy_rule_raw, member)
static const struct conf_key policy_rule_keys[] = {
	{"name", CONF_TYPE_TEXT, true, KEY(name), .help = "told with every decision"},
	{"hosts", CONF_TYPE_LIST, true, KEY(hosts), .help = "patterns of hosts"},
	{"ports", CONF_TYPE_LIST, false, KEY(ports), .help = "default 80 and 443"},
	{"methods", CONF_TYPE_LIST, false, KEY(methods), .help = "default any"},
	{"paths", CONF_TYPE_LIST, false, KEY(paths), .help = "patterns of paths, default any"},
	{"client", CONF_TYPE_LATER},
	{"authority", CONF_TYPE_LATER},
	{"action", CONF_TYPE_WORD, true, KEY(action), policy_actions, .help = "what the rule says"},
	{"deny", CONF_TYPE_WORD, false, KEY(deny), policy_denials, .help = "how a denial is told"},
	{"ask", CONF_TYPE_LATER},
};
#undef KEY
static const struct conf_table policy_rule_table = {
	"a rule", policy_rule_keys, ARRAY_SIZE(policy_rule_keys)};

/* ---- an entry of private ---- */

struct policy_private_raw {
	const struct conf_node *cidr, *ports, *hosts;
	bool metadata;
};

#define KEY(member) offsetof(struct policy_private_raw, member)
static const struct conf_key policy_private_keys[] = {
	{"cidr", CONF_TYPE_NODE, true, KEY(cidr), .help = "an address or a range"},
	{"ports", CONF_TYPE_LIST, false, KEY(ports), .help = "default all that a rule opens"},
	{"hosts", CONF_TYPE_LIST, false, KEY(hosts), .help = "names that may resolve to it"},
	{"metadata", CONF_TYPE_BOOL, false, KEY(metadata),
		.help = "opens that very metadata address"},
};
#undef KEY
static const struct conf_table policy_private_table = {
	"an entry of private", policy_private_keys, ARRAY_SIZE(policy_private_keys)};

/* ---- limits and upstream ---- */

static const struct conf_key policy_limit_keys[] = {
	{"connections", CONF_TYPE_NUMBER, false, offsetof(struct policy, connections),
		.max = LIMIT_CONNECTIONS_MOST, .help = "open at once, 0 = no limit"},
	{"connections_per_second", CONF_TYPE_LATER},
	{"requests_per_second", CONF_TYPE_LATER},
	{"bytes_up", CONF_TYPE_LATER},
	{"header_bytes", CONF_TYPE_LATER},
	{"body_bytes", CONF_TYPE_LATER},
	{"streams", CONF_TYPE_LATER},
};
static const struct conf_table policy_limit_table = {
	"limits", policy_limit_keys, ARRAY_SIZE(policy_limit_keys)};

struct policy_upstream_raw {
	const struct conf_node *hosts;
	const char *ca;
};

static const struct conf_key policy_upstream_keys[] = {
	{"hosts", CONF_TYPE_LIST, true, offsetof(struct policy_upstream_raw, hosts),
		.help = "patterns of hosts"},
	{"ca", CONF_TYPE_TEXT, true, offsetof(struct policy_upstream_raw, ca),
		.help = "file of CA certificates for them, besides the system's"},
	{"proxy", CONF_TYPE_LATER},
	{"proxy_credential", CONF_TYPE_LATER},
	{"resolve", CONF_TYPE_LATER},
};
static const struct conf_table policy_upstream_table = {
	"an entry of upstream", policy_upstream_keys, ARRAY_SIZE(policy_upstream_keys)};

const struct conf_table *const *policy_tables(unsigned *ret_n)
{
	static const struct conf_table *const all[] = {&policy_table, &policy_rule_table,
		&policy_private_table, &policy_limit_table, &policy_upstream_table};

	*ret_n = ARRAY_SIZE(all);
	return all;
}

/* ---- filling ---- */

static int policy_default_ports(struct policy_rule *rule)
{
	static const struct lists_ports web[] = {{80, 80}, {443, 443}};

	rule->ports = malloc(sizeof(web));
	if (!rule->ports)
		return -ENOMEM;
	memcpy(rule->ports, web, sizeof(web));
	rule->nports = ARRAY_SIZE(web);
	return 0;
}

static int policy_fill_rule(
	struct policy *p, const struct conf_node *n, struct fault *fault, struct policy_rule *rule)
{
	struct policy_rule_raw raw = {0};
	const struct conf_node *looks; /* at what a request shows */
	int r = conf_read(&policy_rule_table, p->doc, n, fault, &raw);

	if (r < 0)
		return r;
	looks = raw.methods ? raw.methods : raw.paths;
	rule->name = raw.name;
	rule->allow = raw.action != POLICY_DENY;
	rule->tunnel = raw.action == POLICY_TUNNEL;
	rule->alert = raw.deny == 2;
	rule->at = n;
	if (raw.deny && rule->allow)
		return conf_fault(p->doc, conf_get(n, "deny"), fault,
			"`deny` belongs to a rule with `action: deny`");
	if (looks && rule->tunnel)
		return conf_fault(p->doc, looks, fault,
			"a tunnel shows no requests: a rule with `action: tunnel` cannot have `%s`",
			(const char *)looks->key->text.p);
	if (looks && rule->alert)
		return conf_fault(p->doc, looks, fault,
			"`deny: alert` is told before a request is seen: the rule cannot have `%s`",
			(const char *)looks->key->text.p);
	for (const struct policy_rule *other = p->rules; other < rule; other++)
		if (strcmp(other->name, rule->name) == 0)
			return conf_fault(p->doc, conf_get(n, "name"), fault,
				"the rule in line %u has this name already", other->at->line);
	r = lists_hosts(p->doc, raw.hosts, true, fault, &rule->hosts, &rule->nhosts);
	if (r == 0)
		r = raw.ports ? lists_ports(p->doc, raw.ports, fault, &rule->ports, &rule->nports)
			      : policy_default_ports(rule);
	if (r == 0 && raw.methods)
		r = lists_methods(p->doc, raw.methods, fault, &rule->methods, &rule->nmethods);
	if (r == 0 && raw.paths)
		r = lists_paths(p->doc, raw.paths, fault, &rule->paths, &rule->npaths);
	return r;
}

/* What is never lifted would be a line without effect, which somebody relies on. */
static int policy_private_class(const struct policy *p, const struct policy_private *e,
	const struct conf_node *at, struct fault *fault)
{
	switch (range_dialler(&e->net)) {
	case RANGE_LOOPBACK:
	case RANGE_MULTICAST:
	case RANGE_RESERVED:
		if (e->prefix >= 104 || !addr_is_v4(&e->net))
			return conf_fault(p->doc, at, fault,
				"loopback, multicast and reserved addresses cannot be opened");
		return 0;
	default:
		return 0;
	}
}

static int policy_fill_private(
	struct policy *p, const struct conf_node *n, struct fault *fault, struct policy_private *e)
{
	struct policy_private_raw raw = {0};
	int r = conf_read(&policy_private_table, p->doc, n, fault, &raw);

	if (r < 0)
		return r;
	e->at = n;
	e->metadata = raw.metadata;
	if (raw.cidr->kind != CONF_SCALAR ||
		host_net_parse(raw.cidr->text, &e->net, &e->prefix) < 0)
		return conf_fault(p->doc, raw.cidr, fault,
			"`cidr` must be an address or a range (10.20.0.0/16, fd00:20::/32; the "
			"bits behind the "
			"prefix must be 0)");
	if (e->metadata && e->prefix != 128)
		return conf_fault(
			p->doc, raw.cidr, fault, "`metadata: true` needs one address, not a range");
	r = policy_private_class(p, e, raw.cidr, fault);
	if (r == 0 && raw.ports)
		r = lists_ports(p->doc, raw.ports, fault, &e->ports, &e->nports);
	if (r == 0 && raw.hosts)
		r = lists_hosts(p->doc, raw.hosts, true, fault, &e->hosts, &e->nhosts);
	return r;
}

static int policy_fill_upstream(
	struct policy *p, const struct conf_node *n, struct fault *fault, struct policy_upstream *u)
{
	struct policy_upstream_raw raw = {0};
	int r = conf_read(&policy_upstream_table, p->doc, n, fault, &raw);

	if (r < 0)
		return r;
	u->ca = raw.ca;
	if (u->ca[0] != '/')
		return conf_fault(
			p->doc, conf_get(n, "ca"), fault, "`ca` must be an absolute path");
	return lists_hosts(p->doc, raw.hosts, false, fault, &u->hosts, &u->nhosts);
}

/* Room for the members of a list that may be absent or empty. */
static int policy_list(const struct policy *p, const struct conf_node *list, const char *what,
	size_t size, struct fault *fault, void *ret)
{
	void *array;

	if (!list)
		return 0;
	if (list->kind != CONF_LIST)
		return conf_fault(p->doc, list, fault, "`%s` must be a list", what);
	array = calloc(list->count ? list->count : 1, size);
	if (!array)
		return -ENOMEM;
	memcpy(ret, &array, sizeof(array));
	return 0;
}

static int policy_fill_lists(struct policy *p, const struct policy_raw *raw, struct fault *fault)
{
	int r = policy_list(p, raw->rules, "rules", sizeof(*p->rules), fault, &p->rules);

	if (r == 0)
		r = policy_list(
			p, raw->privates, "private", sizeof(*p->privates), fault, &p->privates);
	if (r == 0)
		r = policy_list(
			p, raw->upstream, "upstream", sizeof(*p->upstreams), fault, &p->upstreams);
	/* a count goes up before its member is filled, so that policy_free() sees half of one as
	 * well */
	for (const struct conf_node *n = raw->rules ? raw->rules->first : NULL; n && r == 0;
		n = n->next)
		r = policy_fill_rule(p, n, fault, &p->rules[p->nrules++]);
	for (const struct conf_node *n = raw->privates ? raw->privates->first : NULL; n && r == 0;
		n = n->next)
		r = policy_fill_private(p, n, fault, &p->privates[p->nprivates++]);
	for (const struct conf_node *n = raw->upstream ? raw->upstream->first : NULL; n && r == 0;
		n = n->next)
		r = policy_fill_upstream(p, n, fault, &p->upstreams[p->nupstreams++]);
	return r;
}

int policy_fill(struct policy *p, struct fault *fault)
{
	struct policy_raw raw = {.name = "policy"};
	int r = conf_read(&policy_table, p->doc, p->doc->root, fault, &raw);

	if (r < 0)
		return r;
	p->name = raw.name;
	p->default_allow = raw.fallback;
	p->default_pass = raw.fallback && raw.tls != 1;
	p->dns = (enum policy_dns)raw.dns;
	if (raw.limits)
		r = conf_read(&policy_limit_table, p->doc, raw.limits, fault, p);
	if (r == 0)
		r = policy_fill_lists(p, &raw, fault);
	if (r == 0 && policy_openings(p, NULL, 0) > POLICY_OPENINGS)
		r = conf_fault(p->doc, raw.privates, fault,
			"`private` holds more than %d pairs of a range and ports", POLICY_OPENINGS);
	return r;
}
