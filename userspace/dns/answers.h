/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.h – what a sandbox is told about a name, in two pure steps (policy document, "DNS"):
 *
 *   dns_decide()    question + what the policy says of the name → an action
 *   dns_settle()    an action that needs nobody else → the reply
 *   dns_resolved()  the outcome of the lookup → the reply
 *
 * Policy is never told by REFUSED or SERVFAIL, which end a program's search; and NXDOMAIN is
 * said for every type of a name or for none, since musl takes it for the whole name.
 */
#ifndef SALLYPORT_DNS_ANSWERS_H
#define SALLYPORT_DNS_ANSWERS_H

#include <stdbool.h>

#include "dns/wire.h"

enum dns_action {
	DNS_SAY_EMPTY, /* NOERROR without records */
	DNS_SAY_NXDOMAIN, /* the name is not there */
	DNS_SAY_LOOPBACK, /* 127.0.0.1, ::1 */
	DNS_SAY_SHARED, /* the address of refused names: the refusal is explained where the client
			   connects */
	DNS_RESOLVE, /* ask upstream, then dns_resolved() */
	DNS_SYNTHETIC, /* the address that stands for the name in this sandbox, dns_synthetic() */
	DNS_POINTER, /* the name that the synthetic address stands for, if any */
	DNS_FORWARD, /* ask upstream for records of the type, dns_records_parse() */
};

/* What is known of the name besides the question. */
struct dns_facts {
	bool off; /* dns: off: no name is resolved for the sandbox */
	bool synthetic; /* an opened name gets an address that stands for it, not its own */
	bool pool; /* the question is about the reverse name of an address of the synthetic pool */
	bool opened; /* a rule or the default opens it on some port: policy_opens_name() */
	bool exact; /* a rule names it exactly: policy_names_exactly() */
	/* the sandbox's search domains, lower case without the last dot; borrowed */
	const char (*search)[LIMIT_NAME + 1];
	unsigned nsearch;
};

enum dns_action dns_decide(const struct dns_question *q, const struct dns_facts *facts);

/* The address that all refused names share, 198.19.255.254. */
struct addr dns_shared(void);

/* The address that the name stands for as in 7.44.18.198.in-addr.arpa (RFC 1035 section 3.5). False: it is none. */
bool dns_reverse(const char *name, struct addr *ret);

/* The reply with a synthetic address. */
void dns_synthetic(const struct addr *a, struct dns_reply *ret);

/* The reply of every action from DNS_SAY_EMPTY to DNS_SAY_SHARED. */
void dns_settle(enum dns_action action, uint16_t type, struct dns_reply *ret);

/*
 * The reply to a question of type A or AAAA after a lookup. err and addrs are those of the lookup
 * (upstream/resolve.h): 0, -ENOENT (no such name), -ENODATA (no address), or another -errno, which
 * is told as SERVFAIL, since it is a fault and not policy. `accept` is asked for each address; one
 * that it refuses is left out. When all are refused the name gets the shared address, and the
 * return is true.
 */
bool dns_resolved(uint16_t type, int err, const struct addr *addrs, unsigned n,
	bool (*accept)(void *arg, const struct addr *a), void *arg, struct dns_reply *ret);

#endif
