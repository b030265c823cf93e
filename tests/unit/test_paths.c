/* SPDX-License-Identifier: Apache-2.0 */
/* test_paths.c – paths that servers disagree on are refused, patterns match whole segments, and what one pattern covers of
 * another. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "exact.h"
#include "policy/paths.h"

/* ---- what is refused ---- */

#define DOTS      "the path holds a dot segment"
#define BACKSLASH "the path holds a backslash"
#define CONTROL   "the path holds a control byte"
#define ESCAPE    "the path holds a bad escape"
#define OVERLONG  "the path holds an overlong form of UTF-8"
#define UNESCAPED "the path holds a byte that must be escaped"
#define SLASH     "the path does not begin with a slash"

static const struct {
	const char *target, *fault; /* NULL: good */
} targets[] = {
	{"/", NULL}, {"/a", NULL}, {"/a/", NULL}, {"//", NULL}, {"/a//b", NULL}, {"*", NULL},
	{"?q", NULL}, /* of an absolute-form without a path */
	{"/?a=../..&b=%00%zz\\", NULL}, /* a query is nobody's path */
	{"", SLASH}, {"a", SLASH}, {"**", SLASH}, {"*/", SLASH}, {"%2Fa", SLASH},
	{"http://a.test/", SLASH},
	/* dot segments, in every spelling that one decode reaches */
	{"/.", DOTS}, {"/..", DOTS}, {"/./", DOTS}, {"/a/.", DOTS}, {"/a/..", DOTS},
	{"/a/../b", DOTS}, {"/a/./b", DOTS}, {"/..?q", DOTS}, {"/%2e", DOTS}, {"/%2e%2e/", DOTS},
	{"/a/%2E%2e/b", DOTS}, {"/a/.%2e/b", DOTS}, {"/a/%2e./b", DOTS}, {"/a/..%2fb", DOTS},
	{"/a%2f..%2Fb", DOTS}, {"/a%2F..", DOTS}, {"/a/%2e%2e%2fb", DOTS},
	/* a server that drops parameters before it resolves dots */
	{"/a/..;/b", DOTS}, {"/a/..;x=1/b", DOTS}, {"/a/.;/b", DOTS}, {"/a/..;", DOTS},
	{"/a/..%3b/b", DOTS}, {"/a/%2e%2e;/b", DOTS},
	/* no dot segments */
	{"/...", NULL}, {"/.../a", NULL}, {"/.git/..config", NULL}, {"/a..", NULL},
	{"/a../b", NULL}, {"/..a", NULL}, {"/a.;/b", NULL}, {"/;..", NULL}, {"/a;/../b", DOTS},
	{"/a;..", NULL}, {"/%252e%252e/", NULL}, /* decoded once it is %2e%2e, a name */
	{"/..%252f", NULL}, {"/a%2Fb", NULL}, {"/%2F", NULL}, {"/%2f%2f", NULL}, {"/a%2F.b", NULL},
	/* bytes */
	{"/a\\b", BACKSLASH}, {"/..\\b", BACKSLASH}, {"/a%5cb", BACKSLASH}, {"/a%5Cb", BACKSLASH},
	{"/a%255cb", NULL}, {"/%00", CONTROL}, {"/a%00.png", CONTROL}, {"/%0d%0aX:y", CONTROL},
	{"/%1f", CONTROL}, {"/%7f", CONTROL}, {"/a\tb", CONTROL}, {"/a\x7f", CONTROL},
	{"/%20", NULL}, {"/a b", UNESCAPED}, {"/a#b", UNESCAPED}, {"/caf\xc3\xa9", UNESCAPED},
	{"/%23%3F%25", NULL},
	{"/{}|<>\"^`[]", NULL}, /* sent so by some clients, and not ambiguous */
	{"/%", ESCAPE}, {"/%4", ESCAPE}, {"/%zz", ESCAPE}, {"/%4g", ESCAPE}, {"/%g4", ESCAPE},
	{"/%%41", ESCAPE}, {"/%u002e", ESCAPE}, {"/a%", ESCAPE}, {"/%?41", ESCAPE},
	{"/%2?e", ESCAPE},
	/* UTF-8, and what is longer than it has to be */
	{"/caf%C3%A9", NULL}, {"/%E2%82%AC%F0%9F%98%80", NULL}, {"/%e9", NULL}, /* Latin-1 */
	{"/%c0%ae%c0%ae/", OVERLONG}, {"/%C0%AF", OVERLONG}, {"/%c1%9c", OVERLONG},
	{"/%c0", OVERLONG}, {"/%c0%2e", OVERLONG}, {"/%e0%80%ae", OVERLONG},
	{"/%e0%9f%bf", OVERLONG}, {"/%e0%a0%80", NULL}, {"/%f0%80%80%ae", OVERLONG},
	{"/%f0%8f%bf%bf", OVERLONG}, {"/%f0%90%80%80", NULL}, {"/%f8%80%80%80%ae", OVERLONG},
	{"/%fc%80%80%80%80%ae", OVERLONG}, {"/%e0a%80", NULL}, /* not one character */
};

static void test_targets(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(targets); i++) {
		struct slice in = exact_copy(slice_str(targets[i].target));
		const char *fault = path_fault(in), *want = targets[i].fault;

		if (want ? !fault || strcmp(fault, want) != 0 : fault != NULL)
			fail_msg("%s: %s", targets[i].target, fault ? fault : "good");
		exact_free(in);
	}
}

/* Each byte, bare and escaped. */
static void test_bytes(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		bool control = c < 0x20 || c == 0x7f;
		char bare[] = {'/', (char)c, '.', '.'}, escaped[8];
		const char *fault = path_fault(slice_of(bare, sizeof(bare)));

		if (c == '?' || c == '/' || c == '%' || c == '\\' || c == '#' || control)
			assert_true(c == '?' ? !fault : fault != NULL);
		else
			assert_true((fault != NULL) == (c <= 0x20 || c > 0x7e));
		(void)snprintf(escaped, sizeof(escaped), "/a%%%02x..", c);
		fault = path_fault(slice_str(escaped));
		assert_true((fault != NULL) ==
			    (control || c == '\\' || c == '/' || c == 0xc0 || c == 0xc1));
	}
}

/* ---- patterns ---- */

static struct path_pattern pattern(const char *text)
{
	uint16_t *units = calloc(strlen(text), sizeof(*units));
	struct slice in = exact_copy(slice_str(text));
	struct path_pattern p = {NULL, 0};
	char why[PATH_WHY];

	assert_non_null(units);
	if (path_pattern_parse(in, units, &p, why) < 0)
		fail_msg("%s: %s", text, why);
	exact_free(in);
	return p;
}

static void pattern_done(struct path_pattern *p)
{
	free((void *)p->units);
}

#define NEVER ": such requests are refused, it cannot match"
#define ALONE "`**` stands for whole segments: it is alone between two slashes"

static const struct {
	const char *text, *why;
} bad[] = {
	{"", "a pattern of a path begins with `/`"},
	{"a", "a pattern of a path begins with `/`"},
	{"*", "a pattern of a path begins with `/`"},
	{"**", "a pattern of a path begins with `/`"},
	{" /a", "a pattern of a path begins with `/`"},
	{"%2fa", "a pattern of a path begins with `/`"},
	{"https://a.test/a", "a pattern of a path begins with `/`"},
	{"/a?b=c", "the query is not matched, and `?` is no sign of a pattern: write %3F for the "
		   "character"},
	{"/file.?", "the query is not matched, and `?` is no sign of a pattern: write %3F for the "
		    "character"},
	{"/caf\xc3\xa9", "a pattern of a path is written as paths are sent: write %C3 for this "
			 "byte"},
	{"/a b", "a pattern of a path is written as paths are sent: write %20 for this byte"},
	{"/{id}", "a pattern of a path is written as paths are sent: write %7B for this byte"},
	{"/[ab]", "a pattern of a path is written as paths are sent: write %5B for this byte"},
	{"/a#b", "a pattern of a path is written as paths are sent: write %23 for this byte"},
	{"/a|b", "a pattern of a path is written as paths are sent: write %7C for this byte"},
	{"/a/../b", DOTS NEVER},
	{"/./a", DOTS NEVER},
	{"/a/%2e%2e", DOTS NEVER},
	{"/a/..;/**", DOTS NEVER},
	{"/a%2f../b", DOTS NEVER},
	{"/a\\b", BACKSLASH NEVER},
	{"/a%5cb", BACKSLASH NEVER},
	{"/a%00", CONTROL NEVER},
	{"/a\tb", CONTROL NEVER},
	{"/100%", ESCAPE NEVER},
	{"/%zz", ESCAPE NEVER},
	{"/%*1", ESCAPE NEVER},
	{"/%c0%ae", OVERLONG NEVER},
	{"//", "an empty segment (`//`) is matched by `**` only"},
	{"/a//b", "an empty segment (`//`) is matched by `**` only"},
	{"/a//", "an empty segment (`//`) is matched by `**` only"},
	{"/a**", ALONE},
	{"/**a", ALONE},
	{"/a/**b/c", ALONE},
	{"/***", ALONE},
	{"/a/****", ALONE},
	{"/**%2f", ALONE},
};

static void test_bad_patterns(void **state)
{
	char long_text[LIMIT_PATH_PATTERN + 2] = "/", why[PATH_WHY];
	uint16_t units[LIMIT_PATH_PATTERN + 1];
	struct path_pattern p;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct slice in = exact_copy(slice_str(bad[i].text));

		assert_int_equal(path_pattern_parse(in, units, &p, why), -EINVAL);
		assert_string_equal(why, bad[i].why);
		exact_free(in);
	}
	memset(long_text + 1, 'a', LIMIT_PATH_PATTERN);
	assert_int_equal(path_pattern_parse(slice_str(long_text), units, &p, why), -EINVAL);
	assert_string_equal(why, "a pattern of a path has at most 512 bytes");
	assert_int_equal(
		path_pattern_parse(slice_of(long_text, LIMIT_PATH_PATTERN), units, &p, why), 0);
}

/* ---- matching ---- */

enum { NO, YES, BROAD /* only where an escaped delimiter is the delimiter */ };

static const struct {
	const char *pattern, *target;
	int matches;
} rows[] = {
	/* as it stands */
	{"/", "/", YES},
	{"/", "/?q", YES},
	{"/", "?q", YES}, /* http://a.test?q */
	{"/", "//", NO},
	{"/", "/a", NO},
	{"/", "*", NO},
	{"/a", "/a", YES},
	{"/a", "/A", NO},
	{"/a", "/a?x=/b", YES},
	{"/a", "/a/", NO},
	{"/a", "/ab", NO},
	{"/a", "/", NO},
	{"/a", "//a", NO},
	{"/a/", "/a/", YES},
	{"/a/", "/a", NO},
	{"/a/", "/a//", NO},
	{"/a/", "/a/b", NO},
	{"/a/b", "/a/b", YES},
	{"/a/b", "/a%2Fb", NO},
	{"/a/b", "/a//b", NO},
	{"/a/b", "/a/b/c", NO},
	/* * */
	{"/*", "/a", YES},
	{"/*", "/abc", YES},
	{"/*", "/", NO},
	{"/*", "/a/", NO},
	{"/*", "/a/b", NO},
	{"/*", "//", NO},
	{"/*", "/%2F", YES},
	{"/*", "/a%2Fb", YES},
	{"/*", "/%20", YES},
	{"/*", "/*", YES},
	{"/*", "*", NO},
	{"/*/", "/a/", YES},
	{"/*/", "//", NO},
	{"/*/*", "/a/b", YES},
	{"/*/*", "/a//", NO},
	{"/*/*", "//b", NO},
	{"/a/*", "/a/", NO},
	{"/a/*/c", "/a/b/c", YES},
	{"/a/*/c", "/a//c", NO},
	{"/a/*/c", "/a/b/x/c", NO},
	{"/a/*/c", "/a/b%2Fx/c", YES},
	{"/a*", "/a", YES},
	{"/a*", "/abc", YES},
	{"/a*", "/b", NO},
	{"/a*", "/a/b", NO},
	{"/*.git", "/x.git", YES},
	{"/*.git", "/.git", YES},
	{"/*.git", "/x.git.git", YES},
	{"/*.git", "/x.gitx", NO},
	{"/*.git", "/x.git/info", NO},
	{"/a*b*c", "/abc", YES},
	{"/a*b*c", "/aXbYbZc", YES},
	{"/a*b*c", "/aXbYcZ", NO},
	{"/a*b*c", "/ab", NO},
	{"/*a*", "/bab", YES},
	{"/*a*", "/bbb", NO},
	{"/%2A", "/*", YES},
	{"/%2A", "/%2a", YES},
	{"/%2A", "/a", NO},
	/* ** */
	{"/**", "/", YES},
	{"/**", "/a", YES},
	{"/**", "//", YES},
	{"/**", "/a//b/", YES},
	{"/**", "*", NO}, /* of the server, no path of it */
	{"/a/**", "/a", YES},
	{"/a/**", "/a/", YES},
	{"/a/**", "/a//", YES},
	{"/a/**", "/a/b/c", YES},
	{"/a/**", "/a?x", YES},
	{"/a/**", "/ab", NO},
	{"/a/**", "/a%2Fb", NO},
	{"/a/**", "/A/b", NO},
	{"/a/**", "/", NO},
	{"/a/**", "//a/b", NO},
	{"/**/a", "/a", YES},
	{"/**/a", "/b/a", YES},
	{"/**/a", "//a", YES},
	{"/**/a", "/b/c/a", YES},
	{"/**/a", "/a/b", NO},
	{"/**/a", "/ba", NO},
	{"/**/", "/", YES},
	{"/**/", "/a/", YES},
	{"/**/", "/a", NO},
	{"/**/*", "/a", YES},
	{"/**/*", "/", NO},
	{"/**/*", "/a/", NO},
	{"/**/*", "//a", YES},
	{"/a/**/z", "/a/z", YES},
	{"/a/**/z", "/a//z", YES},
	{"/a/**/z", "/a/b/c/z", YES},
	{"/a/**/z", "/a/z/b", NO},
	{"/a/**/z", "/z", NO},
	{"/a/**/b/**/c", "/a/b/c", YES},
	{"/a/**/b/**/c", "/a/x/b/y/b/c", YES},
	{"/a/**/b/**/c", "/a/x/c/b", NO},
	{"/a/**/b/*/c", "/a/b/b/x/c", YES},
	{"/a/**/b/*/c", "/a/b/x/c/c", NO},
	{"/a/**/**/c", "/a/c", YES},
	{"/**/**", "/", YES},
	{"/repos/acme/**", "/repos/acme/x/pulls?per_page=1", YES},
	{"/repos/acme/**", "/repos/acme-evil/x", NO},
	{"/repos/acme/**", "/repos/ACME/x", NO},
	{"/repos/acme/**", "/repos/%61cme/x", YES},
	{"/app/*/exchange", "/app/1/exchange", YES},
	{"/app/*/exchange", "/app/1/2/exchange", NO},
	/* escapes: unreserved ones are what they stand for */
	{"/a", "/%61", YES},
	{"/%61", "/a", YES},
	{"/a-._~9", "/%61%2d%2E%5f%7E%39", YES},
	{"/a", "/%41", NO},
	{"/%C3%A9", "/%c3%a9", YES},
	{"/*", "/%c3%a9", YES},
	{"/a%2Fb", "/a%2fb", YES},
	{"/a%2Fb", "/a/b", NO},
	{"/%2F", "/%2f", YES},
	{"/%2F", "//", NO},
	{"/%252e", "/%252E", NO}, /* %2e and %2E, as names */
	{"/%252e%252e/a", "/%252e%252e/a", YES},
	{"/*/a", "/%252e%252e/a", YES},
	{"/%7Bid%7D", "/{id}", YES}, /* not reserved, and no other way to write it is right */
	/* reserved ones are another path to the strict, and the same to the broad */
	{"/@acme/x", "/@acme/x", YES},
	{"/@acme/x", "/%40acme/x", BROAD},
	{"/%40acme/x", "/@acme/x", BROAD},
	{"/%40acme/x", "/%40acme/x", YES},
	{"/m:predict", "/m%3Apredict", BROAD},
	{"/a;b", "/a%3bb", BROAD},
	{"/a+b", "/a%20b", NO},
};

static void test_match(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct path_pattern p = pattern(rows[i].pattern);
		struct slice in = exact_copy(slice_str(rows[i].target));

		assert_null(path_fault(in));
		if (path_pattern_match(&p, in, false) != (rows[i].matches == YES) ||
			path_pattern_match(&p, in, true) != (rows[i].matches != NO))
			fail_msg("%s against %s", rows[i].pattern, rows[i].target);
		exact_free(in);
		pattern_done(&p);
	}
}

/* ; is data: parameters are neither dropped nor skipped */
static void test_parameters(void **state)
{
	struct path_pattern a = pattern("/a/b"), wide = pattern("/a/*"), with = pattern("/a;v=1/b");

	(void)state;
	assert_false(path_pattern_match(&a, SLICE("/a;v=1/b"), true));
	assert_false(path_pattern_match(&a, SLICE("/a/b;v=1"), true));
	assert_false(path_pattern_match(&a, SLICE("/a/b;"), true));
	assert_true(path_pattern_match(&wide, SLICE("/a/b;v=1"), false));
	assert_true(path_pattern_match(&wide, SLICE("/a/;"), false));
	assert_true(path_pattern_match(&with, SLICE("/a;v=1/b"), false));
	assert_false(path_pattern_match(&with, SLICE("/a/b"), true));
	pattern_done(&a);
	pattern_done(&wide);
	pattern_done(&with);
}

/* What makes backtracking matchers hang: the longest of everything, and no match. A test that hangs has failed. */
static void test_time(void **state)
{
	static const char *const patterns[] = {"/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b",
		"/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "/**/*a*a*a*a*b/**/*a*a*a*a*b/**/c"};
	static char slashes[LIMIT_HEAD], flat[LIMIT_HEAD];

	(void)state;
	memset(flat, 'a', sizeof(flat));
	for (size_t i = 0; i < sizeof(slashes); i++)
		slashes[i] = i % 2 ? 'a' : '/';
	flat[0] = '/';
	for (unsigned i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct path_pattern p = pattern(patterns[i]);

		assert_false(path_pattern_match(&p, slice_of(flat, sizeof(flat)), false));
		assert_false(path_pattern_match(&p, slice_of(slashes, sizeof(slashes)), false));
		pattern_done(&p);
	}
}

/* ---- covering ---- */

static const struct {
	const char *a, *b;
	int covers;
} covers[] = {
	{"/**", "/", YES},
	{"/**", "/a/*/b", YES},
	{"/**", "/**/a", YES},
	{"/a/**", "/a", YES},
	{"/a/**", "/a/", YES},
	{"/a/**", "/a/b", YES},
	{"/a/**", "/a/**", YES},
	{"/a/**", "/a/*/**", YES},
	{"/a/**", "/**", NO},
	{"/a/**", "/*/b", NO},
	{"/a/**", "/a*/b", NO},
	{"/*", "/a", YES},
	{"/*", "/a*", YES},
	{"/*", "/*", YES},
	{"/*", "/", NO},
	{"/*", "/**", NO},
	{"/a/*", "/a/**", NO},
	{"/a/*", "/a/", NO},
	{"/a*", "/a*b", YES},
	{"/a*", "/*a", NO},
	{"/a*b", "/a*", NO},
	{"/a*b", "/a*c*b", YES},
	{"/*/b", "/a/b", YES},
	{"/a", "/*", NO},
	{"/a", "/%61", YES},
	{"/**/a", "/**/b/a", YES},
	{"/**/a/**", "/x/**/a/b", YES},
	{"/@a", "/%40a", BROAD},
	{"/*", "/%40a", YES},
};

static void test_covers(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(covers); i++) {
		struct path_pattern a = pattern(covers[i].a), b = pattern(covers[i].b);

		if (path_pattern_covers(&a, &b, false) != (covers[i].covers == YES) ||
			path_pattern_covers(&a, &b, true) != (covers[i].covers != NO))
			fail_msg("%s covers %s", covers[i].a, covers[i].b);
		pattern_done(&a);
		pattern_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bad_patterns),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
