/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h – what a sandbox may reach, as its policy document says (sallyport-policy(5)). Immutable
 * after policy_load(), shared between threads by reference.
 */
#ifndef SALLYPORT_POLICY_POLICY_H
#define SALLYPORT_POLICY_POLICY_H

#include "base/fault.h"
#include "base/slice.h"
#include "model/addr.h"
#include "model/verdict.h"

struct conf_table;
struct host;
struct host_pattern;
struct policy;

enum {
	POLICY_DIGEST = 32, /* bytes of SHA-256 */
	POLICY_OPENINGS = 64, /* address and port ranges that private: may lift, of one policy */
};

/* dns: */
enum policy_dns {
	POLICY_DNS_CHECKED, /* real addresses; a name under a tunnel gets a synthetic one */
	POLICY_DNS_SYNTHETIC, /* every name that is opened gets a synthetic one */
	POLICY_DNS_OFF, /* no name is resolved for the sandbox, neither for it nor at the dial */
};

/* ---- life ---- */

/*
 * Reads a document. 0, -EBADMSG with the fault set to "FILE:LINE:COLUMN: …", -ENOMEM. The caller
 * owns one reference; the text is not kept.
 */
int policy_load(struct slice text, const char *file, struct fault *fault, struct policy **ret);
struct policy *policy_ref(struct policy *p);
/* NULL is allowed. */
void policy_unref(struct policy *p);

/* What is not an error but worth a line: rules that never decide, addresses that no entry of private:
 * opens, defaults that will change. Each as FILE:LINE:COLUMN and what to do. */
void policy_check(const struct policy *p, void (*warn)(void *arg, const char *text), void *arg);

const char *policy_name(const struct policy *p);
/* SHA-256 of the document's bytes; POLICY_DIGEST bytes, borrowed. */
const uint8_t *policy_digest(const struct policy *p);
bool policy_default_allow(const struct policy *p);
/* dns: how names are answered. */
enum policy_dns policy_dns(const struct policy *p);
/* limits: connections; 0 = no limit. LIMIT_CONNECTIONS where the document does not say. */
uint64_t policy_limit_connections(const struct policy *p);

/* ---- decisions ---- */

struct subject {
	const struct host *host;
	uint16_t port;
	struct slice method; /* empty: not known yet: could any method pass? */
	struct slice path; /* the target in origin-form, or `*`, as written; empty: not known yet */
};

/*
 * The first rule whose host, port, method and path match decides, else the default. A subject without
 * method and path is a connection, before a request. A denial is PATH_DENIED when another path could
 * pass, METHOD_DENIED when another method could, else HOST_DENIED; a request to a host and port that
 * are tunnelled is PROTOCOL_DENIED, since a tunnel knows no requests. By the rule "built-in" are denied,
 * whatever the policy says: TRACE and TRACK; and as BAD_REQUEST a path that servers read in more than
 * one way (path_fault()), where a rule for that host and port has paths.
 *
 * verdict.way says how an allowed connection travels. VERDICT_PASS is without the credentials, which
 * a policy does not know: a host that one of them names is terminated all the same.
 */
struct verdict policy_decide(const struct policy *p, const struct subject *s);

/* Whether a rule that matches this host and port has methods: then the method override fields must
 * not be forwarded. */
bool policy_judges_methods(const struct policy *p, const struct host *h, uint16_t port);
/* The same for paths, and fields that name another path. */
bool policy_judges_paths(const struct policy *p, const struct host *h, uint16_t port);

/* The DNS question: could a rule or the default open that name at some port? */
bool policy_opens_name(const struct policy *p, const struct host *h);
/* Whether an allow rule (or the default) opens that port of some host; a tunnel rule, which speaks of names that are
 * known beforehand, does not count. */
bool policy_opens_port(const struct policy *p, uint16_t port);
/* Whether a tunnel rule could decide this host at some port: its name gets a synthetic address. */
bool policy_tunnels_name(const struct policy *p, const struct host *h);
/* The name question again, but by an allow rule that names it exactly (not by a wildcard). */
bool policy_names_exactly(const struct policy *p, const struct host *h);
/* Whether an allow rule (or the default) opens something that the pattern matches. Tunnels do not count. */
bool policy_opens_pattern(const struct policy *p, const struct host_pattern *pattern);
/* The name of the first tunnel rule that takes something of what the pattern matches at that port (0 = some port), NULL:
 * none. */
const char *policy_tunnels_pattern(
	const struct policy *p, const struct host_pattern *pattern, uint16_t port);

/* ---- addresses ---- */

/*
 * The dialler's check of one candidate address of a host, at its port (0 = is there a port where it
 * could be dialled?): CATEGORY_NONE, or PRIVATE_ADDRESS or METADATA_ADDRESS. The range table
 * refuses, private: lifts. Loopback, multicast and reserved ranges are never lifted.
 */
enum category policy_address(const struct policy *p, const struct host *h, const struct addr *a);
/* Whether an entry of private: opens an address of this very host, which is refused although it is public. */
bool policy_lifts_own(const struct policy *p, const struct host *h, const struct addr *a);

struct policy_opening {
	uint8_t ip[16]; /* IPv4 as v4-mapped */
	uint8_t prefix; /* of 128 */
	bool metadata; /* opens that very metadata address */
	uint16_t port_lo, port_hi;
};

/* What the kernel must let through to us, since private: may lift it. Writes at most max, returns
 * how many there are. */
unsigned policy_openings(const struct policy *p, struct policy_opening *ret, unsigned max);

/* ---- upstream ---- */

/* The CA file for that host, or NULL: the system's roots. Borrowed. First match. */
const char *policy_upstream_ca(const struct policy *p, const struct host *h);
/* All CA files of the policy: the i-th from 0, NULL after the last. The same file may come twice.
 */
const char *policy_upstream_file(const struct policy *p, unsigned i);

/* The key tables, for the manual's check. */
const struct conf_table *const *policy_tables(unsigned *ret_n);

#endif
