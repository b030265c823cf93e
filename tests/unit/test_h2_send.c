/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_send.c – what a session sends: nothing that must not be sent, DATA of all streams in turn
 * and into whatever room there is.
 */
#include <errno.h>

#include "h2_pair.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_secret, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unsendable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_little_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_of_all, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
