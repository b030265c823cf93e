/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_check.c – policy/check.c: rules that never decide, and addresses that are allowed in vain (POL-03). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "policy_text.h"

/* ---- shadowed rules ---- */

static void collect(void *arg, const char *text)
{
	strcat(strcat(arg, text), "\n");
}

static void test_shadowed(void **state)
{
	static const char deny_first[] =
		"version: 1\nrules:\n- {name: none, hosts: ['*'], action: deny}\n"
		"- {name: api, hosts: [api.test], action: allow}\n";
	static const char wider_first[] =
		"version: 1\nrules:\n- {name: all, hosts: ['*.test'], action: allow}\n"
		"- {name: x, hosts: [x.test], action: deny}\n";
	struct fault fault = {{0}};
	char warnings[2048] = "";
	struct policy *p = NULL;

	(void)state;
	assert_int_equal(policy_load(slice_str(deny_first), "f", &fault, &p), -EBADMSG);
	assert_string_equal(fault.text,
		"f:4:3: rule `api` never decides: rule `none` in line 3 matches all of it first "
		"and says deny; put the narrower rule first");
	fault.text[0] = '\0';
	assert_int_equal(policy_load(slice_str(wider_first), "f", &fault, &p), -EBADMSG);
	assert_int_equal(strncmp(fault.text, "f:4:3: rule `x` never decides", 29), 0);

	p = load("version: 1\nrules:\n"
		 "- {name: api, hosts: [api.test, '*.b.test'], action: allow}\n"
		 "- {name: same, hosts: [x.b.test, api.test], ports: [443], methods: [GET], "
		 "action: allow}\n"
		 "- {name: port, hosts: [api.test], ports: [443, 8080], action: deny}\n"
		 "- {name: get, hosts: [c.test], methods: [GET], action: allow}\n"
		 "- {name: more, hosts: [c.test], methods: [GET, POST], action: deny}\n"
		 "- {name: two, hosts: [d.test], ports: [81, 80], action: allow}\n"
		 "- {name: span, hosts: [d.test], ports: [80-81], action: allow}\n"
		 "- {name: any, hosts: [c.test], action: deny}\n"
		 "- {name: rest, hosts: ['*'], action: deny}\n");
	policy_check(p, collect, warnings);
	assert_string_equal(warnings,
		"f:4:3: rule `same` never decides: rule `api` in line 3 matches all of it first, "
		"with the same action\n"
		"f:9:3: rule `span` never decides: rule `two` in line 8 matches all of it first, "
		"with the same action\n");
	policy_unref(p);

	p = load("version: 1\ndefault: allow\n"); /* TLS is passed through: nothing to warn of */
	warnings[0] = '\0';
	policy_check(p, collect, warnings);
	assert_string_equal(warnings, "");
	policy_unref(p);
}

/* ---- tunnels and rules that look at requests ---- */

#define RULES(a, b) "version: 1\nrules:\n- {name: a, " a "}\n- {name: b, " b "}\n"
#define UNSEEN                                                                                     \
	"f:4:3: rule `b` tunnels hosts and ports where rule `a` in line 3 looks at methods, "      \
	"which a "                                                                                 \
	"tunnel does not show; give them different hosts or ports, or put the tunnel first"
#define HIDDEN(says)                                                                               \
	"f:4:3: rule `b` never decides: rule `a` in line 3 matches all of it first and says " says \
	"; put the narrower rule first"

static const struct {
	const char *text, *fault; /* NULL: good */
} overlaps[] = {
	{RULES("hosts: [a.test], methods: [GET], action: allow", "hosts: [a.test], action: tunnel"),
		UNSEEN},
	{RULES("hosts: [a.test], methods: [GET], action: deny", "hosts: [a.test], action: tunnel"),
		UNSEEN},
	{RULES("hosts: [a.test], ports: [22, 400-500], methods: [GET], action: allow",
		 "hosts: ['*.test'], ports: [443], action: tunnel"),
		UNSEEN},
	{RULES("hosts: ['*'], methods: [GET], action: allow",
		 "hosts: [a.test], ports: [22, 80], action: tunnel"),
		UNSEEN},
	{RULES("hosts: [10.0.0.0/8], methods: [GET], action: allow",
		 "hosts: [10.1.2.3], action: tunnel"),
		UNSEEN},
	/* another port, another host */
	{RULES("hosts: [a.test], methods: [GET], action: allow",
		 "hosts: [a.test], ports: [22], action: tunnel"),
		NULL},
	{RULES("hosts: [a.test], methods: [GET], action: allow", "hosts: [b.test], action: tunnel"),
		NULL},
	{RULES("hosts: ['*'], methods: [GET], action: allow", "hosts: [192.0.2.1], action: tunnel"),
		NULL},
	/* the tunnel is first */
	{RULES("hosts: [a.test], action: tunnel", "hosts: ['*'], methods: [GET], action: allow"),
		NULL},
	{RULES("hosts: [a.test], ports: [443], action: tunnel",
		 "hosts: [a.test], methods: [GET], action: allow"),
		NULL},
	/* rules without methods take their hosts whole */
	{RULES("hosts: [a.test], action: deny", "hosts: ['*.test'], action: tunnel"), NULL},
	{RULES("hosts: [a.test], action: allow", "hosts: ['*.test'], action: tunnel"), NULL},
	/* one hides the other */
	{RULES("hosts: ['*.test'], action: tunnel", "hosts: [a.test], action: allow"),
		HIDDEN("tunnel")},
	{RULES("hosts: ['*.test'], action: tunnel",
		 "hosts: [a.test], methods: [GET], action: deny"),
		HIDDEN("tunnel")},
	{RULES("hosts: ['*.test'], action: deny", "hosts: [a.test], action: tunnel"),
		HIDDEN("deny")},
	{RULES("hosts: ['*.test'], action: allow", "hosts: [a.test], action: tunnel"),
		HIDDEN("allow")},
};

static void test_overlaps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(overlaps); i++) {
		struct fault fault = {{0}};
		struct policy *p = NULL;
		int r = policy_load(slice_str(overlaps[i].text), "f", &fault, &p);

		if (r != (overlaps[i].fault ? -EBADMSG : 0))
			fail_msg("%s: %s", overlaps[i].text, fault.text);
		if (overlaps[i].fault)
			assert_string_equal(fault.text, overlaps[i].fault);
		policy_unref(p);
	}
}

/* ---- addresses that are allowed in vain ---- */

#define NEVER(address, class)                                                                      \
	" rule `r` allows " address " in vain: " class " addresses cannot be opened; remove it"
#define REFUSED(address, class, entry)                                                             \
	" rule `r` allows " address " in vain: " class " addresses stay refused; to open it, add " \
						       "to `private:` - {cidr: " entry "}"

static const struct {
	const char *host, *ports, *entry, *warning; /* entry of private: or NULL; "" = no warning */
} in_vain[] = {
	{"10.0.0.5", "443", NULL, REFUSED("10.0.0.5", "private", "10.0.0.5")},
	{"10.0.0.0/8", "443", NULL, REFUSED("10.0.0.0/8", "private", "10.0.0.0/8")},
	{"100.64.0.0/16", "443", NULL,
		REFUSED("100.64.0.0/16", "carrier-grade NAT", "100.64.0.0/16")},
	{"'fd00::1'", "443", NULL, REFUSED("fd00::1", "private", "\"fd00::1\"")},
	{"'64:ff9b::a00:1'", "443", NULL,
		REFUSED("64:ff9b::a00:1", "private", "\"64:ff9b::a00:1\"")},
	{"169.254.169.254", "80", NULL,
		REFUSED("169.254.169.254", "metadata", "169.254.169.254, metadata: true")},
	{"169.254.169.254", "80", "cidr: 169.254.0.0/16",
		REFUSED("169.254.169.254", "metadata", "169.254.169.254, metadata: true")},
	{"169.254.169.254", "80", "cidr: 169.254.169.254, metadata: true", ""},
	{"127.0.0.1", "443", NULL, NEVER("127.0.0.1", "loopback")},
	{"127.0.0.1", "443", "cidr: 0.0.0.0/0", NEVER("127.0.0.1", "loopback")},
	{"127.0.0.0/8", "443", NULL, NEVER("127.0.0.0/8", "loopback")},
	{"'::1'", "443", NULL, NEVER("::1", "loopback")},
	{"224.0.0.1", "443", NULL, NEVER("224.0.0.1", "multicast")},
	{"0.0.0.0", "443", NULL, NEVER("0.0.0.0", "reserved")},
	{"'4000::/8'", "443", NULL, NEVER("4000::/8", "reserved")},
	{"10.0.0.5", "443", "cidr: 10.0.0.0/8", ""},
	{"10.0.0.0/8", "443", "cidr: 10.0.0.5", ""},
	{"10.0.0.5", "443", "cidr: 10.0.0.6", REFUSED("10.0.0.5", "private", "10.0.0.5")},
	{"10.0.0.5", "443", "cidr: 10.0.0.5, ports: ['400-500']", ""},
	{"10.0.0.5", "443", "cidr: 10.0.0.5, ports: [80]",
		REFUSED("10.0.0.5", "private", "10.0.0.5")},
	{"10.0.0.5", "443", "cidr: 10.0.0.5, hosts: [a.test]",
		REFUSED("10.0.0.5", "private", "10.0.0.5")},
	{"10.0.0.5", "443", "cidr: 10.0.0.5, hosts: [10.0.0.0/24]", ""},
	{"203.0.113.1", "443", NULL, ""},
	{"0.0.0.0/0", "443", NULL, ""}, /* in part */
	{"'::/0'", "443", NULL, ""},
	{"'2001:db8::/32'", "443", NULL, ""},
	{"192.0.0.0/24", "443", NULL, ""}, /* 192.0.0.9 is public */
	{"192.0.0.0/29", "443", NULL, NEVER("192.0.0.0/29", "reserved")},
	{"localhost.test", "443", NULL, ""},
};

static void test_in_vain(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(in_vain); i++) {
		char text[512], warnings[2048] = "";
		struct policy *p;

		(void)snprintf(text, sizeof(text),
			"version: 1\nrules:\n- {name: d, hosts: [10.9.9.9], action: deny}\n"
			"- {name: r, hosts: [a.test, %s], ports: [%s], action: allow}\n"
			"private: [%s%s%s]\n",
			in_vain[i].host, in_vain[i].ports, in_vain[i].entry ? "{" : "",
			in_vain[i].entry ? in_vain[i].entry : "", in_vain[i].entry ? "}" : "");
		p = load(text);
		policy_check(p, collect, warnings);
		policy_unref(p);
		if (!in_vain[i].warning[0]) {
			assert_string_equal(warnings, "");
			continue;
		}
		assert_int_equal(strncmp(warnings, "f:4:29:", 7), 0);
		warnings[strlen(warnings) - 1] = '\0';
		assert_string_equal(warnings + 7, in_vain[i].warning);
	}
}

/* Names that are opened while none is resolved. */
static void test_names_off(void **state)
{
	static const char rules[] =
		"rules:\n- {name: ip, hosts: [203.0.113.1], action: allow}\n"
		"- {name: no, hosts: [x.test], action: deny}\n"
		"- {name: mixed, hosts: [203.0.113.2, a.test], action: allow}\n";
	static const char *const words[] = {"checked", "synthetic", "off"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char text[512], warnings[2048] = "";
		struct policy *p;

		(void)snprintf(text, sizeof(text), "version: 1\ndns: %s\n%s", words[i], rules);
		p = load(text);
		policy_check(p, collect, warnings);
		policy_unref(p);
		assert_string_equal(warnings, i < 2 ? ""
						    : "f:6:3: rule `mixed` opens names, and with "
						      "`dns: off` no name is resolved: "
						      "connections to them are refused "
						      "dns-failure; write addresses, or another "
						      "`dns`\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shadowed),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_in_vain),
		cmocka_unit_test(test_names_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
