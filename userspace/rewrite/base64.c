/* SPDX-License-Identifier: Apache-2.0 */
/* base64.c – see base64.h. */
#include <errno.h>

#include "rewrite/base64.h"

void base64_encode(struct slice in, uint8_t *to)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; in.n; in = slice_skip(in, 3), to += 4) {
		unsigned bits = (unsigned)in.p[0] << 16 | (in.n > 1 ? (unsigned)in.p[1] << 8 : 0) |
				(in.n > 2 ? in.p[2] : 0);

		to[0] = (uint8_t)alphabet[bits >> 18];
		to[1] = (uint8_t)alphabet[bits >> 12 & 63];
		to[2] = in.n > 1 ? (uint8_t)alphabet[bits >> 6 & 63] : '=';
		to[3] = in.n > 2 ? (uint8_t)alphabet[bits & 63] : '=';
	}
}

static int base64_digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -EBADMSG;
}

long base64_decode(struct slice in, uint8_t *to)
{
	unsigned bits = 0, have = 0;
	long n = 0;

	/* padding, where there is some, makes the length a multiple of four */
	if (in.n && in.n % 4 == 0 && in.p[in.n - 1] == '=')
		in.n -= in.p[in.n - 2] == '=' ? 2 : 1;
	if (in.n % 4 == 1)
		return -EBADMSG;
	for (size_t i = 0; i < in.n; i++) {
		int digit = base64_digit(in.p[i]);

		if (digit < 0)
			return -EBADMSG;
		bits = (bits << 6 | (unsigned)digit) & 0xffff;
		have += 6;
		if (have >= 8) {
			have -= 8;
			to[n++] = (uint8_t)(bits >> have);
		}
	}
	return bits & ((1U << have) - 1) ? -EBADMSG : n;
}
