/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h – one TLS connection as a machine between two buffers. It does no I/O: the owner appends
 * ciphertext to rx and sends what it finds in tx.
 *
 *	rx (ciphertext in)  --> engine --> tls_engine_read()   plain text
 *	tx (ciphertext out) <-- engine <-- tls_engine_write()  plain text
 *
 * After bytes were added to rx *or* taken from tx, the owner calls handshake until it is done, then
 * read until -EAGAIN; after bytes were taken from tx also write, if it has anything to write. tx
 * never grows beyond its maximum; a record that does not fit is refused with -EAGAIN. Engines are
 * made by server.h and client.h.
 */
#ifndef SALLYPORT_TLS_ENGINE_H
#define SALLYPORT_TLS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct buf;
struct tls_engine;

/* Alerts that a caller sends on its own account; the numbers of RFC 8446 section 6. */
enum tls_alert {
	TLS_ALERT_HANDSHAKE_FAILURE = 40,
	TLS_ALERT_ACCESS_DENIED = 49,
	TLS_ALERT_DECODE_ERROR = 50,
	TLS_ALERT_PROTOCOL_VERSION = 70,
	TLS_ALERT_INTERNAL_ERROR = 80,
	TLS_ALERT_UNRECOGNIZED_NAME = 112,
};

/* Why an engine failed; tls_engine_reason() has the detail. */
enum tls_failure {
	TLS_FAILURE_NONE,
	TLS_FAILURE_VERIFY, /* the peer's certificate is not good; reason is an X509_V_ERR_… name */
	TLS_FAILURE_ALERT, /* the peer sent a fatal alert; reason is its name: "unknown_ca" */
	TLS_FAILURE_PROTOCOL, /* we refuse what the peer sent; reason is the alert that we sent */
	TLS_FAILURE_REFUSED, /* tls_engine_alert(), or choose() had no leaf; likewise */
	TLS_FAILURE_EOF, /* the stream ended without close_notify; reason is "unexpected_eof" */
	TLS_FAILURE_INTERNAL, /* memory; reason is "internal_error" */
};

/* 1 done (also when asked again), 0 wants more rx or room in tx, -EPROTO failed: an alert may be in
 * tx, send it. */
int tls_engine_handshake(struct tls_engine *e);

/*
 * Plain text into to[0..n). Bytes read; 0 = the peer closed properly (close_notify), for good;
 * -EAGAIN = no whole record in rx, or an answer to the peer finds no room in tx; -EPROTO failed.
 */
long tls_engine_read(struct tls_engine *e, uint8_t *to, size_t n);

/*
 * Seals bytes of `from` into tx. Bytes taken, at most one record's (16 KiB) and possibly fewer;
 * -EAGAIN = none taken, tx has no room; -EPROTO failed. What -EAGAIN refused need not be offered
 * again.
 */
long tls_engine_write(struct tls_engine *e, struct slice from);

/* Queues close_notify, once. 0, -EAGAIN no room in tx: again later; -EPROTO when there is no
 * session to close. */
int tls_engine_close(struct tls_engine *e);

/* The owner's socket reached its end: no byte will be added to rx. Then read (or handshake) tells
 * what that means. */
void tls_engine_eof(struct tls_engine *e);

/*
 * Refuses the handshake with a fatal alert, before any record of ours was produced or from within
 * choose(). The engine has failed then. 0, -EBUSY when the handshake went too far, -ENOBUFS.
 */
int tls_engine_alert(struct tls_engine *e, enum tls_alert alert);

/* The same without an engine: appends a fatal plain-text alert record to tx, as the answer to a
 * ClientHello. 0, -ENOBUFS, -ENOMEM. */
int tls_engine_refuse(struct buf *tx, enum tls_alert alert);

enum tls_failure tls_engine_failure(const struct tls_engine *e);
/* A constant standard identifier, or "" when nothing failed. Never freed. */
const char *tls_engine_reason(const struct tls_engine *e);

/* For the record, constants, "" before the handshake is done: "TLSv1.3", "TLS_AES_128_GCM_SHA256".
 */
const char *tls_engine_version(const struct tls_engine *e);
const char *tls_engine_cipher(const struct tls_engine *e);
/* The application protocol that was agreed on, borrowed, valid as long as the engine; empty = none.
 */
struct slice tls_engine_alpn(const struct tls_engine *e);

/* Does not touch the two buffers. NULL is fine. */
void tls_engine_free(struct tls_engine *e);

#endif
