/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c – an SSL object between two buffers.
 *
 * Owns: the SSL and its one BIO. Borrows: rx, tx. Life:
 *
 *	HANDSHAKE --> OPEN --> (close_notify sent, close_notify received, in any order)
 *	    |           |
 *	    +-----------+--> failed, for good: `failure` and `reason` say why
 *
 * The BIO. One BIO_METHOD for the process; a BIO of it reads from rx and writes to tx, no byte is
 * copied to a third place but OpenSSL's own record buffers, and those are given back when they are
 * empty (SSL_MODE_RELEASE_BUFFERS). With no bytes in rx a read says "retry": whether more may come
 * is not the BIO's to know. The end of the stream is handled here, in engine_result(): OpenSSL's
 * own handling would queue an alert for a peer that is gone.
 *
 * tx is bounded. A write to the BIO takes what fits and says "retry" for the rest: a handshake
 * flight may thus lie half in tx and half in OpenSSL, and goes on when tx has drained, whatever
 * tx's size. Application data is never left in that state, because a caller that was told -EAGAIN
 * must be free to come with other bytes: tls_engine_write() cuts a piece whose record fits into the
 * room before OpenSSL sees it.
 *
 * Verification. No plain text is taken before SSL_do_handshake() has returned 1, and on the
 * client's side that includes the verdict on the certificate (SSL_VERIFY_PEER, client.c): the rule
 * that nothing of a request leaves for an unverified origin needs nobody's care but this file's.
 *
 * Renegotiation is refused (TLS 1.2: a no_renegotiation warning), KeyUpdate is answered by OpenSSL
 * inside a read; if the answer has no room, that read says -EAGAIN. OpenSSL's error queue is one
 * for each thread and shared by all engines on it, so it is emptied before each call whose result
 * is looked up in it.
 *
 * Measured, CPU us of one core: an engine made and freed 16; a full TLS 1.3 handshake, server 235,
 * client with verification of a leaf and a root 550; 16 KiB sealed 7, opened 6. An idle server's
 * engine holds 14.5 KB.
 *
 * Not here: which certificate (server.c, the owner's choose()), whom to trust (client.c, trust.c),
 * time limits.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/buf.h"
#include "tls/engine.h"
#include "tls/tls_internal.h"

enum {
	ENGINE_RECORD = 16384, /* plain text of one record */
	/* more than any cipher adds: header, nonce, type, tag; or CBC's MAC and padding */
	ENGINE_OVERHEAD = 5 + 8 + 1 + 16 + 48 + 16,
	/* with less room than this a record is not worth it, unless all of it fits */
	ENGINE_LEAST = 1024,
	ENGINE_ALERT = 7,
};

struct tls_engine {
	SSL *ssl;
	struct buf *rx, *tx;
	tls_server_choose *choose; /* servers only */
	void *choose_arg;
	const char *reason;
	enum tls_failure failure;
	int alert_sent; /* the last fatal alert that OpenSSL wrote, -1 none */
	int alert_wanted; /* tls_engine_alert() within choose(), -1 none */
	bool open; /* the handshake is done */
	bool choosing; /* within choose() */
	bool chosen; /* choose() gave a leaf: a second ClientHello does not ask again */
	bool produced; /* a byte of ours is in tx, or was */
	bool closed; /* our close_notify is queued */
	bool eof;
};

/* ---- the BIO ---- */

static int engine_bio_read(BIO *bio, char *to, size_t n, size_t *ret)
{
	struct tls_engine *e = BIO_get_data(bio);
	size_t have = buf_used(e->rx);

	BIO_clear_retry_flags(bio);
	if (have == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	if (n > have)
		n = have;
	memcpy(to, buf_slice(e->rx).p, n);
	buf_consume(e->rx, n);
	*ret = n;
	return 1;
}

static int engine_bio_write(BIO *bio, const char *from, size_t n, size_t *ret)
{
	struct tls_engine *e = BIO_get_data(bio);
	size_t room = buf_room(e->tx);

	BIO_clear_retry_flags(bio);
	if (n > room)
		n = room;
	if (n == 0) {
		BIO_set_retry_write(bio);
		return 0;
	}
	if (buf_append(e->tx, slice_of(from, n)) < 0)
		return 0; /* no memory: not a retry, so the engine fails */
	e->produced = true;
	*ret = n;
	return 1;
}

static long engine_bio_ctrl(BIO *bio, int command, long number, void *p)
{
	(void)bio, (void)number, (void)p;
	return command == BIO_CTRL_FLUSH; /* all the rest does not apply */
}

static BIO_METHOD *engine_method;
static pthread_once_t engine_method_once = PTHREAD_ONCE_INIT;

static void engine_method_make(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sallyport");

	if (m && BIO_meth_set_read_ex(m, engine_bio_read) &&
		BIO_meth_set_write_ex(m, engine_bio_write) && BIO_meth_set_ctrl(m, engine_bio_ctrl))
		engine_method = m;
	else
		BIO_meth_free(m);
}

/* ---- results ---- */

static long engine_fail(struct tls_engine *e, enum tls_failure failure, const char *reason)
{
	e->failure = failure;
	e->reason = reason;
	ERR_clear_error();
	return -EPROTO;
}

/* Fatal alerts of ours, for the reason. */
static void engine_info(const SSL *ssl, int where, int what)
{
	struct tls_engine *e = SSL_get_app_data(ssl);

	if (e && (where & SSL_CB_WRITE_ALERT) == SSL_CB_WRITE_ALERT && what >> 8 == SSL3_AL_FATAL)
		e->alert_sent = what & 0xff;
}

/* After SSL_ERROR_SSL: looks at what OpenSSL put on record. */
static long engine_failed(struct tls_engine *e)
{
	unsigned long first = ERR_peek_error(), last = ERR_peek_last_error();
	int reason = ERR_GET_LIB(last) == ERR_LIB_SSL ? ERR_GET_REASON(last) : 0;
	long verdict = SSL_get_verify_result(e->ssl);

	if (e->alert_wanted >= 0)
		return engine_fail(e, TLS_FAILURE_REFUSED, tls_reason_alert(e->alert_wanted));
	if (reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256)
		return engine_fail(
			e, TLS_FAILURE_ALERT, tls_reason_alert(reason - SSL_AD_REASON_OFFSET));
	if (!SSL_is_server(e->ssl) && reason == SSL_R_CERTIFICATE_VERIFY_FAILED &&
		verdict != X509_V_OK)
		return engine_fail(e, TLS_FAILURE_VERIFY, tls_reason_verify(verdict));
	if (ERR_GET_REASON(first) == ERR_R_MALLOC_FAILURE ||
		ERR_GET_REASON(last) == ERR_R_MALLOC_FAILURE)
		return engine_fail(e, TLS_FAILURE_INTERNAL, "internal_error");
	/* without an alert, what came was not TLS at all */
	return engine_fail(e, TLS_FAILURE_PROTOCOL,
		e->alert_sent >= 0 ? tls_reason_alert(e->alert_sent) : "unexpected_message");
}

/* What an SSL_… function that returned r <= 0 means: 0 the peer closed, -EAGAIN, -EPROTO. */
static long engine_result(struct tls_engine *e, int r)
{
	switch (SSL_get_error(e->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		if (e->eof)
			return engine_fail(e, TLS_FAILURE_EOF, "unexpected_eof");
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SSL:
		return engine_failed(e);
	default:
		return engine_fail(e, TLS_FAILURE_INTERNAL, "internal_error");
	}
}

/* ---- a life ---- */

int tls_engine_context(SSL_CTX *ctx)
{
	/*
	 * AES-128 and ChaCha20 before AES-256: 10 and 34 % less time for each record of 16 KiB, and
	 * enough. No sessions and no tickets: they must not cross sandboxes, names or policies, and
	 * full handshakes are what all figures hold.
	 */
	SSL_CTX_set_options(
		ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* returns the former mode */
	SSL_CTX_set_info_callback(ctx, engine_info);
	if (!SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) ||
		!SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) ||
		!SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_"
					       "SHA256:TLS_AES_256_GCM_SHA384"))
		return -ENOMEM;
	return 0;
}

int tls_engine_new(SSL_CTX *ctx, struct buf *rx, struct buf *tx, struct tls_engine **ret)
{
	struct tls_engine *e;
	BIO *bio;

	pthread_once(&engine_method_once, engine_method_make);
	e = engine_method ? calloc(1, sizeof(*e)) : NULL;
	if (!e)
		return -ENOMEM;
	e->ssl = SSL_new(ctx);
	bio = e->ssl ? BIO_new(engine_method) : NULL;
	if (!bio || !SSL_set_app_data(e->ssl, e)) {
		BIO_free(bio);
		ERR_clear_error();
		tls_engine_free(e);
		return -ENOMEM;
	}
	BIO_set_data(bio, e);
	BIO_set_init(bio, 1);
	SSL_set_bio(e->ssl, bio, bio);
	e->rx = rx;
	e->tx = tx;
	e->reason = "";
	e->alert_sent = e->alert_wanted = -1;
	*ret = e;
	return 0;
}

SSL *tls_engine_ssl(struct tls_engine *e)
{
	return e->ssl;
}

void tls_engine_set_choose(struct tls_engine *e, tls_server_choose *choose, void *arg)
{
	e->choose = choose;
	e->choose_arg = arg;
}

int tls_engine_choose(SSL *ssl)
{
	struct tls_engine *e = SSL_get_app_data(ssl);
	struct leaf *leaf;

	if (e->chosen)
		return 0;
	e->choosing = true;
	leaf = e->choose(
		e->choose_arg, slice_str(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)));
	e->choosing = false;
	if (!leaf) {
		if (e->alert_wanted < 0)
			e->alert_wanted = TLS_ALERT_UNRECOGNIZED_NAME;
		return e->alert_wanted;
	}
	if (SSL_use_certificate(ssl, leaf->cert) != 1 || SSL_use_PrivateKey(ssl, leaf->key) != 1)
		return TLS_ALERT_INTERNAL_ERROR;
	e->chosen = true;
	return 0;
}

int tls_engine_handshake(struct tls_engine *e)
{
	long r;
	int done;

	if (e->failure != TLS_FAILURE_NONE)
		return -EPROTO;
	if (e->open)
		return 1;
	ERR_clear_error();
	done = SSL_do_handshake(e->ssl);
	if (done == 1) {
		e->open = true;
		return 1;
	}
	r = engine_result(e, done);
	if (r == 0)
		r = engine_fail(e, TLS_FAILURE_ALERT, tls_reason_alert(SSL3_AD_CLOSE_NOTIFY));
	return r == -EAGAIN ? 0 : (int)r;
}

long tls_engine_read(struct tls_engine *e, uint8_t *to, size_t n)
{
	size_t got = 0;
	int r;

	assert(n > 0);
	if (e->failure != TLS_FAILURE_NONE)
		return -EPROTO;
	if (!e->open)
		return -EAGAIN;
	ERR_clear_error();
	r = SSL_read_ex(e->ssl, to, n, &got);
	return r == 1 ? (long)got : engine_result(e, r);
}

/* How much of n bytes becomes a record that fits whole into tx now; 0 = wait. */
static size_t engine_piece(const struct tls_engine *e, size_t n)
{
	size_t room = buf_room(e->tx),
	       least = e->tx->max / 2 < ENGINE_LEAST ? e->tx->max / 2 : ENGINE_LEAST;

	if (n > ENGINE_RECORD)
		n = ENGINE_RECORD;
	if (room >= n + ENGINE_OVERHEAD)
		return n;
	return room >= least + ENGINE_OVERHEAD ? room - ENGINE_OVERHEAD : 0;
}

long tls_engine_write(struct tls_engine *e, struct slice from)
{
	size_t piece, taken = 0;
	int r;

	if (e->failure != TLS_FAILURE_NONE || e->closed)
		return -EPROTO;
	if (!e->open)
		return -EAGAIN;
	if (from.n == 0)
		return 0;
	piece = engine_piece(e, from.n);
	if (piece == 0)
		return -EAGAIN;
	ERR_clear_error();
	r = SSL_write_ex(e->ssl, from.p, piece, &taken);
	if (r == 1)
		return (long)taken;
	return engine_result(e, r);
}

int tls_engine_close(struct tls_engine *e)
{
	if (e->failure != TLS_FAILURE_NONE || !e->open)
		return -EPROTO;
	if (e->closed)
		return 0;
	if (buf_room(e->tx) < ENGINE_OVERHEAD)
		return -EAGAIN;
	ERR_clear_error();
	if (SSL_shutdown(e->ssl) < 0)
		return (int)engine_result(e, -1);
	e->closed = true;
	return 0;
}

void tls_engine_eof(struct tls_engine *e)
{
	e->eof = true;
}

int tls_engine_refuse(struct buf *tx, enum tls_alert alert)
{
	/* type alert, version 3.3, two bytes: fatal, which (RFC 8446 section 6) */
	const uint8_t record[ENGINE_ALERT] = {21, 3, 3, 0, 2, 2, (uint8_t)alert};

	return buf_append(tx, slice_of(record, sizeof(record)));
}

int tls_engine_alert(struct tls_engine *e, enum tls_alert alert)
{
	int r;

	if (e->failure != TLS_FAILURE_NONE || e->produced)
		return -EBUSY;
	if (e->choosing) {
		e->alert_wanted = (int)alert; /* OpenSSL sends it when choose() has returned */
		return 0;
	}
	r = tls_engine_refuse(e->tx, alert);
	if (r == 0)
		(void)engine_fail(e, TLS_FAILURE_REFUSED,
			tls_reason_alert((int)alert)); /* -EPROTO is for later calls */
	return r;
}

/* ---- for the record ---- */

enum tls_failure tls_engine_failure(const struct tls_engine *e)
{
	return e->failure;
}

const char *tls_engine_reason(const struct tls_engine *e)
{
	return e->reason;
}

const char *tls_engine_version(const struct tls_engine *e)
{
	return e->open ? SSL_get_version(e->ssl) : "";
}

const char *tls_engine_cipher(const struct tls_engine *e)
{
	return e->open ? SSL_CIPHER_standard_name(SSL_get_current_cipher(e->ssl)) : "";
}

struct slice tls_engine_alpn(const struct tls_engine *e)
{
	const unsigned char *name = NULL;
	unsigned n = 0;

	SSL_get0_alpn_selected(e->ssl, &name, &n);
	return slice_of(name, n);
}

void tls_engine_free(struct tls_engine *e)
{
	if (!e)
		return;
	SSL_free(e->ssl); /* and its BIO */
	ERR_clear_error();
	free(e);
}
