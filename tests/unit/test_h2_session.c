/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_session.c – a session against bytes that no library would send: malformed input from
 * tables (every row whole and byte by byte), floods, bounds.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "h2_malformed_rows.h"
#include "h2_rig.h"
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

/* ---- floods ---- */

static void server_init(struct end *e)
{
	end_init(e, H2_SERVER);
	assert_int_equal(feed_script(e, "P\n" SETTINGS "F 4 1 0 "), 0);
}

/* Reads and drops what the session says; the code of its GOAWAY, NONE. */
static int64_t drain(struct end *e)
{
	struct buf out;
	int64_t code;

	buf_init(&out, 1 << 22);
	pull_all(e, &out);
	code = goaway_in(&out);
	buf_done(&out);
	return code;
}

/* Pulls once, whatever comes of it. */
static int drain_any(struct end *e)
{
	struct buf out;
	int r;

	buf_init(&out, 65536);
	r = h2_session_pull(e->session, &out);
	buf_done(&out);
	return r;
}

/*
 * The script, over and over, each time with the next stream's number for "@". How often it was
 * borne before GOAWAY(ENHANCE_YOUR_CALM); at most `most` times.
 */
static unsigned endure(struct end *e, const char *script, unsigned most, bool read)
{
	struct slice s = slice_str(script);
	char text[512];

	for (unsigned i = 0; i < most; i++) {
		size_t at = slice_find(s, '@');
		int r;

		if (at < s.n) {
			struct slice rest = slice_skip(s, at + 1);
			size_t again = slice_find(rest, '@');

			(void)snprintf(text, sizeof(text), "%.*s%u%.*s", (int)at, script, i * 2 + 1,
				SLICE_ARG(slice_first(rest, again)));
			if (again < rest.n)
				(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
					"%u%.*s", i * 2 + 1,
					SLICE_ARG(slice_skip(rest, again + 1)));
		} else {
			(void)snprintf(text, sizeof(text), "%s", script);
		}
		r = feed_script(e, text);
		if (r < 0) {
			assert_int_equal(r, -EPROTO);
			assert_int_equal(h2_session_code(e->session), H2_ENHANCE_YOUR_CALM);
			assert_int_equal(drain(e), H2_ENHANCE_YOUR_CALM);
			assert_true(h2_session_over(e->session));
			return i;
		}
		if (read)
			assert_int_equal(drain(e), NONE);
	}
	return most;
}

/* A server's owner that lets go of what is reset. */
static void let_go(struct end *e, struct h2_stream *s)
{
	(void)e;
	if (h2_stream_is_reset(s, NULL))
		h2_stream_forget(s);
}

static const struct {
	const char *name, *before, *script;
	unsigned most; /* it must not bear more of them */
} floods[] = {
	{"rapid reset", "", "H @ e " RQ "\nF 3 0 @ 00000008", 500},
	{"requests made malformed", "", "H @ e " RQ "|X=y", 500},
	{"resets that it makes us send", "", "H @ e " RQ "\nF 8 0 @ 7fffffff", 500},
	{"settings", "", "F 4 0 0 000100001000", 1001},
	{"empty settings", "", "F 4 0 0 ", 1001},
	{"pings", "", "F 6 0 0 0000000000000000", 2001},
	{"answers to pings that nobody sent", "", "F 6 1 0 0000000000000000", 2001},
	{"priorities", "", "F 2 0 1 0000000010", 4001},
	{"unknown frames", "", "F bb 0 0 00", 4001},
	{"alternative services", "", "F a 0 0 0000", 4001},
	{"windows opened by 1", "", "F 8 0 0 00000001", 4001},
	{"a stream's window opened by 1", "H 1 . " RQ, "F 8 0 1 00000001", 4001},
	{"empty DATA", "H 1 . " RQ, "D 1 . ", 4001},
	{"DATA of one byte", "H 1 . " RQ, "D 1 . x", 4001},
	{"DATA of padding", "H 1 . " RQ, "F 0 8 1 08 61 0000000000000000", 4001},
	{"DATA of a stream that is gone", "H 1 . " RQ "\nF 3 0 1 00000008", "D 1 . x", 4001},
	{"trailers of a stream that is gone", "H 1 . " RQ "\nF 3 0 1 00000008", "H 1 e x=y", 4001},
};

static void test_floods(void **state)
{
	struct end e;
	unsigned borne;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(floods); i++) {
		server_init(&e);
		e.on_changed = let_go;
		assert_int_equal(feed_script(&e, floods[i].before), 0);
		borne = endure(&e, floods[i].script, 10000, true);
		if (borne > floods[i].most)
			fail_msg("%s: %u were borne", floods[i].name, borne);
		if (borne < 100)
			fail_msg("%s: only %u were borne", floods[i].name, borne);
		end_done(&e);
	}
}

/* The same from an origin. */
static void test_floods_from_server(void **state)
{
	static const char *const scripts[] = {
		"F 4 0 0 ",
		"F 6 0 0 0000000000000000",
		"F bb 0 1 00",
		"D 1 . ",
		"D 1 . x",
		"F 8 0 0 00000001",
		"H 1 . :status=103",
		"F 7 0 0 7fffffff00000000",
	};
	struct h2_stream *s;
	struct end e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		end_init(&e, H2_CLIENT);
		s = ask(&e, "GET", true);
		(void)drain(&e);
		assert_int_equal(feed_script(&e, SETTINGS), 0);
		if (scripts[i][0] == 'D')
			assert_int_equal(feed_script(&e, "H 1 . :status=200"), 0);
		for (unsigned n = 0; n < 10000; n++) {
			int r = feed_script(&e, scripts[i]);

			if (r < 0)
				break;
			h2_stream_consume(s, h2_stream_readable(s).n);
			if (h2_stream_head(s))
				h2_stream_head_take(s);
			assert_int_equal(drain(&e), NONE);
			assert_true(n < 4001);
		}
		assert_int_equal(h2_session_code(e.session), H2_ENHANCE_YOUR_CALM);
		assert_true(h2_stream_is_reset(s, NULL));
		end_done(&e);
	}
}

/* A peer that asks for answers and reads none: the answers that wait are few. */
static void test_answers_wait(void **state)
{
	struct end e;

	(void)state;
	server_init(&e);
	(void)endure(&e, "F 6 0 0 0000000000000000", 100000, false);
	assert_int_equal(h2_session_code(e.session), H2_ENHANCE_YOUR_CALM);
	end_done(&e);
	server_init(&e);
	(void)endure(&e, SETTINGS, 100000, false);
	assert_int_equal(h2_session_code(e.session), H2_ENHANCE_YOUR_CALM);
	end_done(&e);

	/* slowly, so that it is no flood: what waits is bounded all the same */
	server_init(&e);
	for (int i = 0; i < 100000 && h2_session_code(e.session) == H2_NO_ERROR; i++) {
		e.now += 20;
		(void)feed_script(&e, "F 6 0 0 0000000000000000");
	}
	assert_int_equal(h2_session_code(e.session), H2_ENHANCE_YOUR_CALM);
	assert_true(buf_used(&e.session->control) <= LIMIT_TX);
	assert_int_equal(drain(&e), H2_ENHANCE_YOUR_CALM);
	assert_true(h2_session_over(e.session));
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

/* What peers that work do for hours, or at every round trip, is borne. */
static void test_what_is_borne(void **state)
{
	struct h2_stream *s;
	struct end e;

	(void)state;
	server_init(&e);
	for (int i = 0; i < 20000; i++) { /* a silent connection, kept alive: 55 hours */
		e.now += 10000;
		assert_int_equal(feed_script(&e, "F 6 0 0 0000000000000000"), 0);
		assert_int_equal(drain(&e), NONE);
	}
	for (int i = 0; i < 10000; i++) { /* cancels 10 a second for long */
		char text[128];

		e.on_changed = let_go;
		e.now += 100;
		(void)snprintf(text, sizeof(text), "H %d e " RQ, 2 * i + 1);
		assert_int_equal(feed_script(&e, text), 0);
		(void)snprintf(text, sizeof(text), "F 3 0 %d 00000008", 2 * i + 1);
		assert_int_equal(feed_script(&e, text), 0);
		assert_int_equal(drain(&e), NONE);
	}
	assert_int_equal(h2_session_streams(e.session), 0);
	e.opened = 0;
	assert_int_equal(feed_script(&e, "H 30001 e " RQ), 0);
	s = e.streams[0];
	{
		struct msg m;

		assert_int_equal(h2_stream_respond(s, msg_response(&m, 200), false), 0);
	}
	for (int i = 0; i < 20000; i++) { /* a ping, and windows by pieces, for each DATA frame */
		assert_int_equal(h2_stream_write(s, SLICE("0123456789")), 0);
		assert_int_equal(drain(&e), NONE);
		assert_int_equal(feed_script(&e, "F 6 0 0 0000000000000000\nF 8 0 0 0000000a\n"
						 "F 8 0 30001 0000000a"),
			0);
	}
	end_done(&e);
}

static int many_continuations(struct end *e, unsigned n, const char *fields)
{
	int r = feed_script(e, "H 1 e- " RQ);
	char text[256];

	(void)snprintf(text, sizeof(text), "C 1 - %s", fields);
	for (unsigned i = 0; i < n && r == 0; i++) {
		assert_true(h2_session_in_head(e->session));
		r = feed_script(e, text);
	}
	return r;
}

static void test_continuation_flood(void **state)
{
	struct end e;

	(void)state;
	server_init(&e);
	assert_false(h2_session_in_head(e.session));
	assert_int_equal(many_continuations(&e, LIMIT_H2_CONTINUATIONS, "x=y"), 0);
	assert_int_equal(e.opened, 0);
	assert_int_equal(feed_script(&e, "C 1 - x=y"), -EPROTO);
	assert_int_equal(drain(&e), H2_ENHANCE_YOUR_CALM);
	assert_int_equal(e.opened, 0);
	end_done(&e);

	server_init(&e);
	assert_int_equal(many_continuations(&e, 100000, ""), -EPROTO);
	assert_int_equal(drain(&e), H2_ENHANCE_YOUR_CALM);
	end_done(&e);

	/* few are a head like any other */
	server_init(&e);
	assert_int_equal(many_continuations(&e, 10, "x=y"), 0);
	assert_int_equal(feed_script(&e, "C 1 . x=z"), 0);
	assert_false(h2_session_in_head(e.session));
	assert_int_equal(e.opened, 1);
	assert_int_equal(h2_stream_head(e.streams[0])->nfields, 11);
	end_done(&e);

	/* a field block that is slow to come is a head that a deadline is for */
	server_init(&e);
	assert_int_equal(h2_session_feed(e.session, SLICE("\0\0\x20\1\5\0\0\0")), 0);
	assert_false(h2_session_in_head(e.session));
	assert_int_equal(h2_session_feed(e.session, SLICE("\1")), 0);
	assert_true(h2_session_in_head(e.session));
	end_done(&e);
}

/* A head in frames of 16 KiB, of `n` fields with `size` bytes each. */
static int large_head(struct end *e, uint32_t id, unsigned n, size_t size)
{
	struct buf block, frames;
	struct slice rest;
	char *value = malloc(size);
	int r;

	memset(value, 'v', size);
	buf_init(&block, 1 << 22);
	buf_init(&frames, 1 << 22);
	script_fields(&block, slice_str(RQ));
	for (unsigned i = 0; i < n; i++)
		script_field(&block, SLICE("name"), slice_of(value, size));
	rest = buf_slice(&block);
	for (uint8_t type = 1; rest.n; type = 9) {
		struct slice piece = slice_first(rest, 16384);

		rest = slice_skip(rest, piece.n);
		script_frame(&frames, type, (uint8_t)((type == 1) | (rest.n ? 0 : 4)), id, piece.p,
			piece.n);
	}
	r = h2_session_feed(e->session, buf_slice(&frames));
	buf_done(&block);
	buf_done(&frames);
	free(value);
	return r;
}

static void check_calmed(struct end *e, uint32_t id)
{
	struct buf out;

	buf_init(&out, 1 << 22);
	pull_all(e, &out);
	assert_int_equal(reset_in(&out, id), H2_ENHANCE_YOUR_CALM);
	assert_int_equal(goaway_in(&out), NONE);
	buf_done(&out);
}

static void test_large_heads(void **state)
{
	struct end e;
	unsigned overhead = 4 * 32 + 7 + 3 + 7 + 5 + 5 + 1 + 10 + 6;

	(void)state;
	server_init(&e);
	/* to the byte: 65536 as MAX_HEADER_LIST_SIZE counts */
	assert_int_equal(large_head(&e, 1, 1, LIMIT_HEAD - overhead - 36), 0);
	assert_int_equal(e.opened, 1);
	assert_int_equal(
		h2_stream_head(e.streams[0])->fields[0].value.n, LIMIT_HEAD - overhead - 36);
	assert_int_equal(large_head(&e, 3, 1, LIMIT_HEAD - overhead - 35), 0);
	check_calmed(&e, 3);
	assert_int_equal(large_head(&e, 5, LIMIT_FIELDS, 1), 0);
	assert_int_equal(e.opened, 2);
	assert_int_equal(h2_stream_head(e.streams[1])->nfields, LIMIT_FIELDS);
	assert_int_equal(large_head(&e, 7, LIMIT_FIELDS + 1, 1), 0);
	check_calmed(&e, 7);
	assert_int_equal(large_head(&e, 9, 20, 10000), 0);
	check_calmed(&e, 9);
	assert_int_equal(e.opened, 2);
	assert_int_equal(feed_script(&e, "H 11 e " RQ), 0);
	assert_int_equal(e.opened, 3);
	end_done(&e);
}

/* HPACK bomb: an entry of 4 KiB in the table, thousands of references of one byte. */
static void test_header_bomb(void **state)
{
	struct buf frame;
	struct end e;
	char *value = malloc(4000);

	(void)state;
	memset(value, 'b', 4000);
	server_init(&e);
	buf_init(&frame, 1 << 20);
	script_fields(&frame, slice_str(RQ));
	script_bytes(&frame, "\x40", 1); /* literal with indexing */
	script_string(&frame, SLICE("bomb"));
	script_string(&frame, slice_of(value, 4000));
	for (int i = 0; i < 12000; i++)
		script_bytes(&frame, "\xbe", 1); /* 62, the newest entry */
	{
		struct buf whole;

		buf_init(&whole, 1 << 20);
		script_frame(&whole, 1, 5, 1, buf_slice(&frame).p, buf_used(&frame));
		assert_int_equal(h2_session_feed(e.session, buf_slice(&whole)), 0);
		buf_done(&whole);
	}
	check_calmed(&e, 1);
	assert_int_equal(e.opened, 0);
	assert_true(e.session->draft.text.cap <= LIMIT_HEAD);
	assert_true(e.session->library_bytes < 256 << 10);
	assert_int_equal(feed_script(&e, "H 3 e " RQ), 0);
	assert_int_equal(e.opened, 1);
	buf_done(&frame);
	free(value);
	end_done(&e);
}

/* ---- windows ---- */

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
	char text[128];
	int r = 0;

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
	/* the session's: 16 streams full are all */
	for (int i = 2; i < 17 && r == 0; i++) {
		(void)snprintf(text, sizeof(text), "H %d . " RQ, 2 * i + 1);
		assert_int_equal(feed_script(&e, text), 0);
		r = data_of(&e, (uint32_t)(2 * i + 1), LIMIT_H2_BODY);
	}
	assert_int_equal(r, -EPROTO);
	assert_int_equal(drain(&e), H2_FLOW_CONTROL_ERROR);
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

/*
 * No memory for the library, at each of its allocations in turn: the session is over, and what the
 * library then makes of its own memory harms nobody (nghttp2 1.52 frees a frame twice).
 */
static void test_no_memory(void **state)
{
	bool spared = false;

	(void)state;
	for (unsigned left = 0; !spared; left++) {
		struct h2_stream *s = NULL;
		struct buf out;
		struct msg m;
		struct end e;
		int r;

		server_init(&e);
		e.session->library_left = left;
		r = feed_script(&e, "H 1 . " RQ "|x=y\nD 1 . abc\nF 6 0 0 0000000000000000");
		assert_true(r == 0 || r == -ENOMEM);
		if (e.opened) {
			s = e.streams[0];
			if (h2_stream_respond(s, msg_response(&m, 200), false) == 0 &&
				h2_stream_write(s, SLICE("x")) == 0)
				(void)h2_stream_finish(s, NULL);
			h2_stream_forget(s);
		}
		buf_init(&out, 65536);
		r = h2_session_pull(e.session, &out);
		spared = !e.session->lost;
		e.session->library_left = 1000;
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(h2_session_over(e.session), !spared);
		assert_int_equal(h2_session_feed(e.session, SLICE("\0\0\0\4\0\0\0\0\0")),
			spared ? 0 : -EPROTO);
		buf_done(&out);
		end_done(&e);
		assert_true(left < 1000);
	}
	for (unsigned left = 0;; left++) {
		struct end e;
		struct h2_stream *s;
		struct msg m;

		end_init(&e, H2_CLIENT);
		e.session->library_left = left;
		if (h2_session_request(e.session, msg_request(&m, "GET"), true, &e, &s) == 0)
			(void)drain_any(&e);
		spared = !e.session->lost;
		end_done(&e);
		if (spared)
			break;
	}
}

/* More memory of the library than a session may have: it fails, the peer is told. */
static void test_library_limit(void **state)
{
	struct end e;

	(void)state;
	server_init(&e);
	e.session->library_bytes += LIMIT_H2_LIBRARY;
	assert_int_equal(feed_script(&e, "H 1 . " RQ), -EPROTO);
	assert_int_equal(drain(&e), H2_ENHANCE_YOUR_CALM);
	e.session->library_bytes -= LIMIT_H2_LIBRARY;
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

/* Neither side of a session that does much grows. */
static void test_no_growth(void **state)
{
	size_t library = 0;
	struct end e;
	struct msg m;
	char text[128];

	(void)state;
	server_init(&e);
	for (int i = 0; i < 20000; i++) {
		e.opened = 0;
		(void)snprintf(text, sizeof(text), "H %d e " RQ "\nF 8 0 0 00000005", 2 * i + 1);
		assert_int_equal(feed_script(&e, text), 0);
		assert_int_equal(e.opened, 1);
		assert_int_equal(h2_stream_respond(e.streams[0], msg_response(&m, 200), false), 0);
		assert_int_equal(h2_stream_write(e.streams[0], SLICE("hello")), 0);
		assert_int_equal(h2_stream_finish(e.streams[0], NULL), 0);
		h2_stream_forget(e.streams[0]);
		assert_int_equal(drain(&e), NONE);
		assert_int_equal(h2_session_streams(e.session), 0);
		assert_null(e.session->streams);
		if (i == 100)
			library = e.session->library_bytes;
	}
	assert_true(e.session->library_bytes <= library);
	print_message("the library keeps %zu bytes of a session\n", library);
	end_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed_requests),
		cmocka_unit_test(test_malformed_responses),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_floods_from_server),
		cmocka_unit_test(test_answers_wait),
		cmocka_unit_test(test_reset_unseen),
		cmocka_unit_test(test_what_is_borne),
		cmocka_unit_test(test_continuation_flood),
		cmocka_unit_test(test_large_heads),
		cmocka_unit_test(test_header_bomb),
		cmocka_unit_test(test_window_overflow),
		cmocka_unit_test(test_small_frames),
		cmocka_unit_test(test_zero_windows),
		cmocka_unit_test(test_too_many_streams_early),
		cmocka_unit_test(test_data_of_the_forgotten),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_library_limit),
		cmocka_unit_test(test_what_is_said),
		cmocka_unit_test(test_passed_over),
		cmocka_unit_test(test_no_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
