/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_library.c – a session of nghttp2 as we want it: its options, its memory, what it says of us.
 *
 * Memory. The library allocates through functions of ours, which count, and wipe what is given
 * back: heads with credentials pass through here. Beyond LIMIT_H2_LIBRARY the session fails, at the
 * next feed() or pull() and with allocations going on: a peer can bring that about, and the library
 * does not survive being refused memory (1.52 frees frames twice then, test_no_memory). When the
 * system has no more the library is lost: nothing is called in it again, nothing that it frees is
 * freed before the session is, and then all that it had is, from our list.
 *
 * Priorities (RFC 9113 section 5.3). A server says NO_RFC7540_PRIORITIES (RFC 9218), so that the
 * library keeps no tree of them and nothing of PRIORITY frames. That leaves urgencies, which would
 * send one response whole before the next begins: h2_receive.c makes each stream incremental, that
 * is all in turn.
 *
 * Said to both: 64 KiB a stream, LIMIT_H2_WINDOW a session, LIMIT_HEAD a head. To clients: so many
 * streams. To servers: no push.
 */
#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#include <nghttp2/nghttp2.h>

#include "base/cleanup.h"
#include "http/h2_internal.h"

/* Before each allocation; as long as the strictest alignment demands. */
struct h2_memory {
	alignas(max_align_t) size_t size;
	struct h2_memory *next, *prev;
};

static void *library_take(size_t size, bool zero, struct h2_session *h)
{
	struct h2_memory *b = NULL;

	if (!h->lost && size < SIZE_MAX - sizeof(*b))
		b = zero ? calloc(1, sizeof(*b) + size) : malloc(sizeof(*b) + size);
	if (!b || h->library_left == 0) {
		free(b);
		h->lost = h->gone = h->failed = true;
		h->code = H2_INTERNAL_ERROR;
		return NULL;
	}
	h->library_left--;
	b->size = size;
	b->prev = NULL;
	b->next = h->blocks;
	if (b->next)
		b->next->prev = b;
	h->blocks = b;
	h->library_bytes += size;
	return b + 1;
}

static void library_release(struct h2_session *h, struct h2_memory *b)
{
	h->library_bytes -= b->size;
	if (b->prev)
		b->prev->next = b->next;
	else
		h->blocks = b->next;
	if (b->next)
		b->next->prev = b->prev;
	explicit_bzero(b + 1, b->size);
	free(b);
}

static void *library_malloc(size_t size, void *user)
{
	return library_take(size, false, user);
}

static void *library_calloc(size_t n, size_t size, void *user)
{
	return size && n > SIZE_MAX / size ? NULL : library_take(n * size, true, user);
}

static void library_free(void *p, void *user)
{
	struct h2_session *h = user;

	if (p && !h->lost)
		library_release(h, (struct h2_memory *)p - 1);
}

static void *library_realloc(void *p, size_t size, void *user)
{
	size_t had = p ? ((struct h2_memory *)p - 1)->size : 0;
	void *to;

	if (p && size <= had && size > had / 2)
		return p;
	to = library_take(size, false, user);
	if (!to)
		return NULL;
	if (p)
		memcpy(to, p, had < size ? had : size);
	library_free(p, user);
	return to;
}

void h2_library_free(struct h2_session *h)
{
	if (!h->lost)
		nghttp2_session_del(h->library); /* it does not say which streams go */
	while (h->blocks)
		library_release(h, h->blocks);
}

static int library_options(nghttp2_option **ret)
{
	nghttp2_option *o;

	if (nghttp2_option_new(&o))
		return -ENOMEM;
	nghttp2_option_set_no_auto_window_update(o, 1); /* windows open by h2_stream_consume() */
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_peer_max_concurrent_streams(o, LIMIT_H2_STREAMS);
	/* h2_send.c counts; what it lets through must pass here, with the overhead of each field */
	nghttp2_option_set_max_send_header_block_length(o, 2 * LIMIT_HEAD);
	nghttp2_option_set_max_settings(o, LIMIT_H2_SETTINGS);
	nghttp2_option_set_max_outbound_ack(o, LIMIT_H2_ACKS);
	/* a second line: h2_flood.c stops earlier, and in proportion */
	nghttp2_option_set_stream_reset_rate_limit(o, 10000, 1000);
	nghttp2_option_set_max_continuations(o, LIMIT_H2_CONTINUATIONS);
	*ret = o;
	return 0;
}

static int library_say(struct h2_session *h)
{
	const nghttp2_settings_entry server[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_H2_STREAMS},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_H2_BODY},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HEAD},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};
	const nghttp2_settings_entry client[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_H2_BODY},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HEAD},
	};
	int r;

	if (h->role == H2_SERVER)
		r = nghttp2_submit_settings(
			h->library, NGHTTP2_FLAG_NONE, server, ARRAY_SIZE(server));
	else
		r = nghttp2_submit_settings(
			h->library, NGHTTP2_FLAG_NONE, client, ARRAY_SIZE(client));
	if (r == 0)
		r = nghttp2_session_set_local_window_size(
			h->library, NGHTTP2_FLAG_NONE, 0, LIMIT_H2_WINDOW);
	return r ? -ENOMEM : 0;
}

int h2_library_new(struct h2_session *h)
{
	nghttp2_mem memory = {h, library_malloc, library_free, library_calloc, library_realloc};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *options;
	int r;

	h->library_left = UINT64_MAX;
	if (nghttp2_session_callbacks_new(&callbacks))
		return -ENOMEM;
	h2_receive_callbacks(callbacks);
	h2_send_callbacks(callbacks);
	r = library_options(&options);
	if (r == 0) {
		r = h->role == H2_SERVER ? nghttp2_session_server_new3(
						   &h->library, callbacks, h, options, &memory)
					 : nghttp2_session_client_new3(
						   &h->library, callbacks, h, options, &memory);
		r = r ? -ENOMEM : 0;
		nghttp2_option_del(options);
	}
	nghttp2_session_callbacks_del(callbacks);
	return r == 0 ? library_say(h) : r;
}
