/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca.h – a sandbox's certificate authority: its P-256 key, its self-signed certificate, and the one
 * key that all leaves under it share. Constant after creation but for its rest: any thread may mint
 * with it at the same time.
 */
#ifndef SALLYPORT_TLS_CA_H
#define SALLYPORT_TLS_CA_H

#include <stdint.h>

#include "base/slice.h"

struct buf;
struct ca;

enum {
	CA_YEARS = 10,
	CA_BACKDATE = 3600, /* seconds before now that validity starts */
	CA_KEY = 32, /* bytes of a private key of P-256: its number, the first byte the highest */
};

/*
 * A new key and certificate with `name` as common name ("Sallyport CA ID", at most 64 bytes: X.520
 * ub-common-name), valid from an hour before `now` (seconds since 1970). 0, -EINVAL for the name,
 * -ENOMEM.
 */
int ca_new(const char *name, int64_t now, struct ca **ret);

/*
 * From what ca_key() and ca_cert_pem() gave. 0; -EBADMSG for what does not parse; -EKEYREJECTED
 * when the key is not the certificate's, is not P-256, or the certificate is not that of a CA;
 * -ENOMEM.
 */
int ca_load(const uint8_t key[CA_KEY], struct slice cert_pem, struct ca **ret);

void ca_free(struct ca *ca);

/*
 * Until the first leaf is minted, keeps the key (in locked memory) and the certificate as bytes, in
 * place of OpenSSL's objects, which are ten times as large. Before others have it; while it rests,
 * ca_key() and ca_cert_pem() are not to be called. What cannot rest stays as it was.
 */
void ca_rest(struct ca *ca);

/* Copies the key, to be kept where nobody else reads it; the caller wipes the copy. 0, -ENOMEM. */
int ca_key(const struct ca *ca, uint8_t ret[CA_KEY]);
/* Appends the certificate as PEM. 0, -ENOBUFS, -ENOMEM. */
int ca_cert_pem(const struct ca *ca, struct buf *to);

/* The end of the certificate's validity, seconds since 1970. */
int64_t ca_not_after(const struct ca *ca);

#endif
