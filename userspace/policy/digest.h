/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h – SHA-256, by which a policy is known in maps, status and audit. */
#ifndef SALLYPORT_POLICY_DIGEST_H
#define SALLYPORT_POLICY_DIGEST_H

#include "base/slice.h"

enum { DIGEST_SIZE = 32 };

/* 0, or -ENOMEM when libcrypto has no memory. */
int digest_sha256(struct slice bytes, uint8_t ret[DIGEST_SIZE]);

#endif
