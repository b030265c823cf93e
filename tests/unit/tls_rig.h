/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_rig.h – what the tests of the engine and of both sides share: a CA with a server and a client that trusts it, and
 * a pair of engines over bounded buffers that move a few hundred bytes at a time. No socket, no clock but the one that
 * OpenSSL verifies with. A test's main gives set_up and tear_down to its group.
 */
#ifndef SALLYPORT_TEST_TLS_RIG_H
#define SALLYPORT_TEST_TLS_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/ssl.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "model/addr.h"
#include "tls/ca.h"
#include "tls/client.h"
#include "tls/mint.h"
#include "tls/server.h"
#include "tls/tls_internal.h"
#include "tls/trust.h"

enum { STEP = 700, TX = 20480, RX = 65536, DAY = 24 * 3600 };

/* ---- what all tests share ---- */

static struct ca *good_ca, *other_ca;
static struct tls_server *server;
static struct tls_client *client;
static struct tls_trust *trust;

static inline int trust_of(const struct ca *ca, struct tls_trust **ret)
{
	char file[] = "/tmp/sallyport-test-XXXXXX";
	struct fault fault = {""};
	struct buf pem;
	int fd = mkstemp(file), r;

	buf_init(&pem, 4096);
	assert_true(fd >= 0);
	assert_int_equal(ca_cert_pem(ca, &pem), 0);
	assert_int_equal(write(fd, pem.data, buf_used(&pem)), buf_used(&pem));
	close(fd);
	r = tls_trust_extend(NULL, file, &fault, ret);
	unlink(file);
	buf_done(&pem);
	return r;
}

static inline int set_up(void **state)
{
	/* made long ago, so that there can be leaves that are past */
	int64_t made = time(NULL) - 30 * DAY;

	(void)state;
	if (ca_new("Sallyport CA good", made, &good_ca) < 0 ||
		ca_new("Sallyport CA other", made, &other_ca) < 0)
		return -1;
	if (trust_of(good_ca, &trust) < 0 || tls_server_new(&server) < 0 ||
		tls_client_new(trust, &client) < 0)
		return -1;
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	tls_client_free(client);
	tls_server_free(server);
	tls_trust_unref(trust);
	ca_free(good_ca);
	ca_free(other_ca);
	return 0;
}

/* ---- two sides ---- */

struct side {
	struct tls_engine *e;
	struct buf rx, tx;
};

struct pair {
	struct side c, s;
	struct leaf *leaf; /* what choose() gives; NULL: refuses */
	int alert; /* then with this, if not 0 */
	unsigned asked; /* calls of choose() */
	char sni[256];
	size_t step; /* bytes that move at once */
};

static inline struct leaf *choose(void *arg, struct slice sni)
{
	struct pair *p = arg;

	p->asked++;
	snprintf(p->sni, sizeof(p->sni), "%.*s", SLICE_ARG(sni));
	if (p->alert)
		assert_int_equal(tls_engine_alert(p->s.e, (enum tls_alert)p->alert), 0);
	return p->leaf;
}

static inline void pair_init(struct pair *p, size_t tx)
{
	*p = (struct pair){.step = STEP};
	buf_init(&p->c.rx, RX), buf_init(&p->s.rx, RX);
	buf_init(&p->c.tx, tx), buf_init(&p->s.tx, tx);
	assert_int_equal(tls_server_engine(server, &p->s.rx, &p->s.tx, choose, p, &p->s.e), 0);
}

static inline void pair_client(struct pair *p, const char *host, const struct addr *ip)
{
	assert_int_equal(
		tls_client_engine(client, &p->c.rx, &p->c.tx, slice_str(host), ip, false, &p->c.e),
		0);
}

/* A client of another taste, on a context that the caller made. */
static inline void pair_odd_client(struct pair *p, SSL_CTX *ctx, const char *sni)
{
	assert_int_equal(tls_engine_new(ctx, &p->c.rx, &p->c.tx, &p->c.e), 0);
	if (sni)
		SSL_set_tlsext_host_name(tls_engine_ssl(p->c.e), sni);
	SSL_set_connect_state(tls_engine_ssl(p->c.e));
	SSL_CTX_free(ctx);
}

static inline void pair_done(struct pair *p)
{
	tls_engine_free(p->c.e);
	tls_engine_free(p->s.e);
	mint_leaf_free(p->leaf);
	buf_done(&p->c.rx), buf_done(&p->c.tx), buf_done(&p->s.rx), buf_done(&p->s.tx);
}

static inline bool move(struct side *from, struct side *to, size_t step)
{
	struct slice s = slice_first(buf_slice(&from->tx), step);

	if (s.n > buf_room(&to->rx))
		s.n = buf_room(&to->rx);
	if (s.n == 0)
		return false;
	assert_int_equal(buf_append(&to->rx, s), 0);
	buf_consume(&from->tx, s.n);
	return true;
}

/* Until both are done, one has failed and its alert has arrived, or nothing moves. */
static inline void pair_handshake(struct pair *p, int *ret_c, int *ret_s)
{
	bool moved;

	do {
		*ret_c = tls_engine_handshake(p->c.e);
		moved = move(&p->c, &p->s, p->step);
		*ret_s = tls_engine_handshake(p->s.e);
		moved |= move(&p->s, &p->c, p->step);
		assert_true(buf_used(&p->s.tx) <= p->s.tx.max);
	} while (moved);
	*ret_c = tls_engine_handshake(p->c.e);
	*ret_s = tls_engine_handshake(p->s.e);
}

static inline void pair_connect(struct pair *p)
{
	int c, s;

	pair_handshake(p, &c, &s);
	assert_int_equal(c, 1);
	assert_int_equal(s, 1);
}

static inline void leaf_for(struct pair *p, const char *name)
{
	assert_int_equal(mint_leaf(good_ca, slice_str(name), NULL, time(NULL), &p->leaf), 0);
}

static inline SSL_CTX *odd_context(int min, int max)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_min_proto_version(ctx, min);
	SSL_CTX_set_max_proto_version(ctx, max);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return ctx;
}

#endif
