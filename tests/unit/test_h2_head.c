/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_head.c – good heads, and the largest. Malformed ones are rows of test_h2_session.c.
 */
#include "h2_pair.h"
#include "http/h2_internal.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cookie_crumbs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_authority, setup, teardown),
		cmocka_unit_test(test_large_heads),
		cmocka_unit_test(test_header_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
