/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_receive.c – what the library calls while it reads: frames become heads, bodies and ends of
 * streams. Nobody outside is told from here: streams are marked, and h2_session.c tells their owners when
 * the library is done, so that whatever an owner does then cannot meet a library in mid-frame.
 *
 * A fault in a field block: RST_STREAM with the code for it, and the answer that makes the library
 * decode the rest of the block (the tables of HPACK must stay in step) without showing it to us.
 */
#include <errno.h>

#include <nghttp2/nghttp2.h>

#include "http/h2_internal.h"

static uint32_t code_of(int error)
{
	return error == -EBADMSG    ? H2_PROTOCOL_ERROR
	       : error == -EMSGSIZE ? H2_ENHANCE_YOUR_CALM
				    : H2_INTERNAL_ERROR;
}

/* The first RST_STREAM of a stream counts, so this code and not the library's own. */
static int refuse(nghttp2_session *library, int32_t id, uint32_t code)
{
	if (nghttp2_submit_rst_stream(library, NGHTTP2_FLAG_NONE, id, code))
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int open_stream(nghttp2_session *library, struct h2_session *h, int32_t id)
{
	const nghttp2_extpri in_turn = {NGHTTP2_EXTPRI_DEFAULT_URGENCY, 1};
	struct h2_stream *s;

	if (h->draining)
		return refuse(library, id, H2_REFUSED_STREAM);
	s = h2_stream_new(h, id);
	if (!s)
		return refuse(library, id, H2_INTERNAL_ERROR);
	if (nghttp2_session_set_stream_user_data(library, id, s)) {
		h2_stream_close(s, H2_INTERNAL_ERROR);
		return refuse(library, id, H2_INTERNAL_ERROR);
	}
	(void)nghttp2_session_change_extpri_stream_priority(
		library, id, &in_turn, 1); /* else: not in turn */
	return 0;
}

static int on_begin_headers(nghttp2_session *library, const nghttp2_frame *frame, void *user)
{
	struct h2_session *h = user;
	struct h2_stream *s;
	int r;

	if (frame->hd.type != NGHTTP2_HEADERS)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		r = open_stream(library, h, frame->hd.stream_id);
		if (r)
			return r;
	}
	s = h2_stream_find(h, frame->hd.stream_id);
	if (!s)
		return refuse(library, frame->hd.stream_id, H2_INTERNAL_ERROR);
	h2_draft_begin(&h->draft, s->final_in            ? H2_BLOCK_TRAILERS
				  : h->role == H2_SERVER ? H2_BLOCK_REQUEST
							 : H2_BLOCK_RESPONSE);
	return 0;
}

static int on_header(nghttp2_session *library, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *user)
{
	struct h2_session *h = user;
	int r = h2_draft_field(&h->draft, slice_of(name, name_n), slice_of(value, value_n),
		flags & NGHTTP2_NV_FLAG_NO_INDEX);

	return r < 0 ? refuse(library, frame->hd.stream_id, code_of(r)) : 0;
}

/* A field that the library would pass over as if it had not been sent. */
static int on_invalid_header(nghttp2_session *library, const nghttp2_frame *frame,
	const uint8_t *name, size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
	void *user)
{
	(void)name, (void)name_n, (void)value, (void)value_n, (void)flags, (void)user;
	return refuse(library, frame->hd.stream_id, H2_PROTOCOL_ERROR);
}

/* A field block is complete and the library has nothing against it. 1: taken, 0: refused. */
static int on_block(nghttp2_session *library, struct h2_stream *s, bool end)
{
	struct h2_session *h = s->session;
	struct h2_head *head;
	int r = h2_draft_finish(&h->draft, end, s->to_head, &head);

	if (r == 0 && !h2_stream_take_head(s, head))
		r = -EMSGSIZE;
	if (r == 0)
		return 1;
	/* where both ends have ended the library closes the stream before it sends this */
	s->refused = true;
	s->code = code_of(r);
	return nghttp2_submit_rst_stream(library, NGHTTP2_FLAG_NONE, s->id, code_of(r))
		       ? NGHTTP2_ERR_CALLBACK_FAILURE
		       : 0;
}

static int on_frame(nghttp2_session *library, const nghttp2_frame *frame, void *user)
{
	struct h2_session *h = user;
	struct h2_stream *s = h2_stream_find(h, frame->hd.stream_id);
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	int r;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		if (!s)
			return 0;
		r = on_block(library, s, end);
		if (r <= 0)
			return r;
		break;
	case NGHTTP2_DATA:
		break;
	case NGHTTP2_RST_STREAM:
		if (s)
			s->by_peer = true;
		return 0;
	case NGHTTP2_GOAWAY:
		h->heard = true;
		h->heard_code = frame->goaway.error_code;
		return 0;
	default:
		return 0;
	}
	if (s && end) {
		s->end_in = true;
		h2_stream_mark(s);
	}
	return 0;
}

static int on_data(nghttp2_session *library, uint8_t flags, int32_t id, const uint8_t *data,
	size_t n, void *user)
{
	struct h2_session *h = user;
	struct h2_stream *s = h2_stream_find(h, id);
	int r;

	(void)flags;
	if (!s || s->forgotten || !s->final_in)
		return nghttp2_session_consume_connection(library, n) == 0
			       ? 0
			       : NGHTTP2_ERR_CALLBACK_FAILURE;
	r = h2_stream_take_body(s, slice_of(data, n));
	if (r == 0)
		return 0;
	if (nghttp2_session_consume_connection(library, n) ||
		nghttp2_submit_rst_stream(library, NGHTTP2_FLAG_NONE, id,
			r == -ENOBUFS ? H2_FLOW_CONTROL_ERROR : H2_INTERNAL_ERROR))
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return 0;
}

/* A frame that the library refuses; streams that we know are charged when they close. */
static int on_invalid_frame(
	nghttp2_session *library, const nghttp2_frame *frame, int error, void *user)
{
	struct h2_session *h = user;

	(void)library, (void)error;
	if (frame->hd.stream_id && !h2_stream_find(h, frame->hd.stream_id))
		h2_flood_charge(&h->flood, FLOOD_KILLED);
	return 0;
}

static int on_stream_close(nghttp2_session *library, int32_t id, uint32_t code, void *user)
{
	struct h2_session *h = user;
	struct h2_stream *s = h2_stream_find(h, id);

	(void)library;
	if (s)
		h2_stream_close(s, code);
	return 0;
}

void h2_receive_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}
