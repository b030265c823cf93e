/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h – header fields (RFC 9110 section 5): which bytes they may have, which of them end at
 * us, and how the comma-separated ones are walked.
 */
#ifndef SALLYPORT_FIELDS_H
#define SALLYPORT_FIELDS_H

#include "base/slice.h"

struct msg;

/*
 * Options that all Connection fields of one head may have together; h1_head refuses more. It bounds
 * every walk.
 */
enum { FIELDS_CONNECTION_MAX = 32 };

/* A byte of a token (RFC 9110 section 5.6.2). */
bool fields_tchar(uint8_t c);
/*
 * A byte of a field value: HTAB, SP to '~', 0x80 on (RFC 9110 section 5.5). CR, LF, NUL, DEL and
 * the rest are not.
 */
bool fields_vchar(uint8_t c);
/* At least one byte, all of them tchar: a field name, a method. */
bool fields_token(struct slice s);
/* All bytes vchar; may be empty: a field value, a reason phrase. */
bool fields_value(struct slice s);

/*
 * The field speaks of this connection only and is never forwarded (RFC 9110 section 7.6.1, and what
 * clients add).
 */
bool fields_hop(struct slice name);
/* The same for a response, where an alternative service (RFC 7838) would lead around us as well. */
bool fields_drop_response(struct slice name);
/* The field may stand in a trailer section, of a request or of a response; others are dropped there. */
bool fields_trailer_allowed(struct slice name);
/* Takes those out of a trailer section that may not stand there. Returns 1 when any are left, else 0. */
int fields_trailers_keep(struct msg *m);

/*
 * Takes the next member off a comma-separated list (RFC 9110 section 5.6.1): *list moves on, *ret
 * is the member without white space around it, possibly empty. False when the list is used up.
 * Quoted strings are not known here: only for lists of tokens.
 */
bool fields_member(struct slice *list, struct slice *ret);
/* The list has that token, in whatever case. */
bool fields_token_in(struct slice value, struct slice token);
/* Some field of that name has that token in its list. */
bool fields_has_token(const struct msg *m, struct slice name, struct slice token);
/*
 * A Connection field names this field: it ends at us too. Never true of Content-Length, which no
 * sender may name there (RFC 9110 section 7.6.1): without it the body that we forward would be read
 * as the next message.
 */
bool fields_named_by_connection(const struct msg *m, struct slice name);
/*
 * A Connection field names more than `close` and the fields that end at us anyway. The trailers of
 * such a message, in which those names would end at us too (RFC 9110 section 7.6.1), are best
 * dropped as a whole.
 */
bool fields_connection_names(const struct msg *m);
/* The request's TE says that its sender takes trailers (RFC 9110 section 10.1.4). HTTP/1.0 has none. */
bool fields_wants_trailers(const struct msg *m);

#endif
