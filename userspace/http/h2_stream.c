/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_stream.c – see h2_stream.h.
 *
 * Owns: the heads that have come, one buffer for each direction, the trailers. Knows from flags
 * what has come and gone; which frames may come when is the library's to say.
 *
 * Life: made by the peer's HEADERS (server) or h2_session_request() (client); closed when the
 * library says that the wire is done with it, or when the session fails; forgotten by its owner;
 * freed when it is closed and forgotten and no event about it is being told. A server's stream
 * whose head never became complete was never anybody's: it counts as forgotten when it closes.
 *
 * Windows: what comes is charged to the stream's window and to the session's, both by the library.
 * Both open when the owner consumes. What nobody will read opens the session's at once, so that a
 * stream that was let go holds nothing of the others' room.
 *
 * Room to write: LIMIT_H2_BODY, while the session's streams together hold less than
 * LIMIT_H2_WINDOW; beyond that LIMIT_H2_LEAST, so that peers that do not read cost so much and
 * streams that are read go on.
 *
 * Buffers keep their memory while data flows (nothing is allocated for a frame), and give it back
 * at the end of their direction or by h2_session_relax().
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <nghttp2/nghttp2.h>

#include "http/h2_internal.h"

static_assert((int)NGHTTP2_HTTP_1_1_REQUIRED == (int)H2_HTTP_1_1_REQUIRED &&
		      (int)NGHTTP2_ENHANCE_YOUR_CALM == (int)H2_ENHANCE_YOUR_CALM &&
		      (int)NGHTTP2_REFUSED_STREAM == (int)H2_REFUSED_STREAM,
	"one set of codes");

/* ---- life ---- */

struct h2_stream *h2_stream_new(struct h2_session *h, int32_t id)
{
	struct h2_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->session = h;
	s->id = id;
	buf_init(&s->in, LIMIT_H2_BODY);
	buf_init(&s->out, LIMIT_H2_BODY);
	s->next = h->streams;
	if (s->next)
		s->next->prev = s;
	h->streams = s;
	h->open++;
	return s;
}

/* Nothing more will be sent. */
static void stream_drop_out(struct h2_stream *s)
{
	s->session->writing -= buf_used(&s->out);
	buf_done(&s->out);
	h2_head_free(s->tail);
	s->tail = NULL;
	if (s->paused)
		s->session->paused--;
	s->paused = s->deferred = false;
}

/* Opens windows by n bytes that were received: the stream's too if more may come on it. */
static void stream_open_windows(struct h2_stream *s, size_t n, bool both)
{
	struct h2_session *h = s->session;

	h->buffered -= n;
	if (h->failed || n == 0)
		return;
	/* fails when memory is out, and then the next feed() says so */
	if (both && !s->closed && !s->end_in)
		(void)nghttp2_session_consume(h->library, s->id, n);
	else
		(void)nghttp2_session_consume_connection(h->library, n);
}

static void stream_drop_in(struct h2_stream *s)
{
	stream_open_windows(s, buf_used(&s->in), false);
	buf_done(&s->in);
	while (s->heads)
		h2_stream_head_take(s);
	h2_head_free(s->trailers);
	s->trailers = NULL;
}

void h2_stream_free(struct h2_stream *s)
{
	struct h2_session *h = s->session;

	assert(s->closed && !s->is_dirty);
	stream_drop_in(s);
	stream_drop_out(s);
	if (s->prev)
		s->prev->next = s->next;
	else
		h->streams = s->next;
	if (s->next)
		s->next->prev = s->prev;
	free(s);
}

struct h2_stream *h2_stream_find(struct h2_session *h, int32_t id)
{
	/* a failed session's streams are freed while the library still has their addresses */
	return h->failed || id == 0 ? NULL : nghttp2_session_get_stream_user_data(h->library, id);
}

void h2_stream_settle(struct h2_stream *s)
{
	if (s->closed && s->forgotten && !s->is_dirty && !s->held)
		h2_stream_free(s);
}

void h2_stream_mark(struct h2_stream *s)
{
	struct h2_session *h = s->session;

	if (s->is_dirty || s->forgotten)
		return;
	s->is_dirty = true;
	s->next_dirty = NULL;
	if (h->dirty)
		h->dirty_last->next_dirty = s;
	else
		h->dirty = s;
	h->dirty_last = s;
}

static bool stream_safe_to_repeat(const struct h2_stream *s, uint32_t code)
{
	if (s->session->role == H2_SERVER || s->answered || s->ours || s->refused)
		return false;
	return code == H2_REFUSED_STREAM || (s->session->failed && !s->started);
}

void h2_stream_close(struct h2_stream *s, uint32_t code)
{
	struct h2_session *h = s->session;

	if (s->closed)
		return;
	s->closed = true;
	h->open--;
	if (s->end_in && s->end_out) {
		h2_flood_earn(&h->flood, FLOOD_WORTH);
	} else {
		s->reset = true;
		if (!s->ours && !s->refused)
			s->code = code > H2_HTTP_1_1_REQUIRED ? H2_INTERNAL_ERROR : code;
		if (stream_safe_to_repeat(s, code))
			s->code = H2_GONE;
		if (h->role == H2_SERVER && !s->end_out && !s->ours)
			h2_flood_charge(&h->flood, FLOOD_KILLED);
		if (s->owner)
			h2_stream_mark(s);
	}
	stream_drop_out(s);
	if (!s->owner && !s->is_dirty) /* nobody has seen it, or it was marked and will be */
		s->forgotten = true;
	h2_stream_settle(s);
}

void h2_stream_sent_end(struct h2_stream *s)
{
	s->end_out = true;
	h2_stream_mark(s);
	if (s->forgotten && !s->end_in &&
		!s->session->failed) /* RFC 9113 section 8.1; fails without memory: it lingers */
		(void)nghttp2_submit_rst_stream(
			s->session->library, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
}

void h2_stream_reset(struct h2_stream *s, uint32_t code)
{
	struct h2_session *h = s->session;

	if (s->closed || s->ours)
		return;
	s->ours = s->reset = true;
	s->code = code;
	s->finished = true;
	stream_drop_out(s);
	if (!h->failed) /* without memory it stays open, which the next feed() reports */
		(void)nghttp2_submit_rst_stream(h->library, NGHTTP2_FLAG_NONE, s->id, code);
}

void h2_stream_forget(struct h2_stream *s)
{
	struct h2_session *h = s->session;

	assert(!s->forgotten);
	stream_drop_in(s);
	s->owner = NULL;
	s->forgotten = true;
	if (!s->closed) {
		if (h->role == H2_CLIENT || !s->finished || !s->head_out)
			h2_stream_reset(s, H2_CANCEL);
		else if (s->end_out)
			h2_stream_sent_end(s);
	}
	h2_stream_settle(s);
}

/* ---- sending ---- */

/* Nothing may be sent any more. */
static bool stream_shut(const struct h2_stream *s)
{
	return s->closed || s->finished || s->reset || s->session->failed;
}

int h2_stream_respond(struct h2_stream *s, const struct msg *head, bool end)
{
	int r;

	if (s->session->role != H2_SERVER || s->head_out)
		return -EINVAL;
	if (stream_shut(s))
		return -EPIPE;
	r = h2_send_response(s, head, end);
	if (r < 0 || head->status < 200)
		return r;
	s->head_out = true;
	s->finished = end;
	return 0;
}

size_t h2_stream_room(const struct h2_stream *s)
{
	size_t most = s->session->writing < LIMIT_H2_WINDOW ? LIMIT_H2_BODY : LIMIT_H2_LEAST;

	if (stream_shut(s) || buf_used(&s->out) >= most)
		return 0;
	return most - buf_used(&s->out);
}

int h2_stream_write(struct h2_stream *s, struct slice body)
{
	int r;

	if (stream_shut(s))
		return -EPIPE;
	if (!s->head_out)
		return -EINVAL;
	if (body.n == 0)
		return 0;
	if (body.n > h2_stream_room(s))
		return -ENOBUFS;
	r = buf_append(&s->out, body);
	if (r < 0)
		return r;
	s->session->writing += body.n;
	if (s->deferred)
		h2_send_resume(s);
	return 0;
}

int h2_stream_finish(struct h2_stream *s, const struct msg *trailers)
{
	int r;

	if (stream_shut(s))
		return -EPIPE;
	if (!s->head_out)
		return -EINVAL;
	if (trailers && trailers->nfields) {
		r = h2_send_check_trailers(trailers);
		if (r < 0)
			return r;
		s->tail = h2_head_copy_fields(trailers);
		if (!s->tail)
			return -ENOMEM;
	}
	s->finished = true;
	if (s->deferred)
		h2_send_resume(s);
	return 0;
}

bool h2_stream_sent(const struct h2_stream *s)
{
	return s->end_out;
}

/* ---- receiving ---- */

bool h2_stream_take_head(struct h2_stream *s, struct h2_head *head)
{
	if (s->final_in) {
		s->trailers = head;
		return true;
	}
	if (s->forgotten || s->nheads == LIMIT_H2_HEADS) {
		h2_head_free(head);
		return s->forgotten;
	}
	if (s->heads)
		s->last_head->next = head;
	else
		s->heads = head;
	s->last_head = head;
	s->nheads++;
	s->answered = s->session->role == H2_CLIENT;
	s->final_in = s->session->role == H2_SERVER || head->msg.status >= 200;
	if (s->session->role == H2_SERVER)
		s->to_head = slice_eq(head->msg.method, SLICE("HEAD"));
	h2_stream_mark(s);
	return true;
}

int h2_stream_take_body(struct h2_stream *s, struct slice body)
{
	int r = buf_append(&s->in, body);

	if (r < 0)
		return r;
	s->session->buffered += body.n;
	h2_stream_mark(s);
	return 0;
}

void h2_stream_own(struct h2_stream *s, void *owner)
{
	assert(owner);
	s->owner = owner;
}

void *h2_stream_owner(const struct h2_stream *s)
{
	return s->owner;
}

uint32_t h2_stream_id(const struct h2_stream *s)
{
	return (uint32_t)s->id;
}

const struct msg *h2_stream_head(struct h2_stream *s)
{
	return s->heads ? &s->heads->msg : NULL;
}

void h2_stream_head_take(struct h2_stream *s)
{
	struct h2_head *head = s->heads;

	assert(head);
	s->heads = head->next;
	s->nheads--;
	h2_head_free(head);
}

struct slice h2_stream_readable(const struct h2_stream *s)
{
	return buf_slice(&s->in);
}

void h2_stream_consume(struct h2_stream *s, size_t n)
{
	buf_consume(&s->in, n);
	stream_open_windows(s, n, true);
	if (buf_used(&s->in) == 0 && (s->end_in || s->closed))
		buf_done(&s->in);
}

bool h2_stream_ended(const struct h2_stream *s)
{
	return s->end_in && buf_used(&s->in) == 0;
}

const struct msg *h2_stream_trailers(const struct h2_stream *s)
{
	return s->trailers && h2_stream_ended(s) ? &s->trailers->msg : NULL;
}

bool h2_stream_is_reset_by_peer(const struct h2_stream *s)
{
	return s->reset && s->by_peer && !s->ours;
}

bool h2_stream_is_reset(const struct h2_stream *s, uint32_t *ret_code)
{
	if (s->reset && ret_code)
		*ret_code = s->code;
	return s->reset;
}
