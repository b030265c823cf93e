/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_hook_spec.c – netns-helper/hook_spec.c, with hook_state.c and hook_bundle.c: what the runtime's documents say and
 * what is put into them. */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "netns-helper/handout.h"
#include "netns-helper/hook_bundle.h"
#include "netns-helper/hook_json.h"
#include "netns-helper/hook_spec.h"
#include "netns-helper/hook_state.h"

static struct handout handout = {
	.variables = {{"TOKEN", "spx_a"}, {"OTHER", "spx_b"}}, .nvariables = 2};

static int state_of(const char *text, struct hook_state *ret)
{
	struct fault fault = {""};
	json_t *document;
	int r = hook_json_parse(text, strlen(text), "f", &fault, &document);

	if (r < 0)
		return r;
	r = hook_state_take(document, &fault, ret);
	json_decref(document);
	return r;
}

static void test_states(void **state)
{
	static const char *const bad[] = {"", "[]", "{}", "{\"id\":\"a\"}",
		"{\"id\":\"a\",\"bundle\":\"b\"}", "{\"id\":\"\",\"bundle\":\"/b\"}",
		"{\"id\":1,\"bundle\":\"/b\"}", "{\"id\":\"a\\u0000\",\"bundle\":\"/b\"}",
		"{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":-1}",
		"{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":\"1\"}",
		"{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":4194305}",
		"{\"id\":\"a\",\"id\":\"a\",\"bundle\":\"/b\"}",
		"{\"id\":\"a\",\"bundle\":\"/b\"} x"};
	struct hook_state s, other;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(state_of(bad[i], &s), -EBADMSG);
	assert_int_equal(state_of("{\"id\":\"a\",\"bundle\":\"/b\"}", &s), 0);
	assert_int_equal(s.pid, 0);
	assert_int_equal(
		state_of("{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":7,\"status\":\"creating\"}",
			&other),
		0);
	assert_int_equal(other.pid, 7);
	assert_true(s.owner == other.owner);
	assert_int_equal(state_of("{\"id\":\"a\",\"bundle\":\"/c\"}", &other), 0);
	assert_true(s.owner != other.owner);
	assert_int_equal(state_of("{\"id\":\"a/\",\"bundle\":\"/b\"}", &other), 0);
	assert_true(s.owner != other.owner);
}

static int bundle_of(const char *text, struct hook_bundle *ret)
{
	struct fault fault = {""};
	json_t *config;

	assert_int_equal(hook_json_parse(text, strlen(text), "f", &fault, &config), 0);
	return hook_bundle_take(config, "/bundle", &fault, ret);
}

static void test_bundles(void **state)
{
	struct hook_bundle b;

	(void)state;
	assert_int_equal(
		bundle_of("{\"root\":{\"path\":\"rootfs\"},\"process\":{\"env\":[\"A=1\",\"A=2\"],"
			  "\"capabilities\":{\"bounding\":[\"CAP_CHOWN\"],\"ambient\":[\"CAP_NET_"
			  "RAW\"]}},"
			  "\"linux\":{\"namespaces\":[{\"type\":\"network\"}]}}",
			&b),
		0);
	assert_string_equal(b.root, "/bundle/rootfs");
	assert_true(b.bounding == (1ULL << CAP_CHOWN | 1ULL << CAP_NET_RAW));
	assert_true(b.network);
	assert_string_equal(hook_bundle_variable(&b, "A"), "2");
	assert_null(hook_bundle_variable(&b, "B"));
	hook_bundle_done(&b);
	assert_int_equal(bundle_of("{\"root\":{\"path\":\"/r\"}}", &b), 0);
	assert_string_equal(b.root, "/r");
	assert_true(b.bounding == UINT64_MAX); /* nothing is said to be dropped */
	assert_false(b.network);
	hook_bundle_done(&b);
}

static void test_bundles_that_are_none(void **state)
{
	static const char *const bad[] = {"{}", "{\"root\":{\"path\":\"\"}}",
		"{\"root\":{\"path\":1}}", "{\"root\":{\"path\":\"/r\"},\"annotations\":[]}",
		"{\"root\":{\"path\":\"/"
		"r\"},\"process\":{\"capabilities\":{\"bounding\":[\"CAP_NO_SUCH\"]}}}",
		"{\"root\":{\"path\":\"/"
		"r\"},\"process\":{\"capabilities\":{\"bounding\":[\"none\",\"a,b\"]}}}",
		"{\"root\":{\"path\":\"/"
		"r\"},\"process\":{\"capabilities\":{\"effective\":\"CAP_CHOWN\"}}}"};
	struct hook_bundle b;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(bundle_of(bad[i], &b), -EBADMSG);
		hook_bundle_done(&b);
	}
}

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_the_id_is_at_the_end_of_the_cgroup(void **state)
{
	static const struct {
		const char *path;
		int expected;
	} rows[] = {
		{"/libpod_parent/libpod-" DIGITS, 0},
		{"machine.slice:libpod:" DIGITS, 0},
		{"/kubepods/pod1/" DIGITS, 0},
		{"/a/" DIGITS "/payload", -ENOENT},
		{"/a/b", -ENOENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *config = json_pack("{s:{s:s}}", "linux", "cgroupsPath", rows[i].path);
		const struct hook_bundle b = {.config = config};
		char id[HOOK_SPEC_ID + 1];
		struct fault fault = {""};

		assert_int_equal(hook_spec_container(&b, &fault, id), rows[i].expected);
		if (rows[i].expected == 0)
			assert_string_equal(id, DIGITS);
		json_decref(config);
	}
}

static void test_variables_take_the_place_of_old_ones(void **state)
{
	json_t *config = json_loads(
		"{\"process\":{\"env\":[\"TOKEN=real\",\"A=1\",\"TOKEN=again\",\"TOKENS=x\","
		"\"JAVA_TOOL_OPTIONS=-Xmx1g\"]}}",
		0, NULL);
	struct fault fault = {""};
	struct hook_bundle b;
	char lacks[128];

	(void)state;
	b = (struct hook_bundle){.environment = hook_json_at(config, "process/env")};
	hook_spec_lacks(&b, &handout, lacks, sizeof(lacks));
	assert_string_equal(lacks, "TOKEN, OTHER, NODE_EXTRA_CA_CERTS");
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(hook_spec_environment(config, &handout, &fault), 0);
		assert_string_equal(hook_bundle_variable(&b, "TOKEN"), "spx_a");
		assert_string_equal(hook_bundle_variable(&b, "TOKENS"), "x");
		assert_string_equal(
			hook_bundle_variable(&b, "NODE_EXTRA_CA_CERTS"), "/run/sallyport/ca.pem");
		assert_string_equal(hook_bundle_variable(&b, "JAVA_TOOL_OPTIONS"),
			"-Xmx1g -Djavax.net.ssl.trustStore=/run/sallyport/cacerts "
			"-Djavax.net.ssl.trustStorePassword=changeit");
		assert_int_equal(json_array_size(b.environment), 11);
	}
	hook_spec_lacks(&b, &handout, lacks, sizeof(lacks));
	assert_string_equal(lacks, "");
	json_decref(config);
}

static void test_hooks_are_added_once(void **state)
{
	json_t *config = json_loads("{\"hooks\":{\"poststop\":[{\"path\":\"/other\"}]}}", 0, NULL);
	struct fault fault = {""};

	(void)state;
	for (int twice = 0; twice < 2; twice++)
		assert_int_equal(hook_spec_hooks(config, "/c", &fault), 0);
	assert_int_equal(json_array_size(hook_json_at(config, "hooks/createRuntime")), 1);
	assert_int_equal(json_array_size(hook_json_at(config, "hooks/poststop")), 2);
	json_decref(config);
	config = json_loads("{\"hooks\":[]}", 0, NULL);
	assert_int_equal(hook_spec_hooks(config, NULL, &fault), -EBADMSG);
	json_decref(config);
}

static void test_a_refusal_travels(void **state)
{
	json_t *config = json_loads("{\"root\":{\"path\":\"/r\"}}", 0, NULL);
	struct fault fault = {""}, told = {""};
	struct hook_bundle b;

	(void)state;
	assert_int_equal(hook_spec_refuse(config, "why", &fault), 0);
	assert_int_equal(hook_bundle_take(config, "/", &fault, &b), 0);
	assert_int_equal(hook_spec_refused(&b, &told), -EPERM);
	assert_string_equal(told.text, "why");
	hook_bundle_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_bundles),
		cmocka_unit_test(test_bundles_that_are_none),
		cmocka_unit_test(test_the_id_is_at_the_end_of_the_cgroup),
		cmocka_unit_test(test_variables_take_the_place_of_old_ones),
		cmocka_unit_test(test_hooks_are_added_once),
		cmocka_unit_test(test_a_refusal_travels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
