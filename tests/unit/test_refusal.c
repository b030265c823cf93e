/* SPDX-License-Identifier: Apache-2.0 */
/* test_refusal.c – every reason of the kernel has a category and words of its own; who and where are taken over. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "audit/event.h"
#include "bpf/capture.h"
#include "proxy/refusal.h"

static struct capture_unix_refusal refusal(unsigned reason)
{
	return (struct capture_unix_refusal){
		.refusal = {.netns = 5,
			.dst = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
			.dport = 443,
			.proto = IPPROTO_TCP,
			.reason = (uint8_t)reason,
			.error = EACCES,
			.count = 1,
			.client = {.pid = 8, .tgid = 7, .comm = "sh"}}};
}

static void test_every_reason(void **state)
{
	static const unsigned passes[] = {
		CAPTURE_PASSED, CAPTURE_DNS, CAPTURE_LOCAL, CAPTURE_OPENED};
	char seen[CAPTURE_REASON_COUNT][AUDIT_NOTE] = {""};

	(void)state;
	for (unsigned reason = CAPTURE_METADATA; reason < CAPTURE_REASON_COUNT; reason++) {
		struct capture_unix_refusal from = refusal(reason);
		struct audit_event e;

		refusal_event(&from, &e);
		assert_int_not_equal(e.category, CATEGORY_NONE);
		assert_string_not_equal(e.reason, "reason of another version");
		for (unsigned other = 0; other < reason; other++)
			assert_string_not_equal(e.reason, seen[other]);
		strcpy(seen[reason], e.reason);
	}
	for (unsigned i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		assert_true(passes[i] < CAPTURE_METADATA); /* the loop left out nothing else */
}

static void test_some(void **state)
{
	static const struct {
		unsigned reason;
		enum category category;
		const char *words;
	} rows[] = {
		{CAPTURE_METADATA, CATEGORY_METADATA_ADDRESS, "cloud metadata"},
		{CAPTURE_BENCHMARK, CATEGORY_PRIVATE_ADDRESS, "benchmark range"},
		{CAPTURE_HOST_ADDRESS, CATEGORY_PRIVATE_ADDRESS, "address of the host"},
		{CAPTURE_UDP, CATEGORY_PROTOCOL_DENIED, "UDP other than DNS"},
		{CAPTURE_INACTIVE, CATEGORY_NOT_ATTACHED, "sandbox that is not active"},
		{CAPTURE_REASON_COUNT, CATEGORY_PROTOCOL_DENIED, "reason of another version"},
		{CAPTURE_PASSED, CATEGORY_PROTOCOL_DENIED, "reason of another version"},
		{255, CATEGORY_PROTOCOL_DENIED, "reason of another version"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capture_unix_refusal from = refusal(rows[i].reason);
		struct audit_event e;

		refusal_event(&from, &e);
		assert_int_equal(e.category, rows[i].category);
		assert_string_equal(e.reason, rows[i].words);
	}
}

static void test_who_and_where(void **state)
{
	struct capture_unix_refusal from = refusal(CAPTURE_PRIVATE);
	struct audit_event e;

	(void)state;
	refusal_event(&from, &e);
	assert_int_equal(e.kind, AUDIT_REFUSAL);
	assert_int_equal(e.decision, AUDIT_DENY);
	assert_string_equal(e.rule, "kernel");
	assert_true(e.client.attributed);
	assert_int_equal(e.client.tgid, 7);
	assert_memory_equal(e.asked.ip, from.refusal.dst, 16);
	assert_int_equal(e.asked.port, 443);
	assert_int_equal(e.error, EACCES);
	assert_int_equal(e.protocols, AUDIT_PROTOCOL_TCP);
	from.refusal.proto = IPPROTO_UDP;
	refusal_event(&from, &e);
	assert_int_equal(e.protocols, AUDIT_PROTOCOL_UDP);
	from.refusal.netns = CAPTURE_DIALLER;
	refusal_event(&from, &e);
	assert_string_equal(e.rule, "dialler");
}

static void test_without_a_process_or_a_transport(void **state)
{
	struct capture_unix_refusal from = refusal(CAPTURE_PROTOCOL);
	struct audit_event e;

	(void)state;
	from.refusal.client = (struct capture_client){.tgid = 0};
	from.refusal.dport = 262; /* MPTCP: more than proto holds */
	from.refusal.proto = 0;
	refusal_event(&from, &e);
	assert_false(e.client.attributed);
	assert_int_equal(e.protocols, 0);
	assert_string_equal(e.socket, "protocol 262");
	assert_int_equal(e.asked.port, 0);
	from.refusal.reason = CAPTURE_FAMILY;
	refusal_event(&from, &e);
	assert_string_equal(e.socket, "family 262");
	from.refusal.reason = CAPTURE_UNIX;
	memset(from.path, 'x', CAPTURE_UNIX_PATH); /* as long as a path may be */
	refusal_event(&from, &e);
	assert_int_equal(e.protocols, AUDIT_PROTOCOL_UNIX);
	assert_string_equal(e.socket, "");
	assert_int_equal(strlen(e.path), CAPTURE_UNIX_PATH);
	assert_int_equal(e.asked.ip[10], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_reason),
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_who_and_where),
		cmocka_unit_test(test_without_a_process_or_a_transport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
