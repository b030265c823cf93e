/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swap.h – placeholder → value in one request head. Pure: no I/O, no state. All or nothing: either
 * every placeholder that stands in a bound position is replaced, or the head goes out exactly as it
 * came.
 */
#ifndef SALLYPORT_REWRITE_SWAP_H
#define SALLYPORT_REWRITE_SWAP_H

#include "base/slice.h"
#include "cred/credset.h"

struct buf;
struct host;
struct msg;
struct placeholders;

enum swap_result {
	SWAP_NONE, /* nothing to replace; there may be misdirected ones */
	SWAP_DONE, /* replaced[] says what */
	SWAP_UNAVAILABLE, /* `credential` has no value now: nothing may be sent upstream; `cause`
			     says why */
	SWAP_REFUSED, /* `credential` was misdirected and says misdirected: refuse */
};

enum {
	SWAP_REPLACED = 4, /* fields of one request that can be replaced */
	SWAP_MISDIRECTED = 8, /* credentials that are listed; more are only counted */
	SWAP_VALUES = 65536, /* bytes that `values` must be able to take: the largest secret, plain
				and in base64 */
};

struct swap_request {
	const struct msg *msg;
	const struct host *host; /* the judged host */
	bool over_tls; /* towards the upstream */
	const struct credset *set;
	const struct placeholders *placeholders;
};

/* All names and causes are borrowed from the credset or the placeholders. */
struct swap_plan {
	enum swap_result result;
	const char *credential; /* UNAVAILABLE, REFUSED */
	const char *cause; /* UNAVAILABLE */

	unsigned nreplaced;
	struct {
		uint16_t field; /* index into msg->fields */
		size_t offset, n; /* the new value's place in the values buffer */
	} replaced[SWAP_REPLACED];

	unsigned nuses;
	struct {
		const char *credential;
		enum cred_position position;
		unsigned count;
	} uses[SWAP_REPLACED];

	unsigned nmisdirected; /* listed */
	unsigned misdirected_total;
	struct {
		const char *credential;
		unsigned count;
	} misdirected[SWAP_MISDIRECTED];
};

/*
 * Judges a request. `values` must be empty with room for SWAP_VALUES; it receives the new field
 * values, and the caller wipes it with buf_done() once they are sent. 0, or -ENOMEM: nothing may be
 * sent then.
 */
int swap_judge(const struct swap_request *request, struct buf *values, struct swap_plan *ret);

/* The value that goes upstream for that field: the replaced one, or the client's own. Borrowed. */
struct slice swap_value(const struct swap_plan *plan, const struct swap_request *request,
	const struct buf *values, unsigned field);

#endif
