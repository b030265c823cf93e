/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c – see decide.h. This file, over policy/match.c, decides whether a request may leave the sandbox; the address
 * that the name then resolves to is judged once more at the dial (origin.c, policy/private.c), and addresses that a
 * program asks for are judged in the kernel before it gets here (bpf/policy.bpf.c).
 *
 * Every step can only refuse. What is refused:
 *	the form of the target	one for proxies (CONNECT, absolute-form) where the client has not begun as a proxy's
 *	Host			missing, malformed, or not a name that everybody reads the same way (policy/hosts.c)
 *	the session's name	Host must equal the name in the TLS session, or in CONNECT: no domain fronting
 *	the port		when Host gives one it is the port that was connected to
 *	the policy		host, port, method, path; the path's spelling where a rule has paths
 *
 * A target for a proxy is where the client wants to be (RFC 9112 sections 3.2.2, 3.2.3); what it connected to, and the
 * kernel judged, was only the way. So what the kernel would have refused is refused here: an address that is not public,
 * DNS to servers of the client's choice. Host must say the same; it may be missing (HTTP/1.0), for the target is there.
 */
#include <string.h>

#include "cred/credset.h"
#include "http/authority.h"
#include "http/target.h"
#include "policy/paths.h"
#include "policy/policy.h"
#include "proxy/decide.h"
#include "proxy/synthetic.h"

enum { DECIDE_DNS = 53, DECIDE_DOT = 853 }; /* as in bpf/match.bpf.h */

#define DECIDE_PLAIN_FORM                                                                          \
	" is not a name or address in its plain form (letters, digits, '-', '.'; four decimal "    \
	"parts; [IPv6])"

static int decide_refuse(struct decision *d, enum category category, const char *why)
{
	d->verdict = (struct verdict){.category = category, .rule = "built-in"};
	d->why = why;
	return -1;
}

/* 0 and *ret, or -1: refused. */
static int decide_name(
	const struct authority *a, const char *why, struct decision *d, struct host *ret)
{
	struct host host;

	if (host_canon(a->host, &host) < 0 ||
		a->bracketed != (host.is_ip && memchr(a->host.p, ':', a->host.n) != NULL)) {
		d->host_known = host_misread(a->host, &d->host) == 0;
		return decide_refuse(d, CATEGORY_BAD_REQUEST, why);
	}
	*ret = host;
	return 0;
}

/* 1, the host and the port that Host gives (0 = none); 0 there is no Host; -1: refused. */
static int decide_host(
	const struct msg *m, struct decision *d, struct host *ret, uint16_t *ret_port)
{
	static const char why[] = "Host" DECIDE_PLAIN_FORM;
	const struct field *field = msg_find(m, SLICE("host"));
	struct slice written = m->authority.n ? m->authority
			       : field        ? field->value
					      : (struct slice){0};
	struct authority authority = {.port = 0};

	if (!field && !m->authority.n)
		return 0;
	if (field && m->authority.n && !slice_ieq(field->value, m->authority))
		return decide_refuse(
			d, CATEGORY_BAD_REQUEST, "Host and :authority name different hosts");
	(void)authority_parse(written, &authority); /* what is none has no host to read */
	if (decide_name(&authority, why, d, ret) < 0)
		return -1;
	*ret_port = authority.has_port ? authority.port : 0;
	return 1;
}

/* ---- origin-form: Host says which server. 0 with host, port and path, or -1: refused. */

static int decide_origin(const struct decide_facts *facts, const struct msg *m,
	const struct target *target, struct decision *d)
{
	uint16_t port;
	int r;

	if (facts->talk == DECIDE_PROXY)
		return decide_refuse(d, CATEGORY_BAD_REQUEST,
			"the target names no host, on a connection whose first one was in a form "
			"for "
			"proxies");
	r = decide_host(m, d, &d->host, &port);
	if (r <= 0)
		return r < 0 ? -1
			     : decide_refuse(d, CATEGORY_BAD_REQUEST, "the request has no Host");
	d->host_known = true;
	if (facts->talk == DECIDE_SESSION && !host_same(&d->host, facts->server))
		return decide_refuse(d, CATEGORY_HOST_MISMATCH,
			facts->tls ? "Host is not the name that the TLS session was made for"
				   : "Host is not the host that CONNECT was for");
	if (port && port != facts->port)
		return decide_refuse(d, CATEGORY_HOST_MISMATCH,
			"the port in Host is not the port that was connected to");
	d->path = target->path;
	return 0;
}

/* ---- absolute-form and CONNECT: the target says it. The same answers. */

static const char *decide_form_fault(
	const struct decide_facts *facts, const struct msg *m, const struct target *target)
{
	if (target->form == TARGET_ABSOLUTE && target->https != facts->tls)
		return facts->tls
			       ? "an http target is not asked for within TLS"
			       : "an https target cannot be asked for in plain text: use CONNECT, "
				 "and TLS in it";
	if (target->form == TARGET_ABSOLUTE)
		return NULL;
	if (facts->tls)
		return "CONNECT within TLS: the server of a session is no proxy";
	if (facts->talk == DECIDE_SESSION)
		return "CONNECT within a CONNECT";
	if (facts->talk != DECIDE_ANYBODY)
		return "CONNECT must be the first request of its connection";
	return m->framing == FRAMING_NONE ? NULL : "CONNECT has no body";
}

/* Where nobody but the client says where it wants to be, the kernel has not judged that. */
static int decide_place(const struct decide_facts *facts, struct decision *d)
{
	struct addr to = d->host.ip;
	enum category why;

	if (d->port == DECIDE_DNS || d->port == DECIDE_DOT)
		return decide_refuse(d, CATEGORY_PROTOCOL_DENIED,
			"DNS is answered here, at port 53 of every address, and by nobody else");
	if (!d->host.is_ip || (facts->names && synthetic_find(facts->names, &to, &d->host)))
		return 0;
	to.port = d->port;
	why = policy_address(facts->policy, &d->host, &to);
	return why == CATEGORY_NONE ? 0
				    : decide_refuse(d, why, "the address is one that is refused");
}

static int decide_named(const struct decide_facts *facts, const struct msg *m,
	const struct target *target, struct decision *d)
{
	static const char form[] = "the target" DECIDE_PLAIN_FORM;
	const char *fault = decide_form_fault(facts, m, target);
	uint16_t port = target->authority.port, host_port = 0;
	struct host host;
	int r;

	if (fault)
		return decide_refuse(d, CATEGORY_BAD_REQUEST, fault);
	if (decide_name(&target->authority, form, d, &d->host) < 0)
		return -1;
	d->host_known = true;
	if (!port)
		port = facts->tls ? 443 : 80;
	r = decide_host(m, d, &host, &host_port);
	if (r < 0)
		return -1;
	if (r > 0 && (!host_same(&host, &d->host) || (host_port && host_port != port)))
		return decide_refuse(
			d, CATEGORY_HOST_MISMATCH, "Host is not the host and port of the target");
	d->path = target->path;
	if (facts->talk == DECIDE_SERVER || facts->talk == DECIDE_SESSION) {
		if (host_same(&d->host, facts->server) && port == facts->port)
			return 0;
		return decide_refuse(d, CATEGORY_HOST_MISMATCH,
			"the target is not the host and port that the connection is for");
	}
	d->port = port;
	d->proxied = true;
	return decide_place(facts, d);
}

/* ---- */

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
	struct subject subject = {.host = &ret->host};
	struct target target;
	int r;

	*ret = (struct decision){.port = facts->port};
	if (target_parse(m->target, m->method, &target) < 0)
		r = decide_refuse(ret, CATEGORY_BAD_REQUEST, "the request target is malformed");
	else if (target.form == TARGET_ABSOLUTE || target.form == TARGET_AUTHORITY)
		r = decide_named(facts, m, &target, ret);
	else
		r = decide_origin(facts, m, &target, ret);
	if (r < 0)
		return;
	subject.port = ret->port;
	if (target.form != TARGET_AUTHORITY) {
		subject.method = m->method;
		subject.path = ret->path;
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
