/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c – see records.h.
 *
 * A record's data is read by a format, one letter for a part:
 *
 *	n	a name; it may be compressed, and is written whole
 *	1 2 4	so many bytes
 *	s	a character string: a length and so many bytes
 *	S	one or more of these, to the end
 *	*	one or more bytes, to the end
 *
 * and must end where its length says. A compression pointer leads backwards, to before the labels that it ends, so a
 * name ends after at most 127 labels, and each of its pointers is looked at once. A name has no more pointers than that,
 * or an answer of 64 KiB could keep the control thread for a tenth of a second.
 *
 * The chain of CNAMEs is followed within the answer, in whatever order the server has put it, RECORDS_CHAIN links at
 * most. The client gets what is at its end under the name that it asked for: one answer, as for addresses.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "dns/cursor.h"
#include "dns/records.h"
#include "dns/wire.h"

enum {
	RECORDS_NAME = 255, /* a name on the wire */
	RECORDS_LABEL = 63,
	RECORDS_POINTERS = 127, /* in one name: as many as it can have labels */
	RECORDS_READ = 512, /* records of an answer that are looked at */
	RECORDS_CHAIN = 8,
	RECORDS_QR = 0x8000,
	RECORDS_TC = 0x0200,
	RECORDS_IN = 1,
};

static const struct {
	uint16_t type;
	const char *format;
} records_types[] = {
	{DNS_NS, "n"}, {DNS_CNAME, "n"}, {DNS_SOA, "nn44444"}, {DNS_PTR, "n"}, {DNS_MX, "2n"},
	{DNS_TXT, "S"}, {DNS_SRV, "222n"}, {DNS_NAPTR, "22sssn"}, /* RFC 3403 section 4.1 */
	{DNS_SSHFP, "11*"}, /* RFC 4255 section 3.1 */
	{DNS_TLSA, "111*"}, /* RFC 6698 section 2.1 */
	{DNS_SMIMEA, "111*"}, /* RFC 8162 section 2 */
	{DNS_OPENPGPKEY, "*"}, /* RFC 7929 section 2.1 */
	{DNS_SPF, "S"}, /* RFC 7208 section 3.1 */
	{DNS_URI, "22*"}, /* RFC 7553 section 4.5 */
	{DNS_CAA, "1s*"}, /* RFC 8659 section 4.1; an empty value has no bytes, which is "1s" */
};

/* A name on the wire, without compression. */
struct records_name {
	uint8_t n; /* 1 to RECORDS_NAME */
	uint8_t bytes[RECORDS_NAME];
};

/* One record of the answer section. */
struct records_row {
	struct records_name owner;
	uint16_t type, class;
	uint32_t ttl;
	size_t at; /* of the data in the packet */
	uint16_t length;
};

static const char *records_format(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(records_types); i++)
		if (records_types[i].type == type)
			return records_types[i].format;
	return NULL;
}

bool dns_records_type(uint16_t type)
{
	return records_format(type) != NULL;
}

/* ---- names */

static size_t records_at(struct slice packet, const struct cursor *c)
{
	return packet.n - c->rest.n;
}

/* Reads the name under the cursor, which moves behind it. 0 or -EBADMSG. */
static int records_read_name(struct slice packet, struct cursor *c, struct records_name *ret)
{
	struct cursor labels = *c;
	size_t before = records_at(packet, c), n = 0;
	unsigned jumps = 0;

	for (;;) {
		unsigned length = cursor_u8(&labels);
		struct slice label;

		if (labels.short_read)
			return -EBADMSG;
		if (length >= 0xc0) {
			size_t to = (size_t)(length & 0x3f) << 8 | cursor_u8(&labels);

			if (labels.short_read || to >= before || jumps == RECORDS_POINTERS)
				return -EBADMSG;
			if (jumps++ == 0)
				*c = labels;
			before = to;
			labels = (struct cursor){.rest = slice_skip(packet, to)};
			continue;
		}
		if (length > RECORDS_LABEL || n + 1 + length > RECORDS_NAME)
			return -EBADMSG;
		label = cursor_bytes(&labels, length);
		if (labels.short_read)
			return -EBADMSG;
		ret->bytes[n++] = (uint8_t)length;
		if (length)
			memcpy(ret->bytes + n, label.p, length);
		n += length;
		if (length == 0)
			break;
	}
	if (jumps == 0)
		*c = labels;
	ret->n = (uint8_t)n;
	return 0;
}

/* Lengths of labels are below 'A', so the bytes may be compared as text. */
static bool records_same(const struct records_name *a, const struct records_name *b)
{
	return slice_ieq(slice_of(a->bytes, a->n), slice_of(b->bytes, b->n));
}

/* 0 or -EINVAL. */
static int records_name_of(const char *text, struct records_name *ret)
{
	struct slice rest = slice_str(text);
	size_t n = 0;

	while (rest.n) {
		size_t label = slice_find(rest, '.');

		if (label == 0 || label > RECORDS_LABEL || n + 1 + label + 1 > RECORDS_NAME)
			return -EINVAL;
		ret->bytes[n++] = (uint8_t)label;
		memcpy(ret->bytes + n, rest.p, label);
		n += label;
		rest = slice_skip(rest, label + 1);
	}
	ret->bytes[n++] = 0;
	ret->n = (uint8_t)n;
	return 0;
}

size_t dns_records_name(const char *text, uint32_t ttl, uint8_t ret[DNS_RECORD_NAME])
{
	struct records_name name;

	if (records_name_of(text, &name) < 0)
		return 0;
	memcpy(cursor_put16(cursor_put32(ret, ttl), name.n), name.bytes, name.n);
	return DNS_RECORD_HEAD + (size_t)name.n;
}

/* ---- data */

/* What has been written of the record at its end. */
struct records_out {
	struct dns_records *to;
	size_t at;
};

static int records_put(struct records_out *out, const void *bytes, size_t n)
{
	if (n > sizeof(out->to->bytes) - out->at)
		return -EMSGSIZE;
	if (n)
		memcpy(out->to->bytes + out->at, bytes, n);
	out->at += n;
	return 0;
}

/* Copies n bytes. 0, -EBADMSG, -EMSGSIZE. */
static int records_copy(struct cursor *c, size_t n, struct records_out *out)
{
	struct slice bytes = cursor_bytes(c, n);

	return c->short_read ? -EBADMSG : records_put(out, bytes.p, bytes.n);
}

static int records_string(struct cursor *c, struct records_out *out)
{
	unsigned n = c->rest.n ? c->rest.p[0] : 0;

	return records_copy(c, 1 + n, out);
}

/* One part of the data; names may lead anywhere before it in the packet. */
static int records_part(struct slice packet, char part, struct cursor *c, struct records_out *out)
{
	struct records_name name;
	int r;

	switch (part) {
	case 'n':
		r = records_read_name(packet, c, &name);
		return r ? r : records_put(out, name.bytes, name.n);
	case 's':
		return records_string(c, out);
	case 'S':
		do
			r = records_string(c, out);
		while (r == 0 && c->rest.n);
		return r;
	case '*':
		return c->rest.n ? records_copy(c, c->rest.n, out) : -EBADMSG;
	default:
		return records_copy(c, (size_t)(part - '0'), out);
	}
}

static int records_data(struct slice packet, const struct records_row *row, struct records_out *out)
{
	/* ends with the data: a name that goes on behind it is malformed, unless it is by a pointer */
	struct slice end = slice_first(packet, row->at + row->length);
	struct cursor c = {.rest = slice_skip(end, row->at)};

	for (const char *part = records_format(row->type); *part; part++) {
		int r;

		if (row->type == DNS_CAA && *part == '*' && c.rest.n == 0)
			continue; /* an empty value */
		r = records_part(end, *part, &c, out);
		if (r < 0)
			return r;
	}
	return c.rest.n ? -EBADMSG : 0;
}

static int records_take(struct slice packet, const struct records_row *row, struct dns_records *to)
{
	struct records_out out = {to, to->used + (size_t)DNS_RECORD_HEAD};
	uint32_t ttl = row->ttl < DNS_TTL ? row->ttl : DNS_TTL;
	size_t start = out.at;
	int r;

	if (to->n == DNS_RECORDS || out.at > sizeof(to->bytes))
		return -EMSGSIZE;
	r = records_data(packet, row, &out);
	if (r < 0)
		return r;
	(void)cursor_put16(cursor_put32(to->bytes + to->used, ttl), (unsigned)(out.at - start));
	to->used = (uint16_t)out.at;
	to->n++;
	return 0;
}
_Static_assert(DNS_RECORDS_BYTES <= UINT16_MAX, "a length has 16 bits");

/* ---- the answer */

static int records_row(struct slice packet, struct cursor *c, struct records_row *ret)
{
	if (records_read_name(packet, c, &ret->owner) < 0)
		return -EBADMSG;
	ret->type = (uint16_t)cursor_u16(c);
	ret->class = (uint16_t)cursor_u16(c);
	ret->ttl = cursor_u32(c);
	ret->length = (uint16_t)cursor_u16(c);
	ret->at = records_at(packet, c);
	(void)cursor_bytes(c, ret->length);
	if (ret->ttl > INT32_MAX)
		ret->ttl = 0; /* RFC 2181 section 8 */
	return c->short_read ? -EBADMSG : 0;
}

/* Moves `name` along the CNAMEs of the answer. 1: moved, 0: the end, -EBADMSG. */
static int records_follow(
	struct slice packet, struct cursor c, unsigned n, struct records_name *name)
{
	struct records_row row;

	for (unsigned i = 0; i < n; i++) {
		struct cursor data;

		if (records_row(packet, &c, &row) < 0)
			return -EBADMSG;
		if (row.type != DNS_CNAME || row.class != RECORDS_IN ||
			!records_same(&row.owner, name))
			continue;
		data.rest = slice_skip(slice_first(packet, row.at + row.length), row.at);
		data.short_read = false;
		if (records_read_name(slice_first(packet, row.at + row.length), &data, name) < 0 ||
			data.rest.n)
			return -EBADMSG;
		return 1;
	}
	return 0;
}

static int records_collect(struct slice packet, struct cursor c, unsigned n,
	const struct records_name *name, uint16_t type, struct dns_records *ret)
{
	struct records_row row;

	for (unsigned i = 0; i < n; i++) {
		int r = records_row(packet, &c, &row);

		if (r == 0 && row.type == type && row.class == RECORDS_IN &&
			records_same(&row.owner, name))
			r = records_take(packet, &row, ret);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The header and the question. 0 and the number of answers, or -EBADMSG. */
static int records_head(struct slice packet, struct cursor *c, const struct records_name *name,
	uint16_t type, unsigned *ret_answers)
{
	struct records_name asked;
	unsigned flags, questions;

	(void)cursor_u16(c); /* the number is the resolver's business */
	flags = cursor_u16(c);
	questions = cursor_u16(c);
	*ret_answers = cursor_u16(c);
	(void)cursor_u32(c); /* authorities and additional records */
	if (c->short_read || !(flags & RECORDS_QR) || (flags & (RECORDS_TC | 0xf)) ||
		questions != 1)
		return -EBADMSG;
	if (records_read_name(packet, c, &asked) < 0 || !records_same(&asked, name))
		return -EBADMSG;
	if (cursor_u16(c) != type || cursor_u16(c) != RECORDS_IN || c->short_read)
		return -EBADMSG;
	return *ret_answers <= RECORDS_READ ? 0 : -EMSGSIZE;
}

int dns_records_parse(struct slice packet, const char *name, uint16_t type, struct dns_records *ret)
{
	struct cursor c = {.rest = packet};
	struct records_name at;
	unsigned n;
	int r;

	if (!records_format(type) || records_name_of(name, &at) < 0)
		return -EBADMSG;
	ret->n = ret->used = 0;
	r = records_head(packet, &c, &at, type, &n);
	for (unsigned i = 0; r == 0 && type != DNS_CNAME && i < RECORDS_CHAIN; i++) {
		r = records_follow(packet, c, n, &at);
		if (r <= 0)
			break;
		r = 0;
	}
	return r ? r : records_collect(packet, c, n, &at, type, ret);
}
