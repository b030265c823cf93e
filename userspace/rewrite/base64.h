/* SPDX-License-Identifier: Apache-2.0 */
/* base64.h – RFC 4648 section 4, for HTTP Basic. */
#ifndef SALLYPORT_REWRITE_BASE64_H
#define SALLYPORT_REWRITE_BASE64_H

#include "base/slice.h"

/* Bytes that n bytes take when encoded, with padding, and at most when decoded. */
#define BASE64_ENCODED(n) (((n) + 2) / 3 * 4)
#define BASE64_DECODED(n) ((n) / 4 * 3 + 3)

/* Writes BASE64_ENCODED(in.n) bytes. */
void base64_encode(struct slice in, uint8_t *to);

/*
 * Reads the standard alphabet; the padding may be missing but not be wrong. Returns how many bytes
 * were written (at most BASE64_DECODED(in.n)), or -EBADMSG: another byte, an impossible length,
 * bits behind the end that are not 0.
 */
long base64_decode(struct slice in, uint8_t *to);

#endif
