/* SPDX-License-Identifier: Apache-2.0 */
/* tls_internal.h – only for files in this folder: OpenSSL's types behind the nouns of the headers.
 */
#ifndef SALLYPORT_TLS_INTERNAL_H
#define SALLYPORT_TLS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "tls/engine.h"
#include "tls/server.h"
#include "tls/trust.h"

struct buf;

/* ---- minting ---- */

enum { MINT_CONSTANT = 5 }; /* extensions that all leaves under one CA have in common */

/* What all leaves under one CA share; made once, with the CA. */
struct mint_stock {
	EVP_PKEY *key; /* public key of each leaf and private key of each connection: see mint.c */
	X509_EXTENSION *constant[MINT_CONSTANT];
};

struct ca {
	/* the objects: there while it is awake */
	EVP_PKEY *key;
	X509 *cert;
	struct mint_stock stock;
	int64_t not_before, not_after;
	/* what they are made from again: there once it has rested */
	uint8_t *encoded; /* DER of the certificate */
	size_t nencoded;
	uint8_t *scalar; /* the private key, in the keyring */
	pthread_mutex_t waking;
	_Atomic bool awake;
};

/* The objects are there when this returned 0: made again if it rested. Any thread. 0, -ENOMEM. */
int ca_wake(struct ca *ca);

struct leaf {
	X509 *cert;
	EVP_PKEY *key; /* the stock's, one reference more */
	int64_t not_before, not_after;
};

/* Fills the stock for a CA whose key and cert are set. 0, -ENOMEM. */
int mint_stock_init(struct ca *ca);
void mint_stock_done(struct mint_stock *stock);

/* 16 random bytes, odd so that it is never 0, positive (RFC 5280 section 4.1.2.2). 0, -ENOMEM. */
int mint_serial(X509 *cert);
int mint_validity(X509 *cert, int64_t not_before, int64_t not_after);
/* The subject: CN alone. */
int mint_common_name(X509_NAME *subject, struct slice name);
/* Subject key identifier of the key that cert carries: SHA-256, first 160 bits (RFC 7093 section
 * 2). NULL: no memory. */
ASN1_OCTET_STRING *mint_key_id(const X509 *cert);

/* ---- engines ---- */

/* An engine on a new SSL of ctx, neither side yet. 0, -ENOMEM. */
int tls_engine_new(SSL_CTX *ctx, struct buf *rx, struct buf *tx, struct tls_engine **ret);
SSL *tls_engine_ssl(struct tls_engine *e);
/* Who chooses the certificate of a server's engine. */
void tls_engine_set_choose(struct tls_engine *e, tls_server_choose *choose, void *arg);
/* Asks it, once, and hands the leaf to the SSL. 0, or the alert to send. For the servername
 * callback. */
int tls_engine_choose(SSL *ssl);

/* What the contexts of both sides have in common: versions, modes, sessions, TLS 1.3 ciphers. 0,
 * -ENOMEM. */
int tls_engine_context(SSL_CTX *ctx);

/* ---- reasons ---- */

/* The IANA name of an alert ("unknown_ca"), "unknown_alert" for a number without one. Constant. */
const char *tls_reason_alert(int alert);
/* The name of an X509_verify_cert_error() code ("X509_V_ERR_CERT_HAS_EXPIRED"). Constant. */
const char *tls_reason_verify(long code);

/* ---- trust ---- */

X509_STORE *tls_trust_store(struct tls_trust *trust);

#endif
