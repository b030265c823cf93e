/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_session.c – see h2_session.h. HTTP/2 over nghttp2, made strict and bounded.
 *
 * Owns: the library's session, all streams, the draft of the field block that is coming, frames
 * that were made early. One noun a file: h2_stream.c what owners do with a stream, h2_head.c what a
 * valid head is, h2_flood.c what a peer may cost, h2_receive.c and h2_send.c what the library calls
 * us for, h2_library.c how it is set up.
 *
 * feed(): h2_flood.c walks over the bytes and says how many of them are bearable; the library reads
 * these, streams change and are marked; frames that the library has to say are made at once
 * ("control"); owners are told.
 *   Why at once: the library ends a session that it finds broken by queueing a GOAWAY and ignoring
 * what comes, without telling. That GOAWAY is seen when it is made; so feed() knows.
 *   Why owners are told at the end: they may do anything then, and they are told once however many
 * frames came. A stream that was opened and reset within one feed() is never shown to anybody.
 *
 * pull(): control first, then frame by frame as long as one of the largest size fits. DATA of
 * several streams in turn.
 *
 * Bounds. Received: the windows (LIMIT_H2_BODY a stream, LIMIT_H2_WINDOW a session). Heads: as
 * announced, LIMIT_HEAD and LIMIT_FIELDS, LIMIT_H2_HEADS of one stream at once; one draft a
 * session. To send: LIMIT_H2_BODY a stream; LIMIT_H2_WINDOW a session and LIMIT_H2_LEAST for each
 * stream beyond that; control one LIMIT_TX. The library: LIMIT_H2_LIBRARY (h2_library.c). Streams:
 * LIMIT_H2_STREAMS on the wire; an owner that does not forget closed ones keeps them. What is cheap
 * to send and dear to bear: h2_flood.c.
 *
 * Errors: of a stream, RST_STREAM, and the others go on; of the connection, GOAWAY and everything
 * is over (h2_session_fail()). Not here: time limits (h2_session_in_head() helps), sockets, policy.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <nghttp2/nghttp2.h>

#include "http/h2_internal.h"

static_assert((int)H2_FRAME_MAX == (int)H2_FRAME_HEAD + 16384, "one frame");

int h2_session_new(
	enum h2_role role, const struct h2_events *events, void *user, struct h2_session **ret)
{
	struct h2_session *h;
	int r;

	if (!events->changed || !events->now || (role == H2_SERVER && !events->opened))
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->role = role;
	h->events = events;
	h->user = user;
	h2_flood_init(&h->flood, role == H2_SERVER, events->now(user));
	h2_draft_init(&h->draft);
	buf_init(&h->control, LIMIT_TX);
	r = h2_library_new(h);
	if (r < 0) {
		h2_session_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

void h2_session_free(struct h2_session *h)
{
	if (!h)
		return;
	assert(!h->in_library && !h->telling);
	h->failed = true;
	h2_library_free(h);
	while (h->streams) {
		h->streams->closed = true;
		h->streams->is_dirty = false;
		h2_stream_free(h->streams);
	}
	h2_draft_done(&h->draft);
	buf_done(&h->control);
	free(h);
}

/* ---- failure ---- */

/* All streams with it. */
static void session_bury(struct h2_session *h)
{
	struct h2_stream *next;

	h->buried = true;
	for (struct h2_stream *s = h->streams; s; s = next) {
		next = s->next;
		h2_stream_close(s, h->code);
	}
}

void h2_session_fail(struct h2_session *h, uint32_t code)
{
	if (h->failed)
		return;
	h->failed = true;
	h->code = code;
	/* fails when memory is out: the connection closes without its GOAWAY */
	(void)nghttp2_session_terminate_session(h->library, code);
}

/* ---- events ---- */

static void session_tell_one(struct h2_session *h, struct h2_stream *s)
{
	s->held = true;
	if (s->owner) {
		h->events->changed(h->user, s);
	} else if (h->role == H2_SERVER && !s->told && !s->reset && s->heads) {
		s->told = true;
		h->events->opened(h->user, s);
		if (!s->owner && !s->forgotten)
			h2_stream_forget(s);
	} else if (s->closed && !s->forgotten) {
		h2_stream_forget(s); /* opened and reset before anybody saw it */
	}
	s->held = false;
	h2_stream_settle(s);
}

static void session_tell(struct h2_session *h)
{
	struct h2_stream *s;

	if (h->telling)
		return;
	h->telling = true;
	while ((s = h->dirty)) {
		h->dirty = s->next_dirty;
		s->is_dirty = false;
		session_tell_one(h, s);
	}
	h->telling = false;
}

void h2_session_eof(struct h2_session *h)
{
	assert(!h->in_library);
	h->gone = true;
	if (!h->failed) {
		h->failed = true;
		h->code = H2_INTERNAL_ERROR;
	}
	buf_done(&h->control);
	if (!h->buried)
		session_bury(h);
	session_tell(h);
}

/* ---- bytes ---- */

/*
 * One frame, or one piece of a field block, of what the library has to say, appended to out, which
 * has room for it; DATA goes to data_to by itself. 1; 0 = it has nothing to say.
 */
static int session_make(struct h2_session *h, struct buf *out, struct buf *data_to)
{
	const uint8_t *p;
	ssize_t n;

	h->made_data = false;
	h->out = data_to;
	h->in_library = true;
	n = nghttp2_session_mem_send(h->library, &p);
	h->in_library = false;
	h->out = NULL;
	if (n < 0 || h->lost || buf_append(out, slice_of(p, (size_t)n)) < 0)
		return -ENOMEM; /* or a callback that says so */
	return n > 0 || h->made_data;
}

/*
 * Makes all frames but DATA that are due; what finds no room in control stays the library's. The
 * library's queue is without DATA: where it is not empty the next frame is none.
 */
static int session_make_control(struct h2_session *h)
{
	int r = 1;

	while (r > 0 && buf_room(&h->control) >= H2_FRAME_MAX &&
		nghttp2_session_get_outbound_queue_size(h->library))
		r = session_make(h, &h->control, NULL);
	return r < 0 ? r : 0;
}

/* The library's answer to bytes. 0, -ENOMEM, or the session failed. */
static int session_read(struct h2_session *h, struct slice in)
{
	ssize_t n;

	h->in_library = true;
	n = nghttp2_session_mem_recv(h->library, in.p, in.n);
	h->in_library = false;
	if (h->lost)
		return -ENOMEM;
	switch (n) {
	case NGHTTP2_ERR_NOMEM:
	case NGHTTP2_ERR_CALLBACK_FAILURE:
		return -ENOMEM;
	case NGHTTP2_ERR_FLOODED:
		h2_session_fail(h, H2_ENHANCE_YOUR_CALM);
		break;
	default:
		if (n < 0) /* a bad preface, and what later versions come upon */
			h2_session_fail(h, H2_PROTOCOL_ERROR);
	}
	return 0;
}

static int session_feed(struct h2_session *h, struct slice in)
{
	uint32_t code;
	size_t bearable;
	int r = 0;

	h2_flood_time(&h->flood, h->events->now(h->user));
	bearable = h2_flood_walk(&h->flood, in, &code);
	if (bearable)
		r = session_read(h, slice_first(in, bearable));
	if (r == 0 && code)
		h2_session_fail(h, code);
	if (r == 0 && h2_flood_spent(&h->flood))
		h2_session_fail(h, H2_ENHANCE_YOUR_CALM);
	if (r == 0)
		r = session_make_control(h);
	if (r == 0 && h2_flood_spent(&h->flood)) /* streams close when their RST_STREAM is made */
		h2_session_fail(h, H2_ENHANCE_YOUR_CALM);
	return r;
}

/* After bytes: a session that failed takes its streams along, owners are told. */
static int session_after(struct h2_session *h, int r)
{
	bool bury;

	if (r < 0 && !h->failed) {
		h->failed = h->gone = true;
		h->code = H2_INTERNAL_ERROR;
	}
	if (!h->failed && h->library_bytes > LIMIT_H2_LIBRARY)
		h2_session_fail(h, H2_ENHANCE_YOUR_CALM);
	bury = h->failed && !h->buried;
	if (bury)
		session_bury(h);
	session_tell(h);
	if (r == 0 && bury)
		r = h->lost ? -ENOMEM : -EPROTO;
	return r;
}

int h2_session_feed(struct h2_session *h, struct slice in)
{
	int r = 0;

	assert(!h->in_library);
	if (!h->failed)
		r = session_feed(h, in);
	r = session_after(h, r);
	return r == 0 && h->failed ? -EPROTO : r;
}

static int session_pull(struct h2_session *h, struct buf *out)
{
	struct slice made = buf_slice(&h->control);
	int r;

	made = slice_first(made, buf_room(out));
	if (made.n && out->lent && !buf_reserve(out, made.n))
		return 0;
	r = buf_append(out, made);
	if (r < 0)
		return -ENOMEM;
	buf_consume(&h->control, made.n);
	if (buf_used(&h->control))
		return 0;
	h2_send_resume_paused(h);
	do
		r = h2_send_has_room(out) ? session_make(h, out, out) : 0;
	while (r > 0);
	return r;
}

int h2_session_pull(struct h2_session *h, struct buf *out)
{
	assert(!h->in_library);
	return session_after(h, h->gone ? 0 : session_pull(h, out));
}

bool h2_session_wants_out(const struct h2_session *h)
{
	return !h->gone &&
	       (buf_used(&h->control) || h->paused || nghttp2_session_want_write(h->library));
}

bool h2_session_over(const struct h2_session *h)
{
	if (h->gone)
		return true;
	return !h2_session_wants_out(h) && (h->failed || !nghttp2_session_want_read(h->library));
}

void h2_session_goaway(struct h2_session *h)
{
	if (h->failed || h->draining)
		return;
	h->draining = true;
	/* without memory it drains in silence */
	(void)nghttp2_submit_goaway(h->library, NGHTTP2_FLAG_NONE,
		nghttp2_session_get_last_proc_stream_id(h->library), NGHTTP2_NO_ERROR, NULL, 0);
}

void h2_session_relax(struct h2_session *h)
{
	for (struct h2_stream *s = h->streams; s; s = s->next) {
		buf_relax(&s->in);
		buf_relax(&s->out);
	}
	buf_relax(&h->control);
	if (!h2_flood_in_block(&h->flood))
		h2_draft_done(&h->draft);
}

/* ---- questions ---- */

unsigned h2_session_streams(const struct h2_session *h)
{
	return h->open;
}

bool h2_session_in_head(const struct h2_session *h)
{
	return h2_flood_in_block(&h->flood);
}

uint32_t h2_session_code(const struct h2_session *h)
{
	return h->failed ? h->code : H2_NO_ERROR;
}

bool h2_session_goaway_heard(const struct h2_session *h, uint32_t *ret_code)
{
	if (h->heard && ret_code)
		*ret_code = h->heard_code;
	return h->heard;
}

bool h2_session_takes(const struct h2_session *h)
{
	uint32_t most;

	if (h->role != H2_CLIENT || h->failed || h->draining || h->heard)
		return false;
	most = nghttp2_session_get_remote_settings(
		h->library, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	return h->open < LIMIT_H2_STREAMS && h->open < most &&
	       nghttp2_session_check_request_allowed(h->library);
}

int h2_session_request(
	struct h2_session *h, const struct msg *head, bool end, void *owner, struct h2_stream **ret)
{
	struct h2_stream *s;
	int r;

	assert(owner);
	if (!h2_session_takes(h))
		return -EAGAIN;
	s = h2_stream_new(h, 0);
	if (!s)
		return -ENOMEM;
	s->owner = owner;
	s->to_head = slice_eq(head->method, SLICE("HEAD"));
	s->head_out = true;
	s->finished = end;
	r = h2_send_request(s, head, end);
	if (r < 0) {
		s->closed = s->forgotten = true;
		h->open--;
		h2_stream_settle(s);
		return r;
	}
	*ret = s;
	return 0;
}
