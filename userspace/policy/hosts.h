/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts.h – the one spelling of a host that policy, credentials, SNI, leaf and dialler agree on,
 * and the patterns that are compared with it. Anything that two of them could read differently is
 * refused here, never normalised into a match.
 */
#ifndef SALLYPORT_POLICY_HOSTS_H
#define SALLYPORT_POLICY_HOSTS_H

#include "base/limits.h"
#include "base/slice.h"
#include "model/addr.h"

struct host {
	char text[LIMIT_NAME + 1]; /* canonical, with a NUL: lower case, no trailing dot; addresses
				      as addr_text() */
	uint8_t n; /* length of text */
	bool is_ip; /* the text is an address: */
	struct addr ip; /* that one (port 0) */
};

/*
 * Reads a host as it came on the wire, without port and brackets. 0, or -EINVAL: empty, over
 * LIMIT_NAME, an empty label or one over 63 bytes, a byte that is not a letter, digit, '-', '_' or
 * '.', a last label that a resolver may read as a number without the whole being a dotted quad
 * (0x7f.1, 2130706433, 0177.0.0.1, 127.1, 0). One trailing dot is dropped.
 */
int host_canon(struct slice raw, struct host *ret);

/*
 * The address that C libraries read in a number that host_canon() refuses (inet_aton(3)): only to be told in a refusal,
 * never to be judged or dialled. 0, or -EINVAL: nobody reads an address there.
 */
int host_misread(struct slice raw, struct host *ret);

/* The canonical form of an address: the host of a connection without a name. */
void host_of_addr(const struct addr *a, struct host *ret);

bool host_same(const struct host *a, const struct host *b);

enum host_pattern_kind {
	HOST_PATTERN_NAME, /* exactly that name */
	HOST_PATTERN_SUFFIX, /* *.text: one or more labels before it, not the text itself */
	HOST_PATTERN_ANY, /* *: every name; no address */
	HOST_PATTERN_NET, /* an address (prefix 128) or a range of them */
};

struct host_pattern {
	enum host_pattern_kind kind;
	uint8_t n;
	uint8_t prefix; /* HOST_PATTERN_NET: bits of the v4-mapped or IPv6 address that count */
	char text[LIMIT_NAME + 1]; /* NAME, SUFFIX: canonical, without "*." */
	struct addr net; /* HOST_PATTERN_NET */
};

enum { HOST_WHY = 400 };

/* Reads a pattern of a document. 0, or -EINVAL and why (with what to write instead, if that is
 * known). */
int host_pattern_parse(struct slice text, struct host_pattern *ret, char why[HOST_WHY]);

bool host_pattern_match(const struct host_pattern *p, const struct host *h);

/* Whether everything that b matches is matched by a. */
bool host_pattern_covers(const struct host_pattern *a, const struct host_pattern *b);
/* Whether something is matched by both. */
bool host_pattern_overlaps(const struct host_pattern *a, const struct host_pattern *b);

/* Reads "10.0.0.0/8", "fd00::/8" or an address alone; host bits must be 0. prefix counts of 128. 0
 * or -EINVAL. */
int host_net_parse(struct slice text, struct addr *ret, uint8_t *ret_prefix);
bool host_net_has(const struct addr *net, uint8_t prefix, const struct addr *a);

#endif
