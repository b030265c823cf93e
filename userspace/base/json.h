/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h – writes JSON (RFC 8259) into a buf. Commas are put in by the writer; strings are escaped, and bytes that are
 * not UTF-8 become U+FFFD, so that what a client controls cannot break a line or a reader. Errors (buffer full) stick
 * and are told by json_end().
 */
#ifndef SALLYPORT_JSON_H
#define SALLYPORT_JSON_H

#include "base/buf.h"

struct json {
	struct buf *out;
	bool comma; /* the next member needs one */
	int failed; /* sticky -errno */
};

void json_start(struct json *j, struct buf *out);

/* Inside an object `key` names the member; inside an array and at the top it is NULL. */
void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_text(struct json *j, const char *key, const char *text); /* NULL text writes null */
void json_slice(struct json *j, const char *key, struct slice text);
void json_number(struct json *j, const char *key, int64_t number);
void json_bool(struct json *j, const char *key, bool value);

/* 0, or the first failure. */
int json_end(const struct json *j);

#endif
