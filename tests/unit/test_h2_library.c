/* SPDX-License-Identifier: Apache-2.0 */
/* test_h2_library.c – memory of the library: how much, its limit, and none at all. */
#include <errno.h>

#include "h2_rig.h"
#include "http/h2_internal.h"

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
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_library_limit),
		cmocka_unit_test(test_no_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
