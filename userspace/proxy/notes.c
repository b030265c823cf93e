/* SPDX-License-Identifier: Apache-2.0 */
/* notes.c – see notes.h. A list: there are few, and most sandboxes have none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proxy/notes.h"

static void note_free(struct note *n)
{
	if (!n)
		return;
	free(n->feature);
	free(n->reason);
	free(n->remedy);
	free(n);
}

static struct note *note_new(const char *feature, const char *reason, const char *remedy)
{
	struct note *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->feature = strdup(feature);
	n->reason = strdup(reason);
	n->remedy = strdup(remedy);
	if (n->feature && n->reason && n->remedy)
		return n;
	note_free(n);
	return NULL;
}

/* Where the feature's note hangs, or the end of the list. */
static struct note **notes_find(struct notes *notes, const char *feature)
{
	struct note **at = &notes->first;

	while (*at && strcmp((*at)->feature, feature) != 0)
		at = &(*at)->next;
	return at;
}

static void notes_remove(struct notes *notes, struct note **at)
{
	struct note *old = *at;

	if (!old)
		return;
	*at = old->next;
	notes->n--;
	note_free(old);
}

int notes_set(struct notes *notes, const char *feature, const char *reason, const char *remedy)
{
	struct note **at = notes_find(notes, feature), *new;

	if (!reason[0]) {
		notes_remove(notes, at);
		return 0;
	}
	if (!*at && notes->n == NOTES_MAX)
		return -E2BIG;
	new = note_new(feature, reason, remedy);
	if (!new)
		return -ENOMEM;
	notes_remove(notes, at);
	new->next = *at;
	*at = new;
	notes->n++;
	return 0;
}

void notes_done(struct notes *notes)
{
	while (notes->first)
		notes_remove(notes, &notes->first);
}
