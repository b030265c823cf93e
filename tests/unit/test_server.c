/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c – the server side and clients of other tastes (TLS-03): versions, ALPN, no SNI, ciphers, second hellos. */
#include "tls_rig.h"

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
		{"\x02h2", "h2"},
		{"\x08http/1.1", "http/1.1"},
		{"\x02h2\x08http/1.1", "h2"},
		{"\x08http/1.1\x02h2", "h2"},
		{"\x08grpc-exp\x02h2", "h2"},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions),
		cmocka_unit_test(application_protocols),
		cmocka_unit_test(nobody_named),
		cmocka_unit_test(ciphers),
		cmocka_unit_test(hello_retry),
		cmocka_unit_test(no_renegotiation),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
