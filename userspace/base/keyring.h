/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyring.h – small keys at rest, many in one page that is locked, not dumped and not given to a child: what secret.h
 * does for a value, which has a page of its own. One thread puts and drops; any may read what is there.
 */
#ifndef SALLYPORT_KEYRING_H
#define SALLYPORT_KEYRING_H

#include <stdint.h>

enum { KEYRING_KEY = 32 };

/* Makes room for a key, all zero, to be written by the caller. NULL: no memory (RLIMIT_MEMLOCK counts too). */
uint8_t *keyring_take(void);

/* Wipes and gives back; a page without keys is unmapped. NULL is allowed. */
void keyring_drop(uint8_t *key);

#endif
