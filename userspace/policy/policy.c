/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c – the life of a policy (policy.h): load.c fills it, match.c and private.c ask it, here
 * it begins and ends. */
#include <errno.h>
#include <stdlib.h>

#include "policy/digest.h"
#include "base/limits.h"
#include "policy/policy_internal.h"

_Static_assert((int)POLICY_DIGEST == (int)DIGEST_SIZE, "one digest");

static void policy_free(struct policy *p)
{
	for (unsigned i = 0; i < p->nrules; i++) {
		free(p->rules[i].hosts);
		free(p->rules[i].ports);
		free(p->rules[i].methods);
		free(p->rules[i].paths);
	}
	for (unsigned i = 0; i < p->nprivates; i++) {
		free(p->privates[i].ports);
		free(p->privates[i].hosts);
	}
	for (unsigned i = 0; i < p->nupstreams; i++)
		free(p->upstreams[i].hosts);
	free(p->rules);
	free(p->privates);
	free(p->upstreams);
	conf_free(p->doc);
	free(p);
}

int policy_load(struct slice text, const char *file, struct fault *fault, struct policy **ret)
{
	struct policy *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	atomic_init(&p->refs, 1);
	p->connections = LIMIT_CONNECTIONS;
	r = conf_parse(text, file, fault, &p->doc);
	if (r == 0)
		r = policy_fill(p, fault);
	if (r == 0)
		r = policy_shadows(p, fault, NULL, NULL);
	if (r == 0)
		r = digest_sha256(text, p->digest);
	if (r < 0) {
		policy_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct policy *policy_ref(struct policy *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void policy_unref(struct policy *p)
{
	if (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
		policy_free(p);
}

const char *policy_name(const struct policy *p)
{
	return p->name;
}

const uint8_t *policy_digest(const struct policy *p)
{
	return p->digest;
}

bool policy_default_allow(const struct policy *p)
{
	return p->default_allow;
}

enum policy_dns policy_dns(const struct policy *p)
{
	return p->dns;
}

uint64_t policy_limit_connections(const struct policy *p)
{
	return p->connections;
}

const char *policy_upstream_ca(const struct policy *p, const struct host *h)
{
	for (unsigned i = 0; i < p->nupstreams; i++)
		if (lists_hosts_match(p->upstreams[i].hosts, p->upstreams[i].nhosts, h))
			return p->upstreams[i].ca;
	return NULL;
}

const char *policy_upstream_file(const struct policy *p, unsigned i)
{
	return i < p->nupstreams ? p->upstreams[i].ca : NULL;
}
