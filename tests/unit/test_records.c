/* SPDX-License-Identifier: Apache-2.0 */
/* test_records.c – records that are no addresses: what is taken from an upstream server's answer, every prefix of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "dns/records.h"
#include "dns/wire.h"
#include "exact.h"

#define HEAD(flags, an) "\x12\x34" flags "\0\1\0" an "\0\0\0\0"
#define OK(an)          HEAD("\x81\x80", an)
#define NAME            "\4Mail\4tEst\0" /* at 12: mail.test; test alone at 17 */
#define ASK(type)       NAME "\0" type "\0\1"
#define OWN             "\xc0\x0c"
#define TTL             "\0\0\0\x3c"
#define RR(type, n)     OWN "\0" type "\0\1" TTL "\0" n

#define BYTES(bytes)                                                                               \
	{                                                                                          \
		(const uint8_t *)(bytes), sizeof(bytes) - 1                                        \
	}

struct row {
	const char *what;
	uint16_t type;
	int expect;
	unsigned n;
	struct slice packet, out;
};

static const struct row rows[] = {
	{"MX by a pointer", DNS_MX, 0, 1,
		BYTES(OK("\1") ASK("\x0f") RR("\x0f", "\7") "\0\x0a\2mx\xc0\x0c"),
		BYTES(TTL "\0\x10\0\x0a\2mx\4Mail\4tEst\0")},
	{"two of TXT, one of two strings", DNS_TXT, 0, 2,
		BYTES(OK("\2") ASK("\x10") RR("\x10", "\4") "\1a\1b" RR("\x10", "\1") "\0"),
		BYTES(TTL "\0\4\1a\1b" TTL "\0\1\0")},
	{"SRV", DNS_SRV, 0, 1,
		BYTES(OK("\1") ASK("\x21") RR("\x21", "\x0b") "\0\1\0\2\x14\x66\1a\1b\0"),
		BYTES(TTL "\0\x0b\0\1\0\2\x14\x66\1a\1b\0")},
	{"SOA", DNS_SOA, 0, 1,
		BYTES(OK("\1") ASK("\6")
				RR("\6", "\x18") "\xc0\x0c\xc0\x11"
						 "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"),
		BYTES(TTL "\0\x25\4Mail\4tEst\0\4tEst\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5")},
	{"CAA with an empty value", DNS_CAA, 0, 1,
		BYTES(OK("\1") NAME "\1\1\0\1" OWN "\1\1\0\1" TTL "\0\7\0\5issue"),
		BYTES(TTL "\0\7\0\5issue")},
	{"a long lifetime is cut, a negative one is none", DNS_TXT, 0, 2,
		BYTES(OK("\2") ASK("\x10") OWN "\0\x10\0\1\0\1\0\0\0\2\1a" OWN
					       "\0\x10\0\1\x80\0\0\0\0\2\1b"),
		BYTES(TTL "\0\2\1a\0\0\0\0\0\2\1b")},
	{"CNAMEs in any order", DNS_TXT, 0, 1,
		BYTES(OK("\4") ASK("\x10") "\1b\0\0\x10\0\1" TTL "\0\2\1z"
					   "\1a\0\0\5\0\1" TTL "\0\3\1B\0" RR(
						   "\5", "\3") "\1A\0"
							       "\1c\0\0\x10\0\1" TTL "\0\2\1y"),
		BYTES(TTL "\0\2\1z")},
	{"a CNAME that leads to itself", DNS_TXT, 0, 0,
		BYTES(OK("\1") ASK("\x10") RR("\5", "\2") "\xc0\x0c"), BYTES("")},
	{"a CNAME that leads nowhere", DNS_TXT, 0, 0,
		BYTES(OK("\1") ASK("\x10") RR("\5", "\3") "\1a\0"), BYTES("")},
	{"a CNAME asked for", DNS_CNAME, 0, 1, BYTES(OK("\1") ASK("\5") RR("\5", "\3") "\1a\0"),
		BYTES(TTL "\0\3\1a\0")},
	{"of another owner, class, type", DNS_TXT, 0, 0,
		BYTES(OK("\3") ASK("\x10") "\1x\0\0\x10\0\1" TTL "\0\2\1a" OWN "\0\x10\0\3" TTL
					   "\0\2\1a" RR("\1", "\4") "\1\2\3\4"),
		BYTES("")},
	{"what is behind the answers is passed over", DNS_TXT, 0, 1,
		BYTES(OK("\1") ASK("\x10") RR("\x10", "\2") "\1a\xff\xff"), BYTES(TTL "\0\2\1a")},
	{"no answer", DNS_TXT, 0, 0, BYTES(OK("\0") ASK("\x10")), BYTES("")},

	{"a type that is never forwarded", DNS_HTTPS, -EBADMSG, 0, BYTES(OK("\0") ASK("\x41")),
		BYTES("")},
	{"a query", DNS_TXT, -EBADMSG, 0, BYTES(HEAD("\1\0", "\0") ASK("\x10")), BYTES("")},
	{"an error", DNS_TXT, -EBADMSG, 0, BYTES(HEAD("\x81\x82", "\0") ASK("\x10")), BYTES("")},
	{"cut", DNS_TXT, -EBADMSG, 0, BYTES(HEAD("\x83\x80", "\0") ASK("\x10")), BYTES("")},
	{"another name", DNS_TXT, -EBADMSG, 0, BYTES(OK("\0") "\4mail\3com\0\0\x10\0\1"),
		BYTES("")},
	{"another type", DNS_TXT, -EBADMSG, 0, BYTES(OK("\0") ASK("\x0f")), BYTES("")},
	{"SRV, its target cut by the record's end", DNS_SRV, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x21") RR("\x21", "\x0a") "\0\1\0\2\x14\x66\1a\1b\0"),
		BYTES("")},
	{"a string behind the end", DNS_TXT, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x10") RR("\x10", "\2") "\2aaaa"), BYTES("")},
	{"TXT without a string", DNS_TXT, -EBADMSG, 0, BYTES(OK("\1") ASK("\x10") RR("\x10", "\0")),
		BYTES("")},
	{"MX with a byte behind", DNS_MX, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x0f") RR("\x0f", "\6") "\0\1\1a\0\0"), BYTES("")},
	{"MX without a name", DNS_MX, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x0f") RR("\x0f", "\2") "\0\1"), BYTES("")},
	{"a name that leads forwards", DNS_MX, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x0f") RR("\x0f", "\4") "\0\1\xc0\x40"), BYTES("")},
	{"a name that leads to itself", DNS_MX, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x0f") RR("\x0f", "\6") "\0\1\1a\xc0\x29"), BYTES("")},
	{"a label of an unknown kind", DNS_MX, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x0f") RR("\x0f", "\4") "\0\1\x41\0"), BYTES("")},
	{"TLSA without data", DNS_TLSA, -EBADMSG, 0,
		BYTES(OK("\1") ASK("\x34") RR("\x34", "\3") "\0\1\2"), BYTES("")},
	{"a record that the packet has not", DNS_TXT, -EBADMSG, 0, BYTES(OK("\1") ASK("\x10")),
		BYTES("")},
	{"more records than are looked at", DNS_TXT, -EMSGSIZE, 0,
		BYTES("\x12\x34\x81\x80\0\1\2\1\0\0\0\0" ASK("\x10")), BYTES("")},
};

static int parse(struct slice packet, uint16_t type, struct dns_records *ret)
{
	struct slice exact = exact_copy(packet);
	int r = dns_records_parse(exact, "mail.test", type, ret);

	exact_free(exact);
	return r;
}

static void test_rows(void **state)
{
	static struct dns_records records;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		int r = parse(row->packet, row->type, &records);

		if (r != row->expect)
			fail_msg("%s: %d, expected %d", row->what, r, row->expect);
		if (r < 0)
			continue;
		if (records.n != row->n || records.used != row->out.n ||
			memcmp(records.bytes, row->out.p, row->out.n) != 0)
			fail_msg("%s: %u records of %u bytes", row->what, records.n, records.used);
	}
}

/* Cut anywhere, an answer is malformed, unless what is missing is behind its answers. */
static void test_prefixes(void **state)
{
	static struct dns_records records;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].expect || strstr(rows[i].what, "passed over"))
			continue;
		for (size_t n = 0; n < rows[i].packet.n; n++)
			assert_int_equal(
				parse(slice_first(rows[i].packet, n), rows[i].type, &records),
				-EBADMSG);
	}
}

/* Too many records, and too many bytes: neither is cut, both are refused. */
static void test_bounds(void **state)
{
	static const char head[] = "\x12\x34\x81\x80\0\1\0\0\0\0\0\0" ASK("\x10");
	static uint8_t packet[65536];
	static struct dns_records records;
	size_t n;

	(void)state;
	for (unsigned size = 2; size <= 200; size += 198) {
		unsigned fit =
			size == 2 ? DNS_RECORDS : DNS_RECORDS_BYTES / (DNS_RECORD_HEAD + size);

		for (unsigned count = fit; count <= fit + 1; count++) {
			n = sizeof(head) - 1;
			memcpy(packet, head, n);
			packet[6] = (uint8_t)(count >> 8);
			packet[7] = (uint8_t)count;
			for (unsigned i = 0; i < count; i++) {
				memcpy(packet + n, RR("\x10", "\0"), 12);
				packet[n + 11] = (uint8_t)size;
				packet[n + 12] = (uint8_t)(size - 1);
				memset(packet + n + 13, 'x', size - 1);
				n += 12 + size;
			}
			assert_int_equal(parse(slice_of(packet, n), DNS_TXT, &records),
				count == fit ? 0 : -EMSGSIZE);
			if (count == fit)
				assert_int_equal(records.n, fit);
		}
	}
}

/* A name by so many pointers, each to the one before. */
static void test_pointers(void **state)
{
	static const char head[] = "\x12\x34\x81\x80\0\1\0\2\0\0\0\0" ASK("\x10") RR("\x63", "\0");
	static const char last[] = "\0\x10\0\1" TTL "\0\2\1x";
	static struct dns_records records;

	(void)state;
	for (unsigned pointers = 126; pointers <= 128; pointers++) {
		uint8_t packet[512];
		size_t n = sizeof(head) - 1, to = DNS_HEADER;

		memcpy(packet, head, n);
		packet[n - 1] = (uint8_t)(2 * (pointers - 1));
		for (unsigned i = 0; i < pointers; i++, to = n, n += 2) {
			packet[n] = (uint8_t)(0xc0 | to >> 8);
			packet[n + 1] = (uint8_t)to;
		}
		memcpy(packet + n, last, sizeof(last) - 1);
		n += sizeof(last) - 1;
		assert_int_equal(parse(slice_of(packet, n), DNS_TXT, &records),
			pointers <= 127 ? 0 : -EBADMSG);
		if (pointers <= 127)
			assert_int_equal(records.n, 1);
	}
}

static void test_types(void **state)
{
	static const uint16_t never[] = {DNS_A, DNS_AAAA, DNS_OPT, DNS_SVCB, DNS_HTTPS, 0,
		38 /* A6 */, 46 /* RRSIG */, 249, 250, 251, 252, 253, 254, 255};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		assert_false(dns_records_type(never[i]));
	assert_true(dns_records_type(DNS_TXT));
	assert_true(dns_records_type(DNS_SRV));
	assert_true(dns_records_type(DNS_MX));
}

static void test_name(void **state)
{
	uint8_t out[DNS_RECORD_NAME];
	char longest[LIMIT_NAME + 2];

	(void)state;
	assert_int_equal(dns_records_name("db.test", 60, out), 6 + 9);
	assert_memory_equal(out, "\0\0\0\x3c\0\x09\2db\4test\0", 15);
	assert_int_equal(dns_records_name("", 60, out), 7); /* the root */
	assert_int_equal(dns_records_name("a..b", 60, out), 0);
	assert_int_equal(dns_records_name(".a", 60, out), 0);
	memset(longest, 'a', sizeof(longest));
	for (size_t i = 1; i < sizeof(longest); i += 2)
		longest[i] = '.';
	longest[LIMIT_NAME] = 0;
	assert_int_equal(dns_records_name(longest, 60, out), DNS_RECORD_NAME);
	longest[LIMIT_NAME] = 'a';
	longest[LIMIT_NAME + 1] = 0;
	assert_int_equal(dns_records_name(longest, 60, out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
