/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_head.h – the head of an HTTP/1.x message and its trailer section (RFC 9112), read from bytes
 * that are already there.
 *
 * Answers: 1 complete, 0 more bytes wanted, -EBADMSG malformed, -EMSGSIZE longer than LIMIT_HEAD,
 * more than LIMIT_FIELDS fields or FIELDS_CONNECTION_MAX connection options. On 1 *ret and
 * *ret_used (bytes of the head, the empty line included) are set; the slices in *ret are borrowed
 * from `in`. On a failure *ret_why is set to a constant text for people. Otherwise outputs are
 * untouched.
 *
 * `in` begins at the message's first byte at each call. *scan starts at 0, is the caller's to keep
 * between calls on one message, and keeps arrival byte by byte linear; 1 sets it back to 0 for the
 * next message.
 *
 * Of *ret, a caller that forwards every field that is not fields_hop() and not named by Connection
 * forwards the right Content-Length: identical ones have become one, and where it must not stand it
 * is taken out.
 */
#ifndef SALLYPORT_H1_HEAD_H
#define SALLYPORT_H1_HEAD_H

#include "base/slice.h"

struct msg;

/*
 * A request. Exactly one valid Host (HTTP/1.0 may lack it: look for it), a target of a form that
 * its method may have, Transfer-Encoding only as one field with exactly the word chunked, in 1.1,
 * without Content-Length. The method is any token. expect_continue is set for exactly one Expect
 * field with 100-continue in 1.1; any other expectation is just a field. One empty line before the
 * request line is skipped and counted in *ret_used.
 */
int h1_request_parse(
	struct slice in, size_t *scan, struct msg *ret, size_t *ret_used, const char **ret_why);

/*
 * A response; to_head says that it answers a HEAD. 1xx, 204, 304 and to_head have FRAMING_NONE (to
 * HEAD and 304 the Content-Length stays as a field, from 1xx and 204 it is taken out). Both
 * Transfer-Encoding and Content-Length: read as chunked, Content-Length taken out, doubtful.
 * Neither: FRAMING_CLOSE. keep_alive is false for what is doubtful or ends with the connection.
 */
int h1_response_parse(struct slice in, size_t *scan, bool to_head, struct msg *ret,
	size_t *ret_used, const char **ret_why);

/*
 * The trailer section of a chunked body (RFC 9112 section 7.1.2), from the byte where
 * h1_body_next() has answered 2, the empty line included: fields and nothing else of *ret, none for
 * an empty section. At most H1_BODY_TRAILER_MAX bytes. Any field that is well formed is taken:
 * whoever forwards leaves out what fields_trailer_allowed() does not allow.
 */
int h1_trailers_parse(
	struct slice in, size_t *scan, struct msg *ret, size_t *ret_used, const char **ret_why);

#endif
