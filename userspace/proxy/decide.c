/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c – see decide.h. This file, over policy/match.c, decides whether a request may leave the sandbox; the address
 * that the name then resolves to is judged once more at the dial (origin.c, policy/private.c), and addresses that a
 * program asks for are judged in the kernel before it gets here (bpf/policy.bpf.c).
 *
 * Every step can only refuse. What is refused:
 *	the form of the target	CONNECT and absolute-form: no proxy is spoken to here (RFC 9112 section 3.2)
 *	Host			missing, malformed, or not a name that everybody reads the same way (policy/hosts.c)
 *	the session's name	Host must equal the name in the TLS session: no domain fronting
 *	the port		when Host gives one it is the port that was connected to
 *	the policy		host, port, method, path; the path's spelling where a rule has paths
 */
#include <string.h>

#include "cred/credset.h"
#include "http/authority.h"
#include "http/target.h"
#include "policy/paths.h"
#include "policy/policy.h"
#include "proxy/decide.h"

static void decide_refuse(struct decision *d, enum category category, const char *why)
{
	d->verdict = (struct verdict){.category = category, .rule = "built-in"};
	d->why = why;
}

/* 0 and d->path, or -1: refused. */
static int decide_target(const struct msg *m, struct decision *d)
{
	struct target target;

	if (target_parse(m->target, m->method, &target) < 0) {
		decide_refuse(d, CATEGORY_BAD_REQUEST, "the request target is malformed");
		return -1;
	}
	if (target.form == TARGET_ABSOLUTE || target.form == TARGET_AUTHORITY) {
		decide_refuse(d, CATEGORY_BAD_REQUEST,
			"the target is in a form for proxies, and there is no proxy here: connect "
			"to the server itself");
		return -1;
	}
	d->path = target.path;
	return 0;
}

/* 0, d->host and the port that Host gives (0 = none), or -1: refused. */
static int decide_host(const struct msg *m, struct decision *d, uint16_t *ret_port)
{
	const struct field *field = msg_find(m, SLICE("host"));
	struct slice written = m->authority.n ? m->authority : field ? field->value : (struct slice){0};
	struct authority authority = {
		.port = 0}; /* all of it: what is no authority has no host to read */

	if (!field && !m->authority.n) {
		decide_refuse(d, CATEGORY_BAD_REQUEST, "the request has no Host");
		return -1;
	}
	if (field && m->authority.n && !slice_ieq(field->value, m->authority)) {
		decide_refuse(d, CATEGORY_BAD_REQUEST, "Host and :authority name different hosts");
		return -1;
	}
	if (authority_parse(written, &authority) < 0 ||
		host_canon(authority.host, &d->host) < 0 ||
		authority.bracketed != (d->host.is_ip && memchr(authority.host.p, ':',
								 authority.host.n) != NULL)) {
		d->host_known = host_misread(authority.host, &d->host) == 0;
		decide_refuse(d, CATEGORY_BAD_REQUEST,
			"Host is not a name or address in its plain form (letters, digits, '-', "
			"'.'; four decimal parts; "
			"[IPv6])");
		return -1;
	}
	d->host_known = true;
	*ret_port = authority.has_port ? authority.port : 0;
	return 0;
}

static const char *decide_sentence(const struct decision *d)
{
	switch (d->verdict.category) {
	case CATEGORY_BAD_REQUEST:
		return path_fault(d->path);
	case CATEGORY_PATH_DENIED:
		return "this path is not allowed for this host";
	case CATEGORY_METHOD_DENIED:
		return "this method is not allowed for this host";
	case CATEGORY_PROTOCOL_DENIED:
		return "this host is tunnelled, where no request is read: connect to the address "
		       "that "
		       "its name has here";
	default:
		return "this host is not allowed";
	}
}

void decide_request(const struct decide_facts *facts, const struct msg *m, struct decision *ret)
{
	struct subject subject = {
		.host = &ret->host, .port = facts->asked.port, .method = m->method};
	uint16_t port;

	*ret = (struct decision){.port = facts->asked.port};
	if (decide_target(m, ret) < 0 || decide_host(m, ret, &port) < 0)
		return;
	subject.path = ret->path;
	if (facts->tls && !host_same(&ret->host, facts->server)) {
		decide_refuse(ret, CATEGORY_HOST_MISMATCH,
			"Host is not the name that the TLS session was made for");
		return;
	}
	if (port && port != facts->asked.port) {
		decide_refuse(ret, CATEGORY_HOST_MISMATCH,
			"the port in Host is not the port that was connected to");
		return;
	}
	ret->verdict = policy_decide(facts->policy, &subject);
	if (!ret->verdict.allow)
		ret->why = decide_sentence(ret);
}

struct verdict decide_connection(const struct policy *policy, const struct credset *credentials,
	const struct host *server, uint16_t port)
{
	struct subject subject = {.host = server, .port = port};
	struct verdict v = policy_decide(policy, &subject);

	if (v.way == VERDICT_PASS && credset_binds(credentials, server))
		v.way = VERDICT_TERMINATE;
	return v;
}
