/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_paths.c – rules with paths: loading with places, which rule decides and how a denial is called, what is refused
 * before any rule is asked, and what the checks of a policy know of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "policy/hosts.h"
#include "policy/policy.h"
#include "policy_text.h"

/* ---- loading ---- */

#define RULE(more) "version: 1\nrules:\n  - {name: r, hosts: [a.test], action: allow" more "}\n"
#define NEVER      ": such requests are refused, it cannot match"

static const struct {
	const char *text, *fault;
} bad[] = {
	{RULE(", paths: /x"), "f:3:54: `paths` must be a list: write [/x]"},
	{RULE(", paths: []"), "f:3:54: `paths` must not be empty"},
	{RULE(", paths: [[/x]]"), "f:3:55: `paths` must be text, not a list"},
	{RULE(", paths: ['']"), "f:3:55: `paths` must not be empty"},
	{RULE(", paths: [/x, y]"), "f:3:59: a pattern of a path begins with `/`"},
	{RULE(", paths: [/x, '*']"), "f:3:59: a pattern of a path begins with `/`"},
	{RULE(", paths: ['/x?y=1']"),
		"f:3:55: the query is not matched, and `?` is no sign of a pattern: write %3F for "
		"the character"},
	{RULE(", paths: [/x, /a/../b]"), "f:3:59: the path holds a dot segment" NEVER},
	{RULE(", paths: [/%2e%2e/b]"), "f:3:55: the path holds a dot segment" NEVER},
	{RULE(", paths: [/100%]"), "f:3:55: the path holds a bad escape" NEVER},
	{RULE(", paths: ['/a\\b']"), "f:3:55: the path holds a backslash" NEVER},
	{RULE(", paths: [/a//b]"), "f:3:55: an empty segment (`//`) is matched by `**` only"},
	{RULE(", paths: [/a/**.js]"),
		"f:3:55: `**` stands for whole segments: it is alone between two slashes"},
	{RULE(", paths: ['/a{b,c}']"),
		"f:3:55: a pattern of a path is written as paths are sent: write %7B for this "
		"byte"},
	{RULE(", paths: [/caf\xc3\xa9]"),
		"f:3:55: a pattern of a path is written as paths are sent: write %C3 for this "
		"byte"},
	{"version: 1\nrules: [{name: a, hosts: [a], paths: [/x], action: tunnel}]",
		"f:2:38: a tunnel shows no requests: a rule with `action: tunnel` cannot have "
		"`paths`"},
	{"version: 1\nrules: [{name: a, hosts: [a], paths: [/x], deny: alert, action: deny}]",
		"f:2:38: `deny: alert` is told before a request is seen: the rule cannot have "
		"`paths`"},
};

static void test_faults(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault fault = {{0}};
		struct policy *p = NULL;

		assert_int_equal(policy_load(slice_str(bad[i].text), "f", &fault, &p), -EBADMSG);
		assert_string_equal(fault.text, bad[i].fault);
		assert_null(p);
	}
}

static void test_too_many(void **state)
{
	char text[4096];
	struct fault fault = {{0}};
	struct policy *p = NULL;
	size_t n = (size_t)sprintf(
		text, "version: 1\nrules:\n- {name: r, hosts: [a.test], action: allow, paths: [/x");

	(void)state;
	for (unsigned i = 1; i < LIMIT_PATHS; i++)
		n += (size_t)sprintf(text + n, ", /%u", i);
	(void)sprintf(text + n, "]}\n");
	p = load(text);
	policy_unref(p);
	p = NULL;
	(void)sprintf(text + n, ", /x]}\n");
	assert_int_equal(policy_load(slice_str(text), "f", &fault, &p), -EBADMSG);
	assert_string_equal(
		fault.text, "f:3:52: `paths` has at most 256 patterns: make two rules of it");
}

/* ---- decisions ---- */

static const char document[] =
	"version: 1\nrules:\n"
	"- {name: secret, hosts: [api.test, wide.test], paths: [/repos/acme/secret/**, '/m:del'], "
	"action: deny}\n"
	"- {name: reads, hosts: [api.test], methods: [GET, HEAD], paths: [/repos/acme/**, "
	"/@acme/*], action: allow}\n"
	"- {name: writes, hosts: [api.test], methods: [POST], paths: [/repos/acme/issues], action: "
	"allow}\n"
	"- {name: shut, hosts: [api.test], ports: [443], methods: [DELETE], action: deny}\n"
	"- {name: wide, hosts: [wide.test], action: allow}\n"
	"- {name: plain, hosts: [plain.test], action: allow}\n"
	"- {name: closed, hosts: [closed.test], action: deny}\n"
	"- {name: late, hosts: [closed.test], ports: [8080], paths: [/x], action: allow}\n"
	"- {name: ssh, hosts: [tunnel.test], ports: [22], action: tunnel}\n"
	"- {name: rest, hosts: [tunnel.test], ports: [22, 443], paths: [/x], action: allow}\n";

#define BAD CATEGORY_BAD_REQUEST, "built-in"

static const struct {
	const char *host;
	uint16_t port;
	const char *method, *path;
	enum category category; /* NONE: allowed */
	const char *rule;
} decisions[] = {
	/* before a request: a rule with paths counts if it allows */
	{"api.test", 443, "", "", CATEGORY_NONE, "reads"},
	{"api.test", 443, "GET", "", CATEGORY_NONE, "reads"},
	{"api.test", 443, "POST", "", CATEGORY_NONE, "writes"},
	{"api.test", 443, "PUT", "", CATEGORY_METHOD_DENIED, "default"},
	{"api.test", 443, "", "/repos/acme/x", CATEGORY_NONE, "reads"},
	{"api.test", 443, "", "/x", CATEGORY_PATH_DENIED, "default"},
	{"wide.test", 443, "", "", CATEGORY_NONE, "wide"},
	{"closed.test", 8080, "", "", CATEGORY_NONE, "late"},
	/* the first of which all match */
	{"api.test", 443, "GET", "/repos/acme/x?q=/y", CATEGORY_NONE, "reads"},
	{"api.test", 80, "HEAD", "/repos/acme", CATEGORY_NONE, "reads"},
	{"api.test", 443, "POST", "/repos/acme/issues", CATEGORY_NONE, "writes"},
	{"wide.test", 443, "PUT", "/anything", CATEGORY_NONE, "wide"},
	{"wide.test", 443, "OPTIONS", "*", CATEGORY_NONE, "wide"},
	{"closed.test", 8080, "GET", "/x", CATEGORY_NONE, "late"},
	/* another path could pass with this method */
	{"api.test", 443, "GET", "/repos/other", CATEGORY_PATH_DENIED, "default"},
	{"api.test", 443, "GET", "/Repos/acme/x", CATEGORY_PATH_DENIED, "default"},
	{"api.test", 443, "GET", "/repos/acme/secret/x", CATEGORY_PATH_DENIED, "secret"},
	{"api.test", 443, "GET", "/repos/acme/%73ecret", CATEGORY_PATH_DENIED, "secret"},
	{"api.test", 443, "GET", "/repos%2Facme/x", CATEGORY_PATH_DENIED, "default"},
	{"api.test", 443, "GET", "/%2e%2e%2erepos", CATEGORY_PATH_DENIED, "default"},
	{"api.test", 443, "POST", "/repos/acme/x", CATEGORY_PATH_DENIED, "default"},
	{"wide.test", 443, "GET", "/repos/acme/secret", CATEGORY_PATH_DENIED, "secret"},
	{"closed.test", 8080, "GET", "/y", CATEGORY_PATH_DENIED, "default"},
	{"api.test", 443, "HEAD", "*", CATEGORY_PATH_DENIED, "default"},
	/* none could */
	{"api.test", 443, "PUT", "/repos/acme/x", CATEGORY_METHOD_DENIED, "default"},
	{"api.test", 443, "OPTIONS", "*", CATEGORY_METHOD_DENIED, "default"},
	{"api.test", 443, "DELETE", "/repos/acme/x", CATEGORY_METHOD_DENIED, "shut"},
	{"api.test", 443, "TRACE", "/repos/acme/x", CATEGORY_METHOD_DENIED, "default"},
	{"api.test", 443, "TRACE", "/repos/acme/secret/x", CATEGORY_METHOD_DENIED, "secret"},
	{"wide.test", 443, "TRACE", "/x", CATEGORY_METHOD_DENIED, "built-in"},
	{"wide.test", 443, "track", "/x", CATEGORY_METHOD_DENIED, "built-in"},
	{"plain.test", 443, "TRACE", "/../x", CATEGORY_METHOD_DENIED, "built-in"},
	/* a rule that denies takes an escaped delimiter for the delimiter, one that allows does not */
	{"wide.test", 443, "POST", "/m:del", CATEGORY_PATH_DENIED, "secret"},
	{"wide.test", 443, "POST", "/m%3adel", CATEGORY_PATH_DENIED, "secret"},
	{"api.test", 443, "GET", "/@acme/x", CATEGORY_NONE, "reads"},
	{"api.test", 443, "GET", "/%40acme/x", CATEGORY_PATH_DENIED, "default"},
	/* what servers read differently */
	{"api.test", 443, "GET", "/repos/acme/../x", BAD},
	{"api.test", 443, "GET", "/repos/acme/%2e%2e/x", BAD},
	{"api.test", 443, "GET", "/repos/acme/..;/x", BAD},
	{"api.test", 443, "GET", "/repos/acme/..%2fx", BAD},
	{"api.test", 443, "GET", "/repos/acme/x%00", BAD},
	{"api.test", 443, "GET", "/repos/acme/%", BAD},
	{"api.test", 443, "GET", "/repos/acme/x\\y", BAD},
	{"api.test", 443, "GET", "/repos/acme/%c0%ae%c0%ae/x", BAD},
	{"api.test", 443, "PUT", "/repos/acme/./x", BAD}, /* whatever the method */
	{"api.test", 443, "TRACE", "/..", BAD},
	{"wide.test", 443, "GET", "/repos/x/../acme/secret", BAD},
	{"closed.test", 8080, "GET", "/./x", BAD},
	/* only where a rule for that host and port has paths */
	{"wide.test", 443, "GET", "/?x=/../%zz", CATEGORY_NONE, "wide"},
	{"plain.test", 443, "GET", "/a/../b", CATEGORY_NONE, "plain"},
	{"plain.test", 443, "GET", "/%zz\\", CATEGORY_NONE, "plain"},
	/* a host that is closed says so first, and a tunnel */
	{"closed.test", 443, "GET", "/x", CATEGORY_HOST_DENIED, "closed"},
	{"closed.test", 443, "GET", "/../x", CATEGORY_HOST_DENIED, "closed"},
	{"other.test", 443, "GET", "/../x", CATEGORY_HOST_DENIED, "default"},
	{"api.test", 8443, "GET", "/repos/acme/x", CATEGORY_HOST_DENIED, "default"},
	{"tunnel.test", 22, "GET", "/x", CATEGORY_PROTOCOL_DENIED, "ssh"},
	{"tunnel.test", 22, "GET", "/../x", CATEGORY_PROTOCOL_DENIED, "ssh"},
	{"tunnel.test", 443, "GET", "/x", CATEGORY_NONE, "rest"},
};

static void test_decide(void **state)
{
	struct policy *p = load(document);
	struct host h;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(decisions); i++) {
		struct slice path = exact_copy(slice_str(decisions[i].path));
		struct verdict v;

		h = host(decisions[i].host);
		v = policy_decide(p, &(struct subject){&h, decisions[i].port,
					     slice_str(decisions[i].method), path});
		if (v.category != decisions[i].category ||
			v.allow != (v.category == CATEGORY_NONE) || v.alert ||
			v.way != VERDICT_TERMINATE)
			fail_msg("%s:%u %s %s: %s by %s", decisions[i].host, decisions[i].port,
				decisions[i].method, decisions[i].path, category_name(v.category),
				v.rule);
		assert_string_equal(v.rule, decisions[i].rule);
		exact_free(path);
	}
	h = host("api.test");
	assert_true(policy_opens_name(p, &h));
	assert_true(policy_judges_methods(p, &h, 443));
	h = host("wide.test");
	assert_false(policy_judges_methods(p, &h, 443));
	policy_unref(p);
}

/* default: allow, with a rule that takes a part of one host out of it. */
static void test_default_allow(void **state)
{
	struct policy *p =
		load("version: 1\ndefault: allow\nrules:\n"
		     "- {name: no, hosts: [a.test], paths: [/admin/**], action: deny}\n");
	struct host a = host("a.test"), b = host("b.test");
	const struct {
		const struct host *host;
		const char *method, *path;
		enum category category;
		enum verdict_way way;
	} asked[] = {
		{&a, "", "", CATEGORY_NONE, VERDICT_TERMINATE}, /* a rule names it */
		{&b, "", "", CATEGORY_NONE, VERDICT_PASS},
		{&a, "GET", "/", CATEGORY_NONE, VERDICT_TERMINATE},
		{&a, "GET", "/admin", CATEGORY_PATH_DENIED, VERDICT_TERMINATE},
		{&a, "GET", "/admin/", CATEGORY_PATH_DENIED, VERDICT_TERMINATE},
		{&a, "GET", "/%61dmin/x", CATEGORY_PATH_DENIED, VERDICT_TERMINATE},
		{&a, "GET", "/x/../admin", CATEGORY_BAD_REQUEST, VERDICT_TERMINATE},
		{&b, "GET", "/x/../admin", CATEGORY_NONE, VERDICT_TERMINATE},
		{&a, "OPTIONS", "*", CATEGORY_NONE, VERDICT_TERMINATE},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(asked); i++) {
		struct verdict v = policy_decide(
			p, &(struct subject){asked[i].host, 443, slice_str(asked[i].method),
				   slice_str(asked[i].path)});

		assert_int_equal(v.category, asked[i].category);
		assert_int_equal(v.way, asked[i].way);
	}
	policy_unref(p);
}

/* ---- checks ---- */

#define RULES(a, b) "version: 1\nrules:\n- {name: a, " a "}\n- {name: b, " b "}\n"
#define HIDDEN                                                                                     \
	"f:4:3: rule `b` never decides: rule `a` in line 3 matches all of it first and says "      \
	"allow; put the narrower rule first"
#define SAME                                                                                       \
	"f:4:3: rule `b` never decides: rule `a` in line 3 matches all of it first, with the "     \
	"same action"
#define UNSEEN                                                                                     \
	"f:4:3: rule `b` tunnels hosts and ports where rule `a` in line 3 looks at paths, which "  \
	"a tunnel does not show; give them different hosts or ports, or put the tunnel first"

static const struct {
	const char *text, *said; /* a fault, or a warning; "" = neither */
} checks[] = {
	{RULES("hosts: [a.test], paths: [/a/**], action: allow",
		 "hosts: [a.test], paths: [/a/b], action: deny"),
		HIDDEN},
	{RULES("hosts: [a.test], paths: [/a/**, /b], action: allow",
		 "hosts: [a.test], methods: [GET], paths: [/b, /a/x/*], action: deny"),
		HIDDEN},
	{RULES("hosts: [a.test], action: allow", "hosts: [a.test], paths: [/a], action: deny"),
		HIDDEN},
	{RULES("hosts: [a.test], paths: [/a/*], action: allow",
		 "hosts: [a.test], paths: [/a/b, /a/%62%63], action: allow"),
		SAME},
	{RULES("hosts: [a.test], paths: ['/%40x'], action: deny",
		 "hosts: [a.test], paths: ['/@x'], action: deny"),
		SAME}, /* to what denies they are one */
	{RULES("hosts: [a.test], paths: ['/%40x'], action: allow",
		 "hosts: [a.test], paths: ['/@x'], action: allow"),
		""},
	{RULES("hosts: [a.test], paths: [/a/*], action: allow",
		 "hosts: [a.test], paths: [/a/**], action: deny"),
		""},
	{RULES("hosts: [a.test], paths: [/a/b], action: deny",
		 "hosts: [a.test], paths: [/a/**], action: allow"),
		""},
	{RULES("hosts: [a.test], paths: [/**], action: allow", "hosts: [a.test], action: deny"),
		""}, /* `*` is left to b */
	{RULES("hosts: [a.test], methods: [GET], paths: [/**], action: allow",
		 "hosts: [a.test], paths: [/a], action: deny"),
		""},
	{RULES("hosts: [a.test], paths: [/x], action: allow", "hosts: [a.test], action: tunnel"),
		UNSEEN},
	{RULES("hosts: ['*.test'], paths: [/x], action: deny",
		 "hosts: [a.test], ports: [22, 443], action: tunnel"),
		UNSEEN},
	{RULES("hosts: [a.test], paths: [/x], action: allow",
		 "hosts: [a.test], ports: [22], action: tunnel"),
		""},
	{RULES("hosts: [a.test], ports: [22], action: tunnel",
		 "hosts: [a.test], ports: [22, 443], paths: [/x], action: allow"),
		""},
};

static void collect(void *arg, const char *text)
{
	(void)snprintf(arg, sizeof(struct fault), "%s", text);
}

static void test_checks(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(checks); i++) {
		struct fault said = {{0}};
		struct policy *p = NULL;

		if (policy_load(slice_str(checks[i].text), "f", &said, &p) == 0)
			policy_check(p, collect, said.text);
		assert_string_equal(said.text, checks[i].said);
		policy_unref(p);
	}
}

/* A rule that denies some paths of a host leaves the rest of it open to a credential, and the name to DNS. */
static void test_patterns(void **state)
{
	struct policy *p = load("version: 1\nrules:\n"
				"- {name: no, hosts: [a.test], paths: [/admin/**], action: deny}\n"
				"- {name: yes, hosts: [a.test], action: allow}\n"
				"- {name: some, hosts: [b.test], paths: [/x], action: allow}\n");
	char why[HOST_WHY];
	struct host_pattern a, b;
	struct host h = host("b.test");

	(void)state;
	assert_int_equal(host_pattern_parse(SLICE("a.test"), &a, why), 0);
	assert_int_equal(host_pattern_parse(SLICE("b.test"), &b, why), 0);
	assert_true(policy_opens_pattern(p, &a));
	assert_true(policy_opens_pattern(p, &b));
	assert_true(policy_opens_name(p, &h));
	assert_true(policy_names_exactly(p, &h));
	policy_unref(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_default_allow),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
