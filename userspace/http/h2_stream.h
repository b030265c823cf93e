/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_stream.h – one request and its response on an HTTP/2 session (RFC 9113 section 5), of either
 * role. Included by h2_session.h.
 *
 * A stream lives until it is closed on the wire and its owner has forgotten it. Until it forgets,
 * an owner may use every function here at any time, also within an event and after the session
 * failed; not after h2_session_free(). Nothing here sends: h2_session_wants_out() may be true
 * afterwards.
 *
 * Sending functions answer 0, -EINVAL (not what its place allows, see each; nothing was sent),
 * -EMSGSIZE (a head over LIMIT_HEAD), -EPIPE (this direction is over: finished, reset, the session
 * failed), -ENOMEM.
 */
#ifndef SALLYPORT_H2_STREAM_H
#define SALLYPORT_H2_STREAM_H

#include "base/slice.h"

struct msg;
struct h2_stream;

/* RFC 9113 section 7. */
enum h2_code {
	H2_NO_ERROR = 0,
	H2_PROTOCOL_ERROR = 1,
	H2_INTERNAL_ERROR = 2,
	H2_FLOW_CONTROL_ERROR = 3,
	H2_SETTINGS_TIMEOUT = 4,
	H2_STREAM_CLOSED = 5,
	H2_FRAME_SIZE_ERROR = 6,
	H2_REFUSED_STREAM = 7,
	H2_CANCEL = 8,
	H2_COMPRESSION_ERROR = 9,
	H2_CONNECT_ERROR = 10,
	H2_ENHANCE_YOUR_CALM = 11,
	H2_INADEQUATE_SECURITY = 12,
	H2_HTTP_1_1_REQUIRED = 13,
};
/* Never on the wire: the peer has not processed the request and a repetition is safe (section 8.7). */
#define H2_GONE UINT32_MAX

/* ---- sending ---- */

/*
 * H2_SERVER. Interim heads (status 100 to 199 but 101, end false) as many as wanted, then one final
 * head. end: nothing follows. -EINVAL: another status, a second final head, a field that is no
 * field: names are tokens (made lower case here), values fields_value() without white space around
 * them, none of the connection (RFC 9113 section 8.2.2), no Host, te only "trailers". Fields marked
 * secret are sent so that nobody puts them into a table. The head is copied.
 */
int h2_stream_respond(struct h2_stream *s, const struct msg *head, bool end);

/* Bytes that h2_stream_write() takes for certain. 0 when this direction is over. */
size_t h2_stream_room(const struct h2_stream *s);

/* Copies all of body, or nothing. After the head. -ENOBUFS: more than there is room for. */
int h2_stream_write(struct h2_stream *s, struct slice body);

/*
 * Ends this direction after what was written; trailers (fields only, copied) may be NULL. -EINVAL:
 * as for heads, and no content-length or te among them; the direction is still open then.
 */
int h2_stream_finish(struct h2_stream *s, const struct msg *trailers);

/* This direction is finished, and all of it was made into frames. The owner is told when it comes to that. */
bool h2_stream_sent(const struct h2_stream *s);

/* RST_STREAM with code; what was written and not sent is dropped. Nothing once it is closed. */
void h2_stream_reset(struct h2_stream *s, uint32_t code);

/*
 * The owner lets go: no event any more, s is not the owner's to use. What is still to be read is
 * dropped. A server's response that was finished goes out, and then RST_STREAM(NO_ERROR) if the
 * request is not over (RFC 9113 section 8.1); everything else that is not closed is reset with
 * CANCEL. A finished response that the peer does not read stays until the session is freed.
 */
void h2_stream_forget(struct h2_stream *s);

/* ---- receiving ---- */

void h2_stream_own(struct h2_stream *s, void *owner); /* owner not NULL */
void *h2_stream_owner(const struct h2_stream *s);
/* 1, 3, …: for records. */
uint32_t h2_stream_id(const struct h2_stream *s);

/*
 * The oldest head that was not taken, NULL = none yet; borrowed until it is taken. See h2_head.h
 * for what can be in one. At most LIMIT_H2_HEADS wait, more reset the stream.
 */
const struct msg *h2_stream_head(struct h2_stream *s);
void h2_stream_head_take(struct h2_stream *s);

/* The body that has come and is not consumed, one run; borrowed until feed() or consume(). */
struct slice h2_stream_readable(const struct h2_stream *s);
/* Drops n bytes of it and opens the windows by that much. */
void h2_stream_consume(struct h2_stream *s, size_t n);

/*
 * END_STREAM has come and the body is consumed: the message is complete, whatever comes after. Ask
 * this before h2_stream_is_reset(): a peer may reset with NO_ERROR after a complete response.
 */
bool h2_stream_ended(const struct h2_stream *s);
/* Once ended; fields only; NULL = there were none. Borrowed until the stream is forgotten. */
const struct msg *h2_stream_trailers(const struct h2_stream *s);

/*
 * Closed before both directions were over, by RST_STREAM from either end, GOAWAY, or the end of the
 * session. Sets *ret_code (may be NULL) to the peer's code (an unknown one is H2_INTERNAL_ERROR),
 * to ours, or to H2_GONE. What had come before can still be read.
 */
/* … and it was the peer who reset it. */
bool h2_stream_is_reset_by_peer(const struct h2_stream *s);
bool h2_stream_is_reset(const struct h2_stream *s, uint32_t *ret_code);

#endif
