/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h – DNS packets (RFC 1035 section 4, RFC 6891): reads one question strictly, writes one
 * answer. No names are decided here (answers.h), nothing is sent, nothing is kept.
 */
#ifndef SALLYPORT_DNS_WIRE_H
#define SALLYPORT_DNS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/slice.h"
#include "model/addr.h"

/* The types that have a meaning here; every other number is legal too. */
enum dns_type {
	DNS_A = 1,
	DNS_PTR = 12,
	DNS_MX = 15,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_OPT = 41,
	DNS_SVCB = 64,
	DNS_HTTPS = 65,
};

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_BADVERS = 16, /* RFC 6891 section 9: the upper bits travel in OPT */
};

enum {
	DNS_HEADER = 12,
	DNS_QUESTION_MAX = 255 + 4, /* name, type, class */
	DNS_TTL = 60, /* seconds: the longest that an answer of ours may be kept */
	DNS_UDP_SIZE = 1232, /* what we say that we take, RFC 9715 */
	DNS_PACKET_MAX = 4096, /* longest question that is read; EDNS options are padding to us */
	/* The longest answer: header, question, LIMIT_ADDRESSES of AAAA, OPT. */
	DNS_ANSWER_MAX = DNS_HEADER + DNS_QUESTION_MAX + LIMIT_ADDRESSES * (12 + 16) + 11,
};
/* So no answer is ever cut: every UDP client takes 512 bytes (RFC 1035 section 4.2.1), and TC is
 * never set. */
_Static_assert(DNS_ANSWER_MAX <= 512, "an answer fits the smallest UDP packet");

/* One question with all that its answer needs. Holds no pointer: it may wait while the name is
 * resolved. */
struct dns_question {
	uint16_t id;
	uint16_t type;
	bool recursion; /* RD, sent back */
	bool no_checking; /* CD, sent back */
	uint8_t opcode; /* sent back */
	bool edns; /* the query had OPT, so the answer has it */
	bool edns_do; /* DO, sent back (RFC 3225 section 3) */

	/* every label is made of letters, digits, '-' and '_'; otherwise no rule can open the name
	 */
	bool plain;
	/* lower case, without the last dot; the root is "". A byte that is not plain stands as a
	 * backslash, which no host name has. */
	char name[LIMIT_NAME + 1];

	/* the question section as it came (the case of letters is the client's: 0x20); empty if it
	 * was unreadable */
	uint16_t wire_n;
	uint8_t wire[DNS_QUESTION_MAX];
};

/* What an answer says besides the question. */
struct dns_reply {
	enum dns_rcode rcode;
	uint32_t ttl; /* seconds, of every address */
	unsigned n; /* at most LIMIT_ADDRESSES; all of the family that the type asks for */
	struct addr addrs[LIMIT_ADDRESSES];
};

/*
 * Reads a query packet (without the length of TCP). 0: *ret is the question. A positive value is
 * the rcode that must be answered (FORMERR, NOTIMP, BADVERS): *ret is filled as far as it could be
 * read, enough for dns_answer_write(). -EPROTO: not a query at all (no whole header, or a
 * response); it is dropped, *ret untouched. Accepted: QR 0, opcode QUERY, exactly one question (RFC
 * 9619), class IN, no compression, no answer or authority records, at most one additional record,
 * which is OPT of version 0, and nothing behind.
 */
int dns_question_parse(struct slice packet, struct dns_question *ret);

/* Writes the answer and returns its length, at least DNS_HEADER. Addresses of the other family are
 * left out. */
size_t dns_answer_write(
	const struct dns_question *q, const struct dns_reply *reply, uint8_t ret[DNS_ANSWER_MAX]);

/*
 * The next packet of a TCP stream (RFC 1035 section 4.2.2). 1: *ret_packet is borrowed from in,
 * *ret_used bytes are done with; 0: need more; -EMSGSIZE: longer than DNS_PACKET_MAX or shorter
 * than a header, close the connection.
 */
int dns_frame_next(struct slice in, struct slice *ret_packet, size_t *ret_used);
/* The two bytes that go before an answer of n bytes on TCP. */
void dns_frame_head(size_t n, uint8_t ret[2]);

#endif
