/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_stream.c – requests and responses between two sessions of ours, and what their owners see
 * and may do at each moment.
 */
#include <errno.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_get, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
