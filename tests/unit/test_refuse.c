/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_refuse.c – what a client is told: one whole response that ends the connection, JSON that a JSON library reads, a
 * sentence where people see it, and no byte in it that could end a line or steer a terminal.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "http/h1_head.h"
#include "model/msg.h"
#include "proxy/refuse.h"

enum { OUT = 16384 };

#define WHY "this host is not allowed"

static const struct refusal full = {
	.category = CATEGORY_HOST_DENIED,
	.why = WHY,
	.host = "evil.test",
	.rule = "default",
	.policy = "a policy",
	.name = "GH_TOKEN",
};

/* The head, and the body behind it. */
static struct slice answer(const struct refusal *r, struct buf *out, struct msg *ret)
{
	const char *why = "cut";
	size_t scan = 0, used;

	buf_init(out, OUT);
	assert_int_equal(refuse_write(r, out), 0);
	if (h1_response_parse(buf_slice(out), &scan, r->head, ret, &used, &why) != 1)
		fail_msg("%s", why);
	return slice_skip(buf_slice(out), used);
}

static void assert_field(const struct msg *m, const char *name, const char *value)
{
	const struct field *f = msg_find(m, slice_str(name));

	if (!f || !slice_eq(f->value, slice_str(value)))
		fail_msg("%s is not %s", name, value);
}

static void assert_member(const json_t *error, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(error, key));

	if (!value)
		assert_null(json_object_get(error, key));
	else if (!text || strcmp(text, value) != 0)
		fail_msg("%s is %s, not %s", key, text ? text : "missing", value);
}

/* The object "error", checked for all members; the message is given back in text. */
static void assert_json(struct slice body, const struct refusal *r, char text[1024])
{
	json_error_t why;
	json_t *root = json_loadb((const char *)body.p, body.n, JSON_REJECT_DUPLICATES, &why);
	json_t *error;
	const char *message;

	if (!root)
		fail_msg("%s in %.*s", why.text, SLICE_ARG(body));
	assert_int_equal(json_object_size(root), 1);
	error = json_object_get(root, "error");
	assert_int_equal(json_object_size(error),
		4 + (r->host[0] != 0) + (r->rule[0] != 0) + (r->name != NULL));
	assert_member(error, "category", category_name(r->category));
	assert_member(error, "host", r->host[0] ? r->host : NULL);
	assert_member(error, "rule", r->rule[0] ? r->rule : NULL);
	assert_member(error, "policy", r->policy);
	assert_member(error, "credential", r->name);
	assert_member(error, "hint", category_hint(r->category));
	message = json_string_value(json_object_get(error, "message"));
	assert_non_null(message);
	(void)snprintf(text, 1024, "%s", message);
	json_decref(root);
}

static void test_json(void **state)
{
	char message[1024], reason[1024];

	(void)state;
	for (int c = CATEGORY_HOST_DENIED; c < CATEGORY_COUNT; c++)
		for (unsigned bits = 0; bits < 16; bits++) {
			struct refusal r = full;
			struct slice body;
			struct buf out;
			struct msg m;

			r.category = (enum category)c;
			r.host = bits & 1 ? r.host : "";
			r.rule = bits & 2 ? r.rule : "";
			r.name = bits & 4 ? r.name : NULL;
			r.why = bits & 8 ? r.why : "";
			body = answer(&r, &out, &m);
			assert_int_equal(m.status, category_status(r.category));
			assert_int_equal(m.framing, FRAMING_LENGTH);
			assert_int_equal(m.length, body.n);
			assert_false(m.keep_alive);
			assert_field(&m, "content-type", "application/json");
			assert_field(&m, "sallyport-refusal", category_name(r.category));
			assert_field(&m, "cache-control", "no-store");
			assert_field(&m, "connection", "close");
			assert_json(body, &r, message);
			/* people see the same sentence in the status line */
			(void)snprintf(reason, sizeof(reason), "%.*s", SLICE_ARG(m.reason));
			assert_string_equal(reason, message);
			buf_done(&out);
		}
}

static void test_message(void **state)
{
	static const struct {
		const char *host, *name, *why, *rule, *message;
	} rows[] = {
		{"evil.test", "GH_TOKEN", WHY, "default",
			"sallyport: host-denied: evil.test: credential GH_TOKEN: " WHY
			", by rule default"},
		{"evil.test", NULL, WHY, "default",
			"sallyport: host-denied: evil.test: " WHY ", by rule default"},
		{"", NULL, WHY, "", "sallyport: host-denied: " WHY},
		{"", NULL, "", "", "sallyport: host-denied"},
	};
	char message[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct refusal r = full;
		struct buf out;
		struct msg m;

		r.host = rows[i].host, r.name = rows[i].name, r.why = rows[i].why;
		r.rule = rows[i].rule;
		assert_json(answer(&r, &out, &m), &r, message);
		assert_string_equal(message, rows[i].message);
		buf_done(&out);
	}
}

/* The same head, its length too, and not a byte behind it (RFC 9110 section 9.3.2). */
static void test_head(void **state)
{
	(void)state;
	for (int plain = 0; plain < 2; plain++) {
		struct refusal r = full;
		struct buf get, head;
		struct msg m;
		struct slice body;

		r.plain = plain;
		body = answer(&r, &get, &m);
		r.head = true;
		assert_true(body.n > 0);
		assert_int_equal(answer(&r, &head, &m).n, 0);
		assert_true(slice_eq(
			buf_slice(&head), slice_first(buf_slice(&get), buf_used(&get) - body.n)));
		buf_done(&get);
		buf_done(&head);
	}
}

static void test_plain(void **state)
{
	static const char text[] = "sallyport: host-denied: evil.test: " WHY ", by rule default\n"
				   "ask the operator to allow this host in the sandbox's policy\n";
	struct refusal r = full;
	struct slice body;
	struct buf out;
	struct msg m;

	(void)state;
	r.plain = true;
	r.name = NULL;
	body = answer(&r, &out, &m);
	assert_true(slice_eq(body, slice_str(text)));
	assert_int_equal(m.length, body.n);
	assert_field(&m, "content-type", "text/plain; charset=utf-8");
	assert_field(&m, "sallyport-refusal", "host-denied");
	buf_done(&out);
}

static void test_who_wants_plain(void **state)
{
	static const struct {
		const char *agent;
		bool plain;
	} rows[] = {
		{"git/2.39.5", true},
		{"Git/2.39.5 (Apple Git-154)", true},
		{"git/", true},
		{"git", false},
		{"", false},
		{"git-lfs/3.3.0", false},
		{"GitHub CLI 2.0", false},
		{"x git/2", false},
		{"curl/7.88.1", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (refuse_wants_plain(slice_str(rows[i].agent)) != rows[i].plain)
			fail_msg("%s", rows[i].agent);
}

static bool printable(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < 0x20 || s.p[i] == 0x7f) && s.p[i] != '\n' && s.p[i] != '\r')
			return false;
	return true;
}

/* Names of rules and policies are an operator's text, a cause may be a system's: they are told, without what steers. */
static void test_no_control_bytes(void **state)
{
	static const char *const texts[] = {"a\r\nX-Evil: 1", "a\nb", "\x1b[31mred", "a\tb\x7f",
		"\x01\x02\x1f", "quote \" and \\ back"};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(texts); i++)
		for (unsigned which = 0; which < 4; which++) {
			struct refusal r = full;
			const char *text = texts[i / 2];
			char message[1024];
			struct slice body;
			struct buf out;
			struct msg m;

			r.why = which == 0 ? text : r.why;
			r.rule = which == 1 ? text : r.rule;
			r.name = which == 2 ? text : r.name;
			r.policy = which == 3 ? text : r.policy;
			r.plain = i % 2;
			body = answer(&r, &out, &m);
			assert_true(printable(buf_slice(&out)));
			assert_null(msg_find(&m, SLICE("x-evil")));
			assert_int_equal(m.length, body.n);
			if (!r.plain) {
				assert_json(body, &r, message);
				assert_true(printable(m.reason));
				assert_null(strpbrk(message, "\r\n\t\x1b\x7f"));
			}
			buf_done(&out);
		}
}

/* The longest texts: cut, whole and sound. */
static void test_long_texts(void **state)
{
	char host[LIMIT_NAME + 1], why[2001], message[1024];

	(void)state;
	memset(host, 'h', sizeof(host));
	host[LIMIT_NAME] = '\0';
	for (size_t i = 0; i < sizeof(why) - 1; i += 2)
		memcpy(why + i, "\xc3\xa4", 2);
	why[sizeof(why) - 1] = '\0';
	for (unsigned skip = 0; skip < 4; skip++) {
		struct refusal r = full;
		struct slice body;
		struct buf out;
		struct msg m;

		r.host = host;
		r.why = why + skip; /* the cut falls in and between characters */
		r.plain = skip & 1;
		body = answer(&r, &out, &m);
		assert_int_equal(m.length, body.n);
		assert_true(m.reason.n > 700);
		if (!r.plain)
			assert_json(body, &r, message);
		buf_done(&out);
	}
}

static void test_no_room(void **state)
{
	struct buf out;
	size_t whole;

	(void)state;
	buf_init(&out, OUT);
	assert_int_equal(refuse_write(&full, &out), 0);
	whole = buf_used(&out);
	buf_done(&out);
	for (size_t max = 1; max < whole; max++) {
		buf_init(&out, max);
		assert_int_equal(refuse_write(&full, &out), -ENOBUFS);
		buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_who_wants_plain),
		cmocka_unit_test(test_no_control_bytes),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
