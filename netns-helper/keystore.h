/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keystore.h – certificates for Java: the JKS form of a bundle in PEM, with the password "changeit" that Java expects. */
#ifndef SALLYPORT_KEYSTORE_H
#define SALLYPORT_KEYSTORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum {
	KEYSTORE_CERTIFICATES = 4096, /* the rest is left out */
	KEYSTORE_CERTIFICATE = 65536, /* bytes of one in DER; a longer one is left out */
};

/*
 * Every certificate of the bundle; blocks that are none are passed over, as Java's own importer does. *ret is the
 * caller's to free. 0 or -ENOMEM.
 */
int keystore_make(struct slice pem, uint8_t **ret, size_t *ret_n);

#endif
