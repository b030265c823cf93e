/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sniff.h – what a client's first bytes are, and what a ClientHello asks for. No OpenSSL, no I/O,
 * no allocation.
 *
 * Both functions are asked again with all bytes from the first one on whenever more have arrived.
 * Once the answer is not 0 it never changes with more bytes.
 */
#ifndef SALLYPORT_TLS_SNIFF_H
#define SALLYPORT_TLS_SNIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

enum sniff_kind {
	SNIFF_TLS, /* a TLS handshake record: sniff_client_hello() goes on */
	SNIFF_HTTP1, /* an HTTP/1 request line: token, SP (RFC 9112 section 3), after at most one
			CRLF */
	SNIFF_H2_PREFACE, /* "PRI * HTTP/2.0" in plain text (RFC 9113 section 3.4) */
	SNIFF_SSLV2, /* a ClientHello in SSLv2 format: never to be answered (RFC 6176 section 3) */
	SNIFF_OTHER,
};

enum {
	SNIFF_SNI = 255, /* bytes of a server name that are accepted, as OpenSSL does */
	SNIFF_RECORDS = 1024, /* records that one ClientHello may be spread over */
};

/* What matters of a ClientHello. All of it is a copy: the hello may lie scattered over records. */
struct hello {
	bool has_sni; /* a server_name extension with one host_name was there */
	bool alpn; /* an ALPN extension was there */
	bool alpn_http11; /* … and lists "http/1.1" */
	bool alpn_h2; /* … and lists "h2" */
	uint8_t sni_n; /* bytes in sni */
	uint8_t sni[SNIFF_SNI]; /* raw, as the client sent it: any byte may be in it, NUL too;
				   host_canon() judges */
};

/* 1 and *ret; 0 = the bytes so far fit more than one answer. Decides as early as the bytes allow.
 */
int sniff(struct slice first, enum sniff_kind *ret);

/*
 * Reads the ClientHello at the start of `in` (records of RFC 8446 section 5.1, at most
 * SNIFF_RECORDS of them, and of at most LIMIT_HELLO bytes). 1 and *ret when it is complete, 0 =
 * more bytes are needed, -EBADMSG when it is malformed: lengths that do not add up, a server_name
 * extension that is doubled, empty, of another name type or with more than one name (RFC 6066
 * section 3), a name over SNIFF_SNI bytes, records that are empty or of another type, in front or in between.
 * Unknown extensions, GREASE and encrypted-hello ones among them, are passed over.
 */
int sniff_client_hello(struct slice in, struct hello *ret);

#endif
