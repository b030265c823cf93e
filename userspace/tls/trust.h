/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h – the roots that origins are verified against: the system's, or these and some of the
 * operator's. Reading takes some 30 ms and opens files, so it is done where configuration is
 * loaded, never by a worker; afterwards the set is constant and counted, and any thread may use it.
 */
#ifndef SALLYPORT_TLS_TRUST_H
#define SALLYPORT_TLS_TRUST_H

struct fault;
struct tls_trust;

/* The system's bundle (Debian: /etc/ssl/certs/ca-certificates.crt). 0; -ENOENT, -EBADMSG with the
 * fault. */
int tls_trust_system(struct fault *fault, struct tls_trust **ret);

/*
 * base's roots and the certificates in `file` (PEM), each of which is a root then, self-signed or
 * not. base may be NULL: the file's only. 0; -ENOENT, -EACCES …, -EBADMSG with the fault (names the
 * file).
 */
int tls_trust_extend(const struct tls_trust *base, const char *file, struct fault *fault,
	struct tls_trust **ret);

struct tls_trust *tls_trust_ref(struct tls_trust *trust);
void tls_trust_unref(struct tls_trust *trust);

#endif
