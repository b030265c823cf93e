/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private.c – refusals by address and the entries that lift them. The class of an address is
 * model/range.h's; an entry lifts it for an address inside its range, at its ports, for a host that
 * it names. A metadata address needs an entry that is that very address and says so. Addresses are
 * compared as they are dialled: a range of IPv4 does not lift the refusal of an IPv6 address that
 * only carries one of its addresses.
 */
#include <string.h>

#include "model/range.h"
#include "policy/policy_internal.h"

bool private_never(enum range_class c)
{
	return c == RANGE_LOOPBACK || c == RANGE_MULTICAST || c == RANGE_RESERVED;
}

static bool private_host(
	const struct policy *p, const struct policy_private *e, const struct host *h)
{
	if (e->nhosts)
		return lists_hosts_match(e->hosts, e->nhosts, h);
	return h->is_ip || policy_names_exactly(p, h);
}

static bool private_lifts(const struct policy *p, const struct policy_private *e,
	const struct host *h, const struct addr *a, enum range_class c)
{
	if (c == RANGE_METADATA && !e->metadata)
		return false;
	return host_net_has(&e->net, e->prefix, a) &&
	       (e->nports == 0 || a->port == 0 ||
		       lists_ports_match(e->ports, e->nports, a->port)) &&
	       private_host(p, e, h);
}

/* The longest row that holds the whole range decides, unless a row inside makes an exception. */
enum range_class private_class(const struct addr *net, uint8_t prefix)
{
	const struct range_row *best = NULL, *rows;
	size_t n;

	if (prefix == 128)
		return range_dialler(net);
	rows = range_rows(&n);
	for (size_t i = 0; i < n; i++) {
		struct addr row = {0};

		memcpy(row.ip, rows[i].ip, sizeof(row.ip));
		if (rows[i].prefix > prefix && rows[i].class[RANGE_DIALLER] == RANGE_PUBLIC &&
			host_net_has(net, prefix, &row))
			return RANGE_PUBLIC;
		if (rows[i].prefix <= prefix && host_net_has(&row, rows[i].prefix, net) &&
			(!best || rows[i].prefix > best->prefix))
			best = &rows[i];
	}
	return best ? (enum range_class)best->class[RANGE_DIALLER] : RANGE_PUBLIC;
}

static bool private_ports_meet(const struct policy_private *e, const struct policy_rule *rule)
{
	for (unsigned i = 0; i < rule->nports; i++)
		for (unsigned k = 0; k < e->nports; k++)
			if (e->ports[k].lo <= rule->ports[i].hi &&
				rule->ports[i].lo <= e->ports[k].hi)
				return true;
	return e->nports == 0;
}

static bool private_hosts_meet(const struct policy_private *e, const struct host_pattern *pattern)
{
	for (unsigned i = 0; i < e->nhosts; i++)
		if (host_pattern_overlaps(&e->hosts[i], pattern))
			return true;
	return e->nhosts == 0;
}

bool private_lifts_some(const struct policy *p, const struct policy_rule *rule,
	const struct host_pattern *pattern, enum range_class c)
{
	if (private_never(c))
		return false;
	for (unsigned i = 0; i < p->nprivates; i++) {
		const struct policy_private *e = &p->privates[i];
		const struct host_pattern net = {
			.kind = HOST_PATTERN_NET, .prefix = e->prefix, .net = e->net};

		if ((c != RANGE_METADATA || e->metadata) && host_pattern_overlaps(&net, pattern) &&
			private_ports_meet(e, rule) && private_hosts_meet(e, pattern))
			return true;
	}
	return false;
}

bool policy_lifts_own(const struct policy *p, const struct host *h, const struct addr *a)
{
	for (unsigned i = 0; i < p->nprivates; i++)
		if (private_lifts(p, &p->privates[i], h, a, RANGE_PRIVATE))
			return true;
	return false;
}

enum category policy_address(const struct policy *p, const struct host *h, const struct addr *a)
{
	enum range_class c = range_dialler(a);
	enum category refused = range_category(c);

	if (refused == CATEGORY_NONE || private_never(c))
		return refused;
	for (unsigned i = 0; i < p->nprivates; i++)
		if (private_lifts(p, &p->privates[i], h, a, c))
			return CATEGORY_NONE;
	return refused;
}

unsigned policy_openings(const struct policy *p, struct policy_opening *ret, unsigned max)
{
	static const struct lists_ports all[] = {{1, 65535}};
	unsigned n = 0;

	for (unsigned i = 0; i < p->nprivates; i++) {
		const struct policy_private *e = &p->privates[i];
		const struct lists_ports *ports = e->nports ? e->ports : all;

		for (unsigned k = 0; k < (e->nports ? e->nports : 1); k++, n++) {
			if (n >= max)
				continue;
			ret[n] = (struct policy_opening){.prefix = e->prefix,
				.metadata = e->metadata,
				.port_lo = ports[k].lo,
				.port_hi = ports[k].hi};
			memcpy(ret[n].ip, e->net.ip, sizeof(ret[n].ip));
		}
	}
	return n;
}
