/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h1_trailers.c – any bytes as a trailer section. Arrival byte by byte gives the answer of the
 * whole; what was accepted and may be forwarded can be written, and read again is the same but for
 * the fields that may not stand there.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "http/fields.h"
#include "http/h1_body.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "h1_answer.h"

static struct answer parse(struct slice in, size_t *scan)
{
	struct answer a = {.why = ""};

	a.r = h1_trailers_parse(in, scan, &a.m, &a.used, &a.why);
	return a;
}

/* Each part from memory of exactly its size, so that nothing is read beyond it. */
static void check_bytes(const struct answer *whole, struct slice in)
{
	struct answer a = {0};
	size_t scan = 0;

	for (size_t n = 0; n <= in.n && a.r == 0; n++)
		a = parse(slice_first(in, n), &scan);
	check_same(whole, &a);
}

static void check_two_parts(const struct answer *whole, struct slice in, size_t cut)
{
	uint8_t *copy = malloc(cut + 1);
	struct answer a;
	size_t scan = 0;

	memcpy(copy + 1, in.p, cut);
	a = parse(slice_of(copy + 1, cut), &scan);
	if (a.r == 0)
		a = parse(in, &scan);
	check_same(whole, &a);
	free(copy);
}

static void check_round(struct msg *m)
{
	struct slice section;
	struct answer again;
	unsigned kept = 0;
	struct buf b;
	size_t scan = 0;

	buf_init(&b, 4 * LIMIT_HEAD);
	assert(h1_write_trailers(&b, m) == 0);
	section = slice_skip(buf_slice(&b), 3); /* the last chunk's size line */
	again = parse(section, &scan);
	for (unsigned i = 0; i < m->nfields; i++)
		if (fields_trailer_allowed(m->fields[i].name))
			m->fields[kept++] = m->fields[i];
	m->nfields = (uint16_t)kept;
	/* the space that we write behind each colon may be what makes it too long */
	assert(again.r == 1 || section.n > H1_BODY_TRAILER_MAX);
	assert(again.r != 1 || (again.used == section.n && msg_same(m, &again.m)));
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	size_t scan = 0;
	struct answer whole = parse(in, &scan);

	check_bytes(&whole, in);
	if (size)
		check_two_parts(&whole, in, data[0] % size);
	if (whole.r == 1)
		check_round(&whole.m);
	return 0;
}
