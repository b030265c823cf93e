/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placeholder.h – the stand-ins that one sandbox holds: "spx_" and 32 random characters for each
 * credential, stable for the life of (sandbox, credential). Immutable after it is made.
 */
#ifndef SALLYPORT_CRED_PLACEHOLDER_H
#define SALLYPORT_CRED_PLACEHOLDER_H

#include "base/fault.h"
#include "base/slice.h"

struct buf;
struct credset;
struct placeholders;

enum {
	PLACEHOLDER_CORE = 32, /* characters of [0-9a-zA-Z]: 190 bits */
	PLACEHOLDER_TEXT = 4 + PLACEHOLDER_CORE, /* with "spx_" */
	PLACEHOLDER_RECORD = 1 << 17, /* bytes that a record may take */
};

/* Fills n bytes. 0 or -errno. */
typedef int (*placeholder_random)(void *arg, uint8_t *to, size_t n);

/*
 * Those of `old` (may be NULL; untouched) and one more for each credential of the set that has
 * none. Placeholders of credentials that are gone are kept: they come back with the same text. 0,
 * -ENOMEM, -E2BIG, or the random function's.
 */
int placeholders_make(const struct placeholders *old, const struct credset *set,
	placeholder_random random, void *arg, struct placeholders **ret);
void placeholders_free(struct placeholders *p);

/* The record, JSON and a newline, for a file. placeholders_load() reads it back: 0, -EBADMSG with
 * the fault set. */
int placeholders_save(const struct placeholders *p, struct buf *out);
int placeholders_load(
	struct slice text, const char *file, struct fault *fault, struct placeholders **ret);

/* The placeholder of that credential (PLACEHOLDER_TEXT characters and NUL), or NULL. */
const char *placeholders_text(const struct placeholders *p, const char *credential);

/* The name of the credential whose placeholder the text is exactly, or NULL. */
const char *placeholders_find(const struct placeholders *p, struct slice text);

/* The next placeholder of this sandbox at or after *at: its credential, and *at moves behind it.
 * NULL: no more. */
const char *placeholders_search(const struct placeholders *p, struct slice in, size_t *at);

#endif
