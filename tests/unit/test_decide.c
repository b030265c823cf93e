/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_decide.c – one request against a policy: the form of its target, Host in all its spellings, the session's name, the
 * port, the method, the path (POL-12, POL-13); what clients of a proxy ask for (CAP-09). Heads are put together by hand where the parser would not let them through, since
 * this is the last place that says no.
 */
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
#define METHOD(r, h)                                                                               \
	{                                                                                          \
		CATEGORY_METHOD_DENIED, r, h, "this method is not allowed"                         \
	}
#define PATH(r, h)                                                                                 \
	{                                                                                          \
		CATEGORY_PATH_DENIED, r, h, "this path is not allowed"                             \
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

static void test_targets(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "/x/../y?q=http://b.test/#", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "/x/../y?q=http://b.test/", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "//b.test/x", "a.test", 80}, OK("plain", "a.test")},
		{{"OPTIONS", "*", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "*", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "/a b", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "/a\r\nX: y", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "x", "a.test", 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "/", "a.test", 80}, BAD(NULL, "malformed")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_hosts(void **state)
{
	static const struct row rows[] = {
		/* one name, one spelling */
		{{"GET", "/", "A.TeSt", 80}, OK("plain", "a.test")},
		{{"GET", "/", "a.test.", 80}, OK("plain", "a.test")},
		{{"GET", "/", "x_y.test", 80}, OK("plain", "x_y.test")},
		{{"GET", "/", "y.x.SUB.test", 80}, OK("sub", "y.x.sub.test")},
		{{"GET", "/", "sub.test", 80}, DENIED("default", "sub.test")},
		{{"GET", "/", "xsub.test", 80}, DENIED("default", "xsub.test")},
		{{"GET", "/", "a.test.evil.test", 80}, DENIED("default", "a.test.evil.test")},
		/* none, and what is none */
		{{"GET", "/", NULL, 80}, BAD(NULL, "no Host")},
		{{"GET", "/", NULL, 443, "a.test"}, BAD(NULL, "no Host")},
		{{"GET", "/", "", 80}, BAD(NULL, FORM)},
		{{"GET", "/", ".", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a..test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test..", 80}, BAD(NULL, FORM)},
		{{"GET", "/", " a.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test b.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test,b.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "user@a.test", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test/x", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test\\x", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a%2etest", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test\n", 80}, BAD(NULL, FORM)},
		{{"GET", "/",
			 "b\xc3\xbc"
			 "cher.test",
			 80},
			BAD(NULL, FORM)},
		{{"GET", "/", "*.sub.test", 80}, BAD(NULL, FORM)},
		/* addresses, in one form each */
		{{"GET", "/", "203.0.113.10", 80}, OK("v4", "203.0.113.10")},
		{{"GET", "/", "203.0.113.11", 80}, DENIED("default", "203.0.113.11")},
		{{"GET", "/", "3405803786", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "0xcb.0.113.10", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "0313.0.113.10", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "203.0.28938", 80}, BAD("203.0.113.10", FORM)},
		{{"GET", "/", "[203.0.113.10]", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "[::ffff:203.0.113.10]", 80}, OK("v4", "203.0.113.10")},
		{{"GET", "/", "[2001:db8::1]", 443, "2001:db8::1"}, OK("v6", "2001:db8::1")},
		{{"GET", "/", "[2001:DB8:0:0::1]", 443, "2001:db8::1"}, OK("v6", "2001:db8::1")},
		{{"GET", "/", "[2001:db8::1]:8443", 8443, "2001:db8::1"}, OK("v6", "2001:db8::1")},
		{{"GET", "/", "[2001:db8::2]", 443, "2001:db8::2"},
			DENIED("default", "2001:db8::2")},
		{{"GET", "/", "2001:db8::1", 443, "2001:db8::1"}, BAD(NULL, FORM)},
		{{"GET", "/", "[2001:db8::1", 443, "2001:db8::1"}, BAD(NULL, FORM)},
		{{"GET", "/", "[2001:db8::1%25eth0]", 443, "2001:db8::1"}, BAD(NULL, FORM)},
		{{"GET", "/", "[a.test]", 80}, BAD(NULL, FORM)},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* Host is the session's name, in whatever spelling (no domain fronting); plain text has no other name. */
static void test_sessions(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "a.test", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "/", "A.test.:443", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "/", "a.test", 443, "b.sub.test"}, MISMATCH("a.test", SESSION)},
		{{"GET", "/", "b.sub.test", 443, "a.test"}, MISMATCH("b.sub.test", SESSION)},
		{{"GET", "/", "a.tes", 443, "a.test"}, MISMATCH("a.tes", SESSION)},
		{{"GET", "/", "a.testa", 443, "a.test"}, MISMATCH("a.testa", SESSION)},
		{{"GET", "/", "denied.test", 443, "a.test"}, MISMATCH("denied.test", SESSION)},
		/* a session without a name is for the address */
		{{"GET", "/", "203.0.113.10", 443, "203.0.113.10"}, OK("v4", "203.0.113.10")},
		{{"GET", "/", "a.test", 443, "203.0.113.10"}, MISMATCH("a.test", SESSION)},
		{{"GET", "/", "203.0.113.10", 443, "a.test"}, MISMATCH("203.0.113.10", SESSION)},
		{{"GET", "/", "a.test", 80}, OK("plain", "a.test")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_ports(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "a.test:80", 80}, OK("plain", "a.test")},
		{{"GET", "/", "a.test:443", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "/", "a.test:443", 80}, MISMATCH("a.test", PORT)},
		{{"GET", "/", "a.test:80", 443, "a.test"}, MISMATCH("a.test", PORT)},
		{{"GET", "/", "high.test", 8443, "high.test"}, OK("high", "high.test")},
		{{"GET", "/", "high.test:9001", 9001, "high.test"}, OK("high", "high.test")},
		{{"GET", "/", "high.test:8443", 443, "high.test"}, MISMATCH("high.test", PORT)},
		{{"GET", "/", "high.test", 443, "high.test"}, DENIED("default", "high.test")},
		{{"GET", "/", "high.test", 9002}, DENIED("default", "high.test")},
		{{"GET", "/", "a.test", 8080}, DENIED("default", "a.test")},
		{{"GET", "/", "a.test:", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:0", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:080", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:65616", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:http", 80}, BAD(NULL, FORM)},
		{{"GET", "/", "a.test:80:80", 80}, BAD(NULL, FORM)},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_methods(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/", "read.test", 80}, OK("read", "read.test")},
		{{"HEAD", "/", "read.test", 80}, OK("read", "read.test")},
		{{"POST", "/", "read.test", 80}, METHOD("default", "read.test")},
		{{"get", "/", "read.test", 80}, METHOD("default", "read.test")},
		{{"GETS", "/", "read.test", 80}, METHOD("default", "read.test")},
		{{"DELETE", "/", "a.test", 80}, OK("plain", "a.test")},
		{{"PROPFIND", "/", "a.test", 80}, OK("plain", "a.test")},
		{{"TRACE", "/", "a.test", 80}, METHOD("built-in", "a.test")},
		{{"TRACK", "/", "a.test", 80}, METHOD("built-in", "a.test")},
		{{"TRACE", "/", "denied.test", 80}, DENIED("default", "denied.test")},
		{{"GET", "/", "no.sub.test", 80}, DENIED("never", "no.sub.test")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_paths(void **state)
{
	static const struct row rows[] = {
		{{"GET", "/acme/x?y=../..", "paths.test", 80}, OK("acme", "paths.test")},
		{{"GET", "/%61cme/%41", "paths.test", 443, "paths.test"}, OK("acme", "paths.test")},
		{{"GET", "/acme", "paths.test", 80}, OK("acme", "paths.test")},
		{{"GET", "/acme;x/y", "paths.test", 80}, PATH("default", "paths.test")},
		{{"GET", "/ACME/x", "paths.test", 80}, PATH("default", "paths.test")},
		{{"GET", "/acme%2Fx", "paths.test", 80}, PATH("default", "paths.test")},
		{{"GET", "//acme/x", "paths.test", 80}, PATH("default", "paths.test")},
		{{"POST", "/acme/x", "paths.test", 80}, METHOD("default", "paths.test")},
		{{"OPTIONS", "*", "paths.test", 80}, METHOD("default", "paths.test")},
		{{"TRACE", "/acme/x", "paths.test", 80}, METHOD("default", "paths.test")},
		{{"GET", "/acme/../x", "paths.test", 80}, BAD("paths.test", "a dot segment")},
		{{"GET", "/acme/%2E./x", "paths.test", 80}, BAD("paths.test", "a dot segment")},
		{{"GET", "/acme/..;/x", "paths.test", 80}, BAD("paths.test", "a dot segment")},
		{{"GET", "/acme/%5cx", "paths.test", 80}, BAD("paths.test", "a backslash")},
		{{"GET", "/acme/%00", "paths.test", 80}, BAD("paths.test", "a control byte")},
		{{"GET", "/acme/%u0041", "paths.test", 80}, BAD("paths.test", "a bad escape")},
		{{"GET", "/acme/%c0%ae", "paths.test", 80}, BAD("paths.test", "overlong")},
		{{"GET", "http://paths.test/acme/x", "paths.test", 80}, OK("acme", "paths.test")},
		{{"GET", "http://paths.test/other/x", "paths.test", 80},
			PATH("default", "paths.test")},
		{{"GET", "/acme/../x", "denied.test", 80}, DENIED("default", "denied.test")},
		{{"GET", "/acme/../x", "paths.test", 443, "a.test"},
			MISMATCH("paths.test", SESSION)},
		/* elsewhere nobody looks */
		{{"GET", "/acme/..;/%2e%2e/%zz", "a.test", 80}, OK("plain", "a.test")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* default: allow opens hosts, not the forms that are never let through. */
static void test_open_policy(void **state)
{
	struct row rows[] = {
		{{"GET", "/", "any.test", 8080}, OK("default", "any.test")},
		{{"GET", "/", "no.test", 80}, DENIED("never", "no.test")},
		{{"GET", "/", "any.test", 443, "other.test"}, MISMATCH("any.test", SESSION)},
		{{"GET", "/", "any.test:81", 80}, MISMATCH("any.test", PORT)},
		{{"GET", "/", NULL, 80}, BAD(NULL, "no Host")},
		{{"GET", "/", "2130706433", 80}, BAD("127.0.0.1", FORM)},
		{{"GET", "http://any.test/", "any.test", 80}, OK("default", "any.test")},
		{{"GET", "http://no.test/", "no.test", 80}, DENIED("never", "no.test")},
		{{"CONNECT", "any.test:8443", NULL, 80, .goes = 8443}, OK("default", "any.test")},
		{{"CONNECT", "no.test:80", NULL, 80}, DENIED("never", "no.test")},
		{{"CONNECT", "no.test:8443", NULL, 80, .goes = 8443}, OK("default", "no.test")},
		{{"TRACE", "/", "any.test", 80}, METHOD("built-in", "any.test")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].ask.policy = open_policy;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* The target says where, whatever was connected to; every host is judged as if that were it (CAP-09). */
static void test_absolute(void **state)
{
	static const struct row rows[] = {
		{{"GET", "http://a.test/x?y", "a.test", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "http://a.test", "a.test", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "HTTP://A.test.?y", "a.TEST", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"OPTIONS", "http://a.test", "a.test", 80}, OK("plain", "a.test")},
		{{"GET", "http://a.test:80/", "a.test", 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "http://high.test:8443/", "high.test:8443", 80, .goes = 8443},
			OK("high", "high.test")},
		{{"GET", "http://high.test:8443/", "high.test", 80, .goes = 8443},
			OK("high", "high.test")},
		{{"GET", "http://a.test/", NULL, 3128, .goes = 80}, OK("plain", "a.test")},
		{{"GET", "http://[2001:db8::1]:443/", "[2001:db8::1]:443", 80, .goes = 443},
			OK("v6", "2001:db8::1")},
		/* denied */
		{{"GET", "http://denied.test/", "denied.test", 80},
			DENIED("default", "denied.test")},
		{{"GET", "http://a.test:8080/", NULL, 80, .goes = 8080},
			DENIED("default", "a.test")},
		{{"GET", "http://high.test/", NULL, 8443, .goes = 80},
			DENIED("default", "high.test")},
		{{"POST", "http://read.test/", NULL, 80}, METHOD("default", "read.test")},
		{{"TRACE", "http://a.test/", NULL, 80}, METHOD("built-in", "a.test")},
		/* Host means another place */
		{{"GET", "http://a.test/", "b.test", 80}, MISMATCH("a.test", TARGET)},
		{{"GET", "http://a.test/", "a.test:81", 80}, MISMATCH("a.test", TARGET)},
		{{"GET", "http://a.test:81/", "a.test:80", 80}, MISMATCH("a.test", TARGET)},
		{{"GET", "http://a.test/", "a.test..", 80}, BAD(NULL, "Host is not a name")},
		/* no target of http */
		{{"GET", "https://a.test/", "a.test", 80}, BAD(NULL, "use CONNECT")},
		{{"GET", "https://a.test/", "a.test", 443}, BAD(NULL, "use CONNECT")},
		{{"GET", "ftp://a.test/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http:///", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://u@a.test/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://a.test\\x/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://a%2etest/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://a.test:0/", "a.test", 80}, BAD(NULL, "malformed")},
		{{"GET", "http://2130706433/", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"GET", "http://*.sub.test/", NULL, 80}, BAD(NULL, FORM_OF_TARGET)},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_connect(void **state)
{
	static const struct row rows[] = {
		{{"CONNECT", "a.test:443", "a.test:443", 3128, .goes = 443}, OK("plain", "a.test")},
		{{"CONNECT", "A.test.:443", "a.test", 3128, .goes = 443}, OK("plain", "a.test")},
		{{"CONNECT", "a.test:443", NULL, 3128, .goes = 443}, OK("plain", "a.test")},
		{{"CONNECT", "[2001:db8::1]:443", NULL, 80, .goes = 443}, OK("v6", "2001:db8::1")},
		{{"CONNECT", "read.test:80", NULL, 80},
			OK("read", "read.test")}, /* some method could */
		/* denied */
		{{"CONNECT", "denied.test:443", NULL, 80, .goes = 443},
			DENIED("default", "denied.test")},
		{{"CONNECT", "a.test:8443", NULL, 80, .goes = 8443}, DENIED("default", "a.test")},
		{{"CONNECT", "high.test:443", NULL, 8443, .goes = 443},
			DENIED("default", "high.test")},
		/* Host means another place */
		{{"CONNECT", "a.test:443", "b.test:443", 80}, MISMATCH("a.test", TARGET)},
		{{"CONNECT", "a.test:443", "a.test:80", 80}, MISMATCH("a.test", TARGET)},
		/* nothing that is read in two ways */
		{{"CONNECT", "a.test", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:0", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:65536", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test:443x", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", ":443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "/", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "http://a.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test@b.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test%00.b.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\t:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\x7f:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\xff:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a.test\\b.test:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "[fe80::1%25eth0]:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "2001:db8::1:443", NULL, 80}, BAD(NULL, "malformed")},
		{{"CONNECT", "a..test:443", NULL, 80}, BAD(NULL, FORM_OF_TARGET)},
		{{"CONNECT", "0177.0.0.1:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "0x7f.1:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "2130706433:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "127.1:443", NULL, 80}, BAD("127.0.0.1", FORM_OF_TARGET)},
		{{"CONNECT", "0:443", NULL, 80}, BAD("0.0.0.0", FORM_OF_TARGET)},
		/* a body, whatever its length */
		{{"CONNECT", "a.test:443", NULL, 80, .framing = FRAMING_LENGTH},
			BAD(NULL, "no body")},
		{{"CONNECT", "a.test:443", NULL, 80, .framing = FRAMING_CHUNKED},
			BAD(NULL, "no body")},
		/* not the first */
		{{"CONNECT", "a.test:443", NULL, 80, .talk = DECIDE_PROXY}, BAD(NULL, FIRST)},
		{{"CONNECT", "a.test:443", NULL, 80, "a.test", NULL, DECIDE_SERVER, true},
			BAD(NULL, FIRST)},
		{{"CONNECT", "a.test:443", NULL, 443, "a.test"}, BAD(NULL, "within TLS")},
		{{"CONNECT", "a.test:443", NULL, 80, "a.test", .plain = true},
			BAD(NULL, "within a CONNECT")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* What the kernel refuses to who connects there itself. */
static void test_places(void **state)
{
	struct row rows[] = {
		{{"CONNECT", "169.254.169.254:80", NULL, 80},
			REFUSED(METADATA_ADDRESS, "169.254.169.254", "one that is refused")},
		{{"CONNECT", "[::ffff:169.254.169.254]:80", NULL, 80},
			REFUSED(METADATA_ADDRESS, "169.254.169.254", "one that is refused")},
		{{"GET", "http://169.254.169.254/latest", NULL, 80},
			REFUSED(METADATA_ADDRESS, "169.254.169.254", "one that is refused")},
		{{"CONNECT", "10.0.0.2:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "10.0.0.2", "one that is refused")},
		{{"CONNECT", "127.0.0.1:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "127.0.0.1", "one that is refused")},
		{{"CONNECT", "[::1]:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "::1", "one that is refused")},
		{{"CONNECT", "198.18.7.7:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "198.18.7.7", "one that is refused")},
		/* private: lifts it, at its port */
		{{"CONNECT", "10.0.0.1:443", NULL, 80, .goes = 443}, OK("private", "10.0.0.1")},
		{{"GET", "http://10.0.0.1:443/", NULL, 80, .goes = 443}, OK("private", "10.0.0.1")},
		{{"CONNECT", "10.0.0.1:80", NULL, 443, .goes = 80},
			REFUSED(PRIVATE_ADDRESS, "10.0.0.1", "one that is refused")},
		/* DNS */
		{{"CONNECT", "raw.test:22", NULL, 80, .goes = 22}, OK("raw", "raw.test")},
		{{"CONNECT", "raw.test:53", NULL, 80, .goes = 53},
			REFUSED(PROTOCOL_DENIED, "raw.test", "DNS is answered here")},
		{{"CONNECT", "raw.test:853", NULL, 80, .goes = 853},
			REFUSED(PROTOCOL_DENIED, "raw.test", "DNS is answered here")},
		{{"GET", "http://raw.test:853/", NULL, 80, .goes = 853},
			REFUSED(PROTOCOL_DENIED, "raw.test", "DNS is answered here")},
		/* a tunnel knows no requests */
		{{"GET", "http://raw.test:22/", NULL, 80, .goes = 22},
			{CATEGORY_PROTOCOL_DENIED, "raw", "raw.test", "is tunnelled"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].ask.policy = lifting;
	check_rows(rows, ARRAY_SIZE(rows));
}

/* An address that our DNS gave to a name is that name. */
static void test_synthetic(void **state)
{
	static const struct row rows[] = {
		{{"CONNECT", "198.18.7.7:443", "198.18.7.7:443", 80, .goes = 443},
			OK("plain", "a.test")},
		{{"GET", "http://198.18.7.7/", "198.18.7.7", 443, .goes = 80},
			OK("plain", "a.test")},
		{{"CONNECT", "198.18.7.7:443", "a.test:443", 80}, MISMATCH("198.18.7.7", TARGET)},
		{{"CONNECT", "198.18.7.8:443", NULL, 80, .goes = 443},
			REFUSED(PRIVATE_ADDRESS, "198.18.7.8", "one that is refused")},
	};
	struct synthetic table = {.seed = 1};
	struct synthetic_entry *e;

	(void)state;
	assert_int_equal(
		synthetic_add(&table, SLICE("a.test"), 198u << 24 | 18u << 16 | 0x0707, &e), 0);
	synthetic_settle(e);
	names = &table;
	check_rows(rows, ARRAY_SIZE(rows));
	names = NULL;
	synthetic_done(&table);
}

/* Behind the first request, within TLS and within a CONNECT. */
static void test_talk(void **state)
{
	static const struct row rows[] = {
		/* a proxy's client stays one, and may mean another server each time */
		{{"GET", "http://b.sub.test/", NULL, 3128, .talk = DECIDE_PROXY, .goes = 80},
			OK("sub", "b.sub.test")},
		{{"GET", "/", "a.test", 80, .talk = DECIDE_PROXY}, BAD(NULL, "names no host")},
		{{"OPTIONS", "*", "a.test", 80, .talk = DECIDE_PROXY}, BAD(NULL, "names no host")},
		/* a server's may repeat what it has said */
		{{"GET", "/", "b.sub.test", 80, "a.test", NULL, DECIDE_SERVER, true},
			OK("sub", "b.sub.test")},
		{{"GET", "http://a.test/x", "a.test", 80, "a.test", NULL, DECIDE_SERVER, true},
			OK("plain", "a.test")},
		{{"GET", "http://b.sub.test/", "b.sub.test", 80, "a.test", NULL, DECIDE_SERVER,
			 true},
			MISMATCH("b.sub.test", MEANT)},
		{{"GET", "http://a.test:8080/", NULL, 80, "a.test", NULL, DECIDE_SERVER, true},
			MISMATCH("a.test", MEANT)},
		{{"GET", "http://a.test/", NULL, 8080, "a.test", NULL, DECIDE_SERVER, true},
			MISMATCH("a.test", MEANT)},
		/* TLS */
		{{"GET", "https://a.test/", "a.test", 443, "a.test"}, OK("plain", "a.test")},
		{{"GET", "https://A.test:443/", "a.test:443", 443, "a.test"},
			OK("plain", "a.test")},
		{{"GET", "https://b.sub.test/", "b.sub.test", 443, "a.test"},
			MISMATCH("b.sub.test", MEANT)},
		{{"GET", "https://a.test/", "b.sub.test", 443, "a.test"},
			MISMATCH("a.test", TARGET)},
		{{"GET", "https://a.test:8443/", NULL, 443, "a.test"}, MISMATCH("a.test", MEANT)},
		{{"GET", "http://a.test/", "a.test", 443, "a.test"}, BAD(NULL, "within TLS")},
		/* plain text in a CONNECT */
		{{"GET", "/", "a.test", 80, "a.test", .plain = true}, OK("plain", "a.test")},
		{{"GET", "/", "a.test:81", 80, "a.test", .plain = true}, MISMATCH("a.test", PORT)},
		{{"GET", "/", "b.sub.test", 80, "a.test", .plain = true},
			MISMATCH("b.sub.test", "that CONNECT was for")},
		{{"GET", "/", NULL, 80, "a.test", .plain = true}, BAD(NULL, "no Host")},
		{{"GET", "http://a.test/", "a.test", 80, "a.test", .plain = true},
			OK("plain", "a.test")},
		{{"GET", "http://b.sub.test/", NULL, 80, "a.test", .plain = true},
			MISMATCH("b.sub.test", MEANT)},
		{{"GET", "https://a.test/", NULL, 443, "a.test", .plain = true},
			BAD(NULL, "use CONNECT")},
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_connections(void **state)
{
	static const struct {
		const char *server;
		uint16_t port;
		enum category category;
		const char *rule;
		bool alert;
	} rows[] = {
		{"a.test", 443, CATEGORY_NONE, "plain", false},
		{"a.test", 8443, CATEGORY_HOST_DENIED, "default", false},
		{"read.test", 443, CATEGORY_NONE, "read", false}, /* some request could pass */
		{"no.sub.test", 443, CATEGORY_HOST_DENIED, "never", true},
		{"yes.sub.test", 443, CATEGORY_NONE, "sub", false},
		{"2001:db8::1", 8443, CATEGORY_NONE, "v6", false},
		{"2001:db8::2", 8443, CATEGORY_HOST_DENIED, "default", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host server;
		struct verdict v;

		assert_int_equal(host_canon(slice_str(rows[i].server), &server), 0);
		v = decide_connection(policy, NULL, &server, rows[i].port);
		assert_int_equal(v.category, rows[i].category);
		assert_int_equal(v.allow, rows[i].category == CATEGORY_NONE);
		assert_int_equal(v.alert, rows[i].alert);
		assert_string_equal(v.rule, rows[i].rule);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_open_policy),
		cmocka_unit_test(test_absolute),
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_synthetic),
		cmocka_unit_test(test_talk),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
