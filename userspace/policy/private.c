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

static bool private_never(enum range_class c)
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
