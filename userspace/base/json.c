/* SPDX-License-Identifier: Apache-2.0 */
/* json.c – see json.h. */
#include <stdio.h>

#include "base/json.h"

static void json_raw(struct json *j, struct slice s)
{
	if (!j->failed)
		j->failed = buf_append(j->out, s);
}

/* The length of the UTF-8 sequence at the start of s (RFC 3629: no overlong forms, no surrogates), or 0. */
static size_t json_utf8(struct slice s)
{
	uint8_t c = s.p[0], low = 0x80, high = 0xbf;
	size_t n;

	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		n = 2;
	else if (c >= 0xe0 && c <= 0xef)
		n = 3;
	else if (c >= 0xf0 && c <= 0xf4)
		n = 4;
	else
		return 0;
	if (s.n < n)
		return 0;
	if (c == 0xe0)
		low = 0xa0;
	if (c == 0xed)
		high = 0x9f;
	if (c == 0xf0)
		low = 0x90;
	if (c == 0xf4)
		high = 0x8f;
	if (s.p[1] < low || s.p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((s.p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static void json_string(struct json *j, struct slice s)
{
	json_raw(j, SLICE("\""));
	while (s.n) {
		size_t n = json_utf8(s);
		char escape[8];

		if (n == 0) {
			json_raw(j, SLICE("\xef\xbf\xbd"));
			n = 1;
		} else if (s.p[0] == '"' || s.p[0] == '\\') {
			escape[0] = '\\';
			escape[1] = (char)s.p[0];
			json_raw(j, slice_of(escape, 2));
		} else if (s.p[0] < 0x20 || s.p[0] == 0x7f) {
			(void)snprintf(escape, sizeof(escape), "\\u%04x", s.p[0]);
			json_raw(j, slice_of(escape, 6));
		} else {
			json_raw(j, slice_first(s, n));
		}
		s = slice_skip(s, n);
	}
	json_raw(j, SLICE("\""));
}

static void json_key(struct json *j, const char *key)
{
	if (j->comma)
		json_raw(j, SLICE(","));
	j->comma = true;
	if (key) {
		json_string(j, slice_str(key));
		json_raw(j, SLICE(":"));
	}
}

void json_start(struct json *j, struct buf *out)
{
	*j = (struct json){.out = out};
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	json_raw(j, slice_of(&bracket, 1));
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	json_raw(j, slice_of(&bracket, 1));
	j->comma = true;
}

void json_text(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	if (text)
		json_string(j, slice_str(text));
	else
		json_raw(j, SLICE("null"));
}

void json_slice(struct json *j, const char *key, struct slice text)
{
	json_key(j, key);
	json_string(j, text);
}

void json_number(struct json *j, const char *key, int64_t number)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)number);

	json_key(j, key);
	json_raw(j, slice_of(text, n > 0 ? (size_t)n : 0));
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_raw(j, value ? SLICE("true") : SLICE("false"));
}

int json_end(const struct json *j)
{
	return j->failed;
}
