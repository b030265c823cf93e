/* SPDX-License-Identifier: Apache-2.0 */
/* test_fields.c – byte classes against the grammar written another way, the table of names, lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "exact.h"
#include "http/fields.h"
#include "model/msg.h"

static void test_bytes(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		bool token = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", (int)c));
		bool value = c == '\t' || (c >= 0x20 && c != 0x7f);

		assert_int_equal(fields_tchar((uint8_t)c), token);
		assert_int_equal(fields_vchar((uint8_t)c), value);
	}
}

static void test_token_and_value(void **state)
{
	(void)state;
	assert_true(fields_token(SLICE("x-Api_Key")));
	assert_false(fields_token(SLICE("")));
	assert_false(fields_token(SLICE("a b")));
	assert_false(fields_token(SLICE("a:")));
	assert_false(fields_token(SLICE("a\0")));
	assert_true(fields_value(SLICE("")));
	assert_true(fields_value(SLICE("a \t\xff;")));
	assert_false(fields_value(SLICE("a\r")));
	assert_false(fields_value(SLICE("a\n")));
	assert_false(fields_value(SLICE("a\0b")));
	assert_false(fields_value(SLICE("\x7f")));
}

static void test_hop(void **state)
{
	static const char *const hop[] = {"Connection", "KEEP-ALIVE", "proxy-connection",
		"Proxy-Authenticate", "Proxy-Authorization", "TE", "Transfer-Encoding", "Upgrade",
		"HTTP2-Settings"};
	static const char *const kept[] = {"", "Host", "Content-Length", "Authorization", "T",
		"TEE", "Trailer", "Connection ", "Content-Encoding", "Keep-Aliv"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hop); i++) {
		assert_true(fields_hop(slice_str(hop[i])));
		assert_true(fields_drop_response(slice_str(hop[i])));
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		assert_false(fields_hop(slice_str(kept[i])));
		assert_false(fields_drop_response(slice_str(kept[i])));
	}
	assert_true(fields_drop_response(SLICE("Alt-Svc")));
	assert_false(fields_hop(SLICE("alt-svc")));
}

static void test_trailer_allowed(void **state)
{
	static const char *const no[] = {"Transfer-Encoding", "content-length", "Content-Type",
		"Content-Encoding", "Content-Range", "CONTENT-ANYTHING", "content-", "Host",
		"Authorization", "Cookie", "Set-Cookie", "Proxy-Authorization", "Cache-Control",
		"Expect", "If-None-Match", "Range", "TE", "Trailer", "Connection", "Upgrade",
		"Location", "WWW-Authenticate", "X-HTTP-Method-Override", "Alt-Svc", "Age", "Date",
		"Vary", "Retry-After", "x-forwarded-for"};
	static const char *const yes[] = {"grpc-status", "Grpc-Message", "x-bin", "ETag",
		"Server-Timing", "Content-Digest", "content-md5", "Digest", "Signature", "Content",
		"Hosts", "Authentication-Info", "X-Checksum", "Trace-Proto-Bin"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(fields_trailer_allowed(slice_str(no[i])));
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(fields_trailer_allowed(slice_str(yes[i])));
}

static struct msg with(const char *name, const char *value)
{
	return (struct msg){
		.minor = 1, .nfields = 1, .fields = {{slice_str(name), slice_str(value)}}};
}

static void test_wants_trailers(void **state)
{
	static const struct {
		const char *name, *value;
		bool wants;
	} rows[] = {
		{"TE", "trailers", true},
		{"te", "deflate;q=0.5, Trailers", true},
		{"TE", "trailers;q=0.5", false},
		{"TE", "trailer", false},
		{"TE", "", false},
		{"TEE", "trailers", false},
		{"Trailer", "trailers", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg m = with(rows[i].name, rows[i].value);

		assert_int_equal(fields_wants_trailers(&m), rows[i].wants);
		m.minor = 0;
		assert_false(fields_wants_trailers(&m));
	}
}

static void test_connection_names(void **state)
{
	static const struct {
		const char *value;
		bool names;
	} rows[] = {
		{"", false},
		{"close", false},
		{"Keep-Alive, TE,, upgrade", false},
		{"close, X-One", true},
		{"content-length", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg m = with("Connection", rows[i].value);

		assert_int_equal(fields_connection_names(&m), rows[i].names);
		m.fields[0].name = SLICE("X");
		assert_false(fields_connection_names(&m));
	}
}

static void test_members(void **state)
{
	static const struct {
		const char *list, *members; /* joined by '|' */
	} rows[] = {
		{"", ""},
		{"a", "a|"},
		{"a,b", "a|b|"},
		{" a \t, b ", "a|b|"},
		{",,a,", "||a|"},
		{"a b, c", "a b|c|"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice copy = exact_copy(slice_str(rows[i].list)), list = copy, member;
		char got[64] = "";

		while (fields_member(&list, &member)) {
			strncat(got, (const char *)member.p, member.n);
			strcat(got, "|");
		}
		assert_string_equal(got, rows[i].members);
		exact_free(copy);
	}
}

static void test_token_in(void **state)
{
	(void)state;
	assert_true(fields_token_in(SLICE("keep-alive, Upgrade"), SLICE("upgrade")));
	assert_true(fields_token_in(SLICE("close"), SLICE("CLOSE")));
	assert_true(fields_token_in(SLICE(",,\tclose\t,"), SLICE("close")));
	assert_false(fields_token_in(SLICE(""), SLICE("close")));
	assert_false(fields_token_in(SLICE("closed, xclose, clos"), SLICE("close")));
	assert_false(fields_token_in(SLICE("close;q=1"), SLICE("close")));
}

static void test_connection(void **state)
{
	struct msg m = {.nfields = 4,
		.fields = {
			{SLICE("Host"), SLICE("x-host")},
			{SLICE("Connection"), SLICE("close, X-One")},
			{SLICE("connection"), SLICE("x-two")},
			{SLICE("X-One"), SLICE("x-three")},
		}};

	(void)state;
	assert_true(fields_named_by_connection(&m, SLICE("x-one")));
	assert_true(fields_named_by_connection(&m, SLICE("X-TWO")));
	assert_false(fields_named_by_connection(&m, SLICE("x-host")));
	assert_false(fields_named_by_connection(&m, SLICE("x-three")));
	assert_false(fields_named_by_connection(&m, SLICE("x")));
	assert_true(fields_has_token(&m, SLICE("x-one"), SLICE("x-three")));
	m.nfields = 1;
	assert_false(fields_named_by_connection(&m, SLICE("x-one")));
	/* the frame of the body is not the client's to take off */
	m.fields[0] = (struct field){SLICE("Connection"), SLICE("close, Content-Length, x")};
	assert_true(fields_has_token(&m, SLICE("connection"), SLICE("content-length")));
	assert_false(fields_named_by_connection(&m, SLICE("content-length")));
	assert_false(fields_named_by_connection(&m, SLICE("Content-Length")));
	assert_true(fields_named_by_connection(&m, SLICE("x")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_token_and_value),
		cmocka_unit_test(test_hop),
		cmocka_unit_test(test_trailer_allowed),
		cmocka_unit_test(test_wants_trailers),
		cmocka_unit_test(test_connection_names),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_token_in),
		cmocka_unit_test(test_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
