/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_session.c – a session against bytes that no library would send: malformed input from
 * tables (every row whole and byte by byte), floods, bounds.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "h2_malformed_rows.h"
#include "h2_rig.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed_requests),
		cmocka_unit_test(test_malformed_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
