/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyring.c – see keyring.h. A page: a head with a bit for each place that is in use, then the places. A key leads to
 * its page by comparing addresses. #syscalls: mmap mlock madvise munmap
 */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/keyring.h"

enum { KEYRING_PAGE = 4096, KEYRING_PLACES = 126 };

struct keyring_page {
	struct keyring_page *next;
	uint64_t used[2];
	uint64_t pad;
	uint8_t keys[KEYRING_PLACES][KEYRING_KEY];
};
static_assert(sizeof(struct keyring_page) <= KEYRING_PAGE, "fits its page");

static struct keyring_page *keyring_pages;

static struct keyring_page *keyring_map(void)
{
	void *at = mmap(
		NULL, KEYRING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (mlock(at, KEYRING_PAGE) < 0 || madvise(at, KEYRING_PAGE, MADV_DONTDUMP) < 0 ||
		madvise(at, KEYRING_PAGE, MADV_WIPEONFORK) < 0) {
		(void)munmap(at, KEYRING_PAGE);
		return NULL;
	}
	return at;
}

static uint8_t *keyring_place(struct keyring_page *page)
{
	for (unsigned i = 0; i < KEYRING_PLACES; i++) {
		uint64_t bit = (uint64_t)1 << i % 64;

		if (page->used[i / 64] & bit)
			continue;
		page->used[i / 64] |= bit;
		return page->keys[i];
	}
	return NULL;
}

uint8_t *keyring_take(void)
{
	struct keyring_page *page;

	for (page = keyring_pages; page; page = page->next) {
		uint8_t *key = keyring_place(page);

		if (key)
			return key;
	}
	page = keyring_map();
	if (!page)
		return NULL;
	page->next = keyring_pages;
	keyring_pages = page;
	return keyring_place(page);
}

void keyring_drop(uint8_t *key)
{
	struct keyring_page **at = &keyring_pages, *page;
	unsigned i;

	if (!key)
		return;
	while (key < (*at)->keys[0] || key > (*at)->keys[KEYRING_PLACES - 1])
		at = &(*at)->next;
	page = *at;
	i = (unsigned)((size_t)(key - page->keys[0]) / KEYRING_KEY);
	explicit_bzero(key, KEYRING_KEY);
	page->used[i / 64] &= ~((uint64_t)1 << i % 64);
	if (page->used[0] || page->used[1])
		return;
	*at = page->next;
	(void)munmap(page, KEYRING_PAGE);
}
