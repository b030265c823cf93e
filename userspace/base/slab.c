/* SPDX-License-Identifier: Apache-2.0 */
/* slab.c – see slab.h. Objects live in chunks of SLAB_CHUNK, each object behind its head. */
#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/slab.h"

enum { SLAB_CHUNK = 64 };
#define SLAB_NONE UINT32_MAX

struct slab_head {
	uint32_t slot;
	uint32_t next; /* free list */
	uint16_t generation;
	bool used;
	alignas(16) char object[];
};

static size_t slab_stride(const struct slab *s)
{
	return (sizeof(struct slab_head) + s->size + 15) / 16 * 16;
}

static struct slab_head *slab_head_at(const struct slab *s, uint32_t slot)
{
	return (struct slab_head *)(s->chunks[slot / SLAB_CHUNK] +
				    slot % SLAB_CHUNK * slab_stride(s));
}

static struct slab_head *slab_head_of(const void *object)
{
	return (struct slab_head *)((char *)object - offsetof(struct slab_head, object));
}

int slab_init(struct slab *s, size_t size, uint32_t max)
{
	*s = (struct slab){.size = size, .max = max, .free_slot = SLAB_NONE};
	s->chunks = calloc((max + SLAB_CHUNK - 1) / SLAB_CHUNK, sizeof(*s->chunks));
	return s->chunks ? 0 : -ENOMEM;
}

void slab_done(struct slab *s)
{
	for (uint32_t i = 0; i < (s->max + SLAB_CHUNK - 1) / SLAB_CHUNK; i++)
		if (s->chunks)
			free(s->chunks[i]);
	free(s->chunks);
	*s = (struct slab){0};
}

void *slab_take(struct slab *s)
{
	struct slab_head *h;

	if (s->free_slot != SLAB_NONE) {
		h = slab_head_at(s, s->free_slot);
		s->free_slot = h->next;
	} else {
		if (s->made == s->max)
			return NULL;
		if (s->made % SLAB_CHUNK == 0) {
			char *chunk = aligned_alloc(16, SLAB_CHUNK * slab_stride(s));

			if (!chunk)
				return NULL;
			s->chunks[s->made / SLAB_CHUNK] = chunk;
		}
		h = slab_head_at(s, s->made);
		*h = (struct slab_head){.slot = s->made++};
	}
	h->used = true;
	s->used++;
	memset(h->object, 0, s->size);
	return h->object;
}

void slab_give(struct slab *s, void *object)
{
	struct slab_head *h = slab_head_of(object);

	assert(h->used); /* given twice, it would be handed to two owners */
	explicit_bzero(object, s->size);
	h->used = false;
	h->generation++;
	h->next = s->free_slot;
	s->free_slot = h->slot;
	s->used--;
}

uint32_t slab_slot(const void *object)
{
	return slab_head_of(object)->slot;
}

uint16_t slab_generation(const void *object)
{
	return slab_head_of(object)->generation;
}

void *slab_find(const struct slab *s, uint32_t slot, uint16_t generation)
{
	struct slab_head *h;

	if (slot >= s->made)
		return NULL;
	h = slab_head_at(s, slot);
	return h->used && h->generation == generation ? h->object : NULL;
}

void *slab_at(const struct slab *s, uint32_t slot)
{
	struct slab_head *h;

	if (slot >= s->made)
		return NULL;
	h = slab_head_at(s, slot);
	return h->used ? h->object : NULL;
}
