/* SPDX-License-Identifier: Apache-2.0 */
/* test_category.c – the closed list, word for word: clients, maps and audits of other versions rely on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "model/category.h"

static const struct {
	enum category category;
	const char *name;
	unsigned status;
} rows[] = {
	{CATEGORY_NONE, "none", 200},
	{CATEGORY_HOST_DENIED, "host-denied", 403},
	{CATEGORY_METHOD_DENIED, "method-denied", 403},
	{CATEGORY_PATH_DENIED, "path-denied", 403},
	{CATEGORY_PROTOCOL_DENIED, "protocol-denied", 403},
	{CATEGORY_PRIVATE_ADDRESS, "private-address", 403},
	{CATEGORY_METADATA_ADDRESS, "metadata-address", 403},
	{CATEGORY_HOST_MISMATCH, "host-mismatch", 403},
	{CATEGORY_BAD_REQUEST, "bad-request", 400},
	{CATEGORY_ASK_PENDING, "ask-pending", 403},
	{CATEGORY_ASK_DENIED, "ask-denied", 403},
	{CATEGORY_ASK_TIMEOUT, "ask-timeout", 403},
	{CATEGORY_CREDENTIAL_UNAVAILABLE, "credential-unavailable", 503},
	{CATEGORY_CREDENTIAL_PAUSED, "credential-paused", 403},
	{CATEGORY_LIMIT, "limit", 429},
	{CATEGORY_DNS_FAILURE, "dns-failure", 502},
	{CATEGORY_DNS_TIMEOUT, "dns-timeout", 504},
	{CATEGORY_UPSTREAM_CONNECT, "upstream-connect", 502},
	{CATEGORY_UPSTREAM_TLS, "upstream-tls", 502},
	{CATEGORY_UPSTREAM_TIMEOUT, "upstream-timeout", 504},
	{CATEGORY_UNSCRUBBABLE, "unscrubbable", 502},
	{CATEGORY_NOT_ATTACHED, "not-attached", 403},
};

static void test_names_and_statuses(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_SIZE(rows), CATEGORY_COUNT);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(rows[i].category, i);
		assert_string_equal(category_name(rows[i].category), rows[i].name);
		assert_int_equal(category_status(rows[i].category), rows[i].status);
	}
}

/* A hint is one sentence for people, of its own, and nothing that a header or a terminal would trip over. */
static void test_hints(void **state)
{
	(void)state;
	assert_string_equal(category_hint(CATEGORY_NONE), "");
	for (int c = CATEGORY_NONE + 1; c < CATEGORY_COUNT; c++) {
		const char *hint = category_hint((enum category)c);

		assert_true(strlen(hint) > 10 && strlen(hint) < 200);
		for (const char *p = hint; *p; p++)
			assert_true(*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\');
		for (int other = CATEGORY_NONE + 1; other < c; other++)
			assert_string_not_equal(hint, category_hint((enum category)other));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_statuses),
		cmocka_unit_test(test_hints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
