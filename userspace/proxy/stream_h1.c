/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_h1.c – a stream of HTTP/1: it has the leg for itself. Heads and the end of a chunked body go through `out`, since
 * they may be larger than what the leg takes at once; body bytes go into the leg directly, once `out` is empty.
 */
#include <errno.h>

#include "http/fields.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "proxy/leg.h"
#include "proxy/stream.h"
#include "rewrite/swap.h"

enum {
	STREAM_FRAME = 64, /* chunk framing around one piece */
	STREAM_OUT = 2 * LIMIT_HEAD + SWAP_VALUES, /* a head and what was put in */
};

/* Moves `out` into the leg as far as there is room. */
static void stream_h1_push(struct stream *s)
{
	struct slice left = slice_first(buf_slice(&s->out), leg_room(s->leg));

	if (!left.n || leg_write(s->leg, left) < 0)
		return;
	buf_consume(&s->out, left.n);
	if (!buf_used(&s->out))
		buf_done(&s->out); /* it may have held a secret */
}

/* ---- receiving */

/* Why nothing more comes: an end that cuts something short. */
static int stream_h1_cut(const struct stream *s)
{
	return s->leg->broken ? -ECONNRESET : -EBADMSG;
}

static int stream_h1_head(struct stream *s, struct msg *ret, const char **why)
{
	struct slice in = leg_readable(s->leg);
	int r = in.n ? h1_response_parse(in, &s->scan, s->to_head, ret, &s->used, why) : 0;

	if (r < 0)
		return -EBADMSG;
	if (r > 0)
		return STREAM_DATA;
	if (!s->leg->ended && !s->leg->broken)
		return STREAM_WAIT;
	s->interim |= in.n > 0;
	*why = "the server closed the connection before its response was complete";
	return -ECONNRESET;
}

static void stream_h1_head_taken(struct stream *s, const struct msg *m)
{
	s->interim = true;
	leg_consume(s->leg, s->used);
	h1_body_init(&s->body, m->framing, m->length);
	s->trailers = !fields_connection_names(m);
}

static int stream_h1_read_raw(struct stream *s, size_t max, struct slice *ret)
{
	*ret = slice_first(leg_readable(s->leg), max);
	s->used = ret->n;
	if (ret->n)
		return STREAM_DATA;
	if (s->leg->broken)
		return -ECONNRESET;
	return s->leg->ended ? STREAM_END : STREAM_WAIT;
}

/* The data has ended: the trailer section behind it has to be there, and good, before the end is told. */
static int stream_h1_section(struct stream *s)
{
	const char *why;
	struct msg m;
	int r = h1_trailers_parse(leg_readable(s->leg), &s->scan, &m, &s->used, &why);

	if (r < 0)
		return -EBADMSG;
	if (r == 0)
		return leg_over(s->leg) || s->leg->ended ? stream_h1_cut(s) : STREAM_WAIT;
	s->section = true;
	return STREAM_END;
}

static int stream_h1_read(struct stream *s, size_t max, struct slice *ret)
{
	int r;

	if (s->raw)
		return stream_h1_read_raw(s, max, ret);
	for (;;) {
		r = h1_body_next(&s->body, slice_first(leg_readable(s->leg), max), &s->used, ret);
		if (r < 0)
			return -EBADMSG;
		if (ret->n)
			return STREAM_DATA; /* an end that came with them comes again */
		leg_consume(s->leg, s->used);
		if (r == H1_BODY_TRAILERS)
			return stream_h1_section(s);
		if (r > 0)
			return STREAM_END;
		if (!s->used)
			break;
	}
	if (!leg_over(s->leg))
		return STREAM_WAIT;
	if (!s->leg->broken && h1_body_eof(&s->body) == 0)
		return STREAM_END;
	return stream_h1_cut(s);
}

static void stream_h1_consumed(struct stream *s, size_t n)
{
	(void)n; /* the framing around it goes with it */
	leg_consume(s->leg, s->used);
}

static int stream_h1_trailers(struct stream *s, struct msg *ret)
{
	const char *why;
	size_t scan = 0, used;

	if (!s->section || !s->trailers ||
		h1_trailers_parse(leg_readable(s->leg), &scan, ret, &used, &why) != 1)
		return 0;
	return fields_trailers_keep(ret);
}

static void stream_h1_end_taken(struct stream *s)
{
	if (!s->section)
		return;
	leg_consume(s->leg, s->used);
	s->section = false;
}

/* ---- sending */

/* A response that has no body where there could be one has to say so. */
static bool stream_h1_empty(const struct stream *s, const struct msg *m, bool end)
{
	return end && !s->to_head && m->status != 204 && m->status != 304 &&
	       !msg_find(m, SLICE("content-length"));
}

static int stream_h1_send_head(struct stream *s, const struct msg *m, bool end)
{
	bool final = s->server && m->status >= 200;
	int r;

	if (s->server && !final && s->client_10)
		return 0; /* RFC 9110 section 15.2 */
	if (final)
		s->chunked = !end && !s->client_10 &&
			     (m->framing == FRAMING_CHUNKED || m->framing == FRAMING_CLOSE);
	else if (!s->server)
		s->chunked = m->framing == FRAMING_CHUNKED;
	if (final && s->client_10 && (m->framing == FRAMING_CHUNKED || m->framing == FRAMING_CLOSE))
		s->keep = false; /* the end of the connection is the end of the body */
	r = s->server ? h1_write_response(&s->out, m,
				&(struct h1_write_how){.chunked = s->chunked,
					.empty = final && stream_h1_empty(s, m, end),
					.close = !s->keep,
					.client_10 = s->client_10})
		      : h1_write_request(&s->out, m);
	if (r == 0)
		stream_h1_push(s);
	return r;
}

static size_t stream_h1_room(struct stream *s)
{
	size_t room;

	stream_h1_push(s);
	if (buf_used(&s->out))
		return 0;
	room = leg_room(s->leg);
	return room > STREAM_FRAME ? room - STREAM_FRAME : 0;
}

static int stream_h1_write(struct stream *s, struct slice data)
{
	uint8_t size[H1_CHUNK_HEAD_MAX];
	int r;

	if (!s->chunked)
		return leg_write(s->leg, data);
	r = leg_write(s->leg, slice_of(size, h1_write_chunk_head(size, data.n)));
	r = r ? r : leg_write(s->leg, data);
	return r ? r : leg_write(s->leg, H1_CHUNK_TAIL);
}

static int stream_h1_finish(struct stream *s, const struct msg *trailers)
{
	int r = 0;

	if (s->raw) {
		leg_shut(s->leg);
		return 0;
	}
	if (s->chunked)
		r = trailers ? h1_write_trailers(&s->out, trailers)
			     : buf_append(&s->out, H1_LAST_CHUNK);
	if (r == 0)
		stream_h1_push(s);
	return r;
}

static bool stream_h1_sent(struct stream *s)
{
	stream_h1_push(s);
	return !buf_used(&s->out) && (!s->raw || leg_drained(s->leg));
}

static bool stream_h1_broken(struct stream *s)
{
	return s->leg->broken;
}

static bool stream_h1_untouched(struct stream *s)
{
	return !s->interim;
}

static void stream_h1_flush(struct stream *s)
{
	leg_flush(s->leg);
}

static const struct stream_codec stream_h1 = {
	.head = stream_h1_head,
	.head_taken = stream_h1_head_taken,
	.read = stream_h1_read,
	.consumed = stream_h1_consumed,
	.trailers = stream_h1_trailers,
	.end_taken = stream_h1_end_taken,
	.send_head = stream_h1_send_head,
	.room = stream_h1_room,
	.write = stream_h1_write,
	.finish = stream_h1_finish,
	.sent = stream_h1_sent,
	.broken = stream_h1_broken,
	.untouched = stream_h1_untouched,
	.flush = stream_h1_flush,
};

/* ---- making */

static void stream_h1_start(struct stream *s, struct leg *leg)
{
	stream_init(s);
	s->codec = &stream_h1;
	s->leg = leg;
	buf_init(&s->out, STREAM_OUT);
}

void stream_h1_server(struct stream *s, struct leg *leg, const struct msg *head)
{
	stream_h1_start(s, leg);
	s->server = true;
	s->client_10 = head->minor == 0;
	s->keep = head->keep_alive;
	h1_body_init(&s->body, head->framing, head->length);
	s->trailers = !fields_connection_names(head);
}

void stream_h1_client(struct stream *s, struct leg *leg, bool to_head)
{
	stream_h1_start(s, leg);
	s->to_head = to_head;
}

void stream_h1_raw(struct stream *s)
{
	s->raw = true;
	s->chunked = false;
}

bool stream_is_h1(const struct stream *s)
{
	return s->codec == &stream_h1;
}
