/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml.c – what a document may be, and where a fault is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "conf/yaml.h"
#include "exact.h"

static const struct {
	const char *text, *fault;
} refused[] = {
	{"", "f:1:1: the document is empty"},
	{"# nothing\n", "f:2:1: the document is empty"},
	{"a: 1\na: 2\n", "f:2:1: duplicate key; the first is in line 1"},
	{"a: 1\n'a': 2\n", "f:2:1: duplicate key; the first is in line 1"},
	{"{\"a\": 1, \"\\u0061\": 2}", "f:1:10: duplicate key; the first is in line 1"},
	{"a: &x 1\n", "f:1:4: anchors are not allowed"},
	{"a: &x [1]\n", "f:1:4: anchors are not allowed"},
	{"a: *x\n", "f:1:4: aliases are not allowed"},
	{"- *x\n", "f:1:3: aliases are not allowed"},
	{"*x : 1\n", "f:1:1: aliases are not allowed"},
	{"a: !!str 1\n", "f:1:4: tags are not allowed"},
	{"a: ! 1\n", "f:1:4: tags are not allowed"},
	{"a: !x {b: 1}\n", "f:1:4: tags are not allowed"},
	{"[a]: 1\n", "f:1:1: a key must be plain text"},
	{"? {a: 1}\n: 1\n", "f:1:3: a key must be plain text"},
	{"a: 1\n---\nb: 1\n", "f:2:1: a second document is not allowed"},
	{"a: \"x\\0y\"\n", "f:1:4: a NUL byte is not allowed"},
	{"a: \xff\n", "f:1:4: invalid leading UTF-8 octet"},
	{"a: 1\nb: \xc3(\n", "f:2:5: invalid trailing UTF-8 octet"},
	{"a: \xed\xa0\x80\n", "f:1:4: invalid Unicode character"},
	{"a: \x01\n", "f:1:4: control characters are not allowed"},
	{"{\"a\": \"\\ud83d\"}", "f:1:10: found invalid Unicode character escape code (while "
				 "parsing a quoted scalar in "
				 "line 1)"},
	{"{\"a\": \"\\\\ud83d\\ude00\"}", "f:1:17: found invalid Unicode character escape code "
					  "(while parsing a quoted scalar in line 1)"},
	{"a: [1, 2\n", "f:2:1: did not find expected ',' or ']' (while parsing a flow sequence in "
		       "line 1)"},
	{"a: 1\n\tb: 2\n", "f:2:1: tabs cannot indent YAML: use spaces"},
	{"a:\n\t- b\n", "f:2:1: tabs cannot indent YAML: use spaces"},
	{"a:\n  \tb: 1\n", "f:2:3: tabs cannot indent YAML: use spaces"},
	{"h: [*.cdn.test]\n",
		"f:1:5: quote it: \"*.cdn.test\" (without quotes, * begins an alias)"},
	{"\xc3\xa4: [\xc3\xa4, *.b.test, c]\n",
		"f:1:8: quote it: \"*.b.test\" (without quotes, * begins an alias)"},
	{"h:\n  - *.cdn.test # all\n",
		"f:2:5: quote it: \"*.cdn.test\" (without quotes, * begins an alias)"},
	{"h: *", "f:1:4: quote it: \"*\" (without quotes, * begins an alias)"},
	{"h: [*]", "f:1:5: quote it: \"*\" (without quotes, * begins an alias)"},
	{"h: @x\n", "f:1:4: found character that cannot start any token (while scanning for the "
		    "next token in line 1)"},
};

static void test_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		struct slice in = exact_copy(slice_str(refused[i].text));
		struct fault fault = {{0}};
		struct conf_doc *doc = NULL;

		assert_int_equal(conf_parse(in, "f", &fault, &doc), -EBADMSG);
		assert_string_equal(fault.text, refused[i].fault);
		assert_null(doc);
		exact_free(in);
	}
}

/* A value may begin with * as well. */
static void test_sealed(void **state)
{
	static const char text[] = "value: *.hunter2secret\n";
	struct fault open = {{0}}, sealed = {{0}};
	struct conf_doc *doc = NULL;

	(void)state;
	assert_int_equal(conf_parse(slice_str(text), "f", &open, &doc), -EBADMSG);
	assert_non_null(strstr(open.text, "hunter2")); /* the control */
	assert_int_equal(conf_parse_sealed(slice_str(text), "f", &sealed, &doc), -EBADMSG);
	assert_string_equal(
		sealed.text, "f:1:8: quote it: \"*…\" (without quotes, * begins an alias)");
	assert_int_equal(conf_parse_sealed(slice_str("a: 1"), "f", &sealed, &doc), 0);
	assert_true(doc->sealed);
	conf_free(doc);
}

static struct conf_doc *parse(const char *text)
{
	struct slice in = exact_copy(slice_str(text));
	struct fault fault = {{0}};
	struct conf_doc *doc = NULL;

	if (conf_parse(in, "f", &fault, &doc) < 0)
		fail_msg("%s", fault.text);
	exact_free(in);
	return doc;
}

static void test_tree(void **state)
{
	struct conf_doc *doc = parse("a: x\nb:\n  - 'y z'\n  - {c: \"\", d: }\n");
	const struct conf_node *b = conf_get(doc->root, "b"), *c;

	(void)state;
	assert_int_equal(doc->root->count, 2);
	assert_string_equal((const char *)conf_get(doc->root, "a")->text.p, "x");
	assert_false(conf_get(doc->root, "a")->quoted);
	assert_int_equal(b->kind, CONF_LIST);
	assert_int_equal(b->count, 2);
	assert_true(b->first->quoted);
	assert_string_equal((const char *)b->first->text.p, "y z");
	assert_int_equal(b->first->line, 3);
	assert_int_equal(b->first->column, 5);
	c = conf_get(b->first->next, "c");
	assert_true(c->quoted && c->text.n == 0);
	assert_int_equal(c->key->column, 6);
	assert_false(conf_get(b->first->next, "d")->quoted);
	assert_null(conf_get(doc->root, "c"));
	assert_null(conf_get(b, "c"));
	conf_free(doc);
	conf_free(NULL);
}

/* RFC 8259 section 7: characters outside the basic plane come as two escapes. */
static void test_json(void **state)
{
	struct conf_doc *doc =
		parse("{\"a\": \"\\ud83d\\ude00\\/\\\\ud83d\",\n\t\"b\":[1,true,null]}");

	(void)state;
	assert_string_equal(
		(const char *)conf_get(doc->root, "a")->text.p, "\xf0\x9f\x98\x80/\\ud83d");
	assert_int_equal(conf_get(doc->root, "b")->line, 2);
	assert_int_equal(conf_get(doc->root, "b")->count, 3);
	conf_free(doc);
}

static void nested(unsigned depth, char ret[128])
{
	memset(ret, '[', depth);
	memset(ret + depth, ']', depth);
	ret[2 * depth] = '\0';
}

static void test_bounds(void **state)
{
	struct fault fault = {{0}};
	struct conf_doc *doc;
	char deep[128], *keys = malloc(LIMIT_DOCUMENT + 1);
	size_t n = 0;

	(void)state;
	nested(LIMIT_DOCUMENT_DEPTH, deep);
	conf_free(parse(deep));
	nested(LIMIT_DOCUMENT_DEPTH + 1, deep);
	assert_int_equal(conf_parse(slice_str(deep), "f", &fault, &doc), -EBADMSG);
	assert_string_equal(fault.text, "f:1:17: nested too deep");

	for (unsigned i = 0; i <= CONF_KEYS; i++)
		n += (size_t)sprintf(keys + n, "k%u: 1\n", i);
	fault.text[0] = '\0';
	assert_int_equal(conf_parse(slice_of(keys, n), "f", &fault, &doc), -EBADMSG);
	assert_string_equal(fault.text, "f:65:1: too many keys in one map");

	n = 0;
	keys[n++] = '[';
	for (unsigned i = 0; i < CONF_NODES; i++)
		n += (size_t)sprintf(keys + n, "1,");
	keys[n++] = ']';
	fault.text[0] = '\0';
	assert_int_equal(conf_parse(slice_of(keys, n), "f", &fault, &doc), -EBADMSG);
	assert_non_null(strstr(fault.text, "too many values"));

	memset(keys, ' ', LIMIT_DOCUMENT + 1);
	fault.text[0] = '\0';
	assert_int_equal(
		conf_parse(slice_of(keys, LIMIT_DOCUMENT + 1), "f", &fault, &doc), -EBADMSG);
	assert_string_equal(fault.text, "f:1:1: the document is larger than 1 MiB");
	free(keys);
}

/* Every prefix of a document is a document or a fault with a place; nothing is read behind it. */
static void test_prefixes(void **state)
{
	static const char text[] =
		"{\"v\": 1, \"r\": [{\"n\": \"\\ud83d\\ude00\", 'h': [a, \"*.b\"]}]}\n# end\n";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		struct slice in = exact_copy(slice_of(text, n));
		struct fault fault = {{0}};
		struct conf_doc *doc = NULL;
		int r = conf_parse(in, "f", &fault, &doc);

		assert_true(
			r == 0 ? doc && !fault.text[0] : !doc && strncmp(fault.text, "f:", 2) == 0);
		assert_int_equal(r == 0, n >= sizeof(text) - 1 - strlen("\n# end\n"));
		conf_free(doc);
		exact_free(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
