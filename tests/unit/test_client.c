/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c – the client side and origins that are not what they say (TLS-13, TLS-24): not a byte for them. */
#include <openssl/err.h>

#include "tls/sniff.h"
#include "tls_rig.h"

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

static void names_for_upstream(void **state)
{
	struct buf rx, tx;
	struct tls_engine *e = NULL;
	char big[255];

	(void)state;
	buf_init(&rx, RX), buf_init(&tx, TX);
	memset(big, 'a', sizeof(big));
	assert_int_equal(
		tls_client_engine(client, &rx, &tx, slice_of("a\0b", 3), NULL, false, &e), -EINVAL);
	assert_int_equal(
		tls_client_engine(client, &rx, &tx, slice_of("", 0), NULL, false, &e), -EINVAL);
	assert_int_equal(
		tls_client_engine(client, &rx, &tx, slice_of(big, 254), NULL, false, &e), -EINVAL);
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
		cmocka_unit_test(bad_origins_get_no_byte),
		cmocka_unit_test(no_renegotiation_for_origins),
		cmocka_unit_test(names_for_upstream),
		cmocka_unit_test(hello_as_sniffed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
