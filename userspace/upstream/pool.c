/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c – see pool.h. The pool is small (LIMIT_POOL_IDLE): a walk of the list is the whole search. */
#include <stddef.h>
#include <string.h>

#include "upstream/pool.h"

static bool pool_same(const struct pool_key *a, const struct pool_key *b)
{
	return a->seat == b->seat && a->trust == b->trust && a->credentials == b->credentials &&
	       a->port == b->port && a->tls == b->tls && a->version == b->version &&
	       strcmp(a->host, b->host) == 0;
}

void pool_init(struct pool *p)
{
	*p = (struct pool){0};
	p->head.next = p->head.prev = &p->head;
}

void pool_remove(struct pool *p, struct pool_item *item)
{
	if (!item->next)
		return;
	item->prev->next = item->next;
	item->next->prev = item->prev;
	item->next = item->prev = NULL;
	p->count--;
}

struct pool_item *pool_put(struct pool *p, struct pool_item *item)
{
	struct pool_item *oldest;

	item->prev = &p->head;
	item->next = p->head.next;
	p->head.next->prev = item;
	p->head.next = item;
	if (++p->count <= LIMIT_POOL_IDLE)
		return NULL;
	oldest = p->head.prev;
	pool_remove(p, oldest);
	return oldest;
}

struct pool_item *pool_find(const struct pool *p, const struct pool_key *key)
{
	for (struct pool_item *i = p->head.next; i != &p->head; i = i->next)
		if (pool_same(&i->key, key))
			return i;
	return NULL;
}

struct pool_item *pool_take(struct pool *p, const struct pool_key *key)
{
	struct pool_item *item = pool_find(p, key);

	if (item)
		pool_remove(p, item);
	return item;
}

struct pool_item *pool_take_seat(struct pool *p, const void *seat)
{
	for (struct pool_item *i = p->head.next; i != &p->head; i = i->next) {
		if (i->key.seat != seat)
			continue;
		pool_remove(p, i);
		return i;
	}
	return NULL;
}
