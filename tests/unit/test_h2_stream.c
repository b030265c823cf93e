/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_stream.c – requests and responses between two sessions of ours, and what their owners see
 * and may do at each moment.
 */
#include <errno.h>

#include "h2_pair.h"

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

/* The same for uploads: each stream's window, and none waits until another is read. */
static void test_session_window(void **state)
{
	enum { N = LIMIT_H2_STREAMS };
	struct pair *p = *state;
	struct h2_stream *c[N], *s[N];

	for (int i = 0; i < N; i++) {
		s[i] = open_pair(p, "POST", false, &c[i]);
		fill(c[i]);
		talk(&p->c, &p->s);
		assert_int_equal(h2_stream_readable(s[i]).n, LIMIT_H2_BODY);
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
		cmocka_unit_test_setup_teardown(test_reset_codes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_after_response, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgotten_response_goes_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget_everywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget_within_events, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
