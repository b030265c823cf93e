/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h1_response.c – any bytes as a response head, to a HEAD or not (the first byte says which).
 * Arrival byte by byte gives the answer of the whole; what was accepted can be written, and read
 * again has the same framing and fields.
 */
#include <assert.h>

#include "base/buf.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "msg_same.h"

struct answer {
	int r;
	size_t used;
	const char *why;
	struct msg m;
};

static struct answer parse(struct slice in, bool to_head, size_t *scan)
{
	struct answer a = {.why = ""};

	a.r = h1_response_parse(in, scan, to_head, &a.m, &a.used, &a.why);
	return a;
}

static void check_bytes(const struct answer *whole, struct slice in, bool to_head)
{
	struct answer a = {0};
	size_t scan = 0;

	for (size_t n = 0; n <= in.n && a.r == 0; n++)
		a = parse(slice_first(in, n), to_head, &scan);
	assert(a.r == whole->r && a.used == whole->used && strcmp(a.why, whole->why) == 0);
	assert(a.r != 1 || msg_same(&a.m, &whole->m));
}

static void check_sense(const struct msg *m, bool to_head)
{
	bool none = m->status < 200 || m->status == 204 || m->status == 304 || to_head;

	assert(none == (m->framing == FRAMING_NONE));
	assert(!(m->keep_alive && (m->doubtful || m->framing == FRAMING_CLOSE)));
	if (m->framing == FRAMING_CHUNKED)
		assert(!msg_find(m, SLICE("content-length")));
}

static void check_round(const struct msg *m, bool to_head)
{
	struct answer again;
	struct msg wanted = *m;
	struct buf b;
	size_t scan = 0;

	buf_init(&b, 2 * LIMIT_HEAD);
	assert(h1_write_status_line(&b, m->status, m->reason, m->minor) == 0);
	for (unsigned i = 0; i < m->nfields; i++)
		assert(h1_write_field(&b, m->fields[i].name, m->fields[i].value) == 0);
	assert(h1_write_head_end(&b) == 0);
	if (buf_used(&b) <= LIMIT_HEAD) {
		again = parse(buf_slice(&b), to_head, &scan);
		assert(again.r == 1 && again.used == buf_used(&b));
		/* what made it doubtful has been taken out */
		wanted.doubtful = again.m.doubtful;
		wanted.keep_alive = again.m.keep_alive;
		assert(msg_same(&wanted, &again.m));
	}
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool to_head = size && data[0] & 1;
	struct slice in = slice_skip(slice_of(data, size), 1);
	size_t scan = 0;
	struct answer whole = parse(in, to_head, &scan);

	check_bytes(&whole, in, to_head);
	if (whole.r == 1) {
		check_sense(&whole.m, to_head);
		check_round(&whole.m, to_head);
	}
	return 0;
}
