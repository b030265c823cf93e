/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h – answers of other types than addresses (MX, TXT, SRV, …): what an upstream server sent is read strictly,
 * and what is told to the sandbox is written anew from it. Pure: no library, no I/O.
 *
 * Forwarded are the types of the table in records.c alone. Not there, and so never forwarded: what leads a client
 * around us (HTTPS, SVCB), addresses (answered by answers.h, or of old types), questions for several types at once
 * (ANY), and what is about the transport or the zone (OPT, TSIG, AXFR, DNSSEC without the answers that it signs).
 * Names inside of records are data: the client asks for them in turn, and policy answers.
 */
#ifndef SALLYPORT_DNS_RECORDS_H
#define SALLYPORT_DNS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum {
	DNS_RECORDS = 128, /* of one answer */
	DNS_RECORDS_BYTES = 12288, /* of one answer */
	DNS_RECORD_HEAD = 4 + 2, /* what stands before the data of each: lifetime, length */
	DNS_RECORD_NAME = DNS_RECORD_HEAD + 255, /* one record that is a name */
};

/* One after the other: lifetime (4 bytes), length (2), data without compression. */
struct dns_records {
	uint16_t n, used;
	uint8_t bytes[DNS_RECORDS_BYTES];
};

/* Whether questions of that type are ever forwarded. */
bool dns_records_type(uint16_t type);

/*
 * Reads an upstream server's answer to (name, type, IN): a response without error to that very question. The records of
 * the type at the end of the chain of CNAMEs are taken, whoever owns them, at most for DNS_TTL; other records are passed
 * over. 0 and *ret (n may be 0: no such record); -EBADMSG malformed, -EMSGSIZE more than *ret holds. *ret is undefined
 * then. name is text without the last dot.
 */
int dns_records_parse(
	struct slice packet, const char *name, uint16_t type, struct dns_records *ret);

/* One record whose data is a name (PTR), from its text; every label of 1 to 63 bytes. Returns its length, 0: not a name. */
size_t dns_records_name(const char *text, uint32_t ttl, uint8_t ret[DNS_RECORD_NAME]);

#endif
