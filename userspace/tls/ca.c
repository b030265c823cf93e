/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca.c – the authority that one sandbox trusts. Owns: its private key, which leaves this file only
 * towards a file of mode 0600, and the stock from which leaves are minted (mint.c).
 *
 * awake ──ca_rest()──▶ resting ──first leaf──▶ awake, for good. Most of a thousand sandboxes may never
 * speak TLS: at rest a CA is 32 bytes of key and the certificate's DER, not 7 KB of objects. It has no
 * key for leaves then either: that is made on waking.
 *
 * The certificate has exactly what strict verifiers ask of a root (RFC 5280 section 4.2, Python >=
 * 3.13, TLS-01): critical basicConstraints CA:TRUE with path length 0, critical keyUsage
 * keyCertSign+cRLSign, a subject key identifier. No name constraints: which names may be spoken to
 * is the policy's to say, and changes while the sandbox lives.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/keyring.h"
#include "tls/ca.h"
#include "tls/mint.h"
#include "tls/tls_internal.h"

static_assert((int)CA_KEY == (int)KEYRING_KEY, "it rests there");

enum { CA_COMMON_NAME = 64 }; /* ub-common-name, RFC 5280 appendix A.1 */

static struct ca *ca_alloc(void)
{
	struct ca *ca = calloc(1, sizeof(*ca));

	if (ca && pthread_mutex_init(&ca->waking, NULL) != 0) {
		free(ca);
		return NULL;
	}
	return ca;
}

static void ca_drop_objects(struct ca *ca)
{
	mint_stock_done(&ca->stock);
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	ca->cert = NULL;
	ca->key = NULL;
}

void ca_free(struct ca *ca)
{
	if (!ca)
		return;
	ca_drop_objects(ca);
	OPENSSL_free(ca->encoded);
	keyring_drop(ca->scalar);
	(void)pthread_mutex_destroy(&ca->waking); /* nobody wakes it any more */
	free(ca);
}

static int ca_extensions(X509 *cert)
{
	BASIC_CONSTRAINTS *basic = BASIC_CONSTRAINTS_new();
	ASN1_BIT_STRING *usage = ASN1_BIT_STRING_new();
	ASN1_OCTET_STRING *id = mint_key_id(cert);
	int r = -ENOMEM;

	if (!basic || !usage || !id)
		goto out;
	basic->ca = 0xff;
	basic->pathlen = ASN1_INTEGER_new();
	if (!basic->pathlen || !ASN1_INTEGER_set(basic->pathlen, 0))
		goto out;
	if (!ASN1_BIT_STRING_set_bit(usage, 5, 1) ||
		!ASN1_BIT_STRING_set_bit(usage, 6, 1)) /* keyCertSign, cRLSign */
		goto out;
	if (X509_add1_ext_i2d(cert, NID_basic_constraints, basic, 1, 0) == 1 &&
		X509_add1_ext_i2d(cert, NID_key_usage, usage, 1, 0) == 1 &&
		X509_add1_ext_i2d(cert, NID_subject_key_identifier, id, 0, 0) == 1)
		r = 0;
out:
	BASIC_CONSTRAINTS_free(basic);
	ASN1_BIT_STRING_free(usage);
	ASN1_OCTET_STRING_free(id);
	return r;
}

static int ca_certify(struct ca *ca, struct slice name, int64_t now)
{
	X509 *cert = ca->cert;

	ca->not_before = now - CA_BACKDATE;
	ca->not_after = ca->not_before + (int64_t)CA_YEARS * 365 * 24 * 3600 - 1;
	if (!X509_set_version(cert, X509_VERSION_3) || mint_serial(cert) < 0 ||
		mint_validity(cert, ca->not_before, ca->not_after) < 0 ||
		mint_common_name(X509_get_subject_name(cert), name) < 0 ||
		!X509_set_issuer_name(cert, X509_get_subject_name(cert)) ||
		!X509_set_pubkey(cert, ca->key) || ca_extensions(cert) < 0 ||
		!X509_sign(cert, ca->key, EVP_sha256()))
		return -ENOMEM;
	return 0;
}

int ca_new(const char *name, int64_t now, struct ca **ret)
{
	struct slice cn = slice_str(name);
	struct ca *ca;

	if (cn.n == 0 || cn.n > CA_COMMON_NAME)
		return -EINVAL;
	ca = ca_alloc();
	if (!ca)
		return -ENOMEM;
	ca->key = EVP_EC_gen("P-256");
	ca->cert = X509_new();
	if (!ca->key || !ca->cert || ca_certify(ca, cn, now) < 0 || mint_stock_init(ca) < 0) {
		ERR_clear_error();
		ca_free(ca);
		return -ENOMEM;
	}
	ca->awake = true;
	*ret = ca;
	return 0;
}

static int ca_time(const ASN1_TIME *t, int64_t *ret)
{
	int days, seconds;
	ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	int ok = epoch && ASN1_TIME_diff(&days, &seconds, epoch, t);

	ASN1_TIME_free(epoch);
	if (!ok)
		return -EBADMSG;
	*ret = (int64_t)days * 24 * 3600 + seconds;
	return 0;
}

static int ca_drain(BIO *from, struct buf *to)
{
	char *data;
	long n = BIO_get_mem_data(from, &data);

	return n > 0 ? buf_append(to, slice_of(data, (size_t)n)) : -ENOMEM;
}

int ca_cert_pem(const struct ca *ca, struct buf *to)
{
	BIO *pem = BIO_new(BIO_s_mem());
	int r = -ENOMEM;

	if (pem && PEM_write_bio_X509(pem, ca->cert))
		r = ca_drain(pem, to);
	BIO_free(pem);
	ERR_clear_error();
	return r;
}

int ca_key(const struct ca *ca, uint8_t ret[CA_KEY])
{
	BIGNUM *scalar = NULL;
	bool ok = EVP_PKEY_get_bn_param(ca->key, OSSL_PKEY_PARAM_PRIV_KEY, &scalar) &&
		  BN_bn2binpad(scalar, ret, CA_KEY) == CA_KEY;

	BN_clear_free(scalar);
	ERR_clear_error();
	return ok ? 0 : -ENOMEM;
}

/* The private key of the scalar; its public half is the certificate's. NULL: no memory. */
static EVP_PKEY *ca_whole_key(const uint8_t *scalar, EVP_PKEY *half)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	BIGNUM *n = BN_secure_new();
	OSSL_PARAM *params = NULL;
	EVP_PKEY *key = NULL;
	uint8_t point[1 + 2 * KEYRING_KEY];
	size_t npoint = 0;

	if (ctx && build && n && half && BN_bin2bn(scalar, KEYRING_KEY, n) &&
		EVP_PKEY_get_octet_string_param(
			half, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &npoint) &&
		OSSL_PARAM_BLD_push_utf8_string(
			build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
		OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, npoint) &&
		OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, n))
		params = OSSL_PARAM_BLD_to_param(build);
	if (!params || EVP_PKEY_fromdata_init(ctx) != 1 ||
		EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_KEYPAIR, params) != 1)
		key = NULL;
	OSSL_PARAM_free(params); /* wipes what came from a secure number */
	OSSL_PARAM_BLD_free(build);
	BN_clear_free(n);
	EVP_PKEY_CTX_free(ctx);
	return key;
}

/* Only what ca_new() makes is taken back: anything else was put there by somebody else. */
static int ca_check(struct ca *ca)
{
	EVP_PKEY_CTX *pair = ca->key ? EVP_PKEY_CTX_new_from_pkey(NULL, ca->key, NULL) : NULL;
	bool ok = pair && EVP_PKEY_pairwise_check(pair) == 1 && X509_check_ca(ca->cert) == 1 &&
		  X509_get0_subject_key_id(ca->cert);

	EVP_PKEY_CTX_free(pair);
	if (!ok)
		return -EKEYREJECTED;
	if (ca_time(X509_get0_notBefore(ca->cert), &ca->not_before) < 0)
		return -EBADMSG;
	return ca_time(X509_get0_notAfter(ca->cert), &ca->not_after);
}

int ca_load(const uint8_t key[CA_KEY], struct slice cert_pem, struct ca **ret)
{
	struct ca *ca = ca_alloc();
	BIO *cert = NULL;
	int r = -ENOMEM;

	if (!ca || cert_pem.n > INT32_MAX)
		goto out;
	cert = BIO_new_mem_buf(cert_pem.n ? (const char *)cert_pem.p : "", (int)cert_pem.n);
	if (!cert)
		goto out;
	ca->cert = PEM_read_bio_X509(cert, NULL, NULL, NULL);
	if (ca->cert)
		ca->key = ca_whole_key(key, X509_get0_pubkey(ca->cert));
	r = ca->cert ? ca_check(ca) : -EBADMSG;
	if (r == 0)
		r = mint_stock_init(ca);
	if (r == 0)
		ca->awake = true;
out:
	BIO_free(cert);
	ERR_clear_error();
	if (r < 0)
		ca_free(ca);
	else
		*ret = ca;
	return r;
}

/* ---- rest ---- */

void ca_rest(struct ca *ca)
{
	int n = i2d_X509(ca->cert, &ca->encoded);

	ca->scalar = keyring_take();
	if (n > 0 && ca->scalar && ca_key(ca, ca->scalar) == 0) {
		ca->nencoded = (size_t)n;
		ca_drop_objects(ca);
		ca->awake = false;
	}
	ERR_clear_error();
}

static int ca_make_objects(struct ca *ca)
{
	const uint8_t *p = ca->encoded;

	ca->cert = d2i_X509(NULL, &p, (long)ca->nencoded);
	if (ca->cert)
		ca->key = ca_whole_key(ca->scalar, X509_get0_pubkey(ca->cert));
	if (ca->key && X509_check_ca(ca->cert) == 1 && mint_stock_init(ca) == 0)
		return 0;
	ca_drop_objects(ca);
	ERR_clear_error();
	return -ENOMEM;
}

int ca_wake(struct ca *ca)
{
	int r = 0;

	if (atomic_load_explicit(&ca->awake, memory_order_acquire))
		return 0;
	(void)pthread_mutex_lock(&ca->waking); /* a plain one does not fail */
	if (!atomic_load_explicit(&ca->awake, memory_order_relaxed)) {
		r = ca_make_objects(ca);
		atomic_store_explicit(&ca->awake, r == 0, memory_order_release);
	}
	(void)pthread_mutex_unlock(&ca->waking);
	return r;
}

int64_t ca_not_after(const struct ca *ca)
{
	return ca->not_after;
}
