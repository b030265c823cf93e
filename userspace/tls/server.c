/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c – the side towards the sandbox. Owns: one SSL_CTX, which costs 160 us to make and so is
 * never made for a connection, a name or a sandbox.
 *
 * The certificate is chosen in the servername callback. It runs for every ClientHello, with the
 * extension or without, after all extensions were parsed and before a certificate is needed, and
 * unlike SSL_CTX_set_cert_cb(), whose failure is always internal_error, it chooses its alert. The
 * ClientHello callback would run before OpenSSL has checked the extension, so we would read it a
 * third time.
 *
 * The chain that is sent is the leaf alone. The issuer is a root that the client either has in its
 * store or does not trust, and RFC 8446 section 4.4.2 lets a root be left out; sending it would
 * cost 500 bytes of each handshake and would make "self-signed certificate in chain" of what is
 * "unable to get local issuer", no help to anybody. OpenSSL would by default search a store for
 * more on each handshake: SSL_MODE_NO_AUTO_CHAIN (engine.c).
 *
 * Tickets and the session cache are off: resumption would carry one sandbox's, name's or policy's
 * handshake over to another, until they are keyed by all three.
 */
#include <errno.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/cleanup.h"
#include "tls/server.h"
#include "tls/tls_internal.h"

struct tls_server {
	SSL_CTX *ctx;
};

static int server_name(SSL *ssl, int *alert, void *arg)
{
	int refused = tls_engine_choose(ssl);

	(void)arg;
	if (!refused)
		return SSL_TLSEXT_ERR_OK;
	*alert = refused;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* "h2" if it is among what is offered, else "http/1.1"; otherwise as if ALPN were not known here: no answer, no alert. */
static int server_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_n,
	const unsigned char *offered, unsigned n, void *arg)
{
	const struct slice ours[] = {SLICE("h2"), SLICE("http/1.1")};

	(void)ssl, (void)arg;
	for (unsigned o = 0; o < ARRAY_SIZE(ours); o++)
		for (unsigned i = 0; i < n; i += 1u + offered[i])
			if (slice_eq(slice_of(offered + i + 1, offered[i]), ours[o])) {
				*ret = offered + i + 1;
				*ret_n = offered[i];
				return SSL_TLSEXT_ERR_OK;
			}
	return SSL_TLSEXT_ERR_NOACK;
}

static int server_context(SSL_CTX *ctx)
{
	if (tls_engine_context(ctx) < 0)
		return -ENOMEM;
	SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
	(void)SSL_CTX_set_tlsext_servername_callback(
		ctx, server_name); /* a macro over ctrl: always 1 */
	SSL_CTX_set_alpn_select_cb(ctx, server_alpn, NULL);
	/* leaves are ECDSA, so these are all there is of TLS 1.2 */
	if (!SSL_CTX_set_cipher_list(ctx, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-"
					  "POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384") ||
		!SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384") ||
		!SSL_CTX_set_num_tickets(ctx, 0))
		return -ENOMEM;
	return 0;
}

int tls_server_new(struct tls_server **ret)
{
	struct tls_server *server = calloc(1, sizeof(*server));

	if (!server)
		return -ENOMEM;
	server->ctx = SSL_CTX_new(TLS_server_method());
	if (!server->ctx || server_context(server->ctx) < 0) {
		ERR_clear_error();
		tls_server_free(server);
		return -ENOMEM;
	}
	*ret = server;
	return 0;
}

void tls_server_free(struct tls_server *server)
{
	if (!server)
		return;
	SSL_CTX_free(server->ctx); /* counted: each SSL holds it */
	free(server);
}

int tls_server_engine(struct tls_server *server, struct buf *rx, struct buf *tx,
	tls_server_choose *choose, void *arg, struct tls_engine **ret)
{
	struct tls_engine *e;
	int r = tls_engine_new(server->ctx, rx, tx, &e);

	if (r < 0)
		return r;
	tls_engine_set_choose(e, choose, arg);
	SSL_set_accept_state(tls_engine_ssl(e));
	*ret = e;
	return 0;
}
