/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c – each type of key, and what is said about a wrong one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "conf/table.h"

struct all {
	const char *text;
	bool yes;
	uint64_t number, only;
	int word;
	const struct conf_node *node, *list, *rows, *map;
};

static const struct conf_word words[] = {
	{"one", 1}, {"two", 2}, {"three", 3, true}, {"four:", 4, true}, {0}};
static const struct conf_key keys[] = {
	{"text", CONF_TYPE_TEXT, true, offsetof(struct all, text)},
	{"yes", CONF_TYPE_BOOL, false, offsetof(struct all, yes)},
	{"number", CONF_TYPE_NUMBER, false, offsetof(struct all, number), .min = 2, .max = 9000},
	{"word", CONF_TYPE_WORD, false, offsetof(struct all, word), words},
	{"node", CONF_TYPE_NODE, false, offsetof(struct all, node)},
	{"list", CONF_TYPE_LIST, false, offsetof(struct all, list)},
	{"rows", CONF_TYPE_ROWS, false, offsetof(struct all, rows)},
	{"only", CONF_TYPE_NUMBER, false, offsetof(struct all, only), .min = 1, .max = 1},
	{"map", CONF_TYPE_MAP, false, offsetof(struct all, map)},
	{"later", CONF_TYPE_LATER},
};
static const struct conf_table table = {"the test", keys, ARRAY_SIZE(keys)};

static int read_all(const char *text, bool sealed, struct fault *fault, struct all *ret)
{
	struct conf_doc *doc;
	int r = conf_parse(slice_str(text), "f", fault, &doc);

	assert_int_equal(r, 0);
	doc->sealed = sealed;
	r = conf_read(&table, doc, doc->root, fault, ret);
	if (r == 0)
		ret->text = strdup(ret->text);
	conf_free(doc);
	return r;
}

static void test_good(void **state)
{
	struct all a = {.number = 7};
	struct fault fault = {{0}};

	(void)state;
	assert_int_equal(read_all("text: hello", false, &fault, &a), 0);
	assert_string_equal(a.text, "hello");
	assert_int_equal(a.number, 7); /* an absent key leaves the default */
	free((void *)(uintptr_t)a.text);
	assert_int_equal(read_all("{text: 'null', yes: true, number: 9000, word: two, node: , "
				  "list: [1], rows: [{}], only: 1, map: {}}",
				 false, &fault, &a),
		0);
	assert_string_equal(a.text, "null");
	assert_true(a.yes && a.number == 9000 && a.word == 2 && a.node && a.list && a.map);
	free((void *)(uintptr_t)a.text);
}

static const struct {
	const char *text, *fault;
} bad[] = {
	{"yes: true", "f:1:1: the test has no `text`"},
	{"[1]", "f:1:1: the test must be a map of keys, not a list"},
	{"txet: 1", "f:1:1: unknown key `txet` in the test; did you mean `text`?"},
	{"text: a\nnumbre: 3", "f:2:1: unknown key `numbre` in the test; did you mean `number`?"},
	{"text: a\nwhatever: 3", "f:2:1: unknown key `whatever` in the test"},
	{"text: a\nlater: 1", "f:2:1: `later` is not available in this version"},
	{"text: [a]", "f:1:7: `text` must be text, not a list"},
	{"text: ", "f:1:6: `text` must not be empty"},
	{"text: null", "f:1:7: `text` must not be empty"},
	{"text: ''", "f:1:7: `text` must not be empty"},
	{"{text: a, yes: on}", "f:1:16: `yes` must be true or false"},
	{"{text: a, yes: 'true'}", "f:1:16: `yes` must be true or false"},
	{"{text: a, number: 1}", "f:1:19: `number` must be a number from 2 to 9000"},
	{"{text: a, number: 9001}", "f:1:19: `number` must be a number from 2 to 9000"},
	{"{text: a, number: '3'}",
		"f:1:19: `number` must be a number from 2 to 9000, without quotes"},
	{"{text: a, only: 2}", "f:1:17: `only` must be 1"},
	{"{text: a, only: x}", "f:1:17: `only` must be 1"},
	{"{text: a, only: '1'}", "f:1:17: `only` must be 1, without quotes"},
	{"{text: a, number: 03}", "f:1:19: `number` must be a number from 2 to 9000"},
	{"{text: a, number: 0x3}", "f:1:19: `number` must be a number from 2 to 9000"},
	{"{text: a, number: 18446744073709551618}",
		"f:1:19: `number` must be a number from 2 to 9000"},
	{"{text: a, word: tow}",
		"f:1:17: `word` must be one or two, not `tow`; did you mean `two`?"},
	{"{text: a, word: three}", "f:1:17: `word: three` is not available in this version"},
	{"{text: a, word: 'four:x'}", "f:1:17: `word: four:` is not available in this version"},
	{"{text: a, word: [one]}", "f:1:17: `word` must be one word, not a list"},
	{"{text: a, list: b}", "f:1:17: `list` must be a list: write [b]"},
	{"{text: a, list: '*'}", "f:1:17: `list` must be a list: write [\"*\"]"},
	{"text: a\nlist: GET, HEAD", "f:2:7: `list` must be a list: write [GET, HEAD]"},
	{"{text: a, list: {b: 1}}", "f:1:17: `list` must be a list, not a map"},
	{"{text: a, rows: b}", "f:1:17: `rows` must be a list of maps, not text"},
	{"{text: a, rows: []}", "f:1:17: `rows` must not be empty"},
	{"{text: a, list: []}", "f:1:17: `list` must not be empty"},
	{"{text: a, list: }", "f:1:17: `list` must be a list, not empty"},
	{"{text: a, map: [1]}", "f:1:16: `map` must be a map, not a list"},
};

static void test_bad(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault fault = {{0}};
		struct all a = {0};

		assert_int_equal(read_all(bad[i].text, false, &fault, &a), -EBADMSG);
		assert_string_equal(fault.text, bad[i].fault);
	}
}

/* A document that may hold secrets is never quoted. */
static void test_sealed(void **state)
{
	static const char *const texts[] = {"{text: a, hunter2secret: 1}",
		"{text: a, word: hunter2secret}", "{text: a, number: hunter2secret}",
		"{text: a, list: hunter2secret}", "{text: a, yes: hunter2secret}"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fault fault = {{0}};
		struct all a = {0};

		assert_int_equal(read_all(texts[i], true, &fault, &a), -EBADMSG);
		assert_null(strstr(fault.text, "hunter2"));
		fault.text[0] = '\0';
		(void)read_all(texts[i], false, &fault, &a);
		assert_true(i > 1 || strstr(fault.text, "hunter2")); /* the control */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_sealed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
