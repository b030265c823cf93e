/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h2_pair.c – a client and a server of ours, whose owners do what the input says. Neither ever
 * finds fault with the other, and a body that ends is the body that was written.
 */
#include "h2_owner.h"

#include "http/h2_session.c"

/* Up to `most` bytes from one to the other. */
static bool carry(struct owner *from, struct owner *to, struct buf *wire, size_t most)
{
	struct slice piece;

	if (h2_session_pull(from->session, wire) < 0)
		abort();
	piece = slice_first(buf_slice(wire), most);
	if (h2_session_feed(to->session, piece) < 0) {
		/* cancelling without end is a flood whoever does it */
		assert(h2_session_code(to->session) == H2_ENHANCE_YOUR_CALM);
		return false;
	}
	buf_consume(wire, piece.n);
	return true;
}

/* Finds the client's side of what the server was shown: identifiers are the same. */
static struct owned *other_side(struct owner *client, const struct owned *o)
{
	for (unsigned i = 0; i < OWNED; i++)
		if (client->owned[i].stream &&
			h2_stream_id(client->owned[i].stream) == h2_stream_id(o->stream))
			return &client->owned[i];
	return NULL;
}

static void check_bodies(struct owner *client, struct owner *server)
{
	for (unsigned i = 0; i < OWNED; i++) {
		struct owned *s = &server->owned[i], *c;

		c = s->stream ? other_side(client, s) : NULL;
		if (!c)
			continue;
		assert(s->read <= c->wrote && c->read <= s->wrote);
		if (s->ended)
			assert(c->finished && s->read == c->wrote && s->read_sum == c->wrote_sum);
		if (c->ended)
			assert(s->finished && c->read == s->wrote && c->read_sum == s->wrote_sum);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct owner c = {.in = &in, .now = 1}, s = {.in = &in, .now = 1, .server = true};
	struct buf up, down;
	bool well = true;

	if (h2_session_new(H2_CLIENT, &owner_events, &c, &c.session) < 0 ||
		h2_session_new(H2_SERVER, &owner_events, &s, &s.session) < 0)
		abort();
	buf_init(&up, 65536);
	buf_init(&down, 65536);
	while (in.n && well) {
		uint8_t what = take(&in);
		size_t most = what & 8 ? SIZE_MAX : take(&in) * 16u;

		switch (what & 7) {
		case 0:
		case 1:
			well = carry(&c, &s, &up, most);
			break;
		case 2:
		case 3:
			well = carry(&s, &c, &down, most);
			break;
		case 4:
		case 5:
			owner_act(&c);
			break;
		case 6:
			owner_act(&s);
			break;
		default:
			c.now = s.now += what;
			if (what == 0xff)
				h2_session_goaway(most & 1 ? c.session : s.session);
			else if (what == 0xf7)
				h2_session_relax(most & 1 ? c.session : s.session);
		}
		check_bodies(&c, &s);
	}
	h2_session_free(c.session);
	h2_session_free(s.session);
	buf_done(&up);
	buf_done(&down);
	return 0;
}
