/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_session.c – a session against bytes that no library would send: malformed input from
 * tables (every row whole and byte by byte), windows, numbers of streams; what it says itself; and
 * how sessions end.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "h2_malformed_rows.h"
#include "h2_pair.h"
#include "http/h2_internal.h"

/* ---- malformed input ---- */

static unsigned wrong; /* all rows are looked at before the test fails */

#define WRONG(...) (print_error(__VA_ARGS__), print_error("\n"), wrong++)

/* What a stream that must not be delivered may show: nothing that is complete. */
static void check_not_delivered(struct h2_stream *s, const char *name)
{
	if (h2_stream_ended(s))
		WRONG("%s: a message was delivered", name);
}

static void check_answer(
	const struct malformed *row, int r, struct end *e, const struct buf *out, uint32_t id)
{
	int64_t reset = reset_in(out, id), goaway = goaway_in(out);

	if (row->answer == STREAM) {
		if (r != 0 || goaway != NONE || reset != (int64_t)row->code)
			WRONG("%s: feed %d, RST_STREAM %d, GOAWAY %d, not RST_STREAM %u", row->name,
				r, (int)reset, (int)goaway, row->code);
		return;
	}
	if (r != -EPROTO || goaway != (int64_t)row->code)
		WRONG("%s: feed %d, RST_STREAM %d, GOAWAY %d, not GOAWAY %u", row->name, r,
			(int)reset, (int)goaway, row->code);
	if (r != -EPROTO)
		return;
	if (h2_session_code(e->session) != row->code)
		WRONG("%s: code %u", row->name, h2_session_code(e->session));
	assert_true(h2_session_over(e->session));
	assert_int_equal(h2_session_feed(e->session, SLICE("x")), -EPROTO);
}

static int feed_cut(struct end *e, struct slice in, size_t cut)
{
	int r = 0;

	for (; in.n && r == 0; in = slice_skip(in, cut))
		r = h2_session_feed(e->session, slice_first(in, cut));
	return r;
}

static void check_request(const struct malformed *row, bool bytewise)
{
	struct buf in, out;
	struct end e;
	int r;

	end_init(&e, H2_SERVER);
	buf_init(&in, 1 << 20);
	buf_init(&out, 1 << 20);
	if (row->answer != WHOLE)
		script_write(&in, "P\n" SETTINGS);
	script_write(&in, row->script);
	r = feed_cut(&e, buf_slice(&in), bytewise ? 1 : SIZE_MAX);
	pull_all(&e, &out);
	check_answer(row, r, &e, &out, 1);
	if (bytewise ? e.opened != row->opened : e.opened > row->opened)
		WRONG("%s: %u requests were shown", row->name, e.opened);
	for (unsigned i = 0; i < e.opened; i++)
		if (row->answer == STREAM || strstr(row->script, "H 1 . "))
			check_not_delivered(e.streams[i], row->name);
	if (row->answer == STREAM) { /* the session, and HPACK's tables, go on */
		unsigned before = e.opened;

		if (feed_script(&e, "H 101 e " RQ) != 0 || e.opened != before + 1)
			WRONG("%s: the session does not go on", row->name);
	}
	buf_done(&in);
	buf_done(&out);
	end_done(&e);
}

static void test_malformed_requests(void **state)
{
	(void)state;
	wrong = 0;
	for (size_t i = 0; i < ARRAY_SIZE(malformed_requests); i++) {
		check_request(&malformed_requests[i], false);
		check_request(&malformed_requests[i], true);
	}
	print_message("%zu rows\n", ARRAY_SIZE(malformed_requests));
	assert_int_equal(wrong, 0);
}

static void check_response(const struct malformed *row, bool bytewise)
{
	struct h2_stream *get, *post;
	struct buf in, out;
	uint32_t code = 0;
	struct end e;
	int r;

	end_init(&e, H2_CLIENT);
	buf_init(&in, 1 << 20);
	buf_init(&out, 1 << 20);
	get = ask(&e, "GET", true);
	post = ask(&e, "POST", false);
	pull_all(&e, &out);
	script_write(&in, SETTINGS);
	script_write(&in, row->script);
	r = feed_cut(&e, buf_slice(&in), bytewise ? 1 : SIZE_MAX);
	pull_all(&e, &out);
	check_answer(row, r, &e, &out, 1);
	check_not_delivered(get, row->name);
	if (!h2_stream_is_reset(get, &code) || code != row->code)
		WRONG("%s: the owner hears %u", row->name, code);
	if (row->answer == STREAM) {
		assert_false(h2_stream_is_reset(post, NULL));
		assert_int_equal(feed_script(&e, "H 3 e :status=204"), 0);
		assert_int_equal(h2_stream_head(post)->status, 204);
		assert_true(h2_stream_ended(post));
	} else {
		if (!h2_stream_is_reset(post, &code) || code != row->code)
			WRONG("%s: the other owner hears %u", row->name, code);
	}
	buf_done(&in);
	buf_done(&out);
	end_done(&e);
}

static void test_malformed_responses(void **state)
{
	(void)state;
	wrong = 0;
	for (size_t i = 0; i < ARRAY_SIZE(malformed_responses); i++) {
		check_response(&malformed_responses[i], false);
		check_response(&malformed_responses[i], true);
	}
	print_message("%zu rows\n", ARRAY_SIZE(malformed_responses));
	assert_int_equal(wrong, 0);
}

/* ---- windows and streams ---- */

static int data_of(struct end *e, uint32_t id, size_t n)
{
	static const uint8_t zeros[16384];
	struct buf b;
	int r;

	buf_init(&b, 1 << 20);
	for (; n; n -= n < sizeof(zeros) ? n : sizeof(zeros))
		script_frame(&b, 0, 0, id, zeros, n < sizeof(zeros) ? n : sizeof(zeros));
	r = h2_session_feed(e->session, buf_slice(&b));
	buf_done(&b);
	return r;
}

static void test_window_overflow(void **state)
{
	struct buf out;
	struct end e;

	(void)state;
	server_init(&e);
	assert_int_equal(feed_script(&e, "H 1 . " RQ "\nH 3 . " RQ), 0);
	assert_int_equal(data_of(&e, 1, LIMIT_H2_BODY), 0);
	assert_int_equal(h2_stream_readable(e.streams[0]).n, LIMIT_H2_BODY);
	assert_int_equal(data_of(&e, 1, 1), 0);
	buf_init(&out, 1 << 20);
	pull_all(&e, &out);
	assert_int_equal(reset_in(&out, 1), H2_FLOW_CONTROL_ERROR);
	assert_int_equal(goaway_in(&out), NONE);
	buf_done(&out);
	assert_int_equal(h2_stream_readable(e.streams[0]).n, LIMIT_H2_BODY);
	assert_int_equal(data_of(&e, 3, LIMIT_H2_BODY), 0);
	end_done(&e);
}

/* H2-09: a body of 1-byte frames costs what it holds, and the stream's window at most. */
static void test_small_frames(void **state)
{
	struct end e;
	size_t n = 0;

	(void)state;
	server_init(&e);
	assert_int_equal(feed_script(&e, "H 1 . " RQ), 0);
	while (feed_script(&e, "D 1 . xxxxx") == 0 && n < 100000) {
		n += 5;
		e.now += 1;
	}
	/* five bytes are no flood, but no more than the window comes */
	assert_int_equal(h2_session_code(e.session), H2_NO_ERROR);
	assert_true(h2_stream_readable(e.streams[0]).n <= LIMIT_H2_BODY);
	assert_true(h2_stream_is_reset(e.streams[0], NULL));
	end_done(&e);
}

/* H2-09: streams with no window: what they hold to send is bounded. */
static void test_zero_windows(void **state)
{
	static const uint8_t zeros[LIMIT_H2_BODY];
	struct msg m;
	struct end e;
	char text[128];

	(void)state;
	end_init(&e, H2_SERVER);
	assert_int_equal(feed_script(&e, "P\nF 4 0 0 000400000000\nF 4 1 0 "), 0);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(text, sizeof(text), "H %d e " RQ, 2 * i + 1);
		if (feed_script(&e, text) < 0)
			break;
		if (e.opened <= (unsigned)i)
			continue;
		assert_int_equal(h2_stream_respond(e.streams[i], msg_response(&m, 200), false), 0);
		assert_int_equal(h2_stream_write(e.streams[i],
					 slice_of(zeros, h2_stream_room(e.streams[i]))),
			0);
	}
	assert_int_equal(e.opened, LIMIT_H2_STREAMS);
	assert_int_equal(
		h2_session_code(e.session), H2_PROTOCOL_ERROR); /* the 101st: section 5.1.2 */
	assert_true(e.session->library_bytes < 1 << 20);
	end_done(&e);
}

/* Before SETTINGS are acknowledged the 101st stream may be an honest mistake. */
static void test_too_many_streams_early(void **state)
{
	struct buf out;
	struct end e;
	char text[128];

	(void)state;
	end_init(&e, H2_SERVER);
	assert_int_equal(feed_script(&e, "P\n" SETTINGS), 0);
	for (int i = 0; i < LIMIT_H2_STREAMS + 1; i++) {
		(void)snprintf(text, sizeof(text), "H %d e " RQ, 2 * i + 1);
		assert_int_equal(feed_script(&e, text), 0);
	}
	assert_int_equal(e.opened, LIMIT_H2_STREAMS);
	buf_init(&out, 1 << 20);
	pull_all(&e, &out);
	assert_int_equal(reset_in(&out, 2 * LIMIT_H2_STREAMS + 1), H2_REFUSED_STREAM);
	buf_done(&out);
	end_done(&e);
}

/* What nobody reads gives its room back to the session: in flight to a stream that was let go. */
static void test_data_of_the_forgotten(void **state)
{
	struct buf out;
	struct msg m;
	struct end e;

	(void)state;
	server_init(&e);
	assert_int_equal(feed_script(&e, "H 1 . " RQ "\nH 3 . " RQ), 0);
	/* closed at once; and lingering: a finished response that has no window to go out */
	h2_stream_forget(e.streams[0]);
	assert_int_equal(drain(&e), NONE);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(data_of(&e, 1, 65536), 0);
		assert_int_equal(drain(&e), NONE);
	}
	assert_int_equal(feed_script(&e, "F 4 0 0 000400000000"), 0);
	assert_int_equal(h2_stream_respond(e.streams[1], msg_response(&m, 200), false), 0);
	assert_int_equal(h2_stream_write(e.streams[1], SLICE("late")), 0);
	assert_int_equal(h2_stream_finish(e.streams[1], NULL), 0);
	h2_stream_forget(e.streams[1]);
	assert_int_equal(drain(&e), NONE);
	assert_int_equal(h2_session_streams(e.session), 1);
	assert_int_equal(data_of(&e, 3, 65536), 0);
	buf_init(&out, 65536);
	pull_all(&e, &out);
	assert_int_equal(data_in(&out, 3), 0);
	assert_int_equal(e.session->buffered, 0);
	assert_int_equal(feed_script(&e, "F 8 0 3 00001000"), 0);
	pull_all(&e, &out);
	assert_int_equal(data_in(&out, 3), 4);
	assert_int_equal(reset_in(&out, 3), H2_NO_ERROR);
	assert_int_equal(h2_session_streams(e.session), 0);
	buf_done(&out);
	end_done(&e);
}

/* Opened and reset within one feed(): nobody was troubled. */
static void test_reset_unseen(void **state)
{
	struct end e;

	(void)state;
	server_init(&e);
	assert_int_equal(feed_script(&e, "H 1 . " RQ "\nF 3 0 1 00000008\nH 3 e " RQ), 0);
	assert_int_equal(e.opened, 1);
	assert_int_equal(h2_stream_id(e.streams[0]), 3);
	assert_int_equal(h2_session_streams(e.session), 1);
	end_done(&e);
}

/* ---- what is said, and what is passed over ---- */

static uint32_t setting_in(const struct buf *b, uint16_t id)
{
	struct slice rest = buf_slice(b);
	struct frame f = {0};

	assert_true(next_frame(&rest, &f));
	assert_int_equal(f.type, 4);
	for (size_t i = 0; i + 6 <= f.payload.n; i += 6)
		if ((f.payload.p[i] << 8 | f.payload.p[i + 1]) == id)
			return be32(f.payload.p + i + 2);
	return UINT32_MAX;
}

static void test_what_is_said(void **state)
{
	struct buf out;
	struct end e;

	(void)state;
	buf_init(&out, 65536);
	end_init(&e, H2_SERVER);
	assert_true(h2_session_wants_out(e.session));
	pull_all(&e, &out);
	assert_int_equal(setting_in(&out, 3), LIMIT_H2_STREAMS);
	assert_int_equal(setting_in(&out, 4), LIMIT_H2_BODY);
	assert_int_equal(setting_in(&out, 6), LIMIT_HEAD);
	assert_int_equal(setting_in(&out, 8), UINT32_MAX); /* no extended CONNECT */
	assert_int_equal(frames_in(&out, 8), 1);
	assert_false(h2_session_wants_out(e.session));
	end_done(&e);
	buf_consume(&out, buf_used(&out));

	end_init(&e, H2_CLIENT);
	pull_all(&e, &out);
	assert_memory_equal(buf_slice(&out).p, H2_PREFACE, 24);
	assert_int_equal(setting_in(&out, 2), 0); /* no push */
	assert_int_equal(setting_in(&out, 4), LIMIT_H2_BODY);
	end_done(&e);
	buf_done(&out);

	{
		static const struct h2_events none, no_opened = {NULL, end_changed, end_now};

		assert_int_equal(h2_session_new(H2_SERVER, &none, NULL, &e.session), -EINVAL);
		assert_int_equal(h2_session_new(H2_SERVER, &no_opened, &e, &e.session), -EINVAL);
		assert_int_equal(h2_session_new(H2_CLIENT, &no_opened, &e, &e.session), 0);
		end_done(&e);
	}
}

/* Frames that mean nothing to us change nothing. */
static void test_passed_over(void **state)
{
	struct end e;

	(void)state;
	server_init(&e);
	assert_int_equal(feed_script(&e, "F bb ff 0 0011\nF a 0 0 0003616263\nF c 0 0 0000\n"
					 "F 10 0 0 00000001753d30\nF 2 0 9 0000000010\n"
					 "F 2 0 9 0000000910\nF 4 0 0 00ff00000001\n"
					 "H 9 e " RQ "|priority=u%3d0\nF 2 0 9 8000000110"),
		0);
	assert_int_equal(e.opened, 1);
	assert_field(h2_stream_head(e.streams[0]), "priority", "u=0");
	assert_int_equal(drain(&e), NONE);
	end_done(&e);

	end_init(&e, H2_CLIENT);
	(void)ask(&e, "GET", true);
	(void)drain(&e);
	assert_int_equal(
		feed_script(&e, SETTINGS
			"F a 0 1 0000\nF a 0 0 0001611234\nF bb 0 1 00\nF 2 0 1 0000000010\n"
			"H 1 e :status=200|alt-svc=h3"),
		0);
	assert_int_equal(drain(&e), NONE);
	end_done(&e);
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
	struct h2_stream *c[LIMIT_H2_STREAMS];

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
		cmocka_unit_test(test_malformed_requests),
		cmocka_unit_test(test_malformed_responses),
		cmocka_unit_test(test_window_overflow),
		cmocka_unit_test(test_small_frames),
		cmocka_unit_test(test_zero_windows),
		cmocka_unit_test(test_too_many_streams_early),
		cmocka_unit_test(test_data_of_the_forgotten),
		cmocka_unit_test(test_reset_unseen),
		cmocka_unit_test(test_what_is_said),
		cmocka_unit_test(test_passed_over),
		cmocka_unit_test_setup_teardown(test_goaway_of_server, setup, teardown),
		cmocka_unit_test_setup_teardown(test_goaway_of_client, setup, teardown),
		cmocka_unit_test_setup_teardown(test_eof, setup, teardown),
		cmocka_unit_test_setup_teardown(test_takes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_relax, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
