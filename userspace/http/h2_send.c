/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_send.c – from messages to frames: heads are checked and given to the library, which copies
 * them; bodies stay in the stream's own buffer until the library asks, and go from there straight
 * into the buffer of pull(), behind a frame head that the library made.
 *
 * The library is asked for one frame at a time, when there is room for one. Should it come upon
 * DATA outside of pull() (see h2_session.c; rarely: requests that wait behind the peer's bound), the
 * stream is taken out of its schedule ("deferred") and put back at the next pull(). The library has
 * an answer of its own for that (NGHTTP2_ERR_PAUSE from the one that reads), which keeps the frame
 * half-begun; it would be lost if the stream were closed meanwhile.
 *
 * The last line against what must not be sent is here, as h1_write.h is for HTTP/1.
 */
#include <errno.h>

#include <nghttp2/nghttp2.h>

#include "base/cleanup.h"
#include "http/authority.h"
#include "http/fields.h"
#include "http/h2_internal.h"
#include "http/target.h"

enum { SEND_PSEUDO = 4, SEND_OVERHEAD = 32 };

/* A head on its way. */
struct lines {
	nghttp2_nv nv[SEND_PSEUDO + LIMIT_FIELDS];
	size_t n;
	size_t size; /* as MAX_HEADER_LIST_SIZE counts */
};

static void add(struct lines *l, struct slice name, struct slice value, bool secret)
{
	/* the library copies both, names in lower case; it does not write through the pointers */
	l->nv[l->n++] = (nghttp2_nv){
		.name = (uint8_t *)name.p,
		.namelen = name.n,
		.value = (uint8_t *)value.p,
		.valuelen = value.n,
		.flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
	};
	l->size += name.n + value.n + SEND_OVERHEAD;
}

static const struct {
	struct slice name;
	bool in_heads; /* only in trailers it may not be */
} send_never[] = {
	{SLICE("connection"), false},
	{SLICE("content-length"), true},
	{SLICE("host"), false},
	{SLICE("http2-settings"), false},
	{SLICE("keep-alive"), false},
	{SLICE("proxy-connection"), false},
	{SLICE("te"), true},
	{SLICE("transfer-encoding"), false},
	{SLICE("upgrade"), false},
};

static bool sendable(const struct field *f, bool trailers)
{
	if (!fields_token(f->name) || !fields_value(f->value) ||
		slice_trim(f->value).n != f->value.n)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(send_never); i++)
		if (slice_ieq(f->name, send_never[i].name) && (trailers || !send_never[i].in_heads))
			return false;
	return trailers || !slice_ieq(f->name, SLICE("te")) ||
	       slice_ieq(f->value, SLICE("trailers"));
}

static int add_fields(struct lines *l, const struct msg *m, bool trailers)
{
	if (m->nfields > LIMIT_FIELDS)
		return -EINVAL;
	for (unsigned i = 0; i < m->nfields; i++) {
		if (!sendable(&m->fields[i], trailers))
			return -EINVAL;
		add(l, m->fields[i].name, m->fields[i].value, m->fields[i].secret);
	}
	return l->size > LIMIT_HEAD ? -EMSGSIZE : 0;
}

int h2_send_check_trailers(const struct msg *trailers)
{
	struct lines l = {.n = 0};

	return add_fields(&l, trailers, true);
}

/* ---- DATA ---- */

static int send_trailers(nghttp2_session *library, struct h2_stream *s)
{
	struct lines l = {.n = 0};
	int r;

	if (add_fields(&l, &s->tail->msg, true) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE; /* they were checked when they came */
	r = nghttp2_submit_trailer(library, s->id, l.nv, l.n);
	h2_head_free(s->tail);
	s->tail = NULL;
	return r ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* How much DATA there is to send, at most `most`. */
static ssize_t on_read(nghttp2_session *library, int32_t id, uint8_t *to, size_t most,
	uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct h2_session *h = user;
	struct h2_stream *s = source->ptr;
	size_t n;

	(void)id, (void)to;
	if (h->failed)
		return NGHTTP2_ERR_DEFERRED; /* s may be gone */
	n = buf_used(&s->out);
	if (s->reset || (n == 0 && !s->finished)) {
		s->deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (!h->out || !h2_send_has_room(h->out)) {
		s->paused = true;
		h->paused++;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (n > most)
		return (ssize_t)most;
	if (s->finished) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->tail) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			if (send_trailers(library, s))
				return NGHTTP2_ERR_CALLBACK_FAILURE;
		}
	}
	return (ssize_t)n;
}

/* The frame whose length on_read() said: its head, then the bytes. */
static int on_send_data(nghttp2_session *library, nghttp2_frame *frame, const uint8_t *head,
	size_t n, nghttp2_data_source *source, void *user)
{
	struct h2_session *h = user;
	struct h2_stream *s = source->ptr;
	bool full = h->writing >= LIMIT_H2_WINDOW;
	uint8_t *to;

	(void)library, (void)frame;
	to = h->out && !h->failed ? buf_reserve(h->out, H2_FRAME_HEAD + n) : NULL;
	if (!to)
		return NGHTTP2_ERR_CALLBACK_FAILURE; /* there was room, so memory is out */
	memcpy(to, head, H2_FRAME_HEAD);
	if (n)
		memcpy(to + H2_FRAME_HEAD, buf_slice(&s->out).p, n);
	buf_commit(h->out, H2_FRAME_HEAD + n);
	buf_consume(&s->out, n);
	h->writing -= n;
	h2_flood_sent(&h->flood, n);
	if (s->finished) {
		if (buf_used(&s->out) == 0)
			buf_done(&s->out);
	} else {
		h2_stream_mark(s);
	}
	if (full && h->writing < LIMIT_H2_WINDOW)
		for (s = h->streams; s; s = s->next)
			if (!s->finished)
				h2_stream_mark(s);
	h->made_data = true;
	return NGHTTP2_ERR_PAUSE; /* one frame a turn: pull() sees whether there is room */
}

bool h2_send_has_room(struct buf *out)
{
	return buf_room(out) >= H2_FRAME_MAX && (!out->lent || buf_reserve(out, H2_FRAME_MAX));
}

void h2_send_resume(struct h2_stream *s)
{
	if (s->paused) {
		s->paused = false;
		s->session->paused--;
	} else if (!s->deferred) {
		return;
	}
	s->deferred = false;
	if (!s->closed && !s->session->failed)
		(void)nghttp2_session_resume_data(
			s->session->library, s->id); /* closing streams need none */
}

void h2_send_resume_paused(struct h2_session *h)
{
	for (struct h2_stream *s = h->streams; s && h->paused; s = s->next)
		if (s->paused)
			h2_send_resume(s);
}

/* ---- heads ---- */

static nghttp2_data_provider body_of(struct h2_stream *s)
{
	return (nghttp2_data_provider){.source.ptr = s, .read_callback = on_read};
}

int h2_send_request(struct h2_stream *s, const struct msg *m, bool end)
{
	struct h2_session *h = s->session;
	nghttp2_data_provider body = body_of(s);
	struct lines l = {.n = 0};
	struct authority authority;
	struct target target;
	int r;

	if (!fields_token(m->method) || slice_eq(m->method, SLICE("CONNECT")) ||
		(!slice_eq(m->scheme, SLICE("https")) && !slice_eq(m->scheme, SLICE("http"))) ||
		authority_parse(m->authority, &authority) < 0 ||
		target_parse(m->target, m->method, &target) < 0 ||
		(target.form != TARGET_ORIGIN && target.form != TARGET_ASTERISK))
		return -EINVAL;
	add(&l, SLICE(":method"), m->method, false);
	add(&l, SLICE(":scheme"), m->scheme, false);
	add(&l, SLICE(":authority"), m->authority, false);
	add(&l, SLICE(":path"), m->target, false);
	r = add_fields(&l, m, false);
	if (r < 0)
		return r;
	r = nghttp2_submit_request(h->library, NULL, l.nv, l.n, end ? NULL : &body, s);
	if (r == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE)
		return -EAGAIN;
	if (r < 0)
		return -ENOMEM;
	s->id = r;
	return 0;
}

int h2_send_response(struct h2_stream *s, const struct msg *m, bool end)
{
	nghttp2_session *library = s->session->library;
	nghttp2_data_provider body = body_of(s);
	struct lines l = {.n = 0};
	uint8_t digits[3];
	int r;

	if (m->status < 100 || m->status > 999 || m->status == 101 || (m->status < 200 && end))
		return -EINVAL;
	for (unsigned i = 0, status = m->status; i < 3; i++, status /= 10)
		digits[2 - i] = (uint8_t)('0' + status % 10);
	add(&l, SLICE(":status"), slice_of(digits, sizeof(digits)), false);
	r = add_fields(&l, m, false);
	if (r < 0)
		return r;
	if (m->status < 200)
		r = nghttp2_submit_headers(
			library, NGHTTP2_FLAG_NONE, s->id, NULL, l.nv, l.n, NULL);
	else
		r = nghttp2_submit_response(library, s->id, l.nv, l.n, end ? NULL : &body);
	return r ? -ENOMEM : 0;
}

/* ---- after frames ---- */

static int on_frame_sent(nghttp2_session *library, const nghttp2_frame *frame, void *user)
{
	struct h2_session *h = user;
	struct h2_stream *s;

	(void)library;
	if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR &&
		!h->failed) {
		h->failed = true; /* the library found a fault of the connection */
		h->code = frame->goaway.error_code;
	}
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	s = h2_stream_find(h, frame->hd.stream_id);
	if (!s)
		return 0;
	s->started = true;
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		h2_stream_sent_end(s);
	return 0;
}

/* A head that cannot go out any more. The library closes the stream of a request by itself. */
static int on_frame_not_sent(
	nghttp2_session *library, const nghttp2_frame *frame, int error, void *user)
{
	struct h2_session *h = user;

	(void)error;
	if (frame->hd.type != NGHTTP2_HEADERS || h->role == H2_CLIENT ||
		!h2_stream_find(h, frame->hd.stream_id))
		return 0;
	return nghttp2_submit_rst_stream(
		       library, NGHTTP2_FLAG_NONE, frame->hd.stream_id, H2_INTERNAL_ERROR)
		       ? NGHTTP2_ERR_CALLBACK_FAILURE
		       : 0;
}

void h2_send_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
}
