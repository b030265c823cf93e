/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_hook_seccomp.c – netns-helper/hook_seccomp.c: which filters close the ways around, and the shipped one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "netns-helper/hook_seccomp.h"

static char open_[256];

static const char *judge(const char *text, bool vsock)
{
	json_t *filter = json_loads(text, 0, NULL);

	assert_non_null(filter);
	hook_seccomp_open(filter, vsock, open_, sizeof(open_));
	json_decref(filter);
	return open_;
}

#define REFUSING "\"defaultAction\":\"SCMP_ACT_ERRNO\""

static void test_none_and_nonsense_let_through(void **state)
{
	(void)state;
	hook_seccomp_open(NULL, false, open_, sizeof(open_));
	assert_string_equal(open_, "everything: there is no filter");
	assert_string_equal(judge("[]", false), "everything: there is no filter");
	assert_non_null(strstr(judge("{}", false), "socket(AF_VSOCK)"));
	assert_non_null(strstr(judge("{\"defaultAction\":\"SCMP_ACT_LOG\"}", false), "more"));
}

static void test_a_default_that_refuses_closes(void **state)
{
	(void)state;
	assert_string_equal(judge("{" REFUSING "}", true), "");
	assert_string_equal(judge("{\"defaultAction\":\"SCMP_ACT_KILL_PROCESS\"}", true), "");
}

static void test_a_rule_opens_for_the_arguments_that_it_matches(void **state)
{
#define RULE(args)                                                                                 \
	"{" REFUSING                                                                               \
	",\"syscalls\":[{\"names\":[\"socket\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[" args     \
	"]}]}"
	(void)state;
	assert_string_equal(
		judge(RULE("{\"index\":0,\"value\":2,\"op\":\"SCMP_CMP_EQ\"}"), true), "");
	assert_string_equal(judge(RULE("{\"index\":0,\"value\":40,\"op\":\"SCMP_CMP_EQ\"}"), true),
		"socket(AF_VSOCK)");
	assert_string_equal(judge(RULE("{\"index\":0,\"value\":40,\"op\":\"SCMP_CMP_GE\"},{"
				       "\"index\":1,\"value\":9,\"op\":\"SCMP_CMP_EQ\"}"),
				    true),
		"");
	assert_non_null(
		strstr(judge(RULE("{\"index\":0,\"value\":16,\"op\":\"SCMP_CMP_NE\"}"), true),
			"AF_PACKET"));
	/* what is not understood, and one argument named twice, which the runtimes take for either */
	assert_non_null(strstr(
		judge(RULE("{\"index\":0,\"value\":2,\"op\":\"SCMP_CMP_X\"}"), true), "AF_VSOCK"));
	assert_non_null(strstr(
		judge(RULE("{\"index\":9,\"value\":2,\"op\":\"SCMP_CMP_EQ\"}"), true), "AF_VSOCK"));
	assert_non_null(strstr(judge(RULE("{\"index\":0,\"value\":40,\"op\":\"SCMP_CMP_NE\"},{"
					  "\"index\":0,\"value\":2,\"op\":\"SCMP_CMP_EQ\"}"),
				       true),
		"AF_VSOCK"));
#undef RULE
}

static void test_flags_are_compared_under_their_mask(void **state)
{
	static const char clone[] =
		"{" REFUSING
		",\"syscalls\":[{\"names\":[\"clone\",\"unshare\"],\"action\":\"SCMP_ACT_ALLOW\","
		"\"args\":[{\"index\":0,\"value\":%u,\"valueTwo\":0,\"op\":\"SCMP_CMP_MASKED_EQ\"}]"
		"}]}";
	char text[256];

	(void)state;
	(void)snprintf(text, sizeof(text), clone, 0x50000000U);
	assert_string_equal(judge(text, true), "");
	(void)snprintf(text, sizeof(text), clone, 0x10000000U);
	assert_string_equal(judge(text, true), "unshare(CLONE_NEWNET)");
}

static void test_a_default_that_allows_needs_a_refusal_and_nothing_beside_it(void **state)
{
#define TWO(more)                                                                                  \
	"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"bpf\"],\"action\":"     \
	"\"SCMP_ACT_ERRNO\"}" more "]}"
	(void)state;
	(void)judge(TWO(""), true);
	assert_null(strstr(open_, "bpf"));
	(void)judge("{" REFUSING
		    ",\"syscalls\":[{\"names\":[\"bpf\"],\"action\":\"SCMP_ACT_ERRNO\"},"
		    "{\"names\":[\"bpf\"],\"action\":\"SCMP_ACT_ALLOW\"}]}",
		true);
	assert_string_equal(open_, "bpf");
#undef TWO
}

static void test_io_uring_counts_where_there_is_a_vsock(void **state)
{
	static const char text[] =
		"{" REFUSING
		",\"syscalls\":[{\"names\":[\"io_uring_setup\"],\"action\":\"SCMP_ACT_ALLOW\"}]}";

	(void)state;
	assert_string_equal(judge(text, false), "");
	assert_string_equal(judge(text, true), "io_uring_setup");
}

/* As an engine hands it to the runtime for a container without capabilities. */
static void test_the_shipped_profile_closes_everything(void **state)
{
	json_t *profile =
		json_load_file("scripts/hooks/seccomp.json", JSON_REJECT_DUPLICATES, NULL);

	(void)state;
	assert_non_null(profile);
	hook_seccomp_open(profile, true, open_, sizeof(open_));
	assert_string_equal(open_, "");
	json_decref(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_and_nonsense_let_through),
		cmocka_unit_test(test_a_default_that_refuses_closes),
		cmocka_unit_test(test_a_rule_opens_for_the_arguments_that_it_matches),
		cmocka_unit_test(test_flags_are_compared_under_their_mask),
		cmocka_unit_test(test_a_default_that_allows_needs_a_refusal_and_nothing_beside_it),
		cmocka_unit_test(test_io_uring_counts_where_there_is_a_vsock),
		cmocka_unit_test(test_the_shipped_profile_closes_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
