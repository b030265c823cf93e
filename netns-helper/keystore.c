/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keystore.c – see keystore.h. The form (sun.security.provider.JavaKeyStore): FEEDFEED, version 2, the number of
 * entries; for each 2 (a trusted certificate), alias, milliseconds, "X.509", the length and the DER; at the end SHA-1 of
 * the password in UTF-16, "Mighty Aphrodite" and all of that. Texts have a length of two bytes, integers are big-endian.
 * SHA-1 is what the form asks for: who can change the file needs no collision. Base64 and SHA-1 are OpenSSL's.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "netns-helper/keystore.h"

#include "base/cleanup.h"

enum {
	KEYSTORE_HEAD = 12,
	KEYSTORE_DIGEST = 20,
	KEYSTORE_ENTRY = 64, /* at most, beside the DER */
};

/* ---- PEM */

/*
 * The bytes of a block's text into ret, of which there is room for the text. Their number, 0 for what is not base64.
 * EVP_DecodeUpdate(3) passes over blanks and line ends wherever they are.
 */
static size_t keystore_decode(EVP_ENCODE_CTX *decoder, struct slice text, uint8_t *ret)
{
	int n = 0, more = 0;

	EVP_DecodeInit(decoder);
	if (text.n > INT_MAX || EVP_DecodeUpdate(decoder, ret, &n, text.p, (int)text.n) < 0 ||
		EVP_DecodeFinal(decoder, ret + n, &more) < 0)
		return 0;
	return (size_t)n + (size_t)more;
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

static int keystore_digest(const uint8_t *bytes, size_t n, uint8_t ret[KEYSTORE_DIGEST])
{
	static const char start[] = "\0c\0h\0a\0n\0g\0e\0i\0t"
				    "Mighty Aphrodite";
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool ok = md && EVP_DigestInit_ex(md, EVP_sha1(), NULL) == 1 &&
		  EVP_DigestUpdate(md, start, sizeof(start) - 1) == 1 &&
		  EVP_DigestUpdate(md, bytes, n) == 1 && EVP_DigestFinal_ex(md, ret, NULL) == 1;

	EVP_MD_CTX_free(md);
	return ok ? 0 : -ENOMEM;
}

int keystore_make(struct slice pem, uint8_t **ret, size_t *ret_n)
{
	_cleanup_free_ uint8_t *der = NULL, *all = NULL;
	EVP_ENCODE_CTX *decoder = EVP_ENCODE_CTX_new();
	struct slice rest = pem, block;
	unsigned int count = 0;
	uint8_t *to;
	size_t room = KEYSTORE_HEAD + KEYSTORE_DIGEST, most = 1;

	for (size_t blocks = 0; blocks < KEYSTORE_CERTIFICATES && keystore_block(&rest, &block);
		blocks++) {
		room += block.n + KEYSTORE_ENTRY;
		most = block.n > most ? block.n : most;
	}
	all = malloc(room);
	der = malloc(most);
	if (!all || !der || !decoder) {
		EVP_ENCODE_CTX_free(decoder);
		return -ENOMEM;
	}
	to = all + KEYSTORE_HEAD;
	rest = pem;
	for (size_t blocks = 0; blocks < KEYSTORE_CERTIFICATES && keystore_block(&rest, &block);
		blocks++) {
		size_t n = keystore_decode(decoder, block, der);

		if (n > 0 && n <= KEYSTORE_CERTIFICATE)
			to = keystore_entry(to, ++count, der, n);
	}
	EVP_ENCODE_CTX_free(decoder);
	(void)keystore_number(keystore_number(keystore_number(all, 0xfeedfeed, 4), 2, 4), count, 4);
	if (keystore_digest(all, (size_t)(to - all), to) < 0)
		return -ENOMEM;
	*ret_n = (size_t)(to - all) + KEYSTORE_DIGEST;
	*ret = TAKE_PTR(all);
	return 0;
}
