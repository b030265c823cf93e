/* SPDX-License-Identifier: Apache-2.0 */
/* alabel.h – the A-label spelling of a name with non-ASCII letters (RFC 3492, RFC 5890): for hints,
 * never for a match. */
#ifndef SALLYPORT_POLICY_ALABEL_H
#define SALLYPORT_POLICY_ALABEL_H

#include "base/slice.h"

/*
 * Writes the name with each non-ASCII label as xn--…, NUL-terminated. 0, or -EINVAL when it is not
 * UTF-8 or does not fit. Letters are made lower case for ASCII, Latin-1, Greek and Cyrillic only,
 * which is why it is a hint.
 */
int alabel_name(struct slice utf8, char *ret, size_t n);

#endif
