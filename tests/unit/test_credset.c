/* SPDX-License-Identifier: Apache-2.0 */
/* test_credset.c – credentials documents, bindings, rotation, and the manual page (CRD-09, CRD-12).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cred/credset.h"
#include "exact.h"
#include "manual.h"
#include "policy/hosts.h"
#include "policy/policy.h"

#define VALUE "hunter2hunter2hunter2"

static struct source_trust trust;

static int try_load(const char *text, struct fault *fault, struct credset **ret)
{
	struct slice in = exact_copy(slice_str(text));
	int r = credset_load(in, "f", &trust, fault, ret);

	exact_free(in);
	return r;
}

static struct credset *load(const char *text)
{
	struct fault fault = {{0}};
	struct credset *s = NULL;

	if (try_load(text, &fault, &s) < 0)
		fail_msg("%s", fault.text);
	return s;
}

#define ONE(rest)                                                                                  \
	"credentials:\n- {name: T, source: {value: " VALUE                                         \
	"}, swap: [{hosts: [a.test], in: [bearer]}]" rest "}\n"
#define SWAP(binding)                                                                              \
	"credentials:\n- {name: T, source: {value: " VALUE "}, swap: [{" binding "}]}\n"
#define SOURCE(source)                                                                             \
	"credentials:\n- {name: T, swap: [{hosts: [a.test], in: [bearer]}], source: {" source "}}" \
	"\n"

static const struct {
	const char *text, *fault; /* the place may be any when it begins with a space */
} bad[] = {
	{"{}", "f:1:1: a credentials document has no `credentials`"},
	{"credentials: x", "f:1:14: `credentials` must be a list"},
	{"credentials: [{}]", "f:1:15: a credential has no `name`"},
	{"credentials: [{name: T}]", "f:1:15: a credential has no `source`"},
	{"credentials: [{name: T, source: {value: " VALUE "}}]",
		"f:1:15: a credential has no `swap`"},
	{ONE(", inject: []"), " `inject` is not available in this version"},
	{ONE(", use: tls-client"), " `use` is not available in this version"},
	{ONE(", lease: true"), " `lease` is not available in this version"},
	{ONE(", expires: x"), " `expires` is not available in this version"},
	{ONE(", on_echo: pause"), " `on_echo` is not available in this version"},
	{ONE(", scrub_skip: []"), " `scrub_skip` is not available in this version"},
	{ONE(", shape: jwt"), " `shape: jwt` is not available in this version"},
	{ONE(", shape: 'prefix:ghp_'"), " `shape: prefix:` is not available in this version"},
	{ONE(", misdirected: drop"), " `misdirected` must be forward or refuse, not this"},
	{ONE(", env: 1X"),
		" `env` is the name of a variable: letters, digits and `_`, no digit first"},
	{ONE(", hunter2: x"), " unknown key in a credential"},
	{"credentials: [{name: 'a b', source: {value: x}, swap: [x]}]",
		"f:1:22: a name is 1 to 64 letters, digits, `_`, `.` and `-`"},
	{SWAP("hosts: [a.test], in: ['header:x-api-key']"),
		"f:2:83: `in: header:` is not available in this version"},
	{SWAP("hosts: [a.test], in: [body]"),
		"f:2:83: `in: body` is not available in this version"},
	{SWAP("hosts: [a.test], in: [barer]"),
		"f:2:83: `in` must be bearer or basic-password, not this; did you mean `bearer`?"},
	{SWAP("hosts: [a.test], in: []"), "f:2:82: `in` must not be empty"},
	{SWAP("hosts: [a.test]"), "f:2:60: a binding has no `in`"},
	{SWAP("in: [bearer]"), "f:2:60: a binding has no `hosts`"},
	{SWAP("hosts: [a.test], in: [bearer], paths: [/x]"),
		" `paths` is not available in this version"},
	{SWAP("hosts: [a.test], in: [bearer], upgrade: raw"),
		" `upgrade` is not available in this version"},
	{SWAP("hosts: ['*'], in: [bearer], wildcard: true"),
		"f:2:69: a credential cannot be bound to every host"},
	{SWAP("hosts: ['*.com'], in: [bearer], wildcard: true"),
		"f:2:69: a credential cannot be bound to a suffix under which anybody may "
		"register"},
	{SWAP("hosts: ['*.co.uk'], in: [bearer], wildcard: true"),
		"f:2:69: a credential cannot be bound to a suffix under which anybody may "
		"register"},
	{SWAP("hosts: [a.test, '*.b.test'], in: [bearer]"),
		"f:2:77: a wildcard or a range in a binding needs `wildcard: true` beside it"},
	{SWAP("hosts: [10.0.0.0/8], in: [bearer]"),
		"f:2:69: a wildcard or a range in a binding needs `wildcard: true` beside it"},
	{SOURCE(""), " a source needs `file` or `value`, one of them"},
	{SOURCE("value: x, file: /x"), " a source needs `file` or `value`, one of them"},
	{SOURCE("exec: [x]"), " `exec` is not available in this version"},
	{SOURCE("push: true"), " `push` is not available in this version"},
	{SOURCE("file: x"), " `file` must be an absolute path"},
	{SOURCE("file: /nowhere/at-all"),
		" credential `T`: /nowhere/at-all: cannot be opened: No such file or directory"},
	{SOURCE("value: ''"), " `value` must not be empty"},
	{SOURCE("value: hunter2"),
		" credential `T`: the value is shorter than 16 bytes (weak: true allows that)"},
	{SOURCE("value: \"hunter2hunter2\\nhunter2\""),
		" credential `T`: the value holds CR, LF or NUL"},
	{SOURCE("value: \"hunter2hunter2\\rhunter2\""),
		" credential `T`: the value holds CR, LF or NUL"},
	{SOURCE("value: \"hunter2hunter2\\thunter2\""),
		" credential `T`: the value holds a control byte, which `bearer` cannot carry"},
	{SOURCE("value: ' hunter2hunter2hunter2'"), " credential `T`: the value begins or ends "
						    "with a space, which `bearer` cannot carry"},
	{ONE("") "- {name: T, source: {value: " VALUE
		 "}, swap: [{hosts: [a.test], in: [bearer]}]}\n",
		"f:3:10: there is a credential `T` already"},
	{ONE(", env: X") "- {name: U, env: X, source: {value: " VALUE
			 "}, swap: [{hosts: [a.test], in: [bearer]}]}\n",
		"f:3:18: credential `T` has this variable already"},
};

static void test_faults(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault fault = {{0}};
		struct credset *s = NULL;
		const char *text = fault.text, *want = bad[i].fault;

		assert_int_equal(try_load(bad[i].text, &fault, &s), -EBADMSG);
		assert_null(s);
		assert_null(strstr(fault.text, "hunter2"));
		if (want[0] == ' ')
			text = strchr(strchr(strchr(text, ':') + 1, ':') + 1, ':') + 1;
		assert_string_equal(text, want);
	}
}

static void test_load(void **state)
{
	struct credset *s =
		load("credentials:\n"
		     "- {name: GH_TOKEN, env: GH, source: {value: " VALUE
		     "}, misdirected: refuse, swap: [\n"
		     "    {hosts: [api.test, '*.up.test'], wildcard: true, in: [bearer, "
		     "basic-password]},\n"
		     "    {hosts: [git.test], in: [basic-password], methods: [GET, POST]}]}\n"
		     "- {name: pin, source: {value: 1234}, weak: true, plain_http: true, shape: "
		     "default,\n"
		     "    swap: [{hosts: [10.0.0.1], in: [bearer]}]}\n");
	const struct credential *c = credset_at(s, 0);
	struct host api, deep, git, ip;

	(void)state;
	assert_int_equal(credset_count(s), 2);
	assert_string_equal(c->name, "GH_TOKEN");
	assert_string_equal(c->env, "GH");
	assert_true(c->refuse && !c->weak && !c->plain_http && !c->path);
	assert_int_equal(c->nbindings, 2);
	assert_int_equal(c->bindings[1].line, 4);
	assert_int_equal(credset_find(s, SLICE("pin")), 1);
	assert_int_equal(credset_find(s, SLICE("pi")), -ENOENT);
	assert_true(slice_eq(credset_value(s, 0), SLICE(VALUE)));
	assert_true(slice_eq(credset_value(s, 1), SLICE("1234")));
	assert_null(credset_cause(s, 0));
	assert_false(credset_rotates(s, 0));

	assert_int_equal(host_canon(SLICE("API.test."), &api), 0);
	assert_int_equal(host_canon(SLICE("x.up.test"), &deep), 0);
	assert_int_equal(host_canon(SLICE("git.test"), &git), 0);
	assert_int_equal(host_canon(SLICE("10.0.0.1"), &ip), 0);
	assert_ptr_equal(
		credset_binding(s, 0, &api, true, SLICE("PUT"), CRED_BEARER), &c->bindings[0]);
	assert_ptr_equal(credset_binding(s, 0, &deep, true, SLICE("PUT"), CRED_BASIC_PASSWORD),
		&c->bindings[0]);
	assert_null(credset_binding(
		s, 0, &api, false, SLICE("PUT"), CRED_BEARER)); /* not over plain HTTP */
	assert_null(credset_binding(
		s, 0, &git, true, SLICE("GET"), CRED_BEARER)); /* another position */
	assert_ptr_equal(credset_binding(s, 0, &git, true, SLICE("POST"), CRED_BASIC_PASSWORD),
		&c->bindings[1]);
	assert_null(credset_binding(s, 0, &git, true, SLICE("PUT"), CRED_BASIC_PASSWORD));
	assert_null(
		credset_binding(s, 0, &ip, true, SLICE("GET"), CRED_BEARER)); /* another's host */
	assert_non_null(credset_binding(s, 1, &ip, false, SLICE("GET"), CRED_BEARER));
	assert_string_equal(cred_position_name(CRED_BEARER), "bearer");
	assert_string_equal(cred_position_name(CRED_BASIC_PASSWORD), "basic-password");
	credset_unref(s);
	credset_unref(NULL);
}

static void test_merge(void **state)
{
	struct credset *a = load(ONE(", env: A")),
		       *b = load("credentials:\n- {name: U, source: {value: " VALUE
				 "x}, swap: [{hosts: [b.test], in: [bearer]}]}\n"),
		       *c = load("credentials: []\n"), *m = NULL, *parts[] = {a, b, c},
		       *twice[] = {a, a};
	struct fault fault = {{0}};

	(void)state;
	assert_int_equal(credset_merge(twice, 2, &fault, &m), -EEXIST);
	assert_string_equal(fault.text, "f: credential `T` is in f as well");
	assert_int_equal(credset_merge(parts, 3, &fault, &m), 0);
	credset_unref(a);
	credset_unref(b);
	credset_unref(c);
	assert_int_equal(credset_count(m), 2);
	assert_true(slice_eq(credset_value(m, 1), SLICE(VALUE "x")));
	credset_unref(m);
}

static void test_policy(void **state)
{
	struct credset *s = load(SWAP("hosts: [a.test, '*.b.test'], wildcard: true, in: [bearer]"));
	struct fault fault = {{0}};
	static const struct {
		const char *policy;
		const char *fault;
	} rows[] = {
		{"version: 1\ndefault: allow\n", NULL},
		{"version: 1\nrules: [{name: r, hosts: [a.test, x.b.test], action: allow}]\n",
			NULL},
		{"version: 1\nrules: [{name: r, hosts: ['*'], action: allow}]\n", NULL},
		{"version: 1\nname: p\nrules: [{name: r, hosts: [a.test, b.test], action: "
		 "allow}]\n",
			"f:2:60: credential `T` is bound to *.b.test, which no rule of policy `p` "
			"opens"},
		{"version: 1\nname: p\nrules: [{name: r, hosts: ['*.b.test'], action: allow}]\n",
			"f:2:60: credential `T` is bound to a.test, which no rule of policy `p` "
			"opens"},
		{"version: 1\nname: p\nrules: [{name: t, hosts: [a.test], action: tunnel}, {name: "
		 "r, "
		 "hosts: ['*.b.test'], action: allow}]\n",
			"f:2:60: credential `T` is bound to a.test, which no rule with `action: "
			"allow` of "
			"policy `p` opens: in the tunnel of rule `t` nothing is swapped"},
		{"version: 1\nrules: [{name: t, hosts: [a.test], ports: [22], action: tunnel}, "
		 "{name: r, "
		 "hosts: [a.test, '*.b.test'], action: allow}]\n",
			NULL},
		{"version: 1\n", "f:2:60: credential `T` is bound to a.test, which no rule of "
				 "policy `policy` opens"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy *p = NULL;

		fault.text[0] = '\0';
		assert_int_equal(policy_load(slice_str(rows[i].policy), "p", &fault, &p), 0);
		assert_int_equal(
			credset_check_against_policy(s, p, &fault), rows[i].fault ? -EBADMSG : 0);
		assert_string_equal(fault.text, rows[i].fault ? rows[i].fault : "");
		policy_unref(p);
	}
	credset_unref(s);
}

/* ---- rotation ---- */

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

/* One look; the new set takes the place of the old one. Returns what credset_refresh() said. */
static int look(struct credset **s)
{
	struct credset *next = NULL;
	int r = credset_refresh(*s, &next);

	assert_true(r == 0 || r == 1);
	assert_int_equal(r, next != NULL);
	if (r) {
		credset_unref(*s);
		*s = next;
	}
	return r;
}

static void test_rotation(void **state)
{
	char dir[] = "/tmp/sallyport-test.XXXXXX", path[64], text[256];
	struct credset *s, *held;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/value", dir);
	put(path, "first-first-first\r\n");
	(void)snprintf(text, sizeof(text), SOURCE("file: %s"), path);
	s = load(text);
	assert_string_equal(credset_at(s, 0)->path, path);
	assert_true(credset_rotates(s, 0));
	assert_true(slice_eq(credset_value(s, 0), SLICE("first-first-first")));
	assert_int_equal(look(&s), 0);
	assert_int_equal(look(&s), 0);

	held = credset_ref(s); /* a request under way */
	put(path, "second-second-second\n\n");
	assert_int_equal(look(&s), 1);
	assert_string_equal(credset_cause(s, 0), "the value holds CR, LF or NUL");
	assert_int_equal(credset_value(s, 0).n, 0);
	assert_int_equal(look(&s), 0);
	put(path, "second-second-second\n");
	assert_int_equal(look(&s), 1);
	assert_null(credset_cause(s, 0));
	assert_true(slice_eq(credset_value(s, 0), SLICE("second-second-second")));
	assert_true(slice_eq(credset_value(held, 0), SLICE("first-first-first")));
	credset_unref(held);

	put(path, "second-second-second"); /* the same value in other bytes is no change */
	assert_int_equal(look(&s), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(look(&s), 1);
	assert_string_equal(credset_cause(s, 0), "the source file does not exist");
	assert_int_equal(look(&s), 0);
	put(path, "short");
	assert_int_equal(look(&s), 1);
	assert_string_equal(
		credset_cause(s, 0), "the value is shorter than 16 bytes (weak: true allows that)");
	put(path, "third-third-third");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(look(&s), 1);
	assert_string_equal(
		credset_cause(s, 0), "owner, group or mode of the source file is not acceptable");
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(look(&s), 1);
	assert_true(slice_eq(credset_value(s, 0), SLICE("third-third-third")));
	credset_unref(s);
	(void)unlink(path);
	(void)rmdir(dir);
}

/* What only root may read keeps the value of the start once the uid is dropped, and the set says
 * so. */
static void test_out_of_reach(void **state)
{
	char dir[] = "/tmp/sallyport-test.XXXXXX", path[64], text[256];
	struct credset *s;

	(void)state;
	if (geteuid() != 0)
		skip(); /* needs a uid to drop */
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/value", dir);
	put(path, "first-first-first");
	(void)snprintf(text, sizeof(text), SOURCE("file: %s"), path);
	s = load(text);
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(look(&s), 0);
	assert_int_equal(seteuid(0), 0);
	assert_false(credset_rotates(s, 0));
	put(path, "second-second-second");
	assert_int_equal(look(&s), 0);
	assert_true(slice_eq(credset_value(s, 0), SLICE("first-first-first")));
	credset_unref(s);

	s = load(text);
	assert_int_equal(look(&s), 0); /* the first look may read, a later one may not: that is a
					  fault of the source */
	put(path, "third-third-third");
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(look(&s), 1);
	assert_int_equal(seteuid(0), 0);
	assert_string_equal(credset_cause(s, 0), "the source file may not be read");
	credset_unref(s);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void test_manual(void **state)
{
	unsigned n;
	const struct conf_table *const *tables = credset_tables(&n);

	(void)state;
	manual_check("userspace/man/sallyport-credentials.5", tables, n);
}

/* ---- warnings ---- */

static void collect(void *arg, const char *text)
{
	strcat(strcat(arg, text), "\n");
}

static const struct {
	const char *more,
		*warnings; /* members of the credential; what is said behind "f:2:3: credential `T`: " */
} checked[] = {
	{"env: T, source: {file: FILE}, swap: [{hosts: [a.test, 192.0.2.1], in: [bearer]}]", ""},
	{"source: {file: FILE}, swap: [{hosts: [a.test], in: [bearer]}]", "no `env`"},
	{"env: T, source: {value: " VALUE "}, swap: [{hosts: [a.test], in: [bearer]}]",
		"the value stands in the document"},
	{"env: T, source: {file: FILE}, plain_http: true, swap: [{hosts: [a.test], in: [bearer]}]",
		"`plain_http: true`: the value is also sent"},
	{"env: T, source: {file: FILE}, weak: true, swap: [{hosts: [a.test], in: [bearer]}]",
		"`weak: true` is not needed"},
	{"env: T, source: {file: SHORT}, weak: true, swap: [{hosts: [a.test], in: [bearer]}]",
		"the value has less than 16 bytes"},
	{"env: T, source: {file: FILE}, swap: [{hosts: [a.test], in: [bearer]}, "
	 "{hosts: [b.test, '*.c.test'], wildcard: true, in: [bearer]}]",
		"a binding holds a wildcard"},
	{"env: T, source: {file: FILE}, swap: [{hosts: [192.0.2.0/24], wildcard: true, in: "
	 "[bearer]}]",
		"a binding holds a wildcard"},
};

static void check_file(const char *path, const char *value)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(value, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

static void test_check(void **state)
{
	char folder[] = "/tmp/sallyport-test.XXXXXX", path[2][64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path[0], sizeof(path[0]), "%s/FILE", folder);
	(void)snprintf(path[1], sizeof(path[1]), "%s/SHORT", folder);
	check_file(path[0], VALUE "\n");
	check_file(path[1], "hunter2");
	for (unsigned i = 0; i < ARRAY_SIZE(checked); i++) {
		const char *file = strstr(checked[i].more, "{file: ");
		char text[1024], warnings[2048] = "";
		int head = file ? (int)(file + 7 - checked[i].more) : 0;
		struct credset *s;

		(void)snprintf(text, sizeof(text), "credentials:\n- {name: T, %.*s%s%s%s}\n", head,
			checked[i].more, file ? folder : "", file ? "/" : "",
			checked[i].more + head);
		s = load(text);
		credset_check(s, collect, warnings);
		credset_unref(s);
		assert_null(strstr(warnings, "hunter2"));
		if (!checked[i].warnings[0]) {
			assert_string_equal(warnings, "");
			continue;
		}
		assert_int_equal(strncmp(warnings, "f:2:3: credential `T`: ", 23), 0);
		if (strncmp(warnings + 23, checked[i].warnings, strlen(checked[i].warnings)) != 0)
			fail_msg("%s", warnings);
		assert_ptr_equal(strchr(warnings, '\n'), warnings + strlen(warnings) - 1);
	}
	(void)unlink(path[0]);
	(void)unlink(path[1]);
	(void)rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_out_of_reach),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_manual),
	};

	trust = (struct source_trust){geteuid(), getegid()};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
