/* SPDX-License-Identifier: Apache-2.0 */
/* h1_write.c – see h1_write.h. Every line is checked, then gathered from pieces in one reservation.
 */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/fields.h"
#include "http/h1_write.h"
#include "model/msg.h"

static int h1_write_pieces(struct buf *out, const struct slice *pieces, size_t count)
{
	size_t total = 0;
	uint8_t *to;

	for (size_t i = 0; i < count; i++) {
		if (pieces[i].n > buf_room(out) - total)
			return -ENOBUFS;
		total += pieces[i].n;
	}
	to = buf_reserve(out, total);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (pieces[i].n)
			memcpy(to, pieces[i].p, pieces[i].n);
		to += pieces[i].n;
	}
	buf_commit(out, total);
	return 0;
}

int h1_write_request_line(struct buf *out, struct slice method, struct slice target)
{
	bool bare = target.n && target.p[0] == '?';
	const struct slice pieces[] = {
		method,
		bare ? SLICE(" /") : SLICE(" "),
		target,
		SLICE(" HTTP/1.1\r\n"),
	};

	if (!fields_token(method) || target.n == 0)
		return -EINVAL;
	for (size_t i = 0; i < target.n; i++)
		if (target.p[i] < 0x21 || target.p[i] > 0x7e)
			return -EINVAL;
	return h1_write_pieces(out, pieces, ARRAY_SIZE(pieces));
}

int h1_write_status_line(struct buf *out, unsigned status, struct slice reason, unsigned minor)
{
	char start[sizeof("HTTP/1.1 200 ")];
	struct slice pieces[] = {
		{(const uint8_t *)start, sizeof(start) - 1}, reason, SLICE("\r\n")};

	if (status < 100 || status > 999 || minor > 1 || !fields_value(reason))
		return -EINVAL;
	(void)snprintf(start, sizeof(start), "HTTP/1.%u %u ", minor & 1, status % 1000);
	return h1_write_pieces(out, pieces, ARRAY_SIZE(pieces));
}

int h1_write_field(struct buf *out, struct slice name, struct slice value)
{
	const struct slice pieces[] = {name, SLICE(": "), value, SLICE("\r\n")};

	if (!fields_token(name) || !fields_value(value))
		return -EINVAL;
	return h1_write_pieces(out, pieces, ARRAY_SIZE(pieces));
}

int h1_write_number_field(struct buf *out, struct slice name, uint64_t number)
{
	char digits[21];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);

	return h1_write_field(out, name, slice_of(digits, (size_t)n));
}

int h1_write_head_end(struct buf *out)
{
	return h1_write_pieces(out, &SLICE("\r\n"), 1);
}

size_t h1_write_chunk_head(uint8_t ret[H1_CHUNK_HEAD_MAX], size_t n)
{
	char text[H1_CHUNK_HEAD_MAX];
	int used = snprintf(text, sizeof(text), "%zx\r\n", n);

	memcpy(ret, text, (size_t)used);
	return (size_t)used;
}

int h1_write_trailers(struct buf *out, const struct msg *trailers)
{
	int r = h1_write_pieces(out, &SLICE("0\r\n"), 1);

	for (unsigned i = 0; r == 0 && i < trailers->nfields; i++)
		if (fields_trailer_allowed(trailers->fields[i].name))
			r = h1_write_field(
				out, trailers->fields[i].name, trailers->fields[i].value);
	return r ? r : h1_write_head_end(out);
}

/* ---- whole heads */

/* trailers: some may follow. */
static int h1_write_fields(struct buf *out, const struct msg *m, bool trailers)
{
	int e = 0;

	for (unsigned i = 0; !e && i < m->nfields; i++)
		if (trailers || !slice_ieq(m->fields[i].name, SLICE("trailer")))
			e = h1_write_field(out, m->fields[i].name, m->fields[i].value);
	if (!e && m->upgrade.n) {
		e = h1_write_field(out, SLICE("connection"), SLICE("upgrade"));
		e = e ? e : h1_write_field(out, SLICE("upgrade"), m->upgrade);
	}
	return e;
}

int h1_write_request(struct buf *out, const struct msg *m)
{
	int e = h1_write_request_line(out, m->method, m->target);

	e = e ? e : h1_write_field(out, SLICE("host"), m->authority);
	e = e ? e : h1_write_fields(out, m, true);
	if (!e && m->framing == FRAMING_CHUNKED)
		e = h1_write_field(out, SLICE("transfer-encoding"), SLICE("chunked"));
	if (!e && m->takes_trailers && !m->upgrade.n) {
		e = h1_write_field(out, SLICE("te"), SLICE("trailers"));
		e = e ? e : h1_write_field(out, SLICE("connection"), SLICE("te"));
	}
	return e ? e : h1_write_head_end(out);
}

int h1_write_response(struct buf *out, const struct msg *m, const struct h1_write_how *how)
{
	int e = h1_write_status_line(out, m->status, m->reason, 1);

	e = e ? e : h1_write_fields(out, m, how->chunked);
	if (!e && how->empty)
		e = h1_write_number_field(out, SLICE("content-length"), 0);
	if (!e && how->chunked)
		e = h1_write_field(out, SLICE("transfer-encoding"), SLICE("chunked"));
	if (!e && m->status >= 200 && how->close)
		e = h1_write_field(out, SLICE("connection"), SLICE("close"));
	else if (!e && m->status >= 200 && how->client_10)
		e = h1_write_field(out, SLICE("connection"), SLICE("keep-alive"));
	return e ? e : h1_write_head_end(out);
}
