/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c – see session.h. Owners are told behind h2_session_feed() and h2_session_pull(), never from inside, so they may
 * do what they like with any stream, but for ending the session itself: whoever calls session_step() does that, when it
 * answers false.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "http/h2_session.h"
#include "http/h2_stream.h"
#include "proxy/leg.h"
#include "proxy/session.h"
#include "proxy/stream.h"
#include "proxy/worker.h"

static void session_opened(void *user, struct h2_stream *h2)
{
	struct session *s = user;

	s->events->opened(s->user, h2);
}

static void session_stream_changed(void *user, struct h2_stream *h2)
{
	session_changed(user, h2_stream_owner(h2));
}

static uint64_t session_now(void *user)
{
	struct session *s = user;

	return loop_now(s->leg->worker->loop);
}

static const struct h2_events session_h2_events = {
	.opened = session_opened, .changed = session_stream_changed, .now = session_now};

int session_start(struct session *s, bool server, struct leg *leg,
	const struct session_events *events, void *user)
{
	*s = (struct session){.leg = leg, .events = events, .user = user};
	buf_init(&s->out, LIMIT_TX);
	return h2_session_new(server ? H2_SERVER : H2_CLIENT, &session_h2_events, s, &s->h2);
}

void session_done(struct session *s)
{
	if (!s->h2)
		return;
	h2_session_free(TAKE_PTR(s->h2));
	buf_done(&s->out);
}

void session_changed(struct session *s, struct stream *stream)
{
	if (!stream || stream->changed)
		return;
	stream->changed = true;
	stream->next_changed = s->changed;
	s->changed = stream;
}

void session_unchanged(struct session *s, struct stream *stream)
{
	struct stream **at = &s->changed;

	if (!stream->changed)
		return;
	while (*at != stream)
		at = &(*at)->next_changed;
	*at = stream->next_changed;
	stream->changed = false;
}

static void session_tell(struct session *s)
{
	while (s->changed) {
		struct stream *stream = s->changed;

		s->changed = stream->next_changed;
		stream->changed = false;
		s->events->moved(stream->owner);
	}
}

static void session_feed(struct session *s)
{
	struct slice in = leg_readable(s->leg);

	if (in.n && !s->over) {
		if (h2_session_feed(s->h2, in) < 0)
			s->over = true;
	}
	leg_consume(s->leg, in.n);
	if (leg_readable(s->leg).n) {
		leg_mark(
			s->leg); /* a TLS engine held more than fits at once: nobody else will call */
	} else if (leg_over(s->leg) && !s->gone) {
		s->over = s->gone = true;
		h2_session_eof(s->h2); /* every stream hears of it */
	}
}

/* True when something went out. */
static bool session_pump(struct session *s)
{
	struct slice some;

	if (!buf_used(&s->out) && h2_session_pull(s->h2, &s->out) < 0)
		s->over = true;
	some = slice_first(buf_slice(&s->out), leg_room(s->leg));
	if (!some.n || leg_write(s->leg, some) < 0)
		return false;
	buf_consume(&s->out, some.n);
	return true;
}

bool session_step(struct session *s)
{
	session_feed(s);
	do {
		session_tell(s);
	} while (session_pump(s) || s->changed);
	buf_relax(&s->out);
	leg_flush(s->leg);
	if (h2_session_over(s->h2))
		s->over = true;
	return !s->over || (buf_used(&s->out) && !s->leg->broken);
}

void session_drain(struct session *s)
{
	h2_session_goaway(s->h2);
	leg_mark(s->leg);
}

bool session_takes(const struct session *s)
{
	return !s->over && h2_session_takes(s->h2);
}

unsigned session_streams(const struct session *s)
{
	return h2_session_streams(s->h2);
}

void session_relax(struct session *s)
{
	h2_session_relax(s->h2);
}

bool session_in_head(const struct session *s)
{
	return h2_session_in_head(s->h2);
}
