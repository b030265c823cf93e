/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes.h – what does not work as it should, of one sandbox or of the machine: a feature, why, and
 * what mends it. What is new is due to be told to the
 * daemon, or to both while one takes over from the other. Life: zeroed → notes_set … → notes_free.
 */
#ifndef SALLYPORT_NETNS_HELPER_NOTES_H
#define SALLYPORT_NETNS_HELPER_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns-helper/proto.h"

enum { NOTES_MAX = 16 };

struct note {
	struct note *next;
	uint8_t due; /* to be told to these daemons, a bit for each slot */
	char feature[PROTO_FEATURE];
	char reason[PROTO_TEXT]; /* empty: whole again; forgotten when that has been told */
	char remedy[PROTO_TEXT];
};

struct notes {
	struct note *first;
	size_t n;
	uint8_t listeners; /* the daemons that are told, a bit for each slot */
};

/*
 * Notes the feature as degraded, or with reason "" as whole again; texts are cut to size. 1 when that
 * is news, 0 when it is as before, -ENOSPC beyond NOTES_MAX, -ENOMEM.
 */
int notes_set(struct notes *n, const char *feature, const char *reason, const char *remedy);

/* Whether the feature is degraded. */
bool notes_hold(const struct notes *n, const char *feature);

/* The next that is to be told to the daemon of that slot, or NULL; borrowed until the next call of another function here. */
struct note *notes_due(const struct notes *n, unsigned int slot);
/* It has been told. */
void notes_told(struct notes *n, struct note *note, unsigned int slot);
/* A daemon that has been told nothing: all that is degraded is due to it, and what is new will be. */
void notes_renew(struct notes *n, unsigned int slot);
/* Nobody is told there any more. */
void notes_leave(struct notes *n, unsigned int slot);

void notes_free(struct notes *n);

#endif
