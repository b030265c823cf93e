/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab.h – a fixed number of equal objects, addressed by {slot, generation}. A reference that the kernel still holds
 * to an object that is gone is recognised by its generation. No allocation after slab_init() but the object pages
 * themselves, which are taken a chunk at a time on first use and kept.
 */
#ifndef SALLYPORT_SLAB_H
#define SALLYPORT_SLAB_H

#include <stddef.h>
#include <stdint.h>

struct slab_head; /* precedes each object */

struct slab {
	size_t size; /* of one object */
	uint32_t max; /* objects at most */
	uint32_t made; /* slots that have memory */
	uint32_t free_slot; /* head of the free list, SLAB_NONE when empty */
	uint32_t used;
	char **chunks;
};

/* 0 or -ENOMEM. */
int slab_init(struct slab *s, size_t size, uint32_t max);
void slab_done(struct slab *s);

/* A zeroed object, or NULL when all are in use or memory is out. */
void *slab_take(struct slab *s);
/* The object's address from now on belongs to somebody else; its generation moves on. The bytes are wiped. */
void slab_give(struct slab *s, void *object);

uint32_t slab_slot(const void *object);
uint16_t slab_generation(const void *object);
/* The object, or NULL when the slot is free or of another generation. */
void *slab_find(const struct slab *s, uint32_t slot, uint16_t generation);
/* The object in that slot if it is in use: for walking all of them. */
void *slab_at(const struct slab *s, uint32_t slot);

#endif
