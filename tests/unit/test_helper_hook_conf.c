/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_hook_conf.c – netns-helper/hook_conf.c: the configuration, and what annotations choose among it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "netns-helper/hook_conf.h"
#include "netns-helper/hook_json.h"

static int load(const char *text, struct fault *fault, struct hook_conf *ret)
{
	json_t *document;

	*fault = (struct fault){""};
	assert_int_equal(hook_json_parse(text, strlen(text), "f", fault, &document), 0);
	return hook_conf_take(document, "f", fault, ret);
}

static void test_defaults(void **state)
{
	struct hook_conf c;
	struct fault fault;

	(void)state;
	assert_int_equal(load("{}", &fault, &c), 0);
	assert_string_equal(c.state, "/run/sallyport");
	assert_string_equal(c.policies, "/etc/sallyport/policies");
	assert_string_equal(c.policy, "default");
	assert_string_equal(c.mode, "sealed");
	assert_int_equal(c.ncredentials, 1);
	assert_string_equal(c.credentials[0], "container");
	assert_false(c.strict);
	hook_conf_done(&c);
}

static void test_every_key(void **state)
{
	struct hook_conf c;
	struct fault fault;

	(void)state;
	assert_int_equal(
		load("{\"state\":\"/s\",\"policies\":\"/p\",\"policy\":\"q-1\",\"mode\":\"uplink\","
		     "\"strict\":true,\"credentials\":[\"a\",\"b\"],\"search\":[\"x.test\"],"
		     "\"unix\":[\"/run/db/\"]}",
			&fault, &c),
		0);
	assert_string_equal(c.state, "/s");
	assert_string_equal(c.policy, "q-1");
	assert_string_equal(c.mode, "uplink");
	assert_true(c.strict);
	assert_string_equal(c.credentials[1], "b");
	assert_string_equal(c.search[0], "x.test");
	assert_string_equal(c.unix_paths[0], "/run/db/");
	hook_conf_done(&c);
}

static void test_what_is_refused(void **state)
{
	static const char *const bad[] = {"{\"x\":1}", "{\"state\":\"s\"}", "{\"state\":1}",
		"{\"state\":\"\"}", "{\"policies\":\"p\"}", "{\"policy\":\"../p\"}",
		"{\"policy\":\"A\"}", "{\"policy\":\"\"}", "{\"policy\":\"a.b\"}",
		"{\"policy\":\"-a\"}", "{\"policy\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
		"{\"mode\":\"open\"}", "{\"strict\":\"true\"}", "{\"strict\":1}",
		"{\"credentials\":[]}", "{\"credentials\":\"a\"}", "{\"credentials\":[\"a.b\"]}",
		"{\"credentials\":[\"*\"]}", "{\"credentials\":[1]}", "{\"search\":[\"a b\"]}",
		"{\"unix\":[\"a\"]}", "{\"annotations\":[\"sallyport.mode\"]}",
		"{\"annotations\":\"mode\"}", "{\"unix\":[\"/../a\"]}",
		"{\"search\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hook_conf c;
		struct fault fault;

		assert_int_equal(load(bad[i], &fault, &c), -EINVAL);
		assert_non_null(strstr(fault.text, "sallyport-hook(8)"));
		hook_conf_done(&c);
	}
}

static int choose(const char *annotations, const char *container, struct hook_choice *ret)
{
	static struct hook_conf c;
	struct fault fault;
	json_t *object = annotations ? json_loads(annotations, 0, NULL) : NULL;
	int r;

	assert_int_equal(
		load("{\"credentials\":[\"container\",\"web\"],\"annotations\":[\"policy\","
		     "\"mode\",\"search\",\"strict\",\"credentials\"]}",
			&fault, &c),
		0);
	r = hook_conf_choose(&c, object, container, &fault, ret);
	assert_int_equal(r < 0, fault.text[0] != '\0');
	/* texts of the choice lead into both: only what is copied is looked at after this */
	if (r == 0)
		assert_true(strlen(ret->policy) > 0 && strlen(ret->mode) > 0);
	json_decref(object);
	hook_conf_done(&c);
	return r;
}

static void test_the_id_of_the_sandbox(void **state)
{
	static const char digits[] =
		"0123456789abcdef0123456789abcdefffffffffffffffffffffffffffffffff";
	struct hook_choice choice;

	(void)state;
	assert_int_equal(choose(NULL, "c1", &choice), 0);
	assert_string_equal(choice.id, "container.c1");
	assert_int_equal(
		choose("{\"sallyport.credentials\":\"web\",\"other\":\"x\"}", "a_b.c-1", &choice),
		0);
	assert_string_equal(choice.id, "web.a_b.c-1");
	assert_int_equal(choose(NULL, digits, &choice), 0);
	assert_string_equal(choice.id, "container.0123456789abcdef0123456789abcdef");
	assert_int_equal(choose(NULL, "Upper", &choice), -EINVAL);
	assert_int_equal(choose(NULL, "a/b", &choice), -EINVAL);
	assert_int_equal(choose(NULL, "", &choice), -EINVAL);
	assert_int_equal(
		choose(NULL, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &choice), 0);
	assert_int_equal(strlen(choice.id), PROTO_ID - 1);
	assert_int_equal(
		choose(NULL, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &choice),
		-EINVAL);
}

static void test_annotations(void **state)
{
	static const char *const bad[] = {"{\"sallyport.x\":\"1\"}", "{\"sallyport.\":\"1\"}",
		"{\"sallyport.policy\":\"/etc/x\"}", "{\"sallyport.policy\":\"a.yaml\"}",
		"{\"sallyport.policy\":1}", "{\"sallyport.mode\":\"\"}",
		"{\"sallyport.strict\":\"false\"}", "{\"sallyport.credentials\":\"admin\"}",
		"{\"sallyport.credentials\":\"web.x\"}"};
	struct hook_choice choice;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(choose(bad[i], "c", &choice), -EINVAL);
	assert_int_equal(choose("{\"sallyport.strict\":\"true\"}", "c", &choice), 0);
	assert_true(choice.strict);
	assert_int_equal(
		choose("{\"sallyport.mode\":\"uplink\",\"sallyport.policy\":\"p\"}", "c", &choice),
		0);
}

/* Podman takes over an image's annotations: what the configuration keeps to itself is refused, not passed over. */
static void test_annotations_that_are_not_offered(void **state)
{
	static const struct {
		const char *conf, *annotations;
		int r;
	} rows[] = {
		{"{}", "{\"sallyport.policy\":\"open\"}", -EPERM},
		{"{}", "{\"sallyport.credentials\":\"container\"}", -EPERM},
		{"{}", "{\"sallyport.mode\":\"uplink\"}", -EPERM},
		{"{}", "{\"sallyport.search\":\"x.test\"}", -EPERM},
		{"{}", "{\"sallyport.strict\":\"true\"}", 0},
		{"{\"annotations\":[\"strict\"]}", "{\"sallyport.policy\":\"open\"}", -EPERM},
		{"{\"annotations\":[\"strict\"]}", "{\"sallyport.credentials\":\"container\"}",
			-EPERM},
		{"{\"annotations\":[\"strict\"]}", "{\"sallyport.mode\":1}", -EPERM},
		{"{\"annotations\":[\"strict\"]}", "{\"sallyport.x\":\"1\"}", -EINVAL},
		{"{\"annotations\":[\"strict\"]}", "{\"sallyport.strict\":\"true\"}", 0},
		{"{\"annotations\":[]}", "{\"sallyport.strict\":\"true\"}", -EPERM},
		{"{\"annotations\":[]}", "{\"org.example\":\"true\"}", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *annotations = json_loads(rows[i].annotations, 0, NULL);
		struct hook_choice choice;
		struct hook_conf c;
		struct fault fault;

		assert_int_equal(load(rows[i].conf, &fault, &c), 0);
		assert_int_equal(
			hook_conf_choose(&c, annotations, "c", &fault, &choice), rows[i].r);
		json_decref(annotations);
		hook_conf_done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_the_id_of_the_sandbox),
		cmocka_unit_test(test_annotations),
		cmocka_unit_test(test_annotations_that_are_not_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
