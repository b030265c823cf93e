/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy.c – loading with places, the order of decisions, and the manual page
 * (POL-01, POL-03, OPS-06). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "manual.h"
#include "policy/hosts.h"
#include "policy/policy.h"
#include "policy_text.h"

/* ---- faults ---- */

#define RULE(more) "version: 1\nrules:\n  - {name: r, hosts: [a.test], action: allow" more "}\n"

static const struct {
	const char *text, *fault;
} bad[] = {
	{"name: x", "f:1:1: the policy has no `version`"},
	{"version: 2", "f:1:10: `version` must be 1"},
	{"[]", "f:1:1: the policy must be a map of keys, not a list"},
	{"version: 1\nmode: observe", "f:2:7: `mode: observe` is not available in this version"},
	{"version: 1\nmode: off", "f:2:7: `mode` must be enforce, not `off`"},
	{"version: 1\ndefault: alow",
		"f:2:10: `default` must be deny or allow, not `alow`; did you mean `allow`?"},
	{"version: 1\ndefault_tls: tunnel",
		"f:2:14: `default_tls` must be terminate or pass, not `tunnel`"},
	{"version: 1\nrules: [{name: a, hosts: [a], methods: [GET], action: tunnel}]",
		"f:2:40: a tunnel shows no requests: a rule with `action: tunnel` cannot have "
		"`methods`"},
	{"version: 1\nrules: [{name: a, hosts: [a], deny: alert, action: tunnel}]",
		"f:2:37: `deny` belongs to a rule with `action: deny`"},
	{"version: 1\nclaims: {}", "f:2:1: `claims` is not available in this version"},
	{"version: 1\nrule: []", "f:2:1: unknown key `rule` in the policy; did you mean `rules`?"},
	{"version: 1\nrules: {}", "f:2:8: `rules` must be a list"},
	{"version: 1\nrules: [x]", "f:2:9: a rule must be a map of keys, not text"},
	{"version: 1\nrules: [{hosts: [a], action: allow}]", "f:2:9: a rule has no `name`"},
	{"version: 1\nrules: [{name: a, action: allow}]", "f:2:9: a rule has no `hosts`"},
	{"version: 1\nrules: [{name: a, hosts: [a]}]", "f:2:9: a rule has no `action`"},
	{RULE(", client: {uid: 0}"), "f:3:47: `client` is not available in this version"},
	{RULE(", authority: [x]"), "f:3:47: `authority` is not available in this version"},
	{RULE(", ask: {}"), "f:3:47: `ask` is not available in this version"},
	{RULE(", ports: [https]"), "f:3:55: a port is a number from 1 to 65535 or a range of them "
				   "(443, \"9000-9100\")"},
	{RULE(", ports: [\"https\"]"),
		"f:3:55: a port is a number from 1 to 65535 or a range of them (443, "
		"\"9000-9100\")"},
	{RULE(", ports: [0]"), "f:3:55: a port is a number from 1 to 65535 or a range of them "
			       "(443, \"9000-9100\")"},
	{RULE(", ports: [65536]"), "f:3:55: a port is a number from 1 to 65535 or a range of them "
				   "(443, \"9000-9100\")"},
	{RULE(", ports: [9100-9000]"),
		"f:3:55: a port is a number from 1 to 65535 or a range of them (443, "
		"\"9000-9100\")"},
	{RULE(", ports: [80-]"), "f:3:55: a port is a number from 1 to 65535 or a range of them "
				 "(443, \"9000-9100\")"},
	{RULE(", ports: [443x]"), "f:3:55: a port is a number from 1 to 65535 or a range of them "
				  "(443, \"9000-9100\")"},
	{RULE(", ports: [+443]"), "f:3:55: a port is a number from 1 to 65535 or a range of them "
				  "(443, \"9000-9100\")"},
	{RULE(", ports: [[1]]"), "f:3:55: a port is a number from 1 to 65535 or a range of them "
				 "(443, \"9000-9100\")"},
	{RULE(", ports: 443"), "f:3:54: `ports` must be a list: write [443]"},
	{RULE(", ports: "), "f:3:54: `ports` must be a list, not empty"},
	{RULE(", ports: []"), "f:3:54: `ports` must not be empty"},
	{RULE(", methods: [get]"), "f:3:57: methods are compared with their case; write GET"},
	{RULE(", methods: [TRACE]"), "f:3:57: TRACE and TRACK are always refused"},
	{RULE(", methods: [\"A B\"]"),
		"f:3:57: a method is one word, as it stands in a request (GET)"},
	{RULE(", deny: alert"), "f:3:53: `deny` belongs to a rule with `action: deny`"},
	{"version: 1\nrules: [{name: a, hosts: [a], action: ask}]",
		"f:2:39: `action: ask` is not available in this version"},
	{"version: 1\nrules: [{name: a, hosts: [b\xc3\xbc"
	 "cher.test], action: allow}]",
		"f:2:27: a host pattern must be ASCII; write xn--bcher-kva.test"},
	{"version: 1\nrules: [{name: a, hosts: [a, 127.1], action: allow}]",
		"f:2:30: not a host name or an address in its usual form"},
	{"version: 1\nrules: [{name: a, hosts: [api.example.com:8443], action: allow}]",
		"f:2:27: a host has no port here: write ports: [8443]"},
	{"version: 1\nrules: [{name: a, hosts: ['[2001:db8::1]:443'], action: allow}]",
		"f:2:27: a host has no port here: write ports: [443]"},
	{"version: 1\nrules: [{name: a, hosts: ['[2001:db8::1]'], action: allow}]",
		"f:2:27: an IPv6 address stands without brackets here"},
	{"version: 1\nrules: [{name: a, hosts: ['a:b'], action: allow}]",
		"f:2:27: not an address or a range (192.0.2.1, 10.0.0.0/8, fd00::/8; the bits "
		"behind the prefix must be 0)"},
	{"version: 1\nupstream: [{hosts: ['a.test:443'], ca: /x.pem}]",
		"f:2:21: a host has no port here: the rules say which are open"},
	{"version: 1\nprivate: [{cidr: 10.0.0.1, hosts: ['a.test:443']}]",
		"f:2:36: a host has no port here: write ports: [443]"},
	{"version: 1\nrules: [{name: a, hosts: [a], methods: [GET], deny: alert, action: deny}]",
		"f:2:40: `deny: alert` is told before a request is seen: the rule cannot have "
		"`methods`"},
	{"version: 1\nrules:\n- {name: a, hosts: [a], action: allow}\n- {name: a, hosts: [b], "
	 "action: allow}",
		"f:4:10: the rule in line 3 has this name already"},
	{"version: 1\nlimits: {streams: 1}", "f:2:10: `streams` is not available in this version"},
	{"version: 1\nlimits: {connections: -1}",
		"f:2:23: `connections` must be a number from 0 to 1000000"},
	{"version: 1\nupstream: [{hosts: [a], proxy: x}]",
		"f:2:25: `proxy` is not available in this version"},
	{"version: 1\nupstream: [{hosts: [a], ca: x.pem}]",
		"f:2:29: `ca` must be an absolute path"},
	{"version: 1\nprivate: [{ports: [1]}]", "f:2:11: an entry of private has no `cidr`"},
	{"version: 1\nprivate: [{cidr: 10.0.0.1/8}]",
		"f:2:18: `cidr` must be an address or a range (10.20.0.0/16, "
		"fd00:20::/32; the bits behind the prefix must be 0)"},
	{"version: 1\nprivate: [{cidr: 127.0.0.1}]",
		"f:2:18: loopback, multicast and reserved addresses cannot be opened"},
	{"version: 1\nprivate: [{cidr: '::1'}]",
		"f:2:18: loopback, multicast and reserved addresses cannot be opened"},
	{"version: 1\nprivate: [{cidr: 169.254.0.0/16, metadata: true}]",
		"f:2:18: `metadata: true` needs one address, not a range"},
};

static void test_faults(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice in = exact_copy(slice_str(bad[i].text));
		struct fault fault = {{0}};
		struct policy *p = NULL;

		assert_int_equal(policy_load(in, "f", &fault, &p), -EBADMSG);
		assert_string_equal(fault.text, bad[i].fault);
		assert_null(p);
		exact_free(in);
	}
}

/* One bad rule among fifty is found where it is (OPS-06). */
static void test_one_of_fifty(void **state)
{
	struct fault fault = {{0}};
	struct policy *p = NULL;
	char text[8192];
	size_t n = (size_t)sprintf(text, "version: 1\nrules:\n");

	(void)state;
	for (unsigned i = 0; i < 50; i++)
		n += (size_t)sprintf(text + n,
			"- {name: r%u, hosts: [h%u.test], ports: [%s], action: allow}\n", i, i,
			i == 33      ? "\"https\""
			: i % 3 == 0 ? "443"
			: i % 3 == 1 ? "\"443\""
				     : "\"9000-9100\"");
	assert_int_equal(policy_load(slice_of(text, n), "f", &fault, &p), -EBADMSG);
	assert_int_equal(strncmp(fault.text, "f:36:42: a port is", 18), 0);
}

/* ---- decisions ---- */

static const char order[] =
	"version: 1\nname: order\nrules:\n"
	"- {name: pinned, hosts: [pinned.test], deny: alert, action: deny}\n"
	"- {name: reads, hosts: [api.test], methods: [GET, HEAD], action: allow}\n"
	"- {name: no-delete, hosts: [api.test, w.test], methods: [DELETE], action: deny}\n"
	"- {name: writes, hosts: [w.test], action: allow}\n"
	"- {name: high, hosts: ['*.test'], ports: ['9000-9100', 9101, '8443'], action: allow}\n"
	"- {name: lit, hosts: [192.0.2.0/24], ports: [443], action: allow}\n";

static const struct {
	const char *host;
	uint16_t port;
	const char *method;
	bool allow;
	const char *rule;
	enum category category;
} decisions[] = {
	{"pinned.test", 443, "", false, "pinned", CATEGORY_HOST_DENIED},
	{"pinned.test", 443, "GET", false, "pinned", CATEGORY_HOST_DENIED},
	{"api.test", 443, "", true, "reads", CATEGORY_NONE},
	{"api.test", 80, "GET", true, "reads", CATEGORY_NONE},
	{"api.test", 443, "get", false, "default", CATEGORY_METHOD_DENIED},
	{"api.test", 443, "POST", false, "default", CATEGORY_METHOD_DENIED},
	{"api.test", 443, "DELETE", false, "no-delete", CATEGORY_METHOD_DENIED},
	{"api.test", 8080, "GET", false, "default", CATEGORY_HOST_DENIED},
	{"api.test", 8080, "", false, "default", CATEGORY_HOST_DENIED},
	{"w.test", 443, "DELETE", false, "no-delete", CATEGORY_METHOD_DENIED},
	{"w.test", 443, "", true, "writes", CATEGORY_NONE},
	{"w.test", 443, "PATCH", true, "writes", CATEGORY_NONE},
	{"w.test", 443, "TRACE", false, "built-in", CATEGORY_METHOD_DENIED},
	{"w.test", 443, "track", false, "built-in", CATEGORY_METHOD_DENIED},
	{"other.test", 443, "GET", false, "default", CATEGORY_HOST_DENIED},
	{"other.test", 443, "TRACE", false, "default", CATEGORY_HOST_DENIED},
	{"other.test", 8443, "GET", true, "high", CATEGORY_NONE},
	{"other.test", 8999, "GET", false, "default", CATEGORY_HOST_DENIED},
	{"other.test", 9000, "GET", true, "high", CATEGORY_NONE},
	{"other.test", 9101, "GET", true, "high", CATEGORY_NONE},
	{"other.test", 9102, "GET", false, "default", CATEGORY_HOST_DENIED},
	{"test", 9000, "GET", false, "default", CATEGORY_HOST_DENIED},
	{"192.0.2.7", 443, "", true, "lit", CATEGORY_NONE},
	{"::ffff:192.0.2.7", 443, "", true, "lit", CATEGORY_NONE},
	{"192.0.3.7", 443, "", false, "default", CATEGORY_HOST_DENIED},
};

static void test_decide(void **state)
{
	struct policy *p = load(order);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(decisions); i++) {
		struct host h = host(decisions[i].host);
		struct subject s = {&h, decisions[i].port, slice_str(decisions[i].method)};
		struct verdict v = policy_decide(p, &s);

		if (v.allow != decisions[i].allow || v.category != decisions[i].category)
			fail_msg("%s:%u %s: %d %s %s", decisions[i].host, decisions[i].port,
				decisions[i].method, v.allow, v.rule, category_name(v.category));
		assert_string_equal(v.rule, decisions[i].rule);
		assert_int_equal(v.alert, i < 2);
	}
	assert_true(policy_judges_methods(p, &(struct host){.text = "api.test", .n = 8}, 443));
	assert_false(policy_judges_methods(p, &(struct host){.text = "api.test", .n = 8}, 8443));
	assert_false(policy_judges_methods(p, &(struct host){.text = "pinned.test", .n = 11}, 443));
	assert_string_equal(policy_name(p), "order");
	assert_int_equal(policy_limit_connections(p), LIMIT_CONNECTIONS); /* not written */
	assert_false(policy_default_allow(p));
	policy_unref(p);
	policy_unref(NULL);
}

static void test_default_allow(void **state)
{
	struct policy *p =
		load("version: 1\ndefault: allow\nlimits: {connections: 9}\n"
		     "rules: [{name: no, hosts: ['*.evil.test'], action: deny},\n"
		     "  {name: never, hosts: [gone.test], ports: ['1-65535'], action: deny}]\n");
	struct host ip = host("198.51.100.1"), evil = host("x.evil.test"), gone = host("gone.test");
	struct verdict v = policy_decide(p, &(struct subject){&ip, 1, {0}});

	(void)state;
	assert_true(v.allow);
	assert_string_equal(v.rule, "default");
	assert_false(policy_decide(p, &(struct subject){&evil, 443, {0}}).allow);
	assert_true(policy_decide(p, &(struct subject){&evil, 8080, {0}}).allow);
	assert_true(policy_opens_name(p, &evil)); /* at 8080 */
	assert_false(policy_opens_name(p, &gone));
	assert_int_equal(policy_limit_connections(p), 9);
	policy_unref(p);
}

/* ---- how an allowed connection travels ---- */

static const char tunnels_text[] =
	"version: 1\nrules:\n"
	"- {name: shut, hosts: [shut.git.test], ports: [22], action: deny}\n"
	"- {name: ssh, hosts: [git.test, '*.git.test', 203.0.113.0/24], ports: [22, 2200-2299], "
	"action: tunnel}\n"
	"- {name: web, hosts: [git.test], ports: [22, 443], methods: [GET], action: allow}\n"
	"- {name: not, hosts: [hid.test], ports: [1-65535], action: deny}\n"
	"- {name: hid, hosts: ['*.test'], ports: [7000, 9000], action: tunnel}\n";

static const struct {
	const char *host;
	uint16_t port;
	const char *method;
	bool allow;
	enum verdict_way way;
	const char *rule;
	enum category category;
} ways[] = {
	{"git.test", 22, "", true, VERDICT_TUNNEL, "ssh", CATEGORY_NONE},
	{"git.test", 2250, "", true, VERDICT_TUNNEL, "ssh", CATEGORY_NONE},
	{"git.test", 22, "GET", false, VERDICT_TERMINATE, "ssh", CATEGORY_PROTOCOL_DENIED},
	{"git.test", 22, "TRACE", false, VERDICT_TERMINATE, "ssh", CATEGORY_PROTOCOL_DENIED},
	{"git.test", 443, "", true, VERDICT_TERMINATE, "web", CATEGORY_NONE},
	{"git.test", 443, "GET", true, VERDICT_TERMINATE, "web", CATEGORY_NONE},
	{"git.test", 2300, "", false, VERDICT_TERMINATE, "default", CATEGORY_HOST_DENIED},
	{"a.git.test", 22, "", true, VERDICT_TUNNEL, "ssh", CATEGORY_NONE},
	{"shut.git.test", 22, "", false, VERDICT_TERMINATE, "shut", CATEGORY_HOST_DENIED},
	{"shut.git.test", 2200, "", true, VERDICT_TUNNEL, "ssh", CATEGORY_NONE},
	{"203.0.113.9", 22, "", true, VERDICT_TUNNEL, "ssh", CATEGORY_NONE},
	{"203.0.114.9", 22, "", false, VERDICT_TERMINATE, "default", CATEGORY_HOST_DENIED},
	{"evilgit.test", 22, "", false, VERDICT_TERMINATE, "default", CATEGORY_HOST_DENIED},
	{"hid.test", 9000, "", false, VERDICT_TERMINATE, "not", CATEGORY_HOST_DENIED},
};

static void test_tunnels(void **state)
{
	static const struct {
		const char *host;
		bool tunnels;
	} names[] = {{"git.test", true}, {"a.git.test", true}, {"shut.git.test", true},
		{"203.0.113.1", true}, {"203.0.112.1", false}, {"hid.test", false},
		{"other.test", true}, {"other.example", false}};
	struct policy *p = load(tunnels_text);
	char why[HOST_WHY];
	struct host_pattern w;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
		struct host h = host(ways[i].host);
		struct subject s = {&h, ways[i].port, slice_str(ways[i].method)};
		struct verdict v = policy_decide(p, &s);

		if (v.allow != ways[i].allow || v.way != ways[i].way ||
			v.category != ways[i].category || strcmp(v.rule, ways[i].rule) != 0)
			fail_msg("%s:%u %s: %d %d %s %s", ways[i].host, ways[i].port,
				ways[i].method, v.allow, v.way, v.rule, category_name(v.category));
	}
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		struct host h = host(names[i].host);

		if (policy_tunnels_name(p, &h) != names[i].tunnels)
			fail_msg("%s", names[i].host);
	}
	assert_false(policy_opens_port(p, 2200)); /* for names that are known beforehand only */
	assert_true(policy_opens_port(p, 443));
	assert_true(policy_opens_name(p, &(struct host){.text = "git.test", .n = 8}));
	assert_int_equal(host_pattern_parse(slice_str("a.git.test"), &w, why), 0);
	assert_false(policy_opens_pattern(p, &w));
	assert_string_equal(policy_tunnels_pattern(p, &w, 0), "ssh");
	assert_null(policy_tunnels_pattern(p, &w, 443));
	assert_int_equal(host_pattern_parse(slice_str("git.test"), &w, why), 0);
	assert_true(policy_opens_pattern(p, &w));
	policy_unref(p);
}

/* A host that some rule names at that port, with whatever methods, is not passed through. */
static void test_pass(void **state)
{
	static const char rules[] =
		"rules:\n"
		"- {name: m, hosts: [m.test], methods: [DELETE], action: deny}\n"
		"- {name: t, hosts: [t.test], ports: [22], action: tunnel}\n"
		"- {name: a, hosts: [a.test], action: allow}\n";
	static const struct {
		const char *head, *host;
		uint16_t port;
		enum verdict_way way;
	} rows[] = {
		{"default: allow\n", "x.test", 443, VERDICT_PASS},
		{"default: allow\n", "192.0.2.1", 5432, VERDICT_PASS},
		{"default: allow\ndefault_tls: pass\n", "x.test", 443, VERDICT_PASS},
		{"default: allow\ndefault_tls: terminate\n", "x.test", 443, VERDICT_TERMINATE},
		{"default: deny\ndefault_tls: pass\n", "a.test", 443, VERDICT_TERMINATE},
		{"default: allow\n", "m.test", 443, VERDICT_TERMINATE},
		{"default: allow\n", "m.test", 8443, VERDICT_PASS},
		{"default: allow\n", "a.test", 443, VERDICT_TERMINATE},
		{"default: allow\n", "t.test", 22, VERDICT_TUNNEL},
		{"default: allow\n", "t.test", 443, VERDICT_PASS},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[512];
		struct host h = host(rows[i].host);
		struct policy *p;
		struct verdict v;

		(void)snprintf(text, sizeof(text), "version: 1\n%s%s", rows[i].head, rules);
		p = load(text);
		v = policy_decide(p, &(struct subject){&h, rows[i].port, {0}});
		if (!v.allow || v.way != rows[i].way)
			fail_msg("%u: %s %d", i, rows[i].host, v.way);
		v = policy_decide(p, &(struct subject){&h, rows[i].port, SLICE("GET")});
		assert_int_equal(v.way, VERDICT_TERMINATE);
		policy_unref(p);
	}
}

/* A name is resolved only if some port of it is open: a query for a denied name would carry it out.
 */
static void test_names(void **state)
{
	static const struct {
		const char *host;
		bool opens, exact;
	} rows[] = {
		{"shut.a.test", false, false},
		{"low.test", true, true}, /* above 80 */
		{"half.a.test", true, false},
		{"x.a.test", true, false},
		{"a.test", false, false},
		{"exact.test", true, true},
		{"deep.exact.test", false, false},
		{"methods.test", true, true},
		{"other.test", false, false},
	};
	struct policy *p = load(
		"version: 1\nrules:\n"
		"- {name: shut, hosts: [shut.a.test], action: deny}\n"
		"- {name: half, hosts: [half.a.test], ports: [80], action: deny}\n"
		"- {name: a, hosts: ['*.a.test'], action: allow}\n"
		"- {name: m, hosts: [methods.test], methods: [POST], action: deny}\n"
		"- {name: low, hosts: [low.test], ports: [1-80], action: deny}\n"
		"- {name: l, hosts: [low.test], ports: [1-100], action: allow}\n"
		"- {name: e, hosts: [exact.test, methods.test], ports: [8443], action: allow}\n");
	char why[HOST_WHY];
	struct host_pattern w;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host h = host(rows[i].host);

		if (policy_opens_name(p, &h) != rows[i].opens ||
			policy_names_exactly(p, &h) != rows[i].exact)
			fail_msg("%s", rows[i].host);
		assert_int_equal(host_pattern_parse(slice_str(rows[i].host), &w, why), 0);
		assert_int_equal(policy_opens_pattern(p, &w), rows[i].opens);
	}
	assert_int_equal(host_pattern_parse(slice_str("*.b.a.test"), &w, why), 0);
	assert_true(policy_opens_pattern(p, &w));
	assert_int_equal(host_pattern_parse(slice_str("*.b.test"), &w, why), 0);
	assert_false(policy_opens_pattern(p, &w));
	policy_unref(p);
}

/* ---- the rest ---- */

static void test_upstream(void **state)
{
	struct policy *p = load("version: 1\nupstream:\n- {hosts: [git.corp.test], ca: /a.pem}\n"
				"- {hosts: ['*.corp.test', 192.0.2.1], ca: /b.pem}\n");
	struct host git = host("git.corp.test"), other = host("x.corp.test"),
		    ip = host("192.0.2.1"), no = host("x.test");

	(void)state;
	assert_string_equal(policy_upstream_ca(p, &git), "/a.pem");
	assert_string_equal(policy_upstream_ca(p, &other), "/b.pem");
	assert_string_equal(policy_upstream_ca(p, &ip), "/b.pem");
	assert_null(policy_upstream_ca(p, &no));
	assert_string_equal(policy_upstream_file(p, 1), "/b.pem");
	assert_null(policy_upstream_file(p, 2));
	policy_unref(p);
}

static void test_digest(void **state)
{
	/* printf 'version: 1\n' | sha256sum */
	static const uint8_t known[] = {0x09, 0xbf, 0xcc, 0x6a, 0x14, 0xb8};
	struct policy *a = load("version: 1\n"), *b = policy_ref(a), *c = load("version: 1\n\n");

	(void)state;
	assert_memory_equal(policy_digest(b), known, sizeof(known));
	assert_memory_not_equal(policy_digest(a), policy_digest(c), POLICY_DIGEST);
	policy_unref(a);
	assert_string_equal(policy_name(b), "policy");
	policy_unref(b);
	policy_unref(c);
}

static void test_manual(void **state)
{
	unsigned n;
	const struct conf_table *const *tables = policy_tables(&n);

	(void)state;
	manual_check("userspace/man/sallyport-policy.5", tables, n);
}

static void test_dns(void **state)
{
	static const struct {
		const char *text;
		enum policy_dns dns;
	} words[] = {
		{"version: 1", POLICY_DNS_CHECKED},
		{"version: 1\ndns: checked", POLICY_DNS_CHECKED},
		{"version: 1\ndns: synthetic", POLICY_DNS_SYNTHETIC},
		{"version: 1\ndns: \"off\"", POLICY_DNS_OFF},
		{"version: 1\ndns: off", POLICY_DNS_OFF},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct policy *p = load(words[i].text);

		assert_int_equal(policy_dns(p), words[i].dns);
		policy_unref(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dns),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_one_of_fifty),
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_default_allow),
		cmocka_unit_test(test_tunnels),
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_upstream),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
