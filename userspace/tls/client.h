/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h – TLS towards origins: 1.2 and 1.3, the certificate always verified, for the name or
 * address that was asked for. There is no way to switch that off. One for each worker and trust
 * set.
 */
#ifndef SALLYPORT_TLS_CLIENT_H
#define SALLYPORT_TLS_CLIENT_H

#include "base/slice.h"

struct addr;
struct buf;
struct tls_client;
struct tls_engine;
struct tls_trust;

/* Takes a reference of trust. Cheap (no file is read). 0, -ENOMEM. */
int tls_client_new(struct tls_trust *trust, struct tls_client **ret);
/* Engines may outlive it. */
void tls_client_free(struct tls_client *client);

/*
 * An engine towards `host` (canonical, at most LIMIT_NAME bytes), whose first flight is in tx after
 * the first tls_engine_handshake(). With ip the certificate must carry that address as iPAddress
 * and no SNI is sent (RFC 6066 section 3); otherwise it must carry the name as dNSName. Until the
 * handshake is done tls_engine_write() takes nothing: no byte of a request leaves for an origin
 * that was not verified. Offers ALPN "http/1.1", and before it "h2" if asked to. rx and tx are borrowed until tls_engine_free(). 0,
 * -EINVAL for the name, -ENOMEM.
 */
int tls_client_engine(struct tls_client *client, struct buf *rx, struct buf *tx, struct slice host,
	const struct addr *ip, bool h2, struct tls_engine **ret);

#endif
