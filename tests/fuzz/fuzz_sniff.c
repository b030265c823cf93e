/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_sniff.c – first bytes and ClientHellos. Checked besides crashes: an answer never changes
 * once it is given; bytes behind a complete hello do not matter; the same message cut into other
 * records says the same.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "tls/sniff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void need(int truth)
{
	if (!truth)
		abort();
}

static int same(const struct hello *a, const struct hello *b)
{
	return a->has_sni == b->has_sni && a->alpn == b->alpn && a->alpn_http11 == b->alpn_http11 &&
	       a->alpn_h2 == b->alpn_h2 && a->sni_n == b->sni_n &&
	       memcmp(a->sni, b->sni, a->sni_n) == 0;
}

/* Every prefix (a sample of them in the middle of long inputs): 0 up to some length, one answer
 * from there on. */
static int check_prefixes(const uint8_t *data, size_t n, struct hello *ret)
{
	enum sniff_kind kind = SNIFF_OTHER, was_kind = SNIFF_OTHER;
	struct hello h = {0}, was = {0};
	int decided = 0, answer = 0;
	size_t step = n > 4096 ? n / 512 : 1;

	for (size_t i = 0; i <= n; i = i < n && i + step > n ? n : i + step) {
		uint8_t *copy = malloc(i ? i : 1); /* exact size: a read beyond is seen */
		int k, r;

		if (i)
			memcpy(copy, data, i);
		k = sniff(slice_of(copy, i), &kind);
		r = sniff_client_hello(slice_of(copy, i), &h);
		free(copy);
		need(k == 0 || k == 1);
		need(!decided || (k == 1 && kind == was_kind));
		need(!answer || (r == answer && (r < 0 || same(&h, &was))));
		decided = k;
		was_kind = kind;
		answer = r;
		if (r == 1) {
			was = h;
			*ret = h;
			need(k == 1 && kind == SNIFF_TLS);
		}
	}
	return answer;
}

/* The payload of data's records up to the hello's end, cut into records of `size` bytes. */
static void check_recut(const uint8_t *data, size_t n, size_t size, const struct hello *want)
{
	uint8_t *message = malloc(n), *cut = malloc(n + (n / size + 2) * 5);
	size_t have = 0, need_n = 4, at = 0, out = 0, records = 0;
	struct hello h;

	while (have < need_n) {
		size_t record = (size_t)data[at + 3] << 8 | data[at + 4];

		memcpy(message + have, data + at + 5, record);
		have += record;
		at += 5 + record;
		if (have >= 4)
			need_n = 4 +
				 ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
	}
	need(have == need_n);
	for (size_t i = 0; i < have; i += size, records++) {
		size_t piece = have - i < size ? have - i : size;

		memcpy(cut + out, (uint8_t[]){22, 3, 3, (uint8_t)(piece >> 8), (uint8_t)piece}, 5);
		memcpy(cut + out + 5, message + i, piece);
		out += 5 + piece;
	}
	if (records <= SNIFF_RECORDS && out <= LIMIT_HELLO) {
		need(sniff_client_hello(slice_of(cut, out), &h) == 1);
		need(same(&h, want));
	}
	free(message);
	free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct hello h;

	if (n > LIMIT_HELLO + 64)
		return 0;
	if (check_prefixes(data, n, &h) == 1) {
		static const size_t sizes[] = {1, 2, 3, 5, 37, 16384};

		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			check_recut(data, n, sizes[i], &h);
	}
	return 0;
}
