/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h – may this request leave, and where to? The one place where that is answered; pure: it reads the head, the
 * connection's facts and the policy, and does nothing.
 */
#ifndef SALLYPORT_PROXY_DECIDE_H
#define SALLYPORT_PROXY_DECIDE_H

#include "model/addr.h"
#include "model/msg.h"
#include "model/verdict.h"
#include "policy/hosts.h"

struct credset;
struct policy;

/* What is known of the connection that the request came on. */
struct decide_facts {
	const struct policy *policy;
	struct addr asked; /* where the program connected to */
	bool tls;
	const struct host *
		server; /* with TLS: the name that the session is for (SNI, or the asked address) */
};

struct decision {
	struct verdict verdict;
	const char *why; /* on refusal: a sentence for the client, constant */
	struct host
		host; /* the judged host: policy, credentials, dial and upstream Host all use this one */
	bool host_known; /* on refusal too, where an address was meant: to be told */
	uint16_t port;
	struct slice path; /* target in origin-form, as written; borrowed from the head */
};

/* Judges one request. Order: form of the target, Host, session name, port, policy. */
void decide_request(const struct decide_facts *facts, const struct msg *m, struct decision *ret);

/*
 * Judges a connection by its host alone, before any request: allowed when some request could be, and how it travels. The
 * host is that of a ClientHello, or, of raw bytes, the name that the asked address stands for, else that address.
 * credentials may be NULL: none.
 */
struct verdict decide_connection(const struct policy *policy, const struct credset *credentials,
	const struct host *server, uint16_t port);

#endif
