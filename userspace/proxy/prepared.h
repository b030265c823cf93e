/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepared.h – sandboxes of which CA, placeholders and handout are made before they are attached: the environment of a
 * container is fixed before there is a network namespace to attach. What is not attached in time is removed. On the
 * control thread.
 */
#ifndef SALLYPORT_PROXY_PREPARED_H
#define SALLYPORT_PROXY_PREPARED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

enum {
	PREPARED_MAX = 256, /* at once */
	PREPARED_MS =
		600000, /* from the preparation to the attach: `sallyport-hook prepare` is typed by a person */
};

struct prepared {
	struct {
		char id[LIMIT_SANDBOX_ID + 1]; /* empty: free */
		uint64_t until_ms; /* monotonic */
	} at[PREPARED_MAX];
	bool more; /* prepared_adopt() found more than there is room for */
};

/* Notes the id, or notes it anew. 0, or -EBUSY when there are PREPARED_MAX. */
int prepared_add(struct prepared *p, const char *id, uint64_t now_ms);
/* It is attached, or was not made after all. */
void prepared_drop(struct prepared *p, const char *id);
/* Takes out one whose time is over; its id into ret. Whether there was one. */
bool prepared_expired(struct prepared *p, uint64_t now_ms, char ret[LIMIT_SANDBOX_ID + 1]);
/*
 * Notes, as prepared_add() does, every sandbox that has a folder in STATE/handout, is not noted yet and not known().
 * How many, or -errno.
 */
int prepared_adopt(struct prepared *p, const char *state, bool (*known)(void *arg, const char *id),
	void *arg, uint64_t now_ms);

#endif
