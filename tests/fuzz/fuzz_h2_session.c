/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h2_session.c – any bytes from a peer, in pieces, into a session of either role, whose owners
 * read, write and let go by the input's choice. First byte: 1 a client, 2 the preface and SETTINGS
 * are there already, 4 the client has asked. Then pieces: an instruction and what it wants.
 */
#include "h2_owner.h"

#include "http/h2_session.c"

static const uint8_t begun[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

static void check_session(const struct h2_session *h)
{
	unsigned open = 0;
	size_t buffered = 0, writing = 0;

	for (const struct h2_stream *s = h->streams; s; s = s->next) {
		assert(s->session == h && (!s->next || s->next->prev == s));
		assert(!s->forgotten || !s->closed);
		open += !s->closed;
		buffered += buf_used(&s->in);
		writing += buf_used(&s->out);
	}
	assert(open == h->open && buffered == h->buffered && writing == h->writing);
	assert(buffered <= LIMIT_H2_WINDOW);
	assert(h->library_bytes <= LIMIT_H2_LIBRARY);
	assert(!h->dirty && !h->telling && !h->in_library);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t how = take(&in);
	struct owner w = {.in = &in, .server = !(how & 1), .now = 1};
	struct buf out;
	bool failed = false;

	if (h2_session_new(w.server ? H2_SERVER : H2_CLIENT, &owner_events, &w, &w.session) < 0)
		abort();
	buf_init(&out, 65536);
	if (how & 2) {
		struct slice first = slice_of(begun, sizeof(begun) - 1);

		if (h2_session_feed(w.session, slice_skip(first, w.server ? 0 : 24)) < 0)
			abort();
	}
	if (how & 4 && !w.server) {
		owner_ask(&w, 4);
		owner_ask(&w, 2);
	}
	while (in.n) {
		uint8_t what = take(&in);
		size_t n;
		int r;

		if (what < 160) { /* feed, mostly much */
			n = what < 32 ? what : what < 64 ? take(&in) : take(&in) << 4;
			n = n < in.n ? n : in.n;
			struct slice piece = slice_of(in.p, n);

			in.p += n;
			in.n -= n;
			r = h2_session_feed(w.session, piece);
			assert(r == 0 || r == -EPROTO);
			assert(!failed || r < 0);
			failed = r < 0;
		} else if (what < 190) {
			r = h2_session_pull(w.session, &out);
			assert(r == 0 || (r == -EPROTO && !failed));
			failed = failed || r < 0;
			buf_consume(&out, what & 1 ? buf_used(&out) : buf_used(&out) / 2);
		} else if (what < 248) {
			owner_act(&w);
		} else if (what < 252) {
			w.now += take(&in) * 10u;
		} else if (what == 252) {
			h2_session_goaway(w.session);
		} else if (what == 253) {
			h2_session_relax(w.session);
		} else if (what == 254) {
			h2_session_eof(w.session);
			failed = true;
		}
		check_session(w.session);
		if (failed)
			assert(h2_session_code(w.session) != H2_NO_ERROR);
	}
	h2_session_free(w.session);
	buf_done(&out);
	return 0;
}
