/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c – sets of roots. Owns: an X509_STORE with all certificates decoded.
 *
 * SSL_CTX_set_default_verify_paths() is not used, although it is one line: it leaves a lookup on a
 * directory behind, so that a handshake opens and parses files in the middle of a worker, which
 * must neither wait for a disk nor be let open files by its seccomp filter. The bundle is read once
 * instead, 130 us for each of some 140 certificates.
 *
 * X509_V_FLAG_PARTIAL_CHAIN: an operator who names an intermediate as trusted means it. The
 * system's bundle holds self-signed certificates only, for which the flag changes nothing.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "tls/tls_internal.h"
#include "tls/trust.h"

struct tls_trust {
	atomic_uint refs;
	X509_STORE *store;
};

/* Where systems keep the bundle; the first that exists. */
static const char *const trust_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian */
	"/etc/pki/tls/certs/ca-bundle.crt", /* Fedora */
	"/etc/ssl/cert.pem", /* Alpine */
};

struct tls_trust *tls_trust_ref(struct tls_trust *trust)
{
	atomic_fetch_add_explicit(&trust->refs, 1, memory_order_relaxed);
	return trust;
}

void tls_trust_unref(struct tls_trust *trust)
{
	if (!trust || atomic_fetch_sub_explicit(&trust->refs, 1, memory_order_acq_rel) != 1)
		return;
	X509_STORE_free(trust->store);
	free(trust);
}

X509_STORE *tls_trust_store(struct tls_trust *trust)
{
	return trust->store;
}

static int trust_new(struct tls_trust **ret)
{
	struct tls_trust *trust = calloc(1, sizeof(*trust));

	if (!trust)
		return -ENOMEM;
	atomic_init(&trust->refs, 1);
	trust->store = X509_STORE_new();
	if (!trust->store || !X509_STORE_set_flags(trust->store, X509_V_FLAG_PARTIAL_CHAIN)) {
		tls_trust_unref(trust);
		return -ENOMEM;
	}
	*ret = trust;
	return 0;
}

static int trust_copy(struct tls_trust *to, const struct tls_trust *from)
{
	STACK_OF(X509_OBJECT) * objects;
	int r = 0;

	X509_STORE_lock(from->store); /* verifications elsewhere may be sorting it */
	objects = X509_STORE_get0_objects(from->store);
	for (int i = 0; r == 0 && i < sk_X509_OBJECT_num(objects); i++) {
		X509 *cert = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));

		if (cert && !X509_STORE_add_cert(to->store, cert))
			r = -ENOMEM;
	}
	X509_STORE_unlock(from->store);
	return r;
}

/* All certificates of a PEM file; one at least, and nothing that fails to parse. */
static int trust_read(struct tls_trust *trust, const char *file, struct fault *fault)
{
	FILE *stream = fopen(file, "re");
	unsigned count = 0;
	int r = 0;
	X509 *cert;
	BIO *in;

	if (!stream) {
		r = -errno;
		return fault_set(fault, r, "%s: %s", file, strerror(-r));
	}
	in = BIO_new_fp(stream, BIO_CLOSE);
	if (!in) {
		(void)fclose(stream); /* opened for reading: nothing to lose */
		return -ENOMEM;
	}
	ERR_clear_error();
	while (r == 0 && (cert = PEM_read_bio_X509_AUX(in, NULL, NULL, (char *)""))) {
		count++;
		if (!X509_STORE_add_cert(trust->store, cert))
			r = -ENOMEM;
		X509_free(cert);
	}
	if (r == 0 && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		r = fault_set(fault, -EBADMSG, "%s: certificate %u does not parse (PEM is wanted)",
			file, count + 1);
	else if (r == 0 && count == 0)
		r = fault_set(fault, -EBADMSG, "%s: holds no certificate (PEM is wanted)", file);
	BIO_free(in);
	ERR_clear_error();
	return r;
}

int tls_trust_extend(
	const struct tls_trust *base, const char *file, struct fault *fault, struct tls_trust **ret)
{
	struct tls_trust *trust = NULL;
	int r = trust_new(&trust);

	if (r == 0 && base)
		r = trust_copy(trust, base);
	if (r == 0)
		r = trust_read(trust, file, fault);
	if (r < 0) {
		if (r == -ENOMEM)
			(void)fault_set(fault, r, "%s: no memory", file); /* r is returned below */
		tls_trust_unref(trust);
		return r;
	}
	*ret = trust;
	return 0;
}

int tls_trust_system(struct fault *fault, struct tls_trust **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(trust_bundles); i++)
		if (access(trust_bundles[i], F_OK) == 0)
			return tls_trust_extend(NULL, trust_bundles[i], fault, ret);
	return fault_set(
		fault, -ENOENT, "%s: not there (install ca-certificates)", trust_bundles[0]);
}
