/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_session.h – HTTP/2 (RFC 9113) on one connection, either end of it, from bytes to bytes.
 *
 * Bytes go in with h2_session_feed(), frames come out with h2_session_pull(), heads and bodies are
 * read and written with h2_stream.h. Events come at the end of feed() and pull() and of nothing
 * else; one event for whatever happened to a stream since the last. Within an event everything may
 * be called but feed(), pull() and free() of the same session.
 *
 * A message is delivered only if all of RFC 9113 section 8 holds; else its stream is reset and
 * `opened` is not called (or what has come stays cut short). Push, CONNECT and extended CONNECT do
 * not exist. See h2_session.c for what is bounded how.
 */
#ifndef SALLYPORT_H2_SESSION_H
#define SALLYPORT_H2_SESSION_H

#include "base/slice.h"
#include "http/h2_stream.h"

struct buf;
struct h2_session;

/* The longest frame that pull() makes at once: head and payload. */
enum { H2_FRAME_MAX = 9 + 16384 };

enum h2_role { H2_SERVER, H2_CLIENT };

struct h2_events {
	/*
	 * H2_SERVER: the head of a request is complete and valid. Who wants it calls
	 * h2_stream_own(); a stream that has no owner afterwards is forgotten (h2_stream_forget()):
	 * its response goes out if it is finished. Within feed().
	 */
	void (*opened)(void *user, struct h2_stream *s);
	/*
	 * Something came on a stream that has an owner (head, body, end, trailers, reset) or it may
	 * be written to again. Within feed() and pull().
	 */
	void (*changed)(void *user, struct h2_stream *s);
	/* Monotonic milliseconds, for how often a peer may do what is of no use. Within feed(). */
	uint64_t (*now)(void *user);
};

/*
 * events and user must live as long as the session; all members of events are set (opened may be
 * NULL for H2_CLIENT). The preface and SETTINGS are ready to be pulled. 0, -EINVAL, -ENOMEM.
 */
int h2_session_new(
	enum h2_role role, const struct h2_events *events, void *user, struct h2_session **ret);
/* All streams go with it, the owners' too; no events. NULL is fine. */
void h2_session_free(struct h2_session *h);

/*
 * Takes all of `in`. 0; -EPROTO: the peer broke the protocol or its bounds, all streams are reset,
 * a GOAWAY is waiting to be pulled: send it and close; every later feed() says the same. -ENOMEM:
 * close.
 */
int h2_session_feed(struct h2_session *h, struct slice in);

/*
 * Appends frames to out while it has room for H2_FRAME_MAX more (what was made already goes out
 * into less). 0, -ENOMEM: close, -EPROTO: as feed(), when it is noticed here.
 */
int h2_session_pull(struct h2_session *h, struct buf *out);
/* pull() with room would produce something. Where a window is shut it may be wrong, once. */
bool h2_session_wants_out(const struct h2_session *h);

/* Nothing more will come or go: close the connection. What streams hold can still be read. */
bool h2_session_over(const struct h2_session *h);

/*
 * Graceful end: no new streams (a server's peer is told where it ends: what is above is safe to
 * repeat); those that are there go on.
 */
void h2_session_goaway(struct h2_session *h);
/*
 * The connection is gone, nothing will be sent: all streams that are not over become reset
 * (H2_GONE where no byte of the request was pulled, else H2_INTERNAL_ERROR), with events, within
 * this call. feed() says -EPROTO afterwards, pull() makes nothing.
 */
void h2_session_eof(struct h2_session *h);
/* Gives back memory that is empty now, for a session that was silent for a while. */
void h2_session_relax(struct h2_session *h);

/* Streams that are open on the wire. */
unsigned h2_session_streams(const struct h2_session *h);
/*
 * H2_CLIENT: one more request may be sent: below the peer's and our bound of streams, no GOAWAY
 * from either side, identifiers left.
 */
bool h2_session_takes(const struct h2_session *h);
/* A field block has begun and is not complete: a deadline should run. */
bool h2_session_in_head(const struct h2_session *h);
/* Why the session failed, of enum h2_code; for records. H2_NO_ERROR while it has not. */
uint32_t h2_session_code(const struct h2_session *h);
/* The peer sent GOAWAY; *ret_code (may be NULL) is its code. For records and pools. */
bool h2_session_goaway_heard(const struct h2_session *h, uint32_t *ret_code);

/*
 * H2_CLIENT: sends a request; end: nothing follows. head is copied: method (no CONNECT), scheme
 * ("http", "https"), authority and target (origin-form, or "*" for OPTIONS) must be set, fields as
 * h2_stream_respond() wants them. The stream has owner (not NULL) from the start. 0, -EAGAIN: not
 * h2_session_takes(), -EINVAL, -EMSGSIZE, -ENOMEM.
 */
int h2_session_request(struct h2_session *h, const struct msg *head, bool end, void *owner,
	struct h2_stream **ret);

#endif
