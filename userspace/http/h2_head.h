/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_head.h – the head or the trailers of an HTTP/2 message (RFC 9113 section 8), put together from
 * decoded fields as they come. Only for files in this folder and its tests.
 *
 * A draft is filled field by field and made a head at the end, or given up at the first fault.
 * Answers: 0; -EBADMSG malformed; -EMSGSIZE more than LIMIT_HEAD bytes (counted as for
 * MAX_HEADER_LIST_SIZE, RFC 9113 section 6.5.2) or LIMIT_FIELDS fields; -ENOMEM. After a failure
 * only h2_draft_begin() and h2_draft_done() may follow.
 */
#ifndef SALLYPORT_H2_HEAD_H
#define SALLYPORT_H2_HEAD_H

#include "base/buf.h"
#include "model/msg.h"

enum h2_block { H2_BLOCK_REQUEST, H2_BLOCK_RESPONSE, H2_BLOCK_TRAILERS };

/* A head that owns its bytes. */
struct h2_head {
	struct h2_head *next; /* the holder's, for a queue */
	size_t size; /* of text */
	struct msg msg; /* its slices point into text */
	uint8_t text[];
};

/* Where a slice will be: the text moves while it grows. */
struct h2_span {
	uint32_t at, n;
};

enum h2_pseudo { H2_METHOD, H2_SCHEME, H2_AUTHORITY, H2_PATH, H2_STATUS, H2_PSEUDO_NUM };

struct h2_draft {
	enum h2_block block;
	struct buf text;
	struct buf cookie; /* the crumbs, joined */
	size_t size; /* so far, as MAX_HEADER_LIST_SIZE counts */
	uint8_t seen; /* bit set of enum h2_pseudo */
	bool regular; /* a field that is not a pseudo-field has come */
	bool host_seen, length_seen, te_seen;
	int16_t cookie_at; /* index of the field that the crumbs become, -1 */
	uint16_t nfields;
	struct h2_span pseudo[H2_PSEUDO_NUM], host;
	uint64_t length; /* with length_seen */
	struct {
		struct h2_span name, value;
		bool secret;
	} fields[LIMIT_FIELDS];
};

void h2_draft_init(struct h2_draft *d);
/* Gives the memory back; h2_draft_begin() may follow. */
void h2_draft_done(struct h2_draft *d);

/* Starts anew. */
void h2_draft_begin(struct h2_draft *d, enum h2_block block);

/*
 * The next field, decoded; copied. Refused, never repaired: an unknown, repeated or misplaced
 * pseudo-field, a name that is not lower case tchar, a value with white space around it or a byte
 * that fields_value() does not know, a field of the connection (RFC 9113 section 8.2.2), te but
 * "trailers", a second host, te or content-length; in trailers also host, content-length and te.
 * `secret`: the peer wants it never to be indexed (RFC 7541 section 6.2.3), which stays with it.
 */
int h2_draft_field(struct h2_draft *d, struct slice name, struct slice value, bool secret);

/*
 * All fields have come. end: END_STREAM came with them. to_head: the response answers a HEAD. *ret
 * is the caller's, for h2_head_free().
 *
 * A request: a method (no CONNECT), "http" or "https", a path of origin-form ("*" for OPTIONS), an
 * authority. It is :authority or, without that, Host; both must be the same. msg.authority has it
 * and Host is not among the fields. The crumbs of Cookie are one field at the first one's place
 * (RFC 9113 section 8.2.3). A response: a status of 100 to 999 but 101.
 *
 * minor is 1 and keep_alive true. Framing: NONE with END_STREAM or where there is no body, LENGTH
 * with a Content-Length (which stays among the fields), else CHUNKED.
 */
int h2_draft_finish(struct h2_draft *d, bool end, bool to_head, struct h2_head **ret);

/* A copy of the fields of m alone, for trailers that wait to be sent. NULL: no memory. */
struct h2_head *h2_head_copy_fields(const struct msg *m);
/* Wipes and frees; NULL is fine. */
void h2_head_free(struct h2_head *head);

#endif
