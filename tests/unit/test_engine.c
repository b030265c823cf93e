/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine.c – engines of both sides against each other and against peers of other tastes, over
 * bounded buffers that move a few hundred bytes at a time. No socket, no clock but the one that
 * OpenSSL verifies with.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "model/addr.h"
#include "tls/ca.h"
#include "tls/client.h"
#include "tls/mint.h"
#include "tls/server.h"
#include "tls/sniff.h"
#include "tls/tls_internal.h"
#include "tls/trust.h"

enum { STEP = 700, TX = 20480, RX = 65536, MIB = 1 << 20, DAY = 24 * 3600 };

/* ---- what all tests share ---- */

static struct ca *good_ca, *other_ca;
static struct tls_server *server;
static struct tls_client *client;
static struct tls_trust *trust;

static int trust_of(const struct ca *ca, struct tls_trust **ret)
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

static int set_up(void **state)
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

static int tear_down(void **state)
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

static struct leaf *choose(void *arg, struct slice sni)
{
	struct pair *p = arg;

	p->asked++;
	snprintf(p->sni, sizeof(p->sni), "%.*s", SLICE_ARG(sni));
	if (p->alert)
		assert_int_equal(tls_engine_alert(p->s.e, (enum tls_alert)p->alert), 0);
	return p->leaf;
}

static void pair_init(struct pair *p, size_t tx)
{
	*p = (struct pair){.step = STEP};
	buf_init(&p->c.rx, RX), buf_init(&p->s.rx, RX);
	buf_init(&p->c.tx, tx), buf_init(&p->s.tx, tx);
	assert_int_equal(tls_server_engine(server, &p->s.rx, &p->s.tx, choose, p, &p->s.e), 0);
}

static void pair_client(struct pair *p, const char *host, const struct addr *ip)
{
	assert_int_equal(
		tls_client_engine(client, &p->c.rx, &p->c.tx, slice_str(host), ip, &p->c.e), 0);
}

/* A client of another taste, on a context that the caller made. */
static void pair_odd_client(struct pair *p, SSL_CTX *ctx, const char *sni)
{
	assert_int_equal(tls_engine_new(ctx, &p->c.rx, &p->c.tx, &p->c.e), 0);
	if (sni)
		SSL_set_tlsext_host_name(tls_engine_ssl(p->c.e), sni);
	SSL_set_connect_state(tls_engine_ssl(p->c.e));
	SSL_CTX_free(ctx);
}

static void pair_done(struct pair *p)
{
	tls_engine_free(p->c.e);
	tls_engine_free(p->s.e);
	mint_leaf_free(p->leaf);
	buf_done(&p->c.rx), buf_done(&p->c.tx), buf_done(&p->s.rx), buf_done(&p->s.tx);
}

static bool move(struct side *from, struct side *to, size_t step)
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
static void pair_handshake(struct pair *p, int *ret_c, int *ret_s)
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

static void pair_connect(struct pair *p)
{
	int c, s;

	pair_handshake(p, &c, &s);
	assert_int_equal(c, 1);
	assert_int_equal(s, 1);
}

static void leaf_for(struct pair *p, const char *name)
{
	assert_int_equal(mint_leaf(good_ca, slice_str(name), NULL, time(NULL), &p->leaf), 0);
}

/* ---- bytes ---- */

static uint8_t pattern(size_t i, unsigned salt)
{
	return (uint8_t)((i * 2654435761u >> 13) + salt);
}

struct flow {
	size_t sent, got, refused;
	unsigned salt;
};

static bool flow_write(struct side *side, struct flow *f, size_t chunk)
{
	uint8_t bytes[40000];
	size_t n = MIB - f->sent < chunk ? MIB - f->sent : chunk;
	long r;

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		bytes[i] = pattern(f->sent + i, f->salt);
	r = tls_engine_write(side->e, slice_of(bytes, n));
	memset(bytes, 0xee,
		sizeof(bytes)); /* what was taken was taken, what was not is not looked at again */
	if (r == -EAGAIN) {
		f->refused++;
		return false;
	}
	assert_true(r > 0 && (size_t)r <= n);
	f->sent += (size_t)r;
	return true;
}

static void flow_read(struct side *side, struct flow *f, size_t chunk)
{
	uint8_t bytes[40000];
	long r;

	while ((r = tls_engine_read(side->e, bytes, chunk)) > 0) {
		for (long i = 0; i < r; i++)
			if (bytes[i] != pattern(f->got + (size_t)i, f->salt))
				fail_msg("byte %zu", f->got + (size_t)i);
		f->got += (size_t)r;
	}
	assert_int_equal(r, -EAGAIN);
}

/* A mebibyte both ways at once. */
static void pair_flows(struct pair *p, size_t chunk, size_t at_once)
{
	struct flow up = {.salt = 1}, down = {.salt = 2};

	while (up.got < MIB || down.got < MIB) {
		size_t before = up.got + down.got + up.sent + down.sent;
		bool moved = false;

		while (flow_write(&p->c, &up, chunk))
			;
		while (flow_write(&p->s, &down, chunk))
			;
		assert_true(buf_used(&p->c.tx) <= p->c.tx.max);
		for (int i = 0; i < 40; i++) {
			moved |= move(&p->c, &p->s, at_once);
			moved |= move(&p->s, &p->c, at_once);
			flow_read(&p->s, &up, 3000);
			flow_read(&p->c, &down, 40000);
		}
		assert_true(moved || before != up.got + down.got + up.sent + down.sent);
	}
	assert_true(up.refused > 0 && down.refused > 0); /* tx was full at some time */
	assert_int_equal(up.got, MIB);
	assert_int_equal(down.got, MIB);
}

static SSL_CTX *odd_context(int min, int max)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_min_proto_version(ctx, min);
	SSL_CTX_set_max_proto_version(ctx, max);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return ctx;
}

static void a_mebibyte_both_ways(void **state)
{
	static const struct {
		size_t tx, chunk, at_once;
		int version;
	} rows[] = {
		{TX, 40000, 700, TLS1_3_VERSION},
		{TX, 40000, 700, TLS1_2_VERSION},
		{TX, 777, 20000, TLS1_3_VERSION},
		{300, 5000, 700, TLS1_3_VERSION},
		{65536, 40000, 65536, TLS1_3_VERSION},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair p;

		pair_init(&p, rows[i].tx);
		leaf_for(&p, "api.example.com");
		if (rows[i].version == TLS1_2_VERSION)
			pair_odd_client(
				&p, odd_context(TLS1_2_VERSION, TLS1_2_VERSION), "api.example.com");
		else
			pair_client(&p, "api.example.com", NULL);
		pair_connect(&p);
		assert_string_equal(p.sni, "api.example.com");
		assert_int_equal(p.asked, 1);
		pair_flows(&p, rows[i].chunk, rows[i].at_once);
		pair_done(&p);
	}
}

static void handshakes_through_a_keyhole(void **state)
{
	static const size_t sizes[] = {1, 2, 7, 64, 500};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct pair p;

		pair_init(&p, sizes[i]);
		p.step = sizes[i];
		leaf_for(&p, "api.example.com");
		pair_client(&p, "api.example.com", NULL);
		pair_connect(&p);
		pair_done(&p);
	}
}

/* ---- origins that are not what they say (TLS-13, TLS-24) ---- */

static void bad_origins_get_no_byte(void **state)
{
	int64_t now = time(NULL);
	static const struct {
		const char *host; /* asked for */
		const char *ip;
		const char *has;
		const char *has_ip;
		int64_t age;
		int from; /* 0 the good CA, 1 another, 2 the other CA's own certificate */
		const char *reason;
		const char *alert; /* that the origin gets */
	} rows[] = {
		{"a.test", NULL, "a.test", NULL, 0, 0, NULL, NULL},
		{"wrong.test", NULL, "other.test", NULL, 0, 0, "X509_V_ERR_HOSTNAME_MISMATCH",
			"bad_certificate"},
		{"sub.a.test", NULL, "a.test", NULL, 0, 0, "X509_V_ERR_HOSTNAME_MISMATCH",
			"bad_certificate"},
		{"a.test", NULL, "a.test", NULL, 2 * DAY, 0, "X509_V_ERR_CERT_HAS_EXPIRED",
			"certificate_expired"},
		{"a.test", NULL, "a.test", NULL, -DAY, 0, "X509_V_ERR_CERT_NOT_YET_VALID",
			"bad_certificate"},
		{"a.test", NULL, "a.test", NULL, 0, 1,
			"X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unknown_ca"},
		{"a.test", NULL, "a.test", NULL, 0, 2, "X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT",
			"unknown_ca"},
		{"203.0.113.10", "203.0.113.10", "203.0.113.10", "203.0.113.10", 0, 0, NULL, NULL},
		{"2001:db8::1", "2001:db8::1", "2001:db8::1", "2001:db8::1", 0, 0, NULL, NULL},
		{"203.0.113.10", "203.0.113.10", "203.0.113.11", "203.0.113.11", 0, 0,
			"X509_V_ERR_IP_ADDRESS_MISMATCH", "bad_certificate"},
		{"203.0.113.10", "203.0.113.10", "203.0.113.10", NULL, 0, 0,
			"X509_V_ERR_IP_ADDRESS_MISMATCH",
			"bad_certificate"}, /* as a dNSName only */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr ip, has_ip;
		struct pair p;
		uint8_t byte;
		int c, s;

		pair_init(&p, TX);
		if (rows[i].ip)
			assert_int_equal(addr_parse(slice_str(rows[i].ip), &ip), 0);
		if (rows[i].has_ip)
			assert_int_equal(addr_parse(slice_str(rows[i].has_ip), &has_ip), 0);
		assert_int_equal(
			mint_leaf(rows[i].from ? other_ca : good_ca, slice_str(rows[i].has),
				rows[i].has_ip ? &has_ip : NULL, now - rows[i].age, &p.leaf),
			0);
		if (rows[i].from == 2) {
			X509_free(p.leaf->cert), EVP_PKEY_free(p.leaf->key);
			X509_up_ref(other_ca->cert), EVP_PKEY_up_ref(other_ca->key);
			p.leaf->cert = other_ca->cert, p.leaf->key = other_ca->key;
		}
		pair_client(&p, rows[i].host, rows[i].ip ? &ip : NULL);
		assert_int_equal(
			tls_engine_write(p.c.e, SLICE("secret")), -EAGAIN); /* before it began */
		assert_int_equal(buf_used(&p.c.tx), 0);
		pair_handshake(&p, &c, &s);
		assert_string_equal(p.sni, rows[i].ip ? "" : rows[i].host);
		if (!rows[i].reason) {
			assert_int_equal(c, 1);
			assert_int_equal(tls_engine_write(p.c.e, SLICE("secret")), 6);
			pair_done(&p);
			continue;
		}
		assert_int_equal(c, -EPROTO);
		assert_int_equal(tls_engine_failure(p.c.e), TLS_FAILURE_VERIFY);
		assert_string_equal(tls_engine_reason(p.c.e), rows[i].reason);
		assert_int_equal(
			ERR_peek_error(), 0); /* the queue is shared: nothing is left in it */
		assert_int_equal(tls_engine_write(p.c.e, SLICE("secret")), -EPROTO);
		assert_int_equal(tls_engine_read(p.c.e, &byte, 1), -EPROTO);
		assert_int_equal(buf_used(&p.c.tx), 0);
		assert_true(s == -EPROTO || tls_engine_read(p.s.e, &byte, 1) == -EPROTO);
		assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_ALERT);
		assert_string_equal(tls_engine_reason(p.s.e), rows[i].alert);
		pair_done(&p);
	}
}

/* ---- clients of other tastes (TLS-03) ---- */

static void versions(void **state)
{
	static const struct {
		int min, max;
		const char *version; /* NULL: refused */
	} rows[] = {
		{TLS1_2_VERSION, TLS1_2_VERSION, "TLSv1.2"},
		{TLS1_3_VERSION, TLS1_3_VERSION, "TLSv1.3"},
		{TLS1_VERSION, TLS1_3_VERSION, "TLSv1.3"},
		{TLS1_VERSION, TLS1_1_VERSION, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair p;
		int c, s;

		pair_init(&p, TX);
		leaf_for(&p, "a.test");
		pair_odd_client(&p, odd_context(rows[i].min, rows[i].max), "a.test");
		assert_string_equal(tls_engine_version(p.s.e), "");
		pair_handshake(&p, &c, &s);
		if (rows[i].version) {
			assert_int_equal(s, 1);
			assert_int_equal(c, 1);
			assert_string_equal(tls_engine_version(p.s.e), rows[i].version);
		} else {
			assert_int_equal(s, -EPROTO);
			assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_PROTOCOL);
			assert_string_equal(tls_engine_reason(p.s.e), "protocol_version");
			assert_string_equal(tls_engine_reason(p.c.e), "protocol_version");
		}
		pair_done(&p);
	}
}

static void application_protocols(void **state)
{
	static const struct {
		const char *offered;
		const char *agreed;
	} rows[] = {
		{NULL, ""},
		{"\x02h2", ""},
		{"\x08http/1.1", "http/1.1"},
		{"\x02h2\x08http/1.1", "http/1.1"},
		{"\x08http/1.1\x02h2", "http/1.1"},
		{"\x08grpc-exp\x02h2", ""},
		{"\x08http/1.0\x07http/1.", ""},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const char *offered = rows[i / 2].offered;
		int version = i % 2 ? TLS1_3_VERSION : TLS1_2_VERSION;
		SSL_CTX *ctx = odd_context(version, version);
		struct pair p;

		if (offered)
			assert_int_equal(SSL_CTX_set_alpn_protos(ctx, (const uint8_t *)offered,
						 (unsigned)strlen(offered)),
				0);
		pair_init(&p, TX);
		leaf_for(&p, "a.test");
		pair_odd_client(&p, ctx, "a.test");
		pair_connect(&p);
		assert_true(slice_eq(tls_engine_alpn(p.s.e), slice_str(rows[i / 2].agreed)));
		assert_true(slice_eq(tls_engine_alpn(p.c.e), slice_str(rows[i / 2].agreed)));
		pair_done(&p);
	}
}

static void nobody_named(void **state)
{
	struct pair p;
	struct addr ip;

	(void)state;
	pair_init(&p, TX);
	assert_int_equal(addr_parse(SLICE("203.0.113.10"), &ip), 0);
	assert_int_equal(mint_leaf(good_ca, SLICE("203.0.113.10"), &ip, time(NULL), &p.leaf), 0);
	pair_odd_client(&p, odd_context(TLS1_2_VERSION, TLS1_3_VERSION), NULL);
	strcpy(p.sni, "unset");
	pair_connect(&p);
	assert_int_equal(p.asked, 1);
	assert_string_equal(p.sni, "");
	pair_done(&p);
}

/* We choose, whatever the client likes best: AES-128 before AES-256. */
static void ciphers(void **state)
{
	static const struct {
		int version;
		const char *list, *suites;
		const char *agreed; /* NULL: handshake_failure */
	} rows[] = {
		{TLS1_3_VERSION, NULL, "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256",
			"TLS_AES_128_GCM_SHA256"},
		{TLS1_3_VERSION, NULL, "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
			"TLS_CHACHA20_POLY1305_SHA256"},
		{TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256",
			NULL, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
		{TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA:AES128-SHA", NULL, NULL},
		{TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SSL_CTX *ctx = odd_context(rows[i].version, rows[i].version);
		struct pair p;
		int c, s;

		if (rows[i].list)
			assert_int_equal(SSL_CTX_set_cipher_list(ctx, rows[i].list), 1);
		if (rows[i].suites)
			assert_int_equal(SSL_CTX_set_ciphersuites(ctx, rows[i].suites), 1);
		pair_init(&p, TX);
		leaf_for(&p, "a.test");
		pair_odd_client(&p, ctx, "a.test");
		pair_handshake(&p, &c, &s);
		if (rows[i].agreed) {
			assert_int_equal(c == 1 && s == 1, 1);
			assert_string_equal(tls_engine_cipher(p.s.e), rows[i].agreed);
		} else {
			assert_int_equal(s, -EPROTO);
			assert_string_equal(tls_engine_reason(p.s.e), "handshake_failure");
		}
		pair_done(&p);
	}
}

/* A key share that we do not take: a second ClientHello, but choose() is asked once. */
static void hello_retry(void **state)
{
	SSL_CTX *ctx = odd_context(TLS1_3_VERSION, TLS1_3_VERSION);
	struct pair p;

	(void)state;
	assert_int_equal(SSL_CTX_set1_groups_list(ctx, "P-521:P-256"), 1);
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_odd_client(&p, ctx, "a.test");
	pair_connect(&p);
	assert_int_equal(p.asked, 1);
	pair_done(&p);
}

/* ---- alerts ---- */

static void alerts_arrive(void **state)
{
	static const struct {
		int alert; /* 0: choose() says NULL and nothing else */
		bool early; /* before a byte was read */
		const char *name;
	} rows[] = {
		{0, false, "unrecognized_name"},
		{TLS_ALERT_ACCESS_DENIED, false, "access_denied"},
		{TLS_ALERT_ACCESS_DENIED, true, "access_denied"},
		{TLS_ALERT_UNRECOGNIZED_NAME, true, "unrecognized_name"},
		{TLS_ALERT_INTERNAL_ERROR, false, "internal_error"},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		int version = i % 2 ? TLS1_3_VERSION : TLS1_2_VERSION, c, s;
		struct pair p;

		pair_init(&p, TX);
		p.alert = rows[i / 2].early ? 0 : rows[i / 2].alert;
		pair_odd_client(&p, odd_context(version, version), "a.test");
		if (rows[i / 2].early) {
			assert_int_equal(
				tls_engine_alert(p.s.e, (enum tls_alert)rows[i / 2].alert), 0);
			assert_int_equal(tls_engine_alert(p.s.e, TLS_ALERT_INTERNAL_ERROR), -EBUSY);
		}
		pair_handshake(&p, &c, &s);
		assert_int_equal(s, -EPROTO);
		assert_int_equal(c, -EPROTO);
		assert_int_equal(p.asked, !rows[i / 2].early);
		assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_REFUSED);
		assert_string_equal(tls_engine_reason(p.s.e), rows[i / 2].name);
		assert_int_equal(tls_engine_failure(p.c.e), TLS_FAILURE_ALERT);
		assert_string_equal(tls_engine_reason(p.c.e), rows[i / 2].name);
		pair_done(&p);
	}
}

static void alert_without_engine(void **state)
{
	struct pair p;
	struct buf small;

	(void)state;
	pair_init(&p, TX);
	pair_client(&p, "a.test", NULL);
	assert_int_equal(tls_engine_handshake(p.c.e), 0);
	assert_int_equal(tls_engine_alert(p.c.e, TLS_ALERT_ACCESS_DENIED), -EBUSY);
	assert_int_equal(tls_engine_refuse(&p.s.tx, TLS_ALERT_ACCESS_DENIED), 0);
	(void)move(&p.s, &p.c, STEP);
	assert_int_equal(tls_engine_handshake(p.c.e), -EPROTO);
	assert_string_equal(tls_engine_reason(p.c.e), "access_denied");
	pair_done(&p);
	buf_init(&small, 6);
	assert_int_equal(tls_engine_refuse(&small, TLS_ALERT_ACCESS_DENIED), -ENOBUFS);
}

static void what_is_not_tls(void **state)
{
	static const struct {
		struct slice bytes;
		const char *reason;
	} rows[] = {
		{{(const uint8_t *)"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 32},
			"unexpected_message"},
		{{(const uint8_t *)"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03", 10}, "decode_error"},
		{{(const uint8_t *)"\x17\x03\x03\x00\x05hello", 10}, "unexpected_message"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair p;

		pair_init(&p, TX);
		assert_int_equal(buf_append(&p.s.rx, rows[i].bytes), 0);
		assert_int_equal(tls_engine_handshake(p.s.e), -EPROTO);
		assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_PROTOCOL);
		assert_string_equal(tls_engine_reason(p.s.e), rows[i].reason);
		assert_int_equal(p.asked, 0);
		pair_done(&p);
	}
}

/* ---- ends ---- */

static void both_ends(void **state)
{
	struct pair p;
	uint8_t byte;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	assert_int_equal(tls_engine_close(p.c.e), -EPROTO); /* nothing to close yet */
	pair_connect(&p);
	assert_int_equal(tls_engine_write(p.c.e, slice_of(NULL, 0)), 0);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("x")), 1);
	assert_int_equal(tls_engine_close(p.c.e), 0);
	assert_int_equal(tls_engine_close(p.c.e), 0);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("y")), -EPROTO);
	(void)move(&p.c, &p.s, 4096);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 1);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 0);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 0);
	assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_NONE);
	/* half-closed: the other direction goes on */
	assert_int_equal(tls_engine_write(p.s.e, SLICE("z")), 1);
	assert_int_equal(tls_engine_close(p.s.e), 0);
	(void)move(&p.s, &p.c, 4096);
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), 1);
	assert_int_equal(byte, 'z');
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), 0);
	tls_engine_eof(p.c.e);
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), 0);
	pair_done(&p);
}

static void cut_off(void **state)
{
	struct pair p;
	uint8_t byte;
	int c, s;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	pair_connect(&p);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("xy")), 2);
	(void)move(&p.c, &p.s, 4096);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("never whole")), 11);
	(void)move(&p.c, &p.s, 10);
	tls_engine_eof(p.s.e);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 1); /* what had arrived is read */
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 1);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), -EPROTO);
	assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_EOF);
	assert_string_equal(tls_engine_reason(p.s.e), "unexpected_eof");
	assert_int_equal(buf_used(&p.s.tx), 0);
	pair_done(&p);
	/* and in a handshake */
	pair_init(&p, TX);
	pair_client(&p, "a.test", NULL);
	c = tls_engine_handshake(p.c.e);
	assert_int_equal(c, 0);
	(void)move(&p.c, &p.s, 100);
	s = tls_engine_handshake(p.s.e);
	assert_int_equal(s, 0);
	tls_engine_eof(p.s.e);
	assert_int_equal(tls_engine_handshake(p.s.e), -EPROTO);
	assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_EOF);
	pair_done(&p);
}

static void a_flipped_bit(void **state)
{
	struct pair p;
	uint8_t byte;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	pair_connect(&p);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("abc")), 3);
	p.c.tx.data[p.c.tx.end - 1] ^= 1;
	(void)move(&p.c, &p.s, 4096);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), -EPROTO);
	assert_string_equal(tls_engine_reason(p.s.e), "bad_record_mac");
	(void)move(&p.s, &p.c, 4096);
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), -EPROTO);
	assert_int_equal(tls_engine_failure(p.c.e), TLS_FAILURE_ALERT);
	assert_string_equal(tls_engine_reason(p.c.e), "bad_record_mac");
	pair_done(&p);
}

/* ---- in the middle ---- */

static void new_keys(void **state)
{
	struct pair p;
	uint8_t bytes[16];

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	pair_connect(&p);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			SSL_key_update(tls_engine_ssl(p.c.e), SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(tls_engine_write(p.c.e, SLICE("up")), 2);
		(void)move(&p.c, &p.s, 4096);
		assert_int_equal(tls_engine_read(p.s.e, bytes, sizeof(bytes)), 2);
		assert_int_equal(tls_engine_write(p.s.e, SLICE("down")), 4);
		(void)move(&p.s, &p.c, 4096);
		assert_int_equal(tls_engine_read(p.c.e, bytes, sizeof(bytes)), 4);
	}
	assert_int_equal(SSL_get_key_update_type(tls_engine_ssl(p.s.e)), SSL_KEY_UPDATE_NONE);
	pair_done(&p);
}

static void no_renegotiation(void **state)
{
	struct pair p;
	uint8_t byte;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_odd_client(&p, odd_context(TLS1_2_VERSION, TLS1_2_VERSION), "a.test");
	pair_connect(&p);
	assert_int_equal(SSL_renegotiate(tls_engine_ssl(p.c.e)), 1);
	(void)SSL_do_handshake(tls_engine_ssl(p.c.e)); /* queues another ClientHello */
	assert_true(buf_used(&p.c.tx) > 100);
	(void)move(&p.c, &p.s, 4096);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), -EAGAIN);
	assert_int_equal(p.asked, 1);
	assert_int_equal(buf_used(&p.s.tx), 5 + 8 + 2 + 16); /* a warning, sealed */
	pair_done(&p);
}

/* The other way round: an origin that asks for it gets a warning, not another ClientHello. */
static void no_renegotiation_for_origins(void **state)
{
	struct pair p;
	uint8_t byte;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	assert_int_equal(SSL_set_max_proto_version(tls_engine_ssl(p.c.e), TLS1_2_VERSION), 1);
	pair_connect(&p);
	SSL_clear_options(tls_engine_ssl(p.s.e), SSL_OP_NO_RENEGOTIATION);
	assert_int_equal(SSL_renegotiate(tls_engine_ssl(p.s.e)), 1);
	(void)SSL_do_handshake(tls_engine_ssl(p.s.e)); /* queues a HelloRequest */
	assert_true(buf_used(&p.s.tx) > 0);
	(void)move(&p.s, &p.c, 4096);
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), -EAGAIN);
	assert_int_equal(buf_used(&p.c.tx), 5 + 8 + 2 + 16); /* a warning, sealed */
	pair_done(&p);
}

/* Engines go on when the leaf, the CA and both sides' contexts are gone. */
static void what_may_go_first(void **state)
{
	struct tls_server *own_server;
	struct tls_client *own_client;
	struct tls_trust *own_trust;
	struct leaf *leaf;
	struct ca *own_ca;
	struct pair p = {.step = STEP};
	int64_t now = time(NULL);

	(void)state;
	buf_init(&p.c.rx, RX), buf_init(&p.s.rx, RX), buf_init(&p.c.tx, TX), buf_init(&p.s.tx, TX);
	assert_int_equal(ca_new("Sallyport CA brief", now, &own_ca), 0);
	assert_int_equal(trust_of(own_ca, &own_trust), 0);
	assert_int_equal(tls_server_new(&own_server), 0);
	assert_int_equal(tls_client_new(own_trust, &own_client), 0);
	tls_trust_unref(own_trust);
	assert_int_equal(tls_server_engine(own_server, &p.s.rx, &p.s.tx, choose, &p, &p.s.e), 0);
	assert_int_equal(
		tls_client_engine(own_client, &p.c.rx, &p.c.tx, SLICE("a.test"), NULL, &p.c.e), 0);
	tls_server_free(own_server);
	tls_client_free(own_client);
	assert_int_equal(mint_leaf(own_ca, SLICE("a.test"), NULL, now, &leaf), 0);
	p.leaf = leaf;
	ca_free(own_ca);
	assert_int_equal(tls_engine_handshake(p.c.e), 0);
	while (p.asked == 0) {
		(void)move(&p.c, &p.s, 100);
		(void)tls_engine_handshake(p.s.e);
	}
	mint_leaf_free(leaf); /* evicted in the middle of the handshake */
	p.leaf = NULL;
	pair_connect(&p);
	pair_flows(&p, 5000, 5000);
	pair_done(&p);
}

/* ---- trust ---- */

static void roots(void **state)
{
	char file[] = "/tmp/sallyport-test-XXXXXX";
	struct fault fault = {""};
	struct tls_trust *system, *both, *none = NULL;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(tls_trust_extend(NULL, "/nonexistent/ca.pem", &fault, &none), -ENOENT);
	assert_non_null(strstr(fault.text, "/nonexistent/ca.pem"));
	fault.text[0] = '\0';
	assert_int_equal(tls_trust_extend(NULL, file, &fault, &none), -EBADMSG);
	assert_non_null(strstr(fault.text, "no certificate"));
	assert_int_equal(
		write(fd, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", 59),
		59);
	fault.text[0] = '\0';
	assert_int_equal(tls_trust_extend(NULL, file, &fault, &none), -EBADMSG);
	assert_non_null(strstr(fault.text, "certificate 1"));
	assert_null(none);
	fault.text[0] = '\0';
	if (tls_trust_system(&fault, &system) == 0) {
		struct buf pem;
		int n = sk_X509_OBJECT_num(X509_STORE_get0_objects(tls_trust_store(system)));

		buf_init(&pem, 4096);
		assert_int_equal(ca_cert_pem(good_ca, &pem), 0);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, pem.data, buf_used(&pem), 0), buf_used(&pem));
		assert_int_equal(tls_trust_extend(system, file, &fault, &both), 0);
		assert_int_equal(
			sk_X509_OBJECT_num(X509_STORE_get0_objects(tls_trust_store(both))), n + 1);
		tls_trust_unref(tls_trust_ref(system));
		tls_trust_unref(system);
		tls_trust_unref(both);
		buf_done(&pem);
	} else {
		assert_non_null(strstr(fault.text, "ca-certificates"));
	}
	close(fd);
	unlink(file);
}

static void names_for_upstream(void **state)
{
	struct buf rx, tx;
	struct tls_engine *e = NULL;
	char big[255];

	(void)state;
	buf_init(&rx, RX), buf_init(&tx, TX);
	memset(big, 'a', sizeof(big));
	assert_int_equal(
		tls_client_engine(client, &rx, &tx, slice_of("a\0b", 3), NULL, &e), -EINVAL);
	assert_int_equal(tls_client_engine(client, &rx, &tx, slice_of("", 0), NULL, &e), -EINVAL);
	assert_int_equal(
		tls_client_engine(client, &rx, &tx, slice_of(big, 254), NULL, &e), -EINVAL);
	assert_null(e);
}

/* What our own client sends is what sniff.h says of it. */
static void hello_as_sniffed(void **state)
{
	struct hello h;
	struct pair p;

	(void)state;
	pair_init(&p, TX);
	pair_client(&p, "api.example.com", NULL);
	assert_int_equal(tls_engine_handshake(p.c.e), 0);
	assert_int_equal(sniff_client_hello(buf_slice(&p.c.tx), &h), 1);
	assert_true(slice_eq(slice_of(h.sni, h.sni_n), SLICE("api.example.com")));
	assert_true(h.has_sni && h.alpn && h.alpn_http11 && !h.alpn_h2);
	pair_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mebibyte_both_ways),
		cmocka_unit_test(handshakes_through_a_keyhole),
		cmocka_unit_test(bad_origins_get_no_byte),
		cmocka_unit_test(versions),
		cmocka_unit_test(application_protocols),
		cmocka_unit_test(nobody_named),
		cmocka_unit_test(ciphers),
		cmocka_unit_test(hello_retry),
		cmocka_unit_test(alerts_arrive),
		cmocka_unit_test(alert_without_engine),
		cmocka_unit_test(what_is_not_tls),
		cmocka_unit_test(both_ends),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(a_flipped_bit),
		cmocka_unit_test(new_keys),
		cmocka_unit_test(no_renegotiation),
		cmocka_unit_test(no_renegotiation_for_origins),
		cmocka_unit_test(what_may_go_first),
		cmocka_unit_test(roots),
		cmocka_unit_test(names_for_upstream),
		cmocka_unit_test(hello_as_sniffed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
