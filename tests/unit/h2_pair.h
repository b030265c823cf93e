/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_pair.h – a client and a server of ours that have greeted each other, for tests of what goes
 * between them.
 */
#ifndef SALLYPORT_TEST_H2_PAIR_H
#define SALLYPORT_TEST_H2_PAIR_H

#include "h2_rig.h"

struct pair {
	struct end c, s;
};

static inline int setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	end_init(&p->c, H2_CLIENT);
	end_init(&p->s, H2_SERVER);
	talk(&p->c, &p->s);
	*state = p;
	return 0;
}

static inline int teardown(void **state)
{
	struct pair *p = *state;

	if (p->c.session)
		end_done(&p->c);
	if (p->s.session)
		end_done(&p->s);
	free(p);
	return 0;
}

/* The response with nothing in it. */
static inline void answer(struct h2_stream *s, uint16_t status, bool end)
{
	struct msg m;

	assert_int_equal(h2_stream_respond(s, msg_response(&m, status), end), 0);
}

/* Client's stream c and server's stream of a new request. */
static inline struct h2_stream *open_pair(
	struct pair *p, const char *method, bool end, struct h2_stream **c)
{
	unsigned before = p->s.opened;

	*c = ask(&p->c, method, end);
	talk(&p->c, &p->s);
	assert_int_equal(p->s.opened, before + 1);
	return p->s.streams[before];
}

static inline size_t fill(struct h2_stream *s)
{
	static const uint8_t zeros[65536];
	size_t n = h2_stream_room(s);

	assert_int_equal(h2_stream_write(s, slice_of(zeros, n)), 0);
	return n;
}

static inline void read_all(struct h2_stream *s)
{
	h2_stream_consume(s, h2_stream_readable(s).n);
}

#endif
