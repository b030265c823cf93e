/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keystore.c – see keystore.h. The form (sun.security.provider.JavaKeyStore): FEEDFEED, version 2, the number of
 * entries; for each 2 (a trusted certificate), alias, milliseconds, "X.509", the length and the DER; at the end SHA-1 of
 * the password in UTF-16, "Mighty Aphrodite" and all of that. Texts have a length of two bytes, integers are big-endian.
 * SHA-1 (RFC 3174) is what the form asks for: who can change the file needs no collision.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns-helper/keystore.h"

#include "base/cleanup.h"

enum {
	KEYSTORE_HEAD = 12,
	KEYSTORE_DIGEST = 20,
	KEYSTORE_ENTRY = 64, /* at most, beside the DER */
	KEYSTORE_BLOCK = 64, /* of SHA-1 */
};

/* ---- SHA-1 */

struct keystore_sha1 {
	uint32_t h[5];
	uint64_t n;
	uint8_t block[KEYSTORE_BLOCK];
};

static uint32_t keystore_rotate(uint32_t x, unsigned int by)
{
	return x << by | x >> (32 - by);
}

static void keystore_sha1_block(struct keystore_sha1 *s)
{
	uint32_t w[80], a = s->h[0], b = s->h[1], c = s->h[2], d = s->h[3], e = s->h[4];

	for (unsigned int i = 0; i < 16; i++)
		w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
		       (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
	for (unsigned int i = 16; i < 80; i++)
		w[i] = keystore_rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned int i = 0; i < 80; i++) {
		static const uint32_t k[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
		uint32_t f = i < 20   ? (b & c) | (~b & d)
			     : i < 40 ? b ^ c ^ d
			     : i < 60 ? (b & c) | (b & d) | (c & d)
				      : b ^ c ^ d;
		uint32_t t = keystore_rotate(a, 5) + f + e + k[i / 20] + w[i];

		e = d;
		d = c;
		c = keystore_rotate(b, 30);
		b = a;
		a = t;
	}
	s->h[0] += a;
	s->h[1] += b;
	s->h[2] += c;
	s->h[3] += d;
	s->h[4] += e;
}

static void keystore_sha1_add(struct keystore_sha1 *s, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n--) {
		s->block[s->n++ % KEYSTORE_BLOCK] = *p++;
		if (s->n % KEYSTORE_BLOCK == 0)
			keystore_sha1_block(s);
	}
}

static void keystore_sha1_end(struct keystore_sha1 *s, uint8_t ret[KEYSTORE_DIGEST])
{
	uint64_t bits = s->n * 8;
	uint8_t length[8];

	for (unsigned int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	keystore_sha1_add(s, "\x80", 1);
	while (s->n % KEYSTORE_BLOCK != KEYSTORE_BLOCK - 8)
		keystore_sha1_add(s, "", 1);
	keystore_sha1_add(s, length, sizeof(length));
	for (unsigned int i = 0; i < KEYSTORE_DIGEST; i++)
		ret[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* ---- PEM */

static int keystore_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The bytes of a block's text into ret, of which there is room for 3/4 of it. Their number, 0 for what is not base64. */
static size_t keystore_decode(struct slice text, uint8_t *ret)
{
	unsigned int bits = 0, have = 0, padding = 0;
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		int value = keystore_value(text.p[i]);

		if (strchr(" \t\r\n", text.p[i]) && text.p[i])
			continue;
		if (text.p[i] == '=') {
			padding++;
			continue;
		}
		if (value < 0 || padding)
			return 0;
		bits = bits << 6 | (unsigned int)value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			ret[n++] = (uint8_t)(bits >> have);
			bits &= (1U << have) - 1;
		}
	}
	return padding <= 2 && have < 6 ? n : 0;
}

/* The text of the next block, and the rest behind it. False: there is none. */
static bool keystore_block(struct slice *rest, struct slice *ret)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----",
			  end[] = "-----END CERTIFICATE-----";
	const uint8_t *from = memmem(rest->p, rest->n, begin, sizeof(begin) - 1), *to;

	if (!from)
		return false;
	from += sizeof(begin) - 1;
	to = memmem(from, rest->n - (size_t)(from - rest->p), end, sizeof(end) - 1);
	if (!to)
		return false;
	*ret = slice_of(from, (size_t)(to - from));
	*rest = slice_skip(*rest, (size_t)(to - rest->p) + sizeof(end) - 1);
	return true;
}

/* ---- the store */

static uint8_t *keystore_number(uint8_t *to, uint64_t value, unsigned int bytes)
{
	while (bytes--)
		*to++ = (uint8_t)(value >> (8 * bytes));
	return to;
}

static uint8_t *keystore_text(uint8_t *to, struct slice text)
{
	to = keystore_number(to, text.n, 2);
	memcpy(to, text.p, text.n);
	return to + text.n;
}

static uint8_t *keystore_entry(uint8_t *to, unsigned int number, const uint8_t *der, size_t n)
{
	char alias[16];

	(void)snprintf(alias, sizeof(alias), "ca-%u", number); /* fits */
	to = keystore_number(to, 2, 4);
	to = keystore_text(to, slice_str(alias));
	to = keystore_number(to, 0, 8); /* 1970: when it came in is nobody's business */
	to = keystore_text(to, SLICE("X.509"));
	to = keystore_number(to, n, 4);
	memcpy(to, der, n);
	return to + n;
}

static void keystore_digest(const uint8_t *bytes, size_t n, uint8_t ret[KEYSTORE_DIGEST])
{
	static const char password[] = "\0c\0h\0a\0n\0g\0e\0i\0t";
	struct keystore_sha1 s = {
		.h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};

	keystore_sha1_add(&s, password, sizeof(password) - 1);
	keystore_sha1_add(&s, "Mighty Aphrodite", 16);
	keystore_sha1_add(&s, bytes, n);
	keystore_sha1_end(&s, ret);
}

int keystore_make(struct slice pem, uint8_t **ret, size_t *ret_n)
{
	_cleanup_free_ uint8_t *der = NULL;
	struct slice rest = pem, block;
	unsigned int count = 0;
	uint8_t *all, *to;
	size_t room = KEYSTORE_HEAD + KEYSTORE_DIGEST, most = 1;

	for (size_t blocks = 0; blocks < KEYSTORE_CERTIFICATES && keystore_block(&rest, &block);
		blocks++) {
		room += block.n + KEYSTORE_ENTRY;
		most = block.n > most ? block.n : most;
	}
	all = malloc(room);
	der = malloc(most);
	if (!all || !der) {
		free(all);
		return -ENOMEM;
	}
	to = all + KEYSTORE_HEAD;
	rest = pem;
	for (size_t blocks = 0; blocks < KEYSTORE_CERTIFICATES && keystore_block(&rest, &block);
		blocks++) {
		size_t n = keystore_decode(block, der);

		if (n > 0 && n <= KEYSTORE_CERTIFICATE)
			to = keystore_entry(to, ++count, der, n);
	}
	(void)keystore_number(keystore_number(keystore_number(all, 0xfeedfeed, 4), 2, 4), count, 4);
	keystore_digest(all, (size_t)(to - all), to);
	*ret = all;
	*ret_n = (size_t)(to - all) + KEYSTORE_DIGEST;
	return 0;
}
