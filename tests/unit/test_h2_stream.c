/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_stream.c – requests and responses between two sessions of ours, and what their owners see
 * and may do at each moment.
 */
#include <errno.h>

#include "h2_malformed_rows.h"
#include "h2_rig.h"

struct pair {
	struct end c, s;
};

static int setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	end_init(&p->c, H2_CLIENT);
	end_init(&p->s, H2_SERVER);
	talk(&p->c, &p->s);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	if (p->c.session)
		end_done(&p->c);
	if (p->s.session)
		end_done(&p->s);
	free(p);
	return 0;
}

static void test_get(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s;
	struct msg m;

	msg_request(&m, "GET");
	m.target = SLICE("/a?b=c");
	msg_add(&m, "Accept", "*/*");
	msg_add(&m, "x-one", "1");
	msg_add(&m, "x-one", "2");
	assert_true(h2_session_takes(p->c.session));
	assert_int_equal(h2_session_request(p->c.session, &m, true, p, &c), 0);
	assert_int_equal(h2_session_streams(p->c.session), 1);
	talk(&p->c, &p->s);
	assert_int_equal(p->s.opened, 1);
	s = p->s.streams[0];
	assert_int_equal(h2_stream_id(s), 1);
	assert_text(h2_stream_head(s)->method, "GET");
	assert_text(h2_stream_head(s)->target, "/a?b=c");
	assert_text(h2_stream_head(s)->scheme, "https");
	assert_text(h2_stream_head(s)->authority, "api.test");
	assert_int_equal(h2_stream_head(s)->nfields, 3);
	assert_text(h2_stream_head(s)->fields[0].name, "accept"); /* lower case now */
	assert_text(h2_stream_head(s)->fields[1].value, "1");
	assert_text(h2_stream_head(s)->fields[2].value, "2");
	assert_int_equal(h2_stream_head(s)->framing, FRAMING_NONE);
	assert_true(h2_stream_ended(s));
	h2_stream_head_take(s);
	assert_null(h2_stream_head(s));

	msg_response(&m, 200);
	msg_add(&m, "content-length", "5");
	assert_int_equal(h2_stream_respond(s, &m, false), 0);
	assert_int_equal(h2_stream_write(s, SLICE("hello")), 0);
	assert_int_equal(h2_stream_finish(s, NULL), 0);
	assert_int_equal(h2_stream_write(s, SLICE("x")), -EPIPE);
	assert_int_equal(h2_stream_finish(s, NULL), -EPIPE);
	talk(&p->c, &p->s);
	assert_true(p->c.changed > 0);
	assert_int_equal(h2_stream_head(c)->status, 200);
	assert_int_equal(h2_stream_head(c)->framing, FRAMING_LENGTH);
	assert_int_equal(h2_stream_head(c)->length, 5);
	assert_false(h2_stream_ended(c));
	assert_text(h2_stream_readable(c), "hello");
	h2_stream_consume(c, 5);
	assert_true(h2_stream_ended(c));
	assert_null(h2_stream_trailers(c));
	assert_false(h2_stream_is_reset(c, NULL));
	assert_int_equal(h2_session_streams(p->c.session), 0);
	assert_int_equal(h2_session_streams(p->s.session), 0);
	h2_stream_forget(c);
	h2_stream_forget(s);
	talk(&p->c, &p->s);
}

/* The response with nothing in it. */
static void answer(struct h2_stream *s, uint16_t status, bool end)
{
	struct msg m;

	assert_int_equal(h2_stream_respond(s, msg_response(&m, status), end), 0);
}

/* Client's stream c and server's stream of a new request. */
static struct h2_stream *open_pair(
	struct pair *p, const char *method, bool end, struct h2_stream **c)
{
	unsigned before = p->s.opened;

	*c = ask(&p->c, method, end);
	talk(&p->c, &p->s);
	assert_int_equal(p->s.opened, before + 1);
	return p->s.streams[before];
}

static size_t fill(struct h2_stream *s)
{
	static const uint8_t zeros[65536];
	size_t n = h2_stream_room(s);

	assert_int_equal(h2_stream_write(s, slice_of(zeros, n)), 0);
	return n;
}

static void read_all(struct h2_stream *s)
{
	h2_stream_consume(s, h2_stream_readable(s).n);
}

static void test_trailers_both_ways(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s;
	struct msg m = {0};

	s = open_pair(p, "POST", false, &c);
	assert_int_equal(h2_stream_head(s)->framing, FRAMING_CHUNKED);
	assert_int_equal(h2_stream_write(c, SLICE("question")), 0);
	msg_add(&m, "X-Up", "1");
	assert_int_equal(h2_stream_finish(c, &m), 0);
	memset(&m, 0x55, sizeof(m)); /* it was copied */
	talk(&p->c, &p->s);
	assert_null(h2_stream_trailers(s)); /* not before the body is read */
	assert_text(h2_stream_readable(s), "question");
	read_all(s);
	assert_true(h2_stream_ended(s));
	assert_field(h2_stream_trailers(s), "x-up", "1");

	answer(s, 200, false);
	assert_int_equal(h2_stream_write(s, SLICE("answer")), 0);
	talk(&p->c, &p->s);
	memset(&m, 0, sizeof(m));
	msg_add(&m, "grpc-status", "0");
	msg_add(&m, "x-bin", "AAEC");
	assert_int_equal(h2_stream_finish(s, &m), 0);
	talk(&p->c, &p->s);
	read_all(c);
	assert_true(h2_stream_ended(c));
	assert_field(h2_stream_trailers(c), "grpc-status", "0");
	assert_field(h2_stream_trailers(c), "x-bin", "AAEC");
	assert_false(h2_stream_is_reset(c, NULL));
	h2_stream_forget(c);
	h2_stream_forget(s);
}

static void test_trailers_without_body(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s;
	struct msg m = {0};

	s = open_pair(p, "POST", false, &c);
	assert_int_equal(h2_stream_finish(c, NULL), 0);
	answer(s, 200, false);
	msg_add(&m, "grpc-status", "5");
	assert_int_equal(h2_stream_finish(s, &m), 0);
	talk(&p->c, &p->s);
	assert_true(h2_stream_ended(s));
	assert_true(h2_stream_ended(c));
	assert_int_equal(h2_stream_head(c)->framing, FRAMING_CHUNKED);
	assert_field(h2_stream_trailers(c), "grpc-status", "5");
	h2_stream_forget(c);
	h2_stream_forget(s);
}

static void test_trailers_only(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "POST", true, &c);
	struct msg m;

	msg_response(&m, 200);
	msg_add(&m, "grpc-status", "5");
	assert_int_equal(h2_stream_respond(s, &m, true), 0);
	talk(&p->c, &p->s);
	assert_true(h2_stream_ended(c));
	assert_field(h2_stream_head(c), "grpc-status", "5");
	assert_int_equal(h2_stream_head(c)->framing, FRAMING_NONE);
	assert_null(h2_stream_trailers(c));
	h2_stream_forget(c);
	h2_stream_forget(s);
}

static void test_interim_heads(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s;
	struct msg m;

	msg_request(&m, "POST");
	msg_add(&m, "expect", "100-Continue");
	msg_add(&m, "content-length", "2");
	assert_int_equal(h2_session_request(p->c.session, &m, false, p, &c), 0);
	talk(&p->c, &p->s);
	s = p->s.streams[0];
	assert_true(h2_stream_head(s)->expect_continue);
	assert_int_equal(h2_stream_head(s)->framing, FRAMING_LENGTH);
	answer(s, 100, false);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_head(c)->status, 100);
	assert_int_equal(h2_stream_head(c)->framing, FRAMING_NONE);
	h2_stream_head_take(c);
	assert_null(h2_stream_head(c));
	assert_int_equal(h2_stream_write(c, SLICE("ok")), 0);
	assert_int_equal(h2_stream_finish(c, NULL), 0);
	msg_response(&m, 103);
	msg_add(&m, "link", "</a>");
	assert_int_equal(h2_stream_respond(s, &m, false), 0);
	answer(s, 204, true);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_head(c)->status, 103);
	assert_field(h2_stream_head(c), "link", "</a>");
	h2_stream_head_take(c);
	assert_int_equal(h2_stream_head(c)->status, 204);
	assert_true(h2_stream_ended(c));

	/* what is not to be sent */
	assert_int_equal(h2_stream_respond(s, msg_response(&m, 103), false), -EINVAL);
	assert_int_equal(h2_stream_respond(s, msg_response(&m, 200), false), -EINVAL);
	h2_stream_forget(s);
	h2_stream_forget(c);
	s = open_pair(p, "GET", true, &c);
	assert_int_equal(h2_stream_respond(s, msg_response(&m, 101), false), -EINVAL);
	assert_int_equal(h2_stream_respond(s, msg_response(&m, 100), true), -EINVAL);
	assert_int_equal(h2_stream_respond(s, msg_response(&m, 99), true), -EINVAL);
	assert_int_equal(h2_stream_respond(s, msg_response(&m, 1000), true), -EINVAL);
	assert_int_equal(h2_stream_write(s, SLICE("before the head")), -EINVAL);
	assert_int_equal(h2_stream_finish(s, NULL), -EINVAL);
	assert_int_equal(h2_stream_respond(c, msg_response(&m, 200), true), -EINVAL);
}

/* Interim heads that nobody takes are few. */
static void test_too_many_interims(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "GET", true, &c);
	uint32_t code = 0;

	for (int i = 0; i < LIMIT_H2_HEADS; i++)
		answer(s, 103, false);
	talk(&p->c, &p->s);
	assert_false(h2_stream_is_reset(c, NULL));
	answer(s, 103, false);
	talk(&p->c, &p->s);
	assert_true(h2_stream_is_reset(c, &code));
	assert_int_equal(code, H2_ENHANCE_YOUR_CALM);
	assert_true(h2_stream_is_reset(s, &code));
	assert_int_equal(code, H2_ENHANCE_YOUR_CALM);
}

static void test_head_has_no_body(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "HEAD", true, &c);
	struct msg m;

	msg_response(&m, 200);
	msg_add(&m, "content-length", "1000");
	assert_int_equal(h2_stream_respond(s, &m, false), 0);
	assert_int_equal(h2_stream_finish(s, NULL), 0);
	talk(&p->c, &p->s);
	assert_field(h2_stream_head(c), "content-length", "1000");
	assert_int_equal(h2_stream_head(c)->framing, FRAMING_NONE);
	assert_true(h2_stream_ended(c));
	assert_false(h2_stream_is_reset(c, NULL));
}

/* One stream whose body nobody reads gets its 64 KiB, another goes on for megabytes. */
static void test_back_pressure(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c1, *c2, *s1 = open_pair(p, "GET", true, &c1),
				   *s2 = open_pair(p, "GET", true, &c2);
	size_t got = 0, gave = 0;

	answer(s1, 200, false);
	answer(s2, 200, false);
	for (int i = 0; i < 100; i++) {
		fill(s1);
		gave += fill(s2);
		talk(&p->c, &p->s);
		assert_int_equal(h2_stream_readable(c1).n, LIMIT_H2_BODY);
		got += h2_stream_readable(c2).n;
		read_all(c2);
	}
	assert_int_equal(h2_stream_room(s1), 0);
	assert_true(got > 5 << 20);
	talk(&p->c, &p->s);
	got += h2_stream_readable(c2).n;
	read_all(c2);
	talk(&p->c, &p->s);
	got += h2_stream_readable(c2).n;
	assert_int_equal(got, gave);

	/* it opens by what is read: less than half waits, half is told */
	h2_stream_consume(c1, 1000);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_readable(c1).n, LIMIT_H2_BODY - 1000);
	h2_stream_consume(c1, LIMIT_H2_BODY / 2);
	p->s.changed = 0;
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_readable(c1).n, LIMIT_H2_BODY);
	assert_true(p->s.changed > 0); /* it may be written to again */
	assert_int_equal(h2_stream_room(s1), LIMIT_H2_BODY / 2 + 1000);
	assert_int_equal(h2_stream_finish(s1, NULL), 0);
	assert_int_equal(h2_stream_finish(s2, NULL), 0);
	while (!h2_stream_ended(c1)) {
		read_all(c1);
		talk(&p->c, &p->s);
	}
	assert_false(h2_stream_is_reset(c1, NULL));
}

/* The same for uploads; all windows of the session taken, then given back by forgetting. */
static void test_session_window(void **state)
{
	enum { N = 20 };
	struct pair *p = *state;
	struct h2_stream *c[N], *s[N], *last;
	size_t held = 0;

	for (int i = 0; i < N; i++) {
		s[i] = open_pair(p, "POST", false, &c[i]);
		fill(c[i]);
		talk(&p->c, &p->s);
		held += h2_stream_readable(s[i]).n;
	}
	assert_int_equal(held, LIMIT_H2_WINDOW);
	assert_int_equal(h2_stream_readable(s[N - 1]).n, 0);
	for (int i = 0; i < 8; i++)
		h2_stream_forget(s[i]);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_readable(s[N - 1]).n, LIMIT_H2_BODY);
	/* reset streams: CANCEL has come */
	assert_true(h2_stream_is_reset(c[0], NULL));
	last = s[N - 1];
	read_all(last);
	assert_false(h2_stream_ended(last));
}

/* What peers do not read is bounded over all streams, and none is shut out. */
static void test_room_of_all(void **state)
{
	enum { N = LIMIT_H2_STREAMS };
	struct pair *p = *state;
	struct h2_stream *c[N], *s[N];
	size_t held = 0;

	/* no windows at all */
	p->s.forged++;
	assert_int_equal(feed_script(&p->s, "F 4 0 0 000400000000"), 0);
	for (int i = 0; i < N; i++) {
		s[i] = open_pair(p, "GET", true, &c[i]);
		answer(s[i], 200, false);
		held += fill(s[i]);
	}
	assert_int_equal(h2_stream_room(s[0]), 0);
	assert_true(held <= LIMIT_H2_WINDOW + LIMIT_H2_BODY + N * LIMIT_H2_LEAST);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_readable(c[N - 1]).n, 0);
	assert_false(h2_session_takes(p->c.session));
	/* windows come: all goes out, and those who had found no room hear of it */
	p->s.forged++;
	assert_int_equal(feed_script(&p->s, "F 4 0 0 000400010000"), 0);
	p->s.changed = 0;
	for (int i = 0; i < 50; i++) {
		talk(&p->c, &p->s);
		for (int k = 0; k < N; k++)
			read_all(c[k]);
	}
	assert_true(p->s.changed >= N);
	assert_int_equal(h2_stream_room(s[N - 1]), LIMIT_H2_BODY);
}

/* Responses share the connection in turn. */
static void test_in_turn(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s1 = open_pair(p, "GET", true, &c),
			     *s2 = open_pair(p, "GET", true, &c);
	struct slice rest;
	struct frame f;
	uint32_t before = 0;
	size_t sent[2] = {0};
	struct buf out;

	answer(s1, 200, false);
	answer(s2, 200, false);
	fill(s1);
	fill(s2);
	buf_init(&out, 1 << 20);
	pull_all(&p->s, &out);
	rest = buf_slice(&out);
	while (next_frame(&rest, &f)) {
		if (f.type != 0 || f.payload.n < 16384)
			continue;
		assert_int_not_equal(f.id, before);
		before = f.id;
	}
	assert_int_equal(data_in(&out, 1), LIMIT_H2_BODY);
	assert_int_equal(data_in(&out, 3), LIMIT_H2_BODY);
	buf_done(&out);

	/* also where there is never room for more than one frame */
	talk(&p->c, &p->s);
	h2_stream_consume(c, h2_stream_readable(c).n);
	talk(&p->c, &p->s);
	assert_int_equal(
		feed_script(&p->s, "F 8 0 1 00100000\nF 8 0 3 00100000\nF 8 0 0 00200000"), 0);
	buf_init(&out, H2_FRAME_MAX);
	for (int i = 0; i < 200; i++) {
		fill(s1);
		fill(s2);
		assert_int_equal(h2_session_pull(p->s.session, &out), 0);
		sent[0] += data_in(&out, 1);
		sent[1] += data_in(&out, 3);
		buf_consume(&out, buf_used(&out));
	}
	assert_true(sent[0] > 700000 && sent[1] > 700000);
	assert_true(sent[0] < sent[1] + 40000 && sent[1] < sent[0] + 40000);
	buf_done(&out);
}

/* Frames go into whatever room there is, and nothing is lost at the seams. */
static void test_little_room(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "GET", true, &c);
	struct buf out;
	size_t got = 0;
	struct msg m = {0};

	answer(s, 200, false);
	fill(s);
	msg_add(&m, "x-sum", "1");
	assert_int_equal(h2_stream_finish(s, &m), 0);
	buf_init(&out, H2_FRAME_MAX + 100);
	while (h2_session_wants_out(p->s.session)) {
		assert_int_equal(h2_session_pull(p->s.session, &out), 0);
		assert_true(buf_used(&out) > 0);
		assert_int_equal(h2_session_feed(p->c.session, buf_slice(&out)), 0);
		buf_consume(&out, buf_used(&out));
		got += h2_stream_readable(c).n;
		read_all(c);
	}
	assert_int_equal(got, LIMIT_H2_BODY);
	assert_true(h2_stream_ended(c));
	assert_field(h2_stream_trailers(c), "x-sum", "1");

	/* a buffer that is too full, and one whose bytes may not move */
	h2_stream_forget(c);
	h2_stream_forget(s);
	s = open_pair(p, "GET", true, &c);
	answer(s, 200, false);
	fill(s);
	assert_int_equal(buf_append(&out, SLICE("12345678901234567890")), 0);
	assert_non_null(buf_reserve(&out, 81)); /* room for 81 */
	buf_commit(&out, 81);
	assert_int_equal(h2_session_pull(p->s.session, &out), 0);
	assert_int_equal(buf_used(&out), 101);
	assert_true(h2_session_wants_out(p->s.session));
	buf_done(&out);
	buf_init(&out, 65536);
	assert_int_equal(buf_append(&out, SLICE("lent")), 0);
	out.lent = true;
	assert_int_equal(h2_session_pull(p->s.session, &out), 0);
	assert_int_equal(buf_used(&out), 4);
	out.lent = false;
	buf_consume(&out, 4);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_readable(c).n, LIMIT_H2_BODY);
	buf_done(&out);
}

static void test_cookie_crumbs(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c;
	const struct msg *head;
	struct msg m;

	msg_request(&m, "GET");
	msg_add(&m, "cookie", "a=1");
	msg_add(&m, "x", "1");
	msg_add(&m, "cookie", "b=2");
	msg_add(&m, "x", "2");
	msg_add(&m, "cookie", "c=3");
	m.fields[4].secret = true;
	assert_int_equal(h2_session_request(p->c.session, &m, true, p, &c), 0);
	talk(&p->c, &p->s);
	head = h2_stream_head(p->s.streams[0]);
	assert_int_equal(head->nfields, 3);
	assert_text(head->fields[0].name, "cookie");
	assert_text(head->fields[0].value, "a=1; b=2; c=3");
	assert_true(head->fields[0].secret);
	assert_text(head->fields[1].value, "1");
	assert_text(head->fields[2].value, "2");

	/* 300 crumbs are one field */
	{
		struct buf b;

		buf_init(&b, 1 << 20);
		script_bytes(&b, "H 3 e " RQ, strlen("H 3 e " RQ));
		for (int i = 0; i < 300; i++)
			script_bytes(&b, "|cookie=abc=d", 13);
		script_bytes(&b, "", 1);
		assert_int_equal(feed_script(&p->s, (const char *)buf_slice(&b).p), 0);
		buf_done(&b);
	}
	assert_int_equal(p->s.opened, 2);
	head = h2_stream_head(p->s.streams[1]);
	assert_int_equal(head->nfields, 1);
	assert_int_equal(head->fields[0].value.n, 300 * 5 + 299 * 2);
}

/* :authority and Host are one thing. */
static void test_authority(void **state)
{
	struct pair *p = *state;

	assert_int_equal(
		feed_script(&p->s,
			"H 1 e :method=GET|:scheme=https|:path=/|host=A.test:8443|x=y\n"
			"H 3 e :authority=b.test|:method=GET|:scheme=http|:path=/|host=B.TEST\n"
			"H 5 e :method=OPTIONS|:scheme=https|:path=*|:authority=[::1]:443\n"
			"H 7 e "
			":method=GET|:scheme=https|:path=/?a|:authority=c_d.test|te=Trailers"),
		0);
	assert_int_equal(p->s.opened, 4);
	assert_text(h2_stream_head(p->s.streams[0])->authority, "A.test:8443");
	assert_int_equal(h2_stream_head(p->s.streams[0])->nfields, 1);
	assert_text(h2_stream_head(p->s.streams[1])->authority, "b.test");
	assert_text(h2_stream_head(p->s.streams[1])->scheme, "http");
	assert_int_equal(h2_stream_head(p->s.streams[1])->nfields, 0);
	assert_text(h2_stream_head(p->s.streams[2])->target, "*");
	assert_field(h2_stream_head(p->s.streams[3]), "te", "Trailers");
}

/* Credentials are literals that are never indexed, and stay that when they are passed on. */
static void test_secret(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c;
	struct buf out;
	struct msg m;
	const uint8_t *at;

	for (int i = 0; i < 3; i++) {
		msg_request(&m, "GET");
		msg_add(&m, "x-api-key", "\x01");
		m.fields[0].value = SLICE("SESAME-OPEN-SESAME");
		m.fields[0].secret = true;
		msg_add(&m, "x-plain", "plain");
		assert_int_equal(h2_session_request(p->c.session, &m, true, p, &c), 0);
		buf_init(&out, 65536);
		pull_all(&p->c, &out);
		at = memchr(buf_slice(&out).p + 9, 0x10, buf_used(&out) - 9);
		assert_non_null(at); /* 0001xxxx: never indexed, each time anew */
		assert_true(buf_used(&out) > 20);
		assert_int_equal(h2_session_feed(p->s.session, buf_slice(&out)), 0);
		buf_done(&out);
		assert_true(h2_stream_head(p->s.streams[i])->fields[0].secret);
		assert_false(h2_stream_head(p->s.streams[i])->fields[1].secret);
		assert_text(h2_stream_head(p->s.streams[i])->fields[0].value, "SESAME-OPEN-SESAME");
	}
}

static void check_unsendable(struct pair *p, const char *name, const char *value)
{
	struct h2_stream *c = NULL;
	struct msg m;

	msg_request(&m, "GET");
	msg_add(&m, name, value);
	assert_int_equal(h2_session_request(p->c.session, &m, true, p, &c), -EINVAL);
	assert_null(c);
}

static void test_unsendable(void **state)
{
	static const struct {
		const char *method, *scheme, *authority, *target;
	} heads[] = {
		{"CONNECT", "https", "a.test", "/"},
		{"GE T", "https", "a.test", "/"},
		{"", "https", "a.test", "/"},
		{"GET", "ftp", "a.test", "/"},
		{"GET", "", "a.test", "/"},
		{"GET", "https", "", "/"},
		{"GET", "https", "u@a.test", "/"},
		{"GET", "https", "a.test\r\nx: y", "/"},
		{"GET", "https", "a.test", ""},
		{"GET", "https", "a.test", "https://a.test/"},
		{"GET", "https", "a.test", "/a b"},
		{"GET", "https", "a.test", "/a\nb"},
		{"GET", "https", "a.test", "*"},
	};
	struct pair *p = *state;
	struct h2_stream *c;
	struct msg m;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		memset(&m, 0, sizeof(m));
		m.method = slice_str(heads[i].method);
		m.scheme = slice_str(heads[i].scheme);
		m.authority = slice_str(heads[i].authority);
		m.target = slice_str(heads[i].target);
		assert_int_equal(h2_session_request(p->c.session, &m, true, p, &c), -EINVAL);
	}
	check_unsendable(p, "connection", "close");
	check_unsendable(p, "Keep-Alive", "x");
	check_unsendable(p, "proxy-connection", "x");
	check_unsendable(p, "Transfer-Encoding", "chunked");
	check_unsendable(p, "upgrade", "x");
	check_unsendable(p, "http2-settings", "x");
	check_unsendable(p, "host", "a.test");
	check_unsendable(p, "te", "gzip");
	check_unsendable(p, ":path", "/");
	check_unsendable(p, "", "x");
	check_unsendable(p, "x y", "x");
	check_unsendable(p, "x", "a\r\nb");
	check_unsendable(p, "x", " a");
	check_unsendable(p, "x", "a\t");
	assert_int_equal(h2_session_streams(p->c.session), 0);

	/* too large: by bytes */
	{
		char *large = malloc(LIMIT_HEAD);

		memset(large, 'a', LIMIT_HEAD - 1);
		large[LIMIT_HEAD - 1] = 0;
		msg_request(&m, "GET");
		msg_add(&m, "x", large);
		assert_int_equal(h2_session_request(p->c.session, &m, true, p, &c), -EMSGSIZE);
		large[LIMIT_HEAD - 1000] = 0; /* with the other lines it just fits */
		msg_request(&m, "GET");
		msg_add(&m, "x", large);
		assert_int_equal(h2_session_request(p->c.session, &m, true, p, &c), 0);
		talk(&p->c, &p->s);
		assert_int_equal(p->s.opened, 1);
		assert_field(h2_stream_head(p->s.streams[0]), "x", large);
		free(large);
	}
}

/* ---- resets ---- */

static const struct {
	uint32_t sent, heard;
} codes[] = {
	{H2_NO_ERROR, H2_NO_ERROR},
	{H2_CANCEL, H2_CANCEL},
	{H2_REFUSED_STREAM, H2_GONE},
	{H2_ENHANCE_YOUR_CALM, H2_ENHANCE_YOUR_CALM},
	{H2_HTTP_1_1_REQUIRED, H2_HTTP_1_1_REQUIRED},
	{H2_INTERNAL_ERROR, H2_INTERNAL_ERROR},
	{14, H2_INTERNAL_ERROR},
	{UINT32_MAX, H2_INTERNAL_ERROR},
};

static void test_reset_codes(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s;
	uint32_t code;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		s = open_pair(p, "POST", false, &c);
		h2_stream_reset(s, codes[i].sent);
		assert_true(h2_stream_is_reset(s, &code));
		assert_int_equal(code, codes[i].sent);
		p->c.changed = p->s.changed = 0;
		talk(&p->c, &p->s);
		assert_true(h2_stream_is_reset(c, &code));
		assert_int_equal(code, codes[i].heard);
		assert_int_equal(p->c.changed, 1);
		assert_int_equal(h2_stream_room(c), 0);
		assert_int_equal(h2_stream_write(c, SLICE("x")), -EPIPE);
		assert_int_equal(h2_stream_finish(c, NULL), -EPIPE);
		h2_stream_reset(c, H2_CANCEL); /* nothing */
		h2_stream_forget(c);
		h2_stream_forget(s);
	}
	/* from the client */
	s = open_pair(p, "POST", false, &c);
	h2_stream_reset(c, H2_CANCEL);
	talk(&p->c, &p->s);
	assert_true(h2_stream_is_reset(s, &code));
	assert_int_equal(code, H2_CANCEL);
	h2_stream_forget(s);
	/* once a head has come it is not safe to repeat */
	s = open_pair(p, "GET", true, &c);
	answer(s, 103, false);
	talk(&p->c, &p->s);
	h2_stream_reset(s, H2_REFUSED_STREAM);
	talk(&p->c, &p->s);
	assert_true(h2_stream_is_reset(c, &code));
	assert_int_equal(code, H2_REFUSED_STREAM);
}

/* H2-06: a complete response, then RST_STREAM(NO_ERROR), while an upload is under way. */
static void test_reset_after_response(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "POST", false, &c);
	uint32_t code = 77;

	fill(c);
	talk(&p->c, &p->s);
	answer(s, 200, false);
	assert_int_equal(h2_stream_write(s, SLICE("enough")), 0);
	assert_int_equal(h2_stream_finish(s, NULL), 0);
	h2_stream_forget(s);
	talk(&p->c, &p->s);
	assert_int_equal(h2_session_streams(p->s.session), 0);
	assert_int_equal(h2_stream_head(c)->status, 200);
	assert_text(h2_stream_readable(c), "enough");
	read_all(c);
	assert_true(h2_stream_ended(c));
	assert_true(h2_stream_is_reset(c, &code));
	assert_int_equal(code, H2_NO_ERROR);
	assert_int_equal(h2_stream_write(c, SLICE("more")), -EPIPE);
	h2_stream_forget(c);
	assert_int_equal(h2_session_streams(p->c.session), 0);
}

/* A response that is finished outlives its owner, also when windows are full. */
static void test_forgotten_response_goes_out(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "GET", true, &c);
	size_t got = 0;

	answer(s, 200, false);
	fill(s);
	talk(&p->c, &p->s);
	fill(s);
	assert_int_equal(h2_stream_finish(s, NULL), 0);
	h2_stream_forget(s);
	talk(&p->c, &p->s);
	assert_int_equal(h2_session_streams(p->s.session), 1);
	while (!h2_stream_ended(c)) {
		got += h2_stream_readable(c).n;
		read_all(c);
		talk(&p->c, &p->s);
	}
	assert_int_equal(got, 2 * LIMIT_H2_BODY);
	assert_false(h2_stream_is_reset(c, NULL));
	assert_int_equal(h2_session_streams(p->s.session), 0);
}

/* ---- forget in every state ---- */

enum step { ASKED, SENT, OPENED, HALF_REQUEST, REQUEST, HEAD, HALF_RESPONSE, RESPONSE, STEPS };

/* Takes a POST up to the step. */
static void go(struct pair *p, enum step to, struct h2_stream **c, struct h2_stream **s)
{
	*s = NULL;
	*c = ask(&p->c, "POST", false);
	if (to >= SENT)
		talk(&p->c, &p->s);
	if (to >= OPENED)
		*s = p->s.streams[p->s.opened - 1];
	if (to >= HALF_REQUEST)
		assert_int_equal(h2_stream_write(*c, SLICE("half")), 0);
	if (to >= REQUEST)
		assert_int_equal(h2_stream_finish(*c, NULL), 0);
	if (to >= HALF_REQUEST)
		talk(&p->c, &p->s);
	if (to >= HEAD)
		answer(*s, 200, false);
	if (to >= HALF_RESPONSE)
		assert_int_equal(h2_stream_write(*s, SLICE("half")), 0);
	if (to >= RESPONSE)
		assert_int_equal(h2_stream_finish(*s, NULL), 0);
	if (to >= HEAD)
		talk(&p->c, &p->s);
}

static void test_forget_everywhere(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s;
	uint32_t code = 0;

	for (enum step step = ASKED; step < STEPS; step++) {
		for (int first = 0; first < 2; first++) {
			go(p, step, &c, &s);
			if (!s)
				s = NULL;
			/* one lets go, the other hears of it or had its end, then lets go too */
			if (first == 0 || !s) {
				h2_stream_forget(c);
				talk(&p->c, &p->s);
				if (step == ASKED || step == SENT)
					s = NULL;
				else if (step < RESPONSE) {
					assert_true(h2_stream_is_reset(s, &code));
					assert_int_equal(code, H2_CANCEL);
				}
				if (step == SENT)
					s = p->s.streams[p->s.opened - 1];
				if (s)
					h2_stream_forget(s);
			} else {
				h2_stream_forget(s);
				talk(&p->c, &p->s);
				assert_int_equal(h2_stream_is_reset(c, NULL), step < RESPONSE);
				h2_stream_forget(c);
			}
			talk(&p->c, &p->s);
			assert_int_equal(h2_session_streams(p->c.session), 0);
			assert_int_equal(h2_session_streams(p->s.session), 0);
		}
	}
	/* a request that never left was never seen */
	go(p, ASKED, &c, &s);
	h2_stream_reset(c, H2_CANCEL);
	assert_true(h2_stream_is_reset(c, NULL));
	talk(&p->c, &p->s);
	h2_stream_forget(c);
	/* and both sessions may be freed in any state */
	for (enum step step = ASKED; step < STEPS; step++)
		go(p, step, &c, &s);
}

static void forget_it(struct end *e, struct h2_stream *s)
{
	(void)e;
	h2_stream_forget(s);
}

static void refuse_it(struct end *e, struct h2_stream *s)
{
	(void)e;
	answer(s, 403, true);
}

/* Letting go within the event that told of it, and not taking it at all. */
static void test_forget_within_events(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c;
	uint32_t code = 0;

	p->s.on_opened = forget_it;
	c = ask(&p->c, "POST", false);
	talk(&p->c, &p->s);
	assert_true(h2_stream_is_reset(c, &code));
	assert_int_equal(code, H2_CANCEL);
	h2_stream_forget(c);

	p->s.on_opened = NULL;
	p->s.shy = true;
	c = ask(&p->c, "GET", true);
	talk(&p->c, &p->s);
	assert_true(h2_stream_is_reset(c, &code));
	h2_stream_forget(c);

	/* a refusal, the body still coming */
	p->s.on_opened = refuse_it;
	c = ask(&p->c, "POST", false);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_head(c)->status, 403);
	assert_true(h2_stream_ended(c));
	assert_true(h2_stream_is_reset(c, &code));
	assert_int_equal(code, H2_NO_ERROR);
	assert_int_equal(h2_session_streams(p->s.session), 0);
	h2_stream_forget(c);

	p->s.shy = false;
	p->s.on_opened = NULL;
	p->s.on_changed = forget_it;
	c = ask(&p->c, "POST", false);
	talk(&p->c, &p->s);
	assert_int_equal(h2_stream_write(c, SLICE("x")), 0);
	p->c.on_changed = forget_it;
	talk(&p->c, &p->s);
	assert_int_equal(h2_session_streams(p->c.session), 0);
	assert_int_equal(h2_session_streams(p->s.session), 0);
}

/* ---- the end of a session ---- */

static void test_goaway_of_server(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c1, *c2, *s1 = open_pair(p, "GET", true, &c1);
	uint32_t code = 0;

	c2 = ask(&p->c, "POST", false); /* on its way while the server says GOAWAY */
	h2_session_goaway(p->s.session);
	assert_false(h2_session_over(p->s.session));
	assert_int_equal(pass(&p->c, &p->s, SIZE_MAX), 0);
	assert_int_equal(p->s.opened, 1);
	talk(&p->c, &p->s);
	assert_true(h2_session_goaway_heard(p->c.session, &code));
	assert_int_equal(code, H2_NO_ERROR);
	assert_true(h2_stream_is_reset(c2, &code));
	assert_int_equal(code, H2_GONE);
	assert_false(h2_session_takes(p->c.session));
	assert_int_equal(h2_session_request(p->c.session, &(struct msg){0}, true, p, &c2), -EAGAIN);
	/* the first goes on */
	assert_false(h2_stream_is_reset(c1, NULL));
	answer(s1, 200, false);
	fill(s1);
	assert_int_equal(h2_stream_finish(s1, NULL), 0);
	talk(&p->c, &p->s);
	assert_true(h2_session_over(p->s.session));
	read_all(c1);
	assert_true(h2_stream_ended(c1));
	assert_true(h2_session_over(p->c.session));
}

static void test_goaway_of_client(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "GET", true, &c);

	h2_session_goaway(p->c.session);
	assert_false(h2_session_takes(p->c.session));
	talk(&p->c, &p->s);
	assert_false(h2_session_over(p->c.session));
	answer(s, 204, true);
	talk(&p->c, &p->s);
	assert_true(h2_stream_ended(c));
	assert_true(h2_session_over(p->c.session));
	assert_true(h2_session_over(p->s.session));
}

static void test_eof(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c1, *c2, *c3, *s1 = open_pair(p, "GET", true, &c1);
	uint32_t code = 0;

	answer(s1, 200, false);
	assert_int_equal(h2_stream_write(s1, SLICE("some")), 0);
	assert_int_equal(h2_stream_finish(s1, NULL), 0);
	talk(&p->c, &p->s); /* over, not read */
	(void)open_pair(p, "GET", true, &c2);
	c3 = ask(&p->c, "GET", true);
	p->c.changed = 0;
	h2_session_eof(p->c.session);
	assert_int_equal(p->c.changed, 2);
	assert_false(h2_stream_is_reset(c1, NULL));
	assert_text(h2_stream_readable(c1), "some");
	read_all(c1);
	assert_true(h2_stream_ended(c1));
	assert_true(h2_stream_is_reset(c2, &code));
	assert_int_equal(code, H2_INTERNAL_ERROR);
	assert_true(h2_stream_is_reset(c3, &code));
	assert_int_equal(code, H2_GONE);
	assert_false(h2_session_wants_out(p->c.session));
	assert_true(h2_session_over(p->c.session));
	assert_int_equal(h2_session_feed(p->c.session, SLICE("x")), -EPROTO);
	assert_false(h2_session_takes(p->c.session));
	h2_stream_forget(c1);
	h2_stream_reset(c2, H2_CANCEL);
	h2_stream_forget(c2);
	h2_stream_forget(c3);
	h2_session_eof(p->s.session);
	h2_stream_forget(s1);
}

/* The peer's number of streams binds. */
static void test_takes(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c[LIMIT_H2_STREAMS], *s;

	assert_false(h2_session_takes(p->s.session));
	for (int i = 0; i < LIMIT_H2_STREAMS; i++) {
		assert_true(h2_session_takes(p->c.session));
		c[i] = ask(&p->c, "GET", true);
	}
	assert_false(h2_session_takes(p->c.session));
	talk(&p->c, &p->s);
	assert_int_equal(p->s.opened, LIMIT_H2_STREAMS);
	answer(p->s.streams[7], 200, true);
	talk(&p->c, &p->s);
	assert_true(h2_session_takes(p->c.session));
	h2_stream_forget(c[0]);
	p->c.forged++;
	assert_int_equal(feed_script(&p->c, "F 4 0 0 000300000005"), 0);
	assert_false(h2_session_takes(p->c.session));
	for (int i = 1; i < LIMIT_H2_STREAMS - 4; i++)
		h2_stream_forget(c[i]);
	talk(&p->c, &p->s);
	assert_true(h2_session_takes(p->c.session));
	/* half of the session's window in buffers */
	for (int i = 0; i < 4; i++) {
		s = p->s.streams[LIMIT_H2_STREAMS - 1 - i];
		answer(s, 200, false);
		fill(s);
	}
	talk(&p->c, &p->s);
	assert_true(h2_session_takes(p->c.session));
	p->c.forged++;
	assert_int_equal(feed_script(&p->c, "F 4 0 0 000300000064"), 0);
	for (int i = 0; i < 4; i++) {
		s = open_pair(p, "GET", true, &c[i]);
		answer(s, 200, false);
		fill(s);
	}
	talk(&p->c, &p->s);
	assert_false(h2_session_takes(p->c.session));
	read_all(c[0]);
	assert_true(h2_session_takes(p->c.session));
}

/* Memory that is empty is given back, and taken again. */
static void test_relax(void **state)
{
	struct pair *p = *state;
	struct h2_stream *c, *s = open_pair(p, "POST", false, &c);

	for (int i = 0; i < 3; i++) {
		fill(c);
		talk(&p->c, &p->s);
		read_all(s);
		talk(&p->c, &p->s);
		h2_session_relax(p->c.session);
		h2_session_relax(p->s.session);
	}
	assert_int_equal(h2_stream_write(c, SLICE("x")), 0);
	h2_session_relax(p->c.session);
	talk(&p->c, &p->s);
	h2_session_relax(p->s.session);
	assert_text(h2_stream_readable(s), "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_get, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trailers_both_ways, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trailers_without_body, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trailers_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interim_heads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_interims, setup, teardown),
		cmocka_unit_test_setup_teardown(test_head_has_no_body, setup, teardown),
		cmocka_unit_test_setup_teardown(test_back_pressure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_session_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_of_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_little_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cookie_crumbs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_authority, setup, teardown),
		cmocka_unit_test_setup_teardown(test_secret, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unsendable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_codes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_after_response, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgotten_response_goes_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget_everywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget_within_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_goaway_of_server, setup, teardown),
		cmocka_unit_test_setup_teardown(test_goaway_of_client, setup, teardown),
		cmocka_unit_test_setup_teardown(test_eof, setup, teardown),
		cmocka_unit_test_setup_teardown(test_takes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_relax, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
