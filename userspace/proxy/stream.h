/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h – one request and its response on one side, whatever version of HTTP carries them. The exchange has two, one
 * towards the client and one towards the upstream, and moves heads, bodies and trailers from one to the other: that is the
 * bridge between any two versions. stream_h1.c has a leg for itself, stream_h2.c shares one with others (session.h).
 *
 * Bytes go in pieces that fit stream_room() of the other side, which is all the back-pressure there is.
 */
#ifndef SALLYPORT_PROXY_STREAM_H
#define SALLYPORT_PROXY_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/h1_body.h"
#include "model/msg.h"

struct h2_stream;
struct leg;
struct session;
struct stream;

enum stream_result {
	STREAM_WAIT, /* nothing now */
	STREAM_DATA, /* there is something */
	STREAM_END, /* the body has ended; stream_trailers() may be asked */
	/* or -EBADMSG: malformed, or cut short; -ECONNRESET: broken off by the other end; -EPIPE: nothing can be written */
};

struct stream_codec {
	int (*head)(struct stream *s, struct msg *ret, const char **why);
	void (*head_taken)(struct stream *s, const struct msg *m);
	int (*read)(struct stream *s, size_t max, struct slice *ret);
	void (*consumed)(struct stream *s, size_t n);
	int (*trailers)(struct stream *s, struct msg *ret);
	void (*end_taken)(struct stream *s);
	int (*send_head)(struct stream *s, const struct msg *m, bool end);
	size_t (*room)(struct stream *s);
	int (*write)(struct stream *s, struct slice data);
	int (*finish)(struct stream *s, const struct msg *trailers);
	bool (*sent)(struct stream *s);
	bool (*broken)(struct stream *s);
	bool (*untouched)(struct stream *s);
	void (*flush)(struct stream *s);
};

struct stream {
	const struct stream_codec *codec;
	struct leg *leg; /* borrowed: the connection's, or the origin's */
	bool server; /* towards the client: requests come in, responses go out */
	bool to_head; /* the response answers a HEAD */
	uint64_t bytes_in, bytes_out; /* of bodies */

	/* HTTP/1 */
	struct h1_body body; /* coming in */
	size_t scan, used; /* the parsers' */
	struct buf out; /* written and not in the leg yet */
	bool section; /* the body is read to its trailer section, which is complete */
	bool trailers; /* those that come may go on */
	bool chunked; /* the body going out is put into chunks */
	bool client_10; /* no chunks, no interim heads to that client */
	bool keep; /* server: the connection lives on behind the response */
	bool raw; /* behind a 101: bytes until the end of either direction */
	bool interim; /* client: something came before the final head */

	/* HTTP/2 */
	struct session *session;
	struct h2_stream *h2;
	void *owner; /* of the one who is told of changes */
	struct stream *next_changed;
	bool changed;
	uint32_t code; /* of the peer's RST_STREAM that ended it, 0 = something else did */
};

/* ---- receiving. The exchange of a server's stream begins with the request's head, so only clients ask for heads. */

/* The next head of the response: STREAM_DATA and *ret (borrowed until taken), STREAM_WAIT, or what a body answers. */
static inline int stream_head(struct stream *s, struct msg *ret, const char **why)
{
	return s->codec->head(s, ret, why);
}

static inline void stream_head_taken(struct stream *s, const struct msg *m)
{
	s->codec->head_taken(s, m);
}

/* Up to max bytes of the body, borrowed until stream_consumed(), which must follow on STREAM_DATA. */
static inline int stream_read(struct stream *s, size_t max, struct slice *ret)
{
	return s->codec->read(s, max, ret);
}

static inline void stream_consumed(struct stream *s, size_t n)
{
	s->bytes_in += n;
	s->codec->consumed(s, n);
}

/* Behind STREAM_END: 1 and the trailers that may go on, borrowed until stream_end_taken(); 0 = none. */
static inline int stream_trailers(struct stream *s, struct msg *ret)
{
	return s->codec->trailers(s, ret);
}

/* Behind STREAM_END, once: the message is read. */
static inline void stream_end_taken(struct stream *s)
{
	s->codec->end_taken(s);
}

/* ---- sending */

/* Takes the head; end = there is no body. 0, -EINVAL (it cannot be written), -EPIPE, -ENOMEM. */
static inline int stream_send_head(struct stream *s, const struct msg *m, bool end)
{
	return s->codec->send_head(s, m, end);
}

/* Bytes that stream_write() takes for certain. */
static inline size_t stream_room(struct stream *s)
{
	return s->codec->room(s);
}

static inline int stream_write(struct stream *s, struct slice data)
{
	s->bytes_out += data.n;
	return s->codec->write(s, data);
}

/* Ends the body; trailers may be NULL. 0, -EPIPE, -ENOMEM. */
static inline int stream_finish(struct stream *s, const struct msg *trailers)
{
	return s->codec->finish(s, trailers);
}

/* All that was written is out of the stream's hands; behind a 101, with the kernel. */
static inline bool stream_sent(struct stream *s)
{
	return s->codec->sent(s);
}

/* The other end has gone or has reset it: nothing can be written. */
static inline bool stream_broken(struct stream *s)
{
	return s->codec->broken(s);
}

/* Client: it has ended, and the upstream has certainly not acted on the request for what the protocol tells. */
static inline bool stream_untouched(struct stream *s)
{
	return s->codec->untouched(s);
}

/* Sends what is written. To be called at the end of each step. */
static inline void stream_flush(struct stream *s)
{
	s->codec->flush(s);
}

/* ---- making, and letting go */

/* Nothing yet: stream_done() may be called. */
void stream_init(struct stream *s);
/* Towards a client, behind the head that was parsed; the leg's bytes behind it are the body's. */
void stream_h1_server(struct stream *s, struct leg *leg, const struct msg *head);
/* Towards an upstream. */
void stream_h1_client(struct stream *s, struct leg *leg, bool to_head);
/* A 101 has gone through: from here on bytes pass as they are. HTTP/1 only. */
void stream_h1_raw(struct stream *s);
/* Is this stream of HTTP/1? */
bool stream_is_h1(const struct stream *s);

/* A request that has come on a session. Takes the session's stream over. */
void stream_h2_server(struct stream *s, struct session *session, struct h2_stream *h2, void *owner);
/* A request that is to be made on a session: the h2 stream begins with stream_send_head(). */
void stream_h2_client(struct stream *s, struct session *session, void *owner, bool to_head);
/* Its owner is to look at it again in this batch. HTTP/1: whoever steps the connection does. */
void stream_wake(struct stream *s);
/* Resets it with that code; HTTP/1 has nothing to say it by: its connection must be closed. */
void stream_reset(struct stream *s, uint32_t code);

/* Lets everything go. What is on its way on an h2 stream that is not over is cancelled. */
void stream_done(struct stream *s);

#endif
