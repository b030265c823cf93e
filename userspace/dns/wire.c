/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c – DNS packets, see wire.h.
 *
 * Strict, because no packet that a sandbox sends here is forwarded: a program's query has one
 * well known shape, and what has another is answered with an rcode, never guessed at.
 *
 * What answers deliberately do not have:
 * - an SOA behind an empty answer or NXDOMAIN. Without it caches keep no negative answer (RFC 2308
 * section 5): asking again costs a packet within the machine, and a name that the policy opens
 * later is seen at once. glibc, musl, Go and c-ares do not look for it; Go wants RA for an empty
 * answer not to be a "lame referral", and RA is set.
 * - TC and addresses: the longest of these answers fits 512 bytes (asserted in the header).
 * - half of the records that a name has: with TC there are none, and a client that does not ask
 *   again sees no set that is not whole (RFC 2181 section 9).
 * - AA, AD: we are neither an authority nor a validator.
 */
#include <errno.h>

#include "dns/cursor.h"
#include "dns/wire.h"

enum {
	WIRE_QR = 0x8000,
	WIRE_OPCODE_SHIFT = 11,
	WIRE_TC = 0x0200,
	WIRE_RD = 0x0100,
	WIRE_RA = 0x0080,
	WIRE_CD = 0x0010,
	WIRE_DO = 0x8000, /* of the flags in OPT's TTL */
	WIRE_CLASS_IN = 1,
	WIRE_LABEL = 63,
	WIRE_NAME = 255,
	WIRE_OPT = 11, /* bytes of ours */
	WIRE_NAME_AT_QUESTION = 0xc000 | DNS_HEADER, /* a compression pointer */
};

static bool wire_plain(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Reads the name into q->name and q->plain. 0, or -EBADMSG. */
static int wire_name(struct cursor *c, struct dns_question *q)
{
	size_t wire = 0, text = 0;

	q->plain = true;
	for (;;) {
		unsigned n = cursor_u8(c);
		struct slice label;

		/* 0xc0 is a compression pointer, which has nothing to point to; 0x40, 0x80 are no
		 * label at all */
		if (c->short_read || n > WIRE_LABEL || (wire += 1 + n) > WIRE_NAME)
			return -EBADMSG;
		if (n == 0)
			break;
		label = cursor_bytes(c, n);
		if (c->short_read)
			return -EBADMSG;
		if (text)
			q->name[text++] = '.';
		for (size_t i = 0; i < label.n; i++) {
			uint8_t byte = slice_lower(label.p[i]);
			bool plain = wire_plain(byte);

			q->plain = q->plain && plain;
			q->name[text++] = plain ? (char)byte : '\\';
		}
	}
	q->name[text] = 0;
	return 0;
}
/* A name of 255 bytes on the wire is 253 characters: a length before and an end behind are not
 * text. */
_Static_assert(LIMIT_NAME == WIRE_NAME - 2, "a whole name fits its text");

/* The one record that may follow the question. 0, or the rcode. */
static int wire_opt(struct cursor *c, struct dns_question *q)
{
	unsigned root = cursor_u8(c), type = cursor_u16(c), version, flags;

	q->udp_size = (uint16_t)cursor_u16(c);
	if (q->udp_size < DNS_UDP_LEAST)
		q->udp_size = DNS_UDP_LEAST; /* RFC 6891 section 6.2.3 */
	if (q->udp_size > DNS_UDP_SIZE)
		q->udp_size = DNS_UDP_SIZE;
	(void)cursor_u8(c); /* the upper bits of an rcode, of no meaning in a query */
	version = cursor_u8(c);
	flags = cursor_u16(c);
	(void)cursor_bytes(c, cursor_u16(c)); /* options are optional (RFC 6891 section 6.1.2) */
	if (c->short_read || root != 0 || type != DNS_OPT)
		return DNS_FORMERR;
	q->edns = true;
	q->edns_do = flags & WIRE_DO;
	return version ? DNS_BADVERS : DNS_NOERROR;
}

int dns_question_parse(struct slice packet, struct dns_question *ret)
{
	struct cursor c = {.rest = packet};
	struct dns_question q = {.udp_size = DNS_UDP_LEAST};
	unsigned flags, questions, answers, authorities, additional, class;
	const uint8_t *start;

	q.id = (uint16_t)cursor_u16(&c);
	flags = cursor_u16(&c);
	questions = cursor_u16(&c);
	answers = cursor_u16(&c);
	authorities = cursor_u16(&c);
	additional = cursor_u16(&c);
	if (c.short_read || (flags & WIRE_QR))
		return -EPROTO;
	q.opcode = flags >> WIRE_OPCODE_SHIFT & 0xf;
	q.recursion = flags & WIRE_RD;
	q.no_checking = flags & WIRE_CD;
	*ret = q;
	if (q.opcode != 0)
		return DNS_NOTIMP;
	if (questions != 1 || answers != 0 || authorities != 0 || additional > 1)
		return DNS_FORMERR;

	start = c.rest.p;
	if (wire_name(&c, &q) < 0)
		return DNS_FORMERR;
	q.type = (uint16_t)cursor_u16(&c);
	class = cursor_u16(&c);
	if (c.short_read)
		return DNS_FORMERR;
	q.wire_n = (uint16_t)(c.rest.p - start);
	memcpy(q.wire, start, q.wire_n);
	*ret = q;
	if (additional) {
		int rcode = wire_opt(&c, &q);

		ret->edns = q.edns;
		ret->edns_do = q.edns_do;
		ret->udp_size = q.udp_size;
		if (rcode != DNS_NOERROR)
			return rcode;
	}
	if (c.rest.n)
		return DNS_FORMERR;
	return class == WIRE_CLASS_IN ? 0 : DNS_NOTIMP;
}

/* Writes the records of that type and returns how many; *at moves behind them. */
static unsigned wire_put_addresses(
	const struct dns_question *q, const struct dns_reply *reply, uint8_t **at)
{
	bool v4 = q->type == DNS_A;
	unsigned size = v4 ? 4 : 16, n = 0;

	if (q->wire_n == 0 || (!v4 && q->type != DNS_AAAA))
		return 0;
	for (unsigned i = 0; i < reply->n && n < LIMIT_ADDRESSES; i++) {
		const struct addr *a = &reply->addrs[i];

		if (addr_is_v4(a) != v4)
			continue;
		*at = cursor_put16(*at, WIRE_NAME_AT_QUESTION);
		*at = cursor_put16(*at, q->type);
		*at = cursor_put16(*at, WIRE_CLASS_IN);
		*at = cursor_put32(*at, reply->ttl);
		*at = cursor_put16(*at, size);
		memcpy(*at, a->ip + 16 - size, size);
		*at += size;
		n++;
	}
	return n;
}

/* The length of them once written. */
static size_t wire_records(const struct dns_reply *reply)
{
	return reply->records.n + reply->nrecords * (size_t)(2 + 4);
}

static unsigned wire_put_records(
	const struct dns_question *q, const struct dns_reply *reply, uint8_t **at)
{
	struct cursor c = {.rest = reply->records};
	unsigned n = 0;

	while (n < reply->nrecords && c.rest.n) {
		uint32_t ttl = cursor_u32(&c);
		struct slice data = cursor_bytes(&c, cursor_u16(&c));

		if (c.short_read)
			break;
		*at = cursor_put16(*at, WIRE_NAME_AT_QUESTION);
		*at = cursor_put16(*at, q->type);
		*at = cursor_put16(*at, WIRE_CLASS_IN);
		*at = cursor_put32(*at, ttl);
		*at = cursor_put16(*at, (unsigned)data.n);
		if (data.n)
			memcpy(*at, data.p, data.n);
		*at += data.n;
		n++;
	}
	return n;
}

size_t dns_answer_write(
	const struct dns_question *q, const struct dns_reply *reply, uint8_t *ret, size_t room)
{
	unsigned flags =
		WIRE_QR | (unsigned)q->opcode << WIRE_OPCODE_SHIFT | WIRE_RA | (reply->rcode & 0xf);
	uint8_t *at = ret + DNS_HEADER;
	unsigned n;

	if (q->recursion)
		flags |= WIRE_RD;
	if (q->no_checking)
		flags |= WIRE_CD;
	if (q->wire_n) {
		memcpy(at, q->wire, q->wire_n);
		at += q->wire_n;
	}
	if (reply->nrecords == 0 || q->wire_n == 0) {
		n = wire_put_addresses(q, reply, &at);
	} else if (wire_records(reply) + (q->edns ? WIRE_OPT : 0) <= room - (size_t)(at - ret)) {
		n = wire_put_records(q, reply, &at);
	} else {
		flags |= WIRE_TC;
		n = 0;
	}
	if (q->edns) {
		*at++ = 0; /* the root */
		at = cursor_put16(at, DNS_OPT);
		at = cursor_put16(at, DNS_UDP_SIZE);
		*at++ = (uint8_t)(reply->rcode >> 4);
		*at++ = 0; /* version */
		at = cursor_put16(at, q->edns_do ? WIRE_DO : 0);
		at = cursor_put16(at, 0);
	}
	cursor_put16(ret, q->id);
	cursor_put16(ret + 2, flags);
	cursor_put16(ret + 4, q->wire_n ? 1 : 0);
	cursor_put16(ret + 6, n);
	cursor_put16(ret + 8, 0);
	cursor_put16(ret + 10, q->edns ? 1 : 0);
	return (size_t)(at - ret);
}

int dns_frame_next(struct slice in, struct slice *ret_packet, size_t *ret_used)
{
	size_t n;

	if (in.n < 2)
		return 0;
	n = (size_t)in.p[0] << 8 | in.p[1];
	if (n < DNS_HEADER || n > DNS_PACKET_MAX)
		return -EMSGSIZE;
	if (in.n < 2 + n)
		return 0;
	*ret_packet = slice_first(slice_skip(in, 2), n);
	*ret_used = 2 + n;
	return 1;
}

void dns_frame_head(size_t n, uint8_t ret[2])
{
	cursor_put16(ret, (unsigned)n);
}
