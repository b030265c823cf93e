/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_write.h – writes HTTP/1.x heads and chunk framing into a buf.
 *
 * Each function but the last appends all of its line or nothing. 0, -EINVAL when something in it is not what its
 * place allows (CR, LF, NUL, a space in a target, …: the last line against splitting), -ENOBUFS
 * when the buffer's maximum would be passed, -ENOMEM.
 */
#ifndef SALLYPORT_H1_WRITE_H
#define SALLYPORT_H1_WRITE_H

#include "base/slice.h"

struct buf;
struct msg;

enum { H1_CHUNK_HEAD_MAX = 20 };

#define H1_CHUNK_TAIL SLICE("\r\n") /* after the data of each chunk */
#define H1_LAST_CHUNK SLICE("0\r\n\r\n") /* ends a chunked body, no trailers */

/*
 * "METHOD target HTTP/1.1". A target that begins with '?' gets a '/' before it (RFC 9112
 * section 3.2.1).
 */
int h1_write_request_line(struct buf *out, struct slice method, struct slice target);
/* "HTTP/1.minor status reason"; status 100 to 999, minor 0 or 1, reason may be empty. */
int h1_write_status_line(struct buf *out, unsigned status, struct slice reason, unsigned minor);
int h1_write_field(struct buf *out, struct slice name, struct slice value);
int h1_write_number_field(struct buf *out, struct slice name, uint64_t number);
/* The empty line. */
int h1_write_head_end(struct buf *out);

/*
 * A request's head: its line, Host from authority, the fields, and what the framing, upgrade and takes_trailers of m ask
 * for.
 */
int h1_write_request(struct buf *out, const struct msg *m);

struct h1_write_how {
	bool chunked; /* the body goes out in chunks */
	bool empty; /* there is no body, and the fields do not say so */
	bool close; /* this response ends the connection */
	bool client_10; /* the client speaks HTTP/1.0 */
};

/* A response's head, interim ones too. */
int h1_write_response(struct buf *out, const struct msg *m, const struct h1_write_how *how);

/*
 * The size line of a chunk of n bytes, n > 0 (a chunk of none would end the body). Returns its
 * length.
 */
size_t h1_write_chunk_head(uint8_t ret[H1_CHUNK_HEAD_MAX], size_t n);

/*
 * The end of a chunked body: the last chunk, those of the fields that may stand in a trailer
 * section, the empty line. On a failure out holds a part that must not be sent.
 */
int h1_write_trailers(struct buf *out, const struct msg *trailers);

#endif
