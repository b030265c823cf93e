/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h – a resting copy of a credential value: in locked pages that no dump holds, wiped when it is let go.
 * There is no function that prints one and none that turns one into text.
 */
#ifndef SALLYPORT_SECRET_H
#define SALLYPORT_SECRET_H

#include "base/slice.h"

struct secret;

/* Copies the bytes (1 to LIMIT_SECRET) into pages of their own. 0, -EINVAL, -ENOMEM (RLIMIT_MEMLOCK counts too). */
int secret_new(struct slice value, struct secret **ret);

/* Borrowed; valid until secret_free(). */
struct slice secret_slice(const struct secret *s);

/* Wipes, unmaps. NULL is allowed. */
void secret_free(struct secret *s);

#endif
