/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_rig.h – ends of HTTP/2 connections for tests: a session with everything that its events said,
 * and eyes for the frames that it makes.
 */
#ifndef SALLYPORT_TEST_H2_RIG_H
#define SALLYPORT_TEST_H2_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "h2_script.h"
#include "http/h2_session.h"
#include "model/msg.h"

enum { RIG_STREAMS = 4096 };

struct end {
	struct h2_session *session;
	uint64_t now;
	unsigned opened, changed;
	struct h2_stream *streams[RIG_STREAMS]; /* opened, in order */
	bool shy; /* own nothing that is opened */
	unsigned
		forged; /* SETTINGS that the other end did not send: their acknowledgements get lost */
	void (*on_opened)(struct end *e, struct h2_stream *s);
	void (*on_changed)(struct end *e, struct h2_stream *s);
};

static void end_opened(void *user, struct h2_stream *s)
{
	struct end *e = user;

	if (!e->shy)
		h2_stream_own(s, e);
	if (e->opened < RIG_STREAMS)
		e->streams[e->opened] = s;
	e->opened++;
	if (e->on_opened)
		e->on_opened(e, s);
}

static void end_changed(void *user, struct h2_stream *s)
{
	struct end *e = user;

	assert_non_null(h2_stream_owner(s));
	e->changed++;
	if (e->on_changed)
		e->on_changed(e, s);
}

static uint64_t end_now(void *user)
{
	return ((struct end *)user)->now;
}

static const struct h2_events end_events = {end_opened, end_changed, end_now};

static inline void end_init(struct end *e, enum h2_role role)
{
	*e = (struct end){.now = 1000};
	assert_int_equal(h2_session_new(role, &end_events, e, &e->session), 0);
}

static inline void end_done(struct end *e)
{
	h2_session_free(e->session);
	e->session = NULL;
}

/* ---- frames that a session made ---- */

struct frame {
	uint8_t type, flags;
	uint32_t id;
	struct slice payload;
};

/* All that can be pulled now, appended to b. */
static inline void pull_all(struct end *e, struct buf *b)
{
	struct buf piece;

	buf_init(&piece, 65536);
	do {
		assert_int_equal(h2_session_pull(e->session, &piece), 0);
		if (buf_used(&piece) == 0)
			break;
		assert_int_equal(buf_append(b, buf_slice(&piece)), 0);
		buf_consume(&piece, buf_used(&piece));
	} while (h2_session_wants_out(e->session));
	buf_done(&piece);
}

/* Takes the next frame (a preface is passed over); false at the end. */
static inline bool next_frame(struct slice *bytes, struct frame *ret)
{
	const uint8_t *p;
	size_t n;

	if (bytes->n >= 24 && memcmp(bytes->p, H2_PREFACE, 24) == 0)
		*bytes = slice_skip(*bytes, 24);
	if (bytes->n < 9)
		return false;
	p = bytes->p;
	n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
	assert_true(bytes->n >= 9 + n);
	*ret = (struct frame){p[3], p[4],
		((uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8]) &
			0x7fffffff,
		slice_of(p + 9, n)};
	*bytes = slice_skip(*bytes, 9 + n);
	return true;
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum { NONE = -1 };

/* The code of the RST_STREAM of that stream, NONE if there is none. */
static inline int64_t reset_in(const struct buf *b, uint32_t id)
{
	struct slice rest = buf_slice(b);
	struct frame f;

	while (next_frame(&rest, &f))
		if (f.type == 3 && f.id == id)
			return be32(f.payload.p);
	return NONE;
}

static inline int64_t goaway_in(const struct buf *b)
{
	struct slice rest = buf_slice(b);
	struct frame f;

	while (next_frame(&rest, &f))
		if (f.type == 7)
			return be32(f.payload.p + 4);
	return NONE;
}

/* DATA bytes of that stream; 0 = of all. */
static inline size_t data_in(const struct buf *b, uint32_t id)
{
	struct slice rest = buf_slice(b);
	struct frame f;
	size_t n = 0;

	while (next_frame(&rest, &f))
		if (f.type == 0 && (id == 0 || f.id == id))
			n += f.payload.n;
	return n;
}

static inline unsigned frames_in(const struct buf *b, uint8_t type)
{
	struct slice rest = buf_slice(b);
	struct frame f;
	unsigned n = 0;

	while (next_frame(&rest, &f))
		n += f.type == type;
	return n;
}

/* ---- two ends ---- */

static inline void drop_acknowledgements(struct end *from, struct buf *wire)
{
	struct slice rest;
	struct frame f;
	struct buf kept;

	if (!from->forged)
		return;
	buf_init(&kept, wire->max);
	rest = buf_slice(wire);
	while (next_frame(&rest, &f)) {
		if (f.type == 4 && f.flags & 1 && from->forged)
			from->forged--;
		else
			script_frame(&kept, f.type, f.flags, f.id, f.payload.p, f.payload.n);
	}
	buf_done(wire);
	*wire = kept;
}

/* All that one end has to say to the other, once, cut at `cut` bytes. feed()'s answer. */
static inline int pass(struct end *from, struct end *to, size_t cut)
{
	struct buf wire;
	struct slice rest;
	int r = 0;

	buf_init(&wire, 65536);
	assert_int_equal(h2_session_pull(from->session, &wire), 0);
	drop_acknowledgements(from, &wire);
	for (rest = buf_slice(&wire); rest.n && r == 0; rest = slice_skip(rest, cut))
		r = h2_session_feed(to->session, slice_first(rest, cut));
	buf_done(&wire);
	return r;
}

/* Until neither has anything to say. */
static inline void talk(struct end *a, struct end *b)
{
	for (int i = 0; i < 10000; i++) {
		if (!h2_session_wants_out(a->session) && !h2_session_wants_out(b->session))
			return;
		assert_int_equal(pass(a, b, SIZE_MAX), 0);
		assert_int_equal(pass(b, a, SIZE_MAX), 0);
	}
	fail_msg("they never fall silent");
}

/* feed() of a script. */
static inline int feed_script(struct end *e, const char *script)
{
	struct buf b;
	int r;

	buf_init(&b, 1 << 24);
	script_write(&b, script);
	r = h2_session_feed(e->session, buf_slice(&b));
	buf_done(&b);
	return r;
}

/* ---- messages ---- */

static inline void msg_add(struct msg *m, const char *name, const char *value)
{
	m->fields[m->nfields++] = (struct field){slice_str(name), slice_str(value), false};
}

static inline struct msg *msg_request(struct msg *m, const char *method)
{
	memset(m, 0, sizeof(*m));
	m->method = slice_str(method);
	m->scheme = SLICE("https");
	m->authority = SLICE("api.test");
	m->target = SLICE("/");
	return m;
}

static inline struct msg *msg_response(struct msg *m, uint16_t status)
{
	memset(m, 0, sizeof(*m));
	m->status = status;
	return m;
}

static inline void assert_field(const struct msg *m, const char *name, const char *value)
{
	const struct field *f;

	assert_non_null(m);
	f = msg_find(m, slice_str(name));
	if (!value) {
		assert_null(f);
		return;
	}
	assert_non_null(f);
	assert_int_equal(f->value.n, strlen(value));
	assert_memory_equal(f->value.p, value, f->value.n);
}

static inline void assert_text(struct slice s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	assert_memory_equal(s.p, text, s.n);
}

static inline struct h2_stream *ask(struct end *e, const char *method, bool end)
{
	struct h2_stream *s = NULL;
	struct msg m;

	assert_int_equal(h2_session_request(e->session, msg_request(&m, method), end, e, &s), 0);
	return s;
}

/* ---- a server alone ---- */

static inline void server_init(struct end *e)
{
	end_init(e, H2_SERVER);
	assert_int_equal(feed_script(e, "P\n" SETTINGS "F 4 1 0 "), 0);
}

/* Reads and drops what the session says; the code of its GOAWAY, NONE. */
static inline int64_t drain(struct end *e)
{
	struct buf out;
	int64_t code;

	buf_init(&out, 1 << 22);
	pull_all(e, &out);
	code = goaway_in(&out);
	buf_done(&out);
	return code;
}

/* A server's owner that lets go of what is reset. */
static inline void let_go(struct end *e, struct h2_stream *s)
{
	(void)e;
	if (h2_stream_is_reset(s, NULL))
		h2_stream_forget(s);
}

#endif
