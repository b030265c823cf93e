/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h – TLS towards the sandbox: 1.2 and 1.3, the certificate chosen when the ClientHello has
 * been read. One for each worker, for all sandboxes: it holds no certificate and no session.
 */
#ifndef SALLYPORT_TLS_SERVER_H
#define SALLYPORT_TLS_SERVER_H

#include "base/slice.h"

struct buf;
struct leaf;
struct tls_engine;
struct tls_server;

/*
 * The leaf to answer a ClientHello with. sni is empty when the client named nobody (a connection by
 * address), and is free of NUL but otherwise raw. Returns a leaf that is borrowed for the call
 * (leaves_get()), or NULL: unrecognized_name is sent, or what tls_engine_alert() was called with
 * before returning NULL.
 */
typedef struct leaf *tls_server_choose(void *arg, struct slice sni);

/* 0, -ENOMEM. */
int tls_server_new(struct tls_server **ret);
/* Engines may outlive it. */
void tls_server_free(struct tls_server *server);

/*
 * An engine that waits for a ClientHello in rx (all of it: the bytes that were sniffed are left
 * there). rx and tx are borrowed until tls_engine_free(). ALPN: "h2" when the client offers it, else
 * "http/1.1"; otherwise the extension is not answered, also when only others were offered (RFC 7301 section
 * 3.1 permits it), and the client goes on with HTTP/1.1 or not at all (TLS-03). 0, -ENOMEM.
 */
int tls_server_engine(struct tls_server *server, struct buf *rx, struct buf *tx,
	tls_server_choose *choose, void *arg, struct tls_engine **ret);

#endif
