/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mint.c – certificates made on demand, cheaply.
 *
 * A leaf: the name as subjectAltName and nothing of the origin's certificate; CA:FALSE,
 * digitalSignature, serverAuth, both key identifiers (TLS-01); the name as CN too if it fits (RFC
 * 5280: 64 bytes), otherwise an empty subject, which makes the subjectAltName critical (section
 * 4.2.1.6).
 *
 * What costs what (OpenSSL 3.0): X509_set_pubkey() with a key of a provider runs an encoder and a
 * decoder, 280 us, more than the rest of minting together. With a legacy EC_KEY in the EVP_PKEY it
 * is a memcpy. Two things follow:
 *
 *	- all leaves under one CA carry one P-256 key, made once and held as a legacy key: the
 *	  "stock". This file is the only one with deprecated calls, under one pragma;
 *	- the *same* EVP_PKEY object is the certificate's public key and the connection's private
 *	  key. X509_set_pubkey() keeps the object that it was given, so OpenSSL's check, on every
 *	  connection, that the two belong together ends at its first line: the pointers are equal.
 *	  With two objects the legacy one is exported to a provider for the comparison.
 *
 * Measured, CPU us of one core: minting 49-54, of which 31 are the signature; certificate and key
 * given to a new SSL 2.1, against 3.1 for a decoded certificate and a key of the provider, which
 * would cost another 125 at minting to decode (d2i_X509).
 *
 * Extensions that are the same for all leaves are encoded once. Not here: keeping leaves
 * (leaves.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/limits.h"
#include "model/addr.h"
#include "tls/ca.h"
#include "tls/mint.h"
#include "tls/tls_internal.h"

enum { MINT_COMMON_NAME = 64, MINT_SERIAL = 16, MINT_KEY_ID = 20, MINT_LABEL = 63 };

/* ---- what ca.c needs as well ---- */

int mint_serial(X509 *cert)
{
	uint8_t bytes[MINT_SERIAL];
	BIGNUM *n;
	int r = -ENOMEM;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return -ENOMEM;
	bytes[MINT_SERIAL - 1] |= 1; /* never 0 */
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	if (n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert)))
		r = 0;
	BN_free(n);
	return r;
}

int mint_validity(X509 *cert, int64_t not_before, int64_t not_after)
{
	return ASN1_TIME_set(X509_getm_notBefore(cert), not_before) &&
			       ASN1_TIME_set(X509_getm_notAfter(cert), not_after)
		       ? 0
		       : -ENOMEM;
}

int mint_common_name(X509_NAME *subject, struct slice name)
{
	return X509_NAME_add_entry_by_NID(
		       subject, NID_commonName, V_ASN1_UTF8STRING, name.p, (int)name.n, -1, 0)
		       ? 0
		       : -ENOMEM;
}

ASN1_OCTET_STRING *mint_key_id(const X509 *cert)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	ASN1_OCTET_STRING *id = ASN1_OCTET_STRING_new();

	if (!id || !X509_pubkey_digest(cert, EVP_sha256(), digest, NULL) ||
		!ASN1_OCTET_STRING_set(id, digest, MINT_KEY_ID)) {
		ASN1_OCTET_STRING_free(id);
		return NULL;
	}
	return id;
}

/* ---- the stock ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static EVP_PKEY *mint_stock_key(void)
{
	EC_KEY *ec = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
	EVP_PKEY *key = EVP_PKEY_new();

	if (ec && key && EC_KEY_generate_key(ec) && EVP_PKEY_assign_EC_KEY(key, ec))
		return key; /* which owns ec now */
	EC_KEY_free(ec);
	EVP_PKEY_free(key);
	return NULL;
}
#pragma GCC diagnostic pop

static X509_EXTENSION *mint_constraints(void)
{
	BASIC_CONSTRAINTS *basic =
		BASIC_CONSTRAINTS_new(); /* CA:FALSE is the default, and DER leaves defaults out */
	X509_EXTENSION *ext = basic ? X509V3_EXT_i2d(NID_basic_constraints, 1, basic) : NULL;

	BASIC_CONSTRAINTS_free(basic);
	return ext;
}

static X509_EXTENSION *mint_usage(void)
{
	ASN1_BIT_STRING *usage = ASN1_BIT_STRING_new();
	X509_EXTENSION *ext = NULL;

	if (usage && ASN1_BIT_STRING_set_bit(usage, 0, 1)) /* digitalSignature */
		ext = X509V3_EXT_i2d(NID_key_usage, 1, usage);
	ASN1_BIT_STRING_free(usage);
	return ext;
}

static X509_EXTENSION *mint_purpose(void)
{
	EXTENDED_KEY_USAGE *purpose = sk_ASN1_OBJECT_new_null();
	X509_EXTENSION *ext = NULL;

	if (purpose && sk_ASN1_OBJECT_push(purpose, OBJ_nid2obj(NID_server_auth)))
		ext = X509V3_EXT_i2d(NID_ext_key_usage, 0, purpose);
	sk_ASN1_OBJECT_pop_free(purpose, ASN1_OBJECT_free);
	return ext;
}

static X509_EXTENSION *mint_subject_id(EVP_PKEY *key)
{
	X509 *scratch = X509_new();
	ASN1_OCTET_STRING *id =
		scratch && X509_set_pubkey(scratch, key) ? mint_key_id(scratch) : NULL;
	X509_EXTENSION *ext = id ? X509V3_EXT_i2d(NID_subject_key_identifier, 0, id) : NULL;

	ASN1_OCTET_STRING_free(id);
	X509_free(scratch);
	return ext;
}

static X509_EXTENSION *mint_authority_id(X509 *issuer)
{
	AUTHORITY_KEYID *id = AUTHORITY_KEYID_new();
	X509_EXTENSION *ext = NULL;

	if (id) {
		id->keyid = ASN1_OCTET_STRING_dup(X509_get0_subject_key_id(issuer));
		if (id->keyid)
			ext = X509V3_EXT_i2d(NID_authority_key_identifier, 0, id);
	}
	AUTHORITY_KEYID_free(id);
	return ext;
}

int mint_stock_init(struct ca *ca)
{
	struct mint_stock *s = &ca->stock;

	s->key = mint_stock_key();
	if (!s->key)
		return -ENOMEM;
	s->constant[0] = mint_constraints();
	s->constant[1] = mint_usage();
	s->constant[2] = mint_purpose();
	s->constant[3] = mint_subject_id(s->key);
	s->constant[4] = mint_authority_id(ca->cert);
	for (unsigned i = 0; i < MINT_CONSTANT; i++)
		if (!s->constant[i])
			return -ENOMEM; /* ca_free() takes what there is */
	return 0;
}

void mint_stock_done(struct mint_stock *s)
{
	for (unsigned i = 0; i < MINT_CONSTANT; i++)
		X509_EXTENSION_free(s->constant[i]);
	EVP_PKEY_free(s->key);
	*s = (struct mint_stock){0};
}

/* ---- one leaf ---- */

/* A host name that can be put into a certificate as it is. host_canon() is stricter; this is the
 * last look. */
static bool mint_name_ok(struct slice name)
{
	size_t label = 0;

	if (name.n == 0 || name.n > LIMIT_NAME)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		uint8_t c = name.p[i];

		if (c == '.') {
			if (label == 0)
				return false;
			label = 0;
			continue;
		}
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
			return false;
		if (++label > MINT_LABEL)
			return false;
	}
	return label > 0;
}

static int mint_alternative(X509 *cert, struct slice name, const struct addr *ip, bool critical)
{
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	GENERAL_NAME *one = GENERAL_NAME_new();
	ASN1_STRING *text = ip ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
	struct slice bytes = name;
	int r = -ENOMEM;

	if (ip)
		bytes = addr_is_v4(ip) ? slice_of(ip->ip + 12, 4) : slice_of(ip->ip, 16);
	if (!names || !one || !text || !ASN1_STRING_set(text, bytes.p, (int)bytes.n))
		goto out;
	GENERAL_NAME_set0_value(one, ip ? GEN_IPADD : GEN_DNS, text);
	text = NULL;
	if (!sk_GENERAL_NAME_push(names, one))
		goto out;
	one = NULL;
	if (X509_add1_ext_i2d(cert, NID_subject_alt_name, names, critical, 0) == 1)
		r = 0;
out:
	ASN1_STRING_free(text);
	GENERAL_NAME_free(one);
	GENERAL_NAMES_free(names);
	return r;
}

static int mint_fill(const struct ca *ca, struct leaf *leaf, struct slice name,
	const struct addr *ip, int64_t now)
{
	X509 *cert = leaf->cert;
	bool named = name.n <= MINT_COMMON_NAME;

	leaf->not_before = now - MINT_BACKDATE;
	leaf->not_after =
		leaf->not_before + MINT_LIFE - 1; /* both ends count, RFC 5280 section 4.1.2.5 */
	if (leaf->not_before < ca->not_before)
		leaf->not_before = ca->not_before;
	if (leaf->not_after > ca->not_after)
		leaf->not_after = ca->not_after;
	if (!X509_set_version(cert, X509_VERSION_3) || mint_serial(cert) < 0 ||
		mint_validity(cert, leaf->not_before, leaf->not_after) < 0 ||
		(named && mint_common_name(X509_get_subject_name(cert), name) < 0) ||
		!X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) ||
		!X509_set_pubkey(cert, leaf->key) || mint_alternative(cert, name, ip, !named) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < MINT_CONSTANT; i++)
		if (!X509_add_ext(cert, ca->stock.constant[i], -1))
			return -ENOMEM;
	if (!X509_sign(cert, ca->key, EVP_sha256()))
		return -ENOMEM;
	(void)X509_check_purpose(cert, -1,
		0); /* fills the object's cache of its extensions now, not in a handshake */
	return 0;
}

int mint_leaf(
	struct ca *ca, struct slice name, const struct addr *ip, int64_t now, struct leaf **ret)
{
	struct leaf *leaf;

	if (!ip && !mint_name_ok(name))
		return -EINVAL;
	if (ip && (name.n == 0 || name.n >= ADDR_TEXT))
		return -EINVAL;
	if (ca_wake(ca) < 0)
		return -ENOMEM;
	leaf = calloc(1, sizeof(*leaf));
	if (!leaf)
		return -ENOMEM;
	leaf->cert = X509_new();
	if (EVP_PKEY_up_ref(ca->stock.key))
		leaf->key = ca->stock.key;
	if (!leaf->cert || !leaf->key || mint_fill(ca, leaf, name, ip, now) < 0) {
		ERR_clear_error();
		mint_leaf_free(leaf);
		return -ENOMEM;
	}
	*ret = leaf;
	return 0;
}

void mint_leaf_free(struct leaf *leaf)
{
	if (!leaf)
		return;
	X509_free(leaf->cert);
	EVP_PKEY_free(leaf->key);
	free(leaf);
}

int64_t mint_leaf_not_before(const struct leaf *leaf)
{
	return leaf->not_before;
}

int64_t mint_leaf_not_after(const struct leaf *leaf)
{
	return leaf->not_after;
}

int mint_leaf_pem(const struct leaf *leaf, struct buf *to)
{
	BIO *pem = BIO_new(BIO_s_mem());
	char *data;
	long n = 0;
	int r = -ENOMEM;

	if (pem && PEM_write_bio_X509(pem, leaf->cert))
		n = BIO_get_mem_data(pem, &data);
	if (n > 0)
		r = buf_append(to, slice_of(data, (size_t)n));
	BIO_free(pem);
	ERR_clear_error();
	return r;
}
