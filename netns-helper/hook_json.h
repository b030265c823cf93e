/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_json.h – JSON documents that the hook is given: read with a bound, strict, and looked into by path. Duplicate
 * names are refused: the runtime and we would not agree on which one counts.
 */
#ifndef SALLYPORT_HOOK_JSON_H
#define SALLYPORT_HOOK_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

enum { HOOK_JSON_BYTES = 8 << 20 }; /* of one document */

struct json_t;

/* Reads the descriptor to its end; `what` names it in messages. 0 and an object of the caller's (json_decref), -EMSGSIZE,
 * -EBADMSG, -ENOMEM, -errno, with the reason. */
int hook_json_read(int fd, const char *what, struct fault *fault, struct json_t **ret);
/* The same of bytes. */
int hook_json_parse(
	const char *bytes, size_t n, const char *what, struct fault *fault, struct json_t **ret);

/* The member at a path of names separated by '/', or NULL. */
struct json_t *hook_json_at(struct json_t *object, const char *path);
/* Its text, or NULL when it is not there, not a string, or holds a NUL. */
const char *hook_json_text(struct json_t *object, const char *path);

#endif
