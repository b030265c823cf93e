/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_flood.c – what a peer may cost: each kind of flood ends with ENHANCE_YOUR_CALM after a
 * bounded number, what peers do that work does not.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "h2_rig.h"
#include "http/h2_internal.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_floods_from_server),
		cmocka_unit_test(test_answers_wait),
		cmocka_unit_test(test_what_is_borne),
		cmocka_unit_test(test_continuation_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
