/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_owner.h – an owner of HTTP/2 streams that does what the input says, and checks what it is
 * told: heads are what h2_head.h promises, nobody is told of a stream that it has forgotten.
 */
#ifndef SALLYPORT_FUZZ_H2_OWNER_H
#define SALLYPORT_FUZZ_H2_OWNER_H

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "http/fields.h"
#include "http/h2_session.h"
#include "model/msg.h"

enum { OWNED = 32 };

struct input {
	const uint8_t *p;
	size_t n;
};

static uint8_t take(struct input *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

struct owner;
struct owned {
	struct owner *owner;
	struct h2_stream *stream; /* NULL = free */
	struct owned *peer; /* the same request at the other end, where that is known */
	uint64_t wrote, read; /* bytes, and what they add up to */
	uint64_t wrote_sum, read_sum;
	bool finished, ended;
};

struct owner {
	struct h2_session *session;
	struct input *in;
	struct owned owned[OWNED];
	uint64_t now;
	bool server;
};

static void owner_let_go(struct owned *o)
{
	struct h2_stream *s = o->stream;

	o->stream = NULL;
	if (o->peer)
		o->peer->peer = NULL;
	o->peer = NULL;
	h2_stream_forget(s);
}

static struct owned *owner_slot(struct owner *w, struct h2_stream *s)
{
	for (unsigned i = 0; i < OWNED; i++)
		if (!w->owned[i].stream) {
			w->owned[i] = (struct owned){.owner = w, .stream = s};
			return &w->owned[i];
		}
	return NULL;
}

static void check_fields(const struct msg *m)
{
	assert(m->nfields <= LIMIT_FIELDS);
	for (unsigned i = 0; i < m->nfields; i++) {
		const struct field *f = &m->fields[i];

		assert(fields_token(f->name) && fields_value(f->value));
		assert(slice_trim(f->value).n == f->value.n);
		for (size_t k = 0; k < f->name.n; k++)
			assert(f->name.p[k] < 'A' || f->name.p[k] > 'Z');
		assert(!slice_eq(f->name, SLICE("connection")));
		assert(!slice_eq(f->name, SLICE("transfer-encoding")));
		assert(!slice_eq(f->name, SLICE("upgrade")));
	}
}

static void check_head(const struct owner *w, const struct msg *m)
{
	check_fields(m);
	if (!w->server) {
		assert(m->status >= 100 && m->status <= 999 && m->status != 101);
		return;
	}
	assert(m->status == 0 && fields_token(m->method) && m->target.n && m->authority.n);
	assert(!slice_eq(m->method, SLICE("CONNECT")));
	assert(m->target.p[0] == '/' || slice_eq(m->target, SLICE("*")));
	assert(slice_eq(m->scheme, SLICE("http")) || slice_eq(m->scheme, SLICE("https")));
	assert(!msg_find(m, SLICE("host")));
}

/* Reads what there is, at most `most` of the body. */
static void owner_read(struct owned *o, size_t most)
{
	struct slice body = h2_stream_readable(o->stream);
	const struct msg *m;

	assert(body.n <= LIMIT_H2_BODY);
	while ((m = h2_stream_head(o->stream))) {
		check_head(o->owner, m);
		h2_stream_head_take(o->stream);
	}
	body = slice_first(body, most);
	for (size_t i = 0; i < body.n; i++)
		o->read_sum = o->read_sum * 31 + body.p[i];
	o->read += body.n;
	h2_stream_consume(o->stream, body.n);
	o->ended = h2_stream_ended(o->stream);
	m = h2_stream_trailers(o->stream);
	assert(!m || o->ended);
	if (m)
		check_fields(m);
}

static void owner_opened(void *user, struct h2_stream *s)
{
	struct owner *w = user;
	struct owned *o;

	assert(w->server && h2_stream_head(s) && !h2_stream_owner(s));
	assert(!h2_stream_is_reset(s, NULL));
	check_head(w, h2_stream_head(s));
	o = owner_slot(w, s);
	if (o)
		h2_stream_own(s, o);
}

static void owner_changed(void *user, struct h2_stream *s)
{
	struct owner *w = user;
	struct owned *o = h2_stream_owner(s);
	uint8_t choice = take(w->in);

	assert(o && o->owner == w && o->stream == s);
	if (choice & 1)
		owner_read(o, SIZE_MAX);
	if ((choice & 0xe) == 0xe)
		owner_let_go(o);
}

static uint64_t owner_now(void *user)
{
	struct owner *w = user;

	return w->now;
}

static const struct h2_events owner_events = {owner_opened, owner_changed, owner_now};

static void owner_add(struct msg *m, struct slice name, struct slice value, bool secret)
{
	m->fields[m->nfields++] = (struct field){name, value, secret};
}

static void owner_ask(struct owner *w, uint8_t choice)
{
	static const char *const methods[] = {"GET", "HEAD", "POST", "OPTIONS"};
	struct h2_stream *s;
	struct owned *o = owner_slot(w, (struct h2_stream *)1);
	bool end = choice & 4;
	struct msg m = {0};

	if (!o)
		return;
	m.method = slice_str(methods[choice & 3]);
	m.scheme = SLICE("https");
	m.authority = SLICE("a.test");
	m.target = SLICE("/");
	owner_add(&m, SLICE("X-Key"), SLICE("value"), choice & 8);
	if (choice & 16)
		owner_add(&m, SLICE("cookie"), SLICE("a=b"), false);
	o->stream = NULL;
	if (h2_session_request(w->session, &m, end, o, &s) < 0)
		return;
	o->stream = s;
	o->finished = end;
}

static void owner_write(struct owned *o, size_t n, uint8_t seed)
{
	static uint8_t bytes[LIMIT_H2_BODY];
	size_t room = h2_stream_room(o->stream);
	int r;

	n = n < room ? n : room;
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(seed + i);
	r = h2_stream_write(o->stream, slice_of(bytes, n));
	if (r < 0)
		return;
	for (size_t i = 0; i < n; i++)
		o->wrote_sum = o->wrote_sum * 31 + bytes[i];
	o->wrote += n;
}

/* One thing that an owner may do. */
static void owner_act(struct owner *w)
{
	uint8_t what = take(w->in), choice = take(w->in);
	struct owned *o = &w->owned[choice % OWNED];
	struct msg m = {.status = (uint16_t)(choice & 0x40 ? 103 : 200)};

	if (what % 8 == 0 && !w->server) {
		owner_ask(w, choice);
		return;
	}
	if (!o->stream)
		return;
	switch (what % 8) {
	case 1:
		owner_read(o, take(w->in) * 64u);
		break;
	case 2:
	case 3:
		owner_write(o, take(w->in) * (what & 0x10 ? 257u : 1u), choice);
		break;
	case 4:
		owner_add(&m, SLICE("x-sum"), SLICE("1"), false);
		m.status = 0;
		if (h2_stream_finish(o->stream, what & 0x10 ? &m : NULL) == 0)
			o->finished = true;
		break;
	case 5:
		owner_add(&m, SLICE("server"), SLICE("s"), what & 0x40);
		if (h2_stream_respond(o->stream, &m, what & 0x10) == 0 && what & 0x10)
			o->finished = true;
		break;
	case 6:
		h2_stream_reset(o->stream, choice >> 5);
		break;
	default:
		owner_let_go(o);
	}
}

#endif
