/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h – may this request leave, and where to? The one place where that is answered; pure: it reads the head, the
 * connection's facts and the policy, and does nothing.
 */
#ifndef SALLYPORT_PROXY_DECIDE_H
#define SALLYPORT_PROXY_DECIDE_H

#include "model/msg.h"
#include "model/verdict.h"
#include "policy/hosts.h"

struct credset;
struct policy;
struct synthetic;

/* Whom the client believes to talk to, which says what its targets may look like. */
enum decide_talk {
	DECIDE_ANYBODY, /* its first request, in plain text: the form of the target tells */
	DECIDE_PROXY, /* a proxy, since the first target was in absolute-form: every one is, each with a host of its own */
	DECIDE_SERVER, /* servers, in plain text: an absolute-form may only repeat the host of the request before */
	DECIDE_SESSION, /* one server: that of the TLS session, or of the CONNECT; no request may name another */
};

/* What is known of the connection that the request came on. */
struct decide_facts {
	const struct policy *policy;
	const struct synthetic *names; /* what addresses of the pool stand for; NULL: for nothing */
	uint16_t port; /* that the program connected to, or that of its CONNECT */
	bool tls;
	enum decide_talk talk;
	const struct host
		*server; /* SERVER, SESSION: that one. With TLS the SNI, or what was asked for */
};

struct decision {
	struct verdict verdict;
	const char *why; /* on refusal: a sentence for the client, constant */
	struct host
		host; /* the judged host: policy, credentials, dial and upstream Host all use this one */
	bool host_known; /* on refusal too, where an address was meant: to be told */
	uint16_t port;
	bool proxied; /* the target is for a proxy (CONNECT, absolute-form), and host and port are its own */
	struct slice
		path; /* target in origin-form, as written; borrowed from the head; empty with CONNECT */
};

/*
 * Judges one request. Order: form of the target, Host, session name, port, policy. A CONNECT is judged like a connection:
 * allowed when something there could be.
 */
void decide_request(const struct decide_facts *facts, const struct msg *m, struct decision *ret);

/*
 * Judges a connection by its host alone, before any request: allowed when some request could be, and how it travels. The
 * host is that of a ClientHello, or, of raw bytes, the name that the asked address stands for, else that address.
 * credentials may be NULL: none.
 */
struct verdict decide_connection(const struct policy *policy, const struct credset *credentials,
	const struct host *server, uint16_t port);

#endif
