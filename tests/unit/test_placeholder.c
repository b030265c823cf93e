/* SPDX-License-Identifier: Apache-2.0 */
/* test_placeholder.c – how placeholders are made, kept, written, read back and found. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cred/credset.h"
#include "cred/placeholder.h"
#include "exact.h"

static struct credset *set_of(const char *const *names, unsigned n)
{
	const struct source_trust trust = {0, 0};
	struct fault fault = {{0}};
	struct credset *s = NULL;
	char text[4096];
	size_t used = (size_t)sprintf(text, "credentials:\n");

	for (unsigned i = 0; i < n; i++)
		used += (size_t)sprintf(text + used,
			"- {name: %s, source: {value: 0123456789abcdef}, swap: [{hosts: [a.test], "
			"in: [bearer]}]}\n",
			names[i]);
	if (credset_load(slice_of(text, used), "f", &trust, &fault, &s) < 0)
		fail_msg("%s", fault.text);
	return s;
}

/* all bytes in turn, so that the unfair ones come too */
static int counting(void *arg, uint8_t *to, size_t n)
{
	uint8_t *next = arg;

	for (size_t i = 0; i < n; i++)
		to[i] = (*next)++;
	return 0;
}

static int stuck(void *arg, uint8_t *to, size_t n)
{
	memset(to, *(uint8_t *)arg, n);
	return 0;
}

static int broken(void *arg, uint8_t *to, size_t n)
{
	(void)arg;
	(void)to;
	(void)n;
	return -ENOSYS;
}

static void test_make(void **state)
{
	static const char *const first[] = {"A", "B"}, *const second[] = {"B", "C"};
	struct credset *ab = set_of(first, 2), *bc = set_of(second, 2);
	struct placeholders *p = NULL, *q = NULL;
	uint8_t next = 0;
	unsigned counts[256] = {0};

	(void)state;
	assert_int_equal(placeholders_make(NULL, ab, counting, &next, &p), 0);
	assert_string_equal(placeholders_text(p, "A"), "spx_0123456789abcdefghijklmnopqrstuv");
	assert_string_equal(placeholders_text(p, "B"), "spx_wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01");
	assert_null(placeholders_text(p, "C"));
	assert_string_equal(placeholders_find(p, slice_str(placeholders_text(p, "B"))), "B");
	assert_int_equal(placeholders_make(p, bc, counting, &next, &q), 0);
	assert_string_equal(
		placeholders_text(q, "A"), placeholders_text(p, "A")); /* gone ones are kept */
	assert_string_equal(placeholders_text(q, "B"), placeholders_text(p, "B"));
	assert_non_null(placeholders_text(q, "C"));
	assert_null(placeholders_text(p, "C"));
	placeholders_free(p);

	/* over all bytes each character comes four times: none is likelier */
	for (unsigned i = 0; i < 31; i++) {
		next = (uint8_t)(i * 8 < 248 ? i * 8 : 0);
		assert_int_equal(placeholders_make(NULL, ab, counting, &next, &p), 0);
		for (const char *c = placeholders_text(p, "A") + 4; *c; c++)
			counts[(uint8_t)*c]++;
		placeholders_free(p);
	}
	for (const char *c = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"; *c;
		c++)
		assert_in_range(counts[(uint8_t)*c], 12, 20);

	p = NULL;
	assert_int_equal(placeholders_make(NULL, ab, broken, NULL, &p), -ENOSYS);
	next = 255;
	assert_int_equal(placeholders_make(NULL, ab, stuck, &next, &p), -EIO);
	next = 1; /* the same text twice */
	assert_int_equal(placeholders_make(NULL, ab, stuck, &next, &p), -EEXIST);
	assert_null(p);
	placeholders_free(q);
	credset_unref(ab);
	credset_unref(bc);
}

static void test_record(void **state)
{
	static const char *const names[] = {"A", "B.c-d"};
	struct credset *s = set_of(names, 2);
	struct placeholders *p = NULL, *q = NULL;
	struct fault fault = {{0}};
	struct slice text;
	uint8_t next = 0;
	struct buf b;

	(void)state;
	assert_int_equal(placeholders_make(NULL, s, counting, &next, &p), 0);
	buf_init(&b, PLACEHOLDER_RECORD);
	assert_int_equal(placeholders_save(p, &b), 0);
	text = exact_copy(buf_slice(&b));
	assert_true(slice_eq(
		text, SLICE("{\"version\":1,\"placeholders\":[{\"credential\":\"A\",\"text\":"
			    "\"spx_0123456789abcdefghijklmnopqrstuv\"},{\"credential\":\"B.c-d\","
			    "\"text\":"
			    "\"spx_wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01\"}]}\n")));
	assert_int_equal(placeholders_load(text, "f", &fault, &q), 0);
	assert_string_equal(placeholders_text(q, "A"), placeholders_text(p, "A"));
	assert_string_equal(placeholders_text(q, "B.c-d"), placeholders_text(p, "B.c-d"));
	placeholders_free(q);
	for (size_t n = 0; n < text.n - 1; n++) { /* a record cut short is no record */
		struct slice part = exact_copy(slice_first(text, n));

		q = NULL;
		assert_int_equal(placeholders_load(part, "f", &fault, &q), -EBADMSG);
		assert_null(q);
		exact_free(part);
	}
	exact_free(text);
	buf_done(&b);
	placeholders_free(p);
	credset_unref(s);
}

static void test_record_bad(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{version: 2, placeholders: []}",
		"{version: 1}",
		"{version: 1, placeholders: {}}",
		"{version: 1, placeholders: [{credential: A}]}",
		"{version: 1, placeholders: [{credential: A, text: "
		"spx_0123456789abcdefghijklmnopqrstu}]}",
		"{version: 1, placeholders: [{credential: A, text: "
		"spx_0123456789abcdefghijklmnopqrst-v}]}",
		"{version: 1, placeholders: [{credential: A, text: "
		"spy_0123456789abcdefghijklmnopqrstuv}]}",
		"{version: 1, placeholders: [{credential: A, text: "
		"spx_0123456789abcdefghijklmnopqrstuv},"
		"{credential: A, text: spx_1123456789abcdefghijklmnopqrstuv}]}",
		"{version: 1, placeholders: [{credential: A, text: "
		"spx_0123456789abcdefghijklmnopqrstuv},"
		"{credential: B, text: spx_0123456789abcdefghijklmnopqrstuv}]}",
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault fault = {{0}};
		struct placeholders *p = NULL;

		if (placeholders_load(slice_str(bad[i]), "f", &fault, &p) != -EBADMSG)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(strncmp(fault.text, "f:1:", 4), 0);
	}
}

static void test_search(void **state)
{
	static const char *const names[] = {"A", "B"};
	static const char text[] =
		"spx_spx_0123456789abcdefghijklmnopqrstuv spx_no "
		"xspx_wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01spx_0123456789abcdefghijklmnopqrstuv";
	struct credset *s = set_of(names, 2);
	struct placeholders *p = NULL;
	uint8_t next = 0;

	(void)state;
	assert_int_equal(placeholders_make(NULL, s, counting, &next, &p), 0);
	for (size_t n = 0; n < sizeof(text); n++) { /* every prefix holds those that are whole */
		struct slice in = exact_copy(slice_of(text, n));
		unsigned hits = 0;
		size_t at = 0;

		while (placeholders_search(p, in, &at))
			hits++;
		assert_int_equal(at, n);
		assert_int_equal(hits, (n >= 40) + (n >= 49 + 36) + (n >= 49 + 72));
		exact_free(in);
	}
	assert_null(placeholders_find(p, SLICE("")));
	assert_null(placeholders_find(p, SLICE("spx_0123456789abcdefghijklmnopqrstuvw")));
	assert_null(placeholders_find(p, SLICE("spx_0123456789abcdefghijklmnopqrstuV")));
	placeholders_free(p);
	placeholders_free(NULL);
	credset_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_bad),
		cmocka_unit_test(test_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
