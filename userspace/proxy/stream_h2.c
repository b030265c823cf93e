/* SPDX-License-Identifier: Apache-2.0 */
/* stream_h2.c – a stream of HTTP/2: h2_stream.h has its buffers and windows, session.h its bytes on the wire. */
#include <errno.h>

#include "base/cleanup.h"
#include "http/fields.h"
#include "http/h2_session.h"
#include "http/h2_stream.h"
#include "proxy/leg.h"
#include "proxy/session.h"
#include "proxy/stream.h"

/* ---- receiving */

static bool stream_h2_broken(struct stream *s)
{
	if (!s->h2)
		return s->session->over;
	if (h2_stream_is_reset_by_peer(s->h2))
		(void)h2_stream_is_reset(s->h2, &s->code); /* it is */
	return h2_stream_is_reset(s->h2, NULL);
}

/* What there is when nothing is there. */
static int stream_h2_nothing(struct stream *s)
{
	return stream_h2_broken(s) ? -ECONNRESET : STREAM_WAIT;
}

static int stream_h2_head(struct stream *s, struct msg *ret, const char **why)
{
	const struct msg *m = s->h2 ? h2_stream_head(s->h2) : NULL;

	*why = "the server reset the stream or closed the connection before its response was "
	       "complete";
	if (!m)
		return stream_h2_nothing(s);
	*ret = *m;
	return STREAM_DATA;
}

static void stream_h2_head_taken(struct stream *s, const struct msg *m)
{
	(void)m;
	s->interim = true;
	h2_stream_head_take(s->h2);
}

static int stream_h2_read(struct stream *s, size_t max, struct slice *ret)
{
	*ret = slice_first(h2_stream_readable(s->h2), max);
	if (ret->n)
		return STREAM_DATA;
	return h2_stream_ended(s->h2) ? STREAM_END : stream_h2_nothing(s);
}

static void stream_h2_consumed(struct stream *s, size_t n)
{
	h2_stream_consume(s->h2, n);
	leg_mark(s->leg); /* the window opens */
}

static int stream_h2_trailers(struct stream *s, struct msg *ret)
{
	const struct msg *m = h2_stream_trailers(s->h2);

	if (!m)
		return 0;
	*ret = *m;
	return fields_trailers_keep(ret);
}

static void stream_h2_end_taken(struct stream *s)
{
	(void)s;
}

/* ---- sending */

static int stream_h2_send_head(struct stream *s, const struct msg *m, bool end)
{
	struct msg with;

	if (s->server)
		return h2_stream_respond(s->h2, m, end);
	if (!m->takes_trailers || m->nfields == LIMIT_FIELDS)
		return h2_session_request(s->session->h2, m, end, s, &s->h2);
	with = *m;
	with.fields[with.nfields++] =
		(struct field){.name = SLICE("te"), .value = SLICE("trailers")};
	return h2_session_request(s->session->h2, &with, end, s, &s->h2);
}

static size_t stream_h2_room(struct stream *s)
{
	return h2_stream_room(s->h2);
}

static int stream_h2_write(struct stream *s, struct slice data)
{
	return h2_stream_write(s->h2, data);
}

static int stream_h2_finish(struct stream *s, const struct msg *trailers)
{
	return h2_stream_finish(s->h2, trailers);
}

static bool stream_h2_sent(struct stream *s)
{
	return h2_stream_sent(s->h2);
}

static bool stream_h2_untouched(struct stream *s)
{
	uint32_t code;

	return !s->interim && (!s->h2 || (h2_stream_is_reset(s->h2, &code) && code == H2_GONE));
}

static void stream_h2_flush(struct stream *s)
{
	leg_mark(s->leg);
}

static const struct stream_codec stream_h2 = {
	.head = stream_h2_head,
	.head_taken = stream_h2_head_taken,
	.read = stream_h2_read,
	.consumed = stream_h2_consumed,
	.trailers = stream_h2_trailers,
	.end_taken = stream_h2_end_taken,
	.send_head = stream_h2_send_head,
	.room = stream_h2_room,
	.write = stream_h2_write,
	.finish = stream_h2_finish,
	.sent = stream_h2_sent,
	.broken = stream_h2_broken,
	.untouched = stream_h2_untouched,
	.flush = stream_h2_flush,
};

/* ---- making, and letting go */

static void stream_h2_start(struct stream *s, struct session *session, void *owner)
{
	stream_init(s);
	s->codec = &stream_h2;
	s->leg = session->leg;
	s->session = session;
	s->owner = owner;
}

void stream_h2_server(struct stream *s, struct session *session, struct h2_stream *h2, void *owner)
{
	stream_h2_start(s, session, owner);
	s->server = true;
	s->h2 = h2;
	h2_stream_own(h2, s);
	session_changed(session, s);
}

void stream_h2_client(struct stream *s, struct session *session, void *owner, bool to_head)
{
	stream_h2_start(s, session, owner);
	s->to_head = to_head;
}

void stream_init(struct stream *s)
{
	*s = (struct stream){0};
}

void stream_reset(struct stream *s, uint32_t code)
{
	if (!s->h2)
		return;
	h2_stream_reset(s->h2, code);
	leg_mark(s->leg);
}

void stream_wake(struct stream *s)
{
	if (!s->session)
		return;
	session_changed(s->session, s);
	leg_mark(s->leg);
}

void stream_done(struct stream *s)
{
	buf_done(&s->out);
	if (s->session)
		session_unchanged(s->session, s);
	if (s->h2) {
		h2_stream_forget(TAKE_PTR(s->h2));
		leg_mark(s->leg);
	}
	stream_init(s);
}
