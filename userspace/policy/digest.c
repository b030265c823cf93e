/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c – see digest.h. */
#include <errno.h>
#include <openssl/evp.h>

#include "policy/digest.h"

int digest_sha256(struct slice bytes, uint8_t ret[DIGEST_SIZE])
{
	return EVP_Digest(bytes.p, bytes.n, ret, NULL, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;
}
