/* SPDX-License-Identifier: Apache-2.0 */
/* policy_internal.h – what a policy is made of. Only for files in this folder. */
#ifndef SALLYPORT_POLICY_POLICY_INTERNAL_H
#define SALLYPORT_POLICY_POLICY_INTERNAL_H

#include <stdatomic.h>

#include "model/range.h"
#include "policy/lists.h"
#include "policy/policy.h"

struct policy_rule {
	const char *name;
	struct host_pattern *hosts;
	unsigned nhosts;
	struct lists_ports *ports;
	unsigned nports;
	const char **methods; /* nmethods 0 = any */
	unsigned nmethods;
	struct path_pattern *paths; /* npaths 0 = any */
	unsigned npaths;
	bool allow; /* action: allow or tunnel */
	bool tunnel; /* action: tunnel; never with methods or paths */
	bool alert; /* deny: alert */
	const struct conf_node *at;
};

/* Whether it takes more than host and port to tell if the rule matches: a request. */
static inline bool policy_looks(const struct policy_rule *r)
{
	return r->nmethods || r->npaths;
}

struct policy_private {
	struct addr net;
	uint8_t prefix; /* of 128 */
	struct lists_ports *ports;
	unsigned nports;
	struct host_pattern *hosts; /* nhosts 0 = literals and exact names */
	unsigned nhosts;
	bool metadata;
	const struct conf_node *at;
};

struct policy_upstream {
	struct host_pattern *hosts;
	unsigned nhosts;
	const char *ca;
};

struct policy {
	atomic_uint refs;
	struct conf_doc *doc; /* texts are borrowed from it */
	uint8_t digest[POLICY_DIGEST];
	const char *name;
	bool default_allow;
	bool default_pass; /* default: allow, and default_tls is not terminate */
	enum policy_dns dns;
	uint64_t connections;

	struct policy_rule *rules;
	unsigned nrules;
	struct policy_private *privates;
	unsigned nprivates;
	struct policy_upstream *upstreams;
	unsigned nupstreams;
};

/* load.c: fills p from p->doc. 0, -EBADMSG with the fault set, -ENOMEM. */
int policy_fill(struct policy *p, struct fault *fault);

/*
 * check.c: a rule that one earlier rule covers fully. With the same action it is told to `warn`
 * (may be NULL); with another it is -EBADMSG with the fault set, and so is a tunnel behind a rule
 * that looks at the requests to the same host and port.
 */
int policy_shadows(const struct policy *p, struct fault *fault,
	void (*warn)(void *arg, const char *text), void *arg);

/* private.c: on the dialler's side, RANGE_PUBLIC when some address of the range is public, else the
 * class of its first. */
enum range_class private_class(const struct addr *net, uint8_t prefix);
/* Whether nothing lifts that class. */
bool private_never(enum range_class c);
/* Whether an entry of private: lifts that class for some address of the pattern (a
 * HOST_PATTERN_NET), at some port of the rule. */
bool private_lifts_some(const struct policy *p, const struct policy_rule *rule,
	const struct host_pattern *pattern, enum range_class c);

#endif
