/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mint.h – making the certificate of one name under a sandbox's CA. Never with the name of anything
 * but what the client asked for: the origin's certificate is judged on the other leg, not copied
 * (TLS-24).
 */
#ifndef SALLYPORT_TLS_MINT_H
#define SALLYPORT_TLS_MINT_H

#include <stdint.h>

#include "base/slice.h"

struct addr;
struct buf;
struct ca;
struct leaf;

/* Seconds that a leaf is valid for, the back-dating counted. */
enum { MINT_LIFE = 24 * 3600, MINT_BACKDATE = 3600 };

/*
 * A leaf for `name`, a canonical host name (lower case, A-labels), as dNSName, or, when `ip` is
 * given, for that address as iPAddress (4 bytes for IPv4) with `name` as its text. Valid from an
 * hour before `now` (seconds since 1970) for MINT_LIFE in all, never beyond the CA. 0; -EINVAL for
 * a name that no certificate may carry (wildcard, empty, over 253 bytes, other characters than
 * letters, digits, '-', '_' and dots between labels); -ENOMEM.
 */
int mint_leaf(
	struct ca *ca, struct slice name, const struct addr *ip, int64_t now, struct leaf **ret);

/* TLS engines that were given the leaf keep what they need of it: it may be freed under them. */
void mint_leaf_free(struct leaf *leaf);

int64_t mint_leaf_not_before(const struct leaf *leaf);
int64_t mint_leaf_not_after(const struct leaf *leaf);

/* Appends the certificate as PEM, for tests and for `openssl x509`. 0, -ENOBUFS, -ENOMEM. */
int mint_leaf_pem(const struct leaf *leaf, struct buf *to);

#endif
