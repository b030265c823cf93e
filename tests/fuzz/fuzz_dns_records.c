/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dns_records.c – any bytes as an upstream server's answer; the type is the first two of them. Beyond not crashing:
 * - what is accepted is within its bounds, and a second, separate reader finds each record whole;
 * - every name in it is plain labels, without a pointer;
 * - what is told to a sandbox from it, written and read back, is the same again, unless it is cut with TC.
 */
#include "../../userspace/dns/records.c"

#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t check_name(const uint8_t *p, size_t n)
{
	size_t at = 0;

	for (;;) {
		CHECK(at < n && p[at] < 64);
		if (p[at] == 0)
			break;
		at += 1 + (size_t)p[at];
	}
	CHECK(at + 1 <= 255);
	return at + 1;
}

static size_t check_part(char part, const uint8_t *p, size_t n)
{
	size_t at = 0;

	switch (part) {
	case 'n':
		return check_name(p, n);
	case 's':
		CHECK(n && n > p[0]);
		return 1 + (size_t)p[0];
	case 'S':
		do
			at += check_part('s', p + at, n - at);
		while (at < n);
		return at;
	case '*':
		return n;
	default:
		CHECK(n >= (size_t)(part - '0'));
		return (size_t)(part - '0');
	}
}

static void check_records(const struct dns_records *r, uint16_t type)
{
	size_t at = 0;
	unsigned n = 0;

	CHECK(r->n <= DNS_RECORDS && r->used <= DNS_RECORDS_BYTES);
	for (; at < r->used; n++) {
		const char *part = records_format(type);
		size_t length, end;

		CHECK(at + DNS_RECORD_HEAD <= r->used);
		CHECK(r->bytes[at] == 0 && r->bytes[at + 1] == 0 && r->bytes[at + 2] == 0 &&
			r->bytes[at + 3] <= DNS_TTL);
		length = (size_t)r->bytes[at + 4] << 8 | r->bytes[at + 5];
		at += DNS_RECORD_HEAD;
		end = at + length;
		CHECK(end <= r->used);
		for (; *part; part++)
			at += check_part(*part, r->bytes + at, end - at);
		CHECK(at == end);
	}
	CHECK(n == r->n && at == r->used);
}

/* Asked for by a client, told, and read again as if a server had said it. */
static void check_told(const struct dns_records *r, const char *name, uint16_t type, size_t room)
{
	static uint8_t out[DNS_ANSWER_LONGEST];
	static struct dns_records again;
	struct dns_question q = {.type = type, .recursion = true, .plain = true, .udp_size = 512};
	struct dns_reply reply = {.nrecords = r->n, .records = {r->bytes, r->used}};
	struct records_name wire;
	size_t n;

	CHECK(records_name_of(name, &wire) == 0);
	memcpy(q.wire, wire.bytes, wire.n);
	(void)cursor_put16(cursor_put16(q.wire + wire.n, type), 1);
	q.wire_n = (uint16_t)(wire.n + 4);
	n = dns_answer_write(&q, &reply, out, room);
	CHECK(n <= room);
	if (out[2] & 2) { /* TC */
		CHECK(room < DNS_ANSWER_LONGEST && out[6] == 0 && out[7] == 0);
		return;
	}
	CHECK(dns_records_parse(slice_of(out, n), name, type, &again) == 0);
	CHECK(again.n == r->n && again.used == r->used &&
		memcmp(again.bytes, r->bytes, r->used) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char name[] = "mail.test";
	static struct dns_records records;
	uint16_t type;

	if (size < 2)
		return 0;
	type = (uint16_t)(data[0] << 8 | data[1]);
	if (dns_records_parse(slice_of(data + 2, size - 2), name, type, &records) < 0)
		return 0;
	check_records(&records, type);
	if (records.n) {
		check_told(&records, name, type, DNS_ANSWER_LONGEST);
		check_told(&records, name, type, 512);
	}
	return 0;
}
