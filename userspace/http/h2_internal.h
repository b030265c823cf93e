/* SPDX-License-Identifier: Apache-2.0 */
/* h2_internal.h – what a session is made of. Only for files in this folder. */
#ifndef SALLYPORT_H2_INTERNAL_H
#define SALLYPORT_H2_INTERNAL_H

#include "http/h2_flood.h"
#include "http/h2_head.h"
#include "http/h2_session.h"

struct nghttp2_session;
struct nghttp2_session_callbacks;

struct h2_session {
	struct nghttp2_session *library;
	struct h2_memory *blocks; /* of memory that it has */
	size_t library_bytes; /* in them */
	uint64_t library_left; /* allocations until there is no memory; for tests */
	const struct h2_events *events;
	void *user;

	struct h2_flood flood;
	struct h2_draft draft; /* of the field block that is coming */
	struct buf control; /* frames made before they could be pulled; no DATA */
	struct buf *out; /* where DATA goes, within pull() only */

	struct h2_stream *streams; /* all of them */
	struct h2_stream *dirty, *dirty_last; /* whose owners are to be told, in order */
	unsigned open; /* streams not closed on the wire */
	unsigned paused; /* streams with DATA that found no room in out */
	size_t buffered; /* bytes received and not consumed */
	size_t writing; /* bytes written and not sent */

	uint32_t code; /* with failed */
	uint32_t heard_code; /* with heard */
	enum h2_role role;
	bool failed; /* a connection error, from whichever side it was noticed */
	bool lost; /* the library was out of memory: nothing in it may be called, failed is set */
	bool gone; /* the connection is: nothing can be sent */
	bool buried; /* with failed: the streams are closed too */
	bool draining; /* we said GOAWAY */
	bool heard; /* the peer did */
	bool in_library; /* within a call of it that calls us */
	bool telling; /* within events */
	bool made_data; /* the library's last turn was a DATA frame */
};

struct h2_stream {
	struct h2_session *session;
	struct h2_stream *next, *prev; /* session->streams */
	struct h2_stream *next_dirty;
	void *owner;
	struct h2_head *heads, *last_head; /* come, not taken */
	struct h2_head *trailers; /* come */
	struct h2_head *tail; /* trailers that go out after the body */
	struct buf in; /* come, not consumed */
	struct buf out; /* written, not sent */
	int32_t id;
	uint32_t code; /* with reset */
	uint8_t nheads;

	/* receiving */
	bool final_in : 1; /* the request, or the final response, has come */
	bool answered : 1; /* some head of a response has come */
	bool end_in : 1; /* END_STREAM has come */
	/* sending */
	bool head_out : 1; /* the request, or the final response, is the library's */
	bool started : 1; /* some of it was made into bytes */
	bool finished : 1; /* nothing more will be written */
	bool end_out : 1; /* END_STREAM was made */
	bool deferred : 1; /* the library waits for h2_stream_write() */
	bool paused : 1; /* the library waits for room in out */
	bool to_head : 1; /* the request is a HEAD */
	/* life */
	bool told : 1; /* opened() was called */
	bool ours : 1; /* we reset it */
	bool by_peer : 1; /* the peer did */
	bool refused : 1; /* we found a fault in what came; code is set */
	bool reset : 1;
	bool closed : 1; /* on the wire: the library does not know it any more */
	bool forgotten : 1;
	bool is_dirty : 1; /* in session->dirty */
	bool held : 1; /* an event is being told */
};

/* ---- h2_stream.c ---- */

/* A stream in session->streams, or NULL. */
struct h2_stream *h2_stream_new(struct h2_session *h, int32_t id);
/* Unlinks, wipes and frees; only for streams that nobody can reach any more. */
void h2_stream_free(struct h2_stream *s);
/* The owner is to be told, or the stream looked at, at the end of this feed() or pull(). */
void h2_stream_mark(struct h2_stream *s);
/* It is closed on the wire. code: of RST_STREAM. */
void h2_stream_close(struct h2_stream *s, uint32_t code);
/* Our END_STREAM was made. */
void h2_stream_sent_end(struct h2_stream *s);
/* Frees it if it is closed, forgotten, and nobody looks at it. */
void h2_stream_settle(struct h2_stream *s);
/* A head or trailers for the queue; takes ownership. False: one too many, it is freed. */
bool h2_stream_take_head(struct h2_stream *s, struct h2_head *head);
/* Body for the buffer. 0, -ENOBUFS: more than the window, -ENOMEM. */
int h2_stream_take_body(struct h2_stream *s, struct slice body);

/* The stream of that number that the library knows, NULL = none, or the session failed. */
struct h2_stream *h2_stream_find(struct h2_session *h, int32_t id);

/* ---- h2_session.c ---- */

/* A connection error of our finding: GOAWAY with code. */
void h2_session_fail(struct h2_session *h, uint32_t code);

/* ---- h2_library.c ---- */

/* Makes h->library, with what we want to be known about us queued. 0, -ENOMEM. */
int h2_library_new(struct h2_session *h);
void h2_library_free(struct h2_session *h);

/* ---- h2_receive.c, h2_send.c: the library's callbacks ---- */

void h2_receive_callbacks(struct nghttp2_session_callbacks *callbacks);
void h2_send_callbacks(struct nghttp2_session_callbacks *callbacks);

/* ---- h2_send.c ---- */

/* Heads to the library, checked. stream->finished says whether a body follows. */
int h2_send_request(struct h2_stream *s, const struct msg *head, bool end);
int h2_send_response(struct h2_stream *s, const struct msg *head, bool end);
/* 0 or -EINVAL, -EMSGSIZE: whether these can be sent as trailers. */
int h2_send_check_trailers(const struct msg *trailers);
/* The library may ask for DATA of this stream again. */
void h2_send_resume(struct h2_stream *s);
/* out takes one more frame, without moving bytes that the kernel reads. */
bool h2_send_has_room(struct buf *out);
/* All that waited for room in out. */
void h2_send_resume_paused(struct h2_session *h);

#endif
