/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notes.c – see notes.h. A list, since most sandboxes have none. #syscalls: none */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns-helper/notes.h"

static struct note *notes_find(const struct notes *n, const char *feature)
{
	for (struct note *one = n->first; one; one = one->next)
		if (strcmp(one->feature, feature) == 0)
			return one;
	return NULL;
}

static int notes_add(struct notes *n, const char *feature, struct note **ret)
{
	struct note **end = &n->first;
	struct note *new;

	if (n->n == NOTES_MAX)
		return -ENOSPC;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	(void)snprintf(new->feature, sizeof(new->feature), "%s", feature); /* cut to size */
	while (*end)
		end = &(*end)->next;
	*end = new;
	n->n++;
	*ret = new;
	return 0;
}

static void notes_remove(struct notes *n, struct note *note)
{
	struct note **link = &n->first;

	while (*link != note)
		link = &(*link)->next;
	*link = note->next;
	n->n--;
	free(note);
}

/* Whole again, and everybody knows. */
static void notes_settle(struct notes *n, struct note *note)
{
	if (!note->reason[0] && !note->due)
		notes_remove(n, note);
}

int notes_set(struct notes *n, const char *feature, const char *reason, const char *remedy)
{
	struct note new = {.next = NULL}, *note;
	int r;

	(void)snprintf(
		new.feature, sizeof(new.feature), "%s", feature); /* these three cut to size */
	(void)snprintf(new.reason, sizeof(new.reason), "%s", reason);
	(void)snprintf(new.remedy, sizeof(new.remedy), "%s", remedy);
	note = notes_find(n, new.feature);
	if (!note && !new.reason[0])
		return 0;
	if (!note) {
		r = notes_add(n, new.feature, &note);
		if (r < 0)
			return r;
	} else if (strcmp(note->reason, new.reason) == 0 && strcmp(note->remedy, new.remedy) == 0) {
		return 0;
	}
	memcpy(note->reason, new.reason, sizeof(note->reason));
	memcpy(note->remedy, new.remedy, sizeof(note->remedy));
	note->due = n->listeners;
	notes_settle(n, note);
	return 1;
}

bool notes_hold(const struct notes *n, const char *feature)
{
	const struct note *note = notes_find(n, feature);

	return note && note->reason[0];
}

struct note *notes_due(const struct notes *n, unsigned int slot)
{
	for (struct note *one = n->first; one; one = one->next)
		if (one->due & 1U << slot)
			return one;
	return NULL;
}

void notes_told(struct notes *n, struct note *note, unsigned int slot)
{
	note->due &= (uint8_t) ~(1U << slot);
	notes_settle(n, note);
}

void notes_renew(struct notes *n, unsigned int slot)
{
	struct note *next;

	n->listeners |= (uint8_t)(1U << slot);
	for (struct note *one = n->first; one; one = next) {
		next = one->next;
		if (one->reason[0])
			one->due |= (uint8_t)(1U << slot);
		else
			notes_told(n, one, slot);
	}
}

void notes_leave(struct notes *n, unsigned int slot)
{
	struct note *next;

	n->listeners &= (uint8_t) ~(1U << slot);
	for (struct note *one = n->first; one; one = next) {
		next = one->next;
		notes_told(n, one, slot);
	}
}

void notes_free(struct notes *n)
{
	while (n->first)
		notes_remove(n, n->first);
}
