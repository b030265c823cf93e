/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire.c – DNS packets: what is read, every prefix of it, and what is written, read back by a
 * second reader. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "dns/wire.h"

#define OPT                         "\0\0\x29\x10\0\0\0\0\0\0\0"
#define OPT_DO                      "\0\0\x29\x10\0\0\0\x80\0\0\0"
#define HEAD(flags, qd, an, ns, ar) "\x12\x34" flags "\0" qd "\0" an "\0" ns "\0" ar
#define QUERY                       HEAD("\x01\0", "\1", "\0", "\0", "\0")
#define QUERY_E                     HEAD("\x01\0", "\1", "\0", "\0", "\1")
#define NAME                        "\3wWw\7eXample\4tEst\0"
#define LABEL63                     "\77aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LABEL61                     "\75bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define LABEL62                     "\76bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

struct row {
	const char *what;
	struct slice packet;
	int expect;
	const char *name; /* NULL: not looked at */
	uint16_t type;
	bool not_plain, edns;
};

#define ROW(what, bytes, expect, ...)                                                              \
	{                                                                                          \
		what, {(const uint8_t *)(bytes), sizeof(bytes) - 1}, expect, __VA_ARGS__           \
	}

static const struct row rows[] = {
	ROW("A", QUERY NAME "\0\1\0\1", 0, "www.example.test", DNS_A),
	ROW("AAAA with EDNS", QUERY_E NAME "\0\x1c\0\1" OPT, 0, "www.example.test", DNS_AAAA,
		.edns = true),
	ROW("HTTPS", QUERY NAME "\0\x41\0\1", 0, "www.example.test", DNS_HTTPS),
	ROW("root", QUERY "\0\0\2\0\1", 0, "", 2),
	ROW("underscore", QUERY "\4_srv\1x\0\0\x21\0\1", 0, "_srv.x", DNS_SRV),
	ROW("EDNS options", QUERY_E NAME "\0\1\0\1\0\0\x29\x10\0\0\0\0\0\0\4\0\x0c\0\0", 0,
		"www.example.test", DNS_A, .edns = true),
	ROW("dot in a label", QUERY "\3a.b\1c\0\0\1\0\1", 0, "a\\b.c", DNS_A, .not_plain = true),
	ROW("space", QUERY "\3a b\1c\0\0\1\0\1", 0, "a\\b.c", DNS_A, .not_plain = true),
	ROW("NUL", QUERY "\3a\0b\1c\0\0\1\0\1", 0, "a\\b.c", DNS_A, .not_plain = true),
	ROW("high byte", QUERY "\2\xc3\xa9\1c\0\0\1\0\1", 0, "\\\\.c", DNS_A, .not_plain = true),
	ROW("255 bytes of name", QUERY LABEL63 LABEL63 LABEL63 LABEL61 "\0\0\1\0\1", 0, NULL,
		DNS_A),
	ROW("256 bytes of name", QUERY LABEL63 LABEL63 LABEL63 LABEL62 "\0\0\1\0\1", DNS_FORMERR),
	ROW("label of 64", QUERY "\100" LABEL63 "\0\0\1\0\1", DNS_FORMERR),
	ROW("pointer", QUERY "\3www\xc0\x0c\0\1\0\1", DNS_FORMERR),
	ROW("pointer alone", QUERY "\xc0\x0c\0\1\0\1", DNS_FORMERR),
	ROW("byte behind", QUERY NAME "\0\1\0\1\0", DNS_FORMERR),
	ROW("byte behind OPT", QUERY_E NAME "\0\1\0\1" OPT "\0", DNS_FORMERR, .edns = true),
	ROW("OPT that is not counted", QUERY NAME "\0\1\0\1" OPT, DNS_FORMERR),
	ROW("additional that is not OPT", QUERY_E NAME "\0\1\0\1\0\0\1\0\1\0\0\0\0\0\0",
		DNS_FORMERR),
	ROW("OPT with a name", QUERY_E NAME "\0\1\0\1\1a\0\0\x29\x10\0\0\0\0\0\0\0", DNS_FORMERR),
	ROW("OPT longer than the packet", QUERY_E NAME "\0\1\0\1\0\0\x29\x10\0\0\0\0\0\0\1",
		DNS_FORMERR),
	ROW("EDNS version 1", QUERY_E NAME "\0\1\0\1\0\0\x29\x10\0\0\1\0\0\0\0", DNS_BADVERS,
		.edns = true),
	ROW("two questions", HEAD("\x01\0", "\2", "\0", "\0", "\0") NAME "\0\1\0\1" NAME "\0\1\0\1",
		DNS_FORMERR),
	ROW("no question", HEAD("\x01\0", "\0", "\0", "\0", "\0"), DNS_FORMERR),
	ROW("an answer", HEAD("\x01\0", "\1", "\1", "\0", "\0") NAME "\0\1\0\1", DNS_FORMERR),
	ROW("an authority", HEAD("\x01\0", "\1", "\0", "\1", "\0") NAME "\0\1\0\1", DNS_FORMERR),
	ROW("two additional", HEAD("\x01\0", "\1", "\0", "\0", "\2") NAME "\0\1\0\1" OPT OPT,
		DNS_FORMERR),
	ROW("opcode UPDATE", HEAD("\x28\0", "\1", "\0", "\0", "\0") NAME "\0\1\0\1", DNS_NOTIMP),
	ROW("class CH", QUERY "\7version\4bind\0\0\x10\0\3", DNS_NOTIMP),
	ROW("a response", HEAD("\x81\0", "\1", "\0", "\0", "\0") NAME "\0\1\0\1", -EPROTO),
	ROW("empty", "", -EPROTO),
};

/* Parses a copy of exactly that length on the heap, so that a read behind the end is seen. */
static int parse(struct slice packet, struct dns_question *ret)
{
	uint8_t *copy = malloc(packet.n ? packet.n : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, packet.p, packet.n);
	r = dns_question_parse(slice_of(packet.n ? copy : copy + 1, packet.n), ret);
	free(copy);
	return r;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct dns_question q = {.id = 0x7777};
		int r = parse(row->packet, &q);

		if (r != row->expect)
			fail_msg("%s: %d, expected %d", row->what, r, row->expect);
		if (r < 0) {
			assert_int_equal(q.id, 0x7777); /* untouched */
			continue;
		}
		assert_int_equal(q.id, 0x1234);
		if (q.edns != row->edns)
			fail_msg("%s: edns", row->what);
		if (r != 0)
			continue;
		if (row->name)
			assert_string_equal(q.name, row->name);
		assert_int_equal(q.type, row->type);
		assert_int_equal(q.plain, !row->not_plain);
		assert_true(q.recursion);
	}
}

/* A query that is cut anywhere is never accepted, and never left without an answer once its header
 * is whole. */
static void test_prefixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].expect != 0)
			continue;
		for (size_t n = 0; n < rows[i].packet.n; n++) {
			struct dns_question q;
			int r = parse(slice_first(rows[i].packet, n), &q);

			assert_int_equal(r, n < DNS_HEADER ? -EPROTO : DNS_FORMERR);
		}
	}
}

static void test_longest_name(void **state)
{
	const struct slice packet = SLICE(QUERY LABEL63 LABEL63 LABEL63 LABEL61 "\0\0\1\0\1");
	struct dns_question q;

	(void)state;
	assert_int_equal(parse(packet, &q), 0);
	assert_int_equal(strlen(q.name), LIMIT_NAME);
	assert_int_equal(q.wire_n, DNS_QUESTION_MAX);
}

static struct addr v4(uint8_t last)
{
	return (struct addr){.ip = {[10] = 0xff, [11] = 0xff, 203, 0, 113, last}};
}

static struct addr v6(uint8_t last)
{
	return (struct addr){.ip = {0x20, 1, 0xd, 0xb8, [15] = last}};
}

static void test_answer_bytes(void **state)
{
	static const uint8_t expect[] = "\x12\x34\x81\x80\0\1\0\2\0\0\0\1" NAME "\0\1\0\1"
					"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xcb\0\x71\1"
					"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xcb\0\x71\2"
					"\0\0\x29\x04\xd0\0\0\x80\0\0\0";
	struct dns_reply reply = {.ttl = 60, .n = 3, .addrs = {v4(1), v6(9), v4(2)}};
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_question q;
	size_t n;

	(void)state;
	assert_int_equal(parse(SLICE(QUERY_E NAME "\0\1\0\1" OPT_DO), &q), 0);
	n = dns_answer_write(&q, &reply, out, DNS_ANSWER_MAX);
	assert_int_equal(n, sizeof(expect) - 1);
	assert_memory_equal(out, expect, n);
}

static void test_answer_aaaa(void **state)
{
	static const uint8_t expect[] =
		"\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME "\0\x1c\0\1"
		"\xc0\x0c\0\x1c\0\1\0\0\0\5\0\x10\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\x9";
	struct dns_reply reply = {.ttl = 5, .n = 2, .addrs = {v4(1), v6(9)}};
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_question q;
	size_t n;

	(void)state;
	assert_int_equal(parse(SLICE(QUERY NAME "\0\x1c\0\1"), &q), 0);
	n = dns_answer_write(&q, &reply, out, DNS_ANSWER_MAX);
	assert_int_equal(n, sizeof(expect) - 1);
	assert_memory_equal(out, expect, n);
}

/* NXDOMAIN, an empty answer, the errors: header, question as asked, no record but OPT. */
static void test_answer_rcodes(void **state)
{
	static const enum dns_rcode rcodes[] = {
		DNS_NOERROR, DNS_FORMERR, DNS_SERVFAIL, DNS_NXDOMAIN, DNS_NOTIMP};
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_question q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rcodes); i++) {
		struct dns_reply reply = {.rcode = rcodes[i]};

		assert_int_equal(parse(SLICE(QUERY NAME "\0\x10\0\1"), &q), 0);
		assert_int_equal(dns_answer_write(&q, &reply, out, DNS_ANSWER_MAX),
			DNS_HEADER + sizeof(NAME) - 1 + 4);
		assert_int_equal(out[2], 0x81);
		assert_int_equal(out[3], 0x80 | rcodes[i]);
		assert_memory_equal(
			out + 4, "\0\1\0\0\0\0\0\0" NAME "\0\x10\0\1", 8 + sizeof(NAME) - 1 + 4);
	}
}

static void test_answer_badvers(void **state)
{
	struct dns_reply reply = {.rcode = DNS_BADVERS};
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_question q;
	size_t n;

	(void)state;
	assert_int_equal(
		parse(SLICE(QUERY_E NAME "\0\1\0\1\0\0\x29\x10\0\0\1\0\0\0\0"), &q), DNS_BADVERS);
	n = dns_answer_write(&q, &reply, out, DNS_ANSWER_MAX);
	assert_int_equal(out[3] & 0xf, 0);
	assert_memory_equal(out + n - 11, "\0\0\x29\x04\xd0\1\0\0\0\0\0", 11);
}

static void test_answer_unreadable(void **state)
{
	struct dns_reply reply = {.rcode = DNS_FORMERR};
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_question q;

	(void)state;
	assert_int_equal(parse(SLICE(QUERY "\3www\xc0\x0c\0\1\0\1"), &q), DNS_FORMERR);
	assert_int_equal(dns_answer_write(&q, &reply, out, DNS_ANSWER_MAX), DNS_HEADER);
	assert_memory_equal(out, "\x12\x34\x81\x81\0\0\0\0\0\0\0\0", DNS_HEADER);
	/* another opcode is sent back */
	assert_int_equal(parse(SLICE(HEAD("\x28\x10", "\1", "\0", "\0", "\0")), &q), DNS_NOTIMP);
	reply.rcode = DNS_NOTIMP;
	assert_int_equal(dns_answer_write(&q, &reply, out, DNS_ANSWER_MAX), DNS_HEADER);
	assert_memory_equal(out, "\x12\x34\xa8\x94\0\0\0\0\0\0\0\0", DNS_HEADER);
}

/* The longest name, eight AAAA and OPT: exactly the maximum, which the header asserts to fit 512
 * bytes. */
static void test_answer_longest(void **state)
{
	struct dns_reply reply = {.ttl = 60, .n = LIMIT_ADDRESSES};
	uint8_t *out = malloc(DNS_ANSWER_MAX);
	struct dns_question q;

	(void)state;
	assert_non_null(out);
	for (unsigned i = 0; i < LIMIT_ADDRESSES; i++)
		reply.addrs[i] = v6((uint8_t)i);
	assert_int_equal(
		parse(SLICE(QUERY_E LABEL63 LABEL63 LABEL63 LABEL61 "\0\0\x1c\0\1" OPT), &q), 0);
	assert_int_equal(dns_answer_write(&q, &reply, out, DNS_ANSWER_MAX), DNS_ANSWER_MAX);
	free(out);
}

/* Records that fit are written behind a pointer to the name; those that do not are all left out, and TC is set. */
static void test_answer_records(void **state)
{
	static const uint8_t two[] = "\0\0\0\5\0\2\1a\0\0\0\6\0\3\2bc";
	static const uint8_t expect[] = "\x12\x34\x81\x80\0\1\0\2\0\0\0\1" NAME "\0\x10\0\1"
					"\xc0\x0c\0\x10\0\1\0\0\0\5\0\2\1a"
					"\xc0\x0c\0\x10\0\1\0\0\0\6\0\3\2bc"
					"\0\0\x29\x04\xd0\0\0\0\0\0\0";
	uint8_t many[20 * 206], out[DNS_UDP_SIZE], *at = many;
	struct dns_reply reply = {.nrecords = 2, .records = {two, sizeof(two) - 1}};
	struct dns_question q;
	size_t n;

	(void)state;
	assert_int_equal(parse(SLICE(QUERY_E NAME "\0\x10\0\1" OPT), &q), 0);
	n = dns_answer_write(&q, &reply, out, q.udp_size);
	assert_int_equal(n, sizeof(expect) - 1);
	assert_memory_equal(out, expect, n);

	for (unsigned i = 0; i < 20; i++, at += 206) {
		memset(at, 0, 206);
		at[5] = 200;
		at[6] = 199;
	}
	for (unsigned fit = 5; fit <= 6; fit++) { /* 12 + 22 + 212 fit + 11 */
		reply = (struct dns_reply){.nrecords = fit, .records = {many, fit * 206}};
		n = dns_answer_write(&q, &reply, out, q.udp_size);
		assert_int_equal(n, fit == 5 ? 12 + 22 + 5 * 212 + 11 : 12 + 22 + 11);
		assert_int_equal(out[2] & 2, fit == 5 ? 0 : 2);
		assert_int_equal(out[7], fit == 5 ? 5 : 0);
	}
}

/* What the client takes: at least 512, at most what we send. */
static void test_udp_size(void **state)
{
	static const struct {
		struct slice packet;
		unsigned size;
	} sizes[] = {
		{{(const uint8_t *)QUERY NAME "\0\1\0\1", sizeof(QUERY NAME "\0\1\0\1") - 1}, 512},
		{{(const uint8_t *)QUERY_E NAME "\0\1\0\1\0\0\x29\0\x40\0\0\0\0\0\0",
			 sizeof(QUERY_E NAME "\0\1\0\1") - 1 + 11},
			512},
		{{(const uint8_t *)QUERY_E NAME "\0\1\0\1\0\0\x29\4\0\0\0\0\0\0\0",
			 sizeof(QUERY_E NAME "\0\1\0\1") - 1 + 11},
			1024},
		{{(const uint8_t *)QUERY_E NAME "\0\1\0\1" OPT,
			 sizeof(QUERY_E NAME "\0\1\0\1" OPT) - 1},
			DNS_UDP_SIZE},
	};
	struct dns_question q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(parse(sizes[i].packet, &q), 0);
		assert_int_equal(q.udp_size, sizes[i].size);
	}
}

static void test_frames(void **state)
{
	const struct slice whole = SLICE("\0\x0c" HEAD("\x01\0", "\0", "\0", "\0", "\0") "\0\x0d");
	struct slice packet = {NULL, 0};
	uint8_t head[2];
	size_t used = 0;

	(void)state;
	for (size_t n = 0; n < 14; n++)
		assert_int_equal(dns_frame_next(slice_first(whole, n), &packet, &used), 0);
	assert_int_equal(dns_frame_next(whole, &packet, &used), 1);
	assert_int_equal(used, 14);
	assert_int_equal(packet.n, 12);
	assert_ptr_equal(packet.p, whole.p + 2);
	assert_int_equal(dns_frame_next(SLICE("\0\x0b"), &packet, &used), -EMSGSIZE);
	assert_int_equal(dns_frame_next(SLICE("\0\0"), &packet, &used), -EMSGSIZE);
	assert_int_equal(dns_frame_next(SLICE("\x10\x01"), &packet, &used), -EMSGSIZE);
	assert_int_equal(dns_frame_next(SLICE("\x10\x00"), &packet, &used), 0);
	dns_frame_head(0x1f2, head);
	assert_memory_equal(head, "\1\xf2", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_longest_name),
		cmocka_unit_test(test_answer_bytes),
		cmocka_unit_test(test_answer_aaaa),
		cmocka_unit_test(test_answer_rcodes),
		cmocka_unit_test(test_answer_badvers),
		cmocka_unit_test(test_answer_unreadable),
		cmocka_unit_test(test_answer_longest),
		cmocka_unit_test(test_answer_records),
		cmocka_unit_test(test_udp_size),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
