/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide_rows.h – for test_decide*.c: one request a row, and what is to be answered. Heads are put together by hand where
 * the parser would not let them through, since decide.c is the last place that says no.
 */
#ifndef SALLYPORT_TESTS_DECIDE_ROWS_H
#define SALLYPORT_TESTS_DECIDE_ROWS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "exact.h"
#include "policy/policy.h"
#include "proxy/decide.h"
#include "proxy/synthetic.h"

static const char document[] =
	"version: 1\n"
	"name: test\n"
	"rules:\n"
	"- {name: read, hosts: [read.test], methods: [GET, HEAD], action: allow}\n"
	"- {name: never, hosts: [no.sub.test], action: deny, deny: alert}\n"
	"- {name: sub, hosts: [\"*.sub.test\"], action: allow}\n"
	"- {name: high, hosts: [high.test], ports: [8443, 9000-9001], action: allow}\n"
	"- {name: plain, hosts: [a.test, x_y.test], action: allow}\n"
	"- {name: v4, hosts: [203.0.113.10], action: allow}\n"
	"- {name: v6, hosts: [\"2001:db8::1\"], ports: [443, 8443], action: allow}\n"
	"- {name: acme, hosts: [paths.test], methods: [GET, HEAD], paths: [/acme/**], action: "
	"allow}\n";

static struct policy *policy, *open_policy, *lifting;
static const struct synthetic *names;

static struct policy *load(const char *text)
{
	struct fault fault = {""};
	struct policy *p = NULL;

	if (policy_load(slice_str(text), "f", &fault, &p) < 0)
		fail_msg("%s", fault.text);
	return p;
}

static int set_up(void **state)
{
	(void)state;
	policy = load(document);
	open_policy = load("version: 1\ndefault: allow\ndefault_tls: terminate\n"
			   "rules: [{name: never, hosts: [no.test], action: deny}]\n");
	lifting = load("version: 1\n"
		       "rules:\n"
		       "- {name: private, hosts: [10.0.0.0/8, 169.254.169.254], ports: [80, 443], "
		       "action: allow}\n"
		       "- {name: raw, hosts: [raw.test], ports: [22, 53, 853], action: tunnel}\n"
		       "private: [{cidr: 10.0.0.1, ports: [443]}]\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	policy_unref(policy);
	policy_unref(open_policy);
	policy_unref(lifting);
	return 0;
}

/* What is asked: "METHOD target" of `host` (NULL: no Host) on a connection to `port`, within a session for `server`. */
struct ask {
	const char *method, *target, *host;
	uint16_t port;
	const char *server; /* NULL: plain text */
	const struct policy *policy; /* NULL: the document above */
	enum decide_talk
		talk; /* with a server: SESSION, whatever stands here, unless SERVER does */
	bool plain; /* with a server: not in TLS but in a CONNECT, or behind its last request */
	enum framing framing;
	uint16_t goes; /* the port of the decision; 0: `port` */
};

struct answer {
	enum category category;
	const char *rule;
	const char *host; /* NULL: not known */
	const char *why; /* a part of the sentence; NULL: allowed */
};

static void judge(const struct ask *a, struct decision *ret, struct slice *ret_target)
{
	struct slice host = exact_copy(slice_str(a->host));
	struct decide_facts facts = {
		.policy = a->policy ? a->policy : policy,
		.names = names,
		.port = a->port,
		.tls = a->server && !a->plain,
		.talk = a->server && a->talk != DECIDE_SERVER ? DECIDE_SESSION : a->talk,
	};
	struct host server;
	struct msg m = {
		.method = slice_str(a->method),
		.target = exact_copy(slice_str(a->target)),
		.minor = a->host != NULL,
		.framing = a->framing,
		.nfields = a->host ? 2 : 1,
		.fields = {{SLICE("Accept"), SLICE("*/*")}, {SLICE("HOST"), host}},
	};

	if (a->server) {
		assert_int_equal(host_canon(slice_str(a->server), &server), 0);
		facts.server = &server;
	}
	memset(ret, 0xee, sizeof(*ret));
	decide_request(&facts, &m, ret);
	exact_free(host);
	*ret_target = m.target;
}

/* As written; of an absolute-form what is behind its authority, or what stands for that; of a CONNECT nothing. */
static void check_path(const struct decision *d, struct slice target)
{
	size_t at = target.n - d->path.n;

	if (!d->verdict.allow)
		return;
	if (slice_eq(d->path, SLICE("/")) || slice_eq(d->path, SLICE("*")))
		return;
	assert_true(d->proxied || d->path.n > 0);
	if (d->path.n)
		assert_true(d->path.p == target.p + at);
}

static void check(size_t row, const struct ask *ask, const struct answer *want)
{
	struct decision d;
	struct slice target;

	judge(ask, &d, &target);
	if (d.verdict.allow != !want->why || d.verdict.category != want->category ||
		strcmp(d.verdict.rule, want->rule) != 0)
		fail_msg("row %zu: %s by %s", row, category_name(d.verdict.category),
			d.verdict.rule);
	if (want->why ? !d.why || !strstr(d.why, want->why) : d.why != NULL)
		fail_msg("row %zu: %s", row, d.why ? d.why : "no sentence");
	if (d.host_known != (want->host != NULL) ||
		(want->host && strcmp(d.host.text, want->host) != 0))
		fail_msg("row %zu: host %s", row, d.host_known ? d.host.text : "unknown");
	assert_int_equal(d.port, ask->goes ? ask->goes : ask->port);
	check_path(&d, target);
	exact_free(target);
}

#define OK(r, h)                                                                                   \
	{                                                                                          \
		CATEGORY_NONE, r, h, NULL                                                          \
	}
#define BAD(h, w)                                                                                  \
	{                                                                                          \
		CATEGORY_BAD_REQUEST, "built-in", h, w                                             \
	}
#define MISMATCH(h, w)                                                                             \
	{                                                                                          \
		CATEGORY_HOST_MISMATCH, "built-in", h, w                                           \
	}
#define DENIED(r, h)                                                                               \
	{                                                                                          \
		CATEGORY_HOST_DENIED, r, h, "this host is not allowed"                             \
	}
#define PATH(r, h)                                                                                 \
	{                                                                                          \
		CATEGORY_PATH_DENIED, r, h, "this path is not allowed"                             \
	}
#define METHOD(r, h)                                                                               \
	{                                                                                          \
		CATEGORY_METHOD_DENIED, r, h, "this method is not allowed"                         \
	}
#define FIRST  "CONNECT must be the first"
#define TARGET "the host and port of the target"
#define MEANT  "that the connection is for"
#define REFUSED(c, h, w)                                                                           \
	{                                                                                          \
		CATEGORY_##c, "built-in", h, w                                                     \
	}
#define FORM           "plain form"
#define FORM_OF_TARGET "the target is not a name"
#define SESSION        "TLS session"
#define PORT           "port in Host"

struct row {
	struct ask ask;
	struct answer want;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(i, &rows[i].ask, &rows[i].want);
}

#endif
