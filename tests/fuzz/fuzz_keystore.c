/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_keystore.c – any bytes as a bundle: the store's lengths lead from its head to its digest, entry by entry. */
#include <assert.h>

#include "netns-helper/keystore.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t number(const uint8_t *at, unsigned int bytes)
{
	size_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *store;
	size_t n, at = 12;

	if (keystore_make(slice_of(data, size), &store, &n) < 0)
		return 0;
	assert(n >= 32);
	for (size_t left = number(store + 8, 4); left; left--) {
		assert(at + 4 + 2 <= n && number(store + at, 4) == 2);
		at += 4 + 2 + number(store + at + 4, 2) + 8 + 2 + 5;
		assert(at + 4 <= n);
		at += 4 + number(store + at, 4);
		assert(at <= n);
	}
	assert(at + 20 == n);
	free(store);
	return 0;
}
