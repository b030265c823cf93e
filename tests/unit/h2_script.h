/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_script.h – HTTP/2 frames from text, for tests that need bytes no library would send.
 *
 * One frame a line:
 *   H id flags name=value|name=value   HEADERS: literal fields without indexing, plain
 *   C id flags name=value|…            CONTINUATION
 *   D id flags text                    DATA
 *   F type flags id hex                any frame; type and flags in hex
 *   X hex                              bytes that are no frame
 *   P                                  the client's preface, without SETTINGS
 * Flags, joined: e END_STREAM, - without END_HEADERS, p padded (by 0), . none. In fields and text
 * %XX is a byte. A field's name ends at the first '=' that is not its first byte; "!x=y" is never
 * indexed (RFC 7541 section 6.2.3). "%%" alone as a field: one byte 0x80, an index of 0.
 */
#ifndef SALLYPORT_TEST_H2_SCRIPT_H
#define SALLYPORT_TEST_H2_SCRIPT_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

/* In scripts: a request's fields, empty SETTINGS. */
#define RQ       ":method=GET|:scheme=https|:path=/|:authority=a.test"
#define SETTINGS "F 4 0 0 \n"

#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

static inline void script_bytes(struct buf *b, const void *p, size_t n)
{
	if (buf_append(b, slice_of(p, n)) < 0)
		abort();
}

static inline void script_frame(
	struct buf *b, uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t n)
{
	uint8_t head[9] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, type, flags,
		(uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};

	script_bytes(b, head, sizeof(head));
	script_bytes(b, payload, n);
}

/* RFC 7541 section 5.2, no Huffman */
static inline void script_string(struct buf *b, struct slice s)
{
	uint8_t head[5] = {(uint8_t)s.n};
	size_t n = 1, rest = s.n;

	if (s.n >= 127) {
		head[0] = 127;
		for (rest -= 127; rest >= 128; rest >>= 7)
			head[n++] = (uint8_t)(rest % 128 + 128);
		head[n++] = (uint8_t)rest;
	}
	script_bytes(b, head, n);
	script_bytes(b, s.p, s.n);
}

static inline void script_field(struct buf *b, struct slice name, struct slice value)
{
	bool never = name.n && name.p[0] == '!';

	script_bytes(b, never ? "\x10" : "\x00", 1);
	script_string(b, slice_skip(name, never));
	script_string(b, value);
}

static inline unsigned script_nibble(uint8_t c)
{
	return c <= '9' ? c - 48u : (c | 0x20u) - 'a' + 10u;
}

static inline void script_hex(struct buf *b, struct slice s)
{
	for (; s.n >= 2; s = slice_skip(s, s.p[0] == ' ' ? 1 : 2)) {
		uint8_t c;

		if (s.p[0] == ' ')
			continue;
		c = (uint8_t)(script_nibble(s.p[0]) << 4 | script_nibble(s.p[1]));
		script_bytes(b, &c, 1);
	}
}

static inline void script_text(struct buf *b, struct slice s)
{
	while (s.n) {
		if (s.p[0] == '%' && s.n >= 3) {
			script_hex(b, slice_of(s.p + 1, 2));
			s = slice_skip(s, 3);
		} else {
			script_bytes(b, s.p, 1);
			s = slice_skip(s, 1);
		}
	}
}

static inline void script_fields(struct buf *b, struct slice s)
{
	while (s.n) {
		size_t end = slice_find(s, '|'), equals;
		struct slice one = slice_first(s, end);
		struct buf name, value;

		s = slice_skip(s, end + 1);
		if (slice_eq(one, SLICE("%%"))) {
			script_bytes(b, "\x80", 1);
			continue;
		}
		equals = slice_find(one, '=');
		buf_init(&name, 1 << 20);
		buf_init(&value, 1 << 20);
		script_text(&name, slice_first(one, equals));
		script_text(&value, slice_skip(one, equals + 1));
		script_field(b, buf_slice(&name), buf_slice(&value));
		buf_done(&name);
		buf_done(&value);
	}
}

static inline struct slice script_word(struct slice *line)
{
	size_t end = slice_find(*line, ' ');
	struct slice word = slice_first(*line, end);

	*line = slice_skip(*line, end + 1);
	return word;
}

static inline uint32_t script_number(struct slice s, unsigned base)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n = n * base + script_nibble(s.p[i]);
	return n;
}

static inline void script_line(struct buf *b, struct slice line)
{
	uint8_t kind = line.p[0], type, flags = 0;
	struct slice words;
	struct buf payload;
	uint32_t id;

	(void)script_word(&line);
	if (kind == 'X') {
		script_hex(b, line);
		return;
	}
	if (kind == 'P') {
		script_bytes(b, H2_PREFACE, sizeof(H2_PREFACE) - 1);
		return;
	}
	buf_init(&payload, 1 << 24);
	if (kind == 'F') {
		type = (uint8_t)script_number(script_word(&line), 16);
		flags = (uint8_t)script_number(script_word(&line), 16);
		id = script_number(script_word(&line), 10);
		script_hex(&payload, line);
	} else {
		type = kind == 'H' ? 1 : kind == 'C' ? 9 : 0;
		id = script_number(script_word(&line), 10);
		words = script_word(&line);
		flags = type ? 4 : 0;
		for (size_t i = 0; i < words.n; i++) {
			if (words.p[i] == 'e')
				flags |= 1;
			else if (words.p[i] == '-')
				flags &= (uint8_t)~4;
			else if (words.p[i] == 'p')
				flags |= 8;
		}
		if (flags & 8)
			script_bytes(&payload, "\0", 1);
		if (type)
			script_fields(&payload, line);
		else
			script_text(&payload, line);
	}
	script_frame(b, type, flags, id, buf_slice(&payload).p, buf_used(&payload));
	buf_done(&payload);
}

/* Appends the frames of the script to b. */
static inline void script_write(struct buf *b, const char *script)
{
	struct slice s = slice_str(script);

	while (s.n) {
		size_t end = slice_find(s, '\n');

		if (end)
			script_line(b, slice_first(s, end));
		s = slice_skip(s, end + 1);
	}
}

#endif
