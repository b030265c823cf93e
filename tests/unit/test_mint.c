/* SPDX-License-Identifier: Apache-2.0 */
/* test_mint.c – authorities and leaves: what strict verifiers want (TLS-01), names, addresses,
 * times, PEM and back. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "model/addr.h"
#include "tls/ca.h"
#include "tls/mint.h"
#include "tls/tls_internal.h"

/* As `openssl verify -x509_strict -purpose sslserver -CAfile ca leaf` at the time `at`: the code,
 * X509_V_OK = 0. */
static int verify(X509 *root, X509 *cert, const char *host, const struct addr *ip, int64_t at)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *param;
	int code;

	assert_true(X509_STORE_add_cert(store, root));
	assert_true(X509_STORE_CTX_init(ctx, store, cert, NULL));
	param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_flags(
		param, X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
	if (host || ip) /* a CA's own is not for servers */
		X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
	X509_VERIFY_PARAM_set_time(param, at);
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (host)
		X509_VERIFY_PARAM_set1_host(param, host, 0);
	if (ip && addr_is_v4(ip))
		X509_VERIFY_PARAM_set1_ip(param, ip->ip + 12, 4);
	else if (ip)
		X509_VERIFY_PARAM_set1_ip(param, ip->ip, 16);
	code = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return code;
}

/* What a peer gets: the bytes, decoded. */
static X509 *decoded(const X509 *cert)
{
	unsigned char *der = NULL;
	int n = i2d_X509(cert, &der);
	const unsigned char *p = der;
	X509 *copy = d2i_X509(NULL, &p, n);

	assert_non_null(copy);
	OPENSSL_free(der);
	return copy;
}

static void strict_verifiers_accept(void **state)
{
	static const char long_name[] = "a-label-of-sixty-three-characters-which-is-the-most-there-"
					"may-be.another-one.example.test";
	static const char most[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.te";
	const char *names[] = {"api.example.com", "localhost", "xn--bcher-kva.example", "a_b.test",
		long_name + 1, most};
	int64_t now = time(NULL);
	struct ca *ca;

	(void)state;
	assert_int_equal(sizeof(most) - 1, LIMIT_NAME);
	assert_int_equal(ca_new("Sallyport CA one", now, &ca), 0);
	assert_int_equal(verify(ca->cert, ca->cert, NULL, NULL, now), X509_V_OK);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct leaf *leaf;
		X509 *cert;
		int cn;

		assert_int_equal(mint_leaf(ca, slice_str(names[i]), NULL, now, &leaf), 0);
		cert = decoded(leaf->cert);
		assert_int_equal(verify(ca->cert, cert, names[i], NULL, now), X509_V_OK);
		assert_int_equal(verify(ca->cert, cert, "other.test", NULL, now),
			X509_V_ERR_HOSTNAME_MISMATCH);
		cn = X509_NAME_get_index_by_NID(X509_get_subject_name(cert), NID_commonName, -1);
		assert_int_equal(cn >= 0, strlen(names[i]) <= 64);
		assert_int_equal(X509_get_extension_flags(cert) & EXFLAG_CA, 0);
		assert_int_equal(X509_get_key_usage(cert), KU_DIGITAL_SIGNATURE);
		assert_int_equal(X509_get_extended_key_usage(cert), XKU_SSL_SERVER);
		assert_non_null(X509_get0_subject_key_id(cert));
		assert_int_equal(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(cert),
					 X509_get0_subject_key_id(ca->cert)),
			0);
		assert_int_equal(X509_check_private_key(cert, leaf->key), 1);
		X509_free(cert);
		mint_leaf_free(leaf);
	}
	ca_free(ca);
}

static void addresses(void **state)
{
	static const char *const texts[] = {"203.0.113.10", "2001:db8::1"};
	int64_t now = time(NULL);
	struct ca *ca;

	(void)state;
	assert_int_equal(ca_new("Sallyport CA one", now, &ca), 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		GENERAL_NAMES *names;
		struct addr ip, other;
		struct leaf *leaf;

		assert_int_equal(addr_parse(slice_str(texts[i]), &ip), 0);
		other = ip;
		other.ip[15]++;
		assert_int_equal(mint_leaf(ca, slice_str(texts[i]), &ip, now, &leaf), 0);
		assert_int_equal(verify(ca->cert, leaf->cert, NULL, &ip, now), X509_V_OK);
		assert_int_equal(verify(ca->cert, leaf->cert, NULL, &other, now),
			X509_V_ERR_IP_ADDRESS_MISMATCH);
		names = X509_get_ext_d2i(leaf->cert, NID_subject_alt_name, NULL, NULL);
		assert_int_equal(sk_GENERAL_NAME_num(names), 1);
		assert_int_equal(sk_GENERAL_NAME_value(names, 0)->type, GEN_IPADD);
		GENERAL_NAMES_free(names);
		mint_leaf_free(leaf);
	}
	ca_free(ca);
}

static void names_that_are_refused(void **state)
{
	static const struct slice names[] = {
		{(const uint8_t *)"", 0},
		{(const uint8_t *)"*.example.com", 13},
		{(const uint8_t *)"*", 1},
		{(const uint8_t *)"a..b", 4},
		{(const uint8_t *)".a", 2},
		{(const uint8_t *)"a.", 2},
		{(const uint8_t *)"a\0b", 3},
		{(const uint8_t *)"A.test", 6},
		{(const uint8_t *)"a b", 3},
		{(const uint8_t *)"a/b", 3},
		{(const uint8_t *)"\xc3\xa9.test", 7},
		{(const uint8_t *)"a-label-of-sixty-four-characters-which-is-one-over-what-there-"
				  "may.t",
			67},
	};
	char big[LIMIT_NAME + 2];
	int64_t now = time(NULL);
	struct leaf *leaf = NULL;
	struct ca *ca;

	(void)state;
	assert_int_equal(ca_new("Sallyport CA one", now, &ca), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (mint_leaf(ca, names[i], NULL, now, &leaf) != -EINVAL)
			fail_msg("row %zu", i);
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = i % 2 ? '.' : 'a';
	assert_int_equal(mint_leaf(ca, slice_of(big, LIMIT_NAME), NULL, now, &leaf), 0);
	mint_leaf_free(leaf);
	leaf = NULL;
	big[LIMIT_NAME] = 'b'; /* one byte over, well-formed */
	big[LIMIT_NAME - 1] = 'b';
	assert_int_equal(mint_leaf(ca, slice_of(big, LIMIT_NAME + 1), NULL, now, &leaf), -EINVAL);
	assert_null(leaf);
	assert_int_equal(ca_new("", now, &(struct ca *){NULL}), -EINVAL);
	memset(big, 'a', sizeof(big));
	big[65] = '\0'; /* one over what a common name may have */
	assert_int_equal(ca_new(big, now, &(struct ca *){NULL}), -EINVAL);
	ca_free(ca);
}

static void times(void **state)
{
	int64_t now = 1900000000, made = now - 3 * 24 * 3600;
	struct leaf *leaf;
	struct ca *ca;

	(void)state;
	assert_int_equal(ca_new("Sallyport CA one", made, &ca), 0);
	assert_int_equal(verify(ca->cert, ca->cert, NULL, NULL, made - 3600), X509_V_OK);
	assert_int_equal(
		verify(ca->cert, ca->cert, NULL, NULL, made - 3601), X509_V_ERR_CERT_NOT_YET_VALID);
	assert_int_equal(ca_not_after(ca), made - 3600 + 10LL * 365 * 24 * 3600 - 1);
	assert_int_equal(mint_leaf(ca, SLICE("a.test"), NULL, now, &leaf), 0);
	assert_int_equal(mint_leaf_not_before(leaf), now - 3600);
	assert_int_equal(mint_leaf_not_after(leaf) - mint_leaf_not_before(leaf) + 1, 24 * 3600);
	assert_int_equal(verify(ca->cert, leaf->cert, "a.test", NULL, now - 3600), X509_V_OK);
	assert_int_equal(verify(ca->cert, leaf->cert, "a.test", NULL, now - 3601),
		X509_V_ERR_CERT_NOT_YET_VALID);
	assert_int_equal(
		verify(ca->cert, leaf->cert, "a.test", NULL, now + 23 * 3600 - 2), X509_V_OK);
	assert_int_equal(verify(ca->cert, leaf->cert, "a.test", NULL, now + 23 * 3600 + 1),
		X509_V_ERR_CERT_HAS_EXPIRED);
	mint_leaf_free(leaf);
	/* never outside the CA's own time */
	now = ca_not_after(ca) - 60;
	assert_int_equal(mint_leaf(ca, SLICE("a.test"), NULL, now, &leaf), 0);
	assert_int_equal(mint_leaf_not_after(leaf), ca_not_after(ca));
	mint_leaf_free(leaf);
	assert_int_equal(mint_leaf(ca, SLICE("a.test"), NULL, made - 1800, &leaf), 0);
	assert_int_equal(mint_leaf_not_before(leaf), made - 3600);
	mint_leaf_free(leaf);
	ca_free(ca);
}

static void serials_differ(void **state)
{
	enum { COUNT = 50 };
	struct leaf *leaves[COUNT];
	int64_t now = time(NULL);
	struct ca *ca;

	(void)state;
	assert_int_equal(ca_new("Sallyport CA one", now, &ca), 0);
	for (int i = 0; i < COUNT; i++) {
		const ASN1_INTEGER *serial;

		assert_int_equal(mint_leaf(ca, SLICE("a.test"), NULL, now, &leaves[i]), 0);
		serial = X509_get0_serialNumber(leaves[i]->cert);
		assert_true(ASN1_STRING_length(serial) <= 16 && ASN1_STRING_length(serial) >= 12);
		assert_int_equal(ASN1_STRING_type(serial),
			V_ASN1_INTEGER); /* V_ASN1_NEG_INTEGER otherwise */
		for (int k = 0; k < i; k++)
			assert_int_not_equal(
				ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(leaves[k]->cert)),
				0);
	}
	for (int i = 0; i < COUNT; i++)
		mint_leaf_free(leaves[i]);
	ca_free(ca);
}

enum { WAKERS = 4 };

static void *wake(void *arg)
{
	struct leaf *leaf = NULL;

	return mint_leaf(arg, SLICE("a.test"), NULL, time(NULL), &leaf) == 0 ? leaf : NULL;
}

/* At rest there are no objects; whoever mints first makes them, once, of the same key. */
static void rest_and_wake(void **state)
{
	X509 *cert;
	EVP_PKEY *key;
	pthread_t threads[WAKERS];
	void *leaves[WAKERS];
	struct ca *ca;

	(void)state;
	for (int round = 0; round < 50; round++) {
		assert_int_equal(ca_new("Sallyport CA one", time(NULL), &ca), 0);
		cert = ca->cert, key = ca->key;
		X509_up_ref(cert), EVP_PKEY_up_ref(key);
		ca_rest(ca);
		assert_null(ca->cert);
		assert_null(ca->key);
		assert_null(ca->stock.key);
		for (int i = 0; i < WAKERS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, wake, ca), 0);
		for (int i = 0; i < WAKERS; i++) {
			assert_int_equal(pthread_join(threads[i], &leaves[i]), 0);
			assert_non_null(leaves[i]);
			assert_int_equal(verify(cert, ((struct leaf *)leaves[i])->cert, "a.test",
						 NULL, time(NULL)),
				X509_V_OK);
			assert_ptr_equal(((struct leaf *)leaves[i])->key, ca->stock.key);
			mint_leaf_free(leaves[i]);
		}
		assert_int_equal(X509_cmp(cert, ca->cert), 0);
		assert_int_equal(EVP_PKEY_eq(key, ca->key), 1);
		assert_int_equal(X509_check_private_key(ca->cert, ca->key), 1);
		X509_free(cert), EVP_PKEY_free(key);
		ca_free(ca);
	}
	/* never woken */
	assert_int_equal(ca_new("Sallyport CA one", time(NULL), &ca), 0);
	ca_rest(ca);
	ca_free(ca);
}

static void out_and_back(void **state)
{
	int64_t now = time(NULL);
	uint8_t key[CA_KEY], other_key[CA_KEY];
	struct buf cert, leaf_pem, small;
	struct ca *ca, *again, *other;
	struct leaf *leaf;

	(void)state;
	buf_init(&cert, 4096), buf_init(&leaf_pem, 4096), buf_init(&small, 100);
	assert_int_equal(ca_new("Sallyport CA one", now, &ca), 0);
	assert_int_equal(ca_new("Sallyport CA two", now, &other), 0);
	assert_int_equal(ca_key(ca, key), 0);
	assert_int_equal(ca_cert_pem(ca, &cert), 0);
	assert_int_equal(ca_key(other, other_key), 0);
	assert_int_equal(ca_cert_pem(ca, &small), -ENOBUFS);
	assert_int_equal(ca_load(key, buf_slice(&cert), &again), 0);
	assert_int_equal(again->not_before, ca->not_before);
	assert_int_equal(again->not_after, ca->not_after);
	/* what the loaded one mints is good under the first's certificate: clients have that */
	assert_int_equal(mint_leaf(again, SLICE("a.test"), NULL, now, &leaf), 0);
	assert_int_equal(verify(ca->cert, leaf->cert, "a.test", NULL, now), X509_V_OK);
	assert_int_equal(mint_leaf_pem(leaf, &leaf_pem), 0);
	assert_int_equal(verify(other->cert, leaf->cert, "a.test", NULL, now),
		X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
	ca_free(again);
	again = NULL;
	assert_int_equal(ca_load(other_key, buf_slice(&cert), &again), -EKEYREJECTED);
	assert_int_equal(ca_load(key, buf_slice(&leaf_pem), &again), -EKEYREJECTED);
	assert_int_equal(ca_load(key, slice_of(NULL, 0), &again), -EBADMSG);
	for (size_t n = 0; n + 40 < buf_used(&cert); n += 13)
		assert_int_equal(ca_load(key, slice_first(buf_slice(&cert), n), &again), -EBADMSG);
	/* a torn one: half of it was written */
	memset(key + CA_KEY / 2, 0, CA_KEY / 2);
	assert_int_equal(ca_load(key, buf_slice(&cert), &again), -EKEYREJECTED);
	memset(key, 0, CA_KEY);
	assert_int_equal(ca_load(key, buf_slice(&cert), &again), -EKEYREJECTED);
	memset(key, 0xff, CA_KEY);
	assert_int_equal(ca_load(key, buf_slice(&cert), &again), -EKEYREJECTED);
	assert_null(again);
	mint_leaf_free(leaf);
	ca_free(ca);
	ca_free(other);
	buf_done(&cert), buf_done(&leaf_pem), buf_done(&small);
}

/* A CA from elsewhere: right in itself, but not P-256. */
static void others_are_refused(void **state)
{
	static const char *const groups[] = {"P-384", "secp256k1"};
	uint8_t key[CA_KEY] = {[CA_KEY - 1] = 1};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		EVP_PKEY *pair = EVP_EC_gen(groups[i]);
		X509 *cert = X509_new();
		BIO *pem = BIO_new(BIO_s_mem());
		struct ca *ca = NULL;
		char *data;
		long n;

		assert_non_null(pair);
		assert_int_equal(mint_serial(cert) | mint_validity(cert, 0, 1), 0);
		assert_true(X509_set_pubkey(cert, pair) && X509_sign(cert, pair, EVP_sha256()) &&
			    PEM_write_bio_X509(pem, cert));
		n = BIO_get_mem_data(pem, &data);
		assert_int_equal(ca_load(key, slice_of(data, (size_t)n), &ca), -EKEYREJECTED);
		BIO_free(pem);
		X509_free(cert);
		EVP_PKEY_free(pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_verifiers_accept),
		cmocka_unit_test(addresses),
		cmocka_unit_test(names_that_are_refused),
		cmocka_unit_test(times),
		cmocka_unit_test(serials_differ),
		cmocka_unit_test(rest_and_wake),
		cmocka_unit_test(out_and_back),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
