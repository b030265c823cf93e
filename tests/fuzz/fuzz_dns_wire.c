/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dns_wire.c – any bytes as a DNS query. Beyond not crashing:
 * - what is accepted gets an answer, within its bound, that a second, separate reader finds to be
 * the answer to it;
 * - the question comes back byte for byte; the text of the name agrees with its bytes;
 * - a prefix of an accepted query is not accepted.
 */
#include "check.h"
#include "dns/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* The strict reader: walks every record to the last byte. */
static void check_answer(
	const struct dns_question *q, const uint8_t *p, size_t n, unsigned rcode, unsigned records)
{
	size_t at = DNS_HEADER + q->wire_n;
	unsigned rcode_read;

	CHECK(n >= at && n <= DNS_ANSWER_MAX);
	CHECK(get16(p) == q->id);
	CHECK(p[2] & 0x80);
	CHECK(!(p[2] & 0x02)); /* TC */
	CHECK(get16(p + 4) == (q->wire_n ? 1 : 0));
	CHECK(get16(p + 6) == records);
	CHECK(get16(p + 8) == 0);
	CHECK(get16(p + 10) == (q->edns ? 1 : 0));
	CHECK(memcmp(p + DNS_HEADER, q->wire, q->wire_n) == 0);
	rcode_read = p[3] & 0xf;
	for (unsigned i = 0; i < records; i++) {
		unsigned length;

		CHECK(at + 12 <= n);
		CHECK(get16(p + at) == 0xc00c);
		CHECK(get16(p + at + 2) == q->type);
		CHECK(get16(p + at + 4) == 1);
		length = get16(p + at + 10);
		CHECK(length == (q->type == DNS_A ? 4 : 16));
		at += 12 + length;
	}
	if (q->edns) {
		CHECK(at + 11 == n);
		CHECK(p[at] == 0 && get16(p + at + 1) == DNS_OPT && get16(p + at + 9) == 0);
		rcode_read |= (unsigned)p[at + 5] << 4;
		at += 11;
	}
	CHECK(at == n);
	if (q->edns || rcode < 16)
		CHECK(rcode_read == rcode);
}

/* The text, label by label, beside the bytes. */
static void check_name(const struct dns_question *q)
{
	const char *text = q->name;
	size_t at = 0;

	CHECK(strlen(q->name) <= LIMIT_NAME);
	while (q->wire[at]) {
		size_t label = q->wire[at++];

		for (size_t i = 0; i < label; i++, text++, at++) {
			CHECK(*text == '\\' ? !q->plain : (char)slice_lower(q->wire[at]) == *text);
			CHECK(*text != '.');
		}
		CHECK(*text == (q->wire[at] ? '.' : 0));
		text += *text == '.';
	}
	CHECK(at + 5 == q->wire_n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_reply reply = {.ttl = DNS_TTL, .n = LIMIT_ADDRESSES};
	struct dns_question q, shorter;
	uint8_t out[DNS_ANSWER_MAX];
	unsigned records = 0;
	struct slice packet;
	size_t used;
	int r = dns_question_parse(slice_of(data, size), &q);

	if (dns_frame_next(slice_of(data, size), &packet, &used) == 1)
		CHECK(used == packet.n + 2 && used <= size);
	if (r < 0)
		return 0;
	if (r > 0)
		reply = (struct dns_reply){.rcode = (enum dns_rcode)r};
	else if (q.type == DNS_A || q.type == DNS_AAAA)
		records = LIMIT_ADDRESSES;
	for (unsigned i = 0; i < reply.n; i++) {
		reply.addrs[i] = (struct addr){.ip = {0x20, 1, 0xd, 0xb8, [15] = (uint8_t)i}};
		if (q.type == DNS_A)
			reply.addrs[i] =
				(struct addr){.ip = {[10] = 0xff, [11] = 0xff, [15] = (uint8_t)i}};
	}
	check_answer(&q, out, dns_answer_write(&q, &reply, out, sizeof(out)), reply.rcode, records);
	if (r == 0) {
		check_name(&q);
		for (size_t n = 0; n < size; n += 1 + n / 8)
			CHECK(dns_question_parse(slice_of(data, n), &shorter) != 0);
	}
	return 0;
}
