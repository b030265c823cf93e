/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c – the side towards origins. Owns: one SSL_CTX, on a trust set that is shared and
 * counted.
 *
 * What makes a certificate good: a chain to a root of the trust set, in its time, for TLS servers,
 * and the name that was asked for among its dNSNames, or the address among its iPAddresses. A
 * wildcard stands for one whole leftmost label (RFC 6125 section 6.4.3); the subject's CN does not
 * count, whether or not there are dNSNames. The verdict is part of the handshake, and engine.c
 * takes no plain text before its end: an origin that fails is never sent a byte of a request
 * (TLS-24).
 *
 * The security level is the system's (Debian: 2), as for any other client on the machine.
 */
#include <errno.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/limits.h"
#include "model/addr.h"
#include "tls/client.h"
#include "tls/tls_internal.h"

struct tls_client {
	SSL_CTX *ctx;
};

static int client_context(SSL_CTX *ctx, struct tls_trust *trust)
{
	static const unsigned char alpn[] = "\x08http/1.1";

	if (tls_engine_context(ctx) < 0)
		return -ENOMEM;
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set1_cert_store(ctx, tls_trust_store(trust));
	/* older origins have CBC only; none without forward secrecy */
	if (!SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM+AES128:ECDHE+CHACHA20:ECDHE+AESGCM:DHE+"
					  "AESGCM+AES128:DHE+CHACHA20:DHE+AESGCM:"
					  "ECDHE+AES128:ECDHE+AES256:!aNULL:!eNULL:!PSK:!SRP") ||
		!SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384:P-521") ||
		SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1) !=
			0) /* 0 is success, of this one alone */
		return -ENOMEM;
	return 0;
}

int tls_client_new(struct tls_trust *trust, struct tls_client **ret)
{
	struct tls_client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->ctx = SSL_CTX_new(TLS_client_method());
	if (!client->ctx || client_context(client->ctx, trust) < 0) {
		ERR_clear_error();
		tls_client_free(client);
		return -ENOMEM;
	}
	*ret = client;
	return 0;
}

void tls_client_free(struct tls_client *client)
{
	if (!client)
		return;
	SSL_CTX_free(
		client->ctx); /* counted: each SSL holds it, and it holds the trust set's store */
	free(client);
}

static int client_expect_name(SSL *ssl, struct slice host)
{
	char name[LIMIT_NAME + 1] = "";

	memcpy(name, host.p, host.n);
	SSL_set_hostflags(
		ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1 ? 0
											 : -ENOMEM;
}

static int client_expect_address(SSL *ssl, const struct addr *ip)
{
	size_t skip = addr_is_v4(ip) ? 12 : 0;

	return X509_VERIFY_PARAM_set1_ip(
		       SSL_get0_param(ssl), ip->ip + skip, sizeof(ip->ip) - skip) == 1
		       ? 0
		       : -ENOMEM;
}

int tls_client_engine(struct tls_client *client, struct buf *rx, struct buf *tx, struct slice host,
	const struct addr *ip, bool h2, struct tls_engine **ret)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1";
	struct tls_engine *e;
	int r;

	if (!ip && (host.n == 0 || host.n > LIMIT_NAME || slice_find(host, 0) != host.n))
		return -EINVAL;
	r = tls_engine_new(client->ctx, rx, tx, &e);
	if (r < 0)
		return r;
	r = ip ? client_expect_address(tls_engine_ssl(e), ip)
	       : client_expect_name(tls_engine_ssl(e), host);
	if (r == 0 && h2 && SSL_set_alpn_protos(tls_engine_ssl(e), both, sizeof(both) - 1) != 0)
		r = -ENOMEM;
	if (r < 0) {
		tls_engine_free(e);
		return r;
	}
	SSL_set_connect_state(tls_engine_ssl(e));
	*ret = e;
	return 0;
}
