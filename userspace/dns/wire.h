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
#include "dns/records.h"
#include "model/addr.h"

/* The types that have a meaning here; every other number is legal too. */
enum dns_type {
	DNS_A = 1,
	DNS_NS = 2,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_PTR = 12,
	DNS_MX = 15,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_NAPTR = 35,
	DNS_OPT = 41,
	DNS_SSHFP = 44,
	DNS_TLSA = 52,
	DNS_SMIMEA = 53,
	DNS_OPENPGPKEY = 61,
	DNS_SVCB = 64,
	DNS_HTTPS = 65,
	DNS_SPF = 99,
	DNS_URI = 256,
	DNS_CAA = 257,
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
	DNS_UDP_LEAST = 512, /* what every client takes, RFC 1035 section 4.2.1 */
	/* The longest answer without records: header, question, LIMIT_ADDRESSES of AAAA, OPT. */
	DNS_ANSWER_MAX = DNS_HEADER + DNS_QUESTION_MAX + LIMIT_ADDRESSES * (12 + 16) + 11,
	/* The longest with them: a pointer to the name, type and class stand before each. */
	DNS_ANSWER_LONGEST =
		DNS_HEADER + DNS_QUESTION_MAX + DNS_RECORDS_BYTES + DNS_RECORDS * (2 + 4) + 11,
};
/* So no answer with addresses is ever cut. */
_Static_assert((int)DNS_ANSWER_MAX <= (int)DNS_UDP_LEAST, "an answer fits the smallest UDP packet");

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
	uint16_t
		udp_size; /* the longest answer that the client takes over UDP, from DNS_UDP_LEAST to
			      DNS_UDP_SIZE */

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
	/* records of the type that the question asks for, as in struct dns_records; borrowed. When there are any,
	 * addresses are not looked at */
	unsigned nrecords;
	struct slice records;
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

/*
 * Writes the answer and returns its length, at least DNS_HEADER and at most `room`, which is at least DNS_ANSWER_MAX.
 * Addresses of the other family are left out. Records that do not fit are left out, all of them, and TC is set: the
 * client asks again over TCP, where the room is DNS_ANSWER_LONGEST.
 */
size_t dns_answer_write(
	const struct dns_question *q, const struct dns_reply *reply, uint8_t *ret, size_t room);

/*
 * The next packet of a TCP stream (RFC 1035 section 4.2.2). 1: *ret_packet is borrowed from in,
 * *ret_used bytes are done with; 0: need more; -EMSGSIZE: longer than DNS_PACKET_MAX or shorter
 * than a header, close the connection.
 */
int dns_frame_next(struct slice in, struct slice *ret_packet, size_t *ret_used);
/* The two bytes that go before an answer of n bytes on TCP. */
void dns_frame_head(size_t n, uint8_t ret[2]);

#endif
