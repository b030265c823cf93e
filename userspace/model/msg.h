/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg.h – the head of one HTTP message, whatever version carried it. All slices are borrowed from the bytes that were
 * parsed and live as long as these. Field order is kept; names compare without case (RFC 9110 section 5.1).
 */
#ifndef SALLYPORT_MSG_H
#define SALLYPORT_MSG_H

#include "base/limits.h"
#include "base/slice.h"

struct field {
	struct slice name, value; /* value without surrounding white space */
	bool secret; /* holds a credential's value: never put into a table of HPACK */
};

enum framing {
	FRAMING_NONE, /* no body */
	FRAMING_LENGTH, /* exactly `length` bytes */
	FRAMING_CHUNKED, /* says its end itself: chunks (RFC 9112 section 7.1), END_STREAM (RFC 9113 section 8.1) */
	FRAMING_CLOSE, /* until the end of the connection; responses only */
};

struct msg {
	/* a request has these, a response has status */
	struct slice method;
	struct slice target; /* as written; :path */
	struct slice scheme,
		authority; /* of HTTP/2's pseudo-fields; as parsed empty in HTTP/1, as written Host */
	struct slice
		upgrade; /* as written: the protocols that Upgrade names on this connection (HTTP/1); empty = none */
	uint16_t status;
	struct slice reason;

	uint8_t minor; /* HTTP/1.minor: 0 or 1 */
	bool keep_alive; /* the sender lets the connection live on */
	bool takes_trailers; /* as written: TE says so */
	bool expect_continue; /* Expect: 100-continue */
	bool doubtful; /* read by a lenient rule: the connection must not be used again */
	enum framing framing;
	uint64_t length; /* FRAMING_LENGTH */

	uint16_t nfields;
	struct field fields[LIMIT_FIELDS];
};

/* The first field of that name from index *at on; sets *at to the next index. NULL when there is none. */
static inline const struct field *msg_next(const struct msg *m, struct slice name, unsigned *at)
{
	while (*at < m->nfields) {
		const struct field *f = &m->fields[(*at)++];

		if (slice_ieq(f->name, name))
			return f;
	}
	return NULL;
}

static inline const struct field *msg_find(const struct msg *m, struct slice name)
{
	unsigned at = 0;

	return msg_next(m, name, &at);
}

#endif
